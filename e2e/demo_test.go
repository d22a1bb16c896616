package e2e

import (
	"encoding/json"
	"slices"
	"testing"
)

// What the built-in agent shows of the protocol reaches both client versions.

func TestDemoReasoning(t *testing.T) {
	everywhere(t, []string{"demo"}, func(t *testing.T, version, agent string) {
		c, _, thread := join(t, version, agent)
		r := c.do(step{User: "think"})
		finished(t, r, version, thread, 1)
		kinds := r.Runs[0].types()
		for _, want := range []string{"REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END", "TEXT_MESSAGE_CONTENT"} {
			if !slices.Contains(kinds, want) {
				t.Errorf("no %s in %v", want, kinds)
			}
		}
		if !slices.ContainsFunc(r.Messages, func(m message) bool { return m.Role == "reasoning" && m.text() != "" }) {
			t.Errorf("the client keeps no reasoning message: %+v", r.Messages)
		}
		// The client sends the reasoning message back with its next run.
		finished(t, c.do(step{User: "good morning"}), version, thread, 1)
	})
}

func TestDemoState(t *testing.T) {
	everywhere(t, []string{"demo"}, func(t *testing.T, version, agent string) {
		c, _, thread := join(t, version, agent)
		r := c.do(step{User: "state"})
		finished(t, r, version, thread, 1)
		kinds := r.Runs[0].types()
		if !slices.Contains(kinds, "STATE_SNAPSHOT") || !slices.Contains(kinds, "STATE_DELTA") {
			t.Fatalf("no state in %v", kinds)
		}
		var state map[string]any
		if err := json.Unmarshal(r.State, &state); err != nil || len(state) == 0 {
			t.Fatalf("the client's state is %s", r.State)
		}
		// The client sends its state back with its next run.
		finished(t, c.do(step{User: "good morning"}), version, thread, 1)
	})
}

func TestDemoLongText(t *testing.T) {
	everywhere(t, []string{"demo"}, func(t *testing.T, version, agent string) {
		c, _, thread := join(t, version, agent)
		r := c.do(step{User: "long"})
		finished(t, r, version, thread, 1)
		var whole string
		for _, event := range r.Runs[0].find("TEXT_MESSAGE_CONTENT") {
			whole += event["delta"].(string)
		}
		if len(r.Runs[0].find("TEXT_MESSAGE_CONTENT")) < 10 || r.lastText() != whole {
			t.Fatalf("%d pieces, client has %d bytes of %d", len(r.Runs[0].find("TEXT_MESSAGE_CONTENT")), len(r.lastText()), len(whole))
		}
	})
}

// Interrupts and their answers pass [RUN-12].
func TestDemoInterrupt(t *testing.T) {
	everywhere(t, []string{"demo"}, func(t *testing.T, version, agent string) {
		c, _, thread := join(t, version, agent)
		r := c.do(step{Resume: []resumeEntry{interrupted(t, c, version, thread)}})
		finished(t, r, version, thread, 1)
		contains(t, r.lastText(), `{"approved":true}`)
		finished(t, c.do(step{User: "good morning"}), version, thread, 1)
	})
}

// interrupted brings the thread to an interrupt and gives its answer.
func interrupted(t *testing.T, c *client, version, thread string) resumeEntry {
	t.Helper()
	r := c.do(step{User: "approve"})
	finished(t, r, version, thread, 1)
	if len(r.Runs[0].Interrupts) != 1 {
		t.Fatalf("interrupts %+v:\n%s", r.Runs[0].Interrupts, r.Runs[0])
	}
	return resumeEntry{InterruptID: r.Runs[0].Interrupts[0].ID, Status: "resolved", Payload: map[string]any{"approved": true}}
}

func TestDemoFails(t *testing.T) {
	everywhere(t, []string{"demo"}, func(t *testing.T, version, agent string) {
		c, _, thread := join(t, version, agent)
		failed(t, c.do(step{User: "fail", Tools: bothTools}), version, thread, "")
		// The thread is not poisoned.
		finished(t, c.do(step{User: "good morning"}), version, thread, 1)
	})
}

// A stream cut in the middle ends in RUN_ERROR; no application runs a tool of
// it, and none of its calls stays open [RUN-3].
func TestDemoHangsUp(t *testing.T) {
	everywhere(t, []string{"demo"}, func(t *testing.T, version, agent string) {
		c, g, thread := join(t, version, agent)
		r := c.do(step{User: "hang up", Tools: bothTools, Answers: map[string]string{"get_location": "Porto", "get_time": "noon"}})
		failed(t, r, version, thread, "incomplete_stream")
		run := r.Runs[0]
		starts, results := run.find("TOOL_CALL_START"), run.find("TOOL_CALL_RESULT")
		if len(results) != len(starts) {
			t.Errorf("[RUN-3] %d calls, %d told not to run:\n%s", len(starts), len(results), run)
		}
		if open := r.openCalls(); len(open) != 0 {
			t.Errorf("the application would run %+v", open)
		}
		for _, inv := range g.invocations(t, agent, thread, "") {
			if inv.State != "cancelled" {
				t.Errorf("[RUN-3] %+v", inv)
			}
		}
		finished(t, c.do(step{User: "good morning"}), version, thread, 1)
	})
}

// failed checks a step of one run that ended in RUN_ERROR, with that code if
// code is not "".
func failed(t *testing.T, r report, version, thread, code string) {
	t.Helper()
	if len(r.Runs) != 1 {
		t.Fatalf("%d runs, want one: the application went on after a failure", len(r.Runs))
	}
	run := r.Runs[0]
	wellFormed(t, run, version, thread)
	errors := run.find("RUN_ERROR")
	if len(errors) != 1 || (code != "" && errors[0]["code"] != code) {
		t.Fatalf("want one RUN_ERROR %s:\n%s", code, run)
	}
	for _, kind := range []string{"TEXT_MESSAGE", "REASONING_MESSAGE"} {
		if len(run.find(kind+"_START")) != len(run.find(kind+"_END")) {
			t.Errorf("[RUN-3] %s left open:\n%s", kind, run)
		}
	}
}
