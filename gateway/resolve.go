package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// maxWait bounds a long poll, below what proxies between cut.
const maxWait = 60 * time.Second

// Invocation finds one call; wait > 0 holds until it is final.
func (g *Gateway) Invocation(ctx context.Context, p principal.Principal, id string, wait time.Duration) (*tool.Invocation, error) {
	return g.waitFinal(ctx, p, id, min(wait, maxWait))
}

// Invocations lists the calls of a thread, oldest first.
func (g *Gateway) Invocations(ctx context.Context, p principal.Principal, ref frontend.ThreadRef, state tool.State) ([]*tool.Invocation, error) {
	_, rounds, err := g.threadRounds(ctx, p, ref)
	if err != nil {
		return nil, err
	}
	out := []*tool.Invocation{}
	for _, rd := range rounds {
		for i := range rd.Invocations {
			if inv := &rd.Invocations[i]; state == "" || inv.State == state {
				out = append(out, inv)
			}
		}
	}
	return out, nil
}

// threadRounds gives the thread a caller means, and its rounds.
func (g *Gateway) threadRounds(ctx context.Context, p principal.Principal, ref frontend.ThreadRef) (*thread, []*tool.Round, error) {
	t, err := g.findThread(ctx, p, ref.Thread, ref.Agent)
	if err != nil {
		return nil, nil, err
	}
	rounds, err := g.roundsOf(ctx, t)
	return t, rounds, err
}

// Resolve settles one call [INV-3 to INV-5].
func (g *Gateway) Resolve(ctx context.Context, p principal.Principal, id string, a frontend.Answer) (frontend.Resolved, error) {
	rd, err := g.findRound(ctx, p, id)
	if err != nil {
		return frontend.Resolved{}, err
	}
	a.ID = id
	done, err := g.settleRound(ctx, p, rd, []frontend.Answer{a})
	if err != nil {
		return frontend.Resolved{}, err
	}
	return done[0], nil
}

// settleRound settles some calls of one round: all or none of them.
func (g *Gateway) settleRound(ctx context.Context, p principal.Principal, rd *tool.Round, answers []frontend.Answer) ([]frontend.Resolved, error) {
	ag := g.byName[rd.Agent]
	if ag == nil {
		return nil, noInvocation()
	}
	made := make([]tool.Settling, len(answers))
	for i, a := range answers {
		inv := invocationOf(rd, a.ID)
		if inv == nil {
			return nil, noInvocation()
		}
		s, err := ag.settlement(inv, a)
		if err != nil {
			return nil, err
		}
		s.By, s.Door, s.At = p.Subject, a.Door, g.now()
		made[i] = tool.Settling{Ref: a.ID, Attempt: a.Attempt, Settlement: s}
	}
	abandoned, err := g.abandoned(ctx, rd)
	if err != nil {
		return nil, err
	}
	leave := ag.conf.History == "none" || slices.ContainsFunc(answers, func(a frontend.Answer) bool { return a.Leave })
	var verdicts []tool.Verdict
	after, err := g.changeRound(ctx, rd.Key, nil, func(fresh *tool.Round) error {
		var err error
		verdicts, err = fresh.SettleAll(made, g.now())
		if err == nil && slices.ContainsFunc(verdicts, func(v tool.Verdict) bool { return !v.Replayed && !v.Retried }) {
			by := tool.ByGateway
			if leave {
				by = tool.ByClient
			}
			if abandoned {
				fresh.Release(g.now())
			}
			fresh.Name(by, "", "", g.now())
		}
		switch {
		case err != nil:
			return err
		case !slices.ContainsFunc(verdicts, func(v tool.Verdict) bool { return !v.Replayed }):
			return errUnchanged
		case !fits(fresh):
			return fault.New(fault.ResultTooLarge, tooMuch)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]frontend.Resolved, len(answers))
	for i, a := range answers {
		out[i] = frontend.Resolved{Invocation: invocationOf(after, a.ID), Replayed: verdicts[i].Replayed}
		if p.Subject != rd.Owner || p.Has(principal.Machine) {
			g.log.Info("invocation settled for somebody else", "invocation", a.ID, "key", p.Key, "tenant", p.Tenant)
		}
	}
	return out, nil
}

// abandoned reports a round whose run died before it could release its calls: they
// are answerable, and complete once they are answered.
func (g *Gateway) abandoned(ctx context.Context, rd *tool.Round) (bool, error) {
	if rd.Released {
		return false, nil
	}
	t := &thread{key: g.threadKey(owner(rd), rd.Agent, rd.Thread)}
	err := g.reload(ctx, t)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return err == nil && !g.alive(t, rd.Key), err
}

// ResolveAll settles a thread's open round. Every open call is answered once, and
// beside them only calls that were answered before, equally; or nothing happens.
func (g *Gateway) ResolveAll(ctx context.Context, p principal.Principal, ref frontend.ThreadRef, answers []frontend.Answer) ([]frontend.Resolved, error) {
	t, rounds, err := g.threadRounds(ctx, p, ref)
	if err != nil {
		return nil, err
	}
	h, err := g.loadHistory(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		_, made := h.index.Holder(a.ID)
		if _, inv := meant(rounds, a.ID); inv == nil && made {
			return nil, fault.New(fault.NotClientTool, "the call %q is not a client tool's: the agent runs it itself", a.ID).At("/results")
		}
	}
	wanted := concerned(rounds, answers)
	byRound, err := assign(wanted, answers)
	if err != nil {
		return nil, err
	}
	results := map[string]frontend.Resolved{}
	for i, rd := range wanted {
		if len(byRound[i]) == 0 {
			continue
		}
		done, err := g.settleRound(ctx, p, rd, byRound[i])
		if err != nil {
			return nil, err
		}
		for j, d := range done {
			results[byRound[i][j].ID] = d
		}
	}
	out := make([]frontend.Resolved, 0, len(answers))
	for _, list := range byRound {
		for _, a := range list {
			out = append(out, results[a.ID])
		}
	}
	return out, nil
}

// concerned gives the rounds with a call that waits, and those of the calls that
// are answered: an equal repeat of an answer succeeds.
func concerned(rounds []*tool.Round, answers []frontend.Answer) (out []*tool.Round) {
	named := map[int]bool{}
	for _, a := range answers {
		if i, inv := meant(rounds, a.ID); inv != nil {
			named[i] = true
		}
	}
	for i, rd := range rounds {
		if named[i] || !rd.Done() {
			out = append(out, rd)
		}
	}
	return out
}

// assign finds each answer's call and each call's answer; what is left over on
// either side is named [REST-2].
func assign(rounds []*tool.Round, answers []frontend.Answer) ([][]frontend.Answer, error) {
	out := make([][]frontend.Answer, len(rounds))
	answered := map[string]bool{}
	var missing, unknown []string
	for _, a := range answers {
		i, inv := meant(rounds, a.ID)
		switch {
		case inv == nil:
			unknown = append(unknown, a.ID)
		case answered[inv.ID]:
			return nil, fault.New(fault.InvalidRequest, "the call %q is answered twice", a.ID).At("/results")
		default:
			answered[inv.ID] = true
			a.ID = inv.ID
			out[i] = append(out[i], a)
		}
	}
	for _, rd := range rounds {
		for _, inv := range rd.OpenCalls() {
			if !answered[inv.ID] {
				missing = append(missing, inv.ID)
			}
		}
	}
	if len(missing)+len(unknown) == 0 {
		return out, nil
	}
	var says []string
	if len(missing) > 0 {
		says = append(says, "not answered: "+strings.Join(missing, ", "))
	}
	if len(unknown) > 0 {
		says = append(says, "not waiting on this thread: "+strings.Join(unknown, ", "))
	}
	return nil, fault.New(fault.IncompleteResults, "the results have to answer every open call once; %s", strings.Join(says, "; ")).At("/results")
}

// meant finds the call of an id: by what clients were shown before the upstream's
// own id, in the newest round that has it.
func meant(rounds []*tool.Round, id string) (round int, inv *tool.Invocation) {
	for i := len(rounds) - 1; i >= 0; i-- {
		found := rounds[i].Find(id)
		if found == nil {
			continue
		}
		if found.CallID != id || found.ShownID == id || found.ID == id {
			return i, found
		}
		if inv == nil {
			round, inv = i, found
		}
	}
	return round, inv
}
