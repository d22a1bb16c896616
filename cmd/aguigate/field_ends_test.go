package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

// as posts a run as a client of the profile.
func (w *world) as(profile, agent, body string) reply {
	w.t.Helper()
	head := map[string]string{}
	if profile != "1.0" {
		body, head["X-AGUI-Profile"] = older(body), profile
	}
	return w.do(call{method: "POST", path: "/agents/" + agent + "/run", body: body, header: head})
}

// Group H: how runs end.

// F054: a stream that is cut is no success.
func TestF054CutStream(t *testing.T) {
	s, w := beginPatient(t)
	head := []string{`{"type":"RUN_STARTED","threadId":"th54","runId":"r1"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hel"}`}
	for i, how := range []act{exactly(head...), func(w http.ResponseWriter, _ *http.Request, _ string) { say(w, head...); panic(http.ErrAbortHandler) }} {
		thread := fmt.Sprint("th54", i)
		s.plays(thread, how)
		got := w.run("", "a", input(thread, "r1", "", user("u1", "hi")))
		if kinds(got) != "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_ERROR" || last(got).Text("code") != "incomplete_stream" {
			t.Errorf("the client gets %s, ended in %s", kinds(got), last(got).Raw)
		}
	}
	s.plays("th54c", exactly(append([]string{`{"type":"RUN_STARTED","threadId":"th54c","runId":"r1"}`}, calling("m1", "pick", "c1")...)...))
	got := w.run("", "a", input("th54c", "r1", offered("pick"), user("u1", "hi")))
	if kinds(got) != "RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_RESULT RUN_ERROR" || w.calls("th54c") != "c1=cancelled" {
		t.Errorf("with a call: the client gets %s, the record says %s", kinds(got), w.calls("th54c"))
	}
}

// F055: the first end counts.
func TestF055FirstEndCounts(t *testing.T) {
	s, w := beginPatient(t)
	s.plays("th55", exactly(`{"type":"RUN_STARTED","threadId":"th55","runId":"r1"}`, `{"type":"RUN_ERROR","message":"quota"}`, `{"type":"RUN_FINISHED","threadId":"th55","runId":"r1"}`, `{"type":"STATE_SNAPSHOT","snapshot":{"late":1}}`))
	got := w.run("", "a", input("th55", "r1", "", user("u1", "hi")))
	if kinds(got) != "RUN_STARTED RUN_ERROR" || last(got).Text("message") != "quota" {
		t.Errorf("the client gets %s", kinds(got))
	}
	s.plays("th55f", frames("r1"), exactly(`{"type":"RUN_STARTED","threadId":"th55f","runId":"r2"}`, `{"type":"RUN_FINISHED","threadId":"th55f","runId":"r2"}`, `{"type":"RUN_ERROR","message":"late"}`, `{"type":"CUSTOM","name":"late","value":1}`))
	for i := range 2 {
		if got := w.run("", "a", input("th55f", fmt.Sprint("r", i+1), "", user("u1", "hi"))); kinds(got) != "RUN_STARTED RUN_FINISHED" {
			t.Errorf("the client gets %s", kinds(got))
		}
	}
	if !strings.Contains(w.logs.String(), "dropped=2") {
		t.Error("what came late is not in the log")
	}
}

// F056: a run that waits names its calls, for each client.
func TestF056PendingCallsNamed(t *testing.T) {
	s, w := beginPatient(t)
	for profile, want := range map[string]string{"1.0": `{"type":"success","pendingToolCallIds":["c1"]}`, "0.0.59": `{"type":"success"}`, "0.0.45": ""} {
		thread := "th56" + profile
		// c2 is the agent's own and has its result: it is not among them.
		s.plays(thread, frames("r1", append(append(calling("m1", "pick", "c1"), calling("m1", "search", "c2")...), `{"type":"TOOL_CALL_RESULT","messageId":"m2","toolCallId":"c2","content":"x","role":"tool"}`)...))
		end := last(w.events(w.as(profile, "a", input(thread, "r1", offered("pick"), user("u1", "hi"))).body))
		if got := string(end.Field("outcome")); end.Type != agui.RunFinished || got != want {
			t.Errorf("%s: ended in %s", profile, end.Raw)
		}
	}
}

// F057: a run that is stopped is no failure.
func TestF057StoppedRun(t *testing.T) {
	s, w := beginPatient(t)
	for profile, want := range map[string]string{"1.0": `{"type":"cancelled"}`, "0.0.59": "", "0.0.45": ""} {
		thread := "th57" + profile
		gone := make(chan struct{})
		s.plays(thread, func(w http.ResponseWriter, r *http.Request, _ string) {
			say(w, `{"type":"RUN_STARTED","threadId":"`+thread+`","runId":"r1"}`)
			wait(r)
			close(gone)
		})
		body, head := input(thread, "r1", "", user("u1", "hi")), map[string]string{}
		if profile != "1.0" {
			body, head["X-AGUI-Profile"] = older(body), profile
		}
		r := w.reading(call{method: "POST", path: "/agents/a/run", body: body, header: head})
		r.has("RUN_STARTED")
		if got := w.do(call{method: "POST", path: "/agents/a/stop", body: `{"threadId":"` + thread + `","runId":"r1"}`}); got.field("stopped") != true {
			t.Errorf("stop: %d %s", got.status, got.body)
		}
		r.whole()
		soon(t, gone, "the upstream is cancelled")
		if end := last(w.events(r.String())); end.Type != agui.RunFinished || string(end.Field("outcome")) != want {
			t.Errorf("%s: ended in %s", profile, end.Raw)
		}
	}
}

// F058: an upstream's refusal reaches the client.
func TestF058UpstreamRefusal(t *testing.T) {
	s, w := beginPatient(t)
	s.plays("th58", func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(503)
		_, _ = io.WriteString(w, "<html><pre>at /srv/app.py</pre>"+strings.Repeat("x", 2<<20))
	}, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(422)
		_, _ = io.WriteString(w, `{"detail":"`+"no such city"+`"}`)
	})
	r := w.post("a", input("th58", "r1", "", user("u1", "hi")))
	got := w.events(r.body)
	if end := last(got); kinds(got) != "RUN_STARTED RUN_ERROR" || end.Text("code") != "upstream_http_503" || !strings.Contains(end.Text("message"), "retry after 5") || strings.Contains(r.body, "<") || len(r.body) > 4<<10 {
		t.Errorf("%d bytes, %s, ended in %s", len(r.body), kinds(got), end.Raw)
	}
	if end := last(w.run("", "a", input("th58", "r2", "", user("u1", "hi")))); end.Text("code") != "upstream_http_422" || !strings.Contains(end.Text("message"), "no such city") {
		t.Errorf("ended in %s", end.Raw)
	}
}

// F060: a failed run does not empty the thread.
func TestF060FailedRunKeepsThread(t *testing.T) {
	s, w := beginPatient(t)
	s.plays("th60", frames("r1", saying("a1", "one")...), exactly(append([]string{`{"type":"RUN_STARTED","threadId":"th60","runId":"r2"}`}, append(saying("a2", "Hel")[:2], `{"type":"RUN_ERROR","message":"quota"}`)...)...), frames("r3", saying("a3", "three")...))
	list := []string{}
	for i := range 3 {
		list = append(list, user(fmt.Sprint("u", i+1), "hi"))
		w.run("", "a", input("th60", fmt.Sprint("r", i+1), "", list...))
		list = append(list, fmt.Sprintf(`{"id":"a%d","role":"assistant","content":"x"}`, i+1))
	}
	got := w.connect("a", "th60", "c1")
	if kinds(got) != "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED" {
		t.Fatalf("who comes back gets %s", kinds(got))
	}
	want := lines(`user u1 "hi"`, `assistant a1 "one"`, `user u2 "hi"`, `assistant a2 "Hel"`, `user u3 "hi"`, `assistant a3 "three"`)
	if have := reads(string(got[1].Raw)); have != want {
		t.Errorf("its messages are\n%s\nwant\n%s", have, want)
	}
}

// Group I: clients that go away, and runs that are stopped. The runs of agent "a" go
// with their clients, those of "long" go on.
func beginLeaving(t *testing.T) (*stage, *world) {
	t.Helper()
	s := newStage(t)
	return s, begin(t, patient(s.URL, "")+strings.Replace(patient(s.URL, "    on_disconnect: detach\n"), "  a:", "  long:", 1)[len("agents:\n"):])
}

// silent says one word and then nothing, and tells when its request is cancelled.
func silent(s *stage, thread string, goOn <-chan struct{}) <-chan time.Time {
	gone := make(chan time.Time, 8)
	s.plays(thread, func(w http.ResponseWriter, r *http.Request, body string) {
		say(w, append([]string{`{"type":"RUN_STARTED","threadId":"` + thread + `","runId":"r"}`}, saying("m-"+fmt.Sprint(reply{body: body}.field("runId")), "one")...)...)
		select {
		case <-r.Context().Done():
			gone <- time.Now()
		case <-goOn:
			say(w, append(saying("m2", "two"), `{"type":"RUN_FINISHED","threadId":"`+thread+`","runId":"r"}`)...)
		}
	})
	return gone
}

// within wants the upstream to be cancelled within a second.
func within(t *testing.T, gone <-chan time.Time, began time.Time) {
	t.Helper()
	select {
	case at := <-gone:
		if took := at.Sub(began); took > time.Second {
			t.Errorf("the upstream was cancelled after %v, want within a second", took)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the upstream was not cancelled")
	}
}

// talking opens a run and waits for its first words.
func (w *world) talking(agent, thread, run string) *reading {
	w.t.Helper()
	r := w.opened(agent, thread, run)
	r.has("TEXT_MESSAGE_END")
	return r
}

// F061: leaving and stopping close the upstream's stream.
func TestF061LeavingAndStopping(t *testing.T) {
	s, w := beginLeaving(t)
	gone := silent(s, "th61", nil)
	r := w.talking("a", "th61", "r1")
	began := time.Now()
	r.leave()
	within(t, gone, began)
	eventually(t, "the run is over", func() bool { return w.metric(`aguigate_active_runs{agent="a"}`) == "0" })
	r = w.talking("a", "th61", "r2")
	began = time.Now()
	w.do(call{method: "POST", path: "/v1/threads/th61/stop", body: `{}`})
	within(t, gone, began)
	r.whole()
}

// F062: whether a run outlives its client is a setting.
func TestF062DetachedRun(t *testing.T) {
	s, w := beginLeaving(t)
	goOn := make(chan struct{})
	gone := silent(s, "th62", goOn)
	w.talking("long", "th62", "r1").leave()
	back := w.reading(call{method: "POST", path: "/agents/long/connect", body: input("th62", "c1", "")})
	back.has(`"one"`)
	select {
	case <-gone:
		t.Fatal("the detached run was cancelled")
	default:
	}
	goOn <- struct{}{}
	back.whole()
	if got := w.events(back.String()); text(got) != "onetwo" || last(got).Type != agui.RunFinished {
		t.Errorf("who came back got %s", back.String())
	}
	w.idle("th62") // the connect stream may end before the record does
	// A stop ends a detached run too.
	w.talking("long", "th62", "r2").leave()
	began := time.Now()
	if got := w.do(call{method: "POST", path: "/v1/threads/th62/stop", body: `{"run":"r2"}`}); got.field("stopped") != true {
		t.Errorf("stop: %d %s", got.status, got.body)
	}
	within(t, gone, began)
	// And without the setting the run goes with its client.
	gone = silent(s, "th62c", nil)
	r := w.talking("a", "th62c", "r1")
	began = time.Now()
	r.leave()
	within(t, gone, began)
}

// F063: a late stop does not end the next run.
func TestF063LateStop(t *testing.T) {
	s, w := beginLeaving(t)
	goOn := make(chan struct{})
	gone := silent(s, "th63", goOn)
	first := w.talking("a", "th63", "r1")
	goOn <- struct{}{}
	first.whole()
	second := w.talking("a", "th63", "r2")
	for path, body := range map[string]string{"/agents/a/stop": `{"threadId":"th63","runId":"r1"}`, "/v1/threads/th63/stop": `{"run":"r1"}`} {
		if got := w.do(call{method: "POST", path: path, body: body}); got.status != 200 || got.field("stopped") != false {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	goOn <- struct{}{}
	second.whole()
	if got := w.events(second.String()); text(got) != "onetwo" || len(gone) != 0 {
		t.Errorf("the next run got %s", second.String())
	}
}
