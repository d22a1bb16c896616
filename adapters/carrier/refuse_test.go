package carrier

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/valyala/fasthttp"
)

const auth = "Authorization: Bearer good\r\n"

func refusalSite(t *testing.T, rejected *rejections) *site {
	vendor := func(f *fault.Error, id string) (int, []byte) {
		return 404, fmt.Appendf(nil, `{"detail":%q,"error":{"code":"vendor","request_id":%q}}`, f.Code, id)
	}
	stream := func(r *Request) error { return r.Stream("text/event-stream", nil) }
	return serve(t, Options{
		Policy:       Policy{LoopbackOnly: true, Hosts: []string{"gate.example"}, Origins: []string{"https://app.example"}, Credentials: true},
		Authenticate: keyed, Rejected: rejected.count, MaxBody: 1000,
	},
		Route{Method: "GET", Path: "/open", Handle: ok("{}"), Public: true},
		Route{Method: "POST", Path: "/json", Handle: ok("{}"), Body: true},
		Route{Method: "POST", Path: "/raw", Handle: ok("{}"), Raw: true, MaxBody: 10},
		Route{Method: "GET", Path: "/x/{id}", Handle: func(r *Request) error {
			return fault.New(fault.ThreadBusy, "busy").At("/threadId")
		}},
		Route{Method: "GET", Path: "/rate", Handle: func(*Request) error {
			return &fault.Error{Code: fault.RateLimited, Message: "slow down", RetryAfter: 1500 * time.Millisecond}
		}},
		Route{Method: "GET", Path: "/plain", Handle: func(*Request) error { return errors.New("secret cause") }},
		Route{Method: "GET", Path: "/panic", Handle: func(*Request) error { panic("secret panic") }},
		Route{Method: "GET", Path: "/vendor", Refuse: vendor, Handle: func(*Request) error { return fault.New(fault.NotOwner, "no") }},
		Route{Method: "GET", Path: "/badvendor", Refuse: func(*fault.Error, string) (int, []byte) { panic("vendor") },
			Handle: func(*Request) error { return fault.New(fault.NotOwner, "no") }},
		Route{Method: "GET", Path: "/stream", Handle: stream},
		Route{Method: "POST", Path: "/form", Handle: ok("{}"), Raw: true, Public: true, AnyOrigin: true},
	)
}

// Every refusal as bytes in and status, code and headers out.
func TestRefusals(t *testing.T) {
	const (
		host  = "Host: localhost\r\n"
		json  = "Content-Type: application/json\r\n"
		chunk = "Transfer-Encoding: chunked\r\n"
	)
	for _, c := range []struct {
		name, in string
		status   int
		code     string
		more     string // "Header: value" that must be there
	}{
		{"not found", "GET /nope HTTP/1.1\r\n" + host + "\r\n", 404, "not_found", ""},
		{"not found before auth is not asked", "GET /x HTTP/1.1\r\n" + host + "\r\n", 404, "not_found", ""},
		{"wrong method", "DELETE /x/1 HTTP/1.1\r\n" + host + auth + "\r\n", 405, "method_not_allowed", "Allow: GET, HEAD, OPTIONS"},
		{"no credential", "GET /x/1 HTTP/1.1\r\n" + host + "\r\n", 401, "unauthenticated", "WWW-Authenticate: Bearer"},
		{"wrong credential", "GET /x/1 HTTP/1.1\r\n" + host + "X-API-Key: bad\r\n\r\n", 401, "unauthenticated", "WWW-Authenticate: Bearer"},
		{"basic is none", "GET /x/1 HTTP/1.1\r\n" + host + "Authorization: Basic Z29vZA==\r\n\r\n", 401, "unauthenticated", ""},
		{"two credentials", "GET /x/1 HTTP/1.1\r\n" + host + auth + "xi-api-key: other\r\n\r\n", 401, "unauthenticated", ""},
		{"two of a kind", "GET /x/1 HTTP/1.1\r\n" + host + "X-API-Key: good\r\nX-API-Key: bad\r\n\r\n", 401, "unauthenticated", ""},
		{"two of two kinds", "GET /x/1 HTTP/1.1\r\n" + host + auth + "Sec-WebSocket-Protocol: a, bearer.bad\r\n\r\n", 401, "unauthenticated", ""},
		{"handler's fault, socket protocol", "GET /x/1 HTTP/1.1\r\n" + host + "Sec-WebSocket-Protocol: a, bearer.good\r\n\r\n", 409, "thread_busy", ""},
		{"handler's fault, x-api-key", "GET /x/1 HTTP/1.1\r\n" + host + "X-API-Key: good\r\n\r\n", 409, "thread_busy", ""},
		{"handler's fault, xi-api-key twice the same", "GET /x/1 HTTP/1.1\r\n" + host + "xi-api-key: good\r\n" + auth + "\r\n", 409, "thread_busy", ""},
		{"retry after", "GET /rate HTTP/1.1\r\n" + host + auth + "\r\n", 429, "rate_limited", "Retry-After: 2"},
		{"plain error", "GET /plain HTTP/1.1\r\n" + host + auth + "\r\n", 500, "internal", ""},
		{"panic", "GET /panic HTTP/1.1\r\n" + host + auth + "\r\n", 500, "internal", ""},
		{"vendor body", "GET /vendor HTTP/1.1\r\n" + host + auth + "\r\n", 404, "vendor", "X-Aguigate-Code: not_owner"},
		{"vendor body panics", "GET /badvendor HTTP/1.1\r\n" + host + auth + "\r\n", 500, "internal", ""},
		{"stream for 1.0", "GET /stream HTTP/1.0\r\n" + host + auth + "\r\n", 400, "invalid_request", ""},
		{"bad escape", "GET /x/%zz HTTP/1.1\r\n" + host + auth + "\r\n", 400, "invalid_request", ""},
		{"cut escape", "GET /x/%2 HTTP/1.1\r\n" + host + auth + "\r\n", 400, "invalid_request", ""},
		{"foreign host", "GET /open HTTP/1.1\r\nHost: evil.test\r\n\r\n", 403, "forbidden", ""},
		{"no host on 1.0", "GET /open HTTP/1.0\r\n\r\n", 403, "forbidden", ""},
		{"foreign origin", "GET /open HTTP/1.1\r\n" + host + "Origin: https://evil.test\r\n\r\n", 403, "origin_refused", "Vary: Origin"},
		{"null origin", "GET /open HTTP/1.1\r\n" + host + "Origin: null\r\n\r\n", 403, "origin_refused", ""},
		{"origin of another port", "GET /open HTTP/1.1\r\nHost: localhost:80\r\nOrigin: http://localhost:81\r\n\r\n", 403, "origin_refused", ""},
		{"no media type", "POST /json HTTP/1.1\r\n" + host + auth + "Content-Length: 2\r\n\r\n{}", 415, "unsupported_media_type", ""},
		{"form", "POST /json HTTP/1.1\r\n" + host + auth + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n\r\n{}", 415, "unsupported_media_type", ""},
		{"text that looks like it", "POST /json HTTP/1.1\r\n" + host + auth + "Content-Type: text/plain; application/json\r\nContent-Length: 2\r\n\r\n{}", 415, "unsupported_media_type", ""},
		{"another charset", "POST /json HTTP/1.1\r\n" + host + auth + "Content-Type: application/json; charset=latin1\r\nContent-Length: 2\r\n\r\n{}", 415, "unsupported_media_type", ""},
		{"too long", "POST /json HTTP/1.1\r\n" + host + auth + json + "Content-Length: 1001\r\n\r\n", 413, "body_too_large", ""},
		{"too long for the route", "POST /raw HTTP/1.1\r\n" + host + auth + "Content-Length: 11\r\n\r\n", 413, "body_too_large", ""},
		{"chunks too long", "POST /raw HTTP/1.1\r\n" + host + auth + chunk + "\r\n9\r\n123456789\r\n2\r\n12\r\n0\r\n\r\n", 413, "body_too_large", ""},
		{"too long, asks first", "POST /json HTTP/1.1\r\n" + host + auth + json + "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n", 413, "body_too_large", ""},
		{"no credential, asks first", "POST /json HTTP/1.1\r\n" + host + json + "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n", 401, "unauthenticated", ""},
		{"broken chunk", "POST /raw HTTP/1.1\r\n" + host + auth + chunk + "\r\nzz\r\n", 400, "invalid_request", ""},
		{"garbage", "\x16\x03\x01\r\n\r\n", 400, "invalid_request", ""},
		{"huge head", "GET /open HTTP/1.1\r\n" + host + "X-A: " + strings.Repeat("a", headLimit) + "\r\n\r\n", 431, "invalid_request", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var rejected rejections
			p := refusalSite(t, &rejected).dial().send(c.in)
			resp, body := p.answer()
			if got := codeIn(t, body); resp.StatusCode != c.status || got != c.code {
				t.Fatalf("%d %s, want %d %s", resp.StatusCode, got, c.status, c.code)
			}
			h := resp.Header
			if h.Get("X-Aguigate-Code") == "" || h.Get("X-Request-Id") == "" || h.Get("Content-Type") != "application/json" ||
				h.Get("Vary") != "Origin" || h.Get("Server") != "" || h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers: %v", h)
			}
			if !strings.Contains(body, h.Get("X-Request-Id")) {
				t.Errorf("body without the request id: %s", body)
			}
			if name, value, ok := strings.Cut(c.more, ": "); ok && h.Get(name) != value {
				t.Errorf("%s: %q, want %q", name, h.Get(name), value)
			}
			if strings.Contains(body, "secret") || strings.Contains(body, "carrier") {
				t.Errorf("the body tells too much: %s", body)
			}
			if n := rejected.n.Load(); n != 1 {
				t.Errorf("Rejected called %d times", n)
			}
		})
	}
}

// The head limit, the codes of the limit and the 405 are the same for what passes.
func TestAccepted(t *testing.T) {
	const host = "Host: localhost:1\r\n"
	for _, c := range []struct{ name, in, body string }{
		{"public needs nothing", "GET /open HTTP/1.1\r\n" + host + "\r\n", "{}"},
		{"absolute target", "GET http://localhost:1/open HTTP/1.1\r\n" + host + "\r\n", "{}"},
		{"HTTP/1.0", "GET /open HTTP/1.0\r\n" + host + "\r\n", "{}"},
		{"own origin", "GET /open HTTP/1.1\r\n" + host + "Origin: http://LOCALHOST:1\r\n\r\n", "{}"},
		{"configured host", "GET /open HTTP/1.1\r\nHost: GATE.example:8080\r\n\r\n", "{}"},
		{"own origin with default port", "GET /open HTTP/1.1\r\nHost: gate.example\r\nOrigin: https://gate.example:443\r\n\r\n", "{}"},
		{"loopback address", "GET /open HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", "{}"},
		{"json", "POST /json HTTP/1.1\r\n" + host + auth + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", "{}"},
		{"json with charset", "POST /json HTTP/1.1\r\n" + host + auth + "Content-Type: Application/JSON; charset=\"UTF-8\"\r\nContent-Length: 2\r\n\r\n{}", "{}"},
		{"empty body needs no type", "POST /json HTTP/1.1\r\n" + host + auth + "Content-Length: 0\r\n\r\n", "{}"},
		{"exactly the limit", "POST /raw HTTP/1.1\r\n" + host + auth + "Content-Length: 10\r\n\r\n0123456789", "{}"},
		{"exactly the limit, chunked", "POST /raw HTTP/1.1\r\n" + host + auth + "Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n", "{}"},
		{"page with its own token", "POST /form HTTP/1.1\r\n" + host + "Origin: null\r\nContent-Length: 3\r\n\r\na=b", "{}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var rejected rejections
			resp, body := refusalSite(t, &rejected).dial().send(c.in).answer()
			if resp.StatusCode != 200 || body != c.body || rejected.n.Load() != 0 {
				t.Errorf("%d %q", resp.StatusCode, body)
			}
		})
	}
}

// What a proxy in front could read in another way (RFC 9112 §11.2).
func TestSmuggling(t *testing.T) {
	var rejected rejections
	s := refusalSite(t, &rejected)
	const post = "POST /raw HTTP/1.1\r\nHost: localhost\r\n" + auth
	const tail = "GET /open HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, in := range map[string]string{
		"length and coding":      post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
		"coding and length":      post + "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nX",
		"lower case":             post + "transfer-encoding: chunked\r\ncontent-length: 6\r\n\r\n0\r\n\r\nX",
		"identity":               post + "Transfer-Encoding: identity\r\nContent-Length: 1\r\n\r\nX",
		"identity alone":         post + "Transfer-Encoding: identity\r\n\r\n",
		"folded":                 post + "X-A: a\r\n b\r\nContent-Length: 0\r\n\r\n",
		"folded length":          post + "Content-Length:\r\n 1\r\n\r\nX",
		"bare LF":                post + "X-A: a\nContent-Length: 0\r\n\r\n",
		"bare LF ends the head":  post + "X-A: a\n\n" + tail,
		"space in a name":        post + "X A: a\r\nContent-Length: 0\r\n\r\n",
		"space before the colon": post + "Content-Length : 0\r\n\r\n",
		"two lengths":            post + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
		"two hosts":              post + "Host: localhost\r\n\r\n",
		"two origins":            post + "Origin: http://localhost\r\nOrigin: http://localhost\r\n\r\n",
		"two identities":         post + "X-Aguigate-Identity: a\r\nx-aguigate-identity: b\r\n\r\n",
		"other authority":        "GET http://evil.test/open HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"unknown version":        "GET /open HTTP/1.2\r\nHost: localhost\r\n\r\n",
		"connect":                "CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := s.dial().send(in)
			resp, body := p.answer()
			if got := codeIn(t, body); resp.StatusCode != 400 || got != "invalid_request" || !resp.Close {
				t.Errorf("%d %s close=%v", resp.StatusCode, got, resp.Close)
			}
			if rest, err := io.ReadAll(p.br); len(rest) != 0 || err != nil {
				t.Errorf("something answered the rest: %q %v", rest, err)
			}
		})
	}
}

func TestRequestID(t *testing.T) {
	s := serve(t, Options{}, Route{Method: "GET", Path: "/", Handle: func(r *Request) error { return r.JSON(200, []byte(r.ID)) }})
	made := regexp.MustCompile(`^[0-9a-f]{32}$`)
	for in, taken := range map[string]bool{
		"abc-DEF_1.2": true, strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false, "a b": false, "a/b": false, "é": false, "": false,
	} {
		resp, body := s.dial().send("GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: " + in + "\r\n\r\n").answer()
		if h := resp.Header.Get("X-Request-Id"); h != body || taken && h != in || !taken && !made.MatchString(h) {
			t.Errorf("%q: header %q, handler %q", in, h, body)
		}
	}
}

func TestHooks(t *testing.T) {
	draining := fault.New(fault.Draining, "shutting down")
	s := serve(t, Options{Admit: func() error { return draining }, Authenticate: func(h *fasthttp.RequestHeader) (principal.Principal, error) {
		switch string(h.Peek("X-Api-Key")) {
		case "panic":
			panic("hook")
		case "nobody":
			return principal.Principal{}, nil
		case "outage":
			return principal.Principal{}, fault.New(fault.StoreUnavailable, "later")
		}
		return principal.Anonymous, nil
	}}, Route{Method: "GET", Path: "/", Handle: ok("{}")}, Route{Method: "GET", Path: "/p", Handle: ok("{}"), Public: true})
	for key, want := range map[string]string{"panic": "internal", "nobody": "unauthenticated", "outage": "store_unavailable", "fine": "draining"} {
		_, body := s.dial().send("GET / HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\n\r\n").answer()
		if got := codeIn(t, body); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if resp, _ := s.dial().send("GET /p HTTP/1.1\r\nHost: x\r\n\r\n").answer(); resp.StatusCode != 200 {
		t.Errorf("public route: %d", resp.StatusCode)
	}
}

// One rule for all routes (F072), and a refusal without a body keeps the connection.
func TestEveryRouteAuthenticates(t *testing.T) {
	var rejected rejections
	s := refusalSite(t, &rejected)
	p := s.dial()
	for _, r := range s.Routes() {
		p.send(r.Method + " " + strings.ReplaceAll(r.Path, "{id}", "1") + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if resp, _ := p.answer(); !r.Public && r.Refuse == nil && resp.StatusCode != 401 {
			t.Errorf("%s %s: %d without a credential", r.Method, r.Path, resp.StatusCode)
		}
	}
}
