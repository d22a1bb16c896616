package agui

import (
	"errors"
	"strings"
	"testing"
)

// short makes a frame out of "TYPE key=value …", where id fills whichever id the
// type has.
func short(t *testing.T, line string) Frame {
	t.Helper()
	words := strings.Fields(line)
	b := event(Type(words[0]))
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		b.text(k, v)
	}
	return b.frame()
}

const start, finish = "RUN_STARTED", "RUN_FINISHED"

var sequences = []struct {
	name   string
	events []string
	index  int // of the event at fault, len(events) for the end, -1 for none
	rule   string
}{
	{"nothing", nil, 0, "at least"},
	{"plain", []string{start, finish}, -1, ""},
	{"error alone", []string{"RUN_ERROR"}, -1, ""},
	{"error with something open", []string{start, "TEXT_MESSAGE_START messageId=m", "RUN_ERROR"}, -1, ""},
	{"no start", []string{"TEXT_MESSAGE_START messageId=m"}, 0, "first event"},
	{"no end", []string{start}, 1, "last event"},
	{"finish, then error", []string{start, finish, "RUN_ERROR"}, 2, "nothing may follow"},
	{"error, then finish", []string{start, "RUN_ERROR", finish}, 2, "nothing may follow"},
	{"two runs", []string{start, finish, start}, 2, "nothing may follow"},
	{"start twice", []string{start, start}, 1, "still active"},
	{"text", []string{start, "TEXT_MESSAGE_START messageId=m", "TEXT_MESSAGE_CONTENT messageId=m", "TEXT_MESSAGE_END messageId=m", finish}, -1, ""},
	{"text twice", []string{start, "TEXT_MESSAGE_START messageId=m", "TEXT_MESSAGE_START messageId=m"}, 2, "open already"},
	{"text again", []string{start, "TEXT_MESSAGE_START messageId=m", "TEXT_MESSAGE_END messageId=m", "TEXT_MESSAGE_START messageId=m", "TEXT_MESSAGE_END messageId=m", finish}, -1, ""},
	{"text interleaved", []string{start, "TEXT_MESSAGE_START messageId=m", "TEXT_MESSAGE_START messageId=n", "TEXT_MESSAGE_CONTENT messageId=m", "TEXT_MESSAGE_END messageId=n", "TEXT_MESSAGE_END messageId=m", finish}, -1, ""},
	{"content without start", []string{start, "TEXT_MESSAGE_CONTENT messageId=m"}, 1, "no text message"},
	{"end without start", []string{start, "TEXT_MESSAGE_END messageId=m"}, 1, "no text message"},
	{"finish with text open", []string{start, "TEXT_MESSAGE_START messageId=m", finish}, 2, `text message "m"`},
	{"call", []string{start, "TOOL_CALL_START toolCallId=c", "TOOL_CALL_ARGS toolCallId=c", "TOOL_CALL_END toolCallId=c", "TOOL_CALL_RESULT messageId=r toolCallId=c", finish}, -1, ""},
	{"call twice", []string{start, "TOOL_CALL_START toolCallId=c", "TOOL_CALL_START toolCallId=c"}, 2, "open already"},
	{"arguments of another call", []string{start, "TOOL_CALL_START toolCallId=c", "TOOL_CALL_ARGS toolCallId=d"}, 2, `tool call "d"`},
	{"finish with call open", []string{start, "TOOL_CALL_START toolCallId=c", finish}, 2, `tool call "c"`},
	{"result of no call", []string{start, "TOOL_CALL_RESULT messageId=r toolCallId=zz", finish}, -1, ""},
	{"ids are of a kind", []string{start, "TEXT_MESSAGE_START messageId=x", "TOOL_CALL_START toolCallId=x", "REASONING_START messageId=x", "REASONING_MESSAGE_START messageId=x", "REASONING_MESSAGE_END messageId=x", "REASONING_END messageId=x", "TOOL_CALL_END toolCallId=x", "TEXT_MESSAGE_END messageId=x", finish}, -1, ""},
	{"reasoning span open", []string{start, "REASONING_START messageId=x", finish}, 2, `reasoning span "x"`},
	{"reasoning message open", []string{start, "REASONING_MESSAGE_START messageId=x", finish}, 2, `reasoning message "x"`},
	{"reasoning content without start", []string{start, "REASONING_START messageId=x", "REASONING_MESSAGE_CONTENT messageId=x"}, 2, "no reasoning message"},
	{"steps", []string{start, "STEP_STARTED stepName=s", "STEP_STARTED stepName=s subagentRunId=a", "STEP_FINISHED stepName=s", "STEP_FINISHED stepName=s subagentRunId=a", finish}, -1, ""},
	{"step twice", []string{start, "STEP_STARTED stepName=s", "STEP_STARTED stepName=s"}, 2, "open already"},
	{"step of another", []string{start, "STEP_STARTED stepName=s", "STEP_FINISHED stepName=s subagentRunId="}, 2, "whoever started"},
	{"step open", []string{start, "STEP_STARTED stepName=s", finish}, 2, `step "s"`},
	{"subagent", []string{start, "SUBAGENT_STARTED subagentRunId=a", "SUBAGENT_STARTED subagentRunId=b parentSubagentRunId=a", "SUBAGENT_ERROR subagentRunId=a", "SUBAGENT_FINISHED subagentRunId=b", finish}, -1, ""},
	{"subagent open", []string{start, "SUBAGENT_STARTED subagentRunId=a", finish}, 2, `subagent "a"`},
	{"subagent again", []string{start, "SUBAGENT_STARTED subagentRunId=a", "SUBAGENT_FINISHED subagentRunId=a", "SUBAGENT_STARTED subagentRunId=a"}, 3, "used once"},
	{"subagent twice", []string{start, "SUBAGENT_STARTED subagentRunId=a", "SUBAGENT_STARTED subagentRunId=a"}, 2, "active already"},
	{"subagent of nobody", []string{start, "SUBAGENT_STARTED subagentRunId=a parentSubagentRunId=z"}, 1, "has not been started"},
	{"subagent ends unknown", []string{start, "SUBAGENT_FINISHED subagentRunId=a"}, 1, "no subagent"},
	{"another's text", []string{start, "TEXT_MESSAGE_START messageId=m subagentRunId=a", "TEXT_MESSAGE_CONTENT messageId=m subagentRunId=b"}, 2, "belongs to"},
	{"the agent's text", []string{start, "TEXT_MESSAGE_START messageId=m", "TEXT_MESSAGE_CONTENT messageId=m subagentRunId=b"}, 2, "the agent itself"},
	{"untagged agrees", []string{start, "TEXT_MESSAGE_START messageId=m subagentRunId=a", "TEXT_MESSAGE_CONTENT messageId=m", "TEXT_MESSAGE_END messageId=m", finish}, -1, ""},
	{"call in another's message", []string{start, "TEXT_MESSAGE_START messageId=m", "TOOL_CALL_START toolCallId=c parentMessageId=m subagentRunId=a"}, 2, "parent message"},
	{"a late encrypted value", []string{start, "TOOL_CALL_START toolCallId=c subagentRunId=a", "TOOL_CALL_END toolCallId=c", "REASONING_ENCRYPTED_VALUE subtype=tool-call entityId=c subagentRunId=b"}, 3, "belongs to"},
	{"activity", []string{start, "ACTIVITY_SNAPSHOT messageId=m subagentRunId=a", "ACTIVITY_DELTA messageId=m subagentRunId=b"}, 2, "belongs to"},
	{"chunks", []string{start, "TEXT_MESSAGE_CHUNK messageId=m delta=a", "RAW", "TEXT_MESSAGE_CHUNK delta=b", "TOOL_CALL_CHUNK toolCallId=c toolCallName=f", "TOOL_CALL_CHUNK delta=x", "REASONING_MESSAGE_CHUNK messageId=m delta=a", finish}, -1, ""},
	{"first chunk without id", []string{start, "TEXT_MESSAGE_CHUNK delta=a"}, 1, "must have a messageId"},
	{"first chunk without name", []string{start, "TOOL_CALL_CHUNK toolCallId=c"}, 1, "must have a toolCallName"},
	{"chunk changes its name", []string{start, "TOOL_CALL_CHUNK toolCallId=c toolCallName=f", "TOOL_CALL_CHUNK toolCallName=g"}, 2, "another name"},
	{"chunk after its end", []string{start, "TEXT_MESSAGE_CHUNK messageId=m delta=a", "CUSTOM", "TEXT_MESSAGE_CHUNK delta=b"}, 3, "must have a messageId"},
	{"chunk ended by hand", []string{start, "TEXT_MESSAGE_CHUNK messageId=m delta=a", "TEXT_MESSAGE_END messageId=m"}, 2, "no text message"},
	{"an unknown type", []string{start, "LATER", finish}, -1, ""},
	{"an unknown type first", []string{"LATER", start, finish}, 0, "first event"},
}

func TestSequence(t *testing.T) {
	for _, c := range sequences {
		var s Sequence
		var err error
		for _, e := range c.events {
			if err = s.Push(short(t, e)); err != nil {
				break
			}
		}
		if end := s.End(); err == nil {
			err = end
		} else if end != err || s.Push(Frame{}) != err {
			t.Errorf("%s: the first error does not stay", c.name)
		}
		var got *SequenceError
		if c.index < 0 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		} else if !errors.As(err, &got) || got.Index != c.index || !strings.Contains(got.Error(), c.rule) {
			t.Errorf("%s: %v, want event %d: %s", c.name, err, c.index, c.rule)
		} else if c.index < len(c.events) && string(got.Type) != strings.Fields(c.events[c.index])[0] {
			t.Errorf("%s: the error names type %q", c.name, got.Type)
		}
	}
}

func TestSequenceManyRuns(t *testing.T) {
	s := Sequence{ManyRuns: true}
	for _, e := range []string{"RUN_STARTED", "TEXT_MESSAGE_START messageId=m", "RUN_ERROR", "RUN_STARTED", "TEXT_MESSAGE_START messageId=m", "TEXT_MESSAGE_END messageId=m", "RUN_FINISHED"} {
		if err := s.Push(short(t, e)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
	if err := s.Push(short(t, "CUSTOM")); err == nil {
		t.Error("only RUN_STARTED may follow a terminal event")
	}
}

func TestSequenceSeedsOwners(t *testing.T) {
	snapshot := NewMessagesSnapshot([]byte(`[{"id":"m","role":"assistant","subagentRunId":"a","toolCalls":[{"id":"c"}]},{"id":"q","role":"reasoning"}]`))
	for _, c := range []struct {
		event string
		ok    bool
	}{
		{"TEXT_MESSAGE_START messageId=m subagentRunId=a", true},
		{"TEXT_MESSAGE_START messageId=m subagentRunId=b", false},
		{"TOOL_CALL_START toolCallId=c subagentRunId=b", false},
		{"REASONING_START messageId=q subagentRunId=b", false},
		{"REASONING_START messageId=m subagentRunId=b", true},
	} {
		var s Sequence
		for _, f := range []Frame{NewRunStarted("t", "r", "", ""), snapshot} {
			if err := s.Push(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Push(short(t, c.event)); (err == nil) != c.ok {
			t.Errorf("%s after the snapshot: %v", c.event, err)
		}
	}
}
