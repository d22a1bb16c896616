package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// numbering is an agent whose provider numbers its calls call_0, call_1 and its
// messages anew: a question has two calls in msg_0, then a text, which is msg_1
// where the provider counts by turns and msg_0 again where it counts by runs.
func numbering(text string) func(*scene) {
	return func(c *scene) {
		city := strings.TrimPrefix(c.user(), "compare ")
		if results := c.results(); len(results) > 0 {
			c.text(text, "Compared ", strings.Join(results, " and "))
			return
		}
		c.call("msg_0", "call_0", "get_location", numberedArguments(city, "get_location"))
		c.call("msg_0", "call_1", "get_time", numberedArguments(city, "get_time"))
	}
}

func numberedArguments(city, tool string) string {
	return fmt.Sprintf(`{"city": %q,"for":%q}`, city, tool)
}

// A provider that numbers anew: each handler gets its own call's arguments, each
// result goes to its own call under the provider's ids, and what the client has is
// told apart; also by a page that was loaded anew [INV-2].
func TestProviderNumbersAnew(t *testing.T) {
	for by, text := range map[string]string{"turns": "msg_1", "runs": "msg_0"} {
		for _, version := range versions {
			t.Run(by+" "+version, func(t *testing.T) {
				t.Parallel()
				k := newTalk(t, version, "scripted")
				k.stage.on(t, k.thread, numbering(text))
				c := k.enter()
				const turns = 10
				var read []string // by the agent
				for turn := range turns {
					read = k.numberedTurn(c, turn, text, read)
				}
				k.numberedTurn(k.enter(), turns, text, read)
				for _, inv := range k.g.invocations(t, "scripted", k.thread, "") {
					if inv.State != "settled" || inv.Outcome != "ok" {
						t.Errorf("left %+v", inv)
					}
				}
			})
		}
	}
}

// numberedTurn takes one turn and checks everything in it; read is what the agent
// has read of the turns before.
func (k *talk) numberedTurn(c *client, turn int, text string, read []string) []string {
	k.t.Helper()
	city := "city" + strconv.Itoa(turn)
	location, time := numberedArguments(city, "get_location"), numberedArguments(city, "get_time")
	said := "Compared done " + location + " and done " + time
	r := c.do(step{User: "compare " + city, Tools: bothTools, Handle: true})
	finished(k.t, r, k.version, k.thread, 2)
	handlers(k.t, r, city)
	if r.lastText() != said {
		k.t.Errorf("the agent said %q, want %q", r.lastText(), said)
	}
	uniqueIDs(k.t, r.Messages)
	if got, want := len(r.Messages), 5*(turn+1); got != want {
		k.t.Errorf("%d messages after %d turns, want %d: %+v", got, turn+1, want, r.Messages)
	}
	read = append(read, "user compare "+city)
	k.numbered(2*turn, read)
	read = append(read, "assistant msg_0: call_0 "+location+" call_1 "+time,
		"tool call_0 done "+location, "tool call_1 done "+time)
	k.numbered(2*turn+1, read)
	return append(read, "assistant "+text+": "+said)
}

// handlers checks that each handler of a turn was given its own call's arguments,
// by the history and by the library's own announcement.
func handlers(t *testing.T, r report, city string) {
	t.Helper()
	if len(r.Handled) != 2 {
		t.Fatalf("handled %+v", r.Handled)
	}
	for i, name := range []string{"get_location", "get_time"} {
		h := r.Handled[i]
		if h.Name != name || h.Arguments != numberedArguments(city, name) {
			t.Errorf("[INV-2] handler %d of %s got %+v", i, city, h)
		}
		if a := h.Announced; a == nil || a.Name != name || a.Arguments["city"] != city || a.Arguments["for"] != name {
			t.Errorf("[INV-2] handler %d of %s was announced %+v", i, city, a)
		}
	}
}

// uniqueIDs checks that no two messages, and no two calls, of a list have one id.
func uniqueIDs(t *testing.T, list []message) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range list {
		ids := []string{"message " + m.ID}
		for _, call := range m.ToolCalls {
			ids = append(ids, "call "+call.ID)
		}
		for _, id := range ids {
			if seen[id] {
				t.Errorf("[INV-2] the client has two of %s", id)
			}
			seen[id] = true
		}
	}
}

// numbered checks the n-th request of the agent: its own ids, each call followed by
// its own result.
func (k *talk) numbered(n int, want []string) {
	k.t.Helper()
	asked := k.stage.questions(k.thread)
	if len(asked) <= n {
		k.t.Fatalf("the agent was asked %d times", len(asked))
	}
	var got []string
	for _, m := range asked[n].Messages {
		line := m.Role
		switch m.Role {
		case "user":
			line += " " + m.text()
		case "tool":
			line += " " + m.ToolCallID + " " + m.text()
		default:
			line += " " + m.ID + ":"
			for _, call := range m.ToolCalls {
				line += " " + call.ID + " " + call.Function.Arguments
			}
			if text := m.text(); text != "" {
				line += " " + text
			}
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		k.t.Fatalf("[INV-2] request %d is\n  %s\nwant\n  %s", n, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
