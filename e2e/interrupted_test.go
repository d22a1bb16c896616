package e2e

import (
	"strings"
	"testing"
	"time"
)

// long is what the agent says when it is left in the middle.
var long = strings.Fields("one two three four five six seven eight nine ten")

// endless is an agent that, asked for "long", says its words and then waits until it
// is left.
func endless(c *scene) {
	if c.user() != "long" {
		c.text("m-"+c.Run, "You said: "+c.user())
		return
	}
	id := "m-" + c.Run
	c.send("TEXT_MESSAGE_START", "messageId", id, "role", "assistant")
	for _, word := range long {
		c.send("TEXT_MESSAGE_CONTENT", "messageId", id, "delta", word+" ")
	}
	<-c.left
}

// again takes a step of a client whose last run may not be over yet [RUN-10]. A
// refused run leaves what was said in the client's list, so it is only run again.
func (k *talk) again(c *client, s step) report {
	k.t.Helper()
	left := time.Now()
	r := c.do(s)
	for r.Runs[0].Status == 409 && time.Since(left) < 2*time.Second {
		time.Sleep(50 * time.Millisecond)
		r = c.do(step{RunID: s.RunID})
	}
	return r
}

// A client leaves its run in the middle of a text and goes on: what it had been
// told stays, once, and the agent reads it once [RUN-10, HIST-1].
func TestInterruptedText(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			k := newTalk(t, version, "scripted")
			k.stage.on(t, k.thread, endless)
			c := k.enter()
			k.turn(c, "u1", step{}, expect{makes: "a1", upstream: "u1"})
			k.name("u2", "u2-"+k.thread)
			r := c.do(step{User: "long", UserID: k.ids["u2"], AbortAfterText: 4})
			partial := r.Messages[len(r.Messages)-1]
			k.name("a2", partial.ID)
			k.same("the client that left has", r.Messages, "u1 a1 u2 a2")
			whole := strings.Join(long, " ") + " "
			if text := partial.text(); text == "" || !strings.HasPrefix(whole, text) {
				t.Fatalf("the client that left has %q", text)
			}

			k.name("u3", "u3-"+k.thread)
			r = k.again(c, step{User: "go on", UserID: k.ids["u3"]})
			finished(t, r, version, k.thread, 1)
			k.name("a3", texts(r.Runs[0])[0])
			asked := k.stage.questions(k.thread)
			if len(asked) != 3 {
				t.Fatalf("the agent was asked %d times", len(asked))
			}
			k.same("the agent was asked with", asked[2].Messages, "u1 a1 u2 a2 u3")
			k.same("the client has", r.Messages, "u1 a1 u2 a2 u3 a3")
			record := k.record()
			k.same("the thread has", record, "u1 a1 u2 a2 u3 a3")
			// The agent may have said more than the client waited for, and nobody
			// reads it twice.
			for where, m := range map[string]message{"agent": asked[2].Messages[3], "client": r.Messages[3], "thread": record[3]} {
				if text := m.text(); !strings.HasPrefix(text, partial.text()) || !strings.HasPrefix(whole, text) {
					t.Errorf("the %s reads %q, the client was told %q", where, text, partial.text())
				}
			}
			k.turn(c, "u4", step{}, expect{makes: "a4", upstream: "u1 a1 u2 a2 u3 a3 u4"})
			// A page that was loaded anew is brought the same, once.
			k.turn(k.enter(), "u5", step{}, expect{makes: "a5", upstream: "u1 a1 u2 a2 u3 a3 u4 a4 u5"})
		})
	}
}

// A client leaves its run behind a whole call: nobody is to answer it any more, the
// agent reads that it was not run, and no handler is asked for it later [RUN-10].
func TestInterruptedCall(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			k := newTalk(t, version, "scripted")
			k.stage.on(t, k.thread, func(c *scene) {
				if c.user() != "where am I" {
					c.text("m-"+c.Run, "You said: "+c.user())
					return
				}
				c.call("m-"+c.Run, "call_0", "get_location", `{"precise":true}`)
				<-c.left
			})
			c := k.enter()
			r := c.do(step{User: "where am I", Tools: bothTools, AbortAfterEvents: 5}) // the call's END
			if calls := r.openCalls(); len(calls) != 1 {
				t.Fatalf("the client has %+v", r.Messages)
			}
			k.again(c, step{User: "go on", Tools: bothTools})
			asked := k.stage.questions(k.thread)
			last := asked[len(asked)-1].Messages
			if len(asked) != 2 || len(last) != 4 || last[1].ToolCalls == nil || last[2].ToolCallID != "call_0" || last[2].Role != "tool" || last[3].text() != "go on" {
				t.Fatalf("[RUN-6] the agent read %+v", asked)
			}
			list := k.g.invocations(t, "scripted", k.thread, "")
			if len(list) != 1 || list[0].State != "cancelled" {
				t.Errorf("[RUN-10] left %+v", list)
			}
		})
	}
}
