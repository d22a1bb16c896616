package profile

import (
	"strings"

	"github.com/aguigate/aguigate/protocol/agui"
)

// The types that 1.0 no longer has. Both 0.0.x know them.
const (
	thinkingStart   agui.Type = "THINKING_START"
	thinkingEnd     agui.Type = "THINKING_END"
	thinkingText    agui.Type = "THINKING_TEXT_MESSAGE_START"
	thinkingContent agui.Type = "THINKING_TEXT_MESSAGE_CONTENT"
	thinkingTextEnd agui.Type = "THINKING_TEXT_MESSAGE_END"
)

// eventTable holds the fields that 0.0.45 knows of each type beside type,
// timestamp and rawEvent, and those that 0.0.59 adds beside metadata. isNew is a
// type that 0.0.45 does not know.
var eventTable = []struct {
	kind      agui.Type
	v0045     string
	since0059 string
	isNew     bool
}{
	{kind: agui.RunStarted, v0045: "threadId runId parentRunId input"},
	{kind: agui.RunFinished, v0045: "threadId runId result", since0059: "outcome usage"},
	{kind: agui.RunError, v0045: "message code", since0059: "usage"},
	{kind: agui.StepStarted, v0045: "stepName", since0059: "subagentRunId"},
	{kind: agui.StepFinished, v0045: "stepName", since0059: "subagentRunId"},
	{kind: agui.TextMessageStart, v0045: "messageId role", since0059: "name subagentRunId"},
	{kind: agui.TextMessageContent, v0045: "messageId delta", since0059: "subagentRunId"},
	{kind: agui.TextMessageEnd, v0045: "messageId", since0059: "subagentRunId"},
	{kind: agui.TextMessageChunk, v0045: "messageId role delta", since0059: "name subagentRunId"},
	{kind: agui.ToolCallStart, v0045: "toolCallId toolCallName parentMessageId", since0059: "subagentRunId"},
	{kind: agui.ToolCallArgs, v0045: "toolCallId delta", since0059: "subagentRunId"},
	{kind: agui.ToolCallEnd, v0045: "toolCallId", since0059: "subagentRunId"},
	{kind: agui.ToolCallChunk, v0045: "toolCallId toolCallName parentMessageId delta", since0059: "subagentRunId"},
	{kind: agui.ToolCallResult, v0045: "messageId toolCallId content role", since0059: "subagentRunId"},
	{kind: agui.StateSnapshot, v0045: "snapshot", since0059: "subagentRunId"},
	{kind: agui.StateDelta, v0045: "delta", since0059: "subagentRunId"},
	{kind: agui.MessagesSnapshot, v0045: "messages"},
	{kind: agui.ActivitySnapshot, v0045: "messageId activityType content replace", since0059: "subagentRunId"},
	{kind: agui.ActivityDelta, v0045: "messageId activityType patch", since0059: "subagentRunId"},
	{kind: agui.Raw, v0045: "event source", since0059: "subagentRunId"},
	{kind: agui.Custom, v0045: "name value", since0059: "subagentRunId"},
	{kind: agui.ReasoningStart, v0045: "messageId", since0059: "subagentRunId"},
	{kind: agui.ReasoningMessageStart, v0045: "messageId role", since0059: "subagentRunId"},
	{kind: agui.ReasoningMessageContent, v0045: "messageId delta", since0059: "subagentRunId"},
	{kind: agui.ReasoningMessageEnd, v0045: "messageId", since0059: "subagentRunId"},
	{kind: agui.ReasoningMessageChunk, v0045: "messageId delta", since0059: "subagentRunId"},
	{kind: agui.ReasoningEnd, v0045: "messageId", since0059: "subagentRunId"},
	{kind: agui.ReasoningEncryptedValue, v0045: "subtype entityId encryptedValue", since0059: "subagentRunId"},
	{kind: agui.SubagentStarted, isNew: true,
		since0059: "subagentRunId name description parentSubagentRunId parentToolCallId parentMessageId"},
	{kind: agui.SubagentFinished, isNew: true, since0059: "subagentRunId result outcome"},
	{kind: agui.SubagentError, isNew: true, since0059: "subagentRunId message code"},
	{kind: thinkingStart, v0045: "title"},
	{kind: thinkingEnd},
	{kind: thinkingText},
	{kind: thinkingContent, v0045: "delta"},
	{kind: thinkingTextEnd},
}

// eventFields is the table of one of the two, the likeliest fields first.
func eventFields(v0059 bool) map[agui.Type][]string {
	out := make(map[agui.Type][]string, len(eventTable))
	for _, row := range eventTable {
		if row.isNew && !v0059 {
			continue
		}
		fields := append([]string{"type"}, strings.Fields(row.v0045)...)
		if v0059 {
			fields = append(fields, strings.Fields(row.since0059)...)
			fields = append(fields, "metadata")
		}
		out[row.kind] = append(fields, "timestamp", "rawEvent")
	}
	return out
}
