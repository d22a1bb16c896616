package gateway

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
)

// eventsIdle ends a stream of events on which nothing has happened (contract §6).
// Tests shorten it.
var eventsIdle = 10 * time.Minute

// lifeLook is how often a silent stream looks whether its thread is still there.
const lifeLook = 5 * time.Second

// watch reads a thread's log for one reader. An event's id is the number of the
// entry before it, shifted by eight bits, and how many frames of its entry have
// been given; the last frame of an entry has that entry's own number.
type watch struct {
	g      *Gateway
	space  string
	thread string // its key
	me     string
	log    *store.Follower
	at     uint64          // the entry given last
	skip   int             // frames of the next entry that were given before
	synced map[string]bool // runs whose frames this reader has had from the beginning
	all    bool            // it goes on where it was: every run's frames are for it
	since  time.Time       // the time of that place
}

// openWatch begins to watch a thread behind entry after.
func (g *Gateway) openWatch(ctx context.Context, t *thread, after uint64) (*watch, error) {
	w := &watch{g: g, space: t.space(), thread: t.key, me: newID(), at: after, synced: map[string]bool{}}
	var err error
	if w.log, err = g.store.Follow(ctx, w.space, after); err != nil {
		return nil, err
	}
	if err := g.announce(ctx, w.space, w.thread, w.me); err != nil {
		w.log.Close()
		return nil, err
	}
	return w, nil
}

func (w *watch) close() { w.log.Close() }

// errAnew says that the log has a hole before the next entry.
var errAnew = errors.New("the log began anew")

// next gives the events of the next entry that has any for this reader. run "" is
// every run.
func (w *watch) next(ctx context.Context, run string) ([]frontend.Event, error) {
	for {
		e, err := w.log.Next(ctx)
		if errors.Is(err, store.ErrGap) {
			return nil, errAnew
		}
		if err != nil {
			return nil, err
		}
		h, frames := readFeed(e.Data)
		events := w.number(h, e.Seq, w.pick(h, frames, run), len(frames))
		w.at, w.skip = e.Seq, 0
		if len(events) > 0 {
			return events, nil
		}
	}
}

// pick gives the frames of an entry that are for this reader.
func (w *watch) pick(h feedHead, frames []agui.Frame, run string) []agui.Frame {
	if run != "" && h.Run != run || len(frames) == 0 && h.Kind != feedSoFar {
		return nil
	}
	switch h.Kind {
	case feedCall:
		return frames
	case feedSoFar:
		if h.Watcher != w.me || w.all && !w.misses(h) || w.synced[h.Run] && w.synced[h.Run+" begun"] {
			return nil
		}
		w.synced[h.Run] = true
		return frames
	case feedFrame:
		if frames[0].Type == agui.RunStarted {
			w.synced[h.Run], w.synced[h.Run+" begun"] = true, true
		}
		if !w.synced[h.Run] && (!w.all || w.misses(h)) {
			return nil
		}
		if last := frames[len(frames)-1].Type; last == agui.RunFinished || last == agui.RunError {
			delete(w.synced, h.Run)
			delete(w.synced, h.Run+" begun")
		}
		return frames
	}
	return nil
}

// misses reports a run of which a reader that has come back cannot have had the
// beginning: it began after that reader's place, and was not logged from its start.
func (w *watch) misses(h feedHead) bool { return h.Holes && h.Began.After(w.since) }

// anew is the place in an entry of a reader that has not had any of what is under way:
// it gets all of it, when it comes back.
const anew = 255

// number gives the frames of entry seq their ids, and leaves out those a reader had.
func (w *watch) number(h feedHead, seq uint64, frames []agui.Frame, of int) []frontend.Event {
	var out []frontend.Event
	for i, f := range frames {
		if i < w.skip {
			continue
		}
		id := w.at<<8 | uint64(i+1)
		switch {
		case i == of-1:
			id = seq << 8
		case h.Kind == feedSoFar: // for this reader only: cut in the middle, it has to begin again
			id = w.at<<8 | anew
		}
		out = append(out, frontend.Event{ID: id, Frame: f})
	}
	return out
}

// events is one reader of GET /v1/threads/{thread}/events.
type events struct {
	g      *Gateway
	p      principal.Principal
	thread *thread
	watch  *watch
	first  []frontend.Event // before what the log has
}

// Events opens a thread's event stream (contract §6).
func (g *Gateway) Events(ctx context.Context, p principal.Principal, ref frontend.ThreadRef, last string) (frontend.Events, error) {
	if err := g.Admit(); err != nil {
		return nil, err
	}
	t, err := g.findThread(ctx, p, ref.Thread, ref.Agent)
	if err != nil {
		return nil, err
	}
	e := &events{g: g, p: p, thread: t}
	var cursor uint64
	if last != "" {
		if cursor, err = strconv.ParseUint(last, 10, 64); err != nil {
			return nil, fault.New(fault.InvalidRequest, "Last-Event-ID is the id of an event of this stream").At("Last-Event-ID")
		}
	}
	// What happens from here on is in the log, what happened before in the record.
	g.watched.note(t.space(), g.now())
	if err := g.reload(ctx, t); err != nil {
		return nil, err
	}
	newest, err := g.store.Last(ctx, t.space())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if newest.Seq == 0 {
		if newest.Seq, err = g.store.Append(ctx, t.space(), appendFeed(feedHead{Kind: feedBegin}, nil)); err != nil {
			return nil, err
		}
	}
	after, gone := newest.Seq, false
	var place store.Entry
	if last != "" {
		if place, gone, err = g.placeOf(ctx, t, cursor>>8); err != nil {
			return nil, err
		}
		if !gone {
			after = place.Seq
		}
	}
	if e.watch, err = g.openWatch(context.WithoutCancel(ctx), t, after); err != nil {
		return nil, err
	}
	switch {
	case gone, last != "" && cursor&255 == anew && !g.busy(t.Run): // what it was to be brought is over
		err = e.snapshots(ctx)
	case last != "" && cursor&255 != anew:
		e.watch.all, e.watch.skip, e.watch.since = true, int(cursor&255), place.Time
		err = e.changedCalls(ctx, newest.Time)
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// placeOf finds the entry a reader had last. It is gone when the log does not have it, or
// has not had everything since.
func (g *Gateway) placeOf(ctx context.Context, t *thread, seq uint64) (place store.Entry, gone bool, err error) {
	if seq == 0 {
		return place, true, nil
	}
	place, err = g.store.At(ctx, t.space(), seq)
	if errors.Is(err, store.ErrNotFound) {
		return place, true, nil
	}
	return place, !t.Unlogged.Before(place.Time), err
}

// KeepAlive is the agent's.
func (e *events) KeepAlive() time.Duration {
	if a := e.g.byName[e.thread.Agent]; a != nil {
		return a.conf.KeepAlive
	}
	return 15 * time.Second
}

// Close lets the log go.
func (e *events) Close() { e.watch.close() }

// snapshots puts the thread as it is before what comes.
func (e *events) snapshots(ctx context.Context) error {
	t, err := e.g.loadThread(ctx, e.p, e.thread.Agent, e.thread.ID)
	if err != nil {
		return err
	}
	msgs, err := e.g.visible(ctx, t)
	if err != nil {
		return err
	}
	e.say(agui.NewMessagesSnapshot(agui.AppendMessages(nil, msgs)))
	if state, err := e.g.threadState(ctx, t); err == nil && state != nil {
		e.say(agui.NewStateSnapshot(state))
	}
	rounds, err := e.g.roundsOf(ctx, t)
	if err != nil {
		return err
	}
	for _, rd := range rounds {
		for _, inv := range rd.OpenCalls() {
			e.say(invocationFrame(inv))
		}
	}
	for i := range e.first { // cut in the middle, they have to come again
		e.first[i].ID = lostPlace
	}
	e.first[len(e.first)-1].ID = e.watch.at<<8 | anew
	return nil
}

// lostPlace is an id that leads nowhere: who comes back with it gets snapshots.
const lostPlace = 1

// changedCalls tells a reader that comes back of calls that changed while nobody
// watched.
func (e *events) changedCalls(ctx context.Context, since time.Time) error {
	rounds, err := e.g.roundsOf(ctx, e.thread)
	if err != nil {
		return err
	}
	for _, rd := range rounds {
		if rd.Updated.After(since) {
			for i := range rd.Invocations {
				e.say(invocationFrame(&rd.Invocations[i]))
			}
		}
	}
	return nil
}

func (e *events) say(f agui.Frame) {
	e.first = append(e.first, frontend.Event{ID: e.watch.at<<8 | uint64(e.watch.skip), Frame: f})
}

// Stream hands on what the thread's log gets.
func (e *events) Stream(ctx context.Context, send func([]frontend.Event) error) error {
	defer e.Close()
	if err := e.sendFirst(send); err != nil {
		return err
	}
	lastEvent, announced := e.g.now(), e.g.now()
	for {
		wait, cancel := context.WithTimeout(ctx, min(lifeLook, eventsIdle))
		list, err := e.watch.next(wait, "")
		late := wait.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case errors.Is(err, errAnew):
			if err := e.snapshots(ctx); err != nil {
				return err
			}
			if err := e.sendFirst(send); err != nil {
				return err
			}
		case late:
		case err != nil:
			return err
		default:
			if err := send(list); err != nil {
				return err
			}
			lastEvent = e.g.now()
		}
		now := e.g.now()
		if now.Sub(lastEvent) >= eventsIdle || late && !e.g.threadLives(ctx, e.thread) {
			return nil
		}
		if now.Sub(announced) >= announceEvery {
			announced = now
			_ = e.g.announce(ctx, e.watch.space, e.watch.thread, "") // the next one is in a minute
		}
	}
}

func (e *events) sendFirst(send func([]frontend.Event) error) error {
	if len(e.first) == 0 {
		return nil
	}
	list := e.first
	e.first = nil
	return send(list)
}

// threadLives reports that the thread is still the one it was.
func (g *Gateway) threadLives(ctx context.Context, t *thread) bool {
	now := &thread{key: t.key}
	if err := g.reload(ctx, now); err != nil {
		return !errors.Is(err, store.ErrNotFound)
	}
	return now.Born == t.Born && !now.Deleting
}
