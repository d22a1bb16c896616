package repair

import "github.com/aguigate/aguigate/protocol/agui"

// kind numbers the event types, so that the steps of a type are an index away.
type kind uint8

const (
	other kind = iota // a type the protocol does not know
	runStarted
	runFinished
	runError
	stepStarted
	stepFinished
	textStart
	textContent
	textEnd
	textChunk
	callStart
	callArgs
	callEnd
	callChunk
	callResult
	stateSnapshot
	stateDelta
	messagesSnapshot
	activitySnapshot
	activityDelta
	rawEvent
	custom
	spanStart
	thoughtStart
	thoughtContent
	thoughtEnd
	thoughtChunk
	spanEnd
	encrypted
	subagentStarted
	subagentFinished
	subagentError
	kinds
)

// typesOf names the kinds; thoughts are the REASONING_MESSAGE events, spans the
// REASONING_START and REASONING_END around them.
var typesOf = [kinds]agui.Type{
	runStarted: agui.RunStarted, runFinished: agui.RunFinished, runError: agui.RunError,
	stepStarted: agui.StepStarted, stepFinished: agui.StepFinished,
	textStart: agui.TextMessageStart, textContent: agui.TextMessageContent, textEnd: agui.TextMessageEnd, textChunk: agui.TextMessageChunk,
	callStart: agui.ToolCallStart, callArgs: agui.ToolCallArgs, callEnd: agui.ToolCallEnd, callChunk: agui.ToolCallChunk, callResult: agui.ToolCallResult,
	stateSnapshot: agui.StateSnapshot, stateDelta: agui.StateDelta, messagesSnapshot: agui.MessagesSnapshot,
	activitySnapshot: agui.ActivitySnapshot, activityDelta: agui.ActivityDelta, rawEvent: agui.Raw, custom: agui.Custom,
	spanStart: agui.ReasoningStart, thoughtStart: agui.ReasoningMessageStart, thoughtContent: agui.ReasoningMessageContent,
	thoughtEnd: agui.ReasoningMessageEnd, thoughtChunk: agui.ReasoningMessageChunk, spanEnd: agui.ReasoningEnd, encrypted: agui.ReasoningEncryptedValue,
	subagentStarted: agui.SubagentStarted, subagentFinished: agui.SubagentFinished, subagentError: agui.SubagentError,
}

var kindOfType = func() map[agui.Type]kind {
	m := make(map[agui.Type]kind, kinds)
	for k, t := range typesOf {
		if t != "" {
			m[t] = kind(k)
		}
	}
	return m
}()

// kindOf is asked for every event; the two that nearly all are need no map.
func kindOf(t agui.Type) kind {
	switch t {
	case agui.TextMessageContent:
		return textContent
	case agui.ToolCallArgs:
		return callArgs
	case agui.ReasoningMessageContent:
		return thoughtContent
	}
	return kindOfType[t]
}

// kindSet is a set of kinds.
type kindSet uint64

func setOf(ks ...kind) (s kindSet) {
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

func (s kindSet) has(k kind) bool { return s&(1<<k) != 0 }

// known is all kinds but other.
const known = kindSet(1<<kinds-1) &^ 1
