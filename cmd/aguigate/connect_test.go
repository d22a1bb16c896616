package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

// connect posts to an agent's connect route.
func (w *world) connect(agent, thread, run string) []agui.Frame {
	w.t.Helper()
	r := w.do(call{method: "POST", path: "/agents/" + agent + "/connect", body: input(thread, run, "")})
	if r.status != 200 {
		w.t.Fatalf("connect: %d %s", r.status, r.body)
	}
	return w.events(r.body)
}

// A client that comes back gets its thread as one run, whatever became of the runs
// it is made of (F060), and what it lists afterwards is known to be its own.
func TestConnect(t *testing.T) {
	fail := false
	up := serveBackend(t, func(w http.ResponseWriter, r *http.Request, body string) {
		if fail {
			say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}`, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/b","value":1.0}]}`,
				`{"type":"TEXT_MESSAGE_START","messageId":"half","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"half","delta":"Hel"}`, `{"type":"RUN_ERROR","message":"quota"}`)
			return
		}
		talks(w, r, body)
	})
	w := begin(t, agent("a", up.URL, ""))
	if got := w.connect("a", "nobody-used", "c0"); strings.Join(types(got), " ") != "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED" {
		t.Errorf("an empty thread is %v", types(got))
	}
	_, shown, _ := w.waiting("", "a", "th1")
	fail = true
	w.run("", "a", input("th1", "r2", "", user("u-th1", "where am I"), user("u2", "go on")))
	fail = false
	got := w.connect("a", "th1", "c1")
	if strings.Join(types(got), " ") != "RUN_STARTED MESSAGES_SNAPSHOT STATE_SNAPSHOT RUN_FINISHED" || got[0].Text("runId") != "c1" {
		t.Errorf("the thread is %v", types(got))
	}
	if msgs := ids(string(got[1].Raw)); msgs != "u-th1 u2 half" {
		t.Errorf("its messages are %s", msgs)
	}
	if state := string(got[2].Field("snapshot")); state != `{"a":1,"b":1.0}` {
		t.Errorf("its state is %s", state)
	}
	w.run("", "a", input("th1", "r3", locate, user("u-th1", "where am I"), user("u2", "go on"), `{"id":"half","role":"assistant","content":"Hel"}`, user("u3", "where am I")))
	if end := last(w.connect("a", "th1", "c2")); !strings.Contains(string(end.Raw), `"pendingToolCallIds":["`+shown+`-2"]`) {
		t.Errorf("a waiting thread ends with %s", end.Raw)
	}
	if r := w.do(call{method: "POST", path: "/agents/a/connect", body: input("th1", "c3", "")}); !strings.HasPrefix(r.body, "id: ") {
		t.Errorf("frames have no ids: %s", r.body[:40])
	}
}

// A run that is detached goes on without its client, which comes back to it by
// connect; one that is not is cancelled (F062).
func TestDetach(t *testing.T) {
	for _, mode := range []string{"detach", "cancel"} {
		up, more := slowly(t)
		w := begin(t, patient(up.URL, "    on_disconnect: "+mode+"\n"))
		ctx, leave := context.WithCancel(context.Background())
		req, _ := http.NewRequestWithContext(ctx, "POST", w.url+"/agents/a/run", strings.NewReader(input("th1", "r1", "", user("u1", "x"))))
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "it has said something", func() bool {
			return w.metric(`aguigate_events_total{agent="a",direction="down"}`) == "3"
		})
		leave()
		res.Body.Close()
		if mode == "cancel" {
			eventually(t, "the run is over", func() bool { return w.metric(`aguigate_active_runs{agent="a"}`) == "0" })
			w.end()
			continue
		}
		back := make(chan []agui.Frame, 1)
		go func() { back <- w.connect("a", "th1", "c1") }()
		eventually(t, "the client is back", func() bool { return w.metric(`aguigate_active_runs{agent="a"}`) == "2" })
		eventually(t, "it has what it missed", func() bool {
			return w.metric(`aguigate_events_total{agent="a",direction="down"}`) >= "6"
		})
		more <- struct{}{}
		got := <-back
		if text(got) != "one two" || got[0].Text("runId") != "c1" || last(got).Type != agui.RunFinished {
			t.Errorf("who came back got %v", types(got))
		}
		eventually(t, "both are over", func() bool { return w.metric(`aguigate_active_runs{agent="a"}`) == "0" })
		if _, _, raw := w.thread("th1"); !strings.Contains(raw, "one two") {
			t.Errorf("the thread is %s", raw)
		}
		w.end()
	}
}
