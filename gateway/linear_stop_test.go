package gateway

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/principal"
)

// Who stops the run that tells the results before the agent has said anything can go
// on with a new message: the round is done, and is in nobody's way [RUN-10, INV-12].
func TestMessageAfterStop(t *testing.T) {
	s, err := store.Open(context.Background(), store.Options{Dir: store.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	w := newLinWorld(t, s)
	c := w.newCase(0, 1)
	c.h.asks = []linManner{{opens: true}, {pause: time.Minute}, {}}
	rng := rand.New(rand.NewPCG(1, 1))
	c.begin(rng, false)()
	g := w.gateways[0]
	c.resolveAll(g, [2]int{0, 0})
	for deadline := time.Now().Add(10 * time.Second); c.timesAsked() < 2 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if stopped, err := g.Stop(context.Background(), principal.Anonymous, c.ref, ""); !stopped || err != nil {
		t.Fatalf("stopped %v, %v", stopped, err)
	}
	c.turn(rng, byMessage, [2]int{notCarried, notCarried})
	if n := c.timesAsked(); n != 3 {
		t.Errorf("the agent was asked %d times, want 3: the new message did not reach it", n)
	}
	g.Close()
	if ops := c.h.done(); !porcupine.CheckOperations(linModel(c.first, linStep), ops) {
		t.Errorf("what happened is not what the rules say:\n%s", smallest(linModel(c.first, linStep), ops))
	}
}

func (c *linCase) timesAsked() int {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	return c.h.asked
}
