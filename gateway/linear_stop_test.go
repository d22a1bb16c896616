package gateway

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// linAlone is one thread of a gateway of its own whose agent behaves as asks say.
func linAlone(t *testing.T, linger bool, asks ...linManner) (c *linCase, over func()) {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{Dir: store.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	c = newLinWorld(t, s).newCase(0, 1)
	c.h.asks = asks
	if over = c.begin(rand.New(rand.NewPCG(1, 1)), linger); over == nil {
		t.FailNow()
	}
	return c, over
}

// until waits for what is to become of the case.
func (c *linCase) until(what string, is func() bool) {
	c.w.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.w.t.Fatalf("%s: it did not come to that", what)
		}
	}
}

// heard reports that the gateway's own run has had the agent's last word.
func (c *linCase) heard() bool {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	for _, r := range c.h.runs {
		if r.by == bySelf && r.ask != nil && r.ask.held {
			return true
		}
	}
	return false
}

func (c *linCase) timesAsked() int {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	return c.h.asked
}

// stopNow stops what runs, which has to be something.
func (c *linCase) stopNow() {
	c.w.t.Helper()
	if stopped, err := c.w.gateways[0].Stop(context.Background(), principal.Anonymous, c.ref, ""); !stopped || err != nil {
		c.w.t.Fatalf("stopped %v, %v", stopped, err)
	}
}

func (c *linCase) duty() tool.Duty {
	c.w.t.Helper()
	rd, err := c.w.gateways[0].loadRound(context.Background(), c.round)
	if err != nil || rd.Duty == nil {
		c.w.t.Fatalf("the round's duty: %v", err)
	}
	return *rd.Duty
}

// judged ends the gateway and holds what happened against the rules.
func (c *linCase) judged() {
	c.w.t.Helper()
	c.w.gateways[0].Close()
	if ops := c.h.done(); !porcupine.CheckOperations(linModel(c.first, linStep), ops) {
		c.w.t.Errorf("what happened is not what the rules say:\n%s", smallest(linModel(c.first, linStep), ops))
	}
}

// Who stops the run that tells the results before the agent has said anything can go
// on with a new message, which brings them too [RUN-10, INV-12].
func TestMessageAfterStop(t *testing.T) {
	c, over := linAlone(t, false, linManner{opens: true}, linManner{pause: time.Minute}, linManner{})
	over()
	c.resolveAll(c.w.gateways[0], [2]int{0, 0})
	c.until("the agent is told", func() bool { return c.timesAsked() == 2 })
	c.stopNow()
	if d := c.duty(); d.State != tool.DutyFailed || d.Code != reasonStopped || d.Fails != 1 {
		t.Errorf("behind the stop the duty is %+v", d)
	}
	c.turn(rand.New(rand.NewPCG(1, 1)), byMessage, [2]int{notCarried, notCarried})
	if n := c.timesAsked(); n != 3 {
		t.Errorf("the agent was asked %d times, want 3: the new message did not reach it", n)
	}
	if d := c.duty(); d.State != tool.DutyDone {
		t.Errorf("behind the message the duty is %+v", d)
	}
	c.judged()
}

// Nobody continues by himself with the answers of a run that was stopped before it
// could release its calls, also when it left none of them open; who asks can
// [RUN-10, INV-12].
func TestStopOfAnsweredRun(t *testing.T) {
	c, over := linAlone(t, true, linManner{opens: true, hangs: true}, linManner{})
	g := c.w.gateways[0]
	c.resolveAll(g, [2]int{0, 0})
	c.stopNow()
	over()
	if d := c.duty(); d.State != tool.DutyFailed || d.Code != reasonStopped {
		t.Errorf("behind the stop the duty is %+v", d)
	}
	g.sweep(context.Background())
	g.sweep(context.Background()) // the first would make it due, the next continue it
	if n := c.timesAsked(); n != 1 {
		t.Errorf("the agent was asked %d times, want 1", n)
	}
	c.goOn(g)
	c.until("the agent is told", func() bool { return c.duty().State == tool.DutyDone })
	c.judged()
}

// A stop that comes when the agent has said its last, and the client is told of a
// success, leaves nothing to tell again [INV-12].
func TestStopBehindTheEnd(t *testing.T) {
	c, over := linAlone(t, false, linManner{opens: true}, linManner{stays: true}, linManner{})
	over()
	g := c.w.gateways[0]
	c.resolveAll(g, [2]int{0, 0})
	c.until("the agent ends", c.heard)
	c.stopNow()
	if d := c.duty(); d.State != tool.DutyDone {
		t.Errorf("the duty is %+v", d)
	}
	c.goOn(g)
	c.judged()
	if n := c.timesAsked(); n != 2 {
		t.Errorf("the agent was asked %d times, want 2", n)
	}
}

// A run that was stopped stays stopped, whoever leaves it afterwards.
func TestStopCauseStays(t *testing.T) {
	r, a := &liveRun{}, &activeRuns{}
	a.stop(r, errStopped)
	a.stop(r, context.Canceled)
	if !a.wasStopped(r) || !errors.Is(r.stopCause, errStopped) {
		t.Errorf("it counts as ended by %v", r.stopCause)
	}
}

// A turn that is stopped in the moment it is refused is told of the one or the other.
func TestStopOfWaitingTurn(t *testing.T) {
	c, over := linAlone(t, false, linManner{opens: true})
	over()
	for _, err := range []error{errStopped, fault.New(fault.ActionResultConflict, "answered")} {
		r, begun := c.w.gateways[0].newRun(context.Background(), c.input(byMessage, "late", [2]int{notCarried, notCarried}))
		if begun != nil {
			t.Fatal(begun)
		}
		r.sink = nowhere{}
		ctx, stop := context.WithCancelCause(context.Background())
		stop(errStopped)
		r.refuse(ctx, err)
		if !r.machine.Done() {
			t.Errorf("%v: its client is told nothing", err)
		}
	}
}
