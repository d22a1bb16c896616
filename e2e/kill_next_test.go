package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A continuation that calls the tool again is itself a run whose calls are recorded:
// killed behind the second call, the first answer is not sent again, the second call
// can be answered, and that answer takes both to the agent, once.
func TestKillInNextCall(t *testing.T) {
	for _, by := range []string{byGateway, byClient} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			k, th, file := onePlain(t, script{reply: actNext})
			th.by = by
			k.ask(th)
			if by == byGateway {
				k.resolve(th, nil)
			} else {
				k.carry(th).until("TOOL_CALL_END")
			}
			become(t, "the second call is recorded", func() bool {
				return len(k.gateway.invocations(t, "plain", th.id, "open")) == 1
			})
			k.gateway.kill()
			k.agents[th.agent].secondLife()
			k.start(file)
			k.answerNext(th)
		})
	}
}

// onePlain starts a gateway with one scripted agent, and gives a thread of it and the
// configuration to start it with again.
func onePlain(t *testing.T, sc script) (k *killing, th *crashed, file string) {
	t.Helper()
	agent := newScripted()
	agent.Start()
	t.Cleanup(agent.Close)
	dir := t.TempDir()
	file = filepath.Join(dir, "aguigate.yaml")
	text := fmt.Sprintf(killConfiguration, filepath.Join(dir, "data"), agent.URL, agent.URL, agent.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k = &killing{T: t, agents: map[string]*scripted{"plain": agent}}
	k.start(file)
	th = &crashed{crash: &crash{agent: "plain", script: sc}, id: "thread"}
	agent.play(th.id, sc)
	return k, th, file
}

// answerNext answers the second call and looks at what the agent was told.
func (k *killing) answerNext(th *crashed) {
	k.Helper()
	open := k.gateway.invocations(k.T, "plain", th.id, "open")
	if len(open) != 1 || open[0].CallID != nextOf(th.id) {
		k.Fatalf("open after the restart: %+v", open)
	}
	if a := call(k.T, "POST", k.gateway.listen+"/v1/threads/"+th.id+"/continue", map[string]any{}); a.Header.Get("X-Aguigate-Code") != "incomplete_results" {
		k.Errorf("continue with an open call: %d %s", a.Status, a.Body)
	}
	k.gateway.resolve(k.T, open[0].ID, map[string]any{"result": "Lisbon"}).into(k.T, http.StatusOK, new(settlement))
	become(k.T, "the second answer is delivered", func() bool {
		return k.gateway.invocation(k.T, open[0].ID, "").Delivery == "delivered" && k.gateway.thread(k.T, th.id).Status == "idle"
	})
	list, _ := k.agents["plain"].asked(th.id)
	if len(list) != 3 || fmt.Sprint(list[2].results) != fmt.Sprintf("[%q %q]", answerOf(th.id), "Lisbon") {
		k.Errorf("the agent was asked %d times: %+v", len(list), list)
	}
	if got := fmt.Sprint(list[len(list)-1].roles); got != "[user assistant tool assistant tool]" {
		k.Errorf("the agent reads %s", got)
	}
	holds := strings.Split(told(k.gateway.thread(k.T, th.id).Messages), ", ")
	slices.Sort(holds)
	if got := fmt.Sprint(holds); got != "[call call question reply result result]" {
		k.Errorf("in the end the thread holds: %s", got)
	}
	if inv := k.gateway.invocation(k.T, th.inv, ""); inv.Delivery != "delivered" {
		k.Errorf("the first answer is %+v", inv)
	}
	if got := k.continueIt(k.T, th); got != "409 run_conflict" {
		k.Errorf("[INV-12] when all is done, continue gives: %s", got)
	}
}

// After a continuation that died on its way the user may simply go on: the next turn
// takes the answer to the agent, and then there is nothing left to continue.
func TestKillThenNextTurn(t *testing.T) {
	for act, delivery := range map[string]string{actSilent: "unknown", actHalf: "delivered"} {
		t.Run(act, func(t *testing.T) {
			t.Parallel()
			k, th, file := onePlain(t, script{reply: act})
			k.ask(th)
			k.resolve(th, nil)
			k.isAsked(th)
			k.stands(th, map[string]string{actSilent: "sent", actHalf: "delivered"}[act])
			k.gateway.kill()
			k.agents[th.agent].secondLife()
			k.start(file)
			k.stands(th, delivery)
			openStream(t, "POST", k.gateway.run(th.agent), turn(th.id, "r3", "", "and now?")).until("RUN_FINISHED")
			list, _ := k.agents[th.agent].asked(th.id)
			if got := fmt.Sprint(list[len(list)-1].roles); len(list) != 3 || got != "[user assistant tool user]" {
				t.Errorf("the agent was asked %d times, and reads %s", len(list), got)
			}
			k.stands(th, "delivered")
			become(t, "the turn is over", func() bool { return k.gateway.thread(t, th.id).Status == "idle" })
			if got := k.continueIt(t, th); got != "409 run_conflict" {
				t.Errorf("[INV-12] when the conversation has gone on, continue gives: %s", got)
			}
		})
	}
}
