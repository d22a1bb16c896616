package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// answerOf is the result of a thread's call.
func answerOf(thread string) string { return "Porto of " + thread }

// resolve answers by the Gateway API, as another process would, and is told that
// the answer is accepted.
func (k *killing) resolve(th *crashed, more map[string]any) {
	k.Helper()
	body := map[string]any{"result": answerOf(th.id)}
	for key, value := range more {
		body[key] = value
	}
	var s settlement
	k.gateway.resolve(k.T, th.inv, body).into(k.T, http.StatusOK, &s)
	if s.Replayed || s.Invocation.State != "settled" {
		k.Fatalf("%s: settled as %+v", th.id, s)
	}
}

// carry answers by the client's next run.
func (k *killing) carry(th *crashed) *stream {
	k.Helper()
	th.body = turn(th.id, "r2-"+th.id, answerOf(th.id))
	return openStream(k.T, "POST", k.gateway.run(th.agent), th.body)
}

// stands waits until the call shows that it is settled, and how far its answer is.
func (k *killing) stands(th *crashed, delivery string) {
	k.Helper()
	become(k.T, fmt.Sprintf("the answer of %s is %s", th.id, delivery), func() bool {
		inv := k.gateway.invocation(k.T, th.inv, "")
		return inv.State == "settled" && inv.Delivery == delivery
	})
}

// isAsked waits until the agent has read a request with the answer.
func (k *killing) isAsked(th *crashed) {
	k.Helper()
	for limit := time.After(killLimit); ; {
		list, more := k.agents[th.agent].asked(th.id)
		if withResult(list) == 1 {
			return
		}
		select {
		case <-more:
		case <-limit:
			k.Fatalf("%s: the agent was never asked with the answer", th.id)
		}
	}
}

// The call's own run still has the thread, so nobody can have begun to continue.

func (k *killing) resolved(th *crashed) {
	k.resolve(th, nil)
	k.stands(th, "held")
}

func (k *killing) carried(th *crashed) {
	k.carry(th)
	k.stands(th, "held")
}

// The agent's TLS does not answer, so the run that continues has the thread and no
// connection: not a byte of its request has gone out.

func (k *killing) resolvedAtGate(th *crashed) {
	k.resolve(th, nil)
	k.atGate(th)
}

func (k *killing) carriedToGate(th *crashed) {
	k.carry(th)
	k.atGate(th)
}

func (k *killing) atGate(th *crashed) {
	k.Helper()
	select {
	case <-k.agents[th.agent].gate.reached:
	case <-time.After(killLimit):
		k.Fatalf("%s: nobody tries to reach the agent", th.id)
	}
	k.stands(th, "held")
	if s := k.gateway.thread(k.T, th.id); s.Status != "running" {
		k.Fatalf("%s: the thread is %s while its round is continued", th.id, s.Status)
	}
}

// left tells the gateway not to continue.
func (k *killing) left(th *crashed) {
	k.resolve(th, map[string]any{"continue": false})
	k.stands(th, "held")
}

// The connection is refused.

func (k *killing) resolvedDown(th *crashed) {
	k.resolve(th, nil)
	become(k.T, "the gateway has tried to reach the agent", func() bool { return k.unreachable(th) > 0 })
	k.stands(th, "held")
}

func (k *killing) carriedDown(th *crashed) {
	got := k.carry(th).until("RUN_ERROR")
	if e := got[len(got)-1]; e.Code != "upstream_unreachable" {
		k.Fatalf("%s: the client's run ended in %+v", th.id, e)
	}
	k.stands(th, "held")
}

// The agent has read the whole request and says nothing.

func (k *killing) resolvedAsked(th *crashed) {
	k.resolve(th, nil)
	k.isAsked(th)
	k.stands(th, "sent")
}

func (k *killing) carriedAsked(th *crashed) {
	k.carry(th)
	k.isAsked(th)
	k.stands(th, "sent")
}

// Half of the reply has reached a reader: who watches the thread, or the client.

func (k *killing) resolvedHalf(th *crashed) {
	watcher := openStream(k.T, "GET", k.gateway.listen+"/v1/threads/"+th.id+"/events", nil)
	select {
	case <-watcher.begun:
	case <-time.After(killLimit):
		k.Fatalf("%s: the thread cannot be watched", th.id)
	}
	k.resolve(th, nil)
	watcher.until("TEXT_MESSAGE_CONTENT")
	k.stands(th, "delivered")
}

func (k *killing) carriedHalf(th *crashed) {
	k.carry(th).until("TEXT_MESSAGE_CONTENT")
	k.stands(th, "delivered")
}

// goOn finds out what the client, or an operator, can do on a thread after the
// restart, and that the conversation ends well.
func (k *killing) goOn(t *testing.T, th *crashed) {
	answered := th.found.call != "open"
	if answered {
		var s settlement
		k.gateway.resolve(t, th.inv, map[string]any{"result": answerOf(th.id)}).into(t, http.StatusOK, &s)
		if !s.Replayed {
			t.Errorf("[INV-3] the accepted answer is not known any more: %+v", s)
		}
	}
	if th.id[3:] == "equal" {
		th.found.equal = k.sendAgain(t, th)
	} else {
		th.found.continuing = k.continueIt(t, th)
	}
	if !answered {
		k.gateway.resolve(t, th.inv, map[string]any{"result": answerOf(th.id)}).into(t, http.StatusOK, new(settlement))
	}
	become(t, "the agent has the answer and has replied", func() bool {
		list, _ := k.agents[th.agent].asked(th.id)
		return withResult(list) > 0 && k.gateway.thread(t, th.id).Status == "idle" && k.gateway.invocation(t, th.inv, "").Delivery == "delivered"
	})
	state := k.gateway.thread(t, th.id)
	if got := told(state.Messages); got != "question, call, result, reply" {
		t.Errorf("in the end the thread holds: %s", got)
	}
	list, _ := k.agents[th.agent].asked(th.id)
	for _, a := range list {
		if len(a.results) > 0 && (len(a.results) != 1 || a.results[0] != fmt.Sprintf("%q", answerOf(th.id))) {
			t.Errorf("the agent was told %v", a.results)
		}
	}
	if got := k.continueIt(t, th); got != "409 run_conflict" {
		t.Errorf("[INV-12] when all is done, continue gives: %s", got)
	}
	list, _ = k.agents[th.agent].asked(th.id)
	th.total = withResult(list)
}

// sendAgain sends the client's run once more: as it was, or, where it never brought
// the answer, what a client sends that has it.
func (k *killing) sendAgain(t *testing.T, th *crashed) string {
	body := th.body
	if th.by == byGateway || th.by == leftTo {
		body = turn(th.id, "r2-"+th.id, answerOf(th.id))
	}
	before, _ := k.agents[th.agent].asked(th.id)
	got := openStream(t, "POST", k.gateway.run(th.agent), body).until("RUN_FINISHED", "RUN_ERROR")
	after, _ := k.agents[th.agent].asked(th.id)
	n, text := len(after)-len(before), ""
	for _, e := range got {
		text += e.Delta
	}
	switch {
	case n == 0 && text == wholeReply:
		return "joins, gets the reply"
	case n == 1 && text == wholeReply:
		return asks(after) + ", gets the reply"
	case n == 0 && callAgain(got, th):
		return "gets the call again"
	case n == 0 && callBrought(got, th):
		return "is brought the call"
	}
	return fmt.Sprintf("asks %d times, gets %+v", n, got)
}

// asks tells a first request with the answer from a repeated one.
func asks(list []asked) string {
	if withResult(list) > 1 {
		return "asks again"
	}
	return "asks"
}

// callAgain reports the run that opened the call, whole [RUN-13].
func callAgain(got []event, th *crashed) bool {
	last := got[len(got)-1]
	return slices.ContainsFunc(got, func(e event) bool { return e.Type == "TOOL_CALL_START" && e.ToolCallID == callOf(th.id) }) &&
		slices.Equal(last.Outcome.PendingToolCallIDs, []string{callOf(th.id)})
}

// callBrought reports a turn that waits for the call [RUN-5] and shows it to a client
// that may not have seen it whole [HIST-2].
func callBrought(got []event, th *crashed) bool {
	shown := slices.ContainsFunc(got, func(e event) bool {
		return e.Type == "MESSAGES_SNAPSHOT" && told(e.Messages) == "question, call" && e.Messages[1].ToolCalls[0].ID == callOf(th.id)
	})
	return shown && slices.ContainsFunc(got, func(e event) bool {
		return e.Type == "CUSTOM" && e.Name == "aguigate.pending" && slices.Equal(e.Value.ToolCallIDs, []string{callOf(th.id)})
	}) && got[len(got)-1].Type == "RUN_FINISHED"
}

// continueIt asks to continue the thread, and holds until that is done.
func (k *killing) continueIt(t *testing.T, th *crashed) string {
	before, _ := k.agents[th.agent].asked(th.id)
	a := call(t, "POST", k.gateway.listen+"/v1/threads/"+th.id+"/continue", map[string]any{})
	if a.Status != http.StatusAccepted {
		return fmt.Sprintf("%d %s", a.Status, a.Header.Get("X-Aguigate-Code"))
	}
	become(t, "the run that continues is over", func() bool { return k.gateway.thread(t, th.id).Status == "idle" })
	after, _ := k.agents[th.agent].asked(th.id)
	switch n := len(after) - len(before); {
	case n == 1:
		return "202, " + asks(after)
	default:
		return fmt.Sprintf("202, asks %d times", n)
	}
}
