package gateway

import (
	"strconv"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

// ledger is what the record knows of the calls a client's list may hold.
type ledger struct {
	rounds []*tool.Round // oldest first
	byName map[string]entry
}

// entry is one call in its round.
type entry struct {
	round *tool.Round
	call  *tool.Invocation
}

// newLedger finds every call of the rounds by its shown and public id: the newest
// open one of a name, else the newest [INV-2].
func newLedger(rounds []*tool.Round) *ledger {
	l := &ledger{rounds: rounds, byName: map[string]entry{}}
	for _, rd := range rounds {
		for i := range rd.Invocations {
			inv := &rd.Invocations[i]
			for _, name := range []string{inv.ShownID, inv.ID} {
				if old, ok := l.byName[name]; !ok || inv.State == tool.Open || old.call.State != tool.Open {
					l.byName[name] = entry{rd, inv}
				}
			}
		}
	}
	return l
}

// call finds the invocation a client means by an id; nil for one that is not the
// gateway's.
func (l *ledger) call(shown string) (*tool.Round, *tool.Invocation) {
	e := l.byName[shown]
	return e.round, e.call
}

// answer is one tool message that settles, or repeats, an answer.
type answer struct {
	round      *tool.Round
	call       *tool.Invocation
	settlement *tool.Settlement
	trailing   bool // it stands at the end of the list, where it can be refused
}

// plan is what a client's list means against the record. It is made before
// anything changes.
type plan struct {
	answers []answer
	missing []*tool.Invocation // open calls the list neither answers nor passes over
	gone    []*tool.Invocation // open calls the conversation goes on without [RUN-6]
	kept    []*tool.Invocation // open calls it goes on without for now [RUN-6]
}

// view is what a list means against the transcript.
type view interface {
	known(id string) bool    // the thread has seen the message before this turn
	hidden(call string) bool // the call's message was left out of the conversation
}

// planTurn reads a client's list. resumes tells that the turn answers an interrupt,
// which goes on without whatever else was asked. A refusal is about the trailing
// tool messages only: what stands further back is history and comes back with
// every later run [HIST-4].
func planTurn(msgs *messages, led *ledger, v view, resumes bool, a *agent) (*plan, error) {
	p := &plan{}
	trailing := msgs.trailing()
	answered := map[*tool.Invocation]*tool.Settlement{}
	for i, m := range msgs.list {
		if m.Role != agui.RoleTool {
			continue
		}
		rd, inv := led.call(m.ToolCallID)
		if inv == nil {
			continue
		}
		if inv.State != tool.Open && (m.ID == run.ResultID(inv.ShownID) || agentsOwn(inv)) {
			continue // the gateway's own words, or the agent's, come back
		}
		if i < trailing && (inv.State != tool.Open || msgs.calledAfter(i, m.ToolCallID)) {
			continue
		}
		s := messageSettlement(a, inv, m)
		if first := answered[inv]; first != nil {
			if !first.Same(s) {
				return nil, fault.New(fault.ActionResultConflict, "the list answers tool call %q twice, with different results", m.ToolCallID).At(pointer(i))
			}
			continue
		}
		answered[inv] = s
		p.answers = append(p.answers, answer{round: rd, call: inv, settlement: s, trailing: i >= trailing})
	}
	for _, rd := range led.rounds {
		for _, inv := range rd.OpenCalls() {
			switch {
			case answered[inv] != nil || inv.Kept:
			case !v.hidden(inv.ShownID) && !resumes && !msgs.goesOn(inv.ShownID, v.known):
				p.missing = append(p.missing, inv)
			case a.unanswered(inv.Tool) == "keep" && !v.hidden(inv.ShownID):
				p.kept = append(p.kept, inv)
			default:
				p.gone = append(p.gone, inv)
			}
		}
	}
	return p, nil
}

func pointer(i int) string { return "/messages/" + strconv.Itoa(i) }

// messageSettlement turns a tool message into a settlement. The sender gets no
// status of its own for one message of a list, so what cannot be accepted is
// settled as failed, and its value never reaches the agent [INV-5].
func messageSettlement(a *agent, inv *tool.Invocation, m agui.Message) *tool.Settlement {
	ans := frontend.Answer{Form: tool.FormText, Door: "agui"}
	switch strictjson.KindOf(m.Content) {
	case strictjson.Str:
		text, _ := strictjson.StringOf(m.Content)
		ans.Content = []byte(text)
	case strictjson.Array:
		ans.Form, ans.Content = tool.FormParts, m.Content
	}
	if m.HasError && m.Error != "" {
		text := string(ans.Content)
		if ans.Form != tool.FormText || text == "" {
			text = m.Error
		}
		return tool.NewFailure(text, "tool_error", m.Error, false, a.limits)
	}
	s, err := a.settlement(inv, ans)
	if err != nil {
		f := fault.From(err)
		return tool.NewFailure(f.Message, string(f.Code), "", false, a.limits)
	}
	return s
}

// upstreamCopy is the list the agent reads: every call the record knows is
// answered right after its assistant message, in call order, with its accepted
// result; ids are the upstream's own [HIST-3, F001, F003, UP-4].
func upstreamCopy(msgs *messages, led *ledger, kept map[string]agui.Message, names *run.Names) (out []agui.Message, repairs int) {
	placed := map[int]bool{}
	for i, m := range msgs.list {
		if placed[i] {
			continue
		}
		if m.Role == agui.RoleTool && (led.knows(m.ToolCallID) || !msgs.stands(m.ToolCallID)) {
			repairs++ // a result nobody asked for here: what was accepted stands at its call [HIST-4]
			continue
		}
		m, unusable := usableArguments(m)
		repairs += len(unusable)
		out = append(out, names.ToUpstream(m))
		for _, c := range m.ToolCalls {
			at := msgs.answerOf(i, c.ID)
			if at >= 0 {
				placed[at] = true
			}
			res, changed, ok := resultFor(msgs.list, at, led, c.ID)
			if old, there := kept[c.ID]; there {
				res, changed, ok = old, true, true
			}
			if !ok && unusable[c.ID] {
				res = agui.NewToolMessage(run.ResultID(c.ID), c.ID, strictjson.Quote(run.NotRun), run.NotRun)
				changed, ok = true, true
			}
			if !ok {
				continue
			}
			if changed {
				repairs++
			}
			out = append(out, names.ToUpstream(res))
		}
	}
	return out, repairs
}

// knows reports a call of the gateway's own.
func (l *ledger) knows(shown string) bool {
	_, inv := l.call(shown)
	return inv != nil
}

// usableArguments gives calls without readable arguments an empty object, which is
// all a provider takes back (F037, F038). It names those whose arguments were
// broken: they cannot have run.
func usableArguments(m agui.Message) (agui.Message, map[string]bool) {
	var broken map[string]bool
	changed := false
	calls := []byte{'['}
	for i, c := range m.ToolCalls {
		raw := c.Raw
		if args, err := tool.ParseArguments(c.Arguments); err != nil || args != c.Arguments {
			changed = true
			if err != nil {
				if broken == nil {
					broken = map[string]bool{}
				}
				broken[c.ID] = true
			}
			fn := agui.Frame{Raw: agui.Frame{Raw: raw}.Field("function")}.With("arguments", []byte(`"{}"`)).Raw
			raw = agui.Frame{Raw: raw}.With("function", fn).Raw
		}
		if i > 0 {
			calls = append(calls, ',')
		}
		calls = append(calls, raw...)
	}
	if changed {
		m = m.With("toolCalls", append(calls, ']'))
	}
	return m, broken
}

// resultFor gives the tool message the agent reads for a call: the client's own
// bytes where they say what was accepted, else the record's. ok is false where
// nobody has an answer. changed counts what the client did not send.
func resultFor(msgs []agui.Message, at int, led *ledger, call string) (m agui.Message, changed, ok bool) {
	_, inv := led.call(call)
	if inv != nil && inv.State == tool.Open && inv.Kept {
		return agui.NewToolMessage(run.ResultID(inv.ShownID), inv.ShownID, strictjson.Quote(NotYet), NotYet), true, true
	}
	if inv == nil || inv.State == tool.Open || agentsOwn(inv) {
		if at < 0 {
			return m, false, false
		}
		return msgs[at], false, true
	}
	id := run.ResultID(inv.ShownID)
	if at >= 0 {
		id = msgs[at].ID
		if sameAnswer(msgs[at], inv) {
			return msgs[at], false, true
		}
	}
	return recordedResult(id, inv), true, true
}

// agentsOwn reports a call whose answer is the agent's: it gave the result itself,
// or asked about the call by interrupt and is answered by the resume.
func agentsOwn(inv *tool.Invocation) bool {
	return inv.State == tool.Cancelled && (inv.Reason == run.Interrupted || inv.Reason == run.AnsweredUpstream)
}

// sameAnswer reports whether the client's message already says what the record
// accepted, so that its bytes go on unchanged [INV-7].
func sameAnswer(m agui.Message, inv *tool.Invocation) bool {
	s := inv.Settlement
	if s == nil {
		return false
	}
	if s.Outcome != tool.OK {
		text, _ := strictjson.StringOf(m.Content)
		return m.HasError && s.Error != nil && text == s.Error.Model
	}
	switch strictjson.KindOf(m.Content) {
	case strictjson.Str:
		text, _ := strictjson.StringOf(m.Content)
		return !m.HasError && (s.Form != tool.FormParts && text == s.StringWire() || tool.DigestText(text) == s.Digest)
	case strictjson.Array:
		return s.Form == tool.FormParts && string(m.Content) == s.Content
	}
	return false
}

// recordedResult writes the accepted answer, or the lack of one, as a tool
// message. Nothing unanswered is ever told as a success [INV-8].
func recordedResult(id string, inv *tool.Invocation) agui.Message {
	content, failed := toldText(inv)
	if s := inv.Settlement; s != nil && s.Outcome == tool.OK && s.Form == tool.FormParts {
		return agui.NewToolMessage(id, inv.ShownID, []byte(s.Content), "")
	}
	errText := ""
	if failed {
		errText = content
	}
	return agui.NewToolMessage(id, inv.ShownID, strictjson.Quote(content), errText)
}

// Unanswered is what the model reads about a call that nobody answered.
const Unanswered = "The client did not answer this tool call. It is not known to have run."

// NotYet is what the model reads about a call whose answer is still to come
// [RUN-6].
const NotYet = "This tool call has not been answered yet. If an answer comes, it will be in a later message."

// toldText is what the model reads about a call, on a string wire.
func toldText(inv *tool.Invocation) (text string, failed bool) {
	s := inv.Settlement
	switch {
	case s != nil && s.Outcome == tool.OK:
		return s.StringWire(), false
	case s != nil:
		return s.ErrorText(), true
	case inv.Reason == reasonRunFailed || inv.Reason == reasonClientGone:
		return run.NotRun, true
	}
	return Unanswered, true
}

// Reasons of a cancelled invocation.
const (
	reasonUnanswered = "unanswered"       // the conversation went on without it
	reasonHidden     = "hidden"           // its message was left out of the conversation
	reasonStopped    = "stopped"          // its run was stopped
	reasonDeleted    = "deleted"          // with its thread
	reasonRunFailed  = "run_failed"       // its run ended in an error
	reasonClientGone = "client_gone"      // its run was cancelled by the client's leaving
	reasonShutdown   = "gateway_shutdown" // its run was cut by a drain
)
