package agui

import "github.com/aguigate/aguigate/protocol/strictjson"

// The builders below make the gateway's own events. Each is valid 1.0; strings
// are escaped here, raw JSON is taken as it is and must be one checked value.
// Ids, names and deltas that are empty where the protocol needs a string are
// written as "".

// NewRunStarted opens a run. An empty parentRunID or protocolVersion is left
// out.
func NewRunStarted(threadID, runID, parentRunID, protocolVersion string) Frame {
	return event(RunStarted).text("threadId", threadID).text("runId", runID).
		some("protocolVersion", protocolVersion).some("parentRunId", parentRunID).frame()
}

// NewRunFinished ends a run that did not fail. outcome nil leaves it out, which
// 0.0.x clients need and 1.0 clients read as success.
func NewRunFinished(threadID, runID string, outcome *Outcome) Frame {
	b := event(RunFinished).text("threadId", threadID).text("runId", runID)
	if outcome != nil {
		b.key("outcome")
		b.raw = outcome.Append(b.raw)
	}
	return b.frame()
}

// NewRunError ends a run that failed. An empty code and nil metadata (a JSON
// object) are left out.
func NewRunError(message, code string, metadata []byte) Frame {
	return event(RunError).text("message", message).some("code", code).json("metadata", metadata).frame()
}

// NewTextStart opens a text message of the assistant.
func NewTextStart(messageID string) Frame {
	return event(TextMessageStart).text("messageId", messageID).text("role", "assistant").frame()
}

// NewTextContent appends delta to an open text message. 0.0.x clients refuse an
// empty delta.
func NewTextContent(messageID, delta string) Frame {
	return event(TextMessageContent).text("messageId", messageID).text("delta", delta).frame()
}

// NewTextEnd closes a text message.
func NewTextEnd(messageID string) Frame {
	return event(TextMessageEnd).text("messageId", messageID).frame()
}

// NewToolCallStart opens a tool call; an empty parentMessageID is left out.
func NewToolCallStart(id, name, parentMessageID string) Frame {
	return event(ToolCallStart).text("toolCallId", id).text("toolCallName", name).
		some("parentMessageId", parentMessageID).frame()
}

// NewToolCallArgs appends delta, a fragment of JSON text, to a call's arguments.
func NewToolCallArgs(id, delta string) Frame {
	return event(ToolCallArgs).text("toolCallId", id).text("delta", delta).frame()
}

// NewToolCallEnd says that a call's arguments are complete.
func NewToolCallEnd(id string) Frame { return event(ToolCallEnd).text("toolCallId", id).frame() }

// NewToolCallResult gives what a tool returned, as text.
func NewToolCallResult(messageID, toolCallID, content string) Frame {
	return NewToolCallResultRaw(messageID, toolCallID, strictjson.Quote(content))
}

// NewToolCallResultRaw is NewToolCallResult with content as raw JSON: a string,
// or an array of parts, which 0.0.x clients refuse.
func NewToolCallResultRaw(messageID, toolCallID string, content []byte) Frame {
	return event(ToolCallResult).text("messageId", messageID).text("toolCallId", toolCallID).
		json("content", content).text("role", "tool").frame()
}

// NewReasoningStart opens a span of reasoning.
func NewReasoningStart(messageID string) Frame {
	return event(ReasoningStart).text("messageId", messageID).frame()
}

// NewReasoningMessageStart opens a reasoning message.
func NewReasoningMessageStart(messageID string) Frame {
	return event(ReasoningMessageStart).text("messageId", messageID).text("role", "reasoning").frame()
}

// NewReasoningMessageContent appends delta to an open reasoning message.
func NewReasoningMessageContent(messageID, delta string) Frame {
	return event(ReasoningMessageContent).text("messageId", messageID).text("delta", delta).frame()
}

// NewReasoningMessageEnd closes a reasoning message.
func NewReasoningMessageEnd(messageID string) Frame {
	return event(ReasoningMessageEnd).text("messageId", messageID).frame()
}

// NewReasoningEnd closes a span of reasoning.
func NewReasoningEnd(messageID string) Frame {
	return event(ReasoningEnd).text("messageId", messageID).frame()
}

// NewStepStarted opens a named step.
func NewStepStarted(name string) Frame { return event(StepStarted).text("stepName", name).frame() }

// NewStepFinished closes a named step.
func NewStepFinished(name string) Frame { return event(StepFinished).text("stepName", name).frame() }

// NewStateSnapshot replaces the state by snapshot, any JSON value.
func NewStateSnapshot(snapshot []byte) Frame {
	return event(StateSnapshot).json("snapshot", orElse(snapshot, "null")).frame()
}

// NewStateDelta changes the state by patch, an RFC 6902 array.
func NewStateDelta(patch []byte) Frame {
	return event(StateDelta).json("delta", orElse(patch, "[]")).frame()
}

// NewCustom is an event of our own; value is any JSON value, nil is null.
func NewCustom(name string, value []byte) Frame {
	return event(Custom).text("name", name).json("value", orElse(value, "null")).frame()
}

// NewMessagesSnapshot replaces the conversation by messages, a JSON array.
func NewMessagesSnapshot(messages []byte) Frame {
	return event(MessagesSnapshot).json("messages", orElse(messages, "[]")).frame()
}

func orElse(raw []byte, other string) []byte {
	if len(raw) == 0 {
		return []byte(other)
	}
	return raw
}

// builder writes one JSON object.
type builder struct {
	kind Type
	raw  []byte
}

func event(t Type) *builder {
	b := &builder{kind: t, raw: make([]byte, 0, 128)}
	b.raw = append(b.raw, '{')
	return b.text("type", string(t))
}

func (b *builder) key(name string) {
	if b.raw[len(b.raw)-1] != '{' {
		b.raw = append(b.raw, ',')
	}
	b.raw = append(append(append(b.raw, '"'), name...), '"', ':')
}

func (b *builder) text(name, value string) *builder {
	b.key(name)
	b.raw = strictjson.AppendString(b.raw, value)
	return b
}

// some writes a string unless it is empty.
func (b *builder) some(name, value string) *builder {
	if value == "" {
		return b
	}
	return b.text(name, value)
}

// json writes a raw value unless it is nil.
func (b *builder) json(name string, value []byte) *builder {
	if len(value) == 0 {
		return b
	}
	b.key(name)
	b.raw = append(b.raw, value...)
	return b
}

func (b *builder) flag(name string, value bool) *builder {
	b.key(name)
	if value {
		b.raw = append(b.raw, "true"...)
	} else {
		b.raw = append(b.raw, "false"...)
	}
	return b
}

// done closes the object.
func (b *builder) done() []byte { return append(b.raw, '}') }

func (b *builder) frame() Frame { return Frame{Type: b.kind, Raw: b.done()} }

// object starts an object behind dst.
func object(dst []byte) *builder { return &builder{raw: append(dst, '{')} }
