package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/agui"
)

// stream is an event stream that gives what is put into batches, and ends with
// them.
type stream struct {
	keepAlive time.Duration
	batches   chan []frontend.Event
	last      error      // what Stream gives when batches is closed
	ended     chan error // what Stream ended with
	closed    chan struct{}
}

func newStream() *stream {
	return &stream{batches: make(chan []frontend.Event, 8), ended: make(chan error, 1), closed: make(chan struct{}, 1)}
}

func (s *stream) KeepAlive() time.Duration { return s.keepAlive }
func (s *stream) Close()                   { s.closed <- struct{}{} }

func (s *stream) Stream(ctx context.Context, send func([]frontend.Event) error) (err error) {
	defer func() { s.ended <- err }()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case batch, more := <-s.batches:
			if !more {
				return s.last
			}
			if err := send(batch); err != nil {
				return err
			}
		}
	}
}

func event(id uint64, raw string) frontend.Event {
	return frontend.Event{ID: id, Frame: agui.Frame{Type: agui.Custom, Raw: []byte(raw)}}
}

// peer is a raw client of the event stream.
type peer struct {
	net.Conn
	t  *testing.T
	br *bufio.Reader
}

func (s *site) dial(request string) *peer {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		s.t.Fatal(err)
	}
	return &peer{Conn: c, t: s.t, br: bufio.NewReader(c)}
}

// chunk reads one chunk as it stands on the wire: one Write of the stream.
func (p *peer) chunk() string {
	p.t.Helper()
	line, err := p.br.ReadString('\n')
	if err != nil {
		p.t.Fatalf("no chunk: %v", err)
	}
	size, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
	if err != nil {
		p.t.Fatal(err)
	}
	b := make([]byte, size+2)
	if _, err := io.ReadFull(p.br, b); err != nil {
		p.t.Fatalf("chunk %q: %v", line, err)
	}
	return string(b[:size])
}

const head = " /v1/threads/t1/events?agent=shop HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\n"

func (p *peer) head(method string) *http.Response {
	p.t.Helper()
	res, err := http.ReadResponse(p.br, &http.Request{Method: method})
	if err != nil {
		p.t.Fatal(err)
	}
	return res
}

// The headers leave before any event, each batch is one write, an id comes before
// its data, and silence is filled between frames [RUN-1, RUN-7, RUN-9].
func TestEvents(t *testing.T) {
	s := serve(t, carrier.Options{})
	s.stream = newStream()
	s.stream.keepAlive = 20 * time.Millisecond
	p := s.dial("GET" + head + "Last-Event-ID: 041\r\nAccept: text/event-stream\r\n\r\n")
	res := p.head("POST") // so that the body's chunks stay for us to read
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Content-Length": "",
	} {
		if got := res.Header.Get(name); res.StatusCode != 200 || got != want {
			t.Errorf("%d, %s: %q, want %q", res.StatusCode, name, got, want)
		}
	}
	if got := s.seen(); got != `ann events "t1" "shop" "41"` {
		t.Errorf("asked %s", got)
	}
	if got := p.chunk(); got != ": keep-alive\n\n" {
		t.Errorf("in silence came %q", got)
	}
	s.stream.batches <- []frontend.Event{event(42, `{"type":"RUN_STARTED"}`), event(43, "{\"type\":\n\"CUSTOM\",\"value\":1.0}")}
	s.stream.batches <- []frontend.Event{event(18446744073709551615, `{"type":"`+strings.Repeat("x", 20<<10)+`"}`)}
	for _, want := range []string{
		"id: 42\ndata: {\"type\":\"RUN_STARTED\"}\n\nid: 43\ndata: {\"type\":\ndata: \"CUSTOM\",\"value\":1.0}\n\n",
		"id: 18446744073709551615\ndata: {\"type\":\"" + strings.Repeat("x", 20<<10) + "\"}\n\n",
	} {
		got := p.chunk()
		for got == ": keep-alive\n\n" {
			got = p.chunk()
		}
		if got != want {
			t.Errorf("got %.200q, want %.200q", got, want)
		}
	}
	close(s.stream.batches)
	if got := p.chunk(); got != "" { // the chunk that ends a body
		t.Errorf("at the end came %q", got)
	}
}

// What cannot be streamed is refused before the gateway is asked [ERR-1].
func TestEventsRefused(t *testing.T) {
	s := serve(t, carrier.Options{})
	s.stream = newStream()
	for name, c := range map[string]struct{ request, status, code, param string }{
		"HTTP/1.0":     {strings.Replace("GET"+head, "1.1", "1.0", 1) + "\r\n", "400 Bad Request", "invalid_request", ""},
		"an id":        {"GET" + head + "Last-Event-ID: x1\r\n\r\n", "400 Bad Request", "invalid_request", "Last-Event-ID"},
		"a signed id":  {"GET" + head + "Last-Event-ID: -1\r\n\r\n", "400 Bad Request", "invalid_request", "Last-Event-ID"},
		"too large":    {"GET" + head + "Last-Event-ID: 18446744073709551616\r\n\r\n", "400 Bad Request", "invalid_request", "Last-Event-ID"},
		"no key":       {"GET /v1/threads/t1/events HTTP/1.1\r\nHost: localhost\r\n\r\n", "401 Unauthorized", "unauthenticated", ""},
		"wrong method": {"POST" + head + "Content-Length: 0\r\n\r\n", "405 Method Not Allowed", "method_not_allowed", ""},
	} {
		res := s.dial(c.request).head("GET")
		body, _ := io.ReadAll(res.Body)
		if res.Status != c.status || res.Header.Get("X-Aguigate-Code") != c.code || !strings.Contains(string(body), `"param":"`+c.param) && c.param != "" {
			t.Errorf("%s: %s %s, want %s %s %s", name, res.Status, body, c.status, c.code, c.param)
		}
		if got := s.seen(); got != "" {
			t.Errorf("%s: the gateway was asked: %s", name, got)
		}
	}
	if got := s.ask("GET", "/v1/threads/none/events", ""); got != `404 thread_not_found ""` {
		t.Errorf("an unknown thread: %s", got)
	}
}

// HEAD gets the headers; what was opened for it is given back.
func TestEventsHead(t *testing.T) {
	s := serve(t, carrier.Options{})
	s.stream = newStream()
	res := s.dial("HEAD" + head + "\r\n").head("HEAD")
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	within(t, "Close", s.stream.closed)
	select {
	case err := <-s.stream.ended:
		t.Errorf("a stream ran and ended with %v", err)
	default:
	}
}

// Whoever leaves ends the stream though nothing flows; what a gateway ends with an
// error is cut, so that the client comes again.
func TestEventsEnd(t *testing.T) {
	s := serve(t, carrier.Options{})
	s.stream = newStream()
	p := s.dial("GET" + head + "\r\n")
	p.head("POST")
	_ = p.Close()
	if err := within(t, "the end", s.stream.ended); !errors.Is(err, carrier.ErrClientGone) {
		t.Errorf("ended with %v", err)
	}

	for _, last := range []error{nil, errors.New("the store is gone")} {
		s.stream = newStream()
		s.stream.last = last
		res := s.dial("GET" + head + "\r\n").head("GET")
		s.stream.batches <- []frontend.Event{event(1, "{}")}
		close(s.stream.batches)
		body, err := io.ReadAll(res.Body)
		if string(body) != "id: 1\ndata: {}\n\n" || (err == nil) != (last == nil) {
			t.Errorf("a stream that ended with %v: %q %v", last, body, err)
		}
	}
}

func within[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(5 * time.Second):
		t.Fatalf("%s: not within 5 s", what)
	}
	panic("unreachable")
}
