package carrier

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func echo(r *Request) error { return r.Send(200, "application/octet-stream", r.Body()) }

// A body over the limit is told so, to a client that writes before it reads: no
// reset, with a length and in chunks (F087).
func TestTooLargeIsClean(t *testing.T) {
	s := serve(t, Options{MaxBody: 1 << 20}, Route{Method: "POST", Path: "/", Handle: echo, Body: true})
	for _, size := range []int{2 << 20, 10 << 20} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d MiB chunked=%v", size>>20, chunked), func(t *testing.T) {
				for range 10 {
					status, body, err := post(s.addr, size, chunked, "")
					if err != nil || status != 413 || codeIn(t, body) != "body_too_large" || !strings.Contains(body, "1048576") {
						t.Fatalf("%d %q %v", status, body, err)
					}
				}
			})
		}
	}
}

func post(addr string, size int, chunked bool, key string) (int, string, error) {
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	var body io.Reader = bytes.NewReader(make([]byte, size))
	if chunked {
		body = struct{ io.Reader }{body}
	}
	req, err := http.NewRequest("POST", "http://"+addr+"/", body)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}
	resp, err := (&http.Client{Transport: tr, Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// 401 comes while the body is still to be sent (F070), in both framings.
func TestUnauthenticatedBeforeBody(t *testing.T) {
	s := serve(t, Options{Authenticate: keyed, MaxBody: 32 << 20}, Route{Method: "POST", Path: "/", Handle: echo, Body: true})
	for _, framing := range []string{"Content-Length: 20000000\r\n", "Transfer-Encoding: chunked\r\n"} {
		resp, body := s.dial().send("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + framing + "\r\n").answer()
		if resp.StatusCode != 401 || codeIn(t, body) != "unauthenticated" || !resp.Close {
			t.Errorf("%s: %d %s", framing, resp.StatusCode, body)
		}
	}
	for range 5 {
		if status, body, err := post(s.addr, 20_000_000, false, ""); err != nil || status != 401 {
			t.Fatalf("%d %q %v", status, body, err)
		}
	}
	if status, _, err := post(s.addr, 5<<20, true, "good"); err != nil || status != 200 {
		t.Fatalf("with a credential: %d %v", status, err)
	}
}

func TestExpectContinue(t *testing.T) {
	s := serve(t, Options{}, Route{Method: "POST", Path: "/", Handle: echo, Raw: true})
	p := s.dial().send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
	if resp := p.head("POST"); resp.StatusCode != 100 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	if _, body := p.send("hello").answer(); body != "hello" {
		t.Fatalf("%q", body)
	}
}

// A kept body is nobody else's buffer (F103).
func TestBodyIsOwned(t *testing.T) {
	var kept [][]byte
	s := serve(t, Options{}, Route{Method: "POST", Path: "/", Raw: true, Handle: func(r *Request) error {
		kept = append(kept, r.Body())
		return r.Send(200, "text/plain", r.Body())
	}})
	p := s.dial()
	for i := range 20 {
		want := strings.Repeat(fmt.Sprint(i%10), 100)
		if _, body := p.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + want).answer(); body != want {
			t.Fatalf("%q", body)
		}
	}
	for i, b := range kept {
		if want := strings.Repeat(fmt.Sprint(i%10), 100); string(b) != want {
			t.Fatalf("body %d turned into %q", i, b)
		}
	}
}

// A request that breaks off is answered or ended, and leaves nothing behind (serve
// looks for heads never taken).
func TestBrokenOff(t *testing.T) {
	s := serve(t, Options{}, Route{Method: "POST", Path: "/", Handle: echo, Raw: true})
	const head = "POST / HTTP/1.1\r\nHost: x\r\n"
	for _, in := range []string{
		"POST / HT", head, head + "Content-Length: 10\r\n\r\n123",
		head + "Transfer-Encoding: chunked\r\n\r\n", head + "Transfer-Encoding: chunked\r\n\r\n3\r\nab", head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
	} {
		p := s.dial().send(in)
		_ = p.Conn.(*net.TCPConn).CloseWrite()
		if resp, body := p.answer(); resp.StatusCode != 400 || codeIn(t, body) != "invalid_request" {
			t.Errorf("%q: %d", in, resp.StatusCode)
		}
	}
}

// A client that drips is answered 408, in the head, in a body, and between chunks.
func TestDripping(t *testing.T) {
	s, err := New(Options{}, []Route{{Method: "POST", Path: "/", Handle: echo, Raw: true}})
	if err != nil {
		t.Fatal(err)
	}
	s.fh.ReadTimeout, s.bodyTimeout = 60*time.Millisecond, 60*time.Millisecond
	st := start(t, s, func(ln net.Listener) net.Listener { return ln })
	const head = "POST / HTTP/1.1\r\nHost: x\r\n"
	for _, in := range []string{head, head + "Content-Length: 9\r\n\r\n1", head + "Transfer-Encoding: chunked\r\n\r\n",
		head + "Transfer-Encoding: chunked\r\n\r\n2;", head + "Transfer-Encoding: chunked\r\n\r\n2\r\n1", head + "Transfer-Encoding: chunked\r\n\r\n0\r\n"} {
		if resp, body := st.dial().send(in).answer(); resp.StatusCode != 408 || codeIn(t, body) != "invalid_request" {
			t.Errorf("%q: %d %s", in, resp.StatusCode, body)
		}
	}
}

// Trailer fields come after the checks and must not add to them.
func TestTrailersAreNoHeaders(t *testing.T) {
	s := serve(t, Options{}, Route{Method: "POST", Path: "/", Raw: true, Handle: func(r *Request) error {
		return r.Send(200, "text/plain", []byte(r.Header("X-Late")+"|"+r.Header("X-Early")))
	}})
	in := "POST / HTTP/1.1\r\nHost: x\r\nX-Early: e\r\nTrailer: X-Late\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Late: l\r\n\r\n"
	if _, body := s.dial().send(in).answer(); body != "|e" {
		t.Errorf("%q", body)
	}
}

func TestHead(t *testing.T) {
	s := serve(t, Options{}, Route{Method: "GET", Path: "/", Handle: ok(`{"a":1}`)},
		Route{Method: "GET", Path: "/s", Handle: func(r *Request) error { return r.Stream("text/event-stream", nil) }})
	p := s.dial()
	for path, status := range map[string]int{"/": 200, "/s": 200, "/none": 404} {
		resp := p.send("HEAD " + path + " HTTP/1.1\r\nHost: x\r\n\r\n").head("HEAD")
		if resp.StatusCode != status {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	if resp := p.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").head("HEAD"); resp.ContentLength != 7 {
		t.Errorf("length %d", resp.ContentLength)
	}
}

func TestSetHeader(t *testing.T) {
	s := serve(t, Options{}, Route{Method: "GET", Path: "/", Handle: func(r *Request) error {
		for _, bad := range []string{"a\rb", "a\nb", "a\x00b"} {
			if r.SetHeader("X-A", bad) == nil {
				t.Errorf("%q was taken", bad)
			}
		}
		if r.SetHeader("X A", "v") == nil {
			t.Error("a bad name was taken")
		}
		if err := r.SetHeader("Vary", "Accept"); err != nil {
			t.Error(err)
		}
		r.NoContent()
		return nil
	}})
	resp, _ := s.dial().send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").answer()
	checkHeaders(t, resp.Header, map[string]string{"X-A": "", "Vary": "Origin, Accept"})
	if resp.StatusCode != 204 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func tlsPair(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	cert := selfSigned(t)
	return &tls.Config{Certificates: []tls.Certificate{cert}}, &tls.Config{InsecureSkipVerify: true}
}
