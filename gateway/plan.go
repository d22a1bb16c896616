package gateway

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/gateway/transcript"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/tool"
)

// plan reads the record and the client's list against each other. It changes
// nothing but this run's own copies. A turn that another run answers sets r.join.
func (r *liveRun) plan(ctx context.Context) (*ledger, *plan, error) {
	g := r.g
	var err error
	if r.hist, err = g.loadHistory(ctx, r.thread); err != nil {
		return nil, nil, err
	}
	if r.dead, err = g.exhume(ctx, r.thread, r.hist); err != nil {
		return nil, nil, err
	}
	r.thread.reopen(r.dead)
	r.readBranch()
	led, err := r.ledgerFor(ctx)
	if err != nil {
		return nil, nil, err
	}
	x := r.hist.index
	r.names = run.NewNames(x.Known, x.Renames())
	r.names.HeldBy(func(call string) string {
		if at, ok := x.Holder(call); ok {
			return x.At(at).ID
		}
		return ""
	})
	p, err := planTurn(r.list, led, r, len(r.turn.Input.Resume) > 0, r.agent)
	if err != nil {
		return nil, nil, err
	}
	if err := checkAnswers(p, g.now()); err != nil {
		return nil, nil, err
	}
	if err := r.unanswered(p); err != nil {
		return nil, nil, err
	}
	if err := r.checkResume(); err != nil {
		return nil, nil, err
	}
	return led, p, r.findContinuation(p)
}

// readBranch compares the list with the transcript [HIST-2]. A turn that brings
// only what is new stands behind all there is [HIST-3].
func (r *liveRun) readBranch() {
	x, t := r.hist.index, r.thread
	r.has, r.unseen = nil, false
	if !r.turn.Appends {
		views := t.Views
		if r.wait == inFront {
			views = nil // the list was written while a run went on: what that run made later is not left out
		}
		r.branch = transcript.Read(x, t.Hidden, views, r.list.list)
		return
	}
	r.branch = transcript.Branch{View: -1, Hidden: t.Hidden}
	for _, m := range r.list.list {
		at, known := x.Find(m.ID)
		if !known {
			at = -1
		}
		r.branch.Known = append(r.branch.Known, at)
	}
	known := transcript.SetOf(slices.DeleteFunc(slices.Clone(r.branch.Known), func(at int) bool { return at < 0 }))
	for at := range x.Len() {
		if !t.Hidden.Has(at) && !known.Has(at) {
			r.branch.Unseen = append(r.branch.Unseen, at)
		}
	}
}

// known reports a message id the thread has seen before this turn.
func (r *liveRun) known(id string) bool {
	_, ok := r.hist.index.Find(id)
	return ok
}

// hidden reports a call whose message the client has left out of the conversation.
func (r *liveRun) hidden(call string) bool {
	at, ok := r.hist.index.Holder(call)
	return ok && r.branch.Hidden.Has(at)
}

// ledgerFor loads the rounds a turn may be about: those with something left to
// do, and those whose calls stand in the conversation.
func (r *liveRun) ledgerFor(ctx context.Context) (*ledger, error) {
	var keys []string
	add := func(key string) {
		if key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, ref := range r.thread.Rounds {
		add(ref.Key)
	}
	if r.thread.Run != nil { // a run that died holding calls, or one that still streams
		add(r.thread.Run.Round)
	}
	x := r.hist.index
	calls := func(call string) {
		if at, ok := x.Holder(call); ok {
			add(x.At(at).Round)
		}
	}
	for _, at := range r.branch.Unseen {
		add(x.At(at).Round)
	}
	for call := range r.list.holders {
		calls(call)
	}
	for call := range r.list.results {
		calls(call)
	}
	rounds, err := r.g.loadRounds(ctx, keys)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rounds, func(a, b *tool.Round) int { return a.Created.Compare(b.Created) })
	return newLedger(rounds), nil
}

// exhume enters what a run whose process died could not write down: the results it
// was to bring, and its own calls, which are in their rounds. It gives that run, nil
// when there is none.
func (g *Gateway) exhume(ctx context.Context, t *thread, h *history) (*activeRun, error) {
	dead := t.Run
	if dead == nil || g.busy(dead) {
		return nil, nil
	}
	var keys []string
	for _, ref := range t.Rounds {
		if ref.Key != dead.Round {
			keys = append(keys, ref.Key)
		}
	}
	rounds, err := g.loadRounds(ctx, append(keys, dead.Round))
	if err != nil {
		return nil, err
	}
	a := g.byName[t.Agent]
	bare := a != nil && a.conf.History == "none"
	enter := func(m agui.Message, round string) {
		if bare {
			m = transcript.Bare(m)
		}
		h.add(transcript.Entry{Run: dead.Round, Round: round, Raw: m.Raw})
	}
	for _, rd := range rounds {
		if rd.Key == dead.Round {
			for _, m := range heldBy(rd) {
				if _, there := h.index.Find(m.ID); !there {
					enter(m, rd.Key)
				}
			}
			continue
		}
		for i := range rd.Invocations {
			inv := &rd.Invocations[i]
			_, held := h.index.Holder(inv.ShownID)
			_, answered := h.index.Answer(inv.ShownID)
			if held && !answered && inv.State != tool.Open && !agentsOwn(inv) {
				enter(recordedResult(run.ResultID(inv.ShownID), inv), "")
			}
		}
	}
	return dead, nil
}

// heldBy makes the assistant messages of a round's calls, as a client that saw only
// them has built them [HIST-1].
func heldBy(rd *tool.Round) (out []agui.Message) {
	var ids []string
	calls := map[string][]agui.ToolCall{}
	for i := range rd.Invocations {
		inv := &rd.Invocations[i]
		id := inv.MessageID
		if id == "" {
			id = inv.ShownID
		}
		if calls[id] == nil {
			ids = append(ids, id)
		}
		calls[id] = append(calls[id], agui.ToolCall{ID: inv.ShownID, Name: inv.Tool, Arguments: inv.Arguments})
	}
	for _, id := range ids {
		out = append(out, agui.NewAssistantMessage(id, "", calls[id]))
	}
	return out
}

// enterList adds what is new in the client's list to the transcript. The results
// of the gateway's own calls come later, as they were accepted.
func (r *liveRun) enterList(led *ledger) {
	x := r.hist.index
	for i, m := range r.list.list {
		at := r.branch.Known[i]
		switch {
		case at < 0 && m.Role == agui.RoleTool && led.knows(m.ToolCallID):
		case at < 0:
			if again, there := x.Find(m.ID); there { // twice in one list
				r.branch.Known[i] = again
				continue
			}
			r.branch.Known[i] = r.enter(m)
		case r.agent.conf.History != "none" && authored(m.Role) && authored(x.At(at).Role) && m.ID == x.At(at).ID && transcript.HashOf(m.Content) != x.At(at).Hash:
			r.hist.add(transcript.Entry{Run: r.state.Round, Over: at + 1, Raw: m.Raw})
		}
	}
}

// authored are the roles whose messages are the client's to change.
func authored(role agui.Role) bool {
	return role == agui.RoleUser || role == agui.RoleSystem || role == agui.RoleDeveloper
}

// enterTurn writes the turn into the thread's record.
func (r *liveRun) enterTurn(rec *threadRecord) {
	rec.Page, rec.Tail, rec.Hidden = r.hist.page, r.hist.tail, r.branch.Hidden
	r.claim(rec)
	if !r.turn.Appends { // so that a client that is cut off is known by what it had said
		rec.Views = transcript.Keep(rec.Views, r.branch.View, r.state.Round, r.clientHas(), r.g.now())
	}
	if r.dead != nil && !slices.ContainsFunc(rec.Rounds, func(ref roundRef) bool { return ref.Key == r.dead.Round }) {
		rec.Rounds = append(rec.Rounds, roundRef{Key: r.dead.Round, Run: r.dead.ID})
	}
}

// forget takes a turn that came to nothing out of the record again [ERR-1].
func (rec *threadRecord) forget(before *threadRecord) {
	rec.Page, rec.Tail, rec.Hidden, rec.Views = before.Page, before.Tail, before.Hidden, before.Views
	rec.Interrupts, rec.Claimed = before.Interrupts, before.Claimed
}

// bury ends what a dead run left: its calls can be answered, and the answers it
// was telling may or may not have been read [INV-12].
func (r *liveRun) bury(ctx context.Context, led *ledger) error {
	if r.dead == nil {
		return nil
	}
	for i, rd := range led.rounds {
		after, err := r.g.buryIn(ctx, rd, r.dead.Round)
		if err != nil {
			return err
		}
		led.rounds[i] = after
	}
	*led = *newLedger(led.rounds)
	return nil
}

// buryIn is bury for one round.
func (g *Gateway) buryIn(ctx context.Context, rd *tool.Round, dead string) (*tool.Round, error) {
	orphan := rd.Duty != nil && rd.Duty.State == tool.DutySent && rd.Duty.Key == dead
	if !orphan && (rd.Key != dead || rd.Released) {
		return rd, nil
	}
	g.log.Warn("a run died", "round", rd.Key, "agent", rd.Agent, "thread", rd.Thread, "was_telling", orphan)
	return g.changeRound(ctx, rd.Key, nil, func(rd *tool.Round) error {
		changed := rd.Orphan(dead, g.now())
		if rd.Key == dead && !rd.Released {
			rd.Release(g.now())
			changed = true
		}
		if !changed {
			return errUnchanged
		}
		return nil
	})
}

// unanswered refuses the turn where a tool, or the agent, says so [RUN-6].
func (r *liveRun) unanswered(p *plan) error {
	var ids []string
	for _, inv := range p.gone {
		if r.agent.unanswered(inv.Tool) == "reject" && !r.hidden(inv.ShownID) {
			ids = append(ids, inv.ShownID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return fault.New(fault.UnansweredCalls, "tool calls are still waiting for their result: %s", strings.Join(ids, ", "))
}

// unanswered is what a new user message does to open calls of a tool.
func (a *agent) unanswered(name string) string {
	t, configured := a.byTool[name]
	switch {
	case configured && t.Unanswered != "":
		return t.Unanswered
	case configured && t.Availability == tool.Always:
		return "keep"
	}
	return a.conf.Unanswered
}

// findContinuation finds the run that tells the agent what this turn only repeats:
// equal results of a round that is being, or was, continued [INV-11].
func (r *liveRun) findContinuation(p *plan) error {
	if r.own != nil || r.turn.Appends || len(r.turn.Input.Resume) > 0 || len(p.gone)+len(p.missing) > 0 {
		return nil
	}
	var newest *tool.Round
	for _, a := range p.answers {
		if !a.trailing {
			continue
		}
		if a.call.State == tool.Open {
			return nil
		}
		if newest == nil || a.round.Created.After(newest.Created) {
			newest = a.round
		}
	}
	if newest == nil || newest.Duty == nil {
		return nil
	}
	t := r.thread
	switch d := newest.Duty; {
	case d.Key == r.state.Round:
	case d.State == tool.DutyDue && r.g.busy(t.Run) && t.Run.Continues == newest.Key: // about to be sent
		r.join = &joining{key: t.Run.Round, run: t.Run.ID}
	case d.State == tool.DutyFailed && r.g.now().Before(d.Since.Add(pause(d.Fails))):
		r.join = &joining{refused: fault.New(fault.ResultRejected,
			"the agent has failed %d times on these results; try again in %s", d.Fails, pause(d.Fails))}
	case d.State == tool.DutyDue && r.g.alive(t, d.Key): // the same, by a client's run
		r.join = &joining{key: d.Key, run: d.Run}
	case d.State == tool.DutyDone && d.Key != "" && r.agent.conf.History != "none", d.State == tool.DutySent && r.g.alive(t, d.Key):
		r.join = &joining{key: d.Key, run: d.Run, done: d.State == tool.DutyDone}
	}
	return nil
}

// patience is how many failures in a row a client may answer with the same results
// at once, longestPause how long it has to wait in the end (F011).
const (
	patience     = 3
	longestPause = time.Minute
)

// pause is how long after its last failure a round is not told again for a client
// that only repeats its results.
func pause(fails int) time.Duration {
	if fails < patience {
		return 0
	}
	return min(time.Second<<min(fails-patience, 10), longestPause)
}

// alive reports whether the run of that key holds the thread.
func (g *Gateway) alive(t *thread, key string) bool {
	return t.Run != nil && t.Run.Round == key && g.busy(t.Run)
}
