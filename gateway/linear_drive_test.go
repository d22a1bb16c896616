package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// linWorld is one or more gateways over one store, and what is done to them.
type linWorld struct {
	t        *testing.T
	take     *linTake
	gateways []*Gateway
	ids      atomic.Int64
	counts   sync.Map // act → *atomic.Int64
	failed   atomic.Int64
}

// newLinWorld starts a gateway on each store. On half the threads, those of agent
// queue, a second run waits; on the others it is refused.
func newLinWorld(t *testing.T, stores ...*store.Store) *linWorld {
	t.Helper()
	w := &linWorld{t: t, take: &linTake{begun: time.Now()}}
	c := config.Demo("", "", "")
	queue, reject := c.Agents[0], c.Agents[0]
	queue.Name, queue.Concurrency = "queue", "queue"
	reject.Name, reject.Concurrency = "reject", "reject"
	c.Agents = []config.Agent{queue, reject}
	for _, s := range stores {
		g, err := New(Options{Config: c, Store: s, Log: slog.New(w.take), Upstreams: map[string]upstream.Factory{
			"demo": func(upstream.Options) (upstream.Upstream, error) { return w.take, nil }}})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		w.gateways = append(w.gateways, g)
	}
	return w
}

func (w *linWorld) count(a act) {
	n, _ := w.counts.LoadOrStore(a, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

// wrong reports what no history is needed to see.
func (w *linWorld) wrong(format string, args ...any) {
	if w.failed.Add(1) <= shownWrongs {
		w.t.Errorf(format, args...)
	}
}

// linCase is one thread and its round, as its callers know them.
type linCase struct {
	w     *linWorld
	h     *linHistory
	ref   frontend.ThreadRef
	first linState
	invs  [2]string
	shown [2]string
	last  [2]int // the calls when all is over
	root  string // message that holds the calls
	round string
}

// act does n operations, by so many callers at once, who look now and then beside.
func (c *linCase) act(seed uint64, n, callers int) {
	passes := -1 // at most one new message: nothing is left to answer behind it
	rng := rand.New(rand.NewPCG(seed, 1))
	if rng.IntN(3) == 0 {
		passes = rng.IntN(n)
	}
	var wg sync.WaitGroup
	for caller := range callers {
		rng := rand.New(rand.NewPCG(seed, uint64(caller)+2))
		wg.Go(func() {
			for i := caller; i < n; i += callers {
				time.Sleep(time.Duration(rng.IntN(8000)) * time.Microsecond)
				if i == passes {
					c.turn(rng, byMessage, [2]int{notCarried, notCarried})
					continue
				}
				if rng.IntN(8) == 0 {
					c.look(c.gateway(rng), rng.IntN(2))
				}
				c.one(rng)
			}
		})
	}
	wg.Wait()
}

func (c *linCase) gateway(rng *rand.Rand) *Gateway {
	return c.w.gateways[rng.IntN(len(c.w.gateways))]
}

// values are answers for both calls, or with some for one only.
func values(rng *rand.Rand, some bool) [2]int {
	var vals [2]int
	for i := range vals {
		if rng.IntN(4) == 0 {
			vals[i] = 1
		}
	}
	if some && rng.IntN(3) == 0 {
		vals[rng.IntN(2)] = notCarried
	}
	return vals
}

// one does one operation that may change something.
func (c *linCase) one(rng *rand.Rand) {
	g := c.gateway(rng)
	switch n := rng.IntN(82); {
	case n < 32:
		c.resolve(g, rng.IntN(2), values(rng, false))
	case n < 44:
		c.resolveAll(g, values(rng, true))
	case n < 56:
		c.stop(g)
	case n < 68:
		c.goOn(g)
	default:
		c.turn(rng, byResults, values(rng, true))
	}
}

func answerOf(id string, val int) frontend.Answer {
	return frontend.Answer{ID: id, Form: tool.FormText, Content: fmt.Appendf(nil, "v%d", val), Door: "test"}
}

// refused reads a refusal as the model knows it.
func refused(err error) linOut {
	out := linOut{code: fault.CodeOf(err)}
	var f *fault.Error
	if out.code == fault.ActionResultConflict && errors.As(err, &f) {
		out.accepted = notCarried
		for _, d := range f.Detail {
			for v := range 2 {
				if d.Key == "accepted" && string(d.Raw) == fmt.Sprintf(`{"outcome":"ok","result":"v%d"}`, v) {
					out.accepted = v
				}
			}
		}
	}
	return out
}

func (c *linCase) resolve(g *Gateway, call int, vals [2]int) {
	c.w.count(actResolve)
	called := c.w.take.now()
	done, err := g.Resolve(context.Background(), principal.Anonymous, c.invs[call], answerOf(c.invs[call], vals[call]))
	returned := c.w.take.now()
	out := refused(err)
	if err == nil {
		out.ok, out.replayed[call] = true, done.Replayed
	}
	c.h.note(called, returned, linIn{act: actResolve, call: call, vals: vals}, out)
}

func (c *linCase) resolveAll(g *Gateway, vals [2]int) {
	c.w.count(actResolveAll)
	var answers []frontend.Answer
	for i, v := range vals {
		if v != notCarried {
			answers = append(answers, answerOf(c.shown[i], v))
		}
	}
	called := c.w.take.now()
	done, err := g.ResolveAll(context.Background(), principal.Anonymous, c.ref, answers)
	returned := c.w.take.now()
	out := refused(err)
	if err == nil {
		out.ok = true
		for _, d := range done {
			for i, id := range c.invs {
				if d.Invocation.ID == id {
					out.replayed[i] = d.Replayed
				}
			}
		}
	}
	c.h.note(called, returned, linIn{act: actResolveAll, vals: vals}, out)
}

func (c *linCase) look(g *Gateway, call int) (val int) {
	c.w.count(actLook)
	called := c.w.take.now()
	inv, err := g.Invocation(context.Background(), principal.Anonymous, c.invs[call], 0)
	returned := c.w.take.now()
	if err != nil {
		c.w.wrong("reading a call: %v", err)
		return isOpen
	}
	out := linOut{ok: true, val: isOpen}
	switch inv.State {
	case tool.Settled:
		out.delivery = inv.Delivery
		_, _ = fmt.Sscanf(inv.Settlement.Content, "v%d", &out.val)
	case tool.Cancelled:
		out.val = isCancelled
	}
	c.h.note(called, returned, linIn{act: actLook, call: call}, out)
	return out.val
}

func (c *linCase) stop(g *Gateway) {
	c.w.count(actStop)
	called := c.w.take.now()
	stopped, err := g.Stop(context.Background(), principal.Anonymous, c.ref, "")
	returned := c.w.take.now()
	if err != nil {
		c.w.wrong("stop: %v", err)
		return
	}
	c.h.note(called, returned, linIn{act: actStop}, linOut{ok: stopped})
}

func (c *linCase) goOn(g *Gateway) {
	c.w.count(actContinue)
	called := c.w.take.now()
	id, err := g.Continue(context.Background(), principal.Anonymous, c.ref)
	returned := c.w.take.now()
	if err != nil {
		c.h.note(called, returned, linIn{act: actContinue}, linOut{code: fault.CodeOf(err)})
		if fault.CodeOf(err) == fault.RunConflict { // which it may have seen only when it had the thread
			r := c.h.run(fmt.Sprintf("vain-%d", c.w.ids.Add(1)))
			r.by = ""
			c.h.moment(called, returned, r.number)
		}
		return
	}
	r := c.h.run(id)
	r.by = byRequest // read when all is over
	c.h.note(called, returned, linIn{act: actContinue}, linOut{ok: true})
	c.h.note(called, returned, linIn{act: actTake, run: r.number, by: byRequest}, linOut{})
}

// list is the conversation as a client of the thread has it.
func (c *linCase) list(by asker, id string, vals [2]int) []agui.Message {
	out := []agui.Message{agui.NewUserMessage("u1", []byte(`"go"`))}
	if by == "" {
		return out
	}
	out = append(out, agui.NewAssistantMessage(c.root, "", []agui.ToolCall{
		{ID: c.shown[0], Name: "pick", Arguments: "{}"}, {ID: c.shown[1], Name: "pick", Arguments: "{}"}}))
	for i, v := range vals {
		if v != notCarried {
			out = append(out, agui.NewToolMessage(fmt.Sprintf("t%d", i), c.shown[i], fmt.Appendf(nil, `"v%d"`, v), ""))
		}
	}
	if by == byMessage {
		out = append(out, agui.NewUserMessage("u-"+id, []byte(`"on"`)))
	}
	return out
}

func (c *linCase) input(by asker, id string, vals [2]int) *frontend.Turn {
	return &frontend.Turn{
		Principal: principal.Anonymous, Frontend: "test", Agent: c.ref.Agent, Header: func(string) string { return "" },
		Profile: "1.0", Digest: sha256.Sum256([]byte(id)),
		Input: &agui.Input{ThreadID: c.ref.Thread, RunID: id, HasTools: true,
			Tools:    []agui.ToolDef{agui.ReadTool([]byte(`{"name":"pick","description":"","parameters":{"type":"object"}}`))},
			Messages: c.list(by, id, vals)},
	}
}

// turn is a client's run that brings results, or a new message.
func (c *linCase) turn(rng *rand.Rand, by asker, vals [2]int) {
	c.w.count("turn")
	id := fmt.Sprintf("turn-%d", c.w.ids.Add(1))
	n := linTurnSeen{c: c, r: c.h.run(id), by: by, vals: vals}
	n.r.by = by // read when all is over
	n.called = c.w.take.now()
	begun, err := c.gateway(rng).Begin(context.Background(), c.input(by, id, vals))
	n.began = c.w.take.now()
	if err != nil {
		n.refused(err)
		return
	}
	n.live = begun.(*liveRun)
	n.waited, n.joined, n.front = n.live.wait != notAtAll, n.live.join != nil, n.live.wait == inFront
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	if !n.waited && rng.IntN(10) == 0 { // a client that goes away
		late := time.AfterFunc(time.Duration(rng.IntN(4000))*time.Microsecond, leave)
		defer late.Stop()
	}
	_ = begun.Stream(ctx, nowhere{})
	n.ended = c.w.take.now()
	n.enter()
}

// linTurnSeen is what was seen of a turn.
type linTurnSeen struct {
	c                     *linCase
	r                     *linRun
	by                    asker
	vals                  [2]int
	live                  *liveRun
	called, began, ended  int64
	waited, joined, front bool
}

func (n *linTurnSeen) note(from, to int64, a act, gave string) {
	n.c.h.note(from, to, linIn{act: a, run: n.r.number, by: n.by, vals: n.vals, gave: gave}, linOut{})
}

// refused enters a turn that was not accepted. It may have had the thread for a
// moment: the results are tried again when they are written.
func (n *linTurnSeen) refused(err error) {
	switch out := refused(err); out.code {
	case fault.ThreadBusy:
		n.note(n.called, n.began, actTurnBusy, "")
	case fault.ActionResultConflict, fault.InvocationClosed:
		n.turnedAway(n.called, n.began, out)
	default:
		n.c.w.wrong("a turn was refused: %v", err)
	}
}

func (n *linTurnSeen) turnedAway(from, to int64, out linOut) {
	n.c.h.moment(from, to, n.r.number)
	n.c.h.note(from, to, linIn{act: actTurnRefused, run: n.r.number, by: n.by, vals: n.vals}, out)
}

// enter enters a turn that was accepted. Results for calls of a run that still goes
// on are settled at once, others when the thread is the turn's.
func (n *linTurnSeen) enter() {
	from, settled := n.called, n.began
	if n.waited {
		n.c.h.wait(n.called, n.ended)
		from, settled = n.began, n.ended
		if a := n.r.ask; a != nil {
			settled = a.called
		}
	}
	early := from
	if n.front && n.c.first.active != noRun {
		early = n.called
	}
	switch {
	case n.live.taken:
		n.note(from, settled, actTake, "")
		n.entered(from, early, settled)
	case n.live.join != nil:
		if n.joined {
			from, settled = n.called, n.began
		} else if early != from { // it may have been the first with what it joins for
			n.note(early, settled, actTurnSettles, "")
		}
		if n.live.join.refused != nil {
			n.note(from, settled, actTurnWaits, "")
		} else {
			n.note(from, settled, actTurnJoins, "")
		}
	case n.live.machine == nil:
		n.c.w.wrong("a waiting turn ended without a word")
	case n.live.machine.Outcome() == "cancelled": // stopped in the moment it took the thread
		n.c.h.moment(from, n.ended, n.r.number)
		n.c.h.wonder(early, n.ended, linIn{act: actTurnSettles, run: n.r.number, by: n.by, vals: n.vals})
	default:
		switch code := fault.Code(n.live.machine.Code()); code {
		case fault.ActionResultConflict, fault.InvocationClosed:
			out := linOut{code: code}
			if code == fault.ActionResultConflict {
				out.accepted = notCarried
			}
			n.turnedAway(from, n.ended, out)
		default:
			n.c.w.wrong("a waiting turn ended with %q", code)
		}
	}
}

// entered enters what a turn did that had the thread.
func (n *linTurnSeen) entered(from, early, settled int64) {
	if n.by == byMessage {
		n.note(from, settled, actTurnPasses, "")
	} else {
		n.note(early, settled, actTurnSettles, "")
	}
	if n.live.pending != nil {
		n.note(from, settled, actTurnPends, "")
	}
	gave := "failed"
	if n.live.machine.Outcome() == "success" {
		gave = "done"
	}
	n.c.h.asking(n.r, gave, from, n.ended)
}

// begin opens the round: its run is over, or with linger still streams when the
// callers come.
func (c *linCase) begin(rng *rand.Rand, linger bool) (wait func()) {
	run, err := c.gateway(rng).Begin(context.Background(), c.input("", "open", [2]int{notCarried, notCarried}))
	if err != nil {
		c.w.t.Error(err)
		return nil
	}
	r := c.h.run("open")
	r.by = ""
	c.first = linState{call: [2]int{isOpen, isOpen}, released: !linger}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = run.Stream(context.Background(), nowhere{})
		end := c.w.take.now()
		if !linger {
			return
		}
		gave := run.(*liveRun).machine.Outcome()
		for _, a := range []act{actOpened, actGone} {
			c.h.note(r.ask.over, end, linIn{act: a, run: r.number, gave: gave}, linOut{})
		}
	}()
	if linger {
		c.first.active = r.number
	} else {
		<-over
	}
	for range 10000 {
		list, err := c.w.gateways[0].Invocations(context.Background(), principal.Anonymous, c.ref, "")
		if len(list) == 2 && err == nil {
			for i, inv := range list {
				c.invs[i], c.shown[i], c.root = inv.ID, inv.ShownID, inv.MessageID
			}
			c.round = run.(*liveRun).state.Round
			c.h.begun = c.w.take.now()
			return func() { <-over }
		}
		time.Sleep(time.Millisecond)
	}
	c.w.t.Errorf("%s: no calls were opened", c.ref.Thread)
	return nil
}

// settleDown waits until nothing runs and nothing is due: what was answered is told,
// whoever had promised to tell it [INV-12].
func (c *linCase) settleDown() {
	ctx, g := context.Background(), c.w.gateways[0]
	asked := false
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		t, err := g.findThread(ctx, principal.Anonymous, c.ref.Thread, c.ref.Agent)
		if err != nil {
			c.w.wrong("%v", err)
			return
		}
		rd, err := g.loadRound(ctx, c.round)
		if err != nil {
			c.w.wrong("%v", err)
			return
		}
		switch {
		case g.busy(t.Run) || len(t.Queue) > 0:
			continue
		case rd.Duty == nil || rd.Duty.State != tool.DutyDue && rd.Duty.State != tool.DutySent:
			for call := range c.invs {
				c.last[call] = c.look(g, call)
			}
			return
		case rd.Duty.State == tool.DutyDue && rd.Duty.By == tool.ByClient && !asked:
			asked = true
			c.goOn(g)
		}
	}
	c.w.wrong("%s: what was answered is not told", c.ref.Thread)
}
