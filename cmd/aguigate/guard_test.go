package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

// An agent that makes the same call again and again is stopped (F008).
func TestLoopGuard(t *testing.T) {
	n := 0
	up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		n++
		say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"get_location","parentMessageId":"m%d"}`, n, n),
			fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":"c%d","delta":"{\"a\":1%s}"}`, n, strings.Repeat(" ", n)), // the same, written another way
			fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":"c%d"}`, n), `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	})
	w := begin(t, agent("a", up.URL, "    loop_guard: 4\n"))
	list := []string{user("u1", "x")}
	for i := 1; ; i++ {
		frames := w.run("", "a", input("th1", fmt.Sprint("r", i), locate, list...))
		if end := last(frames); end.Type == agui.RunError {
			if end.Text("code") != "tool_loop" || i != 4 {
				t.Errorf("run %d ended in %s", i, end.Raw)
			}
			return
		}
		if i > 4 {
			t.Fatal("nobody stops it")
		}
		id := fmt.Sprint("c", i)
		call := strings.Replace(toolCall(id, "get_location"), `"{}"`, `"{\"a\":1}"`, 1)
		list = append(list, assistant(fmt.Sprint("m", i), call), result("t"+id, id, "Porto"))
	}
}

// Results that an agent fails on again and again are answered by the gateway for a
// while (F011).
func TestResultRejected(t *testing.T) {
	up := serveBackend(t, func(w http.ResponseWriter, r *http.Request, body string) {
		if strings.Contains(body, `"role":"tool"`) {
			say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_ERROR","message":"no"}`)
			return
		}
		talks(w, r, body)
	})
	w := begin(t, agent("a", up.URL, ""))
	_, shown, message := w.waiting("", "a", "th1")
	list := []string{user("u-th1", "where am I"), assistant(message, toolCall(shown, "get_location")), result("t1", shown, "Porto")}
	for i := range 6 {
		end := last(w.run("", "a", input("th1", fmt.Sprint("r", i), locate, list...)))
		want := "RUN_ERROR no"
		if i >= 3 {
			want = "RUN_ERROR result_rejected"
		}
		if got := strings.TrimSpace(string(end.Type) + " " + end.Text("code")); i < 3 && end.Text("message") != "no" || i >= 3 && got != want {
			t.Errorf("post %d ended in %s", i, end.Raw)
		}
	}
	if n := len(up.seen()); n != 4 {
		t.Errorf("the agent was asked %d times, want the call and three tries", n)
	}
}

// Two tools of one name that differ in a member nothing here reads are two tools: it
// may be what makes one of them safe (F027).
func TestF027OwnMember(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	tools := `{"name":"wipe","description":"d","parameters":{},"x-approval":true},{"name":"wipe","description":"d","parameters":{}}`
	if r := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "r1", tools, user("u1", "x"))}); r.code() != "tool_conflict" {
		t.Errorf("two of one name: %d %s", r.status, r.body)
	}
	if n := len(up.seen()); n != 0 {
		t.Errorf("the agent was asked %d times", n)
	}
}
