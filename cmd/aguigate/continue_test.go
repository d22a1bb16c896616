package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

// thread reads a thread.
func (w *world) thread(id string) (status string, messages []string, raw string) {
	w.t.Helper()
	r := w.do(call{method: "GET", path: "/v1/threads/" + id})
	var t struct {
		Status   string
		Messages []struct{ ID, Role string }
	}
	if err := json.Unmarshal([]byte(r.body), &t); err != nil || r.status != 200 {
		w.t.Fatalf("thread: %d %s", r.status, r.body)
	}
	for _, m := range t.Messages {
		messages = append(messages, m.Role+":"+m.ID)
	}
	return t.Status, messages, r.body
}

// idle waits until nothing runs on the thread.
func (w *world) idle(id string) {
	w.t.Helper()
	eventually(w.t, "the thread is idle", func() bool {
		status, _, _ := w.thread(id)
		return status == "idle"
	})
}

// watcher reads a thread's events.
type watcher struct {
	res  *http.Response
	seen chan agui.Frame
	ids  chan string
}

func (w *world) watch(thread, last string) *watcher {
	w.t.Helper()
	res, err := w.open(call{method: "GET", path: "/v1/threads/" + thread + "/events", header: map[string]string{"Last-Event-ID": last}})
	if err != nil || res.StatusCode != 200 {
		w.t.Fatalf("events: %v %v", res, err)
	}
	out := &watcher{res: res, seen: make(chan agui.Frame, 1000), ids: make(chan string, 1000)}
	w.t.Cleanup(func() { res.Body.Close() })
	go func() {
		defer close(out.seen)
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				f, err := agui.ParseFrame([]byte(data))
				if err != nil {
					w.t.Errorf("an event cannot be read: %v", err)
				}
				out.seen <- f
			}
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				out.ids <- id
			}
		}
	}()
	return out
}

// until reads frames up to one of the type.
func (o *watcher) until(t *testing.T, typ agui.Type) (frames []agui.Frame) {
	t.Helper()
	for {
		select {
		case f, ok := <-o.seen:
			if !ok {
				t.Fatalf("the stream ended after %v", types(frames))
			}
			if frames = append(frames, f); f.Type == typ {
				return frames
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("no %s came; so far %v", typ, types(frames))
		}
	}
}

func types(frames []agui.Frame) (out []string) {
	for _, f := range frames {
		out = append(out, string(f.Type))
	}
	return out
}

// An answer by resolve is brought to the agent by the gateway's own run, once; who
// watches sees it, the client's equal run gets it under its own ids, and its next
// run has what it was never sent [INV-11, HIST-2].
func TestGatewayContinues(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	id, shown, message := w.waiting("", "a", "th1")
	o := w.watch("th1", "")
	if r := w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":"Porto"}`}); r.status != 200 {
		t.Fatal(r.body)
	}
	seen := o.until(t, agui.RunFinished)
	if text(seen) != "thanks" || seen[0].Type != agui.Custom {
		t.Errorf("the watcher saw %v", types(seen))
	}
	w.idle("th1")
	if n := len(up.seen()); n != 2 {
		t.Fatalf("the agent was asked %d times", n)
	}
	if got := up.seen()[1]; !strings.Contains(got, `"parentRunId":"run-th1"`) || !strings.Contains(got, `"content":"Porto"`) || !strings.Contains(got, "get_location") {
		t.Errorf("the agent was asked %s", got)
	}
	if inv := w.do(call{method: "GET", path: "/v1/invocations/" + id}); inv.field("invocation.delivery") != "delivered" {
		t.Errorf("the record says %s", inv.body)
	}
	head := []string{user("u-th1", "where am I"), assistant(message, toolCall(shown, "get_location"))}
	list := append(head[:2:2], result("t1", shown, "Porto"))
	joined := w.run("", "a", input("th1", "mine", locate, list...))
	if text(joined) != "thanks" || joined[0].Text("runId") != "mine" || last(joined).Text("runId") != "mine" || len(up.seen()) != 2 {
		t.Errorf("the equal run got %v, the agent was asked %d times", types(joined), len(up.seen()))
	}
	// What it was brought by that run it has now; what it leaves out is left out.
	next := w.run("", "a", input("th1", "r3", locate, append(list, user("u2", "and now?"))...))
	if got := up.seen()[2]; next[1].Type == agui.MessagesSnapshot || strings.Contains(got, "thanks") {
		t.Errorf("the next run is %v, the agent reads %s", types(next), got)
	}
}

// A client that does not know what happened is brought it with its next run.
func TestUnseenMessages(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	id, shown, message := w.waiting("", "a", "th1")
	if r := w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":"Porto"}`}); r.status != 200 {
		t.Fatal(r.body)
	}
	eventually(t, "the gateway continues", func() bool { return len(up.seen()) == 2 })
	w.idle("th1")
	next := w.run("", "a", input("th1", "r2", locate, user("u-th1", "where am I"),
		assistant(message, toolCall(shown, "get_location")), user("u2", "and now?")))
	if next[1].Type != agui.MessagesSnapshot || !strings.Contains(string(next[1].Raw), "thanks") || !strings.Contains(string(next[1].Raw), "Porto") {
		t.Errorf("the next run began with %v: %s", types(next), next[1].Raw)
	}
	if got := up.seen()[2]; strings.Count(got, `"role":"tool"`) != 1 || !strings.Contains(got, "thanks") {
		t.Errorf("the agent reads %s", got)
	}
}

// slowly is a backend that says one word, waits until it is told to, and ends.
func slowly(t *testing.T) (*backend, chan struct{}) {
	more := make(chan struct{}, 100)
	return serveBackend(t, func(w http.ResponseWriter, r *http.Request, body string) {
		var in struct{ ThreadID, RunID string }
		_ = json.Unmarshal([]byte(body), &in)
		say(w, fmt.Sprintf(`{"type":"RUN_STARTED","threadId":%q,"runId":%q}`, in.ThreadID, in.RunID),
			`{"type":"TEXT_MESSAGE_START","messageId":"m-`+in.RunID+`","role":"assistant"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m-`+in.RunID+`","delta":"one "}`)
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
		say(w, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m-`+in.RunID+`","delta":"two"}`,
			`{"type":"TEXT_MESSAGE_END","messageId":"m-`+in.RunID+`"}`,
			fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":%q,"runId":%q}`, in.ThreadID, in.RunID))
	}), more
}

// later runs a turn in the background.
func (w *world) later(agent, body string) chan reply {
	out := make(chan reply, 1)
	go func() {
		r, err := w.try(call{method: "POST", path: "/agents/" + agent + "/run", body: body})
		if err != nil {
			w.t.Error(err)
		}
		out <- r
	}()
	return out
}

func patient(url, more string) string {
	return strings.Replace(agent("a", url, more), "first_byte: 1s, idle: 1s", "first_byte: 1m, idle: 1m", 1)
}

// The same turn sent twice is one run: joined while it is active, replayed after
// it; another turn under its id is a conflict while it is active [RUN-13].
func TestRunIDs(t *testing.T) {
	up, more := slowly(t)
	w := begin(t, patient(up.URL, ""))
	body := input("th1", "r1", "", user("u1", "x"))
	first := w.later("a", body)
	eventually(t, "the agent is asked", func() bool { return len(up.seen()) == 1 })
	second := w.later("a", body)
	time.Sleep(50 * time.Millisecond)
	if r := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "r1", "", user("u1", "y"))}); r.code() != "run_conflict" {
		t.Errorf("another turn: %d %s", r.status, r.body)
	}
	more <- struct{}{}
	for i, c := range []chan reply{first, second} {
		if r := <-c; text(w.events(r.body)) != "one two" {
			t.Errorf("reader %d got %s", i, r.body)
		}
	}
	if got := w.run("", "a", body); text(got) != "one two" || len(up.seen()) != 1 {
		t.Errorf("the replay is %v, the agent was asked %d times", types(got), len(up.seen()))
	}
	more <- struct{}{}
	if got := w.run("", "a", input("th1", "r1", "", user("u1", "x"), assistant("m-r1"), user("u2", "y"))); text(got) != "one two" || len(up.seen()) != 2 {
		t.Errorf("a new turn under an old id is %v", types(got))
	}
}

// A run that is stopped ends for its client as cancelled, from any door [RUN-10].
func TestStop(t *testing.T) {
	up, _ := slowly(t)
	w := begin(t, patient(up.URL, ""))
	for i, path := range []string{"/v1/threads/th1/stop", "/agents/a/stop"} {
		n, id := len(up.seen()), fmt.Sprint("r", i)
		first := w.later("a", input("th1", id, "", user("u1", "x")))
		eventually(t, "the agent is asked", func() bool { return len(up.seen()) > n })
		eventually(t, "it has said something", func() bool {
			return w.metric(`aguigate_events_total{agent="a",direction="down"}`) == fmt.Sprint(3+5*i)
		})
		named := map[string]string{"/v1/threads/th1/stop": `{"run":"other"}`, "/agents/a/stop": `{"threadId":"th1","runId":"other"}`}[path]
		if r := w.do(call{method: "POST", path: path, body: named}); r.field("stopped") != false {
			t.Errorf("another run: %d %s", r.status, r.body)
		}
		if r := w.do(call{method: "POST", path: path, body: strings.Replace(named, "other", id, 1)}); r.field("stopped") != true {
			t.Errorf("stop: %d %s", r.status, r.body)
		}
		got := w.events((<-first).body)
		if !strings.Contains(string(last(got).Raw), `"cancelled"`) || last(got).Type != agui.RunFinished {
			t.Errorf("the client got %v", types(got))
		}
		if _, msgs, raw := w.thread("th1"); !strings.Contains(raw, "one ") {
			t.Errorf("what was streamed is not in the transcript: %v %s", msgs, raw)
		}
	}
}

// queue waits its turn, supersede takes it [RUN-10].
func TestConcurrency(t *testing.T) {
	up, more := slowly(t)
	w := begin(t, patient(up.URL, "    concurrency: queue\n"))
	first := w.later("a", input("th1", "r1", "", user("u1", "x")))
	eventually(t, "the agent is asked", func() bool { return len(up.seen()) == 1 })
	var rest []chan reply
	for i := range 8 {
		rest = append(rest, w.later("a", input("th1", fmt.Sprint("q", i), "", user("u1", "x"), user(fmt.Sprint("v", i), "y"))))
		eventually(t, "it waits", func() bool { return w.metric(`aguigate_active_runs{agent="a"}`) == fmt.Sprint(i+2) })
	}
	if r := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "q9", "", user("u1", "x"))}); r.code() != "thread_busy" {
		t.Errorf("the ninth that waits: %d %s", r.status, r.body)
	}
	for range 9 {
		more <- struct{}{}
	}
	for i, c := range append([]chan reply{first}, rest...) {
		if r := <-c; text(w.events(r.body)) != "one two" {
			t.Errorf("run %d got %s", i, r.body)
		}
	}
	for i, body := range up.seen()[1:] {
		if !strings.Contains(body, fmt.Sprint(`"runId":"q`, i, `"`)) {
			t.Errorf("run %d in turn is %s", i, body)
		}
	}
	w.end()

	up, more = slowly(t)
	w = begin(t, patient(up.URL, "    concurrency: supersede\n"))
	first = w.later("a", input("th1", "r1", "", user("u1", "x")))
	eventually(t, "the agent is asked", func() bool { return len(up.seen()) == 1 })
	more <- struct{}{}
	<-first
	first = w.later("a", input("th1", "r2", "", user("u1", "x")))
	eventually(t, "the agent is asked again", func() bool { return len(up.seen()) == 2 })
	second := w.later("a", input("th1", "r3", "", user("u1", "x")))
	if got := w.events((<-first).body); !strings.Contains(string(last(got).Raw), `"cancelled"`) {
		t.Errorf("the superseded run got %v", types(got))
	}
	more <- struct{}{}
	more <- struct{}{} // the superseded one may take the first before it sees that it is cancelled
	if got := w.events((<-second).body); text(got) != "one two" {
		t.Errorf("the superseding run got %v", types(got))
	}
}
