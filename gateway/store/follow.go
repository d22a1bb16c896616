package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What a follower holds that Next has not given: entries that arrived, beside
// one page. What exceeds it is let go and read from the log again.
const (
	arrivedEntries = 256
	arrivedBytes   = 256 << 10
)

// A follower looks for entries whose arrival it missed after these pauses: the
// first after it began or lost its connection, then twice as long each time. A
// cluster may lose an arrival when a node dies, or before all nodes know of the
// follower.
const (
	firstLook = time.Second
	lastLook  = 16 * time.Second
)

// ErrGap is what Next says when entries may have been removed before this
// follower got them. See Follow.
var ErrGap = errors.New("store: entries of the log may be missing here")

// Follower reads one key's log. Next is for one goroutine at a time, Close for any.
type Follower struct {
	s    *Store
	key  string
	ctx  context.Context // ends with the caller's or Close
	end  context.CancelCauseFunc
	stop func() bool // takes back what is to be done when ctx ends
	sub  *nats.Subscription

	mu      sync.Mutex
	arrived []arrival
	size    int           // its bytes
	missed  bool          // something may be in the log that is not in arrived, which then is empty
	dropped int           // what the connection had to drop so far
	news    chan struct{} // holds one when any of these changed

	// Next's own.
	last   uint64 // the entry given last, or where it began
	fresh  bool   // nothing was read yet
	gap    bool   // to be told before page
	page   []Entry
	behind bool // the log may have more than page
	paging bool // and is likely to
	look   time.Time
	pause  time.Duration
}

// arrival is an entry and the number of the one before it.
type arrival struct {
	Entry
	before uint64 // 0 = no other was kept when it came
}

// Follow reads the log of key behind the number after, or from the first entry
// kept for 0: what is there and then what comes, in order, nothing twice, across
// lost connections and nodes, until ctx ends or Close. It takes what is appended
// after it has returned; a key without entries is no error. It costs a
// subscription and a goroutine, and one read of the log every 16 s.
//
// Since a log is only forgotten from its beginning, a follower that finds its
// last entry still kept knows that it missed none. When it finds entries behind
// it and the last one not kept any more (age, a bound of the log, DropLog), it
// cannot know: then Next says ErrGap once, and goes on with the first entry kept
// behind that place. So ErrGap may be told although nothing was lost, when the
// last entry alone had gone; that nothing is said means that nothing was lost.
// For a follower that begins behind an entry which is not kept, or never was one
// of key, Next says ErrGap at once, also when there is nothing to give, and goes
// on with the first entry kept. A follower that begins at 0 cannot miss
// anything before the first one it gives. Entries that came and went unseen
// while nothing more came are told when the next one does.
func (s *Store) Follow(ctx context.Context, key string, after uint64) (*Follower, error) {
	if !validToken(key) {
		return nil, badPlace(inLog, key)
	}
	f := &Follower{s: s, key: key, last: after, fresh: true, behind: true, pause: firstLook, news: make(chan struct{}, 1)}
	f.ctx, f.end = context.WithCancelCause(ctx)
	f.stop = context.AfterFunc(f.ctx, f.leave)
	if err := f.join(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// join subscribes. The server reads the subscription before any request that
// follows on the same connection, so nothing comes between it and the first read.
func (f *Follower) join() error {
	l := f.s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Load() {
		return ErrClosed
	}
	sub, err := f.s.events.Subscribe(f.s.keptSubject(f.key), f.arrive)
	if err == nil {
		f.sub, err = sub, sub.SetPendingLimits(wakeQueue, wakeQueueBytes)
	}
	if err != nil {
		return unavailable(fmt.Errorf("store: follow %q: %w", f.key, err))
	}
	l.followers[f] = struct{}{}
	return nil
}

// Close ends the follower; a Next under way, and each later one, gives ErrClosed.
func (f *Follower) Close() {
	if f.stop() {
		f.leave()
	}
	f.end(ErrClosed)
}

// leave gives back what join took.
func (f *Follower) leave() {
	l := f.s.log
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.followers, f)
	if f.sub != nil {
		_ = f.sub.Unsubscribe() // fails only when the connection is closed, and the subscription with it
	}
}

// arrive takes an entry that was kept just now, or notes that it did not.
func (f *Follower) arrive(m *nats.Msg) {
	e, err := headedEntry(m)
	before, berr := strconv.ParseUint(m.Header.Get(jetstream.LastSequenceHeader), 10, 64)
	dropped, _ := m.Sub.Dropped() // when one was dropped, some stood before it: they come here afterwards
	f.mu.Lock()
	full := len(f.arrived) > 0 && (len(f.arrived) == arrivedEntries || f.size+len(e.Data) > arrivedBytes)
	if f.missed || full || err != nil || berr != nil || dropped != f.dropped {
		f.missed, f.arrived, f.size = true, nil, 0
	} else {
		f.arrived, f.size = append(f.arrived, arrival{e, before}), f.size+len(e.Data)
	}
	f.dropped = dropped
	f.mu.Unlock()
	f.wake()
}

// miss makes Next look into the log.
func (f *Follower) miss() {
	f.mu.Lock()
	f.missed, f.arrived, f.size = true, nil, 0
	f.mu.Unlock()
	f.wake()
}

func (f *Follower) wake() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// missed makes every follower look: the connection was away.
func (l *eventLog) missed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.followers {
		f.miss()
	}
}

// take gives the first arrival, if any; missed says to read the log instead.
func (f *Follower) take() (a arrival, some, missed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.missed {
		f.missed = false
		return arrival{}, false, true
	}
	if len(f.arrived) == 0 {
		return arrival{}, false, false
	}
	a = f.arrived[0]
	f.arrived[0] = arrival{}
	f.arrived, f.size = f.arrived[1:], f.size-len(a.Data)
	return a, true, false
}
