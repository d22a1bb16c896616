package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

// round gives what a reader makes of an event, or the fault of writing it.
func round(t *testing.T, raw string) string {
	t.Helper()
	f := frame(t, []byte(raw))
	before := []byte("x")
	b, ok, err := Append(before, f)
	if err != nil || !ok {
		if ok || !bytes.Equal(b, before) {
			t.Errorf("%s: an error left %q, %v", raw, b, ok)
		}
		return codeOf(err)
	}
	got, d, err := decodeAll(0, b[1:])
	if err != nil || len(got) != 1 || d.Pending() {
		t.Fatalf("%s came back as %v %v", raw, got, err)
	}
	return string(got[0].Raw)
}

func TestAppendWhatIsLost(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{ // numbers beyond float64
			`{"type":"CUSTOM","name":"n","value":[9007199254740993,0.1234567890123456789,1e400,-1e400,1e-400,-0]}`,
			`{"type":"CUSTOM","name":"n","value":[9007199254740992,0.12345678901234568,null,null,0,-0]}`,
		},
		{`{"type":"CUSTOM","name":"n","value":[1e21,1e-7,100000000000000000000,1.50,2E+3]}`,
			`{"type":"CUSTOM","name":"n","value":[1e+21,1e-7,100000000000000000000,1.5,2000]}`},
		{`{"type":"STEP_STARTED","stepName":"a","more":1,"name":"b"}`, `{"type":"STEP_STARTED","stepName":"a"}`},
		{`{"type":"STEP_STARTED","stepName":"a","timestamp":null,"rawEvent":null,"metadata":null,"subagentRunId":null}`,
			`{"type":"STEP_STARTED","stepName":"a"}`},
		{`{"type":"STEP_STARTED","stepName":"a","timestamp":1.5e3}`, `{"type":"STEP_STARTED","timestamp":1500,"stepName":"a"}`},
		{`{"type":"STEP_STARTED","stepName":"\ud800 \ud83d\ude00 \/\b\f\u00e9"}`, `{"type":"STEP_STARTED","stepName":"� 😀 /\u0008\u000cé"}`},
		{` { "type" : "STEP_STARTED" , "\u0073tepName" : "a" , "metadata" : { "a" : [ 1 , { } ] , "b" : null } } `,
			`{"type":"STEP_STARTED","metadata":{"a":[1,{}],"b":null},"stepName":"a"}`},
		{`{"type":"CUSTOM","name":"n","value":{"k":1,"k":2}}`, `{"type":"CUSTOM","name":"n","value":{"k":2}}`},
		{`{"type":"CUSTOM","name":"n"}`, `{"type":"CUSTOM","name":"n"}`},
		{`{"type":"STATE_DELTA","delta":[{"op":"frob","path":"/a"},{"op":"Add","path":"/a","extra":1},{"op":"7","path":"/a"},{"op":"1","path":""}]}`,
			`{"type":"STATE_DELTA","delta":[{"op":"-1","path":"/a"},{"op":"-1","path":"/a"},{"op":"7","path":"/a"},{"op":"-1","path":""}]}`},
		{`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":null,"from":null},{"op":"add","path":"/a"}]}`,
			`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":null},{"op":"add","path":"/a"}]}`},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null,"outcome":null,"usage":[]}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{}}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":[],"interrupts":[{"id":"i","reason":"r"}]}}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"later","a":1}}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"later"}}`},
		{`{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":{"type":"suspended","interruptIds":[]}}`,
			`{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":{"type":"suspended"}}`},
		{ // parts and sources without a form
			`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"hologram"},{"type":"image","source":{"type":"ether","value":"v"}},{"text":"no type"},{"type":"binary","mimeType":"a/b","data":""},{"type":"text","text":"a"}]}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"text","text":"a"}]}`,
		},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"binary","mimeType":"a/b","data":"AA==","id":null}]}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"document","source":{"type":"data","value":"AA==","mimeType":"a/b"},"metadata":{"legacyBinary":true}}]}`},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"later","content":"a"},{"id":"2","role":"later","content":{"a":1}},{"id":"3","role":"later","content":[{"type":"text","text":"a"}]},{"id":"4","role":"later","content":[]}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"later","content":"a"},{"id":"2","role":"later","content":{"a":1}},{"id":"3","role":"later","content":[{"type":"text","text":"a"}]},{"id":"4","role":"later"}]}`},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant","content":null,"toolCalls":null}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant"}]}`},
		{`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"state":null}}`,
			`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[],"resume":[]}}`},
	} {
		if got := round(t, c.in); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"type":"STEP_STARTED"}`, "/stepName"},
		{`{"type":"STEP_STARTED","stepName":null}`, "/stepName"},
		{`{"type":"STEP_STARTED","stepName":5}`, "/stepName"},
		{`{"type":"STEP_STARTED","stepName":["a"]}`, "/stepName"},
		{`{"type":"STEP_STARTED","stepName":"a","timestamp":1.5}`, "/timestamp"},
		{`{"type":"STEP_STARTED","stepName":"a","timestamp":9007199254740992}`, "/timestamp"},
		{`{"type":"STEP_STARTED","stepName":"a","timestamp":"1"}`, "/timestamp"},
		{`{"type":"STEP_STARTED","stepName":"a","metadata":[]}`, "/metadata"},
		{`{"type":"STATE_DELTA"}`, "/delta"},
		{`{"type":"STATE_DELTA","delta":{}}`, "/delta"},
		{`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a"},1]}`, "/delta/1"},
		{`{"type":"STATE_DELTA","delta":[{"path":"/a"}]}`, "/delta/0/op"},
		{`{"type":"STATE_DELTA","delta":[{"op":1,"path":"/a"}]}`, "/delta/0/op"},
		{`{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"a","content":"x"}`, "/content"},
		{`{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"a","content":{},"replace":0}`, "/replace"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[null]}`, "/messages/0"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user"}]}`, "/messages/0/content"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":{}}]}`, "/messages/0/content"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"system","content":[]}]}`, "/messages/0/content"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"activity","content":"a"}]}`, "/messages/0/content"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"later","content":1}]}`, "/messages/0/content"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","content":""}]}`, "/messages/0/id"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant","toolCalls":[{"id":"c","type":"function"}]}]}`, "/messages/0/toolCalls/0/function"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c"}`, "/content"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"image"}]}`, "/content/0/source"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"image","source":{"type":"data","value":"v"}}]}`, "/content/0/source/mimeType"},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"success"}`, "/outcome"},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt"}}`, "/outcome/interrupts"},
		{`{"type":"RUN_ERROR","message":"m","usage":[{"inputTokens":1.5}]}`, "/usage/0/inputTokens"},
	} {
		if got := round(t, c.in); got != "upstream_protocol_error "+c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestAppendUnknownType(t *testing.T) {
	for _, kind := range []string{"THINKING_START", "THINKING_TEXT_MESSAGE_CONTENT", "LATER", "text_message_end"} {
		b, ok, err := Append([]byte("x"), frame(t, []byte(`{"type":"`+kind+`"}`)))
		if string(b) != "x" || ok || err != nil {
			t.Errorf("%s: %q %v %v", kind, b, ok, err)
		}
	}
	for i := range events {
		if !events[i].kind.Known() {
			t.Errorf("%s is none of the 31 types", events[i].kind)
		}
	}
}

// The reader of 1.0.0 ends its stream at an event of more than 10 MiB. Numbers
// take up to five times the bytes of their JSON.
func TestAppendTooLarge(t *testing.T) {
	fits := strings.Repeat("x", MaxEvent-prefixSize-20)
	b := mustAppend(t, []byte(`{"type":"STEP_STARTED","stepName":"`+fits+`"}`))
	over := strings.Repeat("x", len(fits)+MaxEvent-len(b))
	if b := mustAppend(t, []byte(`{"type":"STEP_STARTED","stepName":"`+over+`"}`)); len(b) != MaxEvent {
		t.Errorf("the longest event has %d bytes, not %d", len(b), MaxEvent)
	}
	for _, raw := range []string{
		`{"type":"STEP_STARTED","stepName":"` + over + `x"}`,
		`{"type":"CUSTOM","name":"n","value":[1` + strings.Repeat(",1", 1<<20) + `]}`,
	} {
		if got := round(t, raw); got != "event_too_large" {
			t.Errorf("%d bytes of JSON: %s", len(raw), got)
		}
	}
}

// Lengths of every size, around each place where they need a byte more.
func TestAppendLengths(t *testing.T) {
	for _, n := range []int{0, 1, 100, 110, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 16370, 16383, 16384, 16400, 1 << 21} {
		for _, c := range []string{`{"type":"CUSTOM","name":"n","value":"`, `{"type":"CUSTOM","name":"n","value":{"a":[{"b":["`} {
			raw := c + strings.Repeat("y", n) + map[bool]string{true: `"]}]}}`, false: `"}`}[strings.Contains(c, "[")]
			if got := round(t, raw); got != raw {
				t.Fatalf("%d bytes came back as %d of %d", n, len(got), len(raw))
			}
		}
	}
}

// A frame that ParseFrame has not seen must not make Append panic.
func TestAppendUncheckedFrame(t *testing.T) {
	for _, raw := range []string{"", "{", `{"value":`, `{"value":{`, `{"value":{"a`, `{"value":{"a"`, `{"value":{"a":`, `{"value":{"a":x`, `{"value":[,`,
		`{"value":"\`, `{"name":"\u12"`, `{"value":[1 2]}`, `{"metadata":{1:2}}`, `{"value":` + strings.Repeat("[", 300)} {
		for i := range events {
			_, _, _ = Append(nil, agui.Frame{Type: events[i].kind, Raw: []byte(raw)})
		}
	}
}
