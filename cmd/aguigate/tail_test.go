package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/adapters/frontend/api"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
)

// connection is what a pretender does with one GET of the events.
type connection struct {
	status int // 0 = 200
	header map[string]string
	body   string
	cut    bool // the connection breaks behind body; else the stream ends well
	last   string
}

// tailing follows a pretender that answers its n-th request with the n-th
// connection, and gives what came and how long was waited before each return.
func tailing(t *testing.T, format, since string, list ...connection) (out, notes string, waits []time.Duration, err error) {
	t.Helper()
	n := 0
	p := pretend(t, func(w http.ResponseWriter, r *http.Request) {
		if n == len(list) {
			t.Errorf("request %d was not expected", n+1)
			return
		}
		c := list[n]
		n++
		if got := r.Header.Get("Last-Event-ID"); got != c.last {
			t.Errorf("request %d: Last-Event-ID %q, want %q", n, got, c.last)
		}
		if r.RequestURI != "/v1/threads/t%2F1/events?agent=a+b" || r.Header.Get("Accept") != "text/event-stream" || r.Header.Get("Authorization") != "Bearer the-secret" {
			t.Errorf("request %d: %s %v", n, r.RequestURI, r.Header)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for k, v := range c.header {
			w.Header().Set(k, v)
		}
		if c.status != 0 {
			w.WriteHeader(c.status)
		}
		_, _ = io.WriteString(w, c.body)
		if c.cut {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	var o, e bytes.Buffer
	tl := &tail{
		client: &client{base: p.URL, key: "the-secret", http: newHTTP()}, path: "/v1/threads/t%2F1/events?agent=a+b", last: since,
		printer: newPrinter(format, &o), notes: &e, pause: func(_ context.Context, d time.Duration) { waits = append(waits, d) },
	}
	err = tl.run(context.Background())
	if n != len(list) {
		t.Errorf("%d requests came, want %d", n, len(list))
	}
	return o.String(), strings.ReplaceAll(e.String(), p.URL, "GATEWAY"), waits, err
}

func frame(id int, json string) string { return fmt.Sprintf("id: %d\ndata: %s\n\n", id, json) }

const (
	one = `{"type":"RUN_STARTED","threadId":"t","runId":"r1"}`
	two = `{"type":"CUSTOM","name":"n","value":1.0}`
)

// Events come out as they came, one a line, until the stream ends by itself.
func TestTail(t *testing.T) {
	body := ": keep-alive\n\n" + frame(7, one) + ": keep-alive\n\n" + "id: 8\r\ndata:{\"type\":\r\ndata: \"CUSTOM\" , \"name\":\"a\\u000ab\"}\r\n\r\n" + "id: 9\n\n" + "data: " + two + "\n\n"
	out, notes, waits, err := tailing(t, "json", "", connection{body: body})
	want := one + "\n" + `{"type": "CUSTOM" , "name":"a\u000ab"}` + "\n" + two + "\n"
	if err != nil || out != want || notes != "" || waits != nil {
		t.Errorf("%v, %q\n got %s\nwant %s", err, notes, out, want)
	}
}

// A lost stream is opened again behind the last whole event: cut, ended inside an
// event, refused for a while. The waits grow and begin again when something came.
func TestTailComesAgain(t *testing.T) {
	busy := `{"error":{"code":"draining","message":"later"}}`
	big := `{"type":"RAW","event":"` + strings.Repeat("x", 100<<10) + `"}`
	out, notes, waits, err := tailing(t, "json", "3",
		connection{last: "3", body: frame(4, one), cut: true},
		connection{last: "4", body: "id: 5\ndata: " + two + "\n"}, // ends inside an event
		connection{last: "4", body: frame(5, two) + "id: 6\ndata: {\"type\":", cut: true},
		connection{last: "5", body: "", cut: true},
		connection{last: "5", status: 503, header: map[string]string{"Retry-After": "7"}, body: busy},
		connection{last: "5", status: 502, body: "<html>"},
		connection{last: "5", status: 429, body: busy},
		connection{last: "5", body: "id: 6\n", cut: true},
		connection{last: "5", body: frame(6, big)},
	)
	if err != nil || out != one+"\n"+two+"\n"+big+"\n" {
		t.Fatalf("%v %.300q", err, out)
	}
	s := time.Second
	between := [][2]time.Duration{{s / 4, s / 2}, {s / 4, s / 2}, {s / 4, s / 2}, {s / 2, s}, {7 * s, 7 * s}, {2 * s, 4 * s}, {4 * s, 8 * s}, {s / 4, s / 2}}
	if len(waits) != len(between) {
		t.Fatalf("waited %v", waits)
	}
	for i, b := range between {
		if waits[i] < b[0] || waits[i] > b[1] {
			t.Errorf("wait %d is %v, want %v", i, waits[i], b)
		}
	}
	for _, want := range []string{"the stream was cut: unexpected EOF; trying again in", "the stream was cut: the stream ended inside an event", "draining: later; trying again in 7s", "http_502: "} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in\n%s", want, notes)
		}
	}
}

// What would fail again ends it.
func TestTailGivesUp(t *testing.T) {
	refusal := func(code string) string { return `{"error":{"code":"` + code + `","message":"m"}}` }
	for name, c := range map[string]struct {
		list []connection
		want string
	}{
		"wrong key":             {[]connection{{status: 401, body: refusal("unauthenticated")}}, "unauthenticated: m"},
		"busy at first":         {[]connection{{status: 503, body: refusal("draining")}}, "draining: m"},
		"deleted meanwhile":     {[]connection{{body: frame(1, one), cut: true}, {last: "1", status: 404, body: refusal("thread_not_found")}}, "thread_not_found: m"},
		"no event stream":       {[]connection{{header: map[string]string{"Content-Type": "text/html"}, body: "<html>"}}, "GATEWAY answers with no event stream"},
		"no JSON":               {[]connection{{body: "data: hello\n\n"}}, "the gateway sent an event that is not understood: it is no AG-UI event"},
		"no event":              {[]connection{{body: "data: [1]\n\n"}}, "the gateway sent an event that is not understood: it is no AG-UI event"},
		"an id that is none":    {[]connection{{body: "id: abc\ndata: {}\n\n"}}, "the gateway sent an event that is not understood: its id is no number"},
		"an error of some size": {[]connection{{status: 500, body: strings.Repeat("x", 3<<20)}}, "http_500: Internal Server Error from what does not answer as an aguigate gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := tailing(t, "json", "", c.list...)
			if err == nil || !strings.HasSuffix(err.Error(), strings.TrimPrefix(c.want, "GATEWAY")) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	exit, out, errOut := command("tail", "t1", "--gateway", closedPort(t), "--key", "the-secret")
	if exit != 1 || out != "" || !strings.Contains(errOut, "connection refused") || strings.Contains(errOut, "the-secret") {
		t.Errorf("nobody there: exit %d %q %q", exit, out, errOut)
	}
}

// The whole command: the agent and the id it begins behind are in the request.
func TestTailCommand(t *testing.T) {
	p := pretend(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, frame(1, one))
	})
	exit, out, errOut := command("tail", "--agent", "a b", "trip/2", "--since", "0", "--gateway", p.URL, "--format", "text")
	if exit != 0 || out != "RUN_STARTED run=r1\n" || errOut != "" || p.request.RequestURI != "/v1/threads/trip%2F2/events?agent=a+b" || p.request.Header.Get("Last-Event-ID") != "0" {
		t.Errorf("exit %d %q %q: %s %v", exit, out, errOut, p.request.RequestURI, p.request.Header)
	}
}

// A signal, which ends the context, ends it well: while it reads and while it
// waits.
func TestTailIsStopped(t *testing.T) {
	for _, cut := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		p := pretend(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, frame(1, one))
			w.(http.Flusher).Flush()
			if cut {
				panic(http.ErrAbortHandler)
			}
			cancel()
			<-r.Context().Done()
		})
		var out, notes bytes.Buffer
		tl := &tail{client: &client{base: p.URL, http: newHTTP()}, path: "/", printer: newPrinter("json", &out), notes: &notes, pause: func(ctx context.Context, _ time.Duration) {
			cancel()
			pause(ctx, time.Hour) // ends with ctx
		}}
		if err := tl.run(ctx); err != nil || (notes.Len() > 0) != cut {
			t.Errorf("cut=%v: %v, %q", cut, err, &notes)
		}
		cancel()
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// told is a gateway of one thread, whose event streams begin behind the id they
// are asked for, are lost behind every second event and end behind the fifth.
type told struct{ frontend.Gateway }

func (told) Events(_ context.Context, _ principal.Principal, ref frontend.ThreadRef, last string) (frontend.Events, error) {
	if ref.Thread != "t/1" || ref.Agent != "shop" {
		return nil, fault.New(fault.ThreadNotFound, "there is no such thread")
	}
	n, _ := strconv.ParseUint(last, 10, 64)
	return &toldEvents{last: n}, nil
}

type toldEvents struct{ last uint64 }

func (*toldEvents) KeepAlive() time.Duration { return time.Millisecond }
func (*toldEvents) Close()                   {}

func (e *toldEvents) Stream(_ context.Context, send func([]frontend.Event) error) error {
	for n := e.last + 1; n <= 5; n++ {
		time.Sleep(3 * time.Millisecond) // so that a keep-alive comes between
		if err := send([]frontend.Event{{ID: n, Frame: agui.Frame{Raw: fmt.Appendf(nil, `{"type":"RAW","event":%d}`, n)}}}); err != nil {
			return err
		}
		if n%2 == 0 {
			return errors.New("lost")
		}
	}
	return nil
}

// The frontend's stream as it is on the wire is what tail reads.
func TestTailAtFrontend(t *testing.T) {
	s, err := carrier.New(carrier.Options{}, api.New(told{}).Routes())
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(context.Background()), <-done); err != nil {
			t.Error(err)
		}
	})
	var out, notes bytes.Buffer
	tl := &tail{client: &client{base: "http://" + ln.Addr().String(), http: newHTTP()}, path: "/v1/threads/t%2F1/events?agent=shop", printer: newPrinter("json", &out), notes: &notes, pause: func(context.Context, time.Duration) {}}
	want := ""
	for n := range 5 {
		want += fmt.Sprintf("{\"type\":\"RAW\",\"event\":%d}\n", n+1)
	}
	if err := tl.run(context.Background()); err != nil || out.String() != want || strings.Count(notes.String(), "\n") != 2 {
		t.Errorf("%v\n%s%s", err, &out, &notes)
	}
	tl.path = "/v1/threads/t%2F1/events"
	if err := tl.run(context.Background()); err == nil || err.Error() != "thread_not_found: there is no such thread" {
		t.Error(err)
	}
}

// What cannot be written ends it with the error; it is not asked for again.
func TestTailOutputFails(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		p := pretend(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, frame(1, one))
		})
		tl := &tail{client: &client{base: p.URL, http: newHTTP()}, path: "/", printer: newPrinter(format, full{}), notes: io.Discard, pause: pause}
		if err := tl.run(context.Background()); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// The lines for people.
func TestTailText(t *testing.T) {
	events := []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r 1"}`,
		`{"type":"STEP_STARTED","stepName":"plan"}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"m0","delta":"hm"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hel"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"lo\nyou\u001b[2J"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m2","delta":"a"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","delta":"b"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m3","delta":"c"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"get_location"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"a\""}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c2","delta":"{}"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":":1}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"c3","toolCallName":"pick","delta":"{}"}`,
		`{"type":"CUSTOM","name":"aguigate.invocation","value":{"id":"inv_a","tool":"pick","state":"settled","outcome":"ok"}}`,
		`{"type":"CUSTOM","name":"other","value":{"a":[1, 2]}}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"m9","toolCallId":"c1","content":"` + strings.Repeat("é", 300) + `"}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{},{}]}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{}}`,
		`{"type":"NEW\u202e"}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r1","outcome":{"type":"success","pendingToolCallIds":["c1","c2"]}}`,
		`{"type":"RUN_ERROR","message":"gone \"away\"","code":"upstream_closed"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"left open"}`,
	}
	want := `RUN_STARTED run="r 1"
STEP_STARTED step=plan
reasoning: hm
TEXT_MESSAGE_START message=m1 role=assistant
text: Hello
  you` + "\uFFFD" + `[2J
text: ab
text: c
TOOL_CALL_START tool=get_location call=c1
arguments: {"a"
arguments: {}
arguments: :1}
arguments tool=pick: {}
CUSTOM name=aguigate.invocation id=inv_a tool=pick state=settled outcome=ok
CUSTOM name=other value="{\"a\":[1, 2]}"
TOOL_CALL_RESULT call=c1 message=m9 content=` + strings.Repeat("é", 200) + `…
MESSAGES_SNAPSHOT messages=2
STATE_SNAPSHOT
NEW` + "\uFFFD" + `
RUN_FINISHED run=r1 outcome=success pending=c1,c2
RUN_ERROR code=upstream_closed message="gone \"away\""
text: left open
`
	body := ""
	for i, e := range events {
		body += frame(i, e)
	}
	out, notes, _, err := tailing(t, "text", "", connection{body: body})
	if err != nil || notes != "" {
		t.Fatalf("%v %s", err, notes)
	}
	got, wanted := strings.Split(out, "\n"), strings.Split(want, "\n")
	for i := range max(len(got), len(wanted)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(wanted) {
			w = wanted[i]
		}
		if g != w {
			t.Errorf("line %d: %q, want %q", i+1, g, w)
		}
	}
}

// FuzzEventReader: whatever comes, it ends, within its bound; an event that was
// written is read again.
func FuzzEventReader(f *testing.F) {
	for _, s := range []string{frame(1, one), "data: a\r\n\r\n", ": x\n\n", "id: 1\n\n", "id: x\n\n", "data\n\n", "data: a\ndata\n\n", "\n\n", "id: 1\ndata: {"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r := newEventReader(strings.NewReader(in))
		r.limit = 64
		for range len(in) + 1 {
			e, err := r.next()
			if err != nil {
				if len(e.data) > 0 || e.id != "" {
					t.Fatalf("%q: an error gives %+v", in, e)
				}
				break
			}
			if len(e.data) > r.limit || e.id != "" && !isID(e.id) {
				t.Fatalf("%q: %+v", in, e)
			}
		}
		if _, err := r.next(); err == nil {
			t.Fatalf("%q does not end", in)
		}
		line := strings.NewReplacer("\n", "", "\r", "").Replace(in)
		e, err := newEventReader(strings.NewReader("id: 5\ndata: " + line + "\n\n")).next()
		if err != nil || e.id != "5" || string(e.data) != line {
			t.Fatalf("%q is read as %+v %v", line, e, err)
		}
	})
}
