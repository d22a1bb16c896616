package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// pretender is a server in a gateway's place: it keeps the last request and
// answers as the test says.
type pretender struct {
	*httptest.Server
	request *http.Request
	body    string
}

func pretend(t *testing.T, answer http.HandlerFunc) *pretender {
	p := &pretender{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		p.request, p.body = r, string(b)
		answer(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// command runs one command line and gives what it said.
func command(args ...string) (exit int, out, errOut string) {
	var o, e bytes.Buffer
	exit = run(args, &o, &e)
	return exit, o.String(), e.String()
}

const testInv = "inv_aaaaaaaaaaaaaaaaaaaaaaaaaa"

// What the flags become in the request, wherever they stand.
func TestResolveRequest(t *testing.T) {
	p := pretend(t, answers(200, "{\"invocation\":{\"id\":\"x\",\n\"n\":1.0},\"replayed\":true}"))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{testInv, "--result", `{"city": "Porto", "n": 1.0}`}, `{"result":{"city": "Porto", "n": 1.0}}`},
		{[]string{"--result", `null`, testInv}, `{"result":null}`},
		{[]string{"-result=\"a\"", testInv, "--attempt", "2", "--no-continue"}, `{"result":"a","attempt":2,"continue":false}`},
		{[]string{testInv, "--error", "no \"GPS\""}, `{"error":{"message":"no \"GPS\""}}`},
		{[]string{"--type", "gps", testInv, "--retryable", "--error", "no"}, `{"error":{"message":"no","type":"gps","retryable":true}}`},
		{[]string{"--error", "no", "--retryable=false", "--", testInv}, `{"error":{"message":"no"}}`},
	} {
		exit, out, errOut := command(append([]string{"resolve", "--gateway", p.URL + "/"}, c.args...)...)
		if exit != 0 || out != "{\"id\":\"x\", \"n\":1.0}\n" || errOut != "" {
			t.Errorf("%q: exit %d, %q, %q", c.args, exit, out, errOut)
		}
		if p.body != c.want || p.request.Method != "POST" || p.request.URL.Path != "/v1/invocations/"+testInv+"/resolve" ||
			p.request.Header.Get("Content-Type") != "application/json" || p.request.Header.Get("Authorization") != "" {
			t.Errorf("%q sent %s %s %v\n%s\nwant %s", c.args, p.request.Method, p.request.URL, p.request.Header, p.body, c.want)
		}
	}
}

// The address and the key come from the environment too; a flag wins.
func TestResolveEnvironment(t *testing.T) {
	p := pretend(t, answers(200, `{"invocation":{},"replayed":false}`))
	t.Setenv(gatewayEnv, p.URL+"/behind/a/path")
	t.Setenv(keyEnv, "from-env\n")
	exit, _, errOut := command("resolve", "a/../b", "--result", "1", "--identity", "alice")
	if exit != 0 || p.request.RequestURI != "/behind/a/path/v1/invocations/a%2F..%2Fb/resolve" ||
		p.request.Header.Get("Authorization") != "Bearer from-env" || p.request.Header.Get("X-Aguigate-Identity") != "alice" {
		t.Errorf("exit %d %s: %s %v", exit, errOut, p.request.RequestURI, p.request.Header)
	}
	command("resolve", "a", "--result", "1", "--gateway", p.URL, "--key", "from-flag")
	if p.request.RequestURI != "/v1/invocations/a/resolve" || p.request.Header.Get("Authorization") != "Bearer from-flag" {
		t.Errorf("%s %v", p.request.RequestURI, p.request.Header)
	}
}

// Every way it can go wrong: one exit code, what is said, and never the key.
func TestResolveRefused(t *testing.T) {
	unauthenticated := `{"error":{"type":"authentication_error","code":"unauthenticated","message":"send a valid credential","request_id":"r"}}`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string // standard error, whole
	}{
		"wrong key": {answers(401, unauthenticated), "unauthenticated: send a valid credential\n"},
		"conflict": {answers(409, `{"error":{"code":"action_result_conflict","message":"answered before","accepted":{"outcome":"ok",`+"\n"+`"result":{"city":"Lisboa"}}}}`),
			"action_result_conflict: answered before\naccepted: {\"outcome\":\"ok\", \"result\":{\"city\":\"Lisboa\"}}\n"},
		"over":                {answers(410, `{"error":{"code":"invocation_closed","message":"it is cancelled"}}`), "invocation_closed: it is cancelled\n"},
		"a terminal's escape": {answers(404, `{"error":{"code":"not\u001b[2Jfound","message":"a\nb\u202e\u009b"}}`), "not\uFFFD[2Jfound: a b\uFFFD\uFFFD\n"},
		"HTML":                {answers(502, "<html>"+strings.Repeat("x", 1000)), "http_502: Bad Gateway from what does not answer as an aguigate gateway\n"},
		"a huge error":        {answers(500, `{"error":{"code":"internal","message":"`+strings.Repeat("x", 3<<20)+`"}}`), "http_500: Internal Server Error from what does not answer as an aguigate gateway\n"},
		"another error form":  {answers(400, `{"error":"no"}`), "http_400: Bad Request from what does not answer as an aguigate gateway\n"},
		"an error cut short":  {answers(400, `{"error":{"code":"invalid_request"`), "http_400: Bad Request from what does not answer as an aguigate gateway\n"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
			"http_307: Temporary Redirect from what does not answer as an aguigate gateway\n"},
		"no content":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, "http_204: No Content from what does not answer as an aguigate gateway\n"},
		"no JSON":         {answers(200, "hello"), "GATEWAY does not answer as an aguigate gateway\nUNKNOWN\n"},
		"no invocation":   {answers(200, `{"invocation":[]}`), "GATEWAY does not answer as an aguigate gateway\nUNKNOWN\n"},
		"cut in the head": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "no answer from GATEWAY: EOF\nUNKNOWN\n"},
		"cut in the body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"invocation":{}`)
		}, "the answer was cut: unexpected EOF\nUNKNOWN\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pretend(t, c.answer)
			exit, out, errOut := command("resolve", testInv, "--result", "1", "--gateway", p.URL, "--key", "the-secret")
			want := strings.NewReplacer("GATEWAY", p.URL, "UNKNOWN", errUnknown.Error()).Replace(c.want)
			if exit != 1 || out != "" || errOut != want {
				t.Errorf("exit %d, %q\n got %.300q\nwant %q", exit, out, errOut, want)
			}
		})
	}
}

// closedPort is an address nobody listens at.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return "http://" + ln.Addr().String()
}

// Nobody there: nothing was sent, and it is said so by leaving the doubt out.
func TestResolveNobodyThere(t *testing.T) {
	to := closedPort(t)
	exit, out, errOut := command("resolve", testInv, "--result", "1", "--gateway", to, "--key", "the-secret")
	if exit != 1 || out != "" || !strings.HasPrefix(errOut, "no answer from "+to+": dial tcp") || !strings.HasSuffix(errOut, "connection refused\n") {
		t.Errorf("exit %d %q %q", exit, out, errOut)
	}
}

// Command lines that are not understood: exit 2, and nothing secret is said back.
func TestClientUsage(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"resolve --result 1", "resolve takes one INV"},
		{"resolve " + testInv, "needs --result JSON or --error TEXT"},
		{"resolve " + testInv + " --result 1 --error no", "needs --result JSON or --error TEXT"},
		{"resolve " + testInv + " hush --result 1", "resolve takes one INV"},
		{"resolve " + testInv + " --result {city}", "--result is JSON"},
		{"resolve " + testInv + " --result=", "--result is JSON"},
		{"resolve " + testInv + " --error=", "--error is the sentence"},
		{"resolve " + testInv + " --result 1 --type gps", "belong to --error"},
		{"resolve " + testInv + " --result 1 --retryable", "belong to --error"},
		{"resolve " + testInv + " --result 1 --attempt 0", "--attempt is a whole number"},
		{"resolve " + testInv + " --result 1 --attempt two", "--attempt is a whole number"},
		{"resolve " + testInv + " --result 1 --gateway ftp://hush", "--gateway is a URL"},
		{"resolve " + testInv + " --result 1 --gateway localhost:8080", "--gateway is a URL"},
		{"resolve " + testInv + " --result 1 --gateway http://u:hush@127.0.0.1", "--gateway is a URL"},
		{"resolve " + testInv + " --result 1 --gateway http://127.0.0.1/?key=hush", "--gateway is a URL"},
		{"resolve " + testInv + " --result 1 --gateway http://%zz", "--gateway is a URL"},
		{"resolve " + testInv + " --result 1 --key hush\x01x", "--key holds what no header can"},
		{"resolve " + testInv + " --result 1 --identity a\x7fb", "--identity holds what no header can"},
		{"resolve " + testInv + " --result 1 --more 1", "not defined: -more"},
		{"tail", "tail takes one THREAD"},
		{"tail a b", "tail takes one THREAD"},
		{"tail a --since -1", "--since is the id of an event"},
		{"tail a --since 1x", "--since is the id of an event"},
		{"tail a --format yaml", "--format is json or text"},
		{"tail a --gateway http://", "--gateway is a URL"},
	} {
		exit, out, errOut := command(strings.Split(c.args, " ")...)
		if exit != 2 || out != "" || !strings.Contains(errOut, c.want) || strings.Contains(errOut, "hush") {
			t.Errorf("%q: exit %d, %q, %.200q", c.args, exit, out, errOut)
		}
	}
	if exit, out, _ := command("tail", "-h"); exit != 0 || !strings.Contains(out, "aguigate tail THREAD") {
		t.Errorf("help: exit %d %q", exit, out)
	}
}

// This machine is never reached through a proxy.
func TestNoProxyForLoopback(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://proxy.example:3128")
	for _, host := range []string{"127.0.0.1:8080", "127.9.9.9", "[::1]:1", "[::ffff:127.0.0.1]", "localhost", "LOCALHOST.:80", "gate.localhost"} {
		r := httptest.NewRequest("GET", "http://"+host+"/", nil)
		if u, err := proxyOf(r); u != nil || err != nil {
			t.Errorf("%s goes through %v %v", host, u, err)
		}
	}
}

// At a whole gateway: an answer, the same again, and another one.
func TestResolveAtGateway(t *testing.T) {
	w := begin(t, testKeys+demoAgent)
	id, _, _ := w.waiting("alice", "demo", "th1")
	answer := func(key, result string) (int, string, string) {
		return command("resolve", id, "--result", result, "--no-continue", "--gateway", w.url, "--key", secrets[key])
	}
	for range 2 {
		exit, out, errOut := answer("alice", `{"city":"Porto"}`)
		if exit != 0 || !strings.HasPrefix(out, `{"id":"`+id+`","state":"settled"`) || strings.Count(out, "\n") != 1 || errOut != "" {
			t.Errorf("exit %d %q %q", exit, out, errOut)
		}
	}
	exit, out, errOut := answer("alice", `{"city":"Lisboa"}`)
	if exit != 1 || out != "" || !strings.HasPrefix(errOut, "action_result_conflict: ") || !strings.Contains(errOut, "\naccepted: {\"outcome\":\"ok\",\"result\":{\"city\":\"Porto\"}}\n") {
		t.Errorf("exit %d %q %q", exit, out, errOut)
	}
	if exit, _, errOut := answer("bob", "1"); exit != 1 || !strings.HasPrefix(errOut, "invocation_not_found: ") {
		t.Errorf("bob: exit %d %q", exit, errOut)
	}
}
