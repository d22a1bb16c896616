package e2e

import "testing"

// recorders are the agents whose requests are kept: one of our own, and CopilotKit's
// behind a recorder.
var recorders = []string{"scripted", "recorded"}

// A client that regenerates leaves the agent's last message out and runs again:
// nobody is told of it any more [HIST-2].
func TestRegenerate(t *testing.T) {
	everywhere(t, recorders, func(t *testing.T, version, agent string) {
		k := newTalk(t, version, agent)
		c := k.enter()
		k.turn(c, "u1", step{}, expect{makes: "a1", upstream: "u1"})
		k.turn(c, "u2", step{}, expect{makes: "a2", upstream: "u1 a1 u2"})
		k.turn(c, "", step{List: k.list("u1 a1 u2")}, expect{makes: "a3", upstream: "u1 a1 u2"})
		k.turn(c, "", step{List: k.list("u1 a1 u2")}, expect{makes: "a4", upstream: "u1 a1 u2"})
		k.turn(c, "u3", step{}, expect{makes: "a5", upstream: "u1 a1 u2 a4 u3"})
		// The first answer again, with three turns behind it.
		k.turn(c, "", step{List: k.list("u1")}, expect{makes: "a6", upstream: "u1"})
		k.turn(c, "u4", step{}, expect{makes: "a7", upstream: "u1 a6 u4"})
	})
}

// A question that led to a call is asked again from the start: the agent calls anew
// and the accepted answer is not its answer. Back on the old branch the agent reads
// the old call with its result, and nobody waits for the new one [HIST-2, HIST-3].
func TestRegenerateCall(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			k := newTalk(t, version, "scripted")
			k.stage.on(t, k.thread, locating)
			c := k.enter()
			k.name("u1", "u1-"+k.thread)
			r := c.do(step{User: "where am I", UserID: k.ids["u1"], Tools: bothTools, Answers: map[string]string{"get_location": "Porto"}})
			finished(t, r, version, k.thread, 2)
			for i, name := range []string{"u1", "a1", "t1", "a2"} {
				k.name(name, r.Messages[i].ID)
			}
			k.same("the client has", r.Messages, "u1 a1 t1 a2")
			r = c.do(step{List: k.list("u1"), Tools: bothTools})
			finished(t, r, version, k.thread, 1)
			k.name("a3", r.Messages[1].ID)
			k.same("the client that asked again has", r.Messages, "u1 a3")
			k.same("the agent was asked again with", k.asked(3)[2].Messages, "u1")
			k.same("the thread has", k.record(), "u1 a3")
			anew := k.g.onlyOpen(t, "scripted", k.thread)
			if calls := r.openCalls(); len(calls) != 1 || calls[0].ID != anew.CallID {
				t.Errorf("the client has %+v open, the record %+v", calls, anew)
			}
			k.turn(c, "u2", step{List: k.list("u1 a1 t1 a2"), Tools: bothTools}, expect{makes: "a4", upstream: "u1 a1 t1 a2 u2"})
			if result := k.asked(4)[3].Messages[2]; result.text() != "Porto" {
				t.Errorf("[HIST-3] the agent read %+v", result)
			}
			if inv := k.g.invocation(t, anew.ID, ""); inv.State != "cancelled" {
				t.Errorf("the call that was left is %+v", inv)
			}
		})
	}
}

// A client that edits writes a new message in the place of an old one and drops
// all behind it. Then it goes back to what it had hidden, and forth [HIST-2].
func TestEditAndGoBack(t *testing.T) {
	everywhere(t, recorders, func(t *testing.T, version, agent string) {
		k := newTalk(t, version, agent)
		c := k.enter()
		k.turn(c, "u1", step{}, expect{makes: "a1", upstream: "u1"})
		k.turn(c, "u2", step{}, expect{makes: "a2", upstream: "u1 a1 u2"})
		k.turn(c, "u3", step{}, expect{makes: "a3", upstream: "u1 a1 u2 a2 u3"})
		k.turn(c, "u2b", step{List: k.list("u1 a1")}, expect{makes: "a2b", upstream: "u1 a1 u2b"})
		k.turn(c, "u3b", step{}, expect{makes: "a3b", upstream: "u1 a1 u2b a2b u3b"})
		k.turn(c, "u4", step{List: k.list("u1 a1 u2 a2 u3 a3")}, expect{makes: "a4", upstream: "u1 a1 u2 a2 u3 a3 u4"})
		k.turn(c, "u4b", step{List: k.list("u1 a1 u2b a2b u3b a3b")}, expect{makes: "a4b", upstream: "u1 a1 u2b a2b u3b a3b u4b"})
		k.turn(c, "u5", step{List: k.list("u1 a1 u2 a2 u3 a3 u4 a4")}, expect{makes: "a5", upstream: "u1 a1 u2 a2 u3 a3 u4 a4 u5"})
	})
}

// A page that was loaded anew has nothing and says something: the agent is asked
// with all there was, and the page is brought it [HIST-2]. Both published clients
// keep their own messages in their own order when a MESSAGES_SNAPSHOT comes and put
// what is new to them at the end, so one snapshot alone would show the new question
// above everything that was said before it.
func TestReload(t *testing.T) {
	everywhere(t, recorders, func(t *testing.T, version, agent string) {
		k := newTalk(t, version, agent)
		c := k.enter()
		k.turn(c, "u1", step{}, expect{makes: "a1", upstream: "u1"})
		k.turn(c, "u2", step{}, expect{makes: "a2", upstream: "u1 a1 u2"})
		k.turn(c, "", step{List: k.list("u1 a1 u2")}, expect{makes: "a3", upstream: "u1 a1 u2"})
		c = k.enter()
		k.turn(c, "u3", step{}, expect{makes: "a4", upstream: "u1 a1 u2 a3 u3"})
		k.turn(c, "u4", step{}, expect{makes: "a5", upstream: "u1 a1 u2 a3 u3 a4 u4"})
		// The same by an application that only empties its list.
		k.turn(c, "u5", step{List: []string{}}, expect{makes: "a6", upstream: "u1 a1 u2 a3 u3 a4 u4 a5 u5"})
		k.turn(c, "u6", step{}, expect{makes: "a7", upstream: "u1 a1 u2 a3 u3 a4 u4 a5 u5 a6 u6"})
	})
}

// Two applications on one thread, each saying something in turn: each is brought
// what the other did, and the agent reads one conversation [HIST-2].
func TestTwoClients(t *testing.T) {
	everywhere(t, recorders, func(t *testing.T, version, agent string) {
		k := newTalk(t, version, agent)
		a, b := k.enter(), k.enter()
		k.turn(a, "u1", step{}, expect{makes: "a1", upstream: "u1"})
		k.turn(b, "u2", step{}, expect{makes: "a2", upstream: "u1 a1 u2"})
		k.turn(a, "u3", step{}, expect{makes: "a3", upstream: "u1 a1 u2 a2 u3"})
		k.turn(b, "u4", step{}, expect{makes: "a4", upstream: "u1 a1 u2 a2 u3 a3 u4"})
		k.turn(b, "u5", step{}, expect{makes: "a5", upstream: "u1 a1 u2 a2 u3 a3 u4 a4 u5"})
		k.turn(a, "u6", step{}, expect{makes: "a6", upstream: "u1 a1 u2 a2 u3 a3 u4 a4 u5 a5 u6"})
		// One of them regenerates: it shows u6, which the other was never sent, so it
		// is not the other who goes on. Who was away is brought the new answer only.
		k.turn(a, "", step{List: k.list("u1 a1 u2 a2 u3 a3 u4 a4 u5 a5 u6")}, expect{makes: "a7", upstream: "u1 a1 u2 a2 u3 a3 u4 a4 u5 a5 u6"})
		k.turn(b, "u7", step{}, expect{makes: "a8", upstream: "u1 a1 u2 a2 u3 a3 u4 a4 u5 a5 u6 a7 u7"})
	})
}
