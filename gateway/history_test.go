package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/tool"
)

// A list in short: u user, a(c1,c2) assistant with calls, t(c1=text) tool result.
func list(t *testing.T, short string) []agui.Message {
	t.Helper()
	var out []string
	for i, word := range strings.Fields(short) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(word, ")"), "(")
		switch kind {
		case "u":
			out = append(out, fmt.Sprintf(`{"id":"u%d","role":"user","content":"hi"}`, i))
		case "a":
			var calls []string
			for _, c := range strings.Split(rest, ",") {
				calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"x","arguments":"{}"}}`, c))
			}
			out = append(out, fmt.Sprintf(`{"id":"a%d","role":"assistant","toolCalls":[%s]}`, i, strings.Join(calls, ",")))
		case "t":
			call, text, _ := strings.Cut(rest, "=")
			out = append(out, fmt.Sprintf(`{"id":"t%d","role":"tool","toolCallId":%q,"content":%q}`, i, call, text))
		}
	}
	msgs, err := agui.DecodeMessages([]byte("["+strings.Join(out, ",")+"]"), "")
	if err != nil {
		t.Fatal(err)
	}
	return msgs
}

func short(msgs []agui.Message) string {
	var out []string
	for _, m := range msgs {
		switch m.Role {
		case agui.RoleTool:
			out = append(out, "t("+m.ToolCallID+"="+agui.TextOf(m.Content)+")")
		case agui.RoleAssistant:
			var ids []string
			for _, c := range m.ToolCalls {
				ids = append(ids, c.ID)
			}
			out = append(out, "a("+strings.Join(ids, ",")+")")
		default:
			out = append(out, "u")
		}
	}
	return strings.Join(out, " ")
}

// A round in short: c1 open, c1=text settled, c1! cancelled as unanswered, c1^
// answered by the agent itself.
func rounds(t *testing.T, specs ...string) *ledger {
	t.Helper()
	var all []*tool.Round
	now := time.Unix(1, 0)
	for n, spec := range specs {
		rd := &tool.Round{Key: fmt.Sprint(n)}
		for i, word := range strings.Fields(spec) {
			id, text, settled := strings.Cut(strings.TrimRight(word, "!^"), "=")
			if err := rd.Open(tool.Invocation{ID: fmt.Sprintf("inv_%d_%d", n, i), CallID: id, ShownID: id, Tool: "x"}, now); err != nil {
				t.Fatal(err)
			}
			if settled {
				s, _ := tool.NewResult(tool.FormText, []byte(text), tool.Limits{})
				if _, err := rd.Settle(id, 0, s, now); err != nil {
					t.Fatal(err)
				}
			}
			if strings.HasSuffix(word, "^") {
				rd.CancelCall(id, run.AnsweredUpstream, now)
			}
			if strings.HasSuffix(word, "!") {
				rd.CancelCall(id, reasonUnanswered, now)
			}
		}
		all = append(all, rd)
	}
	return newLedger(all)
}

// allSeen is a thread that has seen every message.
type allSeen struct{}

func (allSeen) known(string) bool  { return true }
func (allSeen) hidden(string) bool { return false }

// The copy an upstream reads: every call the record knows is answered right after
// its message, in call order; doing it again changes nothing (F001, F003, F006,
// F015, F019, HIST-3).
func TestUpstreamCopy(t *testing.T) {
	for _, c := range []struct{ name, in, record, want string }{
		{"nothing known", "u a(c1) t(c1=x) u", "", "u a(c1) t(c1=x) u"},
		{"as it should be", "u a(c1) t(c1=x)", "c1=x", "u a(c1) t(c1=x)"},
		{"answered elsewhere", "u a(c1) u", "c1=x", "u a(c1) t(c1=x) u"},
		{"another value further back", "u a(c1) t(c1=mine) u", "c1=x", "u a(c1) t(c1=x) u"},
		{"never answered (F001)", "u a(c1) u", "c1!", "u a(c1) t(c1=" + Unanswered + ") u"},
		{"one of two, out of place (F003)", "u a(c1,c2) u t(c2=y)", "c1! c2=y", "u a(c1,c2) t(c1=" + Unanswered + ") t(c2=y) u"},
		{"backend and client calls (F019)", "u a(b1,c1) t(c1=x) t(b1=own)", "c1=x", "u a(b1,c1) t(b1=own) t(c1=x)"},
		{"answered by the agent", "u a(c1) t(c1=agents) u", "c1^", "u a(c1) t(c1=agents) u"},
		{"answered by the agent, at the end", "u a(c1) t(c1=own)", "c1^", "u a(c1) t(c1=own)"},
		{"a result without a call (F006)", "u t(c9=42)", "", "u"},
		{"one id in two turns (F015)", "u a(c0) t(c0=Paris) u a(c0) t(c0=Rome)", "", "u a(c0) t(c0=Paris) u a(c0) t(c0=Rome)"},
	} {
		led := rounds(t, strings.Split(c.record, "|")...)
		msgs := list(t, c.in)
		_, err := planTurn(read(msgs), led, allSeen{}, false, &agent{conf: config.Agent{Unanswered: "synthesize"}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, _ := upstreamCopy(read(msgs), led, nil, run.NewNames(nil, nil))
		if short(got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, short(got), c.want)
		}
		again, repairs := upstreamCopy(read(got), led, nil, run.NewNames(nil, nil))
		if short(again) != c.want || repairs != 0 && !strings.Contains(c.record, "!") {
			t.Errorf("%s, a second time: %s, %d repairs", c.name, short(again), repairs)
		}
	}
}

// What a list answers, what it leaves open, and whether it goes on without it.
func TestPlanTurn(t *testing.T) {
	for _, c := range []struct {
		name, in, record string
		answers, missing int
		gone             int
		code             fault.Code
	}{
		{"an answer", "u a(c1) t(c1=x)", "c1", 1, 0, 0, ""},
		{"one of two", "u a(c1,c2) t(c2=x)", "c1 c2", 1, 1, 0, ""},
		{"goes on", "u a(c1) u", "c1", 0, 0, 1, ""},
		{"one answered, then goes on", "u a(c1,c2) t(c1=x) u", "c1 c2", 1, 0, 1, ""},
		{"the same again", "u a(c1) t(c1=x)", "c1=x", 1, 0, 0, ""},
		{"twice the same in one list", "u a(c1) t(c1=x) t(c1=x)", "c1", 1, 0, 0, ""},
		{"twice differently in one list", "u a(c1) t(c1=x) t(c1=y)", "c1", 0, 0, 0, fault.ActionResultConflict},
		{"history of a final call", "u a(c1) t(c1=other) u", "c1=x", 0, 0, 0, ""},
		{"an old answer of a reused id (F015)", "u a(c0) t(c0=Paris) u a(c0) t(c0=Rome)", "c0=Paris|c0", 1, 0, 0, ""},
		{"a list that no longer holds the call", "u", "c1", 0, 1, 0, ""},
	} {
		led := rounds(t, strings.Split(c.record, "|")...)
		p, err := planTurn(read(list(t, c.in)), led, allSeen{}, false, &agent{conf: config.Agent{Unanswered: "synthesize"}})
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %q", c.name, err, c.code)
		}
		if err != nil {
			continue
		}
		if len(p.answers) != c.answers || len(p.missing) != c.missing || len(p.gone) != c.gone {
			t.Errorf("%s: %d answers, %d missing, %d given up", c.name, len(p.answers), len(p.missing), len(p.gone))
		}
	}
}
