package e2e

import (
	"slices"
	"strings"
	"testing"
)

// Every faulty stream of the repairs' fixtures, said by a real upstream, is one
// that each published client takes, and the one its .out file has [RUN-7, RUN-11].
//
// The fixtures marked `modern` say what a 1.0 client gets; an older client must
// take its own form of them and end with the same conversation.
func TestRepairedFixtures(t *testing.T) {
	g := must(t, repairGateway)
	g.logsOnFailure(t)
	all, err := fixtures()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		for _, protocol := range []string{"auto", "1.0"} {
			var first readout
			for _, client := range generations {
				t.Run(f.name+"/"+protocol+"/"+client.version, func(t *testing.T) {
					got, want := repairFixture(t, g, f, protocol, client.version, client.headers)
					if client.version == "1.0.0" {
						first = got
					}
					if !f.modern || client.version == "1.0.0" {
						sameFrames(t, got.Wire, forGeneration(t, client.version, want))
					}
					sameConversation(t, client.version, got, first)
					if t.Failed() {
						t.Log(got)
					}
				})
			}
		}
	}
}

func repairFixture(t *testing.T, g *gateway, f fixture, protocol, version string, headers map[string]string) (readout, []expected) {
	t.Helper()
	thread := threadID(t)
	theFaultyAgent().play(thread, answerScript{data: onThread(f.data, thread)})
	got := must(t, theReader).read(t, reading{
		Version: version, URL: g.run(f.agent(protocol)), Thread: thread, Run: "r1", Headers: headers, Tools: f.tools(),
		Messages: patched(f), State: map[string]any{"step": 1, "a": map[string]any{}, "c": 3, "d": 4},
	})
	if version == "1.0.0" {
		got.Complaints = slices.DeleteFunc(got.Complaints, func(c string) bool { return slices.Contains(skipped[f.name], c) })
	}
	clean(t, got)
	return got, afterMachine(t, f, thread, "r1", got.RequestID)
}

// skipped is what 1.0.0 says when it passes over what it does not know, which only
// it is sent [RUN-11].
var skipped = map[string][]string{
	"run3_error_without_text": {unknownField("error", "RUN_ERROR")},
	"run7_type_names":         {unknownType("custom"), unknownType("SOMETHING_NEW")},
	"sec1_field_names":        {unknownField("message_id", "CUSTOM")},
}

func unknownField(key, kind string) string {
	return "[ag-ui][enforce] Removed unrecognised material at '/" + key + "' on " + kind +
		". Nothing handled it; see the repo-root DEPRECATIONS.md if it is a retired shape."
}

func unknownType(kind string) string {
	return "[ag-ui][enforce] Dropping unrecognised event '" + kind + "': no middleware translated it and the protocol does not describe it."
}

// patched is the conversation before the run; with what a fixture's patches are for,
// which the clients would look for in vain.
func patched(f fixture) []map[string]any {
	list := []map[string]any{{"id": "asked", "role": "user", "content": "go"}}
	if strings.Contains(strings.Join(f.data, ""), "ACTIVITY_DELTA") {
		list = append(list, map[string]any{"id": "a1", "role": "activity", "activityType": "plan", "content": map[string]any{"b": 1}})
	}
	return list
}

// clean checks that a client could read all of a stream.
func clean(t *testing.T, r readout) {
	t.Helper()
	if r.Status != 200 {
		t.Errorf("status %d", r.Status)
	}
	for _, p := range r.Problems {
		t.Errorf("the client's own check: %s", p)
	}
	failed := len(r.Wire) > 0 && strings.Contains(r.Wire[len(r.Wire)-1], `"RUN_ERROR"`)
	if r.Error != nil && !failed {
		t.Errorf("the client died: %+v", r.Error)
	}
	for _, c := range r.Complaints {
		t.Errorf("the client complains: %s", c)
	}
}

// sameConversation checks that a client ends with what 1.0.0 ends with. 0.0.45 has
// the same messages in an order of its own: results at the end, a snapshot's list
// as it is.
func sameConversation(t *testing.T, version string, got, want readout) {
	t.Helper()
	if a, b := sameJSON(t, got.State), sameJSON(t, want.State); a != b {
		t.Errorf("the state is %s, that of 1.0.0 is %s", a, b)
	}
	a, b := conversationOf(got), conversationOf(want)
	if version == "0.0.45" {
		slices.Sort(a)
		slices.Sort(b)
	}
	if !slices.Equal(a, b) {
		t.Errorf("the conversation is\n%s\nthat of 1.0.0 is\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
}

// conversationOf is who said what, and which calls were made.
func conversationOf(r readout) (list []string) {
	for _, m := range r.Messages {
		line := m.Role + " " + m.ID + " " + m.ToolCallID + " " + string(m.Content)
		for _, c := range m.ToolCalls {
			line += " " + c.ID + ":" + c.Function.Name + c.Function.Arguments
		}
		list = append(list, line)
	}
	return list
}
