package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

// A long thread keeps what was accepted at its beginning: the agent is told it
// with every run, and nothing else takes its place [HIST-3, INV-3].
func TestOldAnswersStay(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	first, shown, parent := w.waiting("", "a", "th1")
	if r := w.do(call{method: "POST", path: "/v1/invocations/" + first + "/resolve", body: `{"result":"by REST","continue":false}`}); r.status != 200 {
		t.Fatal(r.body)
	}
	list := []string{user("u-th1", "where am I"), assistant(parent, toolCall(shown, "get_location"))}
	for i := range 70 { // more rounds than a thread lists itself
		frames := w.run("", "a", input("th1", fmt.Sprint("r", i), locate, append(list, user(fmt.Sprint("u", i), "again"))...))
		for _, f := range frames {
			if f.Type == agui.ToolCallStart {
				inv := w.do(call{method: "GET", path: "/v1/threads/th1/invocations?state=open"})
				id := inv.field("invocations").([]any)[0].(map[string]any)["id"].(string)
				w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":1,"continue":false}`})
			}
		}
	}
	seen := up.seen()
	if got := seen[len(seen)-1]; !strings.Contains(got, `"content":"by REST"`) {
		t.Errorf("after 70 rounds the agent reads %s", got)
	}
	other := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "late", locate, append(list, result("t1", shown, "OTHER"))...)})
	if other.code() != "action_result_conflict" {
		t.Errorf("another answer to the oldest call: %d %s", other.status, other.body)
	}
	if r := w.do(call{method: "GET", path: "/v1/invocations/" + first}); r.field("invocation.result") != "by REST" {
		t.Errorf("the oldest call reads %s", r.body)
	}
}

// Calls that were given up leave the thread's list of open rounds.
func TestUnansweredRoundsClose(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	var list []string
	for i := range 70 {
		list = append(list, user(fmt.Sprint("u", i), "where am I"))
		frames := w.run("", "a", input("th1", fmt.Sprint("r", i), locate, list...))
		for _, f := range frames {
			if f.Type == agui.ToolCallStart {
				list = append(list, assistant(f.Text("parentMessageId"), toolCall(f.Text("toolCallId"), "get_location")))
			}
		}
	}
	r := w.do(call{method: "GET", path: "/v1/threads/th1/invocations?state=cancelled"})
	if n := len(r.field("invocations").([]any)); n != 69 {
		t.Errorf("%d calls are listed as given up, want all but the last of 70", n)
	}
	if open := w.metric(`aguigate_open_invocations{agent="a"}`); open != "1" {
		t.Errorf("%s calls are open, want 1", open)
	}
}

// bombs are schemas and arguments that a plain validator works on for minutes, or
// dies of [SEC-2].
func bombs() map[string][2]string {
	var defs []string
	for i := range 40 {
		defs = append(defs, fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1))
	}
	numbers := strings.TrimSuffix(strings.Repeat("1e999999,", 400), ",")
	return map[string][2]string{
		"references that double": {`{"$defs":{` + strings.Join(defs, ",") + `,"a40":{}},"$ref":"#/$defs/a0"}`, `{}`},
		"huge exponents":         {`{"type":"object","properties":{"n":{"type":"array","items":{"minimum":0}}}}`, `{"n":[` + numbers + `]}`},
		"an exponent over all":   {`{"type":"object","properties":{"n":{"minimum":0}}}`, `{"n":1e9999999}`},
	}
}

// A client's schema neither holds a run nor ends the process.
func TestSchemaBombs(t *testing.T) {
	for name, b := range bombs() {
		up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
			args, _ := json.Marshal(b[1])
			say(w, `{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`, `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"t"}`,
				`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":`+string(args)+`}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
				`{"type":"RUN_FINISHED","threadId":"th1","runId":"r1"}`)
		})
		w := begin(t, agent("a", up.URL, ""))
		r := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "r1", `{"name":"t","description":"d","parameters":`+b[0]+`}`, user("u1", "x"))})
		switch {
		case r.status == 400 && r.code() == "invalid_tool":
		case r.status == 200 && strings.Contains(r.body, `"pendingToolCallIds":["c1"]`):
		default:
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
		if strings.Contains(w.logs.String(), "panic") {
			t.Errorf("%s: a handler panicked", name)
		}
	}
	w := begin(t, "agents:\n  demo: {upstream: {kind: demo}, tools: [{name: get_location, output: {type: number, minimum: 0}}]}\n")
	id, _, _ := w.waiting("", "demo", "th1")
	if r := w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":1e9999999}`}); r.code() != "invalid_result" {
		t.Errorf("a number nobody can check: %d %s", r.status, r.body)
	}
}

// A round whose results grow beyond a record: over REST the one too many is
// refused and the call stays open; in a list it fails, and the client goes on
// [INV-5].
func TestLargeRound(t *testing.T) {
	const calls = 17
	up := serveBackend(t, func(w http.ResponseWriter, r *http.Request, body string) {
		if strings.Contains(body, `"role":"tool"`) {
			talks(w, r, body)
			return
		}
		frames := []string{`{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`}
		for i := range calls {
			frames = append(frames, fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"get_location","parentMessageId":"m1"}`, i), fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":"c%d"}`, i))
		}
		say(w, append(frames, `{"type":"RUN_FINISHED","threadId":"th1","runId":"r1"}`)...)
	})
	w := begin(t, "limits: {body: 16MiB, result: 600KiB}\n"+strings.Replace(agent("a", up.URL, ""), "first_byte: 1s", "first_byte: 1m", 1))
	w.run("", "a", input("th1", "r1", locate, user("u1", "x")))
	value := strings.Repeat("<p>", 170_000) // 510,000 bytes
	var held, answers []string
	for i := range calls {
		held = append(held, toolCall(fmt.Sprintf("c%d", i), "get_location"))
		answers = append(answers, result(fmt.Sprintf("t%d", i), fmt.Sprintf("c%d", i), value))
	}
	list := w.do(call{method: "GET", path: "/v1/threads/th1/invocations"})
	refused := 0
	for _, inv := range list.field("invocations").([]any)[:15] {
		id := inv.(map[string]any)["id"].(string)
		r := w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":"` + value + `"}`})
		if r.status == 413 && r.code() == "result_too_large" {
			refused++
		} else if r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if refused == 0 || refused == 15 {
		t.Errorf("%d of 15 results were refused, some should be", refused)
	}
	frames := w.run("", "a", input("th1", "r2", locate, append([]string{user("u1", "x"), assistant("m1", held...)}, answers...)...))
	if last(frames).Type != agui.RunFinished {
		t.Errorf("the client cannot go on: %s", last(frames).Raw)
	}
	if open := w.metric(`aguigate_open_invocations{agent="a"}`); open != "0" {
		t.Errorf("%s calls are open", open)
	}
}

// HTTP/1.0 cannot carry a stream; it is told so before anything changes [ERR-1].
func TestHTTP10ChangesNothing(t *testing.T) {
	w := begin(t, demoAgent)
	id, shown, parent := w.waiting("", "demo", "th1")
	body := input("th1", "r2", locate, user("u-th1", "where am I"), assistant(parent, toolCall(shown, "get_location")), result("t1", shown, "A"))
	c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /agents/demo/run HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); res.StatusCode != 400 || !strings.Contains(string(b), "invalid_request") {
		t.Errorf("%d %s", res.StatusCode, b)
	}
	if r := w.do(call{method: "GET", path: "/v1/invocations/" + id}); r.field("invocation.state") != "open" {
		t.Errorf("the refused run settled the call: %s", r.body)
	}
}

// Broken or missing arguments in a client's list do not poison the thread (F037,
// F038).
func TestUnusableArguments(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	broken := `{"id":"c1","type":"function","function":{"name":"x","arguments":"{\"path\":\"/a"}}`
	empty := `{"id":"c2","type":"function","function":{"name":"x","arguments":""}}`
	w.run("", "a", input("th1", "r1", locate, user("u1", "x"), assistant("m1", broken, empty), result("t2", "c2", "ok"), user("u2", "y")))
	got := up.seen()[0]
	if strings.Contains(got, "/a") || strings.Count(got, `"arguments":"{}"`) != 2 {
		t.Errorf("arguments went up as %s", got)
	}
	one, two := strings.Index(got, `"toolCallId":"c1"`), strings.Index(got, `"toolCallId":"c2"`)
	if one < 0 || two < one {
		t.Errorf("the broken call has no result, or out of order: %s", got)
	}
}

// A client's Idempotency-Key does not make the gateway send a body twice [UP-3].
func TestNoSecondRequest(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	requests := make(chan int, 16)
	go func() { // answers the first request of a connection, reads the second and closes
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			br := bufio.NewReader(c)
			for i := range 2 {
				r, err := http.ReadRequest(br)
				if err != nil {
					break
				}
				_, _ = io.Copy(io.Discard, r.Body)
				requests <- 1
				if i == 0 {
					const events = "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\ndata: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n"
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(events), events)
				}
			}
			c.Close()
		}
	}()
	w := begin(t, "agents:\n  a: {upstream: {kind: agui, url: 'http://"+ln.Addr().String()+"', forward_headers: [idempotency-key]}}\n")
	for i := range 2 {
		w.do(call{method: "POST", path: "/agents/a/run", body: input(fmt.Sprint("th", i), "r1", "", user("u1", "x")), header: map[string]string{"Idempotency-Key": "k"}})
	}
	if n := len(requests); n != 2 {
		t.Errorf("two runs made %d requests", n)
	}
}

// A very long list is judged in time that grows with its length.
func TestLongList(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	list := []string{user("u1", "x")}
	for i := range 60_000 {
		list = append(list, result(fmt.Sprint("t", i), fmt.Sprint("c", i), "y"))
	}
	frames := w.run("", "a", input("th1", "r1", "", append(list, user("u2", "z"))...))
	if last(frames).Type != agui.RunFinished {
		t.Errorf("ended with %s", last(frames).Raw)
	}
	if got := up.seen()[0]; strings.Contains(got, `"role":"tool"`) {
		t.Error("results without a call went up")
	}
}
