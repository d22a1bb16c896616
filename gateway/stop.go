package gateway

import (
	"context"
	"slices"
	"time"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/principal"
)

// stopTime is how long a request waits for a run it has stopped to be over.
const stopTime = 5 * time.Second

// Stop ends a run of a thread, whatever door it came by and whichever replica moves
// it [RUN-10].
func (g *Gateway) Stop(ctx context.Context, p principal.Principal, ref frontend.ThreadRef, run string) (bool, error) {
	t, err := g.findThread(ctx, p, ref.Thread, ref.Agent)
	if err != nil {
		return false, err
	}
	return g.stopRun(ctx, t, run)
}

// stopRun stops the named run, or with "" the active one, and holds until it is
// over.
func (g *Gateway) stopRun(ctx context.Context, t *thread, run string) (bool, error) {
	key := ""
	switch {
	case g.busy(t.Run) && (run == "" || t.Run.ID == run):
		key = t.Run.Round
	case run == "":
		return false, nil
	default:
		if i := slices.IndexFunc(t.Queue, func(w waiter) bool { return w.Run == run && g.waits(w) }); i >= 0 {
			key = t.Queue[i].Key
		} else {
			key = g.joinedBy(t.key, run)
		}
	}
	if key == "" {
		return false, nil
	}
	g.tellStop(ctx, key)
	deadline := g.now().Add(stopTime)
	for ctx.Err() == nil && g.now().Before(deadline) {
		if err := g.reload(ctx, t); err != nil {
			return true, nil // gone with its thread, or the store is: either way it was told
		}
		if !g.alive(t, key) && !slices.ContainsFunc(t.Queue, func(w waiter) bool { return w.Key == key && g.waits(w) }) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return true, nil
}

// joinedBy finds the run that a turn of this process has joined under an id of its
// own.
func (g *Gateway) joinedBy(thread, run string) string {
	g.active.mu.Lock()
	defer g.active.mu.Unlock()
	for _, r := range g.active.runs {
		if r.key == thread && r.state.ID == run {
			return r.following
		}
	}
	return ""
}

// tellStop stops the run with that key wherever it is.
func (g *Gateway) tellStop(ctx context.Context, key string) {
	if r := g.active.of(key); r != nil {
		r.stop(errStopped)
		return
	}
	if err := g.store.Publish(ctx, "stop", []byte(key)); err != nil {
		g.log.Warn("a stop could not be passed on", "error", err)
	}
}

// onStop is tellStop as it arrives from another replica.
func (g *Gateway) onStop(data []byte) {
	if r := g.active.of(string(data)); r != nil {
		r.stop(errStopped)
	}
}
