package e2e

import (
	"encoding/json"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// aguigate runs one command of the binary under test and gives what it printed.
func (g *gateway) aguigate(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(must(t, gatewayBinary), append(args, "--gateway", g.listen)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("aguigate %v: %v %s", args, err, out)
	}
	return out
}

// watcher is `aguigate tail` in a process of its own.
type watcher struct {
	t       *testing.T
	process *process
}

// watch starts a watcher and waits until it hears. It asks for all there was, so
// that it is shown the thread and the call that waits first.
func (g *gateway) watch(t *testing.T, inv invocation) *watcher {
	t.Helper()
	p, err := start(must(t, gatewayBinary), "tail", inv.Thread, "--agent", inv.Agent, "--since", "0", "--gateway", g.listen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	w := &watcher{t, p}
	events := w.until("CUSTOM")
	if value, _ := events[len(events)-1]["value"].(map[string]any); events[0]["type"] != "MESSAGES_SNAPSHOT" || value["id"] != inv.ID || value["state"] != "open" {
		t.Fatalf("the watcher was shown %v", events)
	}
	return w
}

// until gives the events up to the first of that kind.
func (w *watcher) until(kind string) (events []map[string]any) {
	w.t.Helper()
	for {
		line, err := w.process.line(stepLimit)
		if err != nil {
			w.t.Fatalf("no %s: %v; so far %v", kind, err, events)
		}
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			w.t.Fatalf("the watcher printed %q: %v", line, err)
		}
		if events = append(events, event); event["type"] == kind {
			return events
		}
	}
}

// asked waits until the agent was asked so often.
func (k *talk) asked(times int) []question {
	k.t.Helper()
	for range 200 {
		if q := k.stage.questions(k.thread); len(q) >= times {
			return q
		}
		time.Sleep(50 * time.Millisecond)
	}
	k.t.Fatalf("the agent was asked %d times, want %d", len(k.stage.questions(k.thread)), times)
	return nil
}

// locating is an agent that asks once where the user is, and then says it.
func locating(c *scene) {
	switch results := c.results(); {
	case len(results) > 0:
		c.text("m-"+c.Run, "You are ", "in "+results[0]+".")
	case c.user() == "where am I":
		c.call("m-"+c.Run, "call-"+c.Run, "get_location", `{"precise":true}`)
	default:
		c.text("m-"+c.Run, "You said: "+c.user())
	}
}

// A call opened over AG-UI is answered from another process. The gateway tells the
// agent, once; who watches sees it; the client's own equal run is given that
// continuation under its own ids; who was away is brought it with its next run
// [INV-11, HIST-2].
func TestAnsweredElsewhere(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			k := newTalk(t, version, "scripted")
			k.stage.on(t, k.thread, locating)
			here, away := k.enter(), k.enter()
			k.turn(here, "u1", step{}, expect{makes: "a1", upstream: "u1"})
			k.turn(away, "u2", step{}, expect{makes: "a2", upstream: "u1 a1 u2"})

			k.name("u3", "u3-"+k.thread)
			r := here.do(step{User: "where am I", UserID: k.ids["u3"], Tools: bothTools})
			finished(t, r, version, k.thread, 1)
			calls := r.openCalls()
			if len(calls) != 1 {
				t.Fatalf("calls %+v", calls)
			}
			k.name("a3", r.Messages[len(r.Messages)-1].ID)
			inv := k.g.onlyOpen(t, "scripted", k.thread)
			w := k.g.watch(t, inv)
			k.name("a4", k.resolvedElsewhere(w, inv))

			// The client's own run brings the same answer.
			r = here.do(step{RunID: "mine-" + k.thread, Tools: bothTools, Results: []toolMessage{{calls[0].ID, "Porto"}}})
			finished(t, r, version, k.thread, 1)
			k.name("t3", r.Messages[len(r.Messages)-2].ID)
			k.same("the client that repeated the answer has", r.Messages, "u1 a1 u2 a2 u3 a3 t3 a4")
			wire := r.Runs[0].Wire
			if first, last := wire[0].Event, wire[len(wire)-1].Event; first["runId"] != "mine-"+k.thread || last["runId"] != "mine-"+k.thread {
				t.Errorf("[INV-11] the equal run is\n%s", r.Runs[0])
			}
			if r.lastText() != "You are in Porto." {
				t.Errorf("[INV-11] the agent said %q", r.lastText())
			}
			if n := len(k.stage.questions(k.thread)); n != 4 {
				t.Errorf("[INV-11] the agent was asked %d times", n)
			}

			// Who was away learns the result under the name the gateway gave it [UP-4].
			k.name("t3", "gw-"+calls[0].ID)
			k.turn(away, "u4", step{Tools: bothTools}, expect{makes: "a5", upstream: "u1 a1 u2 a2 u3 a3 t3 a4 u4"})
			k.g.delivered(t, inv.ID)
		})
	}
}

// resolvedElsewhere answers the call by the command line and checks the run by which
// the gateway goes on, as the agent reads it and as the watcher prints it. It gives
// the id of the agent's message.
func (k *talk) resolvedElsewhere(w *watcher, inv invocation) (message string) {
	k.t.Helper()
	before := k.stage.questions(k.thread)
	var printed invocation
	if err := json.Unmarshal(k.g.aguigate(k.t, "resolve", inv.ID, "--result", `"Porto"`), &printed); err != nil || printed.State != "settled" || printed.Outcome != "ok" {
		k.t.Fatalf("resolve printed %+v, %v", printed, err)
	}
	events := w.until("RUN_FINISHED")
	var kinds []string
	var said string
	for _, event := range events {
		kinds = append(kinds, event["type"].(string))
		if event["type"] == "TEXT_MESSAGE_CONTENT" {
			said += event["delta"].(string)
			message = event["messageId"].(string)
		}
	}
	at := slices.Index(kinds, "RUN_STARTED")
	// A watcher has no list of its own to add to: it is shown the whole of it.
	want := []string{"RUN_STARTED", "MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"}
	if at < 1 || !slices.Equal(slices.DeleteFunc(kinds[at:], func(s string) bool { return s == "CUSTOM" }), want) || said != "You are in Porto." {
		k.t.Errorf("the watcher printed %v", events)
	}
	value, _ := events[0]["value"].(map[string]any)
	if value["id"] != inv.ID || value["state"] != "settled" {
		k.t.Errorf("the watcher was told first of %v", events[0])
	}

	asked := k.asked(len(before) + 1)
	q, opener := asked[len(before)], before[len(before)-1]
	k.name("t3", "gw-"+inv.CallID)
	k.same("the gateway asked the agent with", q.Messages, k.told(opener.Messages)+" a3 t3")
	if last := q.Messages[len(q.Messages)-1]; last.text() != "Porto" || last.ToolCallID != inv.CallID {
		k.t.Errorf("the agent read %+v", last)
	}
	if run := events[at]["runId"]; q.Run != run || q.Run == opener.Run || q.Parent != opener.Run {
		k.t.Errorf("[INV-11] run %s of parent %s, the watcher saw %v, the call is of %s", q.Run, q.Parent, run, opener.Run)
	}
	if len(q.Tools) != len(opener.Tools) {
		k.t.Errorf("[INV-11] the agent was offered %v, before %v", q.Tools, opener.Tools)
	}
	return message
}
