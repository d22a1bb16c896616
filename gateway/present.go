package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// clientLeft is what happens when the run's client goes away: the run is cancelled,
// or goes on for others, or for a while for nobody [RUN-10].
func (r *liveRun) clientLeft(cause error) {
	var shutdown *fault.Error
	if errors.As(cause, &shutdown) {
		r.stop(cause)
		return
	}
	detach := r.detachable.Load()
	if !r.g.active.left(r, cause, detach) {
		return
	}
	r.unread.Store(true)
	var grace <-chan time.Time
	if detach {
		limit := time.NewTimer(r.agent.conf.Detach.Grace)
		defer limit.Stop()
		grace = limit.C
	}
	look := time.NewTicker(joinLook) // readers on other replicas go without a word
	defer look.Stop()
	for {
		select {
		case <-grace:
			detach, grace = false, nil
		case <-look.C:
		case <-r.over:
			return
		}
		if !detach && !r.g.active.followed(r) {
			r.stop(context.Canceled)
			return
		}
	}
}

// deserted ends a run whose client has gone: whoever watches the thread sees its end,
// and so does the record.
func (r *liveRun) deserted(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sink, r.sinkErr, r.leftAlone = nowhere{}, nil, true
	r.perform(ctx, r.machine.Stop(r.actions[:0]))
	r.flush()
	r.final = agui.Frame{} // it is no answer to the turn, if that comes again
}

// cutGrace is how long one write of a run that was ended may wait for its client.
const cutGrace = time.Second

// cutStuck cuts a client that does not read and so keeps an ended run from ending.
func (r *liveRun) cutStuck(sink frontend.Sink) {
	c, ok := sink.(frontend.Cutter)
	if !ok {
		return
	}
	look := time.NewTicker(cutGrace / 4)
	defer look.Stop()
	var waits time.Duration
	for write := r.writing.Load(); ; {
		select {
		case <-r.over:
			return
		case <-look.C:
		}
		now := r.writing.Load()
		if now%2 == 0 || now != write { // none is under way, or another one
			write, waits = now, 0
			continue
		}
		if waits += cutGrace / 4; waits >= cutGrace {
			c.Cut()
			return
		}
	}
}
