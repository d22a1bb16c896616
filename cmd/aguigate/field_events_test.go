package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

// Group F: events that are not as the protocol has them.

// through lets the agent say these events, after a start, and gives what the client
// gets, event by event.
func through(s *stage, w *world, thread, start string, up []string) []string {
	w.t.Helper()
	s.plays(thread, exactly(append(append([]string{start}, up...), finished(thread))...))
	r := w.post("a", input(thread, "r1", "", user("u1", "hi")))
	w.events(r.body)
	return blocks(r.body)
}

// between compares a run's events, byte for byte, with a start, these, and an end.
func between(w *world, thread string, got, down []string) {
	w.t.Helper()
	want := append(append([]string{started(thread)}, down...), finished(thread))
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// byteForByte compares what comes out with what goes in.
func byteForByte(s *stage, w *world, thread string, up, down []string) {
	w.t.Helper()
	between(w, thread, through(s, w, thread, started(thread), up), down)
}

// F034: empty deltas are dropped.
func TestF034EmptyDeltas(t *testing.T) {
	s, w := beginPatient(t)
	byteForByte(s, w, "th34", []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":""}`, `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"m2","role":"reasoning"}`, `{"type":"REASONING_MESSAGE_CONTENT","messageId":"m2","delta":""}`, `{"type":"REASONING_MESSAGE_END","messageId":"m2"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"search"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":""}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"a\":1}"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
	}, []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`, `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"m2","role":"reasoning"}`, `{"type":"REASONING_MESSAGE_END","messageId":"m2"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"search"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"a\":1}"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
	})
}

// F035: nulls of optional fields go, nulls that are data stay.
func TestF035Nulls(t *testing.T) {
	s, w := beginPatient(t)
	nulls := `{"type":"RUN_STARTED","threadId":"th35","runId":"r1","timestamp":null,"rawEvent":null}`
	got := through(s, w, "th35", nulls, []string{
		`{"type":"STATE_SNAPSHOT","snapshot":{"a":null},"timestamp":null,"rawEvent":null}`, `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a","value":null}],"timestamp":null}`,
		`{"type":"CUSTOM","name":"n","value":null,"rawEvent":null}`, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"search","parentMessageId":null}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"a\":null}"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`, `{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"c1","content":"null","role":"tool","timestamp":null}`,
	})
	between(w, "th35", got, []string{
		`{"type":"STATE_SNAPSHOT","snapshot":{"a":null}}`, `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a","value":null}]}`,
		`{"type":"CUSTOM","name":"n","value":null}`, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"search"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"a\":null}"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`, `{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"c1","content":"null","role":"tool"}`,
	})
}

// F037: a call without arguments.
func TestF037CallWithoutArguments(t *testing.T) {
	s, w := beginPatient(t)
	s.plays("th37", frames("r1", `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pick","parentMessageId":"m2"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`), frames("r2"))
	got := w.run("", "a", input("th37", "r1", offered("pick"), user("m1", "hi")))
	if kinds(got) != "RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END RUN_FINISHED" || got[2].Text("delta") != "{}" {
		t.Errorf("the client gets %s", kinds(got))
	}
	if args, _ := w.invocation("th37", "c1")["arguments"].(map[string]any); args == nil || len(args) != 0 {
		t.Errorf("the record has arguments %v", w.invocation("th37", "c1")["arguments"])
	}
	empty := strings.Replace(assistant("m2", toolCall("c1", "pick")), `"arguments":"{}"`, `"arguments":""`, 1)
	w.run("", "a", input("th37", "r2", offered("pick"), user("m1", "hi"), empty, result("t1", "c1", "x")))
	if up := s.newest("th37"); !strings.Contains(up, `"arguments":"{}"`) || strings.Contains(up, `"arguments":""`) {
		t.Errorf("the agent reads %s", up)
	}
}

// F038: arguments that are cut do not poison the thread.
func TestF038CutArguments(t *testing.T) {
	s, w := beginPatient(t)
	s.plays("th38", exactly(`{"type":"RUN_STARTED","threadId":"th38","runId":"r1"}`, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pick","parentMessageId":"m2"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"path\":\"/a"}`), frames("r2"))
	got := w.run("", "a", input("th38", "r1", offered("pick"), user("m1", "hi")))
	if kinds(got) != "RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_RESULT RUN_ERROR" || last(got).Text("code") != "incomplete_stream" || got[3].Text("toolCallId") != "c1" {
		t.Errorf("the client gets %s, ended in %s", kinds(got), last(got).Raw)
	}
	if got := w.calls("th38"); got != "" {
		t.Errorf("a call was opened: %s", got)
	}
	broken := strings.Replace(assistant("m2", toolCall("c1", "pick")), `"{}"`, `"{\"path\":\"/a"`, 1)
	w.run("", "a", input("th38", "r2", offered("pick"), user("m1", "hi"), broken, user("m3", "and?")))
	if up := s.newest("th38"); strings.Contains(up, "/a") || strings.Contains(up, "+c1") && !strings.Contains(reads(up), "=c1") {
		t.Errorf("the agent reads %s", up)
	}
}

// F039: texts without an id get one each.
func TestF039TextsWithoutID(t *testing.T) {
	s, w := beginPatient(t)
	ofMissingIDs(t, w, through(s, w, "th39", started("th39"), []string{
		`{"type":"TEXT_MESSAGE_CHUNK","delta":"Hel"}`, `{"type":"TEXT_MESSAGE_CHUNK","delta":"lo"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"search"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`, `{"type":"TEXT_MESSAGE_CHUNK","delta":"again"}`,
	}))
}

// F039: trouble behind the headers is told in the stream.
func TestF039TroubleBehindHeaders(t *testing.T) {
	s, w := beginPatient(t)
	s.plays("th39e", exactly(`{"type":"RUN_STARTED","threadId":"th39e","runId":"r1"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":`))
	r := w.post("a", input("th39e", "r1", "", user("u1", "hi")))
	if end := last(w.events(r.body)); r.status != 200 || end.Type != agui.RunError || end.Text("code") != "upstream_protocol_error" {
		t.Errorf("%d, ended in %s", r.status, end.Raw)
	}
	if strings.Contains(w.logs.String(), "superfluous") {
		t.Error("a second head was written")
	}
}

// F041: a patch without a state passes as it came and leaves no state.
func TestF041PatchWithoutState(t *testing.T) {
	s, w := beginPatient(t)
	patch := []string{`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/step","value":2}]}`}
	byteForByte(s, w, "th41", patch, patch)
	got := w.connect("a", "th41", "c1")
	if k := kinds(got); !strings.HasPrefix(k, "RUN_STARTED MESSAGES_SNAPSHOT") || !strings.HasSuffix(k, "RUN_FINISHED") || strings.Contains(k, "RUN_ERROR") {
		t.Errorf("who comes back gets %s", k)
	}
	for _, f := range got {
		if f.Type == agui.StateSnapshot && strings.Contains(string(f.Raw), "step") {
			t.Errorf("the patch was made to fit: %s", f.Raw)
		}
	}
}

// F043: a text that is open is closed before the end.
func TestF043OpenText(t *testing.T) {
	s, w := beginPatient(t)
	byteForByte(s, w, "th43", []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"let me see"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"search","parentMessageId":"m1"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
	}, []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"let me see"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"search","parentMessageId":"m1"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`,
	})
}

// F043: two texts in turn pass under their own ids.
func TestF043TwoTextsInTurn(t *testing.T) {
	s, w := beginPatient(t)
	all := []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"a"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"b"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"c"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`, `{"type":"TEXT_MESSAGE_END","messageId":"m2"}`,
	}
	byteForByte(s, w, "th43b", all, all)
}

// F043: an older client is not sent what it mixes up.
func TestF043OlderClient(t *testing.T) {
	s, w := beginPatient(t)
	s.plays("th43c", frames("r1", `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"a"}`, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m2","delta":"b"}`))
	r := w.do(call{method: "POST", path: "/agents/a/run", body: older(input("th43c", "r1", "", user("u1", "hi"))), header: map[string]string{"X-AGUI-Profile": "0.0.45"}})
	want := "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED"
	if got := kinds(w.events(r.body)); r.status != http.StatusOK || got != want {
		t.Errorf("%d, it gets %s", r.status, got)
	}
}

// ofMissingIDs checks that the chunks of one text are one, whether the second says so
// or goes on without an id, and that the text behind the call is another.
func ofMissingIDs(t *testing.T, w *world, got []string) {
	t.Helper()
	var ids []string
	for _, raw := range got {
		if f, err := agui.ParseFrame([]byte(raw)); err == nil && f.Type == agui.TextMessageChunk {
			ids = append(ids, f.Text("messageId"))
		}
	}
	if len(ids) != 3 || ids[0] == "" || ids[1] != "" && ids[1] != ids[0] || ids[2] == "" || ids[2] == ids[0] {
		t.Errorf("the texts have the ids %q in\n%s", ids, strings.Join(got, "\n"))
	}
	_, _, thread := w.thread("th39")
	for _, words := range []string{`"Hello"`, `"again"`} {
		if !strings.Contains(thread, words) {
			t.Errorf("the thread lacks %s: %s", words, thread)
		}
	}
}
