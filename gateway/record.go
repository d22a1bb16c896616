package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"

	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/tool"
)

// round is the run's own round before its first call.
func (r *liveRun) round() tool.Round {
	now := r.g.now()
	return tool.Round{
		Key: r.state.Round, ID: r.state.Round, Tenant: r.thread.Tenant, Owner: r.thread.Owner,
		Agent: r.agent.name, Thread: r.thread.ID, Run: r.state.ID, Created: now, Updated: now,
	}
}

// open records a client call [INV-1].
func (r *liveRun) open(ctx context.Context, c *run.Call) error {
	var random [17]byte
	_, _ = rand.Read(random[:])
	conf := r.agent.byTool[c.Tool]
	inv := tool.Invocation{
		ID: tool.NewInvocationID(random), CallID: c.ID, ShownID: c.Shown, MessageID: c.Message,
		Agent: r.agent.name, Thread: r.thread.ID, Run: r.state.ID, Tool: c.Tool, Arguments: string(c.Arguments),
		Attempts: max(conf.Attempts, 1), IdempotencyKey: newID(), Initiator: "model",
	}
	if conf.Timeout > 0 {
		inv.Deadline = r.g.now().Add(conf.Timeout)
	}
	inv.Valid, inv.ArgumentsError = r.agent.validArguments(r.offer, c.Tool, inv.Arguments)
	r.opened = true // also if the write fails: it may have happened
	if err := r.g.openCall(context.WithoutCancel(ctx), r.thread.key, r.round(), inv); err != nil {
		return err
	}
	r.g.metrics.ended(r.agent.name, "opened", 0)
	if !slices.ContainsFunc(r.turn.Input.Tools, func(d agui.ToolDef) bool { return d.Name == c.Tool }) {
		r.g.metrics.unclaimed.WithLabelValues(r.agent.name).Inc()
		r.g.log.Warn("a call's tool was not advertised by its client", "invocation", inv.ID, "tool", c.Tool, "agent", r.agent.name, "run", r.state.ID)
	}
	return nil
}

// recording gives a context for writes that must happen although the client, or
// the run, is over.
func recording(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), recordTime)
}

// closeCall ends the invocation of a call that no client is to answer any more:
// this run's, or one of an earlier run that the agent comes back to.
func (r *liveRun) closeCall(ctx context.Context, c *run.Call, reason string) {
	key := r.state.Round
	if !c.Client {
		rd, inv := r.ledger.call(c.Shown)
		if inv == nil || inv.State == tool.Settled {
			return // the agent's own call, or one that has its answer
		}
		key = rd.Key
	} else if !r.opened {
		return
	}
	ctx, done := recording(ctx)
	defer done()
	_, _ = r.change(ctx, key, func(rd *tool.Round) error { // an error is logged
		if rd.CancelCall(c.Shown, reason, r.g.now()) == nil {
			return errUnchanged
		}
		return nil
	})
}

// change changes one round, and says in the log when it cannot. A round that is
// not there is one whose first call could not be recorded.
func (r *liveRun) change(ctx context.Context, key string, change func(*tool.Round) error) (*tool.Round, error) {
	rd, err := r.g.changeRound(ctx, key, nil, change)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.g.log.Error("a round could not be changed", "run", r.state.ID, "agent", r.agent.name, "error", err)
	}
	return rd, err
}

// release makes the round answerable and tells what became of its calls so far.
func (r *liveRun) release(ctx context.Context) (open []string, settled []run.Answer, err error) {
	if !r.opened {
		return nil, nil, nil
	}
	ctx, done := recording(ctx)
	defer done()
	rd, err := r.change(ctx, r.state.Round, func(rd *tool.Round) error {
		rd.Release(r.g.now())
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range rd.Invocations {
		if rd.Invocations[i].State == tool.Open {
			open = append(open, rd.Invocations[i].ShownID)
		}
	}
	return open, accepted(rd), nil
}

// accepted lists the calls of a round that have a final answer, as the client is
// shown them.
func accepted(rd *tool.Round) (out []run.Answer) {
	for i := range rd.Invocations {
		inv := &rd.Invocations[i]
		if inv.State == tool.Settled || inv.State == tool.Expired {
			text, _ := toldText(inv)
			out = append(out, run.Answer{Shown: inv.ShownID, Content: text})
		}
	}
	return out
}

// cancelCalls ends the open calls of a run that did not reach its end.
func (r *liveRun) cancelCalls(ctx context.Context, reason string) []run.Answer {
	if !r.opened {
		return nil
	}
	ctx, done := recording(ctx)
	defer done()
	rd, err := r.change(ctx, r.state.Round, func(rd *tool.Round) error {
		if len(rd.CancelOpen(reason, r.g.now())) == 0 {
			return errUnchanged
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return accepted(rd)
}

// sent and delivered write down what the agent was told [INV-12].
func (r *liveRun) sent(ctx context.Context) error { return r.mark(ctx, tool.Held, tool.Sent) }

func (r *liveRun) delivered(ctx context.Context) {
	if err := r.mark(context.WithoutCancel(ctx), tool.Sent, tool.Delivered); err != nil {
		r.g.log.Warn("a delivery could not be recorded", "run", r.state.ID, "error", err)
	}
}

func (r *liveRun) mark(ctx context.Context, from, to tool.Delivery) error {
	for _, key := range r.told {
		_, err := r.g.changeRound(ctx, key, nil, func(rd *tool.Round) error {
			changed := false
			for i := range rd.Invocations {
				inv := &rd.Invocations[i]
				if r.tells(*inv) && inv.Delivery == from {
					changed, inv.Delivery = true, to
				}
			}
			if !changed {
				return errUnchanged
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// giveBack frees the thread. change enters what the run leaves in the record.
func (r *liveRun) giveBack(change func(*threadRecord)) {
	ctx, done := recording(context.Background())
	defer done()
	defer r.g.active.remove(r)
	if err := r.g.give(ctx, r.thread, &r.state, change); err != nil {
		r.g.log.Error("a thread could not be given back; it is taken over at its next run", "run", r.state.ID, "error", err)
	}
}

// keep enters the run's round and ids into the thread.
func (r *liveRun) keep(rec *threadRecord) {
	ctx, done := recording(context.Background())
	defer done()
	rec.keepNames(r.names)
	rec.Backend = append(slices.Clone(rec.Backend), r.machine.Backend()...)
	for len(rec.Backend) > keptCalls || bytesOf(rec.Backend) > keptBytes {
		rec.Backend = rec.Backend[1:]
	}
	for i := range rec.Rounds {
		if slices.Contains(r.touched, rec.Rounds[i].Key) {
			r.refresh(ctx, &rec.Rounds[i])
		}
	}
	if !r.opened {
		return
	}
	ref := roundRef{Key: r.state.Round}
	if r.refresh(ctx, &ref) {
		rec.Rounds = append(rec.Rounds, ref)
	}
}

// refresh brings a reference up to date; false for a round that is not there.
func (r *liveRun) refresh(ctx context.Context, ref *roundRef) bool {
	rd, err := r.g.loadRound(ctx, ref.Key)
	switch {
	case err == nil:
		*ref = refOf(rd)
	case errors.Is(err, store.ErrNotFound):
		return false
	default:
		ref.Open = true // look again at the next run
	}
	return true
}
