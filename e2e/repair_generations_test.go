package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// olderAgent is a run of a server before 1.0: no version, THINKING, a media part of
// the old form, a timestamp with a fraction, nulls.
var olderAgent = []string{
	`{"type":"RUN_STARTED","threadId":"th1","runId":"r1","timestamp":1767322800.5,"rawEvent":null}`,
	`{"type":"THINKING_START","title":"Where to look"}`,
	`{"type":"THINKING_TEXT_MESSAGE_START"}`,
	`{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"in the "}`,
	`{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"drawer"}`,
	`{"type":"THINKING_TEXT_MESSAGE_END"}`,
	`{"type":"THINKING_END"}`,
	`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"own","parentMessageId":null}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"n\":1.0}"}`,
	`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
	`{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"c1","content":"a key","role":"tool"}`,
	`{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}`,
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"There is "}`,
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"a key."}`,
	`{"type":"TEXT_MESSAGE_END","messageId":"m2"}`,
	`{"type":"MESSAGES_SNAPSHOT","messages":[` +
		`{"id":"asked","role":"user","content":[{"type":"text","text":"what is there?"},{"type":"binary","mimeType":"image/png","data":"aGk="}]},` +
		`{"id":"c1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"own","arguments":"{\"n\":1.0}"}}]},` +
		`{"id":"m1","role":"tool","toolCallId":"c1","content":"a key"},` +
		`{"id":"m2","role":"assistant","content":"There is a key."}]}`,
	`{"type":"RUN_FINISHED","threadId":"th1","runId":"r1","result":null}`,
}

// The same picture as each generation has it.
const (
	oldPicture = `[{"type":"text","text":"what is there?"},{"type":"binary","mimeType":"image/png","data":"aGk="}]`
	newPicture = `[{"type":"text","text":"what is there?"},{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}]`
)

func picture(version string) string {
	if version == "0.0.45" {
		return oldPicture
	}
	return newPicture
}

// A server before 1.0 is understood by a client of 1.0, and by those of its own time
// [RUN-11].
func TestOlderAgent(t *testing.T) {
	g := must(t, repairGateway)
	g.logsOnFailure(t)
	for _, client := range generations {
		t.Run(client.version, func(t *testing.T) {
			got := speak(t, g.run("older"), olderAgent, reading{Version: client.version, Headers: client.headers})
			clean(t, got)
			says(t, got, "m1", `"a key"`)
			says(t, got, "m2", `"There is a key."`)
			says(t, got, "asked", picture(client.version))
			thoughts := ""
			for _, raw := range got.Wire {
				if e := readEvent(t, raw); e.text("type") == "REASONING_MESSAGE_CONTENT" {
					thoughts += e.text("delta")
				}
			}
			if thoughts != "in the drawer" {
				t.Errorf("the thoughts are %q", thoughts)
			}
			if t.Failed() {
				t.Log(got)
			}
		})
	}
}

// parts is a result as 1.0 has it, plain as it is told to those before it [F084].
const (
	parts = `[{"type":"text","text":"found"},{"type":"image","source":{"type":"url","value":"https://example.com/a.png","mimeType":"image/png"}}]`
	plain = `"found\n{\"type\":\"image\",\"source\":{\"type\":\"url\",\"value\":\"https://example.com/a.png\",\"mimeType\":\"image/png\"}}"`
)

func resultFor(version string) string {
	if version == "1.0.0" {
		return parts
	}
	return plain
}

// newerAgent is every type of 1.0, with what older clients have no word for: a new
// type and field, a snapshot with parts, an outcome.
func newerAgent(outcome string) (list []string) {
	for _, data := range everyType[:len(everyType)-1] {
		if strings.Contains(data, "MESSAGES_SNAPSHOT") {
			data = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"asked","role":"user","content":` + newPicture + `},` +
				`{"id":"m2","role":"assistant","content":"at “it” 🙂","subagentRunId":"s1","toolCalls":[{"id":"c2","type":"function","function":{"name":"search","arguments":"{}"}}]},` +
				`{"id":"m3","role":"tool","toolCallId":"c2","content":` + parts + `}]}`
		}
		list = append(list, data)
	}
	return append(list,
		`{"type":"SOMETHING_NEW","of":"1.1"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m4","role":"assistant","mood":"good","metadata":{"a":1}}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m4","delta":"When?"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m4"}`,
		`{"type":"RUN_FINISHED","threadId":"th1","runId":"r1","usage":[{"inputTokens":3,"outputTokens":4}],"outcome":`+outcome+`}`,
	)
}

// outcomes as a server of 1.0 may end a run, and what each generation reads; 0.0.45
// has none. "paused" is one that nobody knows.
var outcomes = map[string]struct{ said, v1, v0059 string }{
	"success":   {`{"type":"success","pendingToolCallIds":["c1"]}`, `{"type":"success","pendingToolCallIds":["c1"]}`, `{"type":"success"}`},
	"bare":      {`{"type":"success"}`, `{"type":"success","pendingToolCallIds":["c1"]}`, `{"type":"success"}`},
	"interrupt": {`{"type":"interrupt","interrupts":[{"id":"i1","reason":"confirm","message":"sure?"}]}`, `{"type":"interrupt","interrupts":[{"id":"i1","reason":"confirm","message":"sure?"}]}`, `{"type":"interrupt","interrupts":[{"id":"i1","reason":"confirm","message":"sure?"}]}`},
	"cancelled": {`{"type":"cancelled"}`, `{"type":"cancelled"}`, ``},
	"new":       {`{"type":"paused","until":"noon"}`, `{"type":"success","pendingToolCallIds":["c1"]}`, `{"type":"success"}`},
}

// A server of 1.0 is read by clients before it: they get the types and fields they
// know, and results as text [RUN-11, F084].
func TestNewerAgent(t *testing.T) {
	g := must(t, repairGateway)
	g.logsOnFailure(t)
	for name, outcome := range outcomes {
		want := map[string]string{"1.0.0": outcome.v1, "0.0.59": outcome.v0059}
		for _, client := range generations {
			t.Run(name+"/"+client.version, func(t *testing.T) {
				got := speak(t, g.run("newer"), newerAgent(outcome.said), reading{Version: client.version, Headers: client.headers})
				if client.version == "1.0.0" {
					got.Complaints = slices.DeleteFunc(got.Complaints, func(c string) bool {
						return c == unknownType("SOMETHING_NEW") || c == unknownField("mood", "TEXT_MESSAGE_START")
					})
				}
				clean(t, got)
				says(t, got, "asked", picture(client.version))
				says(t, got, "m2", `"at “it” 🙂"`)
				says(t, got, "m3", resultFor(client.version))
				says(t, got, "m4", `"When?"`)
				endsIn(t, got, want[client.version])
				if t.Failed() {
					t.Log(got)
				}
			})
		}
	}
}

// What an agent is told is what it can read: results as text until its RUN_STARTED
// has named a version [UP-4], for a client of any generation.
func TestAgentIsToldWhatItKnows(t *testing.T) {
	// A gateway that has never heard of the agent.
	g, err := gatewayOf(fmt.Sprintf("  learning:\n    upstream: {kind: agui, url: %q}\n", theFaultyAgent().server.URL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(g.stop(), g.clean()); err != nil {
			t.Error(err)
		}
	})
	g.logsOnFailure(t)
	said := []map[string]any{
		{"id": "asked", "role": "user", "content": decoded(t, newPicture)},
		{"id": "m2", "role": "assistant", "content": "I look", "toolCalls": []any{decoded(t, `{"id":"c2","type":"function","function":{"name":"search","arguments":"{}"}}`)}},
		{"id": "m3", "role": "tool", "toolCallId": "c2", "content": decoded(t, parts)},
		{"id": "again", "role": "user", "content": "and now?"},
	}
	for i, want := range []struct{ version, result string }{{"", plain}, {"1.0", parts}} {
		answer := []string{everyType[0], everyType[len(everyType)-1]}
		order := reading{Version: "1.0.0", Messages: said, Thread: threadID(t)}
		clean(t, speak(t, g.run("learning"), answer, order))
		told := theFaultyAgent().told(t, order.Thread)
		if told.Version != want.version || len(told.Messages) != len(said) {
			t.Fatalf("run %d: the agent is told version %q and %d messages, want %q", i+1, told.Version, len(told.Messages), want.version)
		}
		for at, content := range []string{newPicture, `"I look"`, want.result, `"and now?"`} {
			if got := sameJSON(t, told.Messages[at].Content); got != sameJSON(t, []byte(content)) {
				t.Errorf("run %d: the agent is told %s, want %s", i+1, got, content)
			}
		}
	}
	old := []map[string]any{{"id": "asked", "role": "user", "content": decoded(t, oldPicture)}}
	order := reading{Version: "0.0.45", Headers: generations[2].headers, Messages: old, Thread: threadID(t)}
	speak(t, g.run("learning"), everyType[:1], order)
	if got := sameJSON(t, theFaultyAgent().told(t, order.Thread).Messages[0].Content); got != sameJSON(t, []byte(newPicture)) {
		t.Errorf("the agent is told %s, want %s", got, newPicture)
	}
}
