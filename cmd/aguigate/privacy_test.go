package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Nothing of a conversation, a credential or a backend's own words reaches the log,
// at its most talkative [DATA-3, SEC-5].
func TestLogIsPrivate(t *testing.T) {
	const canary = "CANARY"
	up := serveBackend(t, func(w http.ResponseWriter, r *http.Request, body string) {
		if strings.Contains(body, "please fail") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(500)
			_, _ = io.WriteString(w, `{"error":"`+canary+`-backend"}`)
			return
		}
		talks(w, r, body)
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	w := begin(t, strings.ReplaceAll(testKeys, "oncall-secret-", canary+"-oncall-")+`
agents:
  a: {upstream: {kind: agui, url: '`+up.URL+`', headers: {X-Token: `+canary+`-header}}}
  down: {upstream: {kind: agui, url: 'http://`+ln.Addr().String()+`/x?api_key=`+canary+`-query'}}
`)
	secret := map[string]string{"Cookie": canary + "-cookie", "X-Other": canary + "-other"}
	post := func(path, body string) reply {
		return w.do(call{method: "POST", path: path, as: "alice", body: body, header: secret})
	}
	id, _, _ := w.waiting("alice", "a", "th1")
	post("/agents/a/run", input("th2", "r1", locate, user("u1", canary+"-text")))
	post("/agents/a/run", input("th3", "r1", "", user("u1", "please fail")))
	post("/agents/down/run", input("th4", "r1", "", user("u1", "x")))
	post("/agents/a/run", input("th5", "r1", `{"name":"t","description":"`+canary+`-description","parameters":{"pattern":"(`+canary+`-pattern"}}`, user("u1", "x")))
	post("/agents/a/run", input("th5", "r1", `{"name":"t","description":"d","parameters":{"$ref":"#/`+canary+`-ref"}}`, user("u1", "x")))
	post("/agents/a/run", `{"threadId":"`+canary+`-broken`)
	post("/v1/invocations/"+id+"/resolve", `{"error":{"message":"`+canary+`-model","private":"`+canary+`-private"}}`)
	post("/v1/invocations/"+id+"/resolve", `{"result":"`+canary+`-other"}`)
	w.do(call{method: "GET", path: "/agents", header: map[string]string{"Authorization": "Bearer " + canary + "-wrong"}})
	w.do(call{method: "GET", path: "/v1/invocations/" + id + "?wait=" + canary, as: "alice"})
	for line := range strings.SplitSeq(w.logs.String(), "\n") {
		if strings.Contains(line, canary) {
			t.Errorf("the log says %s", line)
		}
	}
	for _, want := range []string{"code=upstream_http_500", "code=upstream_unreachable", "code=invalid_tool", "request_id=", "outcome=error"} {
		if !strings.Contains(w.logs.String(), want) {
			t.Errorf("the log does not say %s", want)
		}
	}
}

// A backend that takes no connection cannot be reached, however long it was tried.
func TestConnectTimeout(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() // it never accepts
	var full []net.Conn
	for range 5000 { // fill the queue, so that the next connection waits
		c, err := net.DialTimeout("tcp", ln.Addr().String(), 50_000_000)
		if err != nil {
			break
		}
		full = append(full, c)
	}
	defer func() {
		for _, c := range full {
			c.Close()
		}
	}()
	w := begin(t, fmt.Sprintf("agents:\n  a: {upstream: {kind: agui, url: 'http://%s', timeouts: {connect: 200ms}}}\n", ln.Addr()))
	if end := last(w.run("", "a", input("th1", "r1", "", user("u1", "x")))); end.Text("code") != "upstream_unreachable" {
		t.Errorf("ended with %s", end.Raw)
	}
}
