package agui

import (
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Role is who a message is from.
type Role string

// The roles of 1.0.
const (
	RoleDeveloper Role = "developer"
	RoleSystem    Role = "system"
	RoleAssistant Role = "assistant"
	RoleUser      Role = "user"
	RoleTool      Role = "tool"
	RoleActivity  Role = "activity"
	RoleReasoning Role = "reasoning"
)

// Known reports whether r is a role of 1.0.
func (r Role) Known() bool {
	switch r {
	case RoleDeveloper, RoleSystem, RoleAssistant, RoleUser, RoleTool, RoleActivity, RoleReasoning:
		return true
	}
	return false
}

// Message is one message of a conversation: the fields the gateway decides by,
// and the whole as it was sent. Slices are parts of the decoded text; nobody
// writes to them.
type Message struct {
	ID         string
	Role       Role
	ToolCallID string     // role tool
	ToolCalls  []ToolCall // role assistant
	Content    []byte     // raw, nil if absent: a string, an array of parts, or an activity's object
	Error      string     // role tool; see HasError
	HasError   bool
	Raw        []byte // the message as sent and checked, unknown fields too, but without the nulls of optional fields
}

// ToolCall is one call an assistant message made.
type ToolCall struct {
	ID, Name  string
	Arguments string // JSON text as the model wrote it, so not necessarily JSON
	Raw       []byte
}

// DecodeMessages checks a JSON array of messages strictly [SEC-1] and reads it.
// at is the JSON Pointer of the array in what the caller received. A null of an
// optional field counts as absent and is taken out of Raw. The messages share
// raw's bytes.
//
// The error is a *fault.Error with code invalid_request and a JSON Pointer.
func DecodeMessages(raw []byte, at string) ([]Message, error) {
	if err := strictjson.Check(raw); err != nil {
		return nil, fault.New(fault.InvalidRequest, "the messages are refused: %v", err).At(at)
	}
	raw = trim(raw)
	c := checker{nullAbsent: true}
	if err := c.check(&messageList, raw); err != nil {
		err.at = at + err.at
		return nil, fault.New(fault.InvalidRequest, "the messages are refused: %v", err).At(err.at)
	}
	return messagesOf(raw, c.nulls), nil
}

// ReadMessages reads the messages of a MESSAGES_SNAPSHOT as a 1.0 client does:
// messages of an unknown role are left out, and nulls of optional fields are
// taken out of Raw. The messages share raw's bytes.
//
// The error is a *fault.Error with code upstream_protocol_error.
func ReadMessages(raw []byte) ([]Message, error) {
	if err := strictjson.Check(raw); err != nil {
		return nil, fault.New(fault.UpstreamProtocolError, "the agent's messages are refused: %v", err)
	}
	raw = trim(raw)
	c := checker{lenient: true, nullAbsent: true}
	if err := c.check(&messageList, raw); err != nil {
		return nil, fault.New(fault.UpstreamProtocolError, "the agent's messages are malformed: %v", err).At(err.at)
	}
	return messagesOf(raw, c.nulls), nil
}

func messagesOf(raw []byte, nulls bool) []Message {
	out := []Message{}
	for cur := walk(raw); ; {
		m, ok := cur.next()
		if !ok {
			return out
		}
		one := cur.value(m)
		if nulls {
			one = withoutNulls(&aMessage, one)
		}
		if msg := messageOf(one); msg.Role.Known() {
			out = append(out, msg)
		}
	}
}

// messageOf reads the fields of one message; what does not fit is left empty.
func messageOf(raw []byte) Message {
	m := Message{Raw: raw}
	for cur := walk(raw); ; {
		f, ok := cur.next()
		if !ok {
			break
		}
		switch v := cur.value(f); string(cur.key(f)) {
		case "id":
			m.ID = text(v)
		case "role":
			m.Role = Role(text(v))
		case "content":
			m.Content = v
		case "toolCallId":
			m.ToolCallID = text(v)
		case "toolCalls":
			m.ToolCalls = toolCallsOf(v)
		case "error":
			m.Error, m.HasError = text(v), isString(v)
		}
	}
	if isNull(m.Content) {
		m.Content = nil
	}
	if m.Role != RoleTool {
		m.ToolCallID, m.Error, m.HasError = "", "", false
	}
	if m.Role != RoleAssistant {
		m.ToolCalls = nil
	}
	return m
}

func toolCallsOf(raw []byte) []ToolCall {
	var out []ToolCall
	for cur := walk(raw); cur.end == ']'; {
		m, ok := cur.next()
		if !ok {
			break
		}
		one := cur.value(m)
		function := field(one, "function")
		out = append(out, ToolCall{ID: text(field(one, "id")), Name: text(field(function, "name")),
			Arguments: text(field(function, "arguments")), Raw: one})
	}
	return out
}

// NewToolMessage is the answer to a call. content is a raw JSON string or array
// of parts, nil the empty string; an empty errText is no error.
func NewToolMessage(id, toolCallID string, content []byte, errText string) Message {
	return messageOf(object(nil).text("id", id).text("role", string(RoleTool)).text("toolCallId", toolCallID).
		json("content", orElse(content, `""`)).some("error", errText).done())
}

// NewUserMessage is what a person said. content is a raw JSON string or array of
// parts, nil the empty string.
func NewUserMessage(id string, content []byte) Message {
	return messageOf(object(nil).text("id", id).text("role", string(RoleUser)).json("content", orElse(content, `""`)).done())
}

// NewAssistantMessage is one turn of the agent: text, calls, or both. With
// calls, an empty text is left out. A call's Raw is used where it is set.
func NewAssistantMessage(id, content string, calls []ToolCall) Message {
	b := object(nil).text("id", id).text("role", string(RoleAssistant))
	if content != "" || len(calls) == 0 {
		b.text("content", content)
	}
	if len(calls) > 0 {
		b.key("toolCalls")
		b.raw = append(b.raw, '[')
		for i := range calls {
			b.raw = calls[i].Append(comma(b.raw, i))
		}
		b.raw = append(b.raw, ']')
	}
	return messageOf(b.done())
}

// Append writes the call as an assistant message holds it.
func (t ToolCall) Append(dst []byte) []byte {
	if t.Raw != nil {
		return append(dst, t.Raw...)
	}
	function := object(nil).text("name", t.Name).text("arguments", t.Arguments).done()
	return object(dst).text("id", t.ID).text("type", "function").json("function", function).done()
}

// With gives the message with key set to value, one JSON value, every other byte
// as it was; the typed fields follow.
func (m Message) With(key string, value []byte) Message { return messageOf(splice(m.Raw, key, value)) }

// Without gives the message without the member key; the typed fields follow.
func (m Message) Without(key string) Message { return messageOf(cut(m.Raw, key)) }

// AppendMessages writes messages as a JSON array.
func AppendMessages(dst []byte, ms []Message) []byte {
	dst = append(dst, '[')
	for i := range ms {
		dst = append(comma(dst, i), ms[i].Raw...)
	}
	return append(dst, ']')
}

// ReadMessage reads one message that was checked before, such as one of a record.
//
// The error is a *fault.Error with code upstream_protocol_error.
func ReadMessage(raw []byte) (Message, error) {
	if err := strictjson.Check(raw); err != nil {
		return Message{}, fault.New(fault.UpstreamProtocolError, "the message cannot be read: %v", err)
	}
	m := messageOf(trim(raw))
	if !m.Role.Known() || m.ID == "" {
		return Message{}, fault.New(fault.UpstreamProtocolError, "the message has no known role or no id")
	}
	return m, nil
}
