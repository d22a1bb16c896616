package wire

import "github.com/aguigate/aguigate/protocol/agui"

// event is one arm of the envelope. Its number is its place in events.
type event struct {
	kind agui.Type
	enum byte // ag_ui.EventType, which has another order than the envelope
	of   *message
}

// owner is the subagent an event belongs to; its place in the message is where
// the schema's history has put it.
var owner = may("subagentRunId")

// ofEvent is an event's message: the base, which has no JSON member, comes first.
func ofEvent(fields ...field) *message {
	return &message{fields: append([]field{form(sub("baseEvent", baseEvent))}, fields...)}
}

// events is the envelope of 1.0.0, which has all 31 types. That of 0.0.59 ends
// at legacyEvents.
var events = [...]event{
	{agui.TextMessageStart, 0, ofEvent(str("messageId"), may("role"), may("name"), owner)},
	{agui.TextMessageContent, 1, ofEvent(str("messageId"), str("delta"), owner)},
	{agui.TextMessageEnd, 2, ofEvent(str("messageId"), owner)},
	{agui.ToolCallStart, 3, ofEvent(str("toolCallId"), str("toolCallName"), may("parentMessageId"), owner)},
	{agui.ToolCallArgs, 4, ofEvent(str("toolCallId"), str("delta"), owner)},
	{agui.ToolCallEnd, 5, ofEvent(str("toolCallId"), owner)},
	{agui.StateSnapshot, 6, ofEvent(field{name: "snapshot", kind: anyValue}, owner)},
	{agui.StateDelta, 7, ofEvent(need(many(list, "delta", patchOperation)), owner)},
	{agui.MessagesSnapshot, 8, ofEvent(need(many(list, "messages", chatMessage)))},
	{agui.Raw, 9, ofEvent(field{name: "event", kind: anyValue}, may("source"), owner)},
	{agui.Custom, 10, ofEvent(str("name"), field{name: "value", kind: anyValue}, owner)},
	{agui.RunStarted, 11, ofEvent(str("threadId"), str("runId"), may("parentRunId"), sub("input", runInput), may("protocolVersion"))},
	{agui.RunFinished, 12, runFinished},
	{agui.RunError, 13, ofEvent(may("code"), str("message"), many(mayList, "usage", usage))},
	{agui.StepStarted, 14, ofEvent(str("stepName"), owner)},
	{agui.StepFinished, 15, ofEvent(str("stepName"), owner)},
	{agui.TextMessageChunk, 19, ofEvent(may("messageId"), may("role"), may("delta"), may("name"), owner)},
	{agui.ToolCallChunk, 20, ofEvent(may("toolCallId"), may("toolCallName"), may("parentMessageId"), may("delta"), owner)},
	{agui.SubagentStarted, 16, ofEvent(str("subagentRunId"), str("name"), may("description"), may("parentSubagentRunId"),
		may("parentToolCallId"), may("parentMessageId"))},
	{agui.SubagentFinished, 17, subagentFinished},
	{agui.SubagentError, 18, ofEvent(str("subagentRunId"), str("message"), may("code"))},

	{agui.ToolCallResult, 21, toolCallResult},
	{agui.ActivitySnapshot, 22, ofEvent(owner, str("messageId"), str("activityType"), object("content"),
		field{name: "replace", kind: mayBool})},
	{agui.ActivityDelta, 23, ofEvent(owner, str("messageId"), str("activityType"), need(many(list, "patch", patchOperation)))},
	{agui.ReasoningStart, 24, ofEvent(owner, str("messageId"))},
	{agui.ReasoningMessageStart, 25, ofEvent(owner, str("messageId"), str("role"))},
	{agui.ReasoningMessageContent, 26, ofEvent(owner, str("messageId"), str("delta"))},
	{agui.ReasoningMessageEnd, 27, ofEvent(owner, str("messageId"))},
	{agui.ReasoningMessageChunk, 28, ofEvent(owner, may("messageId"), may("delta"))},
	{agui.ReasoningEnd, 29, ofEvent(owner, str("messageId"))},
	{agui.ReasoningEncryptedValue, 30, ofEvent(owner, str("subtype"), str("entityId"), str("encryptedValue"))},
}

var (
	toolCallResult = spreading(contentOfResult, owner, str("messageId"), str("toolCallId"), may("content"), may("role"),
		form(many(list, "content", part)))
	runFinished = spreading(outcomeOfRun, str("threadId"), str("runId"), free("result"),
		field{name: "outcome", kind: text}, form(many(mayList, "outcome/interrupts", interrupt)),
		many(mayList, "usage", usage), form(many(texts, "outcome/pendingToolCallIds", nil)))
	subagentFinished = spreading(outcomeOfSubagent, str("subagentRunId"), free("result"),
		field{name: "outcome", kind: text}, form(many(texts, "outcome/interruptIds", nil)))
)

func spreading(s spread, fields ...field) *message {
	m := ofEvent(fields...)
	m.spread = s
	return m
}

// numbers finds the arm for a type.
var numbers = func() map[agui.Type]int {
	m := make(map[agui.Type]int, len(events))
	for i := range events {
		m[events[i].kind] = i + 1
	}
	return m
}()
