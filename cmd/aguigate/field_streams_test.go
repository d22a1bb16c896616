package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

// markers are the words of one run each, "mark-17-".
var markers = regexp.MustCompile(`mark-\d+-`)

// foreign gives a marker in text that is not of run i, "" for none.
func foreign(text string, i int) string {
	for _, m := range markers.FindAllString(text, -1) {
		if m != fmt.Sprintf("mark-%d-", i) {
			return m
		}
	}
	return ""
}

// marked is a run's start and some words, all with the marker that its request brought.
func marked(body string, words int) []string {
	mark := markers.FindString(body)
	out := []string{`{"type":"RUN_STARTED","threadId":"t","runId":"` + mark + `r"}`, `{"type":"TEXT_MESSAGE_START","messageId":"` + mark + `m","role":"assistant"}`}
	for k := range words {
		out = append(out, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"%sm","delta":"%s%d "}`, mark, mark, k))
	}
	return out
}

// cut opens a run as client i, reads n bytes of its stream, if so many come, and
// leaves. It gives what was read.
func (w *world) cut(client *http.Client, agent string, i, n int, patience time.Duration) (string, error) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	body := input(fmt.Sprintf("mark-%d-t", i), fmt.Sprintf("mark-%d-c", i), "", user(fmt.Sprintf("mark-%d-u", i), "hi"))
	req, err := http.NewRequestWithContext(ctx, "POST", w.url+"/agents/"+agent+"/run", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-User", fmt.Sprintf("mark-%d-user", i))
	if n == 0 { // leaves at some time of its own, perhaps before the answer's head
		time.AfterFunc(patience, leave)
	}
	res, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return "", nil
		}
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		return "", fmt.Errorf("run %d: %d %s", i, res.StatusCode, readAll(res))
	}
	if n == 0 {
		got, _ := io.ReadAll(res.Body)
		return string(got), nil
	}
	got, err := io.ReadAll(io.LimitReader(res.Body, int64(n)))
	return string(got), err
}

// Group P: streams that end in the middle, and what they leave behind.
func beginStreams(t *testing.T) (*stage, *world) {
	t.Helper()
	s := newStage(t)
	return s, begin(t, patient(s.URL, "")+
		strings.NewReplacer("  a:", "  users:", "kind: agui,", "kind: agui, forward_headers: [x-user], identity_headers: {x-subject: subject},").Replace(patient(s.URL, ""))[len("agents:\n"):])
}

// F102: a client that leaves a silent upstream.
func TestF102SilentUpstream(t *testing.T) {
	s, w := beginStreams(t)
	for _, answered := range []bool{true, false} {
		thread := fmt.Sprint("th102", answered)
		asked, gone := make(chan struct{}), make(chan time.Time, 1)
		s.plays(thread, func(w http.ResponseWriter, r *http.Request, _ string) {
			if answered {
				say(w, `{"type":"RUN_STARTED","threadId":"`+thread+`","runId":"r1"}`)
			}
			close(asked)
			wait(r)
			gone <- time.Now()
		})
		r := w.reading(call{method: "POST", path: "/agents/a/run", body: input(thread, "r1", "", user("u1", "hi"))})
		soon(t, asked, "the agent is asked")
		began := time.Now()
		r.leave()
		if took := soon(t, gone, "the upstream's request ends").Sub(began); took > time.Second {
			t.Errorf("answered %v: the upstream was cancelled after %v", answered, took)
		}
		w.idle(thread)
	}
}

// F103: no byte of another's stream.
func TestF103NoForeignByte(t *testing.T) {
	s, w := beginStreams(t)
	one := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	const runs = 200
	for i := range runs {
		s.plays(fmt.Sprintf("mark-%d-t", i), func(w http.ResponseWriter, r *http.Request, body string) {
			all := marked(body, 40)
			for k := 0; k < len(all) && r.Context().Err() == nil; k += 3 { // in pieces, so that the streams mix
				say(w, all[k:min(k+3, len(all))]...)
			}
			say(w, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
		})
	}
	var all sync.WaitGroup
	for i := range runs {
		n := 1 << 20 // all of it
		if i%2 == 0 {
			n = 1 + rand.IntN(4000)
		}
		all.Go(func() {
			got, err := w.cut(one, "a", i, n, 0)
			if m := foreign(got, i); err != nil || m != "" {
				t.Errorf("run %d has %s in its stream, %v", i, m, err)
			}
			if i%2 == 1 && (strings.Count(got, "TEXT_MESSAGE_CONTENT") != 40 || !strings.Contains(got, "RUN_FINISHED")) {
				t.Errorf("run %d is not whole: %q", i, got)
			}
		})
	}
	all.Wait()
}

// F104, F105: abandoned streams keep nothing.
func TestF104F105AbandonedStreams(t *testing.T) {
	s, w := beginStreams(t)
	silent := func(w http.ResponseWriter, r *http.Request, body string) {
		say(w, marked(body, 1)...)
		wait(r)
	}
	var left []*reading
	for i := range 10 {
		s.plays(fmt.Sprint("th104-", i), silent)
		r := w.reading(call{method: "POST", path: "/agents/a/run", body: input(fmt.Sprint("th104-", i), "r1", "", user("u1", "mark-1-"))})
		r.has("mark-1-0")
		left = append(left, r)
	}
	for _, r := range left {
		r.leave()
	}
	began := time.Now()
	s.plays("th104", frames("r1", saying("m1", "here")...))
	if got := w.run("", "a", input("th104", "r1", "", user("u1", "hi"))); text(got) != "here" || time.Since(began) > time.Second {
		t.Errorf("the eleventh run got %s after %v", kinds(got), time.Since(began))
	}
	eventually(t, "no run is left", func() bool { return w.metric(`aguigate_active_runs{agent="a"}`) == "0" })
	eventually(t, "no request is left", func() bool { _, busy := s.connections(); return busy == 0 })
}

// F107: an event is passed on at once.
func TestF107PassedOnAtOnce(t *testing.T) {
	s, w := beginStreams(t)
	goOn := make(chan struct{})
	s.plays("th107", func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"th107\",\"runId\":\"r1\"}\n\n")
		w.(http.Flusher).Flush()
		<-goOn
		_, _ = io.WriteString(w, "data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"th107\",\"runId\":\"r1\"}\n\n")
	})
	r := w.reading(call{method: "POST", path: "/agents/a/run", body: input("th107", "r1", "", user("u1", "hi"))})
	r.has("RUN_STARTED") // while the upstream is silent
	close(goOn)
	r.whole()
	w.events(r.String())
}

// F110: each stream has its own request's values.
func TestF110OwnValues(t *testing.T) {
	s, w := beginStreams(t)
	one := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var all sync.WaitGroup
	for i := range 40 {
		s.plays(fmt.Sprintf("mark-%d-t", i), func(w http.ResponseWriter, r *http.Request, body string) {
			if r.Header.Get("X-Subject") != "anonymous" {
				t.Errorf("the agent is told of %q", r.Header.Get("X-Subject"))
			}
			start := marked(body, 1)
			say(w, append(start, `{"type":"CUSTOM","name":"user","value":"`+r.Header.Get("X-User")+`"}`)...)
			say(w, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
		})
		all.Go(func() {
			got, err := w.cut(one, "users", i, 1<<20, 0)
			if want := fmt.Sprintf(`"value":"mark-%d-user"`, i); err != nil || !strings.Contains(got, want) || foreign(got, i) != "" {
				t.Errorf("run %d got %q, %v", i, got, err)
			}
		})
	}
	all.Wait()
}

// A drain (F109): not ready at once, a reader of events is let go, an active run gets
// its time and then RUN_ERROR gateway_shutdown, a call that waits stays.
func TestFieldDrain(t *testing.T) {
	dir := t.TempDir()
	s := newStage(t)
	w := beginIn(t, dir, patient(s.URL, ""))
	s.plays("waits", frames("r1", calling("m2", "pick", "c1")...))
	s.plays("long", func(w http.ResponseWriter, r *http.Request, _ string) {
		say(w, append([]string{`{"type":"RUN_STARTED","threadId":"long","runId":"r1"}`}, saying("m1", "one")[:2]...)...)
		wait(r)
	})
	w.run("", "a", input("waits", "r1", offered("pick"), user("u1", "hi")))
	idle := w.reading(call{method: "GET", path: "/v1/threads/waits/events"})
	active := w.reading(call{method: "POST", path: "/agents/a/run", body: input("long", "r1", "", user("u1", "hi"))})
	active.has(`"one"`)
	stopped := make(chan error, 1)
	go func() { stopped <- w.in.stop() }()
	eventually(t, "not ready", func() bool {
		r, err := http.Get(w.admin + "/readyz")
		if err != nil {
			return true
		}
		defer r.Body.Close()
		return r.StatusCode == 503
	})
	if r := w.post("a", input("new", "r1", "", user("u1", "hi"))); r.status != 503 || r.code() != "draining" {
		t.Errorf("a new run: %d %s", r.status, r.body)
	}
	active.whole()
	got := w.events(active.String())
	if kinds(got) != "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_ERROR" || last(got).Text("code") != "gateway_shutdown" {
		t.Errorf("the active run got %s, ended in %s", kinds(got), last(got).Raw)
	}
	idle.whole()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	w.in = nil
	again := beginIn(t, dir, patient(s.URL, ""))
	if got := again.calls("waits"); got != "c1=open" {
		t.Errorf("after the restart the record says %s", got)
	}
}

// resources are what a leaked run would keep. Goroutines that the server keeps idle for
// some seconds, for the connections to come, are none of it.
func resources(t *testing.T, s *stage) (goroutines, files, connections, busy int) {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(stacks(), "\n\n") {
		_, at, _ := strings.Cut(block, "\n")
		if !strings.HasPrefix(at, "github.com/valyala/fasthttp.(*workerPool).workerFunc") {
			goroutines++
		}
	}
	connections, busy = s.connections()
	return goroutines, len(names), connections, busy
}

// stacks are all goroutines' stacks, a blank line between two.
func stacks() string {
	buf := make([]byte, 8<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// A thousand runs of a silent agent, each left by its client at some moment of its own,
// leave no goroutine and no socket behind, and no word of one reaches another (F102,
// F103, F104, F105).
func TestThousandCancelledRuns(t *testing.T) {
	const runs, atOnce = 1000, 64
	s := newStage(t)
	w := begin(t, patient(s.URL, ""))
	one := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	defer one.CloseIdleConnections()
	var wrong atomic.Int64
	play := func(i int, how act) { s.plays(fmt.Sprintf("mark-%d-t", i), how) }
	play(0, func(w http.ResponseWriter, _ *http.Request, body string) {
		say(w, append(marked(body, 1), `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)...)
	})
	if got, err := w.cut(one, "a", 0, 1<<20, 0); err != nil || !strings.Contains(got, string(agui.RunFinished)) {
		t.Fatalf("a whole run: %q %v", got, err)
	}
	eventually(t, "it is over", func() bool { return w.metric(`aguigate_active_runs{agent="a"}`) == "0" })
	testClient.CloseIdleConnections()
	goroutines, files, connections, _ := resources(t, s)

	for i := 1; i <= runs; i++ {
		play(i, func(w http.ResponseWriter, r *http.Request, body string) {
			if i%3 != 0 { // a third is left before its agent has answered
				say(w, marked(body, i%7)...)
			}
			wait(r)
			if foreign(body, i) != "" {
				wrong.Add(1)
			}
		})
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := 1; i <= runs; i++ {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			n, patience := 0, time.Duration(rand.IntN(20))*time.Millisecond
			if i%3 == 1 { // at a byte: at most the first frame's, which is sure to come
				n = 1 + rand.IntN(60)
			}
			got, err := w.cut(one, "a", i, n, patience)
			if m := foreign(got, i); err != nil || m != "" {
				t.Errorf("run %d has %s in its stream, %v", i, m, err)
			}
		})
	}
	all.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d requests held words of another run", n)
	}
	// Within two seconds all is as before, but for what the runtime and the store do now
	// and then, and for connections that stood when their runs had gone, which are pooled.
	const slack = 10
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		active := w.metric(`aguigate_active_runs{agent="a"}`)
		testClient.CloseIdleConnections()
		g, f, c, busy := resources(t, s)
		if active == "0" && busy == 0 && g <= goroutines+slack && f <= files+2*slack && c <= connections+slack {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after two seconds: %d goroutines, %d before; %d files, %d before; %d connections to the agent, %d before, %d busy; %s runs\n%.20000s",
				g, goroutines, f, files, c, connections, busy, active, stacks())
		}
	}
}
