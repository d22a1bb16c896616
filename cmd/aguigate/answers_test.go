package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

// scripted is a backend that answers the n-th request with the n-th list of frames
// between a start and an end.
func scripted(t *testing.T, runs ...[]string) *backend {
	n := 0
	return serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		frames := []string{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`}
		end := `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
		if n < len(runs) {
			frames = append(frames, runs[n]...)
			if last := runs[n][len(runs[n])-1]; strings.Contains(last, "RUN_FINISHED") {
				end = ""
			}
		}
		n++
		if end != "" {
			frames = append(frames, end)
		}
		say(w, frames...)
	})
}

func begins(id string) []string {
	return []string{`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"get_location","parentMessageId":"m-` + id + `"}`, `{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`}
}

// A call that the agent answers before its end opens nothing and the run goes
// well.
func TestAnsweredBeforeEnd(t *testing.T) {
	up := scripted(t, []string{`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"get_location"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"c1","content":"x"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`})
	w := begin(t, agent("a", up.URL, ""))
	if end := last(w.run("", "a", input("th1", "r1", locate, user("u1", "x")))); end.Type != agui.RunFinished {
		t.Errorf("ended with %s", end.Raw)
	}
}

// An interrupt about a call, its resume, and the answers after it: the agent is
// asked each time, with what was said.
func TestInterruptAboutCall(t *testing.T) {
	up := scripted(t,
		append(begins("c1"), `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"approval","toolCallId":"c1"}]}}`),
		append([]string{`{"type":"TOOL_CALL_RESULT","messageId":"m9","toolCallId":"c1","content":"approved"}`}, begins("d1")...))
	w := begin(t, agent("a", up.URL, ""))
	w.run("", "a", input("th1", "r1", locate, user("u1", "x")))
	if r := w.do(call{method: "GET", path: "/v1/threads/th1/invocations?state=open"}); strings.Contains(r.body, "c1") {
		t.Errorf("the interrupted call waits: %s", r.body)
	}
	head := []string{user("u1", "x"), assistant("m-c1", toolCall("c1", "get_location"))}
	resume := strings.Replace(input("th1", "r2", locate, head...), `"messages"`, `"resume":[{"interruptId":"i1","status":"resolved","payload":true}],"messages"`, 1)
	w.run("", "a", resume)
	if got := up.seen()[1]; strings.Contains(got, `"role":"tool"`) || !strings.Contains(got, `"interruptId":"i1"`) {
		t.Errorf("the resume went up as %s", got)
	}
	list := append(head, result("m9", "c1", "approved"), assistant("m-d1", toolCall("d1", "get_location")), result("t2", "d1", "MINE"))
	w.run("", "a", input("th1", "r3", locate, list...))
	if seen := up.seen(); len(seen) != 3 || !strings.Contains(seen[2], "MINE") || !strings.Contains(seen[2], "approved") {
		t.Errorf("the agent was asked %d times, at last with %s", len(seen), seen[len(seen)-1])
	}
}

// Whatever a list says of a call of the record, the agent reads what was accepted,
// once, at its call [HIST-3, INV-5].
func TestUnplacedResults(t *testing.T) {
	a := assistant("m-c1", toolCall("c1", "get_location"))
	for name, c := range map[string]struct {
		list []string
		want string // contents of the tool messages that go up
	}{
		"two equal at the end":       {[]string{user("u1", "x"), a, result("t1", "c1", "A"), result("t2", "c1", "A")}, "A"},
		"another one behind":         {[]string{user("u1", "x"), a, result("t1", "c1", "A"), result("t2", "c1", "EVIL"), user("u2", "y")}, "A"},
		"before its call":            {[]string{user("u1", "x"), result("t1", "c1", "EVIL"), a, user("u2", "y")}, "A"},
		"without its call, further":  {[]string{user("u1", "x"), result("t1", "c1", "EVIL"), user("u2", "y")}, ""},
		"without its call, too long": {[]string{user("u1", "x"), result("t1", "c1", "A")}, ""},
	} {
		up := scripted(t, begins("c1"))
		w := begin(t, agent("a", up.URL, ""))
		w.run("", "a", input("th1", "r1", locate, user("u1", "x")))
		list := w.do(call{method: "GET", path: "/v1/threads/th1/invocations"})
		id := list.field("invocations").([]any)[0].(map[string]any)["id"].(string)
		w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":"A","continue":false}`})
		r := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "r2", locate, c.list...)})
		if r.status != 200 {
			t.Errorf("%s: %d %s", name, r.status, r.body)
			continue
		}
		seen := up.seen()
		var in struct {
			Messages []struct{ Role, Content string }
		}
		_ = json.Unmarshal([]byte(seen[len(seen)-1]), &in)
		var got []string
		for _, m := range in.Messages {
			if m.Role == "tool" {
				got = append(got, m.Content)
			}
		}
		if strings.Join(got, ",") != c.want {
			t.Errorf("%s: the agent reads %q, want %q", name, got, c.want)
		}
		w.end()
	}
}

// A call the conversation has passed over does not take others with it [RUN-6].
func TestOnlyPassedCallsAreGivenUp(t *testing.T) {
	up := scripted(t, begins("c1"), append(begins("d1"), `{"type":"TOOL_CALL_START","toolCallId":"d2","toolCallName":"get_location","parentMessageId":"m-d1"}`, `{"type":"TOOL_CALL_END","toolCallId":"d2"}`))
	w := begin(t, agent("a", up.URL, ""))
	w.run("", "a", input("th1", "r1", locate, user("u1", "x")))
	head := []string{user("u1", "x"), assistant("m-c1", toolCall("c1", "get_location")), user("u2", "y")}
	w.run("", "a", input("th1", "r2", locate, head...))
	frames := w.run("", "a", input("th1", "r3", locate, append(head, assistant("m-d1", toolCall("d1", "get_location"), toolCall("d2", "get_location")), result("t1", "d1", "A"))...))
	if len(up.seen()) != 2 || len(frames) < 3 {
		t.Errorf("the agent was asked %d times before d2 was answered", len(up.seen()))
	}
	r := w.do(call{method: "GET", path: "/v1/threads/th1/invocations?state=open"})
	if !strings.Contains(r.body, `"call_id":"d2"`) || strings.Contains(r.body, `"call_id":"c1"`) {
		t.Errorf("open are %s", r.body)
	}
}

// An equal repeat of a thread's answers succeeds over several rounds [INV-3].
func TestResolveRepeatsOverRounds(t *testing.T) {
	up := scripted(t, begins("c1"), begins("d1"))
	w := begin(t, agent("a", up.URL, ""))
	w.run("", "a", input("th1", "r1", locate, user("u1", "x")))
	first := `{"results":[{"id":"c1","result":1,"continue":false}]}`
	if r := w.do(call{method: "POST", path: "/v1/threads/th1/resolve", body: first}); r.status != 200 {
		t.Fatal(r.body)
	}
	w.run("", "a", input("th1", "r2", locate, user("u1", "x"), assistant("m-c1", toolCall("c1", "get_location")), user("u2", "y")))
	for body, want := range map[string]int{
		`{"results":[{"id":"c1","result":1},{"id":"d1","result":2}]}`: 200,
	} {
		for range 2 {
			if r := w.do(call{method: "POST", path: "/v1/threads/th1/resolve", body: body}); r.status != want {
				t.Errorf("%s: %d %s", body, r.status, r.body)
			}
		}
	}
	if r := w.do(call{method: "POST", path: "/v1/threads/th1/resolve", body: `{"results":[{"id":"c1","result":9},{"id":"d1","result":2}]}`}); r.code() != "action_result_conflict" {
		t.Errorf("another value: %d %s", r.status, r.body)
	}
}
