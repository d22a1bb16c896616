package carrier

import (
	"context"
	"sync"
)

// hold is the context of a request that waits, and what keeps it: an entry in the
// server's list and one in the watcher. Opened on first need, closed with the
// request, both by the connection's goroutine.
type hold struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	unwatch func()
	live    *live
}

func (k *hold) open(r *Request) context.Context {
	if k.ctx != nil {
		return k.ctx
	}
	k.ctx, k.cancel = context.WithCancelCause(context.Background())
	k.live = &r.s.live
	k.live.add(k)
	cancel := k.cancel
	unwatch, err := r.s.watch.watch(r.ctx.Conn(), func() { cancel(ErrClientGone) })
	if err != nil {
		// Not fatal: a client that left is then noticed by the next write.
		r.s.opt.Log.Debug("client not watched", "request_id", r.ID, "cause", err)
	}
	k.unwatch = unwatch
	return k.ctx
}

func (k *hold) close() {
	if k.ctx == nil || k.live == nil {
		return
	}
	if k.unwatch != nil {
		k.unwatch()
	}
	k.live.remove(k)
	k.live = nil
	k.cancel(nil)
}

// live lists the holds that are open, for CloseStreams.
type live struct {
	mu    sync.Mutex
	holds map[*hold]struct{}
	cause error // once set, what comes later is cancelled too
}

func (l *live) add(k *hold) {
	l.mu.Lock()
	if l.holds == nil {
		l.holds = map[*hold]struct{}{}
	}
	l.holds[k] = struct{}{}
	cause := l.cause
	l.mu.Unlock()
	if cause != nil {
		k.cancel(cause)
	}
}

func (l *live) remove(k *hold) {
	l.mu.Lock()
	delete(l.holds, k)
	l.mu.Unlock()
}

func (l *live) close(cause error) {
	l.mu.Lock()
	if l.cause == nil {
		l.cause = cause
	}
	cancels := make([]context.CancelCauseFunc, 0, len(l.holds))
	for k := range l.holds {
		cancels = append(cancels, k.cancel)
	}
	l.mu.Unlock()
	for _, cancel := range cancels {
		cancel(cause)
	}
}
