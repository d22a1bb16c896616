package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

// Group B: results that come twice, and calls that are made again and again.
func beginRepeats(t *testing.T) (*stage, *world) {
	t.Helper()
	s := newStage(t)
	return s, begin(t, patient(s.URL, "    loop_guard: 3\n")+
		strings.Replace(agent("twice", s.URL, ""), "url:", "idempotent: true, url:", 1)[len("agents:\n"):])
}

// F008: a tool that is called for ever.
func TestF008ToolCalledForEver(t *testing.T) {
	s, w := beginRepeats(t)
	n := 0
	s.plays("th8", func(w http.ResponseWriter, r *http.Request, body string) {
		n++
		args := []string{`{\"q\":1,\"a\":[]}`, `{ \"a\":[],\"q\":1.0}`}[n%2]
		frames("r", fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"colour","parentMessageId":"m%d"}`, n, n),
			fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":"c%d","delta":"%s"}`, n, args), fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":"c%d"}`, n))(w, r, body)
	})
	list := []string{user("u1", "hi")}
	for i := 1; i <= 4; i++ {
		end := last(w.run("", "a", input("th8", fmt.Sprint("r", i), offered("colour"), list...)))
		if i == 2 && !strings.HasSuffix(reads(s.newest("th8")), `tool t1 =c1 "blue"`) {
			t.Errorf("the result went up as\n%s", reads(s.newest("th8")))
		}
		if end.Type == agui.RunError {
			if end.Text("code") != "tool_loop" || i != 3 {
				t.Errorf("run %d ended in %s", i, end.Raw)
			}
			return
		}
		list = append(list, assistant(fmt.Sprint("m", i), strings.Replace(toolCall(fmt.Sprint("c", i), "colour"), `"{}"`, `"{\"q\":1,\"a\":[]}"`, 1)), result(fmt.Sprint("t", i), fmt.Sprint("c", i), "blue"))
	}
	t.Error("nobody ended the loop")
}

// F009: a request that was read is not sent again.
func TestF009NotSentAgain(t *testing.T) {
	s, w := beginRepeats(t)
	for agentName, asks := range map[string]int{"a": 2, "twice": 3} {
		thread := "th9" + agentName
		s.plays(thread, frames("r1", calling("m2", "pay", "c1")...), func(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) }, frames("r2", saying("m3", "paid")...))
		w.run("", agentName, input(thread, "r1", offered("pay"), user("m1", "hi")))
		list := []string{user("m1", "hi"), assistant("m2", toolCall("c1", "pay")), result("t1", "c1", "ok")}
		end := last(w.run("", agentName, input(thread, "r2", offered("pay"), list...)))
		switch {
		case len(s.asks(thread)) != asks:
			t.Errorf("%s: the agent was asked %d times, want %d", agentName, len(s.asks(thread)), asks)
		case agentName == "a" && (end.Text("code") != "upstream_closed" || w.invocation(thread, "c1")["delivery"] != "sent"):
			t.Errorf("the run ended in %s, the record says %v", end.Raw, w.invocation(thread, "c1")["delivery"])
		case agentName == "twice" && end.Type != agui.RunFinished:
			t.Errorf("the idempotent agent's run ended in %s", end.Raw)
		}
	}
}

// F010: two windows answer one call.
func TestF010TwoWindows(t *testing.T) {
	s, w := beginRepeats(t)
	s.plays("th10", frames("r1", calling("m2", "pick", "c1")...), frames("r2", saying("m3", "fine")...))
	w.run("", "a", input("th10", "r1", offered("pick"), user("m1", "hi")))
	path := "/v1/invocations/" + w.invocation("th10", "c1")["id"].(string) + "/resolve"
	answers := map[string]reply{}
	for _, value := range []string{"A", "B", "A "} {
		answers[value] = w.do(call{method: "POST", path: path, body: fmt.Sprintf(`{"result":%q,"continue":false}`, strings.TrimSpace(value))})
	}
	if r := answers["A"]; r.status != 200 || r.field("replayed") != false {
		t.Errorf("the first: %d %s", r.status, r.body)
	}
	if r := answers["B"]; r.status != 409 || r.code() != "action_result_conflict" || !strings.Contains(r.body, `"accepted":{"outcome":"ok","result":"A"`) {
		t.Errorf("the second: %d %s", r.status, r.body)
	}
	if r := answers["A "]; r.status != 200 || r.field("replayed") != true {
		t.Errorf("the first again: %d %s", r.status, r.body)
	}
	// The window that lost is told the same by its run, and the agent is not asked.
	list := []string{user("m1", "hi"), assistant("m2", toolCall("c1", "pick")), result("t1", "c1", "B")}
	if r := w.post("a", input("th10", "r2", offered("pick"), list...)); r.status != 409 || r.code() != "action_result_conflict" || len(s.asks("th10")) != 1 {
		t.Errorf("a run with the second: %d %s", r.status, r.body)
	}
}

// F011: a client that floods a failing agent.
func TestF011FailingAgent(t *testing.T) {
	s, w := beginRepeats(t)
	s.plays("th11", frames("r1", calling("m2", "pick", "c1")...), exactly(`{"type":"RUN_STARTED","threadId":"th11","runId":"r2"}`, `{"type":"RUN_ERROR","message":"no"}`))
	w.run("", "a", input("th11", "r1", offered("pick"), user("m1", "hi")))
	list := []string{user("m1", "hi"), assistant("m2", toolCall("c1", "pick")), result("t1", "c1", "x")}
	for i := range 50 {
		all := w.run("", "a", input("th11", fmt.Sprint("p", i), offered("pick"), list...))
		if end := last(all); end.Type != agui.RunError || i < 3 && end.Text("message") != "no" || i >= 3 && i < 10 && (end.Text("code") != "result_rejected" || len(all) != 2) {
			t.Errorf("post %d gave %s, ended in %s", i, kinds(all), end.Raw)
		}
	}
	if n := len(s.asks("th11")); n < 4 || n > 6 { // once more after each pause, if 50 posts take that long
		t.Errorf("50 posts asked the agent %d times, want the call and three tries", n)
	}
}

// F013: two resumes at once.
func TestF013TwoResumes(t *testing.T) {
	s, w := beginRepeats(t)
	for i := range 10 {
		thread := fmt.Sprint("th13-", i)
		s.plays(thread, exactly(`{"type":"RUN_STARTED","threadId":"`+thread+`","runId":"r1"}`,
			`{"type":"RUN_FINISHED","threadId":"`+thread+`","runId":"r1","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"approval"}]}}`), frames("r2", saying("m2", "done")...))
		w.run("", "a", input(thread, "r1", "", user("m1", "hi")))
		got := make([]reply, 2)
		var both sync.WaitGroup
		for k := range got {
			both.Go(func() {
				body := strings.Replace(input(thread, fmt.Sprint("r2-", k), "", user("m1", "hi")), `"messages"`, `"resume":[{"interruptId":"i1","status":"resolved","payload":true}],"messages"`, 1)
				got[k], _ = w.try(call{method: "POST", path: "/agents/a/run", body: body})
			})
		}
		both.Wait()
		won, lost := 0, 0
		for _, r := range got {
			switch {
			case r.status == 200 && strings.Contains(r.body, `"done"`):
				won++
			case r.status == 409 && r.code() == "resume_conflict", r.status == 200 && strings.Contains(r.body, `"resume_conflict"`):
				lost++
			default:
				t.Errorf("neither won nor lost: %d %s", r.status, r.body)
			}
		}
		if won != 1 || lost != 1 || len(s.asks(thread)) != 2 {
			t.Errorf("%d won, %d lost, the agent was asked %d times", won, lost, len(s.asks(thread)))
		}
	}
}

// Group D: several calls, the agent's and the client's, in one turn.
func beginRounds(t *testing.T) (*stage, *world) {
	t.Helper()
	s := newStage(t)
	return s, begin(t, patient(s.URL, "    tools: [{name: quick, timeout: 200ms}]\n"))
}

// three is a question and three calls for an answer.
func three() []string {
	return []string{user("m1", "hi"), assistant("m2", toolCall("c1", "pick"), toolCall("c2", "pick"), toolCall("c3", "pick"))}
}

// F019: the agent's and the client's calls in one message.
func TestF019CallsOfBothSides(t *testing.T) {
	s, w := beginRounds(t)
	// In whatever order the client sends them, and if it sends its own only.
	for i, tail := range [][]string{{result("mb", "c1", "found"), result("t2", "c2", "Oslo")}, {result("t2", "c2", "Oslo")}, {result("t2", "c2", "Oslo"), result("mb", "c1", "found")}} {
		thread := fmt.Sprint("th19", i)
		s.plays(thread, frames("r1", append(append(calling("m2", "search", "c1"), calling("m2", "pick", "c2")...), `{"type":"TOOL_CALL_RESULT","messageId":"mb","toolCallId":"c1","content":"found","role":"tool"}`)...), frames("r2", saying("m3", "fine")...))
		w.run("", "a", input(thread, "r1", offered("pick"), user("m1", "hi")))
		w.run("", "a", input(thread, "r2", offered("pick"), append([]string{user("m1", "hi"), assistant("m2", toolCall("c1", "search"), toolCall("c2", "pick"))}, tail...)...))
		want := lines(`user m1 "hi"`, `assistant m2 +c1 +c2`, `tool mb =c1 "found"`, `tool t2 =c2 "Oslo"`)
		if got := reads(s.newest(thread)); got != want {
			t.Errorf("list %d: the agent reads\n%s\nwant\n%s", i, got, want)
		}
	}
}

// F020: an answer while the agent's own tool runs.
func TestF020AnswerWhileToolRuns(t *testing.T) {
	s, w := beginRounds(t)
	goOn := make(chan struct{})
	s.plays("th20", func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, append([]string{`{"type":"RUN_STARTED","threadId":"th20","runId":"r1"}`}, append(calling("m2", "search", "c1"), calling("m2", "pick", "c2")...)...)...)
		<-goOn
		say(w, `{"type":"TOOL_CALL_RESULT","messageId":"mb","toolCallId":"c1","content":"found","role":"tool"}`, `{"type":"RUN_FINISHED","threadId":"th20","runId":"r1"}`)
	}, frames("r2", saying("m3", "fine")...))
	first := w.later("a", input("th20", "r1", offered("pick"), user("m1", "hi")))
	eventually(t, "c2 is open", func() bool { return w.calls("th20") == "c2=open" })
	second := w.later("a", input("th20", "r2", offered("pick"), user("m1", "hi"), assistant("m2", toolCall("c1", "search"), toolCall("c2", "pick")), result("t2", "c2", "Oslo")))
	eventually(t, "its result is taken", func() bool { return w.calls("th20") == "c2=settled" })
	if n := len(s.asks("th20")); n != 1 {
		t.Errorf("the agent was asked again before its run was over: %d", n)
	}
	close(goOn)
	w.events((<-first).body)
	if got := w.events((<-second).body); text(got) != "fine" {
		t.Errorf("the run that answers got %s", kinds(got))
	}
	want := lines(`user m1 "hi"`, `assistant m2 +c1 +c2`, `tool mb =c1 "found"`, `tool gw-c2 =c2 "Oslo"`)
	if got := reads(s.newest("th20")); got != want || len(s.asks("th20")) != 2 {
		t.Errorf("the agent, asked %d times, reads\n%s\nwant\n%s", len(s.asks("th20")), got, want)
	}
}

// F021: all of several results reach the agent, once.
func TestF021SeveralResults(t *testing.T) {
	s, w := beginRounds(t)
	s.plays("th21", frames("r1", calling("m2", "pick", "c1", "c2", "c3")...), frames("r2", saying("m3", "fine")...))
	w.run("", "a", input("th21", "r1", offered("pick"), user("m1", "hi")))
	w.run("", "a", input("th21", "r2", offered("pick"), append(three(), result("t1", "c1", "A"), result("t2", "c2", "B"), result("t3", "c3", "C"))...))
	want := lines(`user m1 "hi"`, `assistant m2 +c1 +c2 +c3`, `tool t1 =c1 "A"`, `tool t2 =c2 "B"`, `tool t3 =c3 "C"`)
	if got := reads(s.newest("th21")); got != want || len(s.asks("th21")) != 2 {
		t.Errorf("the agent, asked %d times, reads\n%s\nwant\n%s", len(s.asks("th21")), got, want)
	}
}

// F023: one of three results is kept and starts nothing.
func TestF023OneOfThreeResults(t *testing.T) {
	s, w := beginRounds(t)
	s.plays("th23", frames("r1", calling("m2", "pick", "c1", "c2", "c3")...), frames("r2", saying("m3", "fine")...))
	w.run("", "a", input("th23", "r1", offered("pick"), user("m1", "hi")))
	got := w.run("", "a", input("th23", "r2", offered("pick"), append(three(), result("t1", "c1", "A"))...))
	if kinds(got) != "RUN_STARTED CUSTOM RUN_FINISHED" || string(got[1].Field("value")) != `{"toolCallIds":["c2","c3"]}` || got[1].Text("name") != "aguigate.pending" || len(s.asks("th23")) != 1 {
		t.Errorf("the client got %s, the agent was asked %d times", kinds(got), len(s.asks("th23")))
	}
	if got := w.calls("th23"); got != "c1=settled c2=open c3=open" {
		t.Errorf("the record says %s", got)
	}
	w.run("", "a", input("th23", "r3", offered("pick"), append(three(), result("t2", "c2", "B"), result("t3", "c3", "C"))...))
	want := lines(`user m1 "hi"`, `assistant m2 +c1 +c2 +c3`, `tool gw-c1 =c1 "A"`, `tool t2 =c2 "B"`, `tool t3 =c3 "C"`)
	if got := reads(s.newest("th23")); got != want {
		t.Errorf("the agent reads\n%s\nwant\n%s", got, want)
	}
	// With a timeout the others expire, and the agent is told what there is.
	s.plays("th23q", frames("r1", calling("m2", "quick", "c1", "c2", "c3")...), frames("r2", saying("m3", "fine")...))
	w.run("", "a", input("th23q", "r1", offered("quick"), user("m1", "hi")))
	w.run("", "a", input("th23q", "r2", offered("quick"), append(three(), result("t1", "c1", "A"))...))
	eventually(t, "the others have expired", func() bool { return w.calls("th23q") == "c1=settled c2=expired c3=expired" })
	w.run("", "a", input("th23q", "r3", offered("quick"), append(three(), result("t1", "c1", "A"), user("m4", "and?"))...))
	want = lines(`user m1 "hi"`, `assistant m2 +c1 +c2 +c3`, `tool t1 =c1 "A"`, `tool gw-c2 =c2 "NO ANSWER"`, `tool gw-c3 =c3 "NO ANSWER"`, `user m4 "and?"`)
	if got := reads(s.newest("th23q")); got != want {
		t.Errorf("the agent reads\n%s\nwant\n%s", got, want)
	}
}
