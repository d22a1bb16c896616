package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/gateway/transcript"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/conversation"
	"github.com/aguigate/aguigate/protocol/fault"
)

// joining is another run that answers this turn: the turn was sent before, or it
// only repeats results that somebody has brought to the agent already [RUN-13,
// INV-11].
type joining struct {
	key string     // of the run
	run string     // its id
	end agui.Frame // its last event, where that is known
	// done says that it is over and came to its end, so that its last event can be made
	// anew.
	done    bool
	connect bool // the client asks for the thread, and for whatever runs on it
	// refused answers the turn in the other run's place.
	refused *fault.Error
}

// joinLook is how often a turn that joined looks whether the other run still lives.
const joinLook = time.Second

// follow gives the client the other run under its own ids: live while it is
// active, from the transcript when it is over. The agent is not asked.
func (r *liveRun) follow(ctx context.Context) {
	r.bareMachine(true)
	r.detachable.Store(false) // there is nothing to go on with
	var err error
	switch {
	case r.join.refused != nil:
		err = r.join.refused
	case r.join.connect:
		err = r.connected(ctx)
	default:
		err = r.live(ctx)
	}
	switch {
	case r.machine.Done() || r.sinkErr != nil:
	case errors.Is(context.Cause(ctx), errStopped):
		r.perform(ctx, r.machine.Stop(r.actions[:0]))
	case ctx.Err() != nil && fault.CodeOf(context.Cause(ctx)) != fault.GatewayShutdown:
	case ctx.Err() != nil:
		r.perform(ctx, r.machine.FailLocal(fault.From(context.Cause(ctx)), r.actions[:0]))
	case err != nil:
		r.perform(ctx, r.machine.FailLocal(fault.From(err), r.actions[:0]))
	}
	r.flush()
	r.awaitFree(ctx)
}

// awaitFree holds the end of the stream until the run that was read has given the
// thread back, so that the client's next turn finds it free.
func (r *liveRun) awaitFree(ctx context.Context) {
	for i := 0; i < 100 && r.join.key != "" && r.machine.Done() && ctx.Err() == nil; i++ {
		if alive, err := r.otherLives(ctx); !alive || err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// live follows the other run while it lives, and replays it if none of it came.
func (r *liveRun) live(ctx context.Context) error {
	w, err := r.g.watchNow(ctx, r.thread)
	if err != nil {
		return err
	}
	defer w.close()
	if err := r.liveFrom(ctx, w); !errors.Is(err, errOver) {
		return err
	}
	return r.replay(ctx)
}

// liveFrom hands on the other run from where w stands to its end. errOver says that
// it was over before any of it came.
func (r *liveRun) liveFrom(ctx context.Context, w *watch) error {
	defer r.g.active.follow(r, r.join.key)()
	some, look, alive := false, true, true
	for {
		if look {
			var err error
			if alive, err = r.otherLives(ctx); err != nil {
				return err
			}
			if !alive && !some {
				return errOver
			}
			r.g.tellReading(ctx, r.join.key)
		}
		pause := joinLook
		if !some {
			pause /= 8 // it may just have ended
		}
		wait, cancel := context.WithTimeout(ctx, pause)
		list, err := w.next(wait, r.join.key)
		late := wait.Err() != nil && ctx.Err() == nil
		cancel()
		look = late
		switch {
		case ctx.Err() != nil:
			return nil
		case late && !alive:
			return fault.New(fault.IncompleteStream, "the run that answers this turn ended without its last event")
		case late:
		case err != nil && !errors.Is(err, errAnew):
			return err
		default:
			some = some || len(list) > 0
			r.step(ctx, list)
		}
		if r.machine.Done() || r.sinkErr != nil {
			return nil
		}
	}
}

// tellReading says that this process has a reader of a run that another one moves, for
// a little longer than it looks.
func (g *Gateway) tellReading(ctx context.Context, key string) {
	if g.active.of(key) != nil {
		return
	}
	if err := g.store.Publish(ctx, "read", []byte(key)); err != nil {
		g.log.Warn("a reader of a run could not be announced", "error", err)
	}
}

// onRead is tellReading as it arrives.
func (g *Gateway) onRead(data []byte) { g.active.read(string(data), g.now().Add(3*joinLook)) }

// watchNow watches a thread from here on.
func (g *Gateway) watchNow(ctx context.Context, t *thread) (*watch, error) {
	newest, err := g.store.Last(ctx, t.space())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	return g.openWatch(context.WithoutCancel(ctx), t, newest.Seq)
}

// step moves frames of the other run.
func (r *liveRun) step(ctx context.Context, list []frontend.Event) {
	r.actions = r.actions[:0]
	for _, e := range list {
		r.actions = r.machine.Step(e.Frame, r.actions)
	}
	if r.machine.Held() {
		r.actions = r.machine.End(nil, r.actions)
	}
	if m, ok := r.sink.(frontend.Marker); ok && len(list) > 0 {
		m.Mark(list[len(list)-1].ID)
	}
	r.perform(ctx, r.actions)
	r.flush()
}

// otherLives reports whether the run that was joined is active or waits its turn.
func (r *liveRun) otherLives(ctx context.Context) (bool, error) {
	t := &thread{key: r.thread.key}
	if err := r.g.reload(ctx, t); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return false, err
	}
	if r.g.alive(t, r.join.key) {
		return true, nil
	}
	for _, q := range t.Queue {
		if q.Key == r.join.key && r.g.waits(q) {
			return true, nil
		}
	}
	return false, nil
}

// replay gives a run that is over again, put together from the transcript.
func (r *liveRun) replay(ctx context.Context) error {
	t, err := r.g.loadThread(ctx, r.turn.Principal, r.agent.name, r.thread.ID)
	if err != nil {
		return err
	}
	h, err := r.g.loadHistory(ctx, t)
	if err != nil {
		return err
	}
	msgs, err := r.g.messages(ctx, h, madeBy(h.index, r.join.key))
	if err != nil {
		return err
	}
	end := r.join.end
	for i := range t.Past {
		if t.Past[i].Key == r.join.key {
			end = agui.Frame{Type: t.Past[i].endType(), Raw: t.Past[i].End}
		}
	}
	switch {
	case len(end.Raw) > 0:
	case r.join.done:
		end = r.ending(ctx)
	default: // cancelled with its client, or cut with its gateway
		return fault.New(fault.IncompleteStream, "the run that answers this turn ended before its last event")
	}
	frames := conversation.Replay(msgs)
	if state, run, _, err := r.g.readState(ctx, t); err == nil && state != nil && run == r.join.key {
		frames = append(frames, agui.NewStateSnapshot(state))
	}
	var list []frontend.Event
	for _, f := range append(frames, end) {
		list = append(list, frontend.Event{Frame: f})
	}
	r.step(ctx, list)
	return nil
}

// ending makes the last event of a run of which only the record is left.
func (r *liveRun) ending(ctx context.Context) agui.Frame {
	in := r.turn.Input
	rounds, err := r.g.loadRounds(ctx, []string{r.join.key})
	if err != nil {
		rounds = nil // the client learns of its calls at its next run
	}
	return agui.NewRunFinished(in.ThreadID, in.RunID, pendingOutcome(rounds))
}

// madeBy lists what the agent made in one run.
func madeBy(x *transcript.Index, key string) (out []int) {
	for at := range x.Len() {
		if it := x.At(at); it.Run == key && it.Made {
			out = append(out, at)
		}
	}
	return out
}

// keepView notes that the client now has what the other run made.
func (r *liveRun) keepView() {
	ctx, done := recording(context.Background())
	defer done()
	t, err := r.g.loadThread(ctx, r.turn.Principal, r.agent.name, r.thread.ID)
	if err != nil || t.revision == 0 || r.turn.Appends {
		return
	}
	err = r.g.changeThread(ctx, t, func(rec *threadRecord) error {
		h, err := r.g.loadHistory(ctx, &thread{key: t.key, threadRecord: *rec})
		if err != nil {
			return err
		}
		b := transcript.Read(h.index, rec.Hidden, rec.Views, r.list.list)
		known := slices.DeleteFunc(b.Known, func(at int) bool { return at < 0 })
		has := r.has.Union(transcript.SetOf(append(madeBy(h.index, r.join.key), known...)))
		rec.Views = transcript.Keep(rec.Views, b.View, r.state.Round, has, r.g.now())
		return nil
	})
	if err != nil {
		r.g.log.Warn("what a client has been sent could not be noted", "run", r.state.ID, "error", err)
	}
}
