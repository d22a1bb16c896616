package main

import (
	"strings"
	"testing"
)

// A first question that makes a page of its own stands in the thread once [HIST-1].
func TestFirstPageTurnsBeforeTheAnswer(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	w.run("", "a", input("th1", "r1", locate, user("u1", "where am I "+strings.Repeat("x", 9000))))
	r := w.do(call{method: "GET", path: "/v1/threads/th1/invocations?state=open&agent=a"})
	id := r.field("invocations").([]any)[0].(map[string]any)["id"].(string)
	if r := w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":"Porto"}`}); r.status != 200 {
		t.Fatal(r.body)
	}
	eventually(t, "the gateway continues", func() bool { return len(up.seen()) == 2 })
	w.idle("th1")
	_, msgs, _ := w.thread("th1")
	got := up.seen()[1]
	if n := strings.Count(got, `"role":"`); n != 3 {
		t.Errorf("the agent read %d messages, want 3; the thread has %v", n, msgs)
	}
	if len(msgs) != 4 {
		t.Errorf("the thread has %d messages, want 4: %v", len(msgs), msgs)
	}
}
