package gateway

import (
	"context"
	"slices"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/tool"
)

// checkAnswers tries the answers on a copy of the record, so that a refusal
// comes before the thread is taken.
func checkAnswers(p *plan, now time.Time) error {
	for _, a := range p.answers {
		rd := a.round.Clone()
		if _, err := rd.Settle(a.call.ID, 0, a.settlement, now); err != nil && a.trailing {
			return err
		}
	}
	return nil
}

// settle writes the turn's answers, round by round, and cancels what the
// conversation went on without.
func (r *liveRun) settle(ctx context.Context, led *ledger, p *plan) error {
	written := false
	for i, rd := range led.rounds {
		mine := slices.DeleteFunc(slices.Clone(p.answers), func(a answer) bool { return a.round != rd })
		in := func(inv *tool.Invocation) bool { return invocationOf(rd, inv.ID) != nil }
		if len(mine) == 0 && !slices.ContainsFunc(p.gone, in) && !slices.ContainsFunc(p.kept, in) && !r.left(rd) {
			continue
		}
		next, err := r.g.changeRound(ctx, rd.Key, nil, func(fresh *tool.Round) error {
			changed, err := r.applyAnswers(fresh, mine, written)
			for _, inv := range p.gone {
				reason := reasonUnanswered
				if r.hidden(inv.ShownID) {
					reason = reasonHidden
				}
				changed = fresh.CancelCall(inv.ID, reason, r.g.now()) != nil || changed
			}
			for _, inv := range p.kept {
				changed = fresh.Keep(inv.ID, r.g.now()) || changed
			}
			if r.left(fresh) {
				changed = fresh.Leave(reasonHidden, r.g.now()) || changed
			}
			if err == nil && !changed {
				return errUnchanged
			}
			return err
		})
		if err != nil {
			return err
		}
		written = true
		led.rounds[i] = next
	}
	*led = *newLedger(led.rounds)
	return nil
}

// applyAnswers settles what a list answers of one round. What cannot be accepted
// refuses the turn if it may: it stands at the end of the list, and nothing was
// written yet [HIST-4, ERR-1]. Else it is history, and the agent reads what was
// accepted.
func (r *liveRun) applyAnswers(rd *tool.Round, mine []answer, written bool) (changed bool, err error) {
	for _, a := range mine {
		s := *a.settlement
		s.By, s.Door, s.At = r.turn.Principal.Subject, r.turn.Frontend, r.g.now()
		before := rd.Clone()
		v, err := rd.Settle(a.call.ID, 0, &s, r.g.now())
		if err != nil && (written || !a.trailing) {
			r.g.log.Info("an answer came too late and is history", "invocation", a.call.ID, "run", r.state.ID, "code", fault.CodeOf(err))
			continue
		}
		if err != nil {
			return false, err
		}
		if !fits(rd) { // its sender gets no status for one message of a list [INV-5]
			*rd = *before
			small := tool.NewFailure(tooMuch, string(fault.ResultTooLarge), "", false, r.agent.limits)
			small.By, small.Door, small.At = s.By, s.Door, s.At
			if v, err = rd.Settle(a.call.ID, 0, small, r.g.now()); err != nil {
				return false, err
			}
		}
		if !v.Replayed && !v.Retried {
			rd.Name(tool.ByClient, r.state.ID, r.state.Round, r.g.now())
		}
		changed = changed || !v.Replayed
	}
	return changed, nil
}

// left reports a round whose calls the conversation goes on without: the client has
// left their messages out, and nobody is to bring their answers to the agent.
func (r *liveRun) left(rd *tool.Round) bool {
	for i := range rd.Invocations {
		if !r.hidden(rd.Invocations[i].ShownID) {
			return false
		}
	}
	return len(rd.Invocations) > 0
}

// countEnded counts the calls that ended between two versions of a round.
func (g *Gateway) countEnded(before, after *tool.Round) {
	for i := range after.Invocations {
		inv := &after.Invocations[i]
		if i < len(before.Invocations) && before.Invocations[i].State == tool.Open && inv.State != tool.Open {
			outcome := string(inv.State)
			if inv.State == tool.Settled {
				outcome = string(inv.Outcome)
			}
			g.metrics.ended(inv.Agent, outcome, g.now().Sub(inv.Created))
			g.log.Info("invocation ended", "invocation", inv.ID, "tool", inv.Tool, "agent", inv.Agent, "run", inv.Run, "state", inv.State, "outcome", inv.Outcome, "reason", inv.Reason)
		}
	}
}

// brings reports whether this run tells the agent a round's answers: some of them
// for the first time, or all of them again after a run that failed.
func (r *liveRun) brings(rd *tool.Round) bool {
	if rd.Duty != nil && rd.Duty.State == tool.DutyDone {
		return false
	}
	again := rd.Duty != nil && (rd.Duty.State == tool.DutyDue || rd.Duty.State == tool.DutyFailed)
	return slices.ContainsFunc(rd.Invocations, func(inv tool.Invocation) bool {
		return r.tells(inv) || again && (inv.State == tool.Settled || inv.State == tool.Expired) && r.copy.stands(inv.ShownID)
	})
}

// tells reports whether this run brings the agent the answer of a call that it has
// not been told yet.
func (r *liveRun) tells(inv tool.Invocation) bool {
	return inv.State == tool.Settled && inv.Delivery != tool.Delivered && r.copy.stands(inv.ShownID)
}
