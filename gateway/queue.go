package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/fault"
)

// Bounds of waiting for a thread [RUN-10].
const (
	queueDepth = 8
	queueMost  = 64 // with those that only bring results
	queueTime  = 60 * time.Second
	queueLook  = time.Second // how often a waiter looks although nobody woke it
)

// waiter is a run that waits for the thread.
type waiter struct {
	Key    string    `json:"key"` // of the run
	Run    string    `json:"run"`
	Holder string    `json:"holder"`
	Digest []byte    `json:"digest,omitempty"`
	Until  time.Time `json:"until"`           // renewed while it waits
	First  bool      `json:"first,omitempty"` // goes before those that bring a new turn
}

// waits reports a waiter that can still come: its time is not over and its process
// may be alive.
func (g *Gateway) waits(w waiter) bool {
	if w.Holder == g.instance {
		return g.active.has(w.Key)
	}
	return !g.store.Exclusive() && g.now().Before(w.Until)
}

// behind reports that another run has waited for the thread longer than run key.
func (g *Gateway) behind(t *thread, key string) bool {
	for _, w := range t.Queue {
		if w.Key == key {
			return false
		}
		if g.waits(w) {
			return true
		}
	}
	return false
}

// Ways to wait.
type queueing int

const (
	notAtAll queueing = iota
	atEnd             // in turn
	inFront           // before the turns, since it only brings results [RUN-5]
	alone             // in place of all that wait, and of what runs (supersede)
)

// enqueue enters the run among those that wait. Too many are thread_busy.
func (r *liveRun) enqueue(ctx context.Context, how queueing) error {
	g := r.g
	me := waiter{Key: r.state.Round, Run: r.state.ID, Holder: g.instance, Digest: r.state.Digest,
		Until: g.now().Add(lease), First: how != atEnd}
	return g.changeThread(ctx, r.thread, func(rec *threadRecord) error {
		if rec.Deleting {
			return noThread()
		}
		rec.Queue = slices.DeleteFunc(rec.Queue, func(w waiter) bool { return !g.waits(w) })
		switch {
		case how == alone:
			rec.Queue = nil
		case how == atEnd && len(rec.Queue) >= queueDepth, len(rec.Queue) >= queueMost:
			return g.busyFault()
		}
		at := len(rec.Queue)
		if me.First {
			at = slices.IndexFunc(rec.Queue, func(w waiter) bool { return !w.First })
			if at < 0 {
				at = len(rec.Queue)
			}
		}
		rec.Queue = slices.Insert(rec.Queue, at, me)
		return nil
	})
}

// leaveQueue takes the run out of the queue again.
func (r *liveRun) leaveQueue(ctx context.Context) {
	ctx, done := recording(ctx)
	defer done()
	err := r.g.reload(ctx, r.thread)
	if err == nil {
		err = r.g.changeThread(ctx, r.thread, func(rec *threadRecord) error {
			n := len(rec.Queue)
			rec.Queue = slices.DeleteFunc(rec.Queue, func(w waiter) bool { return w.Key == r.state.Round })
			if len(rec.Queue) == n && len(r.final.Raw) == 0 {
				return errUnchanged
			}
			rec.rememberWaiter(r, r.g.now())
			return nil
		})
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.g.log.Warn("a run could not leave its thread's queue", "run", r.state.ID, "error", err)
	}
	r.g.wakeThread(ctx, r.thread.key)
}

// errSuperseded says that a newer run took this one's place.
var errSuperseded = fault.New(fault.ThreadBusy, "a newer run took the place of this one")

// awaitTurn holds until the thread is this run's to take, and takes it.
func (r *liveRun) awaitTurn(ctx context.Context) error {
	g := r.g
	woken := make(chan struct{}, 1)
	stop, err := g.store.Subscribe("thread."+r.thread.key, func([]byte) {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	defer stop()
	look := time.NewTicker(queueLook)
	defer look.Stop()
	var late <-chan time.Time
	if r.wait != inFront {
		limit := time.NewTimer(queueTime)
		defer limit.Stop()
		late = limit.C
	}
	renewed := g.now()
	for {
		fresh, err := g.loadThread(ctx, r.turn.Principal, r.agent.name, r.thread.ID)
		if err != nil {
			return err
		}
		r.thread = fresh
		if !slices.ContainsFunc(r.thread.Queue, func(w waiter) bool { return w.Key == r.state.Round }) {
			return errSuperseded
		}
		if !g.busy(r.thread.Run) && !g.behind(r.thread, r.state.Round) {
			err := r.prepare(ctx)
			if r.join != nil { // meanwhile another run has brought these results
				r.leaveQueue(ctx)
				r.wait = notAtAll
			}
			if fault.CodeOf(err) != fault.ThreadBusy {
				return err
			}
		}
		if now := g.now(); !g.store.Exclusive() && now.Sub(renewed) >= lease/3 {
			if err := r.renewPlace(ctx); err != nil {
				return err
			}
			renewed = now
		}
		select {
		case <-woken:
		case <-look.C:
		case <-late:
			return g.busyFault()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// renewPlace says to other replicas that this run still waits.
func (r *liveRun) renewPlace(ctx context.Context) error {
	return r.g.changeThread(ctx, r.thread, func(rec *threadRecord) error {
		i := slices.IndexFunc(rec.Queue, func(w waiter) bool { return w.Key == r.state.Round })
		if i < 0 {
			return errUnchanged
		}
		rec.Queue[i].Until = r.g.now().Add(lease)
		return nil
	})
}

// wakeThread tells who waits for a thread to look again.
func (g *Gateway) wakeThread(ctx context.Context, key string) {
	if err := g.store.Publish(ctx, "thread."+key, nil); err != nil {
		g.log.Warn("the end of a run could not be announced; waiting runs see it at their next look", "error", err)
	}
}
