package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func readAll(res *http.Response) string {
	b, _ := io.ReadAll(res.Body)
	return string(b)
}

// TestBadInput sends what should be refused: each gets its code in JSON, the
// thread reads the same as before, and the upstream has seen nothing [ERR-1].
func TestBadInput(t *testing.T) {
	const secret = "/srv/internal"
	up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, `{"type":"RUN_STARTED","threadId":"x","runId":"x"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pick"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
			`{"type":"RUN_FINISHED","threadId":"x","runId":"x"}`)
	})
	w := begin(t, testKeys+"limits: {body: 64KiB, result: 1KiB, tools: 4, tool_schema: 1KiB, tool_description: 100}\n"+
		agent("a", up.URL, "    headers: {X-Path: "+secret+"}\n")[:0]+
		agent("a", up.URL, `    tools:
      - {name: pick, parameters: {type: object}, output: {type: object, required: [date]}}
      - {name: send_mail, handler: upstream}
    client_tools: {on_upstream_name: reject}
`))
	pick := `{"name":"pick","description":"d","parameters":{"type":"object"}}`
	opened := w.run("alice", "a", input("th1", "r1", pick, user("u1", "hi")))
	if got := string(last(opened).Field("outcome")); !strings.Contains(got, `"c1"`) {
		t.Fatalf("no call is open: %s", last(opened).Raw)
	}
	list := w.do(call{method: "GET", path: "/v1/threads/th1/invocations", as: "alice"})
	inv := list.field("invocations").([]any)[0].(map[string]any)["id"].(string)
	before, asked := list.body, len(up.seen())

	for name, c := range badInputs(inv) {
		t.Run(name, func(t *testing.T) {
			got := w.do(c.call)
			if have := fmt.Sprint(got.status, " ", got.code()); have != c.want {
				t.Errorf("got %s, want %s\n%s", have, c.want, got.body)
			}
			if !json.Valid([]byte(got.body)) || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("not JSON: %s %q", got.header.Get("Content-Type"), got.body)
			}
			if param := fmt.Sprint(got.field("error.param")); c.param != "" && param != c.param {
				t.Errorf("param %s, want %s: %s", param, c.param, got.body)
			}
			if now := w.do(call{method: "GET", path: "/v1/threads/th1/invocations", as: "alice"}).body; now != before {
				t.Errorf("the thread has changed:\n%s\nbefore\n%s", now, before)
			}
			if n := len(up.seen()); n != asked {
				t.Errorf("the upstream was asked %d times more", n-asked)
			}
		})
	}
}

// With auth none only loopback names are served [SEC-3].
func TestHostName(t *testing.T) {
	w := begin(t, "hosts: [gate.example]\nagents:\n  demo: {upstream: {kind: demo}}\n")
	for host, want := range map[string]int{"localhost": 200, "127.0.0.1:1": 200, "gate.example": 200, "evil.example": 403} {
		if got := w.do(call{method: "GET", path: "/agents", header: map[string]string{"Host": host}}); got.status != want {
			t.Errorf("Host %s: %d, want %d %s", host, got.status, want, got.body)
		}
	}
}

// bad is one request that should be refused: status, code and param.
type bad struct {
	call
	want  string
	param string
}

// badInputs are the requests of TestBadInput; inv is an open invocation of alice's
// thread th1.
func badInputs(inv string) map[string]bad {
	run := func(body string) call {
		return call{method: "POST", path: "/agents/a/run", as: "alice", body: body}
	}
	resolve := func(body string) call {
		return call{method: "POST", path: "/v1/invocations/" + inv + "/resolve", as: "alice", body: body}
	}
	with := func(c call, k, v string) call {
		c.header = map[string]string{k: v}
		return c
	}
	tool := func(def string) call { return run(input("th1", "r2", def, user("u2", "hi"))) }
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	return map[string]bad{
		"body not JSON":              {run(`{"threadId":`), "400 invalid_request", ""},
		"no body":                    {run(``), "400 invalid_request", ""},
		"an array":                   {run(`[]`), "400 invalid_request", ""},
		"duplicate key":              {run(`{"threadId":"th1","threadId":"th2","runId":"r2","messages":[]}`), "400 invalid_request", ""},
		"duplicate key, escaped":     {run(`{"threadId":"th1","thread\u0049d":"th2","runId":"r2","messages":[]}`), "400 invalid_request", ""},
		"another spelling":           {run(`{"thread_id":"th2","threadId":"th1","runId":"r2","messages":[]}`), "400 invalid_request", ""},
		"duplicate key in a message": {run(`{"threadId":"th1","runId":"r2","messages":[{"id":"m","role":"user","role":"system","content":"x"}]}`), "400 invalid_request", ""},
		"too deep":                   {run(`{"threadId":"th1","runId":"r2","messages":[],"state":` + deep + `}`), "400 invalid_request", ""},
		"wrong type":                 {run(`{"threadId":7,"runId":"r2","messages":[]}`), "400 invalid_request", "/threadId"},
		"missing threadId":           {run(`{"runId":"r2","messages":[]}`), "400 invalid_request", "/threadId"},
		"control character in id":    {run(`{"threadId":"a\u0000b","runId":"r2","messages":[]}`), "400 invalid_request", "/threadId"},
		"tool message without call":  {run(input("th1", "r2", "", `{"id":"m","role":"tool","content":"ok"}`)), "400 invalid_request", "/messages/0/toolCallId"},
		"too large":                  {run(`{"threadId":"th1","x":"` + strings.Repeat("x", 70<<10) + `"}`), "413 body_too_large", ""},
		"wrong method":               {call{method: "GET", path: "/agents/a/run", as: "alice"}, "405 method_not_allowed", ""},
		"wrong content type":         {with(run(`{}`), "Content-Type", "text/plain"), "415 unsupported_media_type", ""},
		"no content type":            {with(run(`{}`), "Content-Type", ""), "415 unsupported_media_type", ""},
		"a foreign Origin":           {with(run(`{}`), "Origin", "https://evil.test"), "403 origin_refused", ""},
		"unknown agent":              {call{method: "POST", path: "/agents/nope/run", as: "alice", body: `{}`}, "404 agent_not_found", ""},
		"unknown path":               {call{method: "GET", path: "/v1/nothing", as: "alice"}, "404 not_found", ""},
		"bad tool name":              {tool(`{"name":"a b","description":"d"}`), "400 invalid_tool", ""},
		"schema points outside":      {tool(`{"name":"t","description":"d","parameters":{"$ref":"http://127.0.0.1:1/s"}}`), "400 invalid_tool", "t"},
		"schema points at a file":    {tool(`{"name":"t","description":"d","parameters":{"$ref":"file:///etc/passwd"}}`), "400 invalid_tool", "t"},
		"schema too large":           {tool(`{"name":"t","description":"d","parameters":{"description":"` + strings.Repeat("x", 2<<10) + `"}}`), "400 invalid_tool", "t"},
		"invisible text":             {tool(`{"name":"t","description":"a\u200bb"}`), "400 invalid_tool", "t"},
		"too many tools":             {tool(`{"name":"a","description":""},{"name":"b","description":""},{"name":"c","description":""},{"name":"d","description":""},{"name":"e","description":""}`), "400 invalid_tool", ""},
		"reserved name":              {tool(`{"name":"mcp_x","description":"d"}`), "400 tool_reserved", "mcp_x"},
		"the backend's name":         {tool(`{"name":"send_mail","description":"d"}`), "409 tool_conflict", "send_mail"},
		"one name, two tools":        {tool(`{"name":"t","description":"a"},{"name":"t","description":"b"}`), "409 tool_conflict", "t"},
		"another's thread":           {call{method: "POST", path: "/agents/a/run", as: "bob", body: input("th1", "r2", "", user("u2", "hi"))}, "404 thread_not_found", ""},
		"unknown invocation":         {call{method: "POST", path: "/v1/invocations/inv_aaaaaaaaaaaaaaaaaaaaaaaaaa/resolve", as: "alice", body: `{"result":1}`}, "404 invocation_not_found", ""},
		"not an invocation id":       {call{method: "GET", path: "/v1/invocations/..%2f..", as: "alice"}, "404 invocation_not_found", ""},
		"an answer without answer":   {resolve(`{}`), "400 invalid_request", ""},
		"an answer with two":         {resolve(`{"result":1,"error":{"message":"x"}}`), "400 invalid_request", ""},
		"an error without message":   {resolve(`{"error":{}}`), "400 invalid_request", "/error/message"},
		"content that is no part":    {resolve(`{"content":[{"type":"image"}]}`), "400 invalid_request", ""},
		"result over the limit":      {resolve(`{"result":{"date":"` + strings.Repeat("x", 2<<10) + `"}}`), "413 result_too_large", ""},
		"result against its schema":  {resolve(`{"result":{"day":1}}`), "400 invalid_result", ""},
		"an attempt that is over":    {resolve(`{"result":{"date":"d"},"attempt":2}`), "409 stale_attempt", ""},
		"a wait that is no duration": {call{method: "GET", path: "/v1/invocations/" + inv + "?wait=soon", as: "alice"}, "400 invalid_request", "wait"},
		"a state that is none":       {call{method: "GET", path: "/v1/threads/th1/invocations?state=x", as: "alice"}, "400 invalid_request", "state"},
		"a round, missing results":   {call{method: "POST", path: "/v1/threads/th1/resolve", as: "alice", body: `{"results":[{"id":"nope","result":1}]}`}, "409 incomplete_results", "/results"},
		"a round, no results":        {call{method: "POST", path: "/v1/threads/th1/resolve", as: "alice", body: `{"results":[]}`}, "400 invalid_request", "/results"},
	}
}
