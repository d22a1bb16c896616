package carrier

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/valyala/fasthttp"
	"go.uber.org/goleak"
)

// The engine keeps two kinds of goroutines nobody can end: one clock for the Date
// header of the process, and per server a sweeper that sleeps out its last 10 s.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// site is a server on a loopback port that shuts down with the test.
type site struct {
	*Server
	addr string
	t    *testing.T
}

func serve(t *testing.T, o Options, list ...Route) *site {
	t.Helper()
	return serveOn(t, o, func(ln net.Listener) net.Listener { return ln }, list...)
}

func serveOn(t *testing.T, o Options, wrap func(net.Listener) net.Listener, list ...Route) *site {
	t.Helper()
	s, err := New(o, list)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, s, wrap)
}

func start(t *testing.T, s *Server, wrap func(net.Listener) net.Listener) *site {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	done := make(chan error, 1)
	go func() { done <- s.Serve(wrap(ln)) }()
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer stop()
		_ = s.Shutdown(ctx)
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if n := len(s.pending.heads); n != 0 {
			t.Errorf("%d heads were never taken", n)
		}
		if n := len(s.live.holds); n != 0 {
			t.Errorf("%d holds were never closed", n)
		}
	})
	return &site{Server: s, addr: addr, t: t}
}

// peer is a raw client.
type peer struct {
	net.Conn
	br *bufio.Reader
	t  *testing.T
}

func (s *site) dial() *peer {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	s.t.Cleanup(func() { _ = c.Close() })
	return &peer{Conn: c, br: bufio.NewReader(c), t: s.t}
}

func (p *peer) send(s string) *peer {
	p.t.Helper()
	if _, err := io.WriteString(p, s); err != nil {
		p.t.Fatal(err)
	}
	return p
}

// head reads status line and headers.
func (p *peer) head(method string) *http.Response {
	p.t.Helper()
	resp, err := http.ReadResponse(p.br, &http.Request{Method: method})
	if err != nil {
		p.t.Fatalf("no answer: %v", err)
	}
	return resp
}

func (p *peer) answer() (*http.Response, string) {
	p.t.Helper()
	resp := p.head("GET")
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatalf("body: %v", err)
	}
	return resp, string(b)
}

// chunk reads one chunk as it stands on the wire.
func (p *peer) chunk() (string, error) {
	line, err := p.br.ReadString('\n')
	if err != nil {
		return "", err
	}
	n := 0
	for _, c := range strings.TrimSpace(line) {
		d, ok := unhex(byte(c))
		if !ok {
			return "", errors.New("bad chunk line " + line)
		}
		n = n<<4 | int(d)
	}
	b := make([]byte, n+2)
	_, err = io.ReadFull(p.br, b)
	return string(b[:n]), err
}

func (p *peer) wantChunk(want string) {
	p.t.Helper()
	got, err := p.chunk()
	if err != nil || got != want {
		p.t.Fatalf("chunk %q, %v; want %q", got, err, want)
	}
}

func ok(body string) Handler {
	return func(r *Request) error { return r.JSON(200, []byte(body)) }
}

// keyed knows one caller, by the secret "good".
func keyed(h *fasthttp.RequestHeader) (principal.Principal, error) {
	secret, err := Credential(h)
	if err != nil {
		return principal.Principal{}, err
	}
	if secret != "good" {
		return principal.Principal{}, errors.New("unknown secret")
	}
	return principal.Principal{Tenant: "acme", Subject: "ann", Key: "k1"}, nil
}

func codeIn(t *testing.T, body string) string {
	t.Helper()
	var b struct {
		Error struct {
			Code      string `json:"code"`
			RequestID string `json:"request_id"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &b); err != nil || b.Error.RequestID == "" {
		t.Fatalf("not an error body: %q (%v)", body, err)
	}
	return b.Error.Code
}

// within waits for ch, at most a second.
func within[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(time.Second):
		t.Fatalf("%s: not within a second", what)
	}
	panic("unreachable")
}

type rejections struct{ n atomic.Int64 }

func (j *rejections) count(fault.Code, string) { j.n.Add(1) }
