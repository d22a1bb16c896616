package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A frame nobody has a reason to change passes byte for byte [RUN-7].
func TestBytesPass(t *testing.T) {
	frames := []string{
		`{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`,
		`{ "value" : {"n":1.0,"big":1152921504606846976,"e":1E2,"z":-0} ,"type":"CUSTOM", "name":"n\u006f" }`,
		`{"messageId":"m1","type":"TEXT_MESSAGE_CHUNK","delta":"escaped \u00e9\ud83d\ude00 raw é😀 \/ \t"}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{"b":1,"a":[ ],"":null}}`,
		`{"type":"NOT_YET_INVENTED","x":1.50}`,
		`{"type":"RUN_FINISHED","threadId":"th1","runId":"r1","result":{"pi":3.140}}`,
	}
	up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) { say(w, frames...) })
	w := begin(t, agent("a", up.URL, ""))
	got := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "r1", "", user("u1", "hi"))})
	want := "data: " + strings.Join(frames, "\n\ndata: ") + "\n\n"
	if got.body != want {
		t.Errorf("got\n%q\nwant\n%q", got.body, want)
	}
	if ct := got.header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("Content-Type %q", ct)
	}
	if cc := got.header.Get("Cache-Control"); cc != "no-cache, no-transform" {
		t.Errorf("Cache-Control %q", cc)
	}
}

// Any way an upstream may write its stream arrives in one way [RUN-8].
func TestUpstreamFraming(t *testing.T) {
	frames := []string{`{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`, `{"type":"CUSTOM","name":"n","value":1}`, `{"type":"RUN_FINISHED","threadId":"th1","runId":"r1"}`}
	want := "data: " + strings.Join(frames, "\n\ndata: ") + "\n\n"
	for name, raw := range map[string]string{
		"LF":               "data: " + strings.Join(frames, "\n\ndata: ") + "\n\n",
		"CRLF":             "data: " + strings.Join(frames, "\r\n\r\ndata: ") + "\r\n\r\n",
		"CR":               "data: " + strings.Join(frames, "\r\rdata: ") + "\r\r",
		"no space":         "data:" + strings.Join(frames, "\n\ndata:") + "\n\n",
		"BOM":              "\ufeffdata: " + strings.Join(frames, "\n\ndata: ") + "\n\n",
		"comments and ids": ": hi\n\nid: 7\nevent: x\ndata: " + strings.Join(frames, "\nretry: 5\n\n: ping\n\ndata: ") + "\n\n",
		"done and empty":   "data: [DONE]\n\ndata:\n\ndata: " + strings.Join(frames, "\n\ndata: ") + "\n\ndata: [DONE]\n\n",
	} {
		for _, step := range []int{1, 7, 1 << 20} {
			up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
				w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
				for rest := raw; rest != ""; {
					n := min(step, len(rest))
					_, _ = io.WriteString(w, rest[:n])
					w.(http.Flusher).Flush()
					rest = rest[n:]
				}
			})
			w := begin(t, agent("a", up.URL, ""))
			got := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "r1", "", user("u1", "hi"))})
			if got.body != want {
				t.Errorf("%s in steps of %d: got\n%q\nwant\n%q", name, step, got.body, want)
			}
			w.end()
		}
	}
}

// Two events 50 ms apart arrive apart, and headers leave before the upstream has
// said anything.
func TestEventsArriveApart(t *testing.T) {
	go1 := make(chan struct{})
	up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		<-go1
		say(w, `{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`)
		time.Sleep(50 * time.Millisecond)
		say(w, `{"type":"CUSTOM","name":"n","value":1}`)
		time.Sleep(50 * time.Millisecond)
		say(w, `{"type":"RUN_FINISHED","threadId":"th1","runId":"r1"}`)
	})
	w := begin(t, agent("a", up.URL, ""))
	res, err := w.open(call{method: "POST", path: "/agents/a/run", body: input("th1", "r1", "", user("u1", "hi"))})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	close(go1) // the headers are here although the upstream had not answered
	var at []time.Time
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data:") {
			at = append(at, time.Now())
		}
	}
	if len(at) != 3 {
		t.Fatalf("%d events, want 3", len(at))
	}
	for i := 1; i < len(at); i++ {
		if gap := at[i].Sub(at[i-1]); gap < 25*time.Millisecond {
			t.Errorf("events %d and %d came %v apart, sent 50 ms apart", i, i+1, gap)
		}
	}
}

// A client that leaves a silent upstream cancels it within a second [RUN-10],
// whether the upstream has answered yet or not, and the thread is free again.
func TestLeavingCancels(t *testing.T) {
	for _, answered := range []bool{true, false} {
		gone := make(chan struct{}, 1)
		up := serveBackend(t, func(w http.ResponseWriter, r *http.Request, _ string) {
			if answered {
				say(w, `{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`)
			}
			select {
			case <-r.Context().Done():
				gone <- struct{}{}
			case <-time.After(10 * time.Second):
			}
		})
		w := begin(t, strings.Replace(agent("a", up.URL, ""), "first_byte: 1s, idle: 1s", "first_byte: 1m, idle: 1m", 1))
		ctx, leave := context.WithCancel(context.Background())
		body := input("th1", "r1", "", user("u1", "hi"))
		req, _ := http.NewRequestWithContext(ctx, "POST", w.url+"/agents/a/run", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		for len(up.seen()) == 0 {
			time.Sleep(time.Millisecond)
		}
		busy := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "r2", "", user("u1", "hi"))})
		if busy.code() != "thread_busy" {
			t.Errorf("a second run on the thread: %d %s", busy.status, busy.body)
		}
		leave()
		res.Body.Close()
		select {
		case <-gone:
		case <-time.After(time.Second):
			t.Errorf("answered=%v: the upstream was not cancelled within a second", answered)
		}
		eventually(t, "the thread is free", func() bool { return w.metric(`aguigate_active_runs{agent="a"}`) == "0" })
		w.end()
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !is(); {
		if time.Now().After(end) {
			t.Fatalf("not within 5 s: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// What an upstream does wrong after the run was accepted is told in the stream
// [ERR-3, RUN-3]; the client always gets one start and one terminal event.
func TestUpstreamTrouble(t *testing.T) {
	started := `{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		code   string
		never  string // must not reach the client
	}{
		"500 with HTML": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(500)
			_, _ = io.WriteString(w, "<html>stack trace of /srv/app</html>"+strings.Repeat("x", 2<<20))
		}, "upstream_http_500", "<html>"},
		"503 with JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(503)
			_, _ = io.WriteString(w, `{"error":{"message":"busy"}}`)
		}, "upstream_http_503", ""},
		"redirect": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(307)
		}, "upstream_http_307", ""},
		"not a stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"type":"RUN_STARTED"}`)
		}, "upstream_protocol_error", ""},
		"hangs before the head": {func(_ http.ResponseWriter, r *http.Request) { wait(r) }, "upstream_timeout", ""},
		"hangs in the stream":   {func(w http.ResponseWriter, r *http.Request) { say(w, started); wait(r) }, "upstream_timeout", ""},
		"comments only":         {func(w http.ResponseWriter, r *http.Request) { comments(w, r) }, "upstream_timeout", ""},
		"closes at once":        {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "upstream_closed", ""},
		"ends without an end":   {func(w http.ResponseWriter, _ *http.Request) { say(w, started) }, "incomplete_stream", ""},
		"cut in the stream":     {func(w http.ResponseWriter, _ *http.Request) { say(w, started); panic(http.ErrAbortHandler) }, "incomplete_stream", ""},
		"not JSON":              {func(w http.ResponseWriter, _ *http.Request) { say(w, started, `{"type":`) }, "upstream_protocol_error", `{"type":` + "\n"},
		"duplicate key":         {func(w http.ResponseWriter, _ *http.Request) { say(w, started, `{"type":"CUSTOM","type":"RAW"}`) }, "upstream_protocol_error", `"RAW"`},
		"a foreign error frame": {func(w http.ResponseWriter, _ *http.Request) { say(w, started, `{"error":{"message":"quota"}}`) }, "upstream_error", `"error":`},
		"an event over the size": {func(w http.ResponseWriter, _ *http.Request) {
			say(w, started, `{"type":"CUSTOM","name":"n","value":"`+strings.Repeat("x", 70<<10)+`"}`)
		}, "event_too_large", "xxxx"},
	} {
		t.Run(name, func(t *testing.T) {
			up := serveBackend(t, func(w http.ResponseWriter, r *http.Request, _ string) { c.answer(w, r) })
			w := begin(t, "limits: {event: 64KiB}\n"+agent("a", up.URL, ""))
			got := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "r1", "", user("u1", "hi"))})
			frames := w.events(got.body)
			end := last(frames)
			if end.Type != "RUN_ERROR" || end.Text("code") != c.code {
				t.Errorf("ended with %s, want RUN_ERROR %s", end.Raw, c.code)
			}
			if id := got.header.Get("X-Request-Id"); c.code != "upstream_error" && !strings.Contains(string(end.Raw), id) {
				t.Errorf("RUN_ERROR does not name the request id %q: %s", id, end.Raw)
			}
			if c.never != "" && strings.Contains(got.body, c.never) {
				t.Errorf("%q reached the client:\n%.500s", c.never, got.body)
			}
			if n := len(up.seen()); n != 1 {
				t.Errorf("the upstream was asked %d times, want once [UP-3]", n)
			}
			next := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "r2", "", user("u1", "hi"))})
			if next.status != 200 {
				t.Errorf("the thread is not free afterwards: %d %s", next.status, next.body)
			}
		})
	}
}

func wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-time.After(10 * time.Second):
	}
}

func comments(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for range 100 {
		_, _ = io.WriteString(w, ": still here\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A port nobody listens on: the run is accepted, the failure is in the stream.
func TestUpstreamUnreachable(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + ln.Addr().String()
	ln.Close()
	w := begin(t, agent("a", url, ""))
	frames := w.run("", "a", input("th1", "r1", "", user("u1", "hi")))
	if got := last(frames).Text("code"); got != "upstream_unreachable" {
		t.Errorf("ended with %s", last(frames).Raw)
	}
}

// A long silence is filled between frames, before the first byte too [RUN-9].
func TestKeepAlive(t *testing.T) {
	up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		time.Sleep(150 * time.Millisecond)
		say(w, `{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`)
		time.Sleep(150 * time.Millisecond)
		say(w, `{"type":"RUN_FINISHED","threadId":"th1","runId":"r1"}`)
	})
	w := begin(t, agent("a", up.URL, "    keepalive: 40ms\n"))
	got := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "r1", "", user("u1", "hi"))})
	before, after, _ := strings.Cut(got.body, "data:")
	if !strings.HasPrefix(before, ": keep-alive\n\n") || !strings.Contains(after, "\n\n: keep-alive\n\ndata:") {
		t.Errorf("no keepalive before the first event, or none between two:\n%s", got.body)
	}
	w.events(got.body)
}
