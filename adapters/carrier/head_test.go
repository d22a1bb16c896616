package carrier

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/valyala/fasthttp"
)

// Whatever head the engine lets through, judging it does not panic; one that is let
// in holds no bare LF, no folded line, and one framing.
func FuzzHead(f *testing.F) {
	const get, host = "GET /agents/a HTTP/1.1\r\n", "Host: localhost\r\n"
	for _, in := range []string{
		get + host, get + host + "X-A: a\r\n b\r\n", get + host + "X-A: a\nX-B: b\r\n", get + host + "Origin: http://localhost\r\n",
		get + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", get + host + "Authorization: Bearer x\r\nX-API-Key: y\r\n",
		"OPTIONS * HTTP/1.1\r\n" + host, "GET http://[::1]:1/a HTTP/1.1\r\nHost: [::1]:1\r\n", get + "Host: [::1\r\nOrigin: ://\r\n",
	} {
		f.Add(in)
	}
	s := &Server{opt: withDefaults(Options{}), routes: someRoutes(f)}
	p, err := newPolicy(Policy{LoopbackOnly: true, Origins: []string{"https://app.example"}, Credentials: true})
	if err != nil {
		f.Fatal(err)
	}
	s.policy.Store(p)
	f.Fuzz(func(t *testing.T, in string) {
		var h fasthttp.RequestHeader
		if h.Read(bufio.NewReader(strings.NewReader(in+"\r\n"))) != nil {
			return
		}
		r := s.newRequest(&h)
		fa := s.judgeSafely(r, &h)
		if fa != nil {
			if fa.Code == fault.Internal {
				t.Fatal(fa)
			}
			return
		}
		raw := h.RawHeaders()
		plain := bytes.ReplaceAll(raw, []byte("\r\n"), nil)
		if bytes.ContainsRune(plain, '\n') || bytes.Contains(raw, []byte("\n ")) || bytes.Contains(raw, []byte("\n\t")) {
			t.Fatalf("let in: %q", raw)
		}
		low := bytes.ToLower(raw)
		if bytes.Contains(low, []byte("\ncontent-length:")) && bytes.Contains(low, []byte("\ntransfer-encoding:")) {
			t.Fatalf("two framings: %q", raw)
		}
	})
}
