package main

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// resuming is an input that answers interrupts, "i1=resolved".
func resuming(thread, run, tools, resume string, messages ...string) string {
	var list []string
	for one := range strings.FieldsSeq(resume) {
		id, status, _ := strings.Cut(one, "=")
		list = append(list, `{"interruptId":"`+id+`","status":"`+status+`","payload":true}`)
	}
	return strings.Replace(input(thread, run, tools, messages...), `"messages"`, `"resume":[`+strings.Join(list, ",")+`],"messages"`, 1)
}

// asks is an agent that ends its first runs with interrupts, and waits where told.
func asks(t *testing.T, expires string) *backend {
	return serveBackend(t, func(w http.ResponseWriter, r *http.Request, body string) {
		if strings.Contains(body, `"interruptId"`) {
			if strings.Contains(body, "please fail") {
				say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_ERROR","message":"no"}`)
				return
			}
			time.Sleep(100 * time.Millisecond)
			say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
			return
		}
		say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"approval"},{"id":"i2","reason":"input"`+expires+`}]}}`)
	})
}

// Answers to interrupts are checked, claimed once, and bring the run's tools again
// [RUN-12] (F013).
func TestResume(t *testing.T) {
	up := asks(t, "")
	w := begin(t, agent("a", up.URL, ""))
	w.run("", "a", input("th1", "r1", locate, user("u1", "x")))
	post := func(body string) reply { return w.do(call{method: "POST", path: "/agents/a/run", body: body}) }
	for resume, code := range map[string]string{
		"i9=resolved i1=resolved i2=resolved": "invalid_resume", "i1=resolved": "invalid_resume", "i1=resolved i1=resolved i2=resolved": "invalid_resume",
	} {
		if r := post(resuming("th1", "r2", "", resume, user("u1", "x"))); r.code() != code || r.status != 400 {
			t.Errorf("%s: %d %s", resume, r.status, r.body)
		}
	}
	if n := len(up.seen()); n != 1 {
		t.Errorf("refused answers reached the agent: %d requests", n)
	}
	var wg sync.WaitGroup
	codes := make([]string, 8)
	for i := range codes {
		wg.Go(func() {
			codes[i] = post(resuming("th1", "race"+string(rune('a'+i)), "", "i1=resolved i2=cancelled", user("u1", "x"))).code()
		})
	}
	wg.Wait()
	won := 0
	for _, c := range codes {
		switch c {
		case "":
			won++
		case "resume_conflict":
		default:
			t.Errorf("a second answer: %s", c)
		}
	}
	if seen := up.seen(); won != 1 || len(seen) != 2 || !strings.Contains(seen[1], `"get_location"`) {
		t.Errorf("%d of them won, the agent was asked %d times, at last %s", won, len(seen), seen[len(seen)-1])
	}
	if r := post(resuming("th1", "late", "", "i1=resolved i2=cancelled", user("u1", "x"))); r.code() != "resume_conflict" {
		t.Errorf("a late answer: %d %s", r.status, r.body)
	}
}

// An interrupt that has expired is not answered, and not missed; answers to a run
// that failed can be sent again.
func TestResumeExpiredAndFailed(t *testing.T) {
	up := asks(t, `,"expiresAt":"2020-01-01T00:00:00Z"`)
	w := begin(t, agent("a", up.URL, ""))
	w.run("", "a", input("th1", "r1", locate, user("u1", "x")))
	if r := w.do(call{method: "POST", path: "/agents/a/run", body: resuming("th1", "r2", "", "i1=resolved i2=resolved", user("u1", "x"))}); r.code() != "invalid_resume" || !strings.Contains(r.body, "expired") {
		t.Errorf("an expired one: %d %s", r.status, r.body)
	}
	w.run("", "a", resuming("th1", "r3", "", "i1=resolved", user("u1", "x"), user("u2", "please fail")))
	if got := last(w.run("", "a", resuming("th1", "r4", "", "i1=resolved", user("u1", "x")))); got.Type != "RUN_FINISHED" {
		t.Errorf("the answer again: %s", got.Raw)
	}
}

// A resume that is stopped loses neither the question nor the right to answer it.
func TestResumeSurvives(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	up := serveBackend(t, func(w http.ResponseWriter, r *http.Request, body string) {
		switch {
		case strings.Contains(body, "hold"):
			say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		case strings.Contains(body, `"interruptId"`):
			say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
		default:
			say(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
				`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"approval"}]}}`)
		}
	})
	w := begin(t, patient(up.URL, ""))
	w.run("", "a", input("th1", "r1", locate, user("u1", "x")))
	first := w.later("a", resuming("th1", "r2", "", "i1=resolved", user("u1", "x"), user("u2", "hold")))
	eventually(t, "the agent is asked", func() bool { return len(up.seen()) == 2 })
	w.do(call{method: "POST", path: "/v1/threads/th1/stop", body: `{}`})
	<-first
	if got := last(w.run("", "a", resuming("th1", "r3", "", "i1=resolved", user("u1", "x")))); got.Type != "RUN_FINISHED" {
		t.Errorf("after a stop: %s", got.Raw)
	}
}
