package gateway

import (
	"context"
	"errors"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/gateway/transcript"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/tool"
)

// Connect gives a client that was away its thread as one run: the messages as a
// snapshot, the state, and then the run that is active, live to its end, or none.
// The agent is not asked. A thread that nobody has used is an empty one.
func (g *Gateway) Connect(ctx context.Context, t *frontend.Turn) (frontend.Run, error) {
	if err := g.Admit(); err != nil {
		return nil, err
	}
	a, err := g.agentFor(t.Principal, t.Agent)
	if err != nil {
		return nil, err
	}
	if a.conf.History == "none" {
		return nil, fault.New(fault.InvalidRequest, "this agent keeps no history, so there is nothing to connect to")
	}
	if err := checkThreadID(t.Input.ThreadID); err != nil {
		return nil, err
	}
	th, err := g.loadThread(ctx, t.Principal, a.name, t.Input.ThreadID)
	if err != nil {
		return nil, err
	}
	r := &liveRun{
		profile: a.profile(t.Profile),
		list:    read(nil), key: th.key, feed: feeding{space: th.space()}, g: g, turn: t, agent: a, thread: th,
		offer: &tool.Offer{}, begun: g.now(), join: &joining{connect: true},
		state: activeRun{ID: t.Input.RunID, Round: newID(), Holder: g.instance},
	}
	r.speak()
	g.active.add(r)
	g.metrics.activeRuns.WithLabelValues(a.name).Inc()
	return r, nil
}

// connected is follow for a client that connects.
func (r *liveRun) connected(ctx context.Context) error {
	w, err := r.g.watchNow(ctx, r.thread) // before the record is read: what comes in between is in both
	if err != nil {
		return err
	}
	defer w.close()
	var rounds []*tool.Round
	for again := true; again; {
		if r.thread.revision != 0 {
			if err := r.g.reload(ctx, r.thread); err != nil {
				return err
			}
		}
		var prelude []agui.Frame
		if prelude, rounds, err = r.present(ctx); err != nil {
			return err
		}
		r.presented(prelude, w.at<<8)
		active := r.thread.Run
		if again = r.g.busy(active); again {
			r.join.key, r.join.run = active.Round, active.ID
			if err := r.liveFrom(ctx, w); err == nil || !errors.Is(err, errOver) {
				return err
			}
		}
	}
	in := r.turn.Input
	r.step(ctx, []frontend.Event{{Frame: agui.NewRunFinished(in.ThreadID, in.RunID, pendingOutcome(rounds))}})
	return nil
}

// present is the thread as a client is brought it: one list of messages, and the
// state, if it is not too large.
func (r *liveRun) present(ctx context.Context) ([]agui.Frame, []*tool.Round, error) {
	msgs, err := r.g.visible(ctx, r.thread)
	if err != nil {
		return nil, nil, err
	}
	h, err := r.g.loadHistory(ctx, r.thread)
	if err != nil {
		return nil, nil, err
	}
	var whole transcript.Set
	r.has = whole.AddRange(0, h.index.Len()).Minus(r.thread.Hidden)
	out := []agui.Frame{r.snapshot(msgs)}
	state, _, over, err := r.g.readState(ctx, r.thread)
	switch {
	case err != nil:
		return nil, nil, err
	case over:
		out = append(out, agui.NewCustom("aguigate.state_omitted", []byte(`{"reason":"limits.state"}`)))
	case state != nil:
		out = append(out, agui.NewStateSnapshot(state))
	}
	rounds, err := r.g.roundsOf(ctx, r.thread)
	return out, rounds, err
}

// presented begins the client's run with the thread as it is.
func (r *liveRun) presented(prelude []agui.Frame, cursor uint64) {
	in := r.turn.Input
	list := []frontend.Event{{ID: cursor, Frame: agui.NewRunStarted(in.ThreadID, in.RunID, in.ParentRunID, agui.ProtocolVersion)}}
	for _, f := range prelude {
		list = append(list, frontend.Event{ID: cursor, Frame: f})
	}
	r.step(context.Background(), list)
}

// pendingOutcome names the calls of a thread that wait for its client [RUN-4].
func pendingOutcome(rounds []*tool.Round) *agui.Outcome {
	o := &agui.Outcome{Kind: agui.OutcomeSuccess}
	for _, rd := range rounds {
		for _, inv := range rd.OpenCalls() {
			if inv.Released {
				o.PendingToolCallIDs = append(o.PendingToolCallIDs, inv.ShownID)
			}
		}
	}
	if o.PendingToolCallIDs == nil {
		return nil
	}
	return o
}

// errOver says that the run to be followed was over before anything of it came.
var errOver = errors.New("the run is over")
