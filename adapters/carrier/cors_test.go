package carrier

import (
	"context"
	"net/http"
	"testing"

	"github.com/aguigate/aguigate/protocol/fault"
)

func corsRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/a", Handle: func(r *Request) error {
			if err := r.SetHeader("X-Aguigate-Note", "n"); err != nil {
				return err
			}
			return r.JSON(200, []byte("{}"))
		}},
		{Method: "POST", Path: "/a", Handle: ok("{}"), Body: true},
		{Method: "GET", Path: "/refuse", Handle: func(*Request) error { return fault.New(fault.RunConflict, "no") }},
		{Method: "GET", Path: "/stream", Handle: func(r *Request) error {
			return r.Stream("text/event-stream", func(context.Context, *Stream) error { return nil })
		}},
	}
}

func TestCORS(t *testing.T) {
	const app = "Origin: https://app.example\r\n"
	const expose = exposed
	pre := "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization, content-type\r\n"
	for _, c := range []struct {
		name, line, fields string
		status             int
		want               map[string]string // "" = must be absent
	}{
		{"preflight", "OPTIONS /a", app + pre, 204, map[string]string{
			"Access-Control-Allow-Origin": "https://app.example", "Access-Control-Allow-Credentials": "true",
			"Access-Control-Allow-Methods": "GET, HEAD, OPTIONS, POST", "Access-Control-Allow-Headers": "authorization, content-type",
			"Vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"}},
		{"preflight of an unknown path", "OPTIONS /zzz", app + pre, 204, map[string]string{
			"Access-Control-Allow-Methods": "GET, HEAD, OPTIONS, POST"}},
		{"preflight with junk names", "OPTIONS /a", app + "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: a b\r\n", 204,
			map[string]string{"Access-Control-Allow-Headers": ""}},
		{"preflight, foreign", "OPTIONS /a", "Origin: https://evil.test\r\n" + pre, 403, map[string]string{
			"Access-Control-Allow-Origin": "", "Access-Control-Allow-Methods": "", "Access-Control-Allow-Headers": "",
			"Access-Control-Allow-Credentials": "", "X-Aguigate-Code": "origin_refused"}},
		{"preflight, null", "OPTIONS /a", "Origin: null\r\n" + pre, 403, map[string]string{"Access-Control-Allow-Origin": ""}},
		{"options without a page", "OPTIONS /a", "", 204, map[string]string{"Allow": "GET, HEAD, OPTIONS, POST", "Access-Control-Allow-Methods": ""}},
		{"simple", "GET /a", app + auth, 200, map[string]string{
			"Access-Control-Allow-Origin": "https://app.example", "Access-Control-Expose-Headers": expose + ", X-Aguigate-Note", "Vary": "Origin"}},
		{"upper case and default port", "GET /a", "Origin: HTTPS://APP.example:443\r\n" + auth, 200, map[string]string{
			"Access-Control-Allow-Origin": "HTTPS://APP.example:443"}},
		{"no page", "GET /a", auth, 200, map[string]string{"Access-Control-Allow-Origin": "", "Vary": "Origin"}},
		{"no credential", "GET /a", app, 401, map[string]string{
			"Access-Control-Allow-Origin": "https://app.example", "Access-Control-Expose-Headers": expose}},
		{"refusal", "GET /refuse", app + auth, 409, map[string]string{
			"Access-Control-Allow-Origin": "https://app.example", "Access-Control-Expose-Headers": expose}},
		{"not found", "GET /zzz", app + auth, 404, map[string]string{"Access-Control-Allow-Origin": "https://app.example"}},
		{"not allowed", "PUT /a", app + auth, 405, map[string]string{"Access-Control-Allow-Origin": "https://app.example"}},
		{"chunks too large", "POST /a", app + auth + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n", 413,
			map[string]string{"Access-Control-Allow-Origin": "https://app.example", "Vary": "Origin"}},
		{"stream", "GET /stream", app + auth, 200, map[string]string{
			"Access-Control-Allow-Origin": "https://app.example", "Access-Control-Allow-Credentials": "true",
			"Access-Control-Expose-Headers": expose, "Vary": "Origin"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, Options{Authenticate: keyed, MaxBody: 100,
				Policy: Policy{Origins: []string{"https://app.example"}, Credentials: true}}, corsRoutes()...)
			resp, _ := s.dial().send(c.line + " HTTP/1.1\r\nHost: gate\r\n" + c.fields + "\r\n").answer()
			if resp.StatusCode != c.status {
				t.Errorf("status %d, want %d", resp.StatusCode, c.status)
			}
			checkHeaders(t, resp.Header, c.want)
		})
	}
}

func checkHeaders(t *testing.T, h http.Header, want map[string]string) {
	t.Helper()
	for name, v := range want {
		if got := h.Values(name); len(got) > 1 || h.Get(name) != v {
			t.Errorf("%s: %q, want %q", name, got, v)
		}
	}
}

func TestAnyOrigin(t *testing.T) {
	if _, err := New(Options{Policy: Policy{Origins: []string{"*"}, Credentials: true}}, nil); err == nil {
		t.Error("* with credentials was taken")
	}
	s := serve(t, Options{Policy: Policy{Origins: []string{"*"}}}, corsRoutes()...)
	resp, _ := s.dial().send("GET /a HTTP/1.1\r\nHost: gate\r\nOrigin: null\r\n\r\n").answer()
	checkHeaders(t, resp.Header, map[string]string{"Access-Control-Allow-Origin": "null", "Access-Control-Allow-Credentials": ""})
	if err := s.SetPolicy(Policy{Origins: []string{"https://app.example"}}); err != nil {
		t.Fatal(err)
	}
	if resp, _ := s.dial().send("GET /a HTTP/1.1\r\nHost: gate\r\nOrigin: null\r\n\r\n").answer(); resp.StatusCode != 403 {
		t.Errorf("after SetPolicy: %d", resp.StatusCode)
	}
}

func TestHostNames(t *testing.T) {
	p, err := newPolicy(Policy{LoopbackOnly: true, Hosts: []string{"Gate.example", "port.example:81"}})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LocalHost.": true, "a.localhost:1": true, "127.0.0.1": true, "127.1.2.3:80": true,
		"[::1]": true, "[::1]:80": true, "::1": true, "[::ffff:127.0.0.1]:80": true,
		"gate.example": true, "GATE.example:99": true, "port.example:81": true, "port.example": false, "port.example:82": false,
		"": false, "evil.test": false, "localhost.evil.test": false, "127.0.0.1.evil.test": false, "0.0.0.0": false, "10.0.0.1": false,
		"evillocalhost": false,
	} {
		if got := p.hostOK(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
