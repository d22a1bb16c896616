package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

// Results for a call of a run that still streams are taken at once; the run that
// brings them waits, and continues when the other is over [RUN-5, INV-10].
func TestResultsDuringRun(t *testing.T) {
	finish := make(chan struct{})
	up := serveBackend(t, func(w http.ResponseWriter, r *http.Request, body string) {
		if strings.Contains(body, `"role":"tool"`) {
			say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}`,
				`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"thanks"}`, `{"type":"TEXT_MESSAGE_END","messageId":"m2"}`,
				`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
			return
		}
		say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"get_location","parentMessageId":"m1"}`,
			`{"type":"TOOL_CALL_END","toolCallId":"c1"}`, `{"type":"TOOL_CALL_START","toolCallId":"b1","toolCallName":"search","parentMessageId":"m1"}`, `{"type":"TOOL_CALL_END","toolCallId":"b1"}`)
		<-finish
		say(w, `{"type":"TOOL_CALL_RESULT","messageId":"mb","toolCallId":"b1","content":"found"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	})
	w := begin(t, patient(up.URL, ""))
	first := w.later("a", input("th1", "r1", locate, user("u1", "x")))
	eventually(t, "the call is open", func() bool {
		return strings.Contains(w.do(call{method: "GET", path: "/v1/invocations?state=open"}).body, `"call_id":"c1"`)
	})
	list := []string{user("u1", "x"), assistant("m1", toolCall("c1", "get_location")), result("t1", "c1", "Porto")}
	second := w.later("a", input("th1", "r2", locate, list...))
	eventually(t, "the result is taken", func() bool {
		return strings.Contains(w.do(call{method: "GET", path: "/v1/invocations?state=settled"}).body, "Porto")
	})
	if n := len(up.seen()); n != 1 {
		t.Errorf("the agent was asked %d times while its first run went on", n)
	}
	close(finish)
	if got := w.events((<-first).body); strings.Contains(string(last(got).Raw), "pending") {
		t.Errorf("the first run ends in %s", last(got).Raw)
	}
	if got := w.events((<-second).body); text(got) != "thanks" || got[0].Text("runId") != "r2" || len(up.seen()) != 2 {
		t.Errorf("the second run is %v, the agent was asked %d times", types(got), len(up.seen()))
	}
	if asked := up.seen()[1]; !strings.Contains(asked, "found") || !strings.Contains(asked, "Porto") {
		t.Errorf("the agent reads %s", asked)
	}
}

// A call that is kept stays open while the conversation goes on: the agent is told
// that there is no answer yet, and the answer reaches it as a new message [RUN-6].
func TestKeptCalls(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, "    tools: [{name: get_location, availability: always}]\n"))
	id, shown, message := w.waiting("", "a", "th1")
	head := []string{user("u-th1", "where am I"), assistant(message, toolCall(shown, "get_location"))}
	next := w.run("", "a", input("th1", "r2", "", append(head, user("u2", "never mind"), `{"id":"x","role":"assistant","content":"ok"}`)...))
	if asked := up.seen()[1]; !strings.Contains(asked, "not been answered yet") || text(next) != "thanks" {
		t.Errorf("the agent reads %s", asked)
	}
	if inv := w.do(call{method: "GET", path: "/v1/invocations/" + id}); inv.field("invocation.state") != "open" {
		t.Fatalf("the call is %s", inv.body)
	}
	if r := w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":"Porto"}`}); r.status != 200 {
		t.Fatal(r.body)
	}
	eventually(t, "the gateway continues", func() bool { return len(up.seen()) == 3 })
	eventually(t, "the run is over", func() bool {
		status, _, _ := w.thread("th1")
		return status != "running"
	})
	asked := up.seen()[2]
	if !strings.Contains(asked, `"id":"gw-late-`+shown+`","role":"user"`) || strings.Count(asked, "Porto") != 2 {
		t.Errorf("the agent reads %s", asked)
	}
	if inv := w.do(call{method: "GET", path: "/v1/invocations/" + id}); inv.field("invocation.delivery") != "delivered" {
		t.Errorf("the call is %s", inv.body)
	}
}

// A client that regenerates, or edits, leaves the old branch; one that goes back to
// it has it again; one that begins anew gets all there is [HIST-2].
func TestBranches(t *testing.T) {
	n := 0
	up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		n++
		say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":"a%d","role":"assistant"}`, n),
			fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a%d","delta":"answer %d"}`, n, n),
			fmt.Sprintf(`{"type":"TEXT_MESSAGE_END","messageId":"a%d"}`, n), `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	})
	w := begin(t, agent("a", up.URL, ""))
	said := func(id string) string { return `{"id":"` + id + `","role":"assistant","content":"x"}` }
	for i, c := range []struct {
		name string
		list []string
		asks string // what the agent reads
		has  string // the conversation afterwards
		seen bool   // the client is brought messages
	}{
		{"first", []string{user("u1", "x")}, "u1", "u1 a1", false},
		{"goes on", []string{user("u1", "x"), said("a1"), user("u2", "y")}, "u1 a1 u2", "u1 a1 u2 a2", false},
		{"regenerates", []string{user("u1", "x"), said("a1"), user("u2", "y")}, "u1 a1 u2", "u1 a1 u2 a3", false},
		{"edits", []string{user("u1", "x"), said("a1"), user("u3", "z")}, "u1 a1 u3", "u1 a1 u3 a4", false},
		{"goes back", []string{user("u1", "x"), said("a1"), user("u2", "y"), said("a2"), user("u4", "z")}, "u1 a1 u2 a2 u4", "u1 a1 u2 a2 u4 a5", false},
		{"begins anew", []string{user("u5", "hello")}, "u1 a1 u2 a2 u4 a5 u5", "u1 a1 u2 a2 u4 a5 u5 a6", true},
		{"the first client goes on", []string{user("u1", "x"), said("a1"), user("u2", "y"), said("a2"), user("u4", "z"), said("a5"), user("u6", "w")},
			"u1 a1 u2 a2 u4 a5 u5 a6 u6", "u1 a1 u2 a2 u4 a5 u5 a6 u6 a7", true},
	} {
		frames := w.run("", "a", input("th1", fmt.Sprint("r", i), "", c.list...))
		if got := ids(up.seen()[i]); got != c.asks {
			t.Errorf("%s: the agent reads %s, want %s", c.name, got, c.asks)
		}
		brought := ""
		for _, f := range frames {
			if f.Type == agui.MessagesSnapshot {
				brought = ids(string(f.Raw)) // a first one may take the client's own away, to put them in order
			}
		}
		if (brought != "") != c.seen || c.seen && brought != c.asks {
			t.Errorf("%s: the client was brought %q", c.name, brought)
		}
		if r := w.do(call{method: "GET", path: "/v1/threads/th1"}); ids(r.body) != c.has {
			t.Errorf("%s: the thread has %s, want %s", c.name, ids(r.body), c.has)
		}
	}
}

// ids lists the ids of the messages in a body, "u1 a1".
func ids(body string) string {
	r := reply{body: body}
	var out []string
	list, _ := r.field("messages").([]any)
	for _, m := range list {
		out = append(out, m.(map[string]any)["id"].(string))
	}
	return strings.Join(out, " ")
}

// A thread that is deleted is gone with its calls, and its id begins anew [DATA-2].
func TestDeleteThread(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, testKeys+agent("a", up.URL, ""))
	id, _, _ := w.waiting("alice", "a", "th1")
	path := "/v1/threads/th1"
	if r := w.do(call{method: "DELETE", path: path, as: "bob"}); r.code() != "thread_not_found" {
		t.Errorf("bob: %d %s", r.status, r.body)
	}
	if r := w.do(call{method: "DELETE", path: path, as: "alice"}); r.status != 204 || r.body != "" {
		t.Errorf("alice: %d %s", r.status, r.body)
	}
	for _, c := range []call{{method: "DELETE", path: path}, {method: "GET", path: path}, {method: "GET", path: "/v1/invocations/" + id},
		{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":1}`}} {
		c.as = "alice"
		if r := w.do(c); r.status != 404 {
			t.Errorf("%s %s after it: %d %s", c.method, c.path, r.status, r.body)
		}
	}
	for _, list := range []string{"/v1/threads", "/v1/invocations"} {
		if r := w.do(call{method: "GET", path: list, as: "alice"}); strings.Contains(r.body, "th1") {
			t.Errorf("%s still lists it: %s", list, r.body)
		}
	}
	w.run("bob", "a", input("th1", "r1", "", user("u1", "mine now")))
	if r := w.do(call{method: "GET", path: path, as: "bob"}); strings.Contains(r.body, "where am I") || !strings.Contains(r.body, "mine now") {
		t.Errorf("the new thread is %s", r.body)
	}
}

// What is older than the configuration says goes away by itself; a thread with an
// open call stays [DATA-1].
func TestRetention(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	up := serveBackend(t, talks)
	w := beginIn(t, dir+", retention: {threads: 50ms, settled: 10ms}", agent("a", up.URL, ""))
	w.waiting("", "a", "open")
	w.run("", "a", input("old", "r1", "", `{"id":"s","role":"system","content":"x"}`))
	time.Sleep(100 * time.Millisecond)
	w.end()
	w = beginIn(t, dir+", retention: {threads: 50ms, settled: 10ms}", agent("a", up.URL, "")) // it looks when it starts
	eventually(t, "the old thread is gone", func() bool {
		return w.do(call{method: "GET", path: "/v1/threads/old"}).status == 404
	})
	if r := w.do(call{method: "GET", path: "/v1/threads/open"}); r.field("status") != "waiting" {
		t.Errorf("the thread with an open call: %d %s", r.status, r.body)
	}
}

// Without a history no text is kept, and rounds are the client's to continue
// [DATA-1].
func TestNoHistory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	up := serveBackend(t, talks)
	w := beginIn(t, dir, agent("a", up.URL, "    history: none\n"))
	id, shown, message := w.waiting("", "a", "th1")
	if r := w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":"Porto"}`}); r.status != 200 {
		t.Fatal(r.body)
	}
	if r := w.do(call{method: "GET", path: "/v1/threads/th1"}); strings.Contains(r.body, "where am I") || ids(r.body) != "" {
		t.Errorf("the thread has %s", r.body)
	}
	if r := w.do(call{method: "POST", path: "/v1/threads/th1/continue", body: `{}`}); r.status != 409 {
		t.Errorf("continue: %d %s", r.status, r.body)
	}
	list := []string{user("u-th1", "where am I"), assistant(message, toolCall(shown, "get_location")), result("t1", shown, "Porto")}
	if got := w.run("", "a", input("th1", "r2", locate, list...)); text(got) != "thanks" || len(up.seen()) != 2 {
		t.Errorf("the client's own run is %v, the agent was asked %d times", types(got), len(up.seen()))
	}
	w.end()
	if found := grep(t, dir, "where am I"); found != "" {
		t.Errorf("the message is in %s", found)
	}
}

// grep gives the first file below dir that holds the text, "" for none.
func grep(t *testing.T, dir, text string) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return found
}

// A watcher that comes back gets what it missed; one whose place is gone gets the
// thread as it is first (contract §6).
func TestEventsComeBack(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	quiet := `{"id":"s","role":"system","content":"x"}`
	w.run("", "a", input("th1", "r0", "", quiet))
	o := w.watch("th1", "")
	w.run("", "a", input("th1", "r1", "", quiet, user("u1", "a"), `{"id":"p","role":"assistant","content":"x"}`))
	first := o.until(t, agui.RunFinished)
	if first[0].Type != agui.RunStarted || first[0].Text("runId") != "r1" {
		t.Errorf("the watcher saw %v", types(first))
	}
	var cursor string
	for range first {
		next := <-o.ids
		if a, _ := strconv.Atoi(cursor); next <= cursor && len(next) == len(cursor) && a > 0 {
			t.Errorf("event %s follows %s", next, cursor)
		}
		cursor = next
	}
	o.res.Body.Close()
	w.run("", "a", input("th1", "r2", "", quiet, user("u2", "b"), `{"id":"q","role":"assistant","content":"x"}`))
	back := w.watch("th1", cursor).until(t, agui.RunFinished)
	if back[0].Type != agui.RunStarted || back[0].Text("runId") != "r2" {
		t.Errorf("who comes back gets %v", types(back))
	}
	again := w.watch("th1", "1").until(t, agui.MessagesSnapshot)
	if len(again) != 1 {
		t.Errorf("who has lost its place gets %v", types(again))
	}
	if r := w.do(call{method: "GET", path: "/v1/threads/th1/events", header: map[string]string{"Last-Event-ID": "x"}}); r.code() != "invalid_request" {
		t.Errorf("a cursor from elsewhere: %d %s", r.status, r.body)
	}
}

// A watcher that comes in the middle of a run has all of it (contract §6).
func TestEventsMidRun(t *testing.T) {
	up, more := slowly(t)
	w := begin(t, patient(up.URL, ""))
	first := w.later("a", input("th1", "r1", "", user("u1", "x")))
	eventually(t, "it has said something", func() bool {
		return w.metric(`aguigate_events_total{agent="a",direction="down"}`) == "3"
	})
	o := w.watch("th1", "")
	if got := o.until(t, agui.TextMessageContent); text(got) != "one " || got[0].Type != agui.RunStarted {
		t.Errorf("the watcher is brought %v", types(got))
	}
	more <- struct{}{}
	if got := o.until(t, agui.RunFinished); text(got) != "two" {
		t.Errorf("and then %v", types(got))
	}
	<-first
}
