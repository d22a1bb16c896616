package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Group A: calls without a result, and how a history is mended.
func beginHistory(t *testing.T) (*stage, *world) {
	t.Helper()
	s := newStage(t)
	return s, begin(t, agent("a", s.URL, "    tools:\n      - {name: keep_it, unanswered: keep}\n      - {name: refuse_it, unanswered: reject}\n      - {name: approve_transfer, timeout: 1ms}\n")+
		agent("strict", s.URL, "    unanswered: reject\n")[len("agents:\n"):])
}

// F001: one unanswered call does not poison the thread.
func TestF001UnansweredCall(t *testing.T) {
	s, w := beginHistory(t)
	s.plays("th1", frames("r1", calling("m2", "pick_date", "c1")...), frames("r", saying("m9", "fine")...))
	w.run("", "a", input("th1", "r1", offered("pick_date"), user("m1", "hi")))
	list := []string{user("m1", "hi"), assistant("m2", toolCall("c1", "pick_date")), user("m3", "never mind")}
	if got := kinds(w.run("", "a", input("th1", "r2", offered("pick_date"), list...))); !strings.HasSuffix(got, "TEXT_MESSAGE_END RUN_FINISHED") {
		t.Errorf("the next run is %s", got)
	}
	want := lines(`user m1 "hi"`, `assistant m2 +c1`, `tool gw-c1 =c1 "NO ANSWER"`, `user m3 "never mind"`)
	if got := reads(s.newest("th1")); got != want {
		t.Errorf("the agent reads\n%s\nwant\n%s", got, want)
	}
	w.run("", "a", input("th1", "r3", offered("pick_date"), append(list, `{"id":"m9","role":"assistant","content":"fine"}`, user("m4", "go on"))...))
	if got := reads(s.newest("th1")); !strings.HasPrefix(got, want+"\n") {
		t.Errorf("a run later the agent reads\n%s", got)
	}
	if got := w.invocation("th1", "c1"); got["state"] != "cancelled" || got["outcome"] == "ok" {
		t.Errorf("the record says %v", got)
	}
	s.plays("th1s", frames("r1", calling("m2", "pick_date", "c1")...))
	w.run("", "strict", input("th1s", "r1", offered("pick_date"), user("m1", "hi")))
	if r := w.post("strict", input("th1s", "r2", offered("pick_date"), list...)); r.status != 409 || r.code() != "unanswered_calls" || !strings.Contains(r.body, "c1") || len(s.asks("th1s")) != 1 {
		t.Errorf("reject: %d %s, the agent was asked %d times", r.status, r.body, len(s.asks("th1s")))
	}
}

// F003: results stand in call order, and twice gives the same bytes.
func TestF003ResultsInCallOrder(t *testing.T) {
	s, w := beginHistory(t)
	s.plays("th3", frames("r1", calling("m2", "pick_date", "c1", "c2")...), frames("r", saying("m9", "fine")...))
	w.run("", "a", input("th3", "r1", offered("pick_date"), user("m1", "hi")))
	list := []string{user("m1", "hi"), assistant("m2", toolCall("c1", "pick_date"), toolCall("c2", "pick_date")), result("t2", "c2", "May"), user("m3", "go on")}
	w.run("", "a", input("th3", "r2", offered("pick_date"), list...))
	want := lines(`user m1 "hi"`, `assistant m2 +c1 +c2`, `tool gw-c1 =c1 "NO ANSWER"`, `tool t2 =c2 "May"`, `user m3 "go on"`)
	if got := reads(s.newest("th3")); got != want {
		t.Errorf("the agent reads\n%s\nwant\n%s", got, want)
	}
	first := messagesOf(t, s.newest("th3"))
	w.run("", "a", input("th3", "r3", offered("pick_date"), list...))
	if again := messagesOf(t, s.newest("th3")); again != first {
		t.Errorf("the same list goes up as\n%s\nand then as\n%s", first, again)
	}
}

// F005: who decides about a call nobody answers.
func TestF005WhoDecides(t *testing.T) {
	s, w := beginHistory(t)
	for _, c := range []struct{ tool, told, state string }{
		{"pick_date", "NO ANSWER", "cancelled"},
		{"keep_it", "NOT YET", "open"},
		{"refuse_it", "", "open"},
		{"approve_transfer", "NO ANSWER", "expired"},
	} {
		thread := "th5" + c.tool
		s.plays(thread, frames("r1", calling("m2", c.tool, "c1")...), frames("r", saying("m9", "fine")...))
		w.run("", "a", input(thread, "r1", offered(c.tool), user("m1", "hi")))
		if c.state == "expired" {
			eventually(t, "the call's time is over", func() bool { return w.calls(thread) == "c1=expired" })
			eventually(t, "the agent is told so", func() bool { return strings.HasSuffix(reads(s.newest(thread)), `tool gw-c1 =c1 "NO ANSWER"`) })
			w.idle(thread)
		}
		r := w.post("a", input(thread, "r2", offered(c.tool), user("m1", "hi"), assistant("m2", toolCall("c1", c.tool)), user("m3", "and?")))
		if c.told == "" {
			if r.code() != "unanswered_calls" || len(s.asks(thread)) != 1 {
				t.Errorf("%s: %d %s", c.tool, r.status, r.body)
			}
		} else if got := reads(s.newest(thread)); !strings.Contains(got, "\ntool gw-c1 =c1 \""+c.told) || strings.Count(got, "\ntool ") != 1 {
			t.Errorf("%s: the agent reads\n%s\nthe run is %d %s", c.tool, got, r.status, r.body)
		}
		if got := w.calls(thread); got != "c1="+c.state {
			t.Errorf("%s: the record says %s", c.tool, got)
		}
		if got := w.invocation(thread, "c1"); got["outcome"] == "ok" || got["result"] != nil {
			t.Errorf("%s: a success was made up: %v", c.tool, got)
		}
	}
}

// F006: a result without its call is left out and counted.
func TestF006ResultWithoutCall(t *testing.T) {
	s, w := beginHistory(t)
	before := w.sum(`aguigate_repairs_total{agent="a",kind="history"}`)
	w.run("", "a", input("th6", "r1", "", user("m1", "hi"), result("t9", "c9", "42")))
	if got := reads(s.newest("th6")); got != `user m1 "hi"` {
		t.Errorf("the agent reads\n%s", got)
	}
	if after := w.sum(`aguigate_repairs_total{agent="a",kind="history"}`); after == before {
		t.Errorf("nothing was counted: %s", after)
	}
}

// messagesOf gives a request's messages as the bytes they went up as.
func messagesOf(t *testing.T, body string) string {
	t.Helper()
	var in struct{ Messages json.RawMessage }
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		t.Fatal(err)
	}
	return string(in.Messages)
}

// Group C: which call a result belongs to.
func TestFieldIDs(t *testing.T) {
	s := newStage(t)
	w := begin(t, agent("a", s.URL, ""))

	t.Run("F015 a provider uses a call id again", func(t *testing.T) {
		s.plays("th15", frames("r1", calling("m2", "city", "c0")...), frames("r2", saying("m3", "fine")...), frames("r3", calling("m4", "city", "c0")...), frames("r4", saying("m5", "fine")...))
		list := []string{user("m1", "hi")}
		w.run("", "a", input("th15", "r1", offered("city"), list...))
		list = append(list, assistant("m2", toolCall("c0", "city")), result("t1", "c0", "Paris"))
		w.run("", "a", input("th15", "r2", offered("city"), list...))
		list = append(list, `{"id":"m3","role":"assistant","content":"fine"}`, user("u2", "and now?"))
		shown := ""
		for _, f := range w.run("", "a", input("th15", "r3", offered("city"), list...)) {
			if f.Type == "TOOL_CALL_START" {
				shown = f.Text("toolCallId")
			}
		}
		if shown != "c0-2" {
			t.Fatalf("the second c0 is shown as %q", shown)
		}
		list = append(list, assistant("m4", toolCall(shown, "city")), result("t2", shown, "Rome"))
		w.run("", "a", input("th15", "r4", offered("city"), list...))
		want := lines(`user m1 "hi"`, `assistant m2 +c0`, `tool t1 =c0 "Paris"`, `assistant m3 "fine"`, `user u2 "and now?"`, `assistant m4 +c0`, `tool t2 =c0 "Rome"`)
		if got := reads(s.newest("th15")); got != want {
			t.Errorf("the agent reads\n%s\nwant\n%s", got, want)
		}
		if a, b := w.invocation("th15", "c0"), w.invocation("th15", "c0-2"); a["result"] != "Paris" || b["result"] != "Rome" {
			t.Errorf("the record has %v and %v", a["result"], b["result"])
		}
	})

	t.Run("F016 a result without an id is refused by name", func(t *testing.T) {
		r := w.post("a", input("th16", "r1", "", user("m1", "hi"), assistant("m2", toolCall("c1", "city")), `{"id":"m3","role":"tool","content":"ok"}`))
		if r.status != 400 || r.code() != "invalid_request" || !strings.Contains(r.body, "/messages/2/toolCallId") || len(s.asks("th16")) != 0 {
			t.Errorf("%d %s, the agent was asked %d times", r.status, r.body, len(s.asks("th16")))
		}
	})

	t.Run("F017 ids are mapped both ways over a restart", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		s.plays("th17", frames("r1", calling("ma", "city", "fc-a1")...), frames("r2", calling("mb", "city", "fc-a1")...), frames("r3", saying("mc", "fine")...))
		w := beginIn(t, dir, agent("a", s.URL, ""))
		list := []string{user("m1", "hi")}
		w.run("", "a", input("th17", "r1", offered("city"), list...))
		list = append(list, assistant("ma", toolCall("fc-a1", "city")), user("m2", "again"))
		w.run("", "a", input("th17", "r2", offered("city"), list...))
		w.end()
		w = beginIn(t, dir, agent("a", s.URL, ""))
		w.run("", "a", input("th17", "r3", offered("city"), append(list, assistant("mb", toolCall("fc-a1-2", "city")), result("t2", "fc-a1-2", "Rome"))...))
		if got := reads(s.newest("th17")); !strings.HasSuffix(got, lines(`assistant mb +fc-a1`, `tool t2 =fc-a1 "Rome"`)) {
			t.Errorf("the agent reads\n%s", got)
		}
		for _, id := range []string{"fc-a1-3", "zz"} {
			r := w.do(call{method: "POST", path: "/v1/threads/th17/resolve", body: fmt.Sprintf(`{"results":[{"id":%q,"result":"x"}]}`, id)})
			if r.status != 409 || r.code() != "incomplete_results" || !strings.Contains(r.body, "not waiting on this thread: "+id) {
				t.Errorf("the unknown id %s: %d %s", id, r.status, r.body)
			}
		}
	})
}
