package store

import (
	"bytes"
	"context"
	"sync"
)

// What an appender holds that is not kept yet. At either bound Append waits; one
// entry of any size always has room in an empty appender.
const (
	appenderEntries = 256
	appenderBytes   = 1 << 20
)

// Appender adds entries to one key's log without making its caller wait for
// each. Its entries are kept in the order of the calls, nothing twice and, until
// an error, nothing left out. It sends one at a time: with more under way a lost
// one could only come behind those that were kept. So one appender adds as many
// entries a second as the store takes round trips. For many goroutines; between
// calls it holds nothing that needs closing.
type Appender struct {
	s   *Store
	key string

	mu      sync.Mutex
	queue   [][]byte // not kept yet; the first is under way
	size    int      // its bytes
	sending bool
	err     error         // the first one; nothing is taken after it
	moved   chan struct{} // closed, and replaced, when the queue became shorter or err was set
	waiting int           // who waits for that
}

// Appender gives a new appender for key (see Append).
func (s *Store) Appender(key string) *Appender {
	return &Appender{s: s, key: key, moved: make(chan struct{})}
}

// Append takes a copy of data and waits only while the appender is full: 256
// entries or 1 MiB. An error means that data was not taken. It is that of ctx,
// or why an earlier entry could not be kept although it was sent again for 15 s;
// that one stays, and the entries behind it were not kept either.
func (a *Appender) Append(ctx context.Context, data []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.wait(ctx, func() bool {
		return len(a.queue) == 0 || len(a.queue) < appenderEntries && a.size+len(data) <= appenderBytes
	})
	if err != nil {
		return err
	}
	if a.s.log.closed.Load() || !a.sending && !a.s.log.start(a.send) {
		return ErrClosed
	}
	a.sending = true
	a.queue, a.size = append(a.queue, bytes.Clone(data)), a.size+len(data)
	return nil
}

// Flush waits until everything taken so far, and what others add meanwhile, is
// kept. Errors are those of Append.
func (a *Appender) Flush(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wait(ctx, func() bool { return len(a.queue) == 0 })
}

// wait returns when so holds or with an error. a.mu is held.
func (a *Appender) wait(ctx context.Context, so func() bool) error {
	for a.err == nil && !so() {
		moved := a.moved
		a.waiting++
		a.mu.Unlock()
		var err error
		select {
		case <-moved:
		case <-ctx.Done():
			err = unavailable(context.Cause(ctx))
		}
		a.mu.Lock()
		a.waiting--
		if err != nil {
			return err
		}
	}
	return a.err
}

// send sends what is queued and ends when that is nothing.
func (a *Appender) send() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.queue) > 0 {
		data := a.queue[0]
		a.mu.Unlock()
		_, err := a.s.keep(a.s.log.ctx, a.s.log.patience, a.key, data)
		a.mu.Lock()
		if err != nil {
			a.err = a.s.outward(err, "append", inLog, a.key)
			a.queue, a.size = nil, 0
		} else {
			a.queue[0] = nil
			a.queue, a.size = a.queue[1:], a.size-len(data)
		}
		if a.waiting > 0 {
			close(a.moved)
			a.moved = make(chan struct{})
		}
	}
	a.queue, a.sending = nil, false
}

// start runs send under the log's care, or says that the store is closed.
func (l *eventLog) start(send func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Load() {
		return false
	}
	l.appending.Go(send)
	return true
}
