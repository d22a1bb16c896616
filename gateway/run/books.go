package run

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

func quote(s string) []byte { return strictjson.Quote(s) }

// book notes what a frame opens or closes, so that the end can close the rest.
func (m *Machine) book(f agui.Frame) {
	switch f.Type {
	case agui.TextMessageStart:
		m.texts = opened(m.texts, f.Text("messageId"))
	case agui.TextMessageEnd:
		m.texts = closed(m.texts, f.Text("messageId"))
	case agui.ReasoningMessageStart:
		m.thoughts = opened(m.thoughts, f.Text("messageId"))
	case agui.ReasoningMessageEnd:
		m.thoughts = closed(m.thoughts, f.Text("messageId"))
	case agui.ReasoningStart:
		m.reasoning = opened(m.reasoning, f.Text("messageId"))
	case agui.ReasoningEnd:
		m.reasoning = closed(m.reasoning, f.Text("messageId"))
	case agui.StepStarted:
		m.steps = opened(m.steps, f.Text("stepName"))
	case agui.StepFinished:
		m.steps = closed(m.steps, f.Text("stepName"))
	}
}

func opened(list []string, id string) []string {
	if id == "" {
		return list // malformed: nothing could close it
	}
	return append(list, id)
}

func closed(list []string, id string) []string {
	if i := slices.Index(list, id); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// closeOpen ends texts, reasoning and steps that are open [RUN-3].
func (m *Machine) closeOpen(out []Action) []Action {
	for _, id := range m.texts {
		out = append(out, Action{Frame: agui.NewTextEnd(id)})
	}
	for _, id := range m.thoughts {
		out = append(out, Action{Frame: agui.NewReasoningMessageEnd(id)})
	}
	for _, id := range m.reasoning {
		out = append(out, Action{Frame: agui.NewReasoningEnd(id)})
	}
	for i := len(m.steps) - 1; i >= 0; i-- {
		out = append(out, Action{Frame: agui.NewStepFinished(m.steps[i])})
	}
	if n := len(m.texts) + len(m.thoughts) + len(m.reasoning) + len(m.steps); n > 0 {
		m.repair("close_open")
	}
	m.texts, m.thoughts, m.reasoning, m.steps = nil, nil, nil, nil
	return out
}

func (m *Machine) callStart(f agui.Frame, out []Action) []Action {
	c, bad := m.newCall(f)
	if bad != nil {
		return m.fail(m.errorFrame(bad), out)
	}
	f = m.names(f)
	c.Shown, c.Message = f.Text("toolCallId"), f.Text("parentMessageId")
	return append(out, Action{Frame: f})
}

// newCall enters the call that f starts into the books.
func (m *Machine) newCall(f agui.Frame) (*Call, *fault.Error) {
	id, name := f.Text("toolCallId"), f.Text("toolCallName")
	if id == "" || name == "" {
		return nil, fault.New(fault.UpstreamProtocolError, "%s without toolCallId or toolCallName", f.Type)
	}
	if len(id) > MaxID || len(f.Text("parentMessageId")) > MaxID || strings.ContainsRune(id, utf8.RuneError) {
		return nil, fault.New(fault.UpstreamProtocolError, "a tool call's ids are at most %d bytes of whole characters", MaxID)
	}
	if old := m.byID[id]; old != nil && !old.earlier {
		if !old.ended {
			return nil, fault.New(fault.UpstreamProtocolError, "tool call %q was started twice in one run", clip(id))
		}
		m.set.Names.Again(id) // a provider that numbers anew in each step
	}
	c := &Call{ID: id, Tool: name, Client: m.set.Client(name), chunked: f.Type == agui.ToolCallChunk}
	if c.Client {
		if m.clients >= MaxCalls {
			return nil, fault.New(fault.ToolLoop, "more than %d client tool calls in one run", MaxCalls)
		}
		m.clients++
	}
	if m.byID == nil {
		m.byID = map[string]*Call{}
	}
	m.byID[id] = c
	m.calls = append(m.calls, c)
	return c, nil
}

func (m *Machine) callArgs(f agui.Frame, out []Action) []Action {
	c := m.byID[f.Text("toolCallId")]
	if c == nil {
		return m.unknownCall(f, out)
	}
	if c.ended && f.Text("delta") == "" {
		m.dropped++ // for the client the call is over
		return out
	}
	if bad := m.addArguments(c, f); bad != nil {
		return m.fail(m.errorFrame(bad), out)
	}
	return append(out, Action{Frame: m.names(f)})
}

// unknownCall ends a run that goes on with a call it never began: the published
// clients die of it without a word, and what they had read could not be recorded.
func (m *Machine) unknownCall(f agui.Frame, out []Action) []Action {
	return m.fail(m.errorFrame(fault.New(fault.UpstreamProtocolError,
		"%s for tool call %q, which was not started in this run", f.Type, clip(f.Text("toolCallId")))), out)
}

// addArguments keeps the arguments of client calls; others are not read.
func (m *Machine) addArguments(c *Call, f agui.Frame) *fault.Error {
	if c.ended {
		return fault.New(fault.UpstreamProtocolError, "arguments of tool call %q go on after its end", clip(c.ID))
	}
	if !c.Client {
		return nil
	}
	raw := f.Field("delta")
	if strictjson.KindOf(raw) != strictjson.Str {
		if raw == nil && c.chunked {
			return nil // a chunk may bring nothing
		}
		return fault.New(fault.UpstreamProtocolError, "the delta of tool call %q is no string", clip(c.ID))
	}
	delta := raw[1 : len(raw)-1]
	if m.argBytes += len(delta); m.argBytes > m.set.ArgumentBytes {
		return fault.New(fault.EventTooLarge, "the arguments of this run's client tool calls are over %d bytes", m.set.ArgumentBytes)
	}
	c.written = append(c.written, delta...)
	return nil
}

func (m *Machine) callEnd(f agui.Frame, out []Action) []Action {
	c := m.byID[f.Text("toolCallId")]
	if c == nil {
		return m.unknownCall(f, out)
	}
	if c.ended { // an END that comes twice, or behind chunks, which the client ends itself
		m.dropped++
		return out
	}
	out, ok := m.endCall(c, out)
	if !ok {
		return out
	}
	return append(out, Action{Frame: m.names(f)})
}

// endCall closes a call in the books; a client's is opened as an invocation.
// ok is false when its arguments ended the run instead [INV-14].
func (m *Machine) endCall(c *Call, out []Action) (_ []Action, ok bool) {
	if c == nil || c.ended {
		return out, true
	}
	if !c.Client {
		c.ended = true
		if len(m.backend) < MaxCalls {
			m.backend = append(m.backend, c.Shown)
		}
		if m.over++; m.over > 64 && m.over > len(m.calls)/2 {
			m.calls = slices.DeleteFunc(m.calls, func(o *Call) bool { return !o.Client && o.ended })
			m.over = 0
		}
		return out, true
	}
	if c.answered { // by the upstream, before it ended: nobody is asked
		c.ended = true
		return out, true
	}
	text, err := strictjson.StringOf(slices.Concat([]byte{'"'}, c.written, []byte{'"'}))
	var args string
	if err == nil {
		args, err = tool.ParseArguments(text)
	}
	if err != nil {
		bad := fault.New(fault.MalformedToolArgs, "the arguments of tool call %q (%s) cannot be read as one JSON value", clip(c.ID), clip(c.Tool)).Because(err)
		return m.fail(m.errorFrame(bad), out), false
	}
	if m.set.Allows != nil && !m.set.Allows(c.Tool, []byte(args)) {
		bad := fault.New(fault.ToolLoop, "the agent calls %s with the same arguments again and again", clip(c.Tool))
		return m.fail(m.errorFrame(bad), out), false
	}
	c.ended, c.Arguments, c.written = true, []byte(args), nil
	return append(out, Action{Kind: Open, Call: c}), true
}

// callResult: a result that the upstream itself gives to a client's call closes
// the invocation, since the client has seen the call answered.
func (m *Machine) callResult(f agui.Frame, out []Action) []Action {
	id := f.Text("toolCallId")
	c := m.byID[id]
	if c == nil { // perhaps one of an earlier run that still waits
		c = &Call{ID: id, Shown: m.set.Names.Show(CallID, id)}
		out = append(out, Action{Kind: Close, Call: c, Reason: AnsweredUpstream})
	}
	if c.Client && !c.answered {
		c.answered = true
		if c.ended {
			out = append(out, Action{Kind: Close, Call: c, Reason: AnsweredUpstream})
		}
	}
	return append(out, Action{Frame: m.names(f)})
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
