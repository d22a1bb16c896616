package gateway

import (
	"bytes"
	"context"
	"errors"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// Begin is steps 1 to 3 of a tool call's life: the turn is checked whole, the
// thread is taken, what the turn answers is settled, the upstream's copy is
// written. Everything that can be refused is refused before anything changes. A
// turn that has to wait for the thread, or that another run answers already, is
// accepted and finds out in its stream.
func (g *Gateway) Begin(ctx context.Context, t *frontend.Turn) (frontend.Run, error) {
	r, err := g.newRun(ctx, t)
	if err != nil {
		return nil, err
	}
	g.active.add(r)
	begun := false
	defer func() { // also when something panics: a drain waits for active runs
		if !begun {
			g.active.remove(r)
		}
	}()
	if err := r.begin(ctx); err != nil {
		if errors.Is(err, store.ErrNotFound) { // deleted under our hands
			err = noThread()
		}
		return nil, err
	}
	begun = true
	g.metrics.activeRuns.WithLabelValues(r.agent.name).Inc()
	return r, nil
}

// newRun checks what can be checked without the thread's record, and loads it.
func (g *Gateway) newRun(ctx context.Context, t *frontend.Turn) (*liveRun, error) {
	if err := g.Admit(); err != nil {
		return nil, err
	}
	a, err := g.agentFor(t.Principal, t.Agent)
	if err != nil {
		return nil, err
	}
	if err := checkThreadID(t.Input.ThreadID); err != nil {
		return nil, err
	}
	offer, err := a.offer(t.Input)
	if err != nil {
		return nil, err
	}
	headers, err := forwarded(a.conf.Upstream, t)
	if err != nil {
		return nil, err
	}
	th, err := g.loadThread(ctx, t.Principal, a.name, t.Input.ThreadID)
	if err != nil {
		return nil, err
	}
	in, err := g.toolsAgain(ctx, th, t.Input)
	if err != nil {
		return nil, err
	}
	if in != t.Input {
		again := *t
		again.Input, t = in, &again
		if offer, err = a.offer(in); err != nil {
			return nil, err
		}
	}
	r := &liveRun{
		profile: a.profile(t.Profile),
		list:    read(t.Input.Messages), key: th.key, feed: feeding{space: th.space()},
		g: g, turn: t, agent: a, thread: th, offer: offer, begun: g.now(), headers: headers,
		state: activeRun{ID: t.Input.RunID, Round: newID(), Holder: g.instance, Digest: t.Digest[:16],
			Started: g.now(), Lease: g.now().Add(lease)},
	}
	r.speak()
	r.detachable.Store(a.conf.OnDisconnect == "detach")
	return r, nil
}

// begin decides how the turn goes on: at once, behind others, or as a second
// reader of a run there is already.
func (r *liveRun) begin(ctx context.Context) error {
	g := r.g
	same, err := r.sameTurn()
	if err != nil || same {
		return err
	}
	if g.busy(r.thread.Run) || g.behind(r.thread, r.state.Round) {
		return r.beginBusy(ctx)
	}
	err = r.prepare(ctx)
	if r.join != nil {
		return err
	}
	if fault.CodeOf(err) == fault.ThreadBusy && r.thread.revision != 0 { // somebody was faster
		return r.beginBusy(ctx)
	}
	return err
}

// sameTurn finds the run that is this very turn, sent before: it is joined while
// it is active, and replayed for some minutes after [RUN-13].
func (r *liveRun) sameTurn() (bool, error) {
	if r.own != nil {
		return false, nil
	}
	t := r.thread
	if a := t.Run; a != nil && a.ID == r.state.ID && r.g.busy(a) {
		if bytes.Equal(a.Digest, r.state.Digest) {
			r.join = &joining{key: a.Round, run: a.ID}
			return true, nil
		}
		if len(r.turn.Input.Resume) == 0 {
			return false, fault.New(fault.RunConflict, "another run with this runId is active on the thread").At("/runId")
		}
	}
	for _, w := range t.Queue {
		if w.Run != r.state.ID || !r.g.waits(w) {
			continue
		}
		if !bytes.Equal(w.Digest, r.state.Digest) {
			return false, fault.New(fault.RunConflict, "another run with this runId waits for the thread").At("/runId")
		}
		r.join = &joining{key: w.Key, run: w.Run}
		return true, nil
	}
	for i := range t.Past {
		if p := &t.Past[i]; p.ID == r.state.ID && bytes.Equal(p.Digest, r.state.Digest) && r.g.now().Before(p.Ended.Add(pastTime)) {
			r.join = &joining{key: p.Key, run: p.ID, end: agui.Frame{Type: p.endType(), Raw: p.End}}
			return true, nil
		}
	}
	return false, nil
}

// beginBusy is begin for a thread that another run has.
func (r *liveRun) beginBusy(ctx context.Context) error {
	if r.claimed() {
		return fault.New(fault.ResumeConflict, "another run brings the answer of this interrupt").At("/resume")
	}
	results, err := r.resultsOnly(ctx)
	if err != nil {
		return err
	}
	switch {
	case r.join != nil:
		return nil
	case results: // never thread_busy [RUN-5]
		r.wait = inFront
	case r.own != nil || r.agent.conf.Concurrency == "reject":
		return r.g.busyFault()
	case r.agent.conf.Concurrency == "supersede":
		r.wait = alone
	default:
		r.wait = atEnd
	}
	if err := r.enqueue(ctx, r.wait); err != nil {
		return err
	}
	if r.wait == alone && r.thread.Run != nil {
		r.g.tellStop(ctx, r.thread.Run.Round)
	}
	return nil
}

// resultsOnly reports a turn that brings nothing but results, and settles those for
// calls of the active run [RUN-5].
func (r *liveRun) resultsOnly(ctx context.Context) (bool, error) {
	active := r.thread.Run
	if active == nil || r.list.trailing() == len(r.list.list) || len(r.turn.Input.Resume) > 0 {
		return false, nil
	}
	led, p, err := r.plan(ctx)
	if err != nil || r.join != nil {
		return false, err
	}
	trailing, others := false, false
	for _, a := range p.answers {
		others = others || a.trailing && a.round.Key != active.Round
		trailing = trailing || a.trailing
	}
	if !trailing || len(p.gone) > 0 {
		return false, nil
	}
	if others { // which some run is perhaps about to bring: it waits, and then joins or goes on
		return true, nil
	}
	return true, r.settle(ctx, led, p)
}

// prepare takes the thread and settles. An error has left nothing behind. A
// thread that changed after it was read is read, and the turn judged, again.
func (r *liveRun) prepare(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		led, p, err := r.plan(ctx)
		if err != nil || r.join != nil {
			return err
		}
		if r.thread.revision == 0 {
			if err := r.g.listThread(ctx, r.thread); err != nil {
				return err
			}
		}
		before := r.thread.threadRecord
		r.enterList(led)
		if err = r.g.turnPage(ctx, r.thread, r.hist); err != nil {
			return err
		}
		err = r.g.take(ctx, r.thread, r.state, r.enterTurn)
		if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExists) {
			if r.thread.revision == 0 { // another turn has begun this thread: what was written for it is nobody's
				r.g.forgetBirth(ctx, r.thread)
			}
			fresh, err := r.g.loadThread(ctx, r.turn.Principal, r.agent.name, r.thread.ID)
			if err != nil {
				return err
			}
			r.thread = fresh
			r.feed.space = r.thread.space()
			if r.wait == notAtAll { // what changed it may be this very turn
				if same, err := r.sameTurn(); err != nil || same {
					return err
				}
			}
			continue
		}
		if err != nil {
			return err
		}
		r.taken = true
		if err = r.began(ctx, led, p); err != nil {
			r.taken = false
			r.giveBack(func(rec *threadRecord) { rec.forget(&before) })
			return err
		}
		return nil
	}
}

// forgetBirth removes what was written for a thread that another turn has begun.
func (g *Gateway) forgetBirth(ctx context.Context, t *thread) {
	err := errors.Join(g.drop(ctx, store.Index, threadEntry(&t.threadRecord)), g.store.Purge(ctx, store.Messages, t.space()))
	if err != nil {
		g.log.Warn("what was written for a thread that another turn has begun could not be removed", "thread", t.ID, "error", err)
	}
}

// began is what follows once the thread is this run's.
func (r *liveRun) began(ctx context.Context, led *ledger, p *plan) error {
	if err := r.bury(ctx, led); err != nil {
		return err
	}
	if err := r.settle(ctx, led, p); err != nil {
		return err
	}
	return r.write(ctx, led, p)
}
