package e2e

import (
	"slices"
	"testing"
	"time"
)

// agents are the backends every exchange of this file is tried with.
var agents = []string{"copilot", "gosdk", "demo"}

// everywhere runs a test with each client version against each agent.
func everywhere(t *testing.T, among []string, test func(t *testing.T, version, agent string)) {
	for _, agent := range among {
		for _, version := range versions {
			t.Run(agent+" "+version, func(t *testing.T) {
				t.Parallel()
				test(t, version, agent)
			})
		}
	}
}

// join opens a client on the shared gateway.
func join(t *testing.T, version, agent string) (*client, *gateway, string) {
	t.Helper()
	g := must(t, theGateway)
	g.logsOnFailure(t)
	thread := threadID(t)
	return open(t, opening{Version: version, URL: g.run(agent), ThreadID: thread}), g, thread
}

func TestPlainText(t *testing.T) {
	everywhere(t, agents, func(t *testing.T, version, agent string) {
		c, _, thread := join(t, version, agent)
		r := c.do(step{User: "good morning"})
		finished(t, r, version, thread, 1)
		if r.lastText() == "" {
			t.Fatal("no text")
		}
		r = c.do(step{User: "and a second turn"})
		finished(t, r, version, thread, 1)
		if got := len(r.Messages); got != 4 {
			t.Fatalf("%d messages after two turns: %+v", got, r.Messages)
		}
	})
}

func TestToolCall(t *testing.T) {
	everywhere(t, agents, func(t *testing.T, version, agent string) {
		c, g, thread := join(t, version, agent)
		r := c.do(step{User: "where am I", Tools: bothTools})
		finished(t, r, version, thread, 1)
		calls := r.openCalls()
		if len(calls) != 1 || calls[0].Function.Name != "get_location" {
			t.Fatalf("calls %+v", calls)
		}
		pendingNamed(t, r.Runs[0], version, calls)
		if inv := g.onlyOpen(t, agent, thread); inv.CallID != calls[0].ID || inv.Tool != "get_location" {
			t.Fatalf("recorded %+v for %+v", inv, calls[0])
		}

		r = c.do(step{Results: []toolMessage{{calls[0].ID, awkward}}, Tools: bothTools})
		finished(t, r, version, thread, 1)
		contains(t, r.lastText(), awkward)
		if list := g.invocations(t, agent, thread, "open"); len(list) != 0 {
			t.Fatalf("still open: %+v", list)
		}
	})
}

func TestTwoParallelCalls(t *testing.T) {
	everywhere(t, agents, func(t *testing.T, version, agent string) {
		c, g, thread := join(t, version, agent)
		r := c.do(step{User: "compare", Tools: bothTools})
		finished(t, r, version, thread, 1)
		calls := r.openCalls()
		if len(calls) != 2 {
			t.Fatalf("calls %+v", calls)
		}
		pendingNamed(t, r.Runs[0], version, calls)
		if list := g.invocations(t, agent, thread, "open"); len(list) != 2 {
			t.Fatalf("recorded %+v", list)
		}
		r = c.do(step{Tools: bothTools, Results: []toolMessage{{calls[0].ID, awkward}, {calls[1].ID, "12:00 \u2028 sharp"}}})
		finished(t, r, version, thread, 1)
		contains(t, r.lastText(), awkward)
		contains(t, r.lastText(), "12:00 \u2028 sharp")
	})
}

// Half a round is kept, the agent is not called; the other half goes on [RUN-5].
func TestHalfARound(t *testing.T) {
	everywhere(t, agents, func(t *testing.T, version, agent string) {
		c, _, thread := join(t, version, agent)
		r := c.do(step{User: "compare", Tools: bothTools})
		finished(t, r, version, thread, 1)
		calls := r.openCalls()
		if len(calls) != 2 {
			t.Fatalf("calls %+v", calls)
		}
		r = c.do(step{Tools: bothTools, Results: []toolMessage{{calls[1].ID, "noon"}}})
		finished(t, r, version, thread, 1)
		if custom := r.Runs[0].find("CUSTOM"); len(custom) != 1 || custom[0]["name"] != "aguigate.pending" {
			t.Fatalf("[RUN-5] no aguigate.pending:\n%s", r.Runs[0])
		}
		r = c.do(step{Tools: bothTools, Results: []toolMessage{{calls[0].ID, "Porto"}}})
		finished(t, r, version, thread, 1)
		contains(t, r.lastText(), "Porto")
		contains(t, r.lastText(), "noon")
	})
}

// A client tool is only called when this request offers it [MERGE-1].
func TestToolsOfThisRequestOnly(t *testing.T) {
	everywhere(t, []string{"copilot", "gosdk"}, func(t *testing.T, version, agent string) {
		c, _, thread := join(t, version, agent)
		r := c.do(step{User: "where am I", Tools: []tool{getTime}})
		finished(t, r, version, thread, 1)
		contains(t, r.lastText(), "No tool get_location was offered")
	})
}

// An agent that numbers its calls anew in each run: the client sees two calls,
// and each result goes to its own [INV-2].
func TestReusedCallID(t *testing.T) {
	everywhere(t, []string{"gosdk"}, func(t *testing.T, version, agent string) {
		c, _, thread := join(t, version, agent)
		var ids []string
		for _, city := range []string{"Paris", "Rome"} {
			r := c.do(step{User: "where am I, again", Tools: bothTools, Answers: map[string]string{"get_location": city}})
			finished(t, r, version, thread, 2)
			if r.lastText() != "The answer is "+city+"." {
				t.Fatalf("%q, want %s", r.lastText(), city)
			}
			start := r.Runs[0].find("TOOL_CALL_START")
			ids = append(ids, start[0]["toolCallId"].(string))
		}
		if ids[0] != "call_0" || ids[1] != "call_0-2" {
			t.Fatalf("[INV-2] client saw %v", ids)
		}
	})
}

// The user goes on without answering: the agent is told, nothing is poisoned,
// and the client learns what was made of its open call [RUN-6].
func TestUserGoesOn(t *testing.T) {
	everywhere(t, agents, func(t *testing.T, version, agent string) {
		c, g, thread := join(t, version, agent)
		r := c.do(step{User: "where am I", Tools: bothTools})
		finished(t, r, version, thread, 1)
		calls := r.openCalls()
		if len(calls) != 1 {
			t.Fatalf("calls %+v", calls)
		}
		r = c.do(step{User: "never mind, good morning", Tools: bothTools})
		finished(t, r, version, thread, 1)
		results := r.Runs[0].find("TOOL_CALL_RESULT")
		if len(results) != 1 || results[0]["toolCallId"] != calls[0].ID || results[0]["messageId"] != "gw-"+calls[0].ID {
			t.Fatalf("[RUN-6] results %+v", results)
		}
		if len(r.openCalls()) != 0 || len(g.invocations(t, agent, thread, "open")) != 0 {
			t.Fatalf("still open: %+v", r.openCalls())
		}
		r = c.do(step{User: "still there?", Tools: bothTools})
		finished(t, r, version, thread, 1)
	})
}

// Two events sent apart arrive apart [RUN-7]: the model behind the agent takes
// more than 50 ms between its six pieces.
func TestEventsArriveApart(t *testing.T) {
	everywhere(t, []string{"copilot"}, func(t *testing.T, version, agent string) {
		c, _, thread := join(t, version, agent)
		r := c.do(step{User: "slow words"})
		finished(t, r, version, thread, 1)
		var at []int64
		for _, e := range r.Runs[0].Events {
			if e.Event["type"] == "TEXT_MESSAGE_CONTENT" {
				at = append(at, e.At)
			}
		}
		apart := 0
		for i := 1; i < len(at); i++ {
			if at[i]-at[i-1] >= 20 {
				apart++
			}
		}
		// One pair may meet when the machine is busy; a gateway that collects
		// brings them all at once.
		if len(at) != 6 || apart < 4 {
			t.Fatalf("pieces arrived at %v", at)
		}
	})
}

// A client that leaves takes its run with it, and its thread is free again
// within the second [RUN-10].
func TestClientLeaves(t *testing.T) {
	everywhere(t, []string{"demo"}, func(t *testing.T, version, agent string) {
		c, _, thread := join(t, version, agent)
		r := c.do(step{User: "long", AbortAfterEvents: 5})
		if kinds := r.Runs[0].types(); slices.Contains(kinds, "RUN_FINISHED") {
			t.Fatalf("the run ended before the client could leave:\n%s", r.Runs[0])
		}
		left := time.Now()
		r = c.do(step{User: "good morning"})
		for r.Runs[0].Status == 409 && time.Since(left) < time.Second {
			time.Sleep(50 * time.Millisecond)
			r = c.do(step{})
		}
		finished(t, r, version, thread, 1)
	})
}
