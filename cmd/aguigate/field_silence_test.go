package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

// Group J: silence, limits of time, and what holds events back.
func beginSilence(t *testing.T) (*stage, *world) {
	t.Helper()
	s := newStage(t)
	return s, begin(t, patient(s.URL, "    keepalive: 20ms\n")+
		strings.NewReplacer("  a:", "  slow:", "first_byte: 1s, idle: 1s", "first_byte: 10s, idle: 150ms").Replace(agent("a", s.URL, ""))[len("agents:\n"):]+
		strings.NewReplacer("  a:", "  late:", "first_byte: 1s, idle: 1s", "first_byte: 150ms, idle: 10s").Replace(agent("a", s.URL, "    keepalive: 20ms\n"))[len("agents:\n"):]+
		strings.NewReplacer("  a:", "  old:", "first_byte: 1s, idle: 1s", "first_byte: 10s, idle: 10s, total: 150ms").Replace(agent("a", s.URL, ""))[len("agents:\n"):]+
		strings.Replace(patient(s.URL, "    on_disconnect: detach\n"), "  a:", "  long:", 1)[len("agents:\n"):])
}

// F065: silence is filled and changes no event.
func TestF065SilenceIsFilled(t *testing.T) {
	s, w := beginSilence(t)
	goOn := make(chan struct{})
	s.plays("th65", func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, started("th65"))
		<-goOn
		say(w, finished("th65"))
	})
	r := w.opened("a", "th65", "r1")
	eventually(t, "silence is filled three times", func() bool { return strings.Count(r.String(), agui.KeepAlive) > 2 })
	close(goOn)
	r.whole()
	if got := strings.ReplaceAll(r.String(), agui.KeepAlive, ""); got != "data: "+started("th65")+"\n\ndata: "+finished("th65")+"\n\n" {
		t.Errorf("got %q", got)
	}
}

// F065: each limit of time is one of its own.
func TestF065LimitsOfTime(t *testing.T) {
	s, w := beginSilence(t)
	// Comments of the upstream keep nothing alive before its first event, and events
	// nothing beyond the whole.
	comments := func(first string) act {
		return func(w http.ResponseWriter, r *http.Request, _ string) {
			raw(first)(w, r, "")
			for tick := time.NewTicker(20 * time.Millisecond); ; {
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					tick.Stop()
					return
				case <-tick.C:
					if strings.Contains(first, "data:") {
						_, _ = io.WriteString(w, "data: {\"type\":\"CUSTOM\",\"name\":\"n\",\"value\":1}\n\n")
					} else {
						_, _ = io.WriteString(w, ": ping\n\n")
					}
				}
			}
		}
	}
	s.plays("th65i", func(w http.ResponseWriter, r *http.Request, _ string) { say(w, started("th65i")); wait(r) })
	s.plays("th65f", comments(": ping\n\n"))
	s.plays("th65t", comments("data: "+started("th65t")+"\n\n"))
	for agent, thread := range map[string]string{"slow": "th65i", "late": "th65f", "old": "th65t"} {
		if end := last(w.run("", agent, input(thread, "r1", "", user("u1", "hi")))); end.Type != agui.RunError || end.Text("code") != "upstream_timeout" {
			t.Errorf("%s: ended in %s", agent, end.Raw)
		}
	}
}

// F066: the client's headers do not wait for the upstream's.
func TestF066HeadersDoNotWait(t *testing.T) {
	s, w := beginSilence(t)
	goOn := make(chan struct{})
	s.plays("th66", func(w http.ResponseWriter, _ *http.Request, _ string) {
		<-goOn
		w.WriteHeader(500)
	})
	r := w.opened("a", "th66", "r1") // has its status and headers
	r.has(agui.KeepAlive)
	close(goOn)
	r.whole()
	if end := last(w.events(r.String())); end.Type != agui.RunError || end.Text("code") != "upstream_http_500" {
		t.Errorf("ended in %s", end.Raw)
	}
}

// F067: a platform that cuts at a fixed age loses nothing.
func TestF067CutAtFixedAge(t *testing.T) {
	s, w := beginSilence(t)
	goOn := make(chan struct{})
	s.plays("th67", frames("r0"), func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, append([]string{started("th67")}, saying("m1", "one")...)...)
		<-goOn
		say(w, saying("m2", "two")...)
		<-goOn
		say(w, append(saying("m3", "three"), finished("th67"))...)
	})
	w.run("", "long", input("th67", "r0", "", `{"id":"s","role":"system","content":"x"}`))
	first := w.reading(call{method: "GET", path: "/v1/threads/th67/events"})
	w.opened("long", "th67", "r1").leave()
	first.has(`"TEXT_MESSAGE_END","messageId":"m1"`)
	first.leave() // the platform's cut
	all := first.String()
	_, cursor, _ := strings.Cut(all[strings.LastIndex(all, "id: "):], "id: ")
	cursor, _, _ = strings.Cut(cursor, "\n")
	if _, err := strconv.ParseUint(cursor, 10, 64); err != nil {
		t.Fatalf("the newest event has no id: %q", all)
	}
	goOn <- struct{}{}
	eventually(t, "the run went on without a reader", func() bool { return w.metric(`aguigate_events_total{agent="long",direction="up"}`) == "9" })
	again := w.reading(call{method: "GET", path: "/v1/threads/th67/events", header: map[string]string{"Last-Event-ID": cursor}})
	again.has(`"two"`)
	goOn <- struct{}{}
	again.has("RUN_FINISHED")
	again.leave()
	if rest := again.String(); strings.Contains(rest, `"one"`) || strings.Count(rest, `"two"`) != 1 || strings.Count(rest, `"three"`) != 1 || strings.Contains(rest, "SNAPSHOT") || strings.Contains(rest, "RUN_STARTED") {
		t.Errorf("behind %s came %q", cursor, rest)
	}
}

// F068: nothing holds events back.
func TestF068NothingHoldsEventsBack(t *testing.T) {
	s, w := beginSilence(t)
	goOn := make(chan struct{})
	s.plays("th68", func(w http.ResponseWriter, r *http.Request, _ string) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("the upstream is asked for %q", got)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "data: "+started("th68")+"\n\n")
		_ = z.Flush()
		w.(http.Flusher).Flush()
		<-goOn
		_, _ = io.WriteString(z, "data: "+finished("th68")+"\n\n")
		_ = z.Close()
	})
	r := w.reading(call{method: "POST", path: "/agents/a/run", body: input("th68", "r1", "", user("u1", "hi")), header: map[string]string{"Accept-Encoding": "gzip, br"}})
	r.has("RUN_STARTED") // while the upstream still holds the rest
	close(goOn)
	r.whole()
	h := r.res.Header
	if h.Get("Cache-Control") != "no-cache, no-transform" || h.Get("X-Accel-Buffering") != "no" || r.res.ContentLength != -1 || h.Get("Content-Encoding") != "" || h.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the headers are %v, length %d", h, r.res.ContentLength)
	}
	if last(w.events(strings.ReplaceAll(r.String(), agui.KeepAlive, ""))).Type != agui.RunFinished {
		t.Errorf("got %q", r.String())
	}
}
