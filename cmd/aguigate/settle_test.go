package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

const demoAgent = "agents:\n  demo: {upstream: {kind: demo}}\n"

// 32 clients settle one invocation at once with 32 values: one is accepted, 31
// get 409 with the accepted one [INV-3].
func TestThirtyTwoAnswers(t *testing.T) {
	w := begin(t, demoAgent)
	id, _, _ := w.waiting("", "demo", "th1")
	replies := make([]reply, 32)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() {
			r, err := w.try(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: fmt.Sprintf(`{"result":{"city":"City %d"}}`, i)})
			if err != nil {
				t.Error(err)
			}
			replies[i] = r
		})
	}
	all.Wait()
	won, accepted := -1, ""
	for i, r := range replies {
		if r.status != 200 {
			continue
		}
		if won >= 0 || r.field("replayed") != false {
			t.Errorf("more than one was accepted, or as a replay: %s", r.body)
		}
		won, accepted = i, fmt.Sprintf(`{"city":"City %d"}`, i)
	}
	for i, r := range replies {
		if i == won {
			continue
		}
		if r.status != 409 || r.code() != "action_result_conflict" || !strings.Contains(r.body, `"accepted":{"outcome":"ok","result":`+accepted) {
			t.Errorf("client %d: %d %s", i, r.status, r.body)
		}
	}
	again := w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{ "result" : ` + accepted + `}`})
	if again.status != 200 || again.field("replayed") != true {
		t.Errorf("the accepted value again: %d %s", again.status, again.body)
	}
	if open := w.metric(`aguigate_open_invocations{agent="demo"}`); open != "0" {
		t.Errorf("open invocations %s, want 0", open)
	}
}

// The client answers by its next run; the bytes reach the agent unchanged, once
// [INV-7], and the record shows it.
func TestAnswerByNextRun(t *testing.T) {
	for _, value := range []string{"Porto", `{"b":1.0,"a":"é\u00e9","n":1152921504606846976}`, "", `"quoted"`, "null"} {
		w := begin(t, demoAgent)
		id, shown, message := w.waiting("", "demo", "th1")
		next := input("th1", "r2", locate, user("u-th1", "where am I"), assistant(message, toolCall(shown, "get_location")), result("t1", shown, value))
		if got, want := text(w.run("", "demo", next)), "get_location gave: "+value; got != want {
			t.Errorf("the agent was told %q, want %q", got, want)
		}
		inv := w.do(call{method: "GET", path: "/v1/invocations/" + id})
		if inv.field("invocation.state") != "settled" || inv.field("invocation.delivery") != "delivered" || inv.field("invocation.result") != value {
			t.Errorf("the record says %s", inv.body)
		}
		// The same list again is the same answer; another is refused.
		if again := w.do(call{method: "POST", path: "/agents/demo/run", body: strings.Replace(next, `"r2"`, `"r3"`, 1)}); again.status != 200 {
			t.Errorf("again: %d %s", again.status, again.body)
		}
		other := w.do(call{method: "POST", path: "/agents/demo/run", body: input("th1", "r4", locate, user("u-th1", "where am I"),
			assistant(message, toolCall(shown, "get_location")), result("t1", shown, value+" and more"))})
		if other.status != 409 || other.code() != "action_result_conflict" {
			t.Errorf("another answer: %d %s", other.status, other.body)
		}
		w.end()
	}
}

// An answer by resolve reaches the agent with the next run, whether the client
// knows of it or not, right after the call [HIST-3].
func TestAnswerByResolve(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	id, shown, message := w.waiting("", "a", "th1")
	done := w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":{"city":"Porto","n":1.0},"continue":false}`})
	if done.status != 200 || done.field("replayed") != false {
		t.Fatalf("resolve: %d %s", done.status, done.body)
	}
	w.run("", "a", input("th1", "r2", locate, user("u-th1", "where am I"),
		assistant(message, toolCall(shown, "get_location")), user("u2", "and now?")))
	seen := up.seen()
	var got struct {
		Messages []map[string]any `json:"messages"`
	}
	if err := json.Unmarshal([]byte(seen[len(seen)-1]), &got); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range got.Messages {
		roles = append(roles, fmt.Sprint(m["role"]))
	}
	if have := strings.Join(roles, " "); have != "user assistant tool user" {
		t.Fatalf("the agent got %s", have)
	}
	told := got.Messages[2]
	if told["toolCallId"] != shown || told["id"] != "gw-"+shown || told["content"] != `{"city":"Porto","n":1.0}` {
		t.Errorf("the agent was told %v", told)
	}
}

// talks is a backend that calls get_location when the list ends with a user
// message, and else says something. Ids are the same in every run, as local
// models number them (F015).
func talks(w http.ResponseWriter, _ *http.Request, body string) {
	var in struct {
		ThreadID, RunID string
		Messages        []struct{ Role string }
	}
	_ = json.Unmarshal([]byte(body), &in)
	start := fmt.Sprintf(`{"type":"RUN_STARTED","threadId":%q,"runId":%q}`, in.ThreadID, in.RunID)
	end := fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":%q,"runId":%q}`, in.ThreadID, in.RunID)
	if n := len(in.Messages); n > 0 && in.Messages[n-1].Role == "user" {
		say(w, start, `{"type":"TOOL_CALL_START","toolCallId":"call_0","toolCallName":"get_location","parentMessageId":"msg_0"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"call_0","delta":"{}"}`, `{"type":"TOOL_CALL_END","toolCallId":"call_0"}`, end)
		return
	}
	say(w, start, `{"type":"TEXT_MESSAGE_START","messageId":"msg_1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_1","delta":"thanks"}`, `{"type":"TEXT_MESSAGE_END","messageId":"msg_1"}`, end)
}

// A provider that numbers its calls the same in every turn: clients see names of
// their own, each answer goes to its call, the agent gets its own ids back
// [INV-2, F015].
func TestReusedIDs(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	var messages []string
	want := []string{"call_0", "call_0-2", "call_0-3"}
	for turn := range 3 {
		messages = append(messages, user(fmt.Sprintf("u%d", turn), "where am I"))
		frames := w.run("", "a", input("th1", fmt.Sprintf("r%d-a", turn), locate, messages...))
		shown, parent := "", ""
		for _, f := range frames {
			if f.Type == agui.ToolCallStart {
				shown, parent = f.Text("toolCallId"), f.Text("parentMessageId")
			}
		}
		if shown != want[turn] {
			t.Fatalf("turn %d shows %q, want %q", turn, shown, want[turn])
		}
		messages = append(messages, assistant(parent, toolCall(shown, "get_location")), result(fmt.Sprintf("t%d", turn), shown, fmt.Sprintf("city %d", turn)))
		w.run("", "a", input("th1", fmt.Sprintf("r%d-b", turn), locate, messages...))
		messages = append(messages, fmt.Sprintf(`{"id":"a%d","role":"assistant","content":"thanks"}`, turn))
	}
	seen := up.seen()
	final := seen[len(seen)-1]
	if strings.Contains(final, "call_0-2") || strings.Contains(final, "msg_0-2") {
		t.Errorf("a client's name went up: %s", final)
	}
	at := -1
	for i := range 3 { // in order, each after its own call
		next := strings.Index(final, fmt.Sprintf("city %d", i))
		if next <= at {
			t.Errorf("answer %d stands wrong in %s", i, final)
		}
		at = next
	}
	list := w.do(call{method: "GET", path: "/v1/threads/th1/invocations"})
	for i, inv := range list.field("invocations").([]any) {
		m := inv.(map[string]any)
		if m["result"] != fmt.Sprintf("city %d", i) || m["call_id"] != want[i] {
			t.Errorf("invocation %d: %v", i, m)
		}
	}
}

// Two calls in parallel: one answer is kept and the agent is not asked; the
// second sends both, in call order [RUN-5, F021, F023].
func TestPartialResults(t *testing.T) {
	w := begin(t, demoAgent)
	tools := locate + `,{"name":"get_time","description":"the time","parameters":{"type":"object"}}`
	frames := w.run("", "demo", input("th1", "r1", tools, user("u1", "compare")))
	var ids []string
	parent := ""
	for _, f := range frames {
		if f.Type == agui.ToolCallStart {
			ids, parent = append(ids, f.Text("toolCallId")), f.Text("parentMessageId")
		}
	}
	want := fmt.Sprintf(`{"type":"success","pendingToolCallIds":["%s","%s"]}`, ids[0], ids[1])
	if got := string(last(frames).Field("outcome")); got != want {
		t.Errorf("outcome %s, want %s", got, want)
	}
	asked := w.metric(`aguigate_events_total{agent="demo",direction="up"}`)
	head := []string{user("u1", "compare"), assistant(parent, toolCall(ids[0], "get_location"), toolCall(ids[1], "get_time"))}
	frames = w.run("", "demo", input("th1", "r2", tools, append(head, result("t2", ids[1], "noon"))...))
	var custom string
	for _, f := range frames {
		if f.Type == agui.Custom {
			custom = f.Text("name") + string(f.Field("value"))
		}
	}
	if custom != `aguigate.pending{"toolCallIds":["`+ids[0]+`"]}` || last(frames).Type != agui.RunFinished || last(frames).Field("outcome") != nil {
		t.Errorf("a partial answer got %s and %s", custom, last(frames).Raw)
	}
	if now := w.metric(`aguigate_events_total{agent="demo",direction="up"}`); now != asked {
		t.Error("the agent was asked before the round was whole")
	}
	frames = w.run("", "demo", input("th1", "r3", tools, append(head, result("t2", ids[1], "noon"), result("t1", ids[0], "Porto"))...))
	if got := text(frames); got != "get_location gave: Porto\nget_time gave: noon" {
		t.Errorf("the agent was told %q", got)
	}
}

// The conversation goes on without the answer: the agent is told so, never a
// success, the client is shown it, and a late answer is refused [RUN-6, INV-8].
func TestUnanswered(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, ""))
	id, shown, message := w.waiting("", "a", "th1")
	frames := w.run("", "a", input("th1", "r2", locate, user("u-th1", "where am I"),
		assistant(message, toolCall(shown, "get_location")), user("u2", "never mind")))
	if f := frames[1]; f.Type != agui.ToolCallResult || f.Text("toolCallId") != shown || f.Text("messageId") != "gw-"+shown {
		t.Errorf("after RUN_STARTED the client is shown %s", f.Raw)
	}
	seen := up.seen()
	asked := seen[len(seen)-1]
	if !strings.Contains(asked, `"toolCallId":"`+shown+`"`) || !strings.Contains(asked, "did not answer") {
		t.Errorf("the agent was not told: %s", asked)
	}
	late := w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":"Porto"}`})
	if late.status != 410 || late.code() != "invocation_closed" {
		t.Errorf("a late answer: %d %s", late.status, late.body)
	}
	w = begin(t, agent("a", up.URL, "    unanswered: reject\n"))
	_, shown, message = w.waiting("", "a", "th1")
	r := w.do(call{method: "POST", path: "/agents/a/run", body: input("th1", "r2", locate, user("u-th1", "where am I"),
		assistant(message, toolCall(shown, "get_location")), user("u2", "never mind"))})
	if r.status != 409 || r.code() != "unanswered_calls" || !strings.Contains(r.body, shown) {
		t.Errorf("unanswered: reject gave %d %s", r.status, r.body)
	}
}

// A result nobody may read further settles as failed, with its class; its value
// never reaches the agent [INV-5].
func TestBadTrailingResult(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, "limits: {result: 100}\n"+agent("a", up.URL, "    tools: [{name: get_location, parameters: {type: object}, output: {type: object}}]\n"))
	for i, c := range []struct{ value, class string }{
		{strings.Repeat("x", 101), "result_too_large"},
		{"not an object", "invalid_result"},
	} {
		thread := fmt.Sprintf("th%d", i)
		id, shown, message := w.waiting("", "a", thread)
		w.run("", "a", input(thread, "r2", locate, user("u-"+thread, "where am I"), assistant(message, toolCall(shown, "get_location")), result("t1", shown, c.value)))
		inv := w.do(call{method: "GET", path: "/v1/invocations/" + id})
		if inv.field("invocation.outcome") != "failed" || inv.field("invocation.error.type") != c.class {
			t.Errorf("the record says %s", inv.body)
		}
		seen := up.seen()
		if strings.Contains(seen[len(seen)-1], `"`+c.value+`"`) {
			t.Errorf("the value reached the agent: %s", seen[len(seen)-1])
		}
	}
}

// A failure is told to the model; its private text is not, nor is a stack
// [INV-6]. A retryable one opens the next attempt while they last [INV-4].
func TestFailure(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, "    tools: [{name: get_location, attempts: 2}]\n"))
	id, shown, message := w.waiting("", "a", "th1")
	path := "/v1/invocations/" + id + "/resolve"
	first := w.do(call{method: "POST", path: path, body: `{"error":{"message":"no fix","retryable":true,"private":"gps 7"},"attempt":1}`})
	if first.status != 200 || first.field("invocation.state") != "open" || first.field("invocation.attempt") != 2.0 {
		t.Errorf("the first failure: %d %s", first.status, first.body)
	}
	stale := w.do(call{method: "POST", path: path, body: `{"result":1,"attempt":1}`})
	if stale.code() != "stale_attempt" {
		t.Errorf("an old attempt: %d %s", stale.status, stale.body)
	}
	second := w.do(call{method: "POST", path: path, body: `{"error":{"message":"no fix again","retryable":true,"private":"gps 8","stack":"at x"},"attempt":2,"continue":false}`})
	if second.status != 200 || second.field("invocation.outcome") != "failed" || strings.Contains(second.body, "gps") || strings.Contains(second.body, "at x") {
		t.Errorf("the last failure: %d %s", second.status, second.body)
	}
	w.run("", "a", input("th1", "r2", locate, user("u-th1", "x"), assistant(message, toolCall(shown, "get_location")), user("u2", "y")))
	seen := up.seen()
	if asked := seen[len(seen)-1]; !strings.Contains(asked, "no fix again") || strings.Contains(asked, "gps") {
		t.Errorf("the agent was told %s", asked)
	}
}

// A round is answered all or nothing, by public or upstream ids.
func TestResolveRound(t *testing.T) {
	w := begin(t, demoAgent)
	tools := locate + `,{"name":"get_time","description":"the time"}`
	w.run("", "demo", input("th 1/ü", "r1", tools, user("u1", "compare")))
	list := w.do(call{method: "GET", path: "/v1/threads/th%201%2F%C3%BC/invocations?state=open"})
	invs := list.field("invocations").([]any)
	first, second := invs[0].(map[string]any), invs[1].(map[string]any)
	path := "/v1/threads/th%201%2F%C3%BC/resolve"
	partial := w.do(call{method: "POST", path: path, body: fmt.Sprintf(`{"results":[{"id":%q,"result":1}]}`, first["id"])})
	if partial.code() != "incomplete_results" || !strings.Contains(partial.body, fmt.Sprint(second["id"])) {
		t.Errorf("one of two: %d %s", partial.status, partial.body)
	}
	if now := w.do(call{method: "GET", path: "/v1/threads/th%201%2F%C3%BC/invocations?state=open"}); now.body != list.body {
		t.Error("a refused round changed something")
	}
	body := fmt.Sprintf(`{"results":[{"id":%q,"result":1},{"id":%q,"error":{"message":"no clock"}}]}`, first["id"], second["call_id"])
	for i, replayed := range []bool{false, true} {
		r := w.do(call{method: "POST", path: path, body: body})
		if r.status != 200 || strings.Count(r.body, fmt.Sprintf(`"replayed":%v`, replayed)) != 2 {
			t.Errorf("time %d: %d %s", i+1, r.status, r.body)
		}
	}
}

// A long poll returns as soon as the call is final, or with the end of the wait.
func TestLongPoll(t *testing.T) {
	w := begin(t, demoAgent)
	id, _, _ := w.waiting("", "demo", "th1")
	if r := w.do(call{method: "GET", path: "/v1/invocations/" + id + "?wait=50ms"}); r.field("invocation.state") != "open" {
		t.Errorf("after the wait: %s", r.body)
	}
	answer := make(chan reply, 1)
	go func() {
		r, err := w.try(call{method: "GET", path: "/v1/invocations/" + id + "?wait=20s"})
		if err != nil {
			t.Error(err)
		}
		answer <- r
	}()
	time.Sleep(50 * time.Millisecond) // the poll has most likely begun; either way it must end
	w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":null}`})
	select {
	case r := <-answer:
		if r.field("invocation.state") != "settled" || !strings.Contains(r.body, `"result":null`) {
			t.Errorf("woken with %s", r.body)
		}
	case <-time.After(4 * time.Second):
		t.Error("the poll was not woken")
	}
}

// A deadline ends a call for everybody.
func TestDeadline(t *testing.T) {
	w := begin(t, "agents:\n  demo: {upstream: {kind: demo}, tools: [{name: get_location, timeout: 100ms}]}\n")
	id, _, _ := w.waiting("", "demo", "th1")
	eventually(t, "the call expires", func() bool {
		return w.do(call{method: "GET", path: "/v1/invocations/" + id}).field("invocation.state") == "expired"
	})
	if r := w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":1}`}); r.code() != "invocation_closed" {
		t.Errorf("after its deadline: %d %s", r.status, r.body)
	}
}

// A failed run leaves no call behind that a client could run [RUN-3].
func TestFailedRunCancels(t *testing.T) {
	up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, `{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"get_location"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"get_location"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c2","delta":"{\"a"}`)
	})
	w := begin(t, agent("a", up.URL, ""))
	frames := w.run("", "a", input("th1", "r1", locate, user("u1", "x")))
	shown := map[string]bool{}
	for _, f := range frames {
		if f.Type == agui.ToolCallResult {
			shown[f.Text("toolCallId")] = true
		}
		if f.Type == agui.ToolCallEnd && f.Text("toolCallId") == "c2" {
			t.Error("a half-written call got an end")
		}
	}
	if !shown["c1"] || !shown["c2"] || last(frames).Text("code") != "incomplete_stream" {
		t.Errorf("results for %v, ended with %s", shown, last(frames).Raw)
	}
	list := w.do(call{method: "GET", path: "/v1/threads/th1/invocations"})
	if n := len(list.field("invocations").([]any)); n != 1 || !strings.Contains(list.body, `"state":"cancelled"`) {
		t.Errorf("the record says %s", list.body)
	}
}

// A call that the agent runs itself cannot be settled [OWN-3].
func TestNotClientTool(t *testing.T) {
	up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, `{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"b1","toolCallName":"send_mail"}`, `{"type":"TOOL_CALL_END","toolCallId":"b1"}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"b1","content":"sent"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"get_location"}`, `{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
			`{"type":"RUN_FINISHED","threadId":"th1","runId":"r1"}`)
	})
	w := begin(t, agent("a", up.URL, ""))
	w.run("", "a", input("th1", "r1", locate, user("u1", "x")))
	before := w.do(call{method: "GET", path: "/v1/threads/th1/invocations"})
	if strings.Contains(before.body, "send_mail") {
		t.Errorf("the agent's own call is an invocation: %s", before.body)
	}
	r := w.do(call{method: "POST", path: "/v1/threads/th1/resolve", body: `{"results":[{"id":"c1","result":1},{"id":"b1","result":"not sent"}]}`})
	if r.status != 409 || r.code() != "not_client_tool" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if now := w.do(call{method: "GET", path: "/v1/threads/th1/invocations"}); now.body != before.body {
		t.Error("the refusal changed the thread")
	}
}
