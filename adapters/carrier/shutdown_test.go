package carrier

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// CloseStreams lets run write a last frame; Shutdown waits for it.
func TestDrain(t *testing.T) {
	why := errors.New("drain")
	s := serve(t, Options{}, streaming(func(ctx context.Context, w *Stream) error {
		_, _ = w.Write([]byte("first"))
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond)
		_, err := w.Write([]byte(context.Cause(ctx).Error()))
		return err
	}))
	p := s.dial().send(get)
	p.head("GET")
	p.wantChunk("first")
	ended := make(chan error, 1)
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		ended <- s.Shutdown(ctx)
	}()
	select {
	case err := <-ended:
		t.Fatalf("Shutdown did not wait for the stream: %v", err)
	case <-time.After(150 * time.Millisecond):
	}
	s.CloseStreams(why)
	p.wantChunk("drain")
	p.wantChunk("")
	if err := within(t, "Shutdown", ended); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if _, err := net.DialTimeout("tcp", s.addr, time.Second); err == nil {
		t.Error("still accepting")
	}
}

// A stream that begins after CloseStreams is told at once.
func TestCloseStreamsStays(t *testing.T) {
	why := errors.New("drain")
	s := serve(t, Options{}, streaming(func(ctx context.Context, w *Stream) error {
		<-ctx.Done()
		_, err := w.Write([]byte(context.Cause(ctx).Error()))
		return err
	}))
	s.CloseStreams(why)
	if _, body := s.dial().send(get).answer(); body != "drain" {
		t.Errorf("%q", body)
	}
}

// Shutdown out of time cuts streams, half requests and sockets alike.
func TestShutdownCuts(t *testing.T) {
	cause := make(chan error, 1)
	s := serve(t, Options{}, streaming(func(ctx context.Context, w *Stream) error {
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil
	}))
	p := s.dial().send(get)
	p.head("GET")
	half := s.dial().send("GET /s HT")
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	if err := within(t, "the stream", cause); !errors.Is(err, ErrShutdown) {
		t.Errorf("cause %v", err)
	}
	if _, err := io.ReadAll(half.br); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("half a request: %v", err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Errorf("second Shutdown: %v", err)
	}
}

func TestShutdownBeforeServe(t *testing.T) {
	s, err := New(Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(ln); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		t.Error("listening after Shutdown")
	}
}

func TestUpgrade(t *testing.T) {
	s := serve(t, Options{}, Route{Method: "GET", Path: "/ws", Handle: func(r *Request) error {
		if err := r.SetHeader("Sec-WebSocket-Accept", "abc"); err != nil {
			return err
		}
		return r.Upgrade("websocket", func(c net.Conn) {
			b := make([]byte, 5)
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			if string(b) == "panic" {
				panic("socket")
			}
			_, _ = c.Write(bytes.ToUpper(b))
		})
	}})
	const up = "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n"
	p := s.dial().send(up + "early") // bytes right behind the head
	resp := p.head("GET")
	checkHeaders(t, resp.Header, map[string]string{"Upgrade": "websocket", "Connection": "Upgrade", "Sec-Websocket-Accept": "abc"})
	if b, err := io.ReadAll(p.br); resp.StatusCode != 101 || string(b) != "EARLY" || err != nil {
		t.Errorf("%d %q %v", resp.StatusCode, b, err)
	}
	p = s.dial().send(up)
	p.head("GET")
	if b, err := io.ReadAll(p.send("panic").br); len(b) != 0 || err != nil {
		t.Errorf("%q %v", b, err)
	}
	if resp, body := s.dial().send("GET /ws HTTP/1.1\r\nHost: x\r\n\r\n").answer(); resp.StatusCode != 400 || codeIn(t, body) != "invalid_request" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	p = s.dial().send(up)
	p.head("GET")
	ctx, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer stop()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown did not wait for a socket: %v", err)
	}
	if b, err := io.ReadAll(p.br); len(b) != 0 {
		t.Errorf("%q %v", b, err)
	}
}

// The log holds ids and patterns, no secret, query or body [DATA-3] [SEC-5].
func TestLog(t *testing.T) {
	var out lockedBuffer
	s := serve(t, Options{Authenticate: keyed, Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))},
		Route{Method: "POST", Path: "/r/{token}", Handle: echo, Raw: true}, streaming(func(context.Context, *Stream) error { return nil }))
	p := s.dial()
	p.send("POST /r/tok-SECRET?q=SECRET HTTP/1.1\r\nHost: SECRET\r\nX-Request-Id: id-1\r\nCookie: SECRET\r\n" + auth + "Content-Length: 6\r\n\r\nSECRET").answer()
	p.send("GET /s?q=SECRET HTTP/1.1\r\nHost: x\r\nX-Request-Id: id-2\r\n" + auth + "\r\n").answer()
	p.send("POST /r/tok-SECRET HTTP/1.1\r\nHost: x\r\nX-Request-Id: id-3\r\nX-API-Key: SECRET\r\n\r\n").answer()
	s.dial().send("SECRET\r\n\r\n").answer()
	got := out.String()
	for _, want := range []string{"request_id=id-1", "request_id=id-2", "request_id=id-3", "route=/r/{token}", "code=unauthenticated", "key=k1", "code=invalid_request"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "SECRET") || strings.Contains(got, "good") {
		t.Errorf("the log tells too much:\n%s", got)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
