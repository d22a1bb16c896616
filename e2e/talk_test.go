package e2e

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// talk is one thread with a recorded agent behind it. Its messages have short
// names: u1 for the user's, a1 for the agent's, t1 for a result.
type talk struct {
	t       *testing.T
	g       *gateway
	stage   *stage
	version string
	agent   string
	thread  string
	names   map[string]string // id → name
	ids     map[string]string // name → id
}

func newTalk(t *testing.T, version, agent string) *talk {
	t.Helper()
	g := must(t, theGateway)
	g.logsOnFailure(t)
	return &talk{t: t, g: g, stage: must(t, theStage), version: version, agent: agent, thread: threadID(t),
		names: map[string]string{}, ids: map[string]string{}}
}

// enter opens an application that has nothing of the thread yet.
func (k *talk) enter() *client {
	k.t.Helper()
	return open(k.t, opening{Version: k.version, URL: k.g.run(k.agent), ThreadID: k.thread})
}

func (k *talk) name(name, id string) {
	k.names[id], k.ids[name] = name, id
}

// list are the ids of messages by name, what a client shows.
func (k *talk) list(names string) []string {
	out := []string{}
	for name := range strings.FieldsSeq(names) {
		out = append(out, k.ids[name])
	}
	return out
}

var roleOf = map[byte]string{'u': "user", 'a': "assistant", 't': "tool"}

// told writes messages down by name, in order; one of another role than its name
// says is marked.
func (k *talk) told(list []message) string {
	var out []string
	for _, m := range list {
		name := k.names[m.ID]
		if name == "" {
			name = m.ID + "(" + m.Role + ")"
		} else if roleOf[name[0]] != m.Role {
			name += "(" + m.Role + ")"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// expect is what is true after a step.
type expect struct {
	makes    string // name for the message the agent makes
	upstream string // what the agent was asked with
	client   string // what the application has; "" is the same and what was made
	record   string // what the thread has; "" is the same as the application
}

// turn takes one step, whose new user message gets the name user, and checks who
// has what after it.
func (k *talk) turn(c *client, user string, s step, e expect) report {
	k.t.Helper()
	if user != "" {
		s.User, s.UserID = "this is "+user, user+"-"+k.thread
		k.name(user, s.UserID)
	}
	before := len(k.stage.questions(k.thread))
	r := c.do(s)
	finished(k.t, r, k.version, k.thread, 1)
	if made := texts(r.Runs[0]); len(made) == 1 {
		k.name(e.makes, made[0])
	} else {
		k.t.Fatalf("the agent made %v", made)
	}
	asked := k.stage.questions(k.thread)
	if len(asked) != before+1 {
		k.t.Fatalf("the agent was asked %d times", len(asked)-before)
	}
	if e.client == "" {
		e.client = e.upstream + " " + e.makes
	}
	if e.record == "" {
		e.record = e.client
	}
	k.same("the agent was asked with", asked[before].Messages, e.upstream)
	k.same("the application has", r.Messages, e.client)
	k.same("the thread has", k.record(), e.record)
	if k.t.Failed() {
		k.t.Fatalf("at %s -> %s:\n%s", user, e.makes, r.Runs[0])
	}
	return r
}

func (k *talk) same(what string, got []message, want string) {
	k.t.Helper()
	if told := k.told(got); told != want {
		k.t.Errorf("[HIST-2] %s\n  %s\nwant\n  %s", what, told, want)
	}
}

// record is what the Gateway API shows of the thread.
func (k *talk) record() []message {
	k.t.Helper()
	var thread struct {
		Status   string    `json:"status"`
		Messages []message `json:"messages"`
	}
	target := k.g.listen + "/v1/threads/" + url.PathEscape(k.thread) + "?agent=" + k.agent
	call(k.t, "GET", target, nil).into(k.t, 200, &thread)
	return thread.Messages
}

// texts are the ids of the text messages a run began.
func texts(r runReport) (ids []string) {
	for _, f := range r.Wire {
		id, _ := f.Event["messageId"].(string)
		switch f.Event["type"] {
		case "TEXT_MESSAGE_START", "TEXT_MESSAGE_CHUNK":
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
