package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// everyType is a run with every event type of 1.0 in it, but RUN_ERROR and the three
// of a subagent that fails; the values are such that the protobuf envelope of 1.0
// has a place for each.
var everyType = []string{
	`{"type":"RUN_STARTED","threadId":"th1","runId":"r1","protocolVersion":"1.0"}`,
	`{"type":"STEP_STARTED","stepName":"plan"}`,
	`{"type":"STATE_SNAPSHOT","snapshot":{"n":1,"list":[true,null,"é",-1.5]}}`,
	`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":{"a":[2]}},{"op":"remove","path":"/list/0"},{"op":"move","from":"/list/0","path":"/first"}]}`,
	`{"type":"REASONING_START","messageId":"t0"}`,
	`{"type":"REASONING_MESSAGE_START","messageId":"t1","role":"reasoning"}`,
	`{"type":"REASONING_MESSAGE_CONTENT","messageId":"t1","delta":"hm"}`,
	`{"type":"REASONING_MESSAGE_END","messageId":"t1"}`,
	`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"t1","encryptedValue":"c2VjcmV0"}`,
	`{"type":"REASONING_END","messageId":"t0"}`,
	`{"type":"REASONING_MESSAGE_CHUNK","messageId":"t2","delta":"hm hm"}`,
	`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"I look"}`,
	`{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant","timestamp":1767322800000}`,
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"at “it” 🙂","metadata":{"tokens":3}}`,
	`{"type":"TEXT_MESSAGE_END","messageId":"m2"}`,
	`{"type":"SUBAGENT_STARTED","subagentRunId":"s1","name":"finder","parentToolCallId":"c0"}`,
	`{"type":"TOOL_CALL_CHUNK","toolCallId":"c2","toolCallName":"search","delta":"{}","subagentRunId":"s1"}`,
	`{"type":"TOOL_CALL_RESULT","messageId":"m3","toolCallId":"c2","content":[{"type":"text","text":"found"},{"type":"image","source":{"type":"url","value":"https://example.com/a.png","mimeType":"image/png"}}],"role":"tool","subagentRunId":"s1"}`,
	`{"type":"SUBAGENT_FINISHED","subagentRunId":"s1","outcome":{"type":"success"}}`,
	`{"type":"SUBAGENT_STARTED","subagentRunId":"s2","name":"writer"}`,
	`{"type":"SUBAGENT_ERROR","subagentRunId":"s2","message":"no paper","code":"paper"}`,
	`{"type":"ACTIVITY_SNAPSHOT","messageId":"a1","activityType":"plan","content":{"steps":["one"]},"replace":true}`,
	`{"type":"ACTIVITY_DELTA","messageId":"a1","activityType":"plan","patch":[{"op":"add","path":"/steps/-","value":"two"}]}`,
	`{"type":"CUSTOM","name":"mood","value":{"good":true}}`,
	`{"type":"RAW","event":{"from":"model"},"source":"model"}`,
	`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"asked","role":"user","content":"go"},{"id":"m2","role":"assistant","content":"at “it” 🙂"}]}`,
	`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pick_date","parentMessageId":"m2"}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"day\":1.0}"}`,
	`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
	`{"type":"STEP_FINISHED","stepName":"plan"}`,
	`{"type":"RUN_FINISHED","threadId":"th1","runId":"r1"}`,
}

const protoType = "application/vnd.ag-ui.event+proto"

// A 1.0 client that asks for protobuf reads of a run what another reads as SSE
// [RUN-1]: the events, and the conversation they make. The agent says the same to
// both; a run that is joined or brought again is told otherwise [RUN-13].
func TestPackedAsSSE(t *testing.T) {
	g := must(t, repairGateway)
	g.logsOnFailure(t)
	open := everyType[:len(everyType)-1]
	for name, data := range map[string][]string{
		"finished": everyType,
		"error":    append(slices.Clone(open), `{"type":"RUN_ERROR","message":"gone","code":"upstream"}`),
		"cut":      open,
	} {
		t.Run(name, func(t *testing.T) {
			plain := repeated(t, g, "repair-1-0", data, "")
			packed := repeated(t, g, "repair-1-0", data, protoType)
			if name == "finished" && len(plain.Wire) != len(data) {
				t.Errorf("%d of %d events", len(plain.Wire), len(data))
			}
			same(t, packed, plain)
		})
	}
}

// repeated is what a 1.0 client reads of a run with those events.
func repeated(t *testing.T, g *gateway, agent string, data []string, accept string) readout {
	t.Helper()
	thread := threadID(t)
	theFaultyAgent().play(thread, answerScript{data: onThread(data, thread)})
	return readClean(t, reading{
		Version: "1.0.0", URL: g.run(agent), Thread: thread, Run: "r1", Accept: accept,
		Messages: []map[string]any{{"id": "asked", "role": "user", "content": "go"}},
		Tools:    fixture{client: []string{"pick_date"}}.tools(),
	})
}

// same compares two readouts of one script.
func same(t *testing.T, got, want readout) {
	t.Helper()
	sameEvents(t, neutral(got.Wire, got), neutral(want.Wire, want))
	sameEvents(t, neutral(raws(got.Events), got), neutral(raws(want.Events), want))
	sameConversation(t, "1.0.0", got, want)
	if t.Failed() {
		t.Logf("got: %s\nwant: %s", got, want)
	}
}

// neutral takes out what differs from run to run.
func neutral(list []string, r readout) []string {
	var started struct {
		Thread string `json:"threadId"`
	}
	if len(r.Wire) > 0 {
		_ = json.Unmarshal([]byte(r.Wire[0]), &started)
	}
	out := make([]string, 0, len(list))
	for _, one := range list {
		one = strings.ReplaceAll(one, `"`+started.Thread+`"`, `"th1"`)
		out = append(out, strings.ReplaceAll(one, r.RequestID, "request"))
	}
	return out
}

// An Accept header that ranks SSE first, or takes anything, gets SSE; an older client
// gets SSE whatever it says [RUN-1].
func TestPackedIsAskedFor(t *testing.T) {
	g := must(t, repairGateway)
	for _, c := range []struct{ version, accept, want string }{
		{"1.0.0", "*/*", "text/event-stream"},
		{"1.0.0", "text/event-stream, " + protoType + ";q=0.5", "text/event-stream"},
		{"1.0.0", protoType + ", text/event-stream;q=0.5", protoType},
		{"0.0.59", "text/event-stream;q=0.1, */*;q=0.5", "text/event-stream"},
	} {
		thread := threadID(t)
		theFaultyAgent().play(thread, answerScript{data: onThread(everyType[:1], thread)})
		got := must(t, theReader).read(t, reading{Version: c.version, URL: g.run("repair-1-0"), Thread: thread, Run: "r1", Accept: c.accept})
		if got.ContentType != c.want {
			t.Errorf("%s with %q got %s, want %s", c.version, c.accept, got.ContentType, c.want)
		}
	}
}

// olderTypes are those that 0.0.59 can say in protobuf, in values it has: a part of
// everyType.
var olderTypes = []string{
	`{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`,
	`{"type":"STEP_STARTED","stepName":"plan"}`,
	`{"type":"STATE_SNAPSHOT","snapshot":{"n":1,"list":[true,null,"é",-1.5]}}`,
	`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}`,
	`{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}`,
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"at “it” 🙂"}`,
	`{"type":"TEXT_MESSAGE_END","messageId":"m2"}`,
	`{"type":"CUSTOM","name":"mood","value":{"good":true}}`,
	`{"type":"RAW","event":{"from":"model"},"source":"model"}`,
	`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"asked","role":"user","content":"go"},{"id":"m2","role":"assistant","content":"at “it” 🙂"}]}`,
	`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pick_date","parentMessageId":"m2"}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"day\":1.0}"}`,
	`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
	`{"type":"STEP_FINISHED","stepName":"plan"}`,
	`{"type":"RUN_FINISHED","threadId":"th1","runId":"r1"}`,
}

// An agent that answers in protobuf, as the published packages of both generations
// write it, is read like one that answers in SSE [UP-1]: by an SSE client of each
// generation, and by one that asks for protobuf itself.
func TestPackedUpstream(t *testing.T) {
	g := must(t, repairGateway)
	g.logsOnFailure(t)
	for _, agent := range []struct {
		version string
		data    []string
	}{{"1.0.0", everyType}, {"1.0.0", olderTypes}, {"0.0.59", olderTypes}} {
		for _, client := range generations {
			t.Run(agent.version+"/"+client.version, func(t *testing.T) {
				packedUpstream(t, g, agent.version, agent.data, reading{Version: client.version, Headers: client.headers})
			})
		}
		t.Run(agent.version+"/1.0.0 in protobuf", func(t *testing.T) {
			packedUpstream(t, g, agent.version, agent.data, reading{Version: "1.0.0", Accept: protoType})
		})
	}
}

// packedUpstream compares what a client reads of an agent in protobuf with what it
// reads of one in SSE.
func packedUpstream(t *testing.T, g *gateway, version string, data []string, order reading) {
	t.Helper()
	order.Run, order.Tools = "r1", fixture{client: []string{"pick_date"}}.tools()
	order.Thread, order.URL = threadID(t), g.run(packedAgent(version))
	order.Messages = []map[string]any{{"id": "asked", "role": "user", "content": "[" + strings.Join(data, ",") + "]"}}
	packed := readClean(t, order)
	order.Thread, order.URL = threadID(t), g.run("plain")
	theFaultyAgent().play(order.Thread, answerScript{data: onThread(data, order.Thread)})
	same(t, packed, readClean(t, order))
}

// onThread puts a thread's id in place of th1.
func onThread(data []string, thread string) (list []string) {
	for _, d := range data {
		list = append(list, strings.ReplaceAll(d, `"th1"`, `"`+thread+`"`))
	}
	return list
}

func readClean(t *testing.T, order reading) readout {
	t.Helper()
	got := must(t, theReader).read(t, order)
	clean(t, got)
	want := "text/event-stream"
	if order.Accept != "" {
		want = order.Accept
	}
	if got.ContentType != want {
		t.Errorf("content type %s, want %s", got.ContentType, want)
	}
	return got
}

func raws(list []json.RawMessage) (out []string) {
	for _, one := range list {
		out = append(out, string(one))
	}
	return out
}

func sameEvents(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("event %d is missing: %s", i, want[i])
		case i >= len(want):
			t.Errorf("event %d is too much: %s", i, got[i])
		case sameJSON(t, []byte(got[i])) != sameJSON(t, []byte(want[i])):
			t.Errorf("event %d\n     %s\nwant %s", i, got[i], want[i])
		}
	}
}
