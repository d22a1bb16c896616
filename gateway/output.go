package gateway

import (
	"context"

	"github.com/aguigate/aguigate/protocol/agui"
)

// flush hands the batch to watchers and to the client.
func (r *liveRun) flush() {
	r.stage()
	r.send()
}

// stage hands the batch to watchers. r.mu is held, or nobody else has the run yet: who
// comes to watch gets either what is in the books or what is handed on.
func (r *liveRun) stage() {
	if len(r.batch) > 0 {
		r.toWatchers()
	}
}

// send writes the batch to the client with one Send. r.mu need not be held, so that a
// client that does not read holds up nobody but its own run.
func (r *liveRun) send() {
	defer func() { r.batch = r.batch[:0] }()
	if len(r.batch) == 0 || r.sinkErr != nil {
		return
	}
	out := r.forClient()
	bytes := 0
	for i := range out {
		bytes += len(out[i].Raw)
	}
	if len(out) > 0 {
		r.writing.Add(1)
		r.sinkErr = r.sink.Send(out)
		r.writing.Add(1)
	}
	if r.sinkErr != nil && (r.detachable.Load() || r.g.active.followed(r)) {
		r.sink, r.sinkErr = nowhere{}, nil
	}
	if r.unread.Load() {
		if r.aloneFor += bytes; r.aloneFor > int(r.agent.conf.Detach.Buffer) && !r.g.active.followed(r) {
			r.log("a run whose client has gone made more than may be kept for it", "bytes", r.aloneFor)
			r.stop(context.Canceled)
		}
	}
	r.agent.out.moved(len(out), bytes)
}

// forClient gives the batch as the client can read it [RUN-11].
func (r *liveRun) forClient() []agui.Frame {
	if r.older == nil {
		return r.batch
	}
	r.shown = r.shown[:0]
	for _, f := range r.batch {
		var changed bool
		if r.shown, changed = r.older.Step(f, r.shown); changed {
			r.reshaped++
		}
	}
	return r.shown
}
