package agui

// Type is the "type" of an event. Types that this list does not hold are legal
// on the wire: a 1.0 client drops them with a warning.
type Type string

// The 31 event types of protocol version 1.0.
const (
	RunStarted  Type = "RUN_STARTED"
	RunFinished Type = "RUN_FINISHED"
	RunError    Type = "RUN_ERROR"

	StepStarted  Type = "STEP_STARTED"
	StepFinished Type = "STEP_FINISHED"

	TextMessageStart   Type = "TEXT_MESSAGE_START"
	TextMessageContent Type = "TEXT_MESSAGE_CONTENT"
	TextMessageEnd     Type = "TEXT_MESSAGE_END"
	TextMessageChunk   Type = "TEXT_MESSAGE_CHUNK"

	ToolCallStart  Type = "TOOL_CALL_START"
	ToolCallArgs   Type = "TOOL_CALL_ARGS"
	ToolCallEnd    Type = "TOOL_CALL_END"
	ToolCallChunk  Type = "TOOL_CALL_CHUNK"
	ToolCallResult Type = "TOOL_CALL_RESULT"

	StateSnapshot    Type = "STATE_SNAPSHOT"
	StateDelta       Type = "STATE_DELTA"
	MessagesSnapshot Type = "MESSAGES_SNAPSHOT"
	ActivitySnapshot Type = "ACTIVITY_SNAPSHOT"
	ActivityDelta    Type = "ACTIVITY_DELTA"

	Raw    Type = "RAW"
	Custom Type = "CUSTOM"

	ReasoningStart          Type = "REASONING_START"
	ReasoningMessageStart   Type = "REASONING_MESSAGE_START"
	ReasoningMessageContent Type = "REASONING_MESSAGE_CONTENT"
	ReasoningMessageEnd     Type = "REASONING_MESSAGE_END"
	ReasoningMessageChunk   Type = "REASONING_MESSAGE_CHUNK"
	ReasoningEnd            Type = "REASONING_END"
	ReasoningEncryptedValue Type = "REASONING_ENCRYPTED_VALUE"

	SubagentStarted  Type = "SUBAGENT_STARTED"
	SubagentFinished Type = "SUBAGENT_FINISHED"
	SubagentError    Type = "SUBAGENT_ERROR"
)

// Known reports whether t is one of the 31 types of version 1.0.
func (t Type) Known() bool { _, ok := types[string(t)]; return ok }

// Terminal reports whether t ends a run: RUN_FINISHED or RUN_ERROR.
func (t Type) Terminal() bool { return t == RunFinished || t == RunError }

// types finds the constant for a name, so that parsing a frame makes no string.
var types = func() map[string]Type {
	m := make(map[string]Type, 31)
	for _, t := range []Type{
		RunStarted, RunFinished, RunError, StepStarted, StepFinished,
		TextMessageStart, TextMessageContent, TextMessageEnd, TextMessageChunk,
		ToolCallStart, ToolCallArgs, ToolCallEnd, ToolCallChunk, ToolCallResult,
		StateSnapshot, StateDelta, MessagesSnapshot, ActivitySnapshot, ActivityDelta, Raw, Custom,
		ReasoningStart, ReasoningMessageStart, ReasoningMessageContent, ReasoningMessageEnd,
		ReasoningMessageChunk, ReasoningEnd, ReasoningEncryptedValue,
		SubagentStarted, SubagentFinished, SubagentError,
	} {
		m[string(t)] = t
	}
	return m
}()

func typeOf(name []byte) Type {
	if t, ok := types[string(name)]; ok {
		return t
	}
	return Type(name)
}
