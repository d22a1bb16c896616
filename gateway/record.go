package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"

	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/gateway/transcript"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/tool"
)

// round is the run's own round before its first call.
func (r *liveRun) round() tool.Round {
	now := r.g.now()
	return tool.Round{
		Key: r.state.Round, ID: r.state.Round, Tenant: r.thread.Tenant, Owner: r.thread.Owner,
		Agent: r.agent.name, Thread: r.thread.ID, Run: r.state.ID, Space: r.feed.space, Created: now, Updated: now,
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
	ctx = context.WithoutCancel(ctx)
	if !r.opened && r.agent.conf.History != "none" {
		if err := r.keepBasis(ctx); err != nil {
			return err
		}
	}
	r.opened = true // also if the write fails: it may have happened
	if err := r.g.openCall(ctx, r.round(), inv); err != nil {
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
		if r.ledger == nil {
			return // it only reads another run, which does this
		}
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
		before := *rd
		if len(rd.CancelOpen(reason, r.g.now())) == 0 && rd.Duty == before.Duty && rd.Cancelled == before.Cancelled {
			return errUnchanged
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return accepted(rd)
}

// errTold says that another run has told the agent these answers.
var errTold = fault.New(fault.ThreadBusy, "another run has brought these results to the agent")

// sent takes the duty to tell the agent, before the first byte goes out: from here
// on nobody else does it by itself [INV-12].
func (r *liveRun) sent(ctx context.Context) error {
	r.asked = true
	by := tool.ByClient
	if r.own != nil {
		by = tool.ByGateway
	}
	if r.own != nil && !slices.Contains(r.told, r.own.round) {
		return errTold // by a run that came in between
	}
	for _, key := range r.told {
		_, err := r.g.changeRound(ctx, key, nil, func(rd *tool.Round) error {
			if r.own != nil && !r.own.mayTake(rd) || !rd.Take(by, r.state.ID, r.state.Round, r.g.now()) {
				return errTold
			}
			r.moveDelivery(rd, tool.Held, tool.Sent)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// delivered notes that the agent has begun to answer.
func (r *liveRun) delivered(ctx context.Context) {
	for _, key := range r.told {
		_, _ = r.change(context.WithoutCancel(ctx), key, func(rd *tool.Round) error { // an error is logged
			if !r.moveDelivery(rd, tool.Sent, tool.Delivered) {
				return errUnchanged
			}
			return nil
		})
	}
}

func (r *liveRun) moveDelivery(rd *tool.Round, from, to tool.Delivery) (changed bool) {
	for i := range rd.Invocations {
		inv := &rd.Invocations[i]
		if r.tells(*inv) && (inv.Delivery == from || from == tool.Held && inv.Delivery == tool.Unknown) {
			changed, inv.Delivery = true, to
		}
	}
	return changed
}

// finishDuty writes down how the telling ended.
func (r *liveRun) finishDuty(ctx context.Context, outcome string) {
	code := ""
	switch {
	case outcome == "error":
		code = r.machine.Code()
	case !r.machine.Done(), outcome == "panic":
		code = "interrupted"
	case r.leftAlone:
		code = reasonClientGone
	case outcome == "cancelled" && r.g.active.wasStopped(r):
		code = reasonStopped
	}
	for _, key := range r.told {
		_, _ = r.change(ctx, key, func(rd *tool.Round) error { // an error is logged; the sweep finds it
			if !rd.Finish(r.state.Round, code, r.g.now()) {
				return errUnchanged
			}
			return nil
		})
	}
}

// giveBack frees the thread. change enters what the run leaves in the record.
func (r *liveRun) giveBack(change func(*threadRecord)) {
	ctx, done := recording(context.Background())
	defer done()
	defer r.g.active.remove(r)
	if err := r.g.give(ctx, r.thread, &r.state, change); err != nil && !errors.Is(err, store.ErrNotFound) {
		r.g.log.Error("a thread could not be given back; it is taken over at its next run", "run", r.state.ID, "error", err)
	}
	for _, key := range r.due {
		r.g.continueSoon(key)
	}
}

// closeBooks writes the run's messages into the transcript and gives the change of
// the thread's record that enters them.
func (r *liveRun) closeBooks(outcome string) func(*threadRecord) {
	ctx, done := recording(context.Background())
	defer done()
	r.finishDuty(ctx, outcome)
	r.enterProduced()
	unlogged := r.endFeed(ctx)
	if err := r.g.turnPage(ctx, r.thread, r.hist); err != nil {
		r.g.log.Warn("a page of a transcript could not be written; the next run tries again", "run", r.state.ID, "error", err)
	}
	if r.asked && !r.opened && len(interruptsOf(r.final)) > 0 {
		if err := r.keepBasis(ctx); err != nil {
			r.g.log.Warn("the tools of an interrupted run could not be kept", "run", r.state.ID, "error", err)
		}
	}
	if err := r.keepState(ctx); err != nil {
		r.g.log.Warn("the state of a thread could not be kept", "run", r.state.ID, "error", err)
	}
	refs := r.unfinished(ctx, outcome)
	return func(rec *threadRecord) {
		rec.Page, rec.Tail, rec.Hidden = r.hist.page, r.hist.tail, r.branch.Hidden
		rec.Rounds = refs(rec.Rounds)
		rec.remember(r, r.g.now())
		r.keepInterrupts(rec, outcome)
		if !r.turn.Appends {
			rec.Views = transcript.Keep(rec.Views, -1, r.state.Round, r.clientHas(), r.g.now())
		}
		if unlogged.After(rec.Unlogged) {
			rec.Unlogged = unlogged
		}
	}
}

// enterProduced adds what the run made to the transcript [HIST-1].
func (r *liveRun) enterProduced() {
	x := r.hist.index
	for _, id := range r.book.Dropped() { // by a snapshot of the agent's
		if at, there := x.Find(id); there {
			r.branch.Hidden = r.branch.Hidden.Add(at)
		}
	}
	for _, n := range r.chain.Renamed() {
		r.names.Alias(run.MessageID, n.Upstream, n.Shown)
	}
	renames := r.names.Added()
	for _, m := range r.book.Messages() {
		at, there := x.Find(m.ID)
		if m.Role == agui.RoleTool && !there {
			at, there = x.Answer(m.ToolCallID)
		}
		if r.agent.conf.History == "none" {
			m = transcript.Bare(m)
		}
		e := transcript.Entry{Run: r.state.Round, Made: true, Raw: m.Raw}
		if there {
			r.has = r.has.Add(at)
			if m.Role == agui.RoleTool || x.At(at).Role == m.Role && x.At(at).Hash == transcript.HashOf(m.Content) && len(x.At(at).Calls) == len(m.ToolCalls) {
				continue
			}
			e.Over = at + 1
		}
		if r.opened && len(m.ToolCalls) > 0 {
			e.Round = r.state.Round
		}
		e.Renames, renames = renames, nil
		r.has = r.has.Add(r.hist.add(e))
	}
	if len(renames) > 0 {
		r.hist.add(transcript.Entry{Run: r.state.Round, Renames: renames})
	}
}

// clientHas is what of the record the client of this run has now.
func (r *liveRun) clientHas() transcript.Set {
	places := slices.DeleteFunc(slices.Clone(r.branch.Known), func(at int) bool { return at < 0 })
	if r.unseen {
		places = append(places, r.branch.Unseen...)
	}
	return r.has.Union(transcript.SetOf(places))
}

// unfinished finds which rounds of the thread have something left to do, and which
// of them the gateway has to continue now.
func (r *liveRun) unfinished(ctx context.Context, outcome string) func([]roundRef) []roundRef {
	drop := map[string]bool{}
	keys := r.touched
	if r.opened {
		keys = append(slices.Clone(keys), r.state.Round)
	}
	own := false
	for _, key := range keys {
		if _, whole := r.g.finished.Get(key); whole {
			drop[key] = true
			continue
		}
		rd, err := r.g.loadRound(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			drop[key] = true
		case err != nil: // look again at the next run
			own = own || key == r.state.Round
		case settledWhole(rd, outcome == "success"):
			drop[key] = true
		default:
			own = own || key == r.state.Round
			if d := rd.Duty; d != nil && d.State == tool.DutyDue && d.By == tool.ByGateway {
				r.due = append(r.due, key)
			}
		}
	}
	return func(refs []roundRef) []roundRef {
		refs = slices.DeleteFunc(slices.Clone(refs), func(ref roundRef) bool { return drop[ref.Key] })
		if own && !slices.ContainsFunc(refs, func(ref roundRef) bool { return ref.Key == r.state.Round }) {
			refs = append(refs, roundRef{Key: r.state.Round, Run: r.state.ID})
		}
		return refs
	}
}

// settledWhole reports a round nobody has to look at again by itself. A failed one
// can be continued until a later run has come to its end.
func settledWhole(rd *tool.Round, later bool) bool {
	if !rd.Done() {
		return false
	}
	if rd.Duty == nil {
		return true
	}
	return rd.Duty.State == tool.DutyDone || rd.Duty.State == tool.DutyFailed && later
}
