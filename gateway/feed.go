package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/tool"
)

// Events of a thread go through the store's log only while somebody watches it, on
// whatever replica: a run nobody watches costs nothing more [OPS-4].
const (
	announceEvery = time.Minute      // a watcher says that it is still there
	watchGrace    = 12 * time.Minute // how long a thread is logged after the last sign of one
	feedFrames    = 250              // in one entry: an event's id has room for 255
)

// watched are the threads somebody watches, by space.
type watched struct {
	count atomic.Int64 // so that a run without watchers asks for no lock
	mu    sync.RWMutex
	until map[string]time.Time
}

func (w *watched) on(space string, now time.Time) bool {
	if w.count.Load() == 0 {
		return false
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	return now.Before(w.until[space])
}

func (w *watched) note(space string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until == nil {
		w.until = map[string]time.Time{}
	}
	w.until[space] = now.Add(watchGrace)
	w.count.Store(int64(len(w.until)))
}

// tidy forgets the threads nobody watches any more.
func (w *watched) tidy(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for space, until := range w.until {
		if !now.Before(until) {
			delete(w.until, space)
		}
	}
	w.count.Store(int64(len(w.until)))
}

// announce tells every replica that a watcher is there, and asks whoever moves a
// run of the thread for what the watcher has missed of it.
func (g *Gateway) announce(ctx context.Context, space, thread, watcher string) error {
	g.watched.note(space, g.now())
	return g.store.Publish(ctx, "watch", []byte(space+" "+thread+" "+watcher))
}

// onWatch is announce as it arrives.
func (g *Gateway) onWatch(data []byte) {
	space, rest, _ := strings.Cut(string(data), " ")
	thread, watcher, _ := strings.Cut(rest, " ")
	g.watched.note(space, g.now())
	if watcher == "" {
		return
	}
	for _, r := range g.active.all() {
		if r.key == thread {
			g.spawn(func() { r.catchUp(space, watcher) }) // it may have to wait for a slow client's write
		}
	}
}

// Kinds of log entries.
const (
	feedFrame = "frames" // of a run, as its client got them
	feedSoFar = "so-far" // what one watcher has missed of a run
	feedCall  = "call"   // a call changed
	feedBegin = "begin"  // nothing: a place to begin behind
)

// feedHead stands before an entry's frames.
type feedHead struct {
	Kind    string `json:"k"`
	Run     string `json:"r,omitempty"` // key
	Watcher string `json:"w,omitempty"`
	Holes   bool   `json:"h,omitempty"` // the log has not had all of the run so far
	// Began is when the run began: a reader that was there before has had all of it.
	Began time.Time `json:"b,omitzero"`
}

// appendFeed writes one entry: the head, a line end, each frame behind its length.
func appendFeed(h feedHead, frames []agui.Frame) []byte {
	out, _ := json.Marshal(h) // strings only: it cannot fail
	out = append(out, '\n')
	for _, f := range frames {
		out = binary.BigEndian.AppendUint32(out, uint32(len(f.Raw)))
		out = append(out, f.Raw...)
	}
	return out
}

// readFeed reads an entry; what cannot be read ends it.
func readFeed(data []byte) (h feedHead, frames []agui.Frame) {
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	if json.Unmarshal(head, &h) != nil {
		return h, nil
	}
	for len(rest) >= 4 {
		n := int(binary.BigEndian.Uint32(rest))
		if n > len(rest)-4 {
			break
		}
		f, err := agui.ParseFrame(rest[4 : 4+n : 4+n])
		if err != nil {
			break
		}
		frames, rest = append(frames, f), rest[4+n:]
	}
	return h, frames
}

// feeding is a run's side of the log.
type feeding struct {
	space  string
	app    *store.Appender
	begun  bool      // RUN_STARTED was sent
	missed time.Time // when frames were sent last that nobody watched
	closed bool
	failed bool
}

// toWatchers logs the batch if somebody watches. r.mu is held, or nobody else has
// the run yet.
func (r *liveRun) toWatchers() {
	if !r.taken || r.feed.closed {
		return
	}
	r.feed.begun = true
	if !r.g.watched.on(r.feed.space, r.g.now()) {
		r.feed.missed = r.g.now()
		return
	}
	for at := 0; at < len(r.batch); at += feedFrames {
		r.logFrames(feedHead{Kind: feedFrame, Run: r.state.Round, Holes: !r.feed.missed.IsZero(), Began: r.state.Started}, r.batch[at:min(at+feedFrames, len(r.batch))])
	}
}

func (r *liveRun) logFrames(h feedHead, frames []agui.Frame) {
	if r.feed.app == nil {
		r.feed.app = r.g.store.Appender(r.feed.space)
	}
	ctx, done := context.WithTimeout(context.Background(), recordTime)
	defer done()
	if err := r.feed.app.Append(ctx, appendFeed(h, frames)); err != nil && !r.feed.failed {
		r.feed.failed = true
		r.g.log.Warn("watchers of a thread miss events: the log does not take them", "run", r.state.ID, "error", err)
	}
}

// catchUp logs for one watcher what it has missed of the run.
func (r *liveRun) catchUp(space, watcher string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.taken || r.feed.space != space || r.feed.closed || r.machine == nil || r.machine.Done() {
		return
	}
	var frames []agui.Frame
	if r.feed.begun {
		in := r.turn.Input
		frames = append(frames, agui.NewRunStarted(in.ThreadID, in.RunID, in.ParentRunID, agui.ProtocolVersion))
		frames = append(frames, r.book.CatchUp()...)
	}
	h := feedHead{Kind: feedSoFar, Run: r.state.Round, Watcher: watcher, Holes: !r.feed.missed.IsZero(), Began: r.state.Started}
	for at := 0; at == 0 || at < len(frames); at += feedFrames {
		r.logFrames(h, frames[at:min(at+feedFrames, len(frames))])
	}
}

// endFeed waits until the log has everything, and tells when something happened last
// that it did not get; zero for never.
func (r *liveRun) endFeed(ctx context.Context) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.feed.closed = true
	if r.feed.app == nil {
		return r.g.now()
	}
	if err := r.feed.app.Flush(ctx); err != nil || r.feed.failed {
		return r.g.now()
	}
	return r.feed.missed
}

// logCalls tells watchers which calls of a round changed.
func (g *Gateway) logCalls(ctx context.Context, before, after *tool.Round) {
	space := after.Space
	if space == "" || !g.watched.on(space, g.now()) {
		return
	}
	var frames []agui.Frame
	for i := range after.Invocations {
		inv := &after.Invocations[i]
		if i < len(before.Invocations) && sameState(&before.Invocations[i], inv) {
			continue
		}
		frames = append(frames, invocationFrame(inv))
	}
	if len(frames) == 0 {
		return
	}
	if _, err := g.store.Append(ctx, space, appendFeed(feedHead{Kind: feedCall}, frames)); err != nil {
		g.log.Warn("watchers of a thread miss a change of its calls", "round", after.Key, "error", err)
	}
}

func sameState(a, b *tool.Invocation) bool {
	return a.State == b.State && a.Released == b.Released && a.Delivery == b.Delivery && a.Attempt == b.Attempt
}

func invocationFrame(inv *tool.Invocation) agui.Frame {
	return agui.NewCustom("aguigate.invocation", inv.AppendPublic(nil))
}
