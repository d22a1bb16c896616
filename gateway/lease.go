package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/fault"
)

// holdLease renews the run's lease on its thread until the function it gives is
// called. With a store of one's own nobody else could take the thread, and there
// is nothing to do.
func (r *liveRun) holdLease() (stop func()) {
	if r.g.store.Exclusive() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := r.renewLease(ctx); err != nil && ctx.Err() == nil {
				r.g.log.Warn("the lease of a thread could not be renewed", "run", r.state.ID, "error", err)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// renewLease moves the lease on, unless another replica has taken the thread: then
// this run is over, since two must not speak for one thread.
func (r *liveRun) renewLease(ctx context.Context) error {
	for {
		rec, err := r.g.store.Get(ctx, store.Threads, r.thread.key)
		if err != nil {
			return err
		}
		var t threadRecord
		if err := json.Unmarshal(rec.Value, &t); err != nil {
			return err
		}
		if t.Run == nil || t.Run.Round != r.state.Round {
			r.stop(fault.New(fault.ThreadBusy, "another gateway has taken this thread"))
			return nil
		}
		t.Run.Lease, t.Writer = r.g.now().Add(lease), newID()
		value, err := encode(t)
		if err != nil {
			return err
		}
		_, err = r.g.store.Update(ctx, store.Threads, r.thread.key, value, rec.Revision)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}
