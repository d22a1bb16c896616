package repair

import (
	"slices"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

var (
	baseFields    = []string{"type", "timestamp", "rawEvent", "metadata"}
	messageFields = []string{"id", "role", "content", "name", "toolCallId", "toolCalls", "encryptedValue", "subagentRunId", "activityType",
		"error", "metadata"}
)

// fieldsOf names the fields of each kind beside those that all have.
var fieldsOf = [kinds][]string{
	runStarted:       {"threadId", "runId", "parentRunId", "protocolVersion", "input"},
	runFinished:      {"threadId", "runId", "result", "outcome", "usage"},
	runError:         {"message", "code", "usage"},
	stepStarted:      {"stepName", "subagentRunId"},
	stepFinished:     {"stepName", "subagentRunId"},
	textStart:        {"messageId", "role", "name", "subagentRunId"},
	textContent:      {"messageId", "delta", "subagentRunId"},
	textEnd:          {"messageId", "subagentRunId"},
	textChunk:        {"messageId", "role", "delta", "name", "subagentRunId"},
	callStart:        {"toolCallId", "toolCallName", "parentMessageId", "subagentRunId"},
	callArgs:         {"toolCallId", "delta", "subagentRunId"},
	callEnd:          {"toolCallId", "subagentRunId"},
	callChunk:        {"toolCallId", "toolCallName", "parentMessageId", "delta", "subagentRunId"},
	callResult:       {"messageId", "toolCallId", "content", "role", "subagentRunId"},
	stateSnapshot:    {"snapshot", "subagentRunId"},
	stateDelta:       {"delta", "subagentRunId"},
	messagesSnapshot: {"messages"},
	activitySnapshot: {"messageId", "activityType", "content", "replace", "subagentRunId"},
	activityDelta:    {"messageId", "activityType", "patch", "subagentRunId"},
	rawEvent:         {"event", "source", "subagentRunId"},
	custom:           {"name", "value", "subagentRunId"},
	spanStart:        {"messageId", "subagentRunId"},
	thoughtStart:     {"messageId", "role", "subagentRunId"},
	thoughtContent:   {"messageId", "delta", "subagentRunId"},
	thoughtEnd:       {"messageId", "subagentRunId"},
	thoughtChunk:     {"messageId", "delta", "subagentRunId"},
	spanEnd:          {"messageId", "subagentRunId"},
	encrypted:        {"subtype", "entityId", "encryptedValue", "subagentRunId"},
	subagentStarted:  {"subagentRunId", "name", "description", "parentSubagentRunId", "parentToolCallId", "parentMessageId"},
	subagentFinished: {"subagentRunId", "result", "outcome"},
	subagentError:    {"subagentRunId", "message", "code"},
}

// fieldNames is off because the contract refuses other spellings in an upstream's
// frame [SEC-1]. Turned on it does not bring back what that rule is afraid of, one
// event that two parsers read differently: what leaves has the protocol's own
// keys only, and an event that holds a field in two spellings keeps both and is
// refused.
func (c *Chain) fieldNames(e *event) bool {
	raw, n := respelt(e.f.Raw, e.kind)
	if n > 0 {
		c.did(rowFieldNames)
		e.replace(agui.Frame{Type: e.f.Type, Raw: raw})
	}
	return true
}

// respelt gives raw, an event of kind k, with the protocol's own keys, those of
// a snapshot's messages too. n is how many were written anew.
func respelt(raw []byte, k kind) (_ []byte, n int) {
	raw, n = rename(raw, baseFields, fieldsOf[k])
	if k != messagesSnapshot {
		return raw, n
	}
	f := agui.Frame{Raw: raw}
	list := f.Field("messages")
	elements, err := strictjson.ArrayOf(list)
	if err != nil {
		return raw, n
	}
	out := []byte{'['}
	changed := 0
	for i, one := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		clean, m := rename(one, messageFields, nil)
		out = append(out, clean...)
		changed += m
	}
	if changed == 0 {
		return raw, n
	}
	return f.With("messages", append(out, ']')).Raw, n + changed
}

// rename writes those keys of one object anew that are a name of a or b in
// another spelling. A name that would then stand there twice is left alone.
func rename(obj []byte, a, b []string) (_ []byte, n int) {
	var out []byte
	done := 0
	m := walk(obj)
	for m.next() {
		right := meant(string(m.key()), a, b)
		if right == "" || times(obj, right) != 1 {
			continue
		}
		out = append(append(out, obj[done:m.keyFrom]...), right...)
		done = m.keyTo
		n++
	}
	if n == 0 {
		return obj, 0
	}
	return append(out, obj[done:]...), n
}

// times counts the members that are name in any spelling.
func times(obj []byte, name string) (n int) {
	want := bare(name)
	m := walk(obj)
	for m.next() {
		if bare(string(m.key())) == want {
			n++
		}
	}
	return n
}

// meant gives the name that key is another spelling of, "" when it is one of
// them or none.
func meant(key string, a, b []string) string {
	if len(key) > 64 {
		return ""
	}
	for _, list := range [2][]string{a, b} {
		if slices.Contains(list, key) {
			return ""
		}
	}
	letters := bare(key)
	for _, list := range [2][]string{a, b} {
		for _, name := range list {
			if letters == bare(name) {
				return name
			}
		}
	}
	return ""
}
