package agui

import (
	"errors"
	"strings"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Input is RunAgentInput: a request to run an agent.
type Input struct {
	ThreadID, RunID              string
	ProtocolVersion, ParentRunID string // "" when absent
	State                        []byte // raw, nil if absent or null
	Context                      []byte // raw array of {description, value}, nil if absent
	ForwardedProps               []byte // raw, nil if absent or null
	Messages                     []Message
	Tools                        []ToolDef
	Resume                       []ResumeEntry
	HasTools                     bool // tools was sent, if only empty (field case F029)
}

// ToolDef is one tool offered to an agent. Raw is the definition as it came;
// when it is nil, Append writes the other fields.
type ToolDef struct {
	Name, Description string
	Parameters        []byte // raw JSON Schema, nil if absent; not looked into
	Metadata          []byte // raw JSON object, nil if absent
	Raw               []byte
}

// ResumeEntry answers one interrupt.
type ResumeEntry struct {
	InterruptID string
	Status      string // resolved or cancelled
	Payload     []byte // raw, nil if absent
	Metadata    []byte // raw JSON object, nil if absent
}

// DecodeInput reads a request body. Names are checked at every protocol depth
// [SEC-1]: a key twice or another spelling of one is refused in the envelope,
// the messages, their calls and parts, the tools, context and resume; what is
// the application's (state, forwardedProps, parameters, metadata, payload,
// arguments, an activity's content) is not looked into. Null of an optional
// field is the field left out. The Input shares body's bytes.
//
// The error is a *fault.Error with code invalid_request, or invalid_resume for
// what is wrong inside resume, and a JSON Pointer in Param.
func DecodeInput(body []byte) (*Input, error) {
	if err := strictjson.Check(body); err != nil {
		f := fault.New(fault.InvalidRequest, "the body is refused: %v", err)
		if errors.Is(err, strictjson.ErrDepth) {
			f = fault.New(fault.InvalidRequest, "the body is refused: %v; %d levels are allowed", err, strictjson.MaxDepth)
		}
		return nil, f
	}
	body = trim(body)
	c := checker{nullAbsent: true}
	if err := c.check(&anInput, body); err != nil {
		code := fault.InvalidRequest
		if err.at == "/resume" || strings.HasPrefix(err.at, "/resume/") {
			code = fault.InvalidResume
		}
		return nil, fault.New(code, "the request is refused: %v", err).At(err.at)
	}
	return inputOf(body, c.nulls), nil
}

func inputOf(body []byte, nulls bool) *Input {
	in := &Input{Messages: []Message{}}
	for cur := walk(body); ; {
		m, ok := cur.next()
		if !ok {
			return in
		}
		v := cur.value(m)
		if isNull(v) {
			continue
		}
		switch string(cur.key(m)) {
		case "threadId":
			in.ThreadID = text(v)
		case "runId":
			in.RunID = text(v)
		case "protocolVersion":
			in.ProtocolVersion = text(v)
		case "parentRunId":
			in.ParentRunID = text(v)
		case "state":
			in.State = v
		case "context":
			in.Context = v
		case "forwardedProps":
			in.ForwardedProps = v
		case "messages":
			in.Messages = messagesOf(v, nulls)
		case "tools":
			in.Tools, in.HasTools = toolsOf(v, nulls), true
		case "resume":
			in.Resume = resumeOf(v)
		}
	}
}

func toolsOf(raw []byte, nulls bool) []ToolDef {
	out := []ToolDef{}
	for cur := walk(raw); ; {
		m, ok := cur.next()
		if !ok {
			return out
		}
		one := cur.value(m)
		if nulls {
			one = withoutNulls(&aTool, one)
		}
		out = append(out, ReadTool(one))
	}
}

func resumeOf(raw []byte) []ResumeEntry {
	out := []ResumeEntry{}
	for cur := walk(raw); ; {
		m, ok := cur.next()
		if !ok {
			return out
		}
		one := cur.value(m)
		out = append(out, ResumeEntry{InterruptID: text(field(one, "interruptId")), Status: text(field(one, "status")),
			Payload: unlessNull(field(one, "payload")), Metadata: unlessNull(field(one, "metadata"))})
	}
}

func unlessNull(raw []byte) []byte {
	if isNull(raw) {
		return nil
	}
	return raw
}

// Append writes the request for an agent, field by field, from what was checked;
// nothing of the client's envelope gets through [SEC-1]. tools, context, state
// and forwardedProps are always there, since 0.0.x agents ask for them.
func (in *Input) Append(dst []byte) []byte {
	b := object(dst).text("threadId", in.ThreadID).text("runId", in.RunID).
		some("protocolVersion", in.ProtocolVersion).some("parentRunId", in.ParentRunID).
		json("state", orElse(in.State, "{}"))
	b.key("messages")
	b.raw = AppendMessages(b.raw, in.Messages)
	b.key("tools")
	b.raw = append(b.raw, '[')
	for i := range in.Tools {
		b.raw = in.Tools[i].Append(comma(b.raw, i))
	}
	b.raw = append(b.raw, ']')
	b.json("context", orElse(in.Context, "[]")).json("forwardedProps", orElse(in.ForwardedProps, "{}"))
	if in.Resume != nil {
		b.key("resume")
		b.raw = append(b.raw, '[')
		for i := range in.Resume {
			b.raw = in.Resume[i].Append(comma(b.raw, i))
		}
		b.raw = append(b.raw, ']')
	}
	return b.done()
}

// Append writes the definition: Raw where it is set, else the other fields.
func (t ToolDef) Append(dst []byte) []byte {
	if t.Raw != nil {
		return append(dst, t.Raw...)
	}
	return object(dst).text("name", t.Name).text("description", t.Description).
		json("parameters", t.Parameters).json("metadata", t.Metadata).done()
}

// Append writes the entry.
func (r ResumeEntry) Append(dst []byte) []byte {
	return object(dst).text("interruptId", r.InterruptID).text("status", r.Status).
		json("payload", r.Payload).json("metadata", r.Metadata).done()
}

// ReadTool reads a tool definition that was checked before, such as one of a
// record.
func ReadTool(raw []byte) ToolDef {
	return ToolDef{Name: text(field(raw, "name")), Description: text(field(raw, "description")),
		Parameters: field(raw, "parameters"), Metadata: field(raw, "metadata"), Raw: raw}
}
