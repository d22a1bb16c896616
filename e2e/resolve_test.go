package e2e

import (
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"
)

// A backend settles the call between the client's runs and leaves going on to
// the client; the agent learns the accepted result although the client's own
// history never held it [HIST-3].
func TestResolvedBetweenRuns(t *testing.T) {
	everywhere(t, []string{"copilot", "gosdk"}, func(t *testing.T, version, agent string) {
		c, g, thread := join(t, version, agent)
		r := c.do(step{User: "where am I", Tools: bothTools})
		finished(t, r, version, thread, 1)
		inv := g.onlyOpen(t, agent, thread)

		var s settlement
		g.resolve(t, inv.ID, map[string]any{"result": "Porto", "continue": false}).into(t, 200, &s)
		if s.Replayed || s.Invocation.State != "settled" || s.Invocation.Outcome != "ok" {
			t.Fatalf("settled as %+v", s)
		}
		r = c.do(step{User: "recall", Tools: bothTools})
		finished(t, r, version, thread, 1)
		if r.lastText() != "I know Porto." {
			t.Fatalf("agent said %q", r.lastText())
		}
	})
}

// Both calls answered in one request, or none; the client's own equal results
// then bring the agent's answer.
func TestResolveRound(t *testing.T) {
	everywhere(t, agents, func(t *testing.T, version, agent string) {
		c, g, thread := join(t, version, agent)
		r := c.do(step{User: "compare", Tools: bothTools})
		finished(t, r, version, thread, 1)
		list := g.invocations(t, agent, thread, "open")
		if len(list) != 2 {
			t.Fatalf("open %+v", list)
		}
		target := g.listen + "/v1/threads/" + url.PathEscape(thread) + "/resolve?agent=" + agent
		half := []map[string]any{{"id": list[0].ID, "result": "Porto", "continue": false}}
		if a := call(t, "POST", target, map[string]any{"results": half}); a.Status != 409 || a.Header.Get("X-Aguigate-Code") != "incomplete_results" {
			t.Fatalf("half a round: %d %s", a.Status, a.Body)
		}
		if still := g.invocations(t, agent, thread, "open"); len(still) != 2 {
			t.Fatalf("[ERR-1] a refusal settled something: %+v", still)
		}
		// One by its public id, one by the agent's own.
		whole := append(half, map[string]any{"id": list[1].CallID, "result": "noon", "continue": false})
		if a := call(t, "POST", target, map[string]any{"results": whole}); a.Status != 200 {
			t.Fatalf("the round: %d %s", a.Status, a.Body)
		}
		r = c.do(step{Tools: bothTools, Results: []toolMessage{{list[0].CallID, "Porto"}, {list[1].CallID, "noon"}}})
		finished(t, r, version, thread, 1)
		contains(t, r.lastText(), "Porto")
		contains(t, r.lastText(), "noon")
		g.delivered(t, list[0].ID)
		g.delivered(t, list[1].ID)
	})
}

// 32 answers at once: one is accepted, 31 are told which [INV-3].
func TestConcurrentResolves(t *testing.T) {
	c, g, thread := join(t, "1.0.0", "demo")
	r := c.do(step{User: "where am I", Tools: bothTools})
	finished(t, r, "1.0.0", thread, 1)
	inv := g.onlyOpen(t, "demo", thread)

	const callers = 32
	value := func(i int) string { return fmt.Sprintf("city-%02d-of-%s", i, "many") }
	var (
		answers [callers]answer
		errs    [callers]error
		begin   = make(chan struct{})
		done    sync.WaitGroup
	)
	for i := range callers {
		done.Go(func() {
			<-begin
			body := map[string]any{"result": value(i), "continue": false}
			answers[i], errs[i] = tryCall("POST", g.listen+"/v1/invocations/"+inv.ID+"/resolve", body)
		})
	}
	close(begin)
	done.Wait()

	winner := -1
	for i, a := range answers {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if a.Status == 200 {
			if winner >= 0 {
				t.Fatalf("two winners, %s and %s", answers[winner].Body, a.Body)
			}
			winner = i
			var s settlement
			a.into(t, 200, &s)
			if s.Replayed {
				t.Errorf("the winner was told it is a replay: %s", a.Body)
			}
		}
	}
	if winner < 0 {
		t.Fatalf("no winner: %d %s", answers[0].Status, answers[0].Body)
	}
	for i, a := range answers {
		if i != winner {
			conflict(t, a, value(winner))
		}
	}
	// The application brings the value that was accepted, and the agent gets it.
	r = c.do(step{Tools: bothTools, Results: []toolMessage{{inv.CallID, value(winner)}}})
	finished(t, r, "1.0.0", thread, 1)
	contains(t, r.lastText(), value(winner))
}

// A gateway killed with -9 while a call is open: the next one on the same store
// takes the answer, once [OPS-4].
func TestKilledWhileOpen(t *testing.T) {
	for _, agent := range []string{"copilot", "demo"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			dir, thread := t.TempDir(), threadID(t)
			g := begin(t, dir)
			c := open(t, opening{Version: "1.0.0", URL: g.run(agent), ThreadID: thread})
			r := c.do(step{User: "where am I", Tools: bothTools})
			finished(t, r, "1.0.0", thread, 1)
			inv := g.onlyOpen(t, agent, thread)
			g.kill()

			g = begin(t, dir)
			if again := g.onlyOpen(t, agent, thread); again.ID != inv.ID || again.CallID != inv.CallID {
				t.Fatalf("was %+v, is %+v", inv, again)
			}
			var s settlement
			g.resolve(t, inv.ID, map[string]any{"result": "Porto", "continue": false}).into(t, 200, &s)
			if s.Replayed {
				t.Error("first answer called a replay")
			}
			g.resolve(t, inv.ID, map[string]any{"result": "Porto", "continue": false}).into(t, 200, &s)
			if !s.Replayed {
				t.Error("[INV-3] an equal answer was not called a replay")
			}
			conflict(t, g.resolve(t, inv.ID, map[string]any{"result": "Rome"}), "Porto")

			// The page reloads with its history and brings the same result.
			c = open(t, opening{Version: "1.0.0", URL: g.run(agent), ThreadID: thread, Messages: r.Messages})
			r = c.do(step{Tools: bothTools, Results: []toolMessage{{inv.CallID, "Porto"}}})
			finished(t, r, "1.0.0", thread, 1)
			contains(t, r.lastText(), "Porto")
		})
	}
}

// An accepted settlement outlives the process that accepted it, and so does the
// duty to tell the agent [INV-12].
func TestKilledAfterSettlement(t *testing.T) {
	t.Parallel()
	dir, thread := t.TempDir(), threadID(t)
	g := begin(t, dir)
	c := open(t, opening{Version: "1.0.0", URL: g.run("gosdk"), ThreadID: thread})
	r := c.do(step{User: "where am I", Tools: bothTools})
	finished(t, r, "1.0.0", thread, 1)
	inv := g.onlyOpen(t, "gosdk", thread)
	g.resolve(t, inv.ID, map[string]any{"result": "Porto", "continue": false}).into(t, 200, &settlement{})
	g.kill()

	g = begin(t, dir)
	if again := g.invocation(t, inv.ID, "1s"); again.State != "settled" || again.Outcome != "ok" {
		t.Fatalf("lost an accepted settlement: %+v", again)
	}
	c = open(t, opening{Version: "1.0.0", URL: g.run("gosdk"), ThreadID: thread, Messages: r.Messages})
	r = c.do(step{User: "recall", Tools: bothTools})
	finished(t, r, "1.0.0", thread, 1)
	if r.lastText() != "I know Porto." {
		t.Fatalf("agent said %q", r.lastText())
	}
}

// begin starts a gateway of the test's own on a store directory.
func begin(t *testing.T, dir string) *gateway {
	t.Helper()
	g, err := startGateway(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.kill)
	t.Cleanup(func() {
		if err := g.clean(); err != nil {
			t.Error(err)
		}
	})
	g.logsOnFailure(t)
	return g
}

// delivered waits until the agent was told of an invocation's result [INV-12].
func (g *gateway) delivered(t *testing.T, id string) {
	t.Helper()
	for range 100 {
		if g.invocation(t, id, "").Delivery == "delivered" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("[INV-12] not delivered: %+v", g.invocation(t, id, ""))
}
