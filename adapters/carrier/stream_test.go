package carrier

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
)

const get = "GET /s HTTP/1.1\r\nHost: x\r\n\r\n"

func streaming(run func(ctx context.Context, w *Stream) error) Route {
	return Route{Method: "GET", Path: "/s", Handle: func(r *Request) error { return r.Stream("text/event-stream", run) }}
}

func TestStreamHeaders(t *testing.T) {
	s := serve(t, Options{}, streaming(func(ctx context.Context, w *Stream) error {
		<-ctx.Done() // silent: the headers must leave by themselves
		return nil
	}))
	resp := s.dial().send(get).head("GET")
	checkHeaders(t, resp.Header, map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform",
		"X-Accel-Buffering": "no", "Content-Length": "", "Connection": ""})
	if resp.StatusCode != 200 || resp.TransferEncoding[0] != "chunked" {
		t.Errorf("%d %v", resp.StatusCode, resp.TransferEncoding)
	}
}

// Two writes 50 ms apart arrive apart, each as one chunk.
func TestFramesArriveApart(t *testing.T) {
	s := serve(t, Options{}, streaming(func(ctx context.Context, w *Stream) error {
		_, _ = w.Write([]byte("data: 1\n\n"))
		_, _ = w.Write(nil) // nothing, not the end
		time.Sleep(50 * time.Millisecond)
		_, err := w.Write([]byte("data: 2\n\n"))
		return err
	}))
	p := s.dial().send(get)
	p.head("GET")
	p.wantChunk("data: 1\n\n")
	first := time.Now()
	p.wantChunk("data: 2\n\n")
	if d := time.Since(first); d < 30*time.Millisecond {
		t.Errorf("only %v apart", d)
	}
	p.wantChunk("")
	if _, body := p.send("GET /none HTTP/1.1\r\nHost: x\r\n\r\n").answer(); codeIn(t, body) != "not_found" {
		t.Errorf("the connection did not go on: %s", body)
	}
}

// countingConn counts the system calls of writes.
type countingListener struct {
	net.Listener
	n chan int
}

type countingConn struct {
	*net.TCPConn
	n chan int
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{c.(*net.TCPConn), l.n}, nil
}

func (c countingConn) Write(p []byte) (int, error) {
	c.n <- len(p)
	return c.TCPConn.Write(p)
}

func TestOneWriteOneSystemCall(t *testing.T) {
	calls := make(chan int, 100)
	s := serveOn(t, Options{}, func(ln net.Listener) net.Listener { return countingListener{ln, calls} },
		streaming(func(ctx context.Context, w *Stream) error {
			for _, n := range []int{9, 4000, 100_000} {
				for len(calls) > 0 {
					<-calls
				}
				if _, err := w.Write(make([]byte, n)); err != nil {
					return err
				}
				if got := len(calls); n < writeBuffer && got != 1 || got > 3 {
					return fmt.Errorf("%d bytes took %d calls", n, got)
				}
			}
			return nil
		}))
	p := s.dial().send(get)
	if _, err := io.ReadAll(p.head("GET").Body); err != nil {
		t.Errorf("the stream was cut: %v", err)
	}
}

// A client that leaves a silent stream is noticed, however it leaves.
func TestClientGone(t *testing.T) {
	for name, leave := range map[string]func(p *peer){
		"FIN":        func(p *peer) { _ = p.Close() },
		"half close": func(p *peer) { _ = p.Conn.(*net.TCPConn).CloseWrite() },
		"RST":        func(p *peer) { _ = p.Conn.(*net.TCPConn).SetLinger(0); _ = p.Close() },
		"pipelined then FIN": func(p *peer) {
			p.send(get)
			_ = p.Close()
		},
		"pipelined then RST": func(p *peer) {
			p.send(get)
			_ = p.Conn.(*net.TCPConn).SetLinger(0)
			_ = p.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			cause := make(chan error, 2)
			s := serve(t, Options{}, streaming(func(ctx context.Context, w *Stream) error {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return context.Cause(ctx)
			}))
			p := s.dial().send(get)
			p.head("GET")
			leave(p)
			if err := within(t, name, cause); !errors.Is(err, ErrClientGone) {
				t.Errorf("cause %v", err)
			}
		})
	}
}

func TestClientGoneUnderTLS(t *testing.T) {
	server, client := tlsPair(t)
	cause := make(chan error, 1)
	s := serveOn(t, Options{}, func(ln net.Listener) net.Listener { return tls.NewListener(ln, server) },
		streaming(func(ctx context.Context, w *Stream) error {
			_, _ = w.Write([]byte("hi"))
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return nil
		}))
	c, err := tls.Dial("tcp", s.addr, client)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{Conn: c, br: bufio.NewReader(c), t: t}
	p.send(get).head("GET")
	p.wantChunk("hi")
	_ = c.Close()
	if err := within(t, "TLS", cause); !errors.Is(err, ErrClientGone) {
		t.Errorf("cause %v", err)
	}
}

// What a client sends during a stream is its next request, whole.
func TestPipelinedSurvives(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, Options{}, streaming(func(ctx context.Context, w *Stream) error {
		<-release
		_, err := w.Write([]byte("x"))
		return err
	}), Route{Method: "POST", Path: "/p", Handle: echo, Raw: true})
	p := s.dial().send(get + "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none")
	p.head("GET")
	p.send("POST /p HTTP/1.1\r\nHost: x\r\nContent-Le")
	close(release)
	p.wantChunk("x")
	p.wantChunk("")
	if _, body := p.answer(); body != "one" {
		t.Errorf("first: %q", body)
	}
	if _, body := p.send("ngth: 3\r\n\r\ntwo").answer(); body != "two" {
		t.Errorf("second: %q", body)
	}
}

// Keepalives fill silence, between frames only, and stop when told.
func TestKeepAlive(t *testing.T) {
	s := serve(t, Options{}, streaming(func(ctx context.Context, w *Stream) error {
		w.KeepAlive(5*time.Millisecond, []byte(": k\n\n"))
		var both sync.WaitGroup
		for i := range 2 {
			both.Go(func() {
				for range 20 {
					_, _ = w.Write(fmt.Appendf(nil, "data: %s\n\n", strings.Repeat(fmt.Sprint(i), 9000)))
					time.Sleep(2 * time.Millisecond)
				}
			})
		}
		both.Wait()
		time.Sleep(30 * time.Millisecond)
		w.KeepAlive(0, nil)
		time.Sleep(20 * time.Millisecond)
		_, _ = w.Write([]byte("quiet\n\n"))
		time.Sleep(20 * time.Millisecond)
		w.KeepAlive(5*time.Millisecond, []byte(": again\n\n"))
		time.Sleep(20 * time.Millisecond)
		return nil
	}))
	p := s.dial().send(get)
	b, err := io.ReadAll(p.head("GET").Body)
	if err != nil {
		t.Fatal(err)
	}
	body, after, ok := strings.Cut(string(b), "quiet\n\n")
	if !ok || strings.Count(body, ": k\n\n") < 2 {
		t.Errorf("%d keepalives", strings.Count(body, ": k\n\n"))
	}
	frames := 0
	for f := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		switch {
		case f == ": k":
		case f == "data: "+strings.Repeat("0", 9000), f == "data: "+strings.Repeat("1", 9000):
			frames++
		default:
			t.Fatalf("a frame was broken: %.40q", f)
		}
	}
	if frames != 40 || !strings.HasPrefix(after, ": again\n\n") {
		t.Errorf("%d frames, then %.40q", frames, after)
	}
}

// A client that does not read is cut by the write deadline; others do not feel it.
func TestSlowReaderIsCut(t *testing.T) {
	slow := make(chan error, 1)
	s := serve(t, Options{WriteTimeout: 200 * time.Millisecond}, streaming(func(ctx context.Context, w *Stream) error {
		for {
			if _, err := w.Write(make([]byte, 32<<10)); err != nil {
				if _, again := w.Write([]byte("x")); again == nil {
					err = errors.New("a later write went through")
				}
				if ctx.Err() == nil {
					err = errors.New("the context went on")
				}
				slow <- err
				return err
			}
		}
	}), Route{Method: "GET", Path: "/ok", Handle: ok("{}")})
	p := s.dial().send(get)
	p.head("GET")
	other := s.dial()
	for {
		other.send("GET /ok HTTP/1.1\r\nHost: x\r\n\r\n").answer()
		select {
		case err := <-slow:
			var ne net.Error
			if !errors.Is(err, ErrClientGone) || !errors.As(err, &ne) || !ne.Timeout() {
				t.Errorf("%v", err)
			}
			if _, err := io.Copy(io.Discard, p.br); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("the cut stream ended with %v", err)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A stream that was silent longer than the deadline still ends well.
func TestSilentStreamEndsWell(t *testing.T) {
	s := serve(t, Options{WriteTimeout: 30 * time.Millisecond}, streaming(func(ctx context.Context, w *Stream) error {
		_, _ = w.Write([]byte("a"))
		time.Sleep(80 * time.Millisecond)
		return nil
	}), Route{Method: "GET", Path: "/ok", Handle: ok("{}")})
	p := s.dial().send(get)
	p.head("GET")
	p.wantChunk("a")
	p.wantChunk("")
	time.Sleep(60 * time.Millisecond)
	if _, body := p.send("GET /ok HTTP/1.1\r\nHost: x\r\n\r\n").answer(); body != "{}" {
		t.Errorf("next request: %q", body)
	}
}

// An error or a panic cuts the stream, and the process lives.
func TestStreamFails(t *testing.T) {
	fail := map[string]func() error{"error": func() error { return errors.New("no") }, "panic": func() error { panic("no") }}
	for name, end := range fail {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Options{}, streaming(func(ctx context.Context, w *Stream) error {
				w.KeepAlive(time.Millisecond, []byte(":\n\n"))
				_, _ = w.Write([]byte("a"))
				return end()
			}))
			for range 3 {
				p := s.dial().send(get)
				if _, err := io.ReadAll(p.head("GET").Body); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("the client read to the end: %v", err)
				}
			}
		})
	}
}

// A handler that fails after Stream answers with its fault; run only gives back.
func TestErrorAfterStream(t *testing.T) {
	s := serve(t, Options{}, Route{Method: "GET", Path: "/s", Handle: func(r *Request) error {
		_ = r.Stream("text/event-stream", func(ctx context.Context, _ *Stream) error {
			if ctx.Err() == nil {
				t.Error("ran with a live context")
			}
			return nil
		})
		return errors.New("changed my mind")
	}})
	resp, body := s.dial().send(get).answer()
	if resp.StatusCode != 500 || codeIn(t, body) != "internal" || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %v", resp.StatusCode, body, resp.Header)
	}
}

// Streams of many clients, half of them leaving at random points, never show each
// other's bytes (F103).
func TestStreamsDoNotMix(t *testing.T) {
	s := serve(t, Options{}, Route{Method: "GET", Path: "/s", Handle: func(r *Request) error {
		me := r.Query("me")
		return r.Stream("text/event-stream", func(ctx context.Context, w *Stream) error {
			w.KeepAlive(time.Millisecond, []byte(me+"\n"))
			for range 30 {
				if _, err := w.Write([]byte(strings.Repeat(me+"\n", 20))); err != nil {
					return err
				}
				time.Sleep(time.Millisecond)
			}
			return nil
		})
	}})
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			me := fmt.Sprintf("client-%d", i)
			c, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			_, _ = fmt.Fprintf(c, "GET /s?me=%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", me)
			br := bufio.NewReader(c)
			for n := 0; i%2 == 0 || n < i*5; n++ {
				line, err := br.ReadString('\n')
				if err != nil {
					return
				}
				if strings.HasPrefix(line, "client-") && line != me+"\n" {
					t.Errorf("%s read %q", me, line)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestLongPoll(t *testing.T) {
	cause := make(chan error, 1)
	s := serve(t, Options{}, Route{Method: "GET", Path: "/s", Handle: func(r *Request) error {
		limit := 20 * time.Millisecond
		if r.Query("long") != "" {
			limit = 0
		}
		ctx, _ := r.Context(limit)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return r.JSON(200, []byte("{}"))
	}})
	p := s.dial()
	for range 3 { // on one connection: the watch is given back
		p.send(get)
		if err := within(t, "the end of the wait", cause); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cause %v", err)
		}
		p.answer()
	}
	p.send("GET /s?long=1 HTTP/1.1\r\nHost: x\r\n\r\n")
	_ = p.Close()
	if err := within(t, "the client leaving", cause); !errors.Is(err, ErrClientGone) {
		t.Errorf("cause %v", err)
	}
	p = s.dial().send("GET /s?long=1 HTTP/1.1\r\nHost: x\r\n\r\n")
	time.Sleep(20 * time.Millisecond)
	why := errors.New("drain")
	s.CloseStreams(why)
	if err := within(t, "CloseStreams", cause); err != why {
		t.Errorf("cause %v", err)
	}
	p.answer()
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// What a handler has taken for a stream is given back when the stream never
// begins: here the handler fails after Stream.
func TestStreamThatNeverBegins(t *testing.T) {
	ran := make(chan error, 2)
	s := serve(t, Options{}, Route{Method: "GET", Path: "/", Handle: func(r *Request) error {
		err := r.Stream("text/event-stream", func(ctx context.Context, w *Stream) error {
			_, err := w.Write([]byte("data: x\n\n"))
			ran <- errors.Join(context.Cause(ctx), err)
			return err
		})
		if err != nil {
			return err
		}
		return fault.New(fault.Overloaded, "no")
	}})
	res, err := http.Get("http://" + s.addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 503 {
		t.Errorf("status %d, want 503", res.StatusCode)
	}
	select {
	case err := <-ran:
		if !errors.Is(err, ErrClientGone) || !errors.Is(err, errStreamEnded) {
			t.Errorf("run saw %v", err)
		}
	case <-time.After(2 * time.Second):
		t.Fatal("run was not called")
	}
	if len(ran) != 0 {
		t.Error("run was called twice")
	}
}
