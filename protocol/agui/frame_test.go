package agui

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/fault"
)

// samples holds one full event for each type of 1.0, by the schema.
var samples = []string{
	`{"type":"RUN_STARTED","threadId":"th1","runId":"r1","protocolVersion":"1.0","parentRunId":"r0","input":{"threadId":"th1","runId":"r1","state":null,"messages":[{"id":"m1","role":"user","content":"hi"}],"tools":[{"name":"a","description":"","parameters":{}}],"context":[{"description":"d","value":"v"}],"forwardedProps":1,"resume":[{"interruptId":"i1","status":"cancelled"}]}}`,
	`{"type":"RUN_FINISHED","threadId":"th1","runId":"r1","result":0,"outcome":{"type":"success","pendingToolCallIds":["c1"]},"usage":[{"provider":"p","inputTokens":1}]}`,
	`{"type":"RUN_ERROR","message":"no","code":"x","metadata":{"k":null},"timestamp":1.0}`,
	`{"type":"STEP_STARTED","stepName":"s"}`,
	`{"type":"STEP_FINISHED","stepName":"s"}`,
	`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant","name":"n","rawEvent":{}}`,
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":""}`,
	`{"type":"TEXT_MESSAGE_END","messageId":"m1","subagentRunId":""}`,
	`{"type":"TEXT_MESSAGE_CHUNK"}`,
	`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f","parentMessageId":"m1"}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{"}`,
	`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
	`{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"f","delta":"{}"}`,
	`{"type":"TOOL_CALL_RESULT","messageId":"m2","toolCallId":"c1","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","value":"u"}}],"role":"tool"}`,
	`{"type":"STATE_SNAPSHOT","snapshot":null}`,
	`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a~1b","value":null},{"op":"remove","path":"","value":1},{"op":"move","from":"/a","path":"/b"}]}`,
	`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":""}}]},{"id":"m2","role":"tool","toolCallId":"c1","content":"x","error":"e"},{"id":"m3","role":"activity","activityType":"a","content":{}},{"id":"m4","role":"reasoning","content":""},{"id":"m5","role":"developer","content":""},{"id":"m6","role":"system","content":"","name":"n"}]}`,
	`{"type":"ACTIVITY_SNAPSHOT","messageId":"m1","activityType":"a","content":{},"replace":false}`,
	`{"type":"ACTIVITY_DELTA","messageId":"m1","activityType":"a","patch":[]}`,
	`{"type":"RAW","event":null,"source":"s"}`,
	`{"type":"CUSTOM","name":"n","value":[1]}`,
	`{"type":"REASONING_START","messageId":"m1"}`,
	`{"type":"REASONING_MESSAGE_START","messageId":"m1","role":"reasoning"}`,
	`{"type":"REASONING_MESSAGE_CONTENT","messageId":"m1","delta":"d"}`,
	`{"type":"REASONING_MESSAGE_END","messageId":"m1"}`,
	`{"type":"REASONING_MESSAGE_CHUNK","messageId":"m1"}`,
	`{"type":"REASONING_END","messageId":"m1"}`,
	`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":"c1","encryptedValue":"v"}`,
	`{"type":"SUBAGENT_STARTED","subagentRunId":"s1","name":"n","parentToolCallId":"c1"}`,
	`{"type":"SUBAGENT_FINISHED","subagentRunId":"s1","result":false,"outcome":{"type":"suspended","interruptIds":["i1"]}}`,
	`{"type":"SUBAGENT_ERROR","subagentRunId":"s1","message":"m"}`,
}

func TestSamplesParseAndValidate(t *testing.T) {
	seen := map[Type]bool{}
	for _, raw := range samples {
		f, err := ParseFrame([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if err := f.Validate(); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if string(f.Raw) != raw || !f.Type.Known() {
			t.Errorf("%s: got type %q, raw %s", raw, f.Type, f.Raw)
		}
		seen[f.Type] = true
	}
	if len(seen) != 31 || len(types) != 31 {
		t.Errorf("%d samples of %d types, want 31", len(seen), len(types))
	}
}

func TestParseFrameRefuses(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	many := `{"type":"X"`
	for i := range 20 {
		many += `,"k` + string(rune('a'+i)) + `":1`
	}
	for _, c := range []struct{ name, raw, param string }{
		{"nothing", ``, ""},
		{"cut", `{"type":"RAW"`, ""},
		{"two values", `{"type":"RAW"}{}`, ""},
		{"an array", `[{"type":"RAW"}]`, ""},
		{"a string", `"RAW"`, ""},
		{"null", `null`, ""},
		{"HTML", `<html>{"type":"RAW"}`, ""},
		{"not UTF-8", "{\"type\":\"RAW\",\"event\":\"\xff\"}", ""},
		{"too deep", `{"type":"RAW","event":` + deep + `}`, ""},
		{"no type", `{"messageId":"m1"}`, "/type"},
		{"null type", `{"type":null}`, "/type"},
		{"number type", `{"type":7}`, "/type"},
		{"empty type", `{"type":""}`, "/type"},
		{"type twice", `{"type":"RAW","type":"CUSTOM"}`, "/type"},
		{"type twice, escaped", `{"type":"RAW","typ\u0065":"CUSTOM"}`, "/type"},
		{"unknown key twice", `{"type":"RAW","event":1,"x/~":1,"x/~":2}`, "/x~1~0"},
		{"a late key twice", many + `,"kt":2}`, "/kt"},
		{"other case", `{"type":"TOOL_CALL_START","toolCallId":"c1","ToolCallId":"c2","toolCallName":"f"}`, "/ToolCallId"},
		{"snake case", `{"type":"TOOL_CALL_START","tool_call_id":"c1","toolCallName":"f"}`, "/tool_call_id"},
		{"Type beside type", `{"type":"RAW","Type":"CUSTOM"}`, "/Type"},
		{"base key of an unknown type", `{"type":"NEW","raw-event":1}`, "/raw-event"},
		{"fold beyond ASCII", `{"type":"TEXT_MESSAGE_END","me\u017f\u017fageId":"m1"}`, "/meſſageId"},
		{"misspelt among many", many + `,"rawevent":2}`, "/rawevent"},
	} {
		_, err := ParseFrame([]byte(c.raw))
		f := fault.From(err)
		if err == nil || f.Code != fault.UpstreamProtocolError || f.Param != c.param {
			t.Errorf("%s: got %v, want upstream_protocol_error at %q", c.name, err, c.param)
		}
	}
}

func TestParseFrameTakes(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want Type
	}{
		{`{"type":"NEW_IN_2_0","Content":1}`, "NEW_IN_2_0"},
		{` { "x" : {"type":"RUN_ERROR","type":1} , "type" : "RAW" , "event" : {} } ` + "\n", Raw},
		{`{"type":"RUN\u005fSTARTED","threadId":"t","runId":"r"}`, RunStarted},
		{`{"type":"run_started"}`, "run_started"},
		{`{"type":"CUSTOM","messageid":"a key of other events only","name":"n","value":1}`, Custom},
		{`{"type":"RAW","event":"\ud83d\ude00 \" \\","\\\"":1}`, Raw},
	} {
		f, err := ParseFrame([]byte(c.raw))
		if err != nil || f.Type != c.want || string(f.Raw) != c.raw {
			t.Errorf("%s: got %q %v", c.raw, f.Type, err)
		}
	}
}

func TestFieldAndText(t *testing.T) {
	f := Frame{Raw: []byte(` {"a" : "x\u0020y" ,"b":null, "\u0063":[1, {"d":2}],"e":1.0,"f":"","g":"\\","h":"\\\"}"}`)}
	for _, c := range []struct{ key, raw, text string }{
		{"a", `"x\u0020y"`, "x y"}, {"b", `null`, ""}, {"c", `[1, {"d":2}]`, ""}, {"d", "", ""},
		{"e", `1.0`, ""}, {"f", `""`, ""}, {"g", `"\\"`, `\`}, {"h", `"\\\"}"`, `\"}`},
	} {
		if got := string(f.Field(c.key)); got != c.raw {
			t.Errorf("Field(%s) = %s, want %s", c.key, got, c.raw)
		}
		if got := f.Text(c.key); got != c.text {
			t.Errorf("Text(%s) = %q, want %q", c.key, got, c.text)
		}
	}
	if f.Field("d") != nil || (Frame{}).Field("a") != nil || (Frame{Raw: []byte(`[1]`)}).Field("a") != nil {
		t.Error("an absent field must be nil")
	}
}

func TestWithKeepsEveryOtherByte(t *testing.T) {
	for _, c := range []struct{ raw, key, value, want string }{
		{`{"a":1.0,"b":1152921504606846976}`, "a", `"x"`, `{"a":"x","b":1152921504606846976}`},
		{"{ \"b\" :\t1e0 ,\n\"a\": \"\\u00e9\\/\"\r}  ", "a", `2`, "{ \"b\" :\t1e0 ,\n\"a\": 2\r}  "},
		{`{"a":{"k":[1]} }`, "a", `{}`, `{"a":{} }`},
		{`{"a":1}`, "n\"", `true`, `{"a":1,"n\"":true}`},
		{`{"a":1 }`, "n", `true`, `{"a":1,"n":true }`},
		{` { } `, "n", `null`, ` {"n":null } `},
		{`{"\u0061":1,"b":2}`, "a", `9`, `{"\u0061":9,"b":2}`},
		{`{"b":{"a":1},"a":"}"}`, "a", `0`, `{"b":{"a":1},"a":0}`},
	} {
		raw := []byte(c.raw)
		got := Frame{Type: Raw, Raw: raw}.With(c.key, []byte(c.value))
		if string(got.Raw) != c.want || got.Type != Raw {
			t.Errorf("%s with %s: %s, want %s", c.raw, c.key, got.Raw, c.want)
		}
		if string(raw) != c.raw {
			t.Errorf("With changed its input: %s", raw)
		}
	}
	if f := (Frame{Type: Raw, Raw: []byte(`{"type":"RAW"}`)}).WithText("type", "CUSTOM"); f.Type != Custom {
		t.Errorf("the type did not follow: %q", f.Type)
	}
}

func TestWithoutKeepsEveryOtherByte(t *testing.T) {
	for _, c := range []struct{ raw, key, want string }{
		{`{"a":1.0,"b":1152921504606846976}`, "a", `{"b":1152921504606846976}`},
		{`{"a":1.0,"b":2}`, "b", `{"a":1.0}`},
		{`{"a":1, "b":2 , "c":3}`, "b", `{"a":1, "c":3}`},
		{`{ "a" : 1 , "b" : 2 } `, "b", `{ "a" : 1 } `},
		{`{ "a" : 1 }`, "a", `{  }`},
		{`{"a":1}`, "x", `{"a":1}`},
		{`{"b":{"a":1}}`, "a", `{"b":{"a":1}}`},
		{`{"b":"\",\"a\":1","\u0061":2}`, "a", `{"b":"\",\"a\":1"}`},
	} {
		raw := []byte(c.raw)
		if got := (Frame{Raw: raw}).Without(c.key); string(got.Raw) != c.want || string(raw) != c.raw {
			t.Errorf("%s without %s: %s, want %s", c.raw, c.key, got.Raw, c.want)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct{ raw, param string }{
		{`{"type":"RUN_STARTED","runId":"r1"}`, "/threadId"},
		{`{"type":"RUN_STARTED","threadId":"th1","runId":"r1","timestamp":null,"rawEvent":null}`, "/timestamp"},
		{`{"type":"RUN_STARTED","threadId":"th1","runId":"r1","rawEvent":null}`, "/rawEvent"},
		{`{"type":"RUN_STARTED","threadId":"th1","runId":"r1","input":{"threadId":"","runId":"","messages":[{"role":"user","content":""}]}}`, "/input/messages/0/id"},
		{`{"type":"RUN_FINISHED","threadId":"th1","runId":null}`, "/runId"},
		{`{"type":"RUN_FINISHED","threadId":"th1","runId":"r","outcome":{"type":"interrupt","interrupts":[]}}`, "/outcome/interrupts"},
		{`{"type":"RUN_FINISHED","threadId":"th1","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"r","subagentRunId":null}]}}`, "/outcome/interrupts/0/subagentRunId"},
		{`{"type":"RUN_FINISHED","threadId":"th1","runId":"r","outcome":"success"}`, "/outcome"},
		{`{"type":"RUN_FINISHED","threadId":"th1","runId":"r","usage":[{"inputTokens":-1}]}`, "/usage/0/inputTokens"},
		{`{"type":"RUN_ERROR","code":"x"}`, "/message"},
		{`{"type":"RUN_ERROR","message":"x","metadata":[]}`, "/metadata"},
		{`{"type":"RUN_ERROR","message":"x","timestamp":1.5}`, "/timestamp"},
		{`{"type":"RUN_ERROR","message":"x","timestamp":9007199254740992}`, "/timestamp"},
		{`{"type":"RUN_ERROR","message":"x","timestamp":"1"}`, "/timestamp"},
		{`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"tool"}`, "/role"},
		{`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":null}`, "/delta"},
		{`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"","subagentRunId":null}`, "/subagentRunId"},
		{`{"type":"TEXT_MESSAGE_CHUNK","delta":7}`, "/delta"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":{}}`, "/content"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"text"}]}`, "/content/0/text"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[7]}`, "/content/0"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"image","source":{"type":"data","value":""}}]}`, "/content/0/source/mimeType"},
		{`{"type":"STATE_SNAPSHOT"}`, "/snapshot"},
		{`{"type":"STATE_DELTA","delta":{}}`, "/delta"},
		{`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"a","value":1}]}`, "/delta/0/path"},
		{`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a"}]}`, "/delta/0/value"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"user","content":"","name":null}]}`, "/messages/0/name"},
		{`{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"a","content":"x"}`, "/content"},
		{`{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"a","content":{},"replace":1}`, "/replace"},
		{`{"type":"CUSTOM","name":"n"}`, "/value"},
		{`{"type":"RAW"}`, "/event"},
		{`{"type":"REASONING_MESSAGE_START","messageId":"m","role":"assistant"}`, "/role"},
		{`{"type":"REASONING_MESSAGE_START","messageId":"m"}`, "/role"},
		{`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"x","entityId":"","encryptedValue":""}`, "/subtype"},
		{`{"type":"SUBAGENT_STARTED","name":"n"}`, "/subagentRunId"},
		{`{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":null}`, "/outcome"},
		// What a 1.0 client drops with a warning is not malformed.
		{`{"type":"NEW","timestamp":null}`, ""},
		{`{"type":"TOOL_CALL_END","toolCallId":"c","surprise":null}`, ""},
		{`{"type":"RUN_FINISHED","threadId":"th1","runId":"r","outcome":{"type":"later"}}`, ""},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"hologram"},{"type":"image","source":{"type":"later"}}]}`, ""},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"later"}]}`, ""},
		{`{"type":"RUN_STARTED","threadId":"","runId":"","subagentRunId":null}`, ""},
	} {
		f, err := ParseFrame([]byte(c.raw))
		if err != nil {
			t.Errorf("%s: %v", c.raw, err)
			continue
		}
		err = f.Validate()
		if c.param == "" {
			if err != nil {
				t.Errorf("%s: %v, want none", c.raw, err)
			}
			continue
		}
		if got := fault.From(err); err == nil || got.Param != c.param || got.Code != fault.UpstreamProtocolError {
			t.Errorf("%s: got %v, want upstream_protocol_error at %s", c.raw, err, c.param)
		}
	}
}

func TestWithoutNulls(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"type":"RUN_STARTED","threadId":"th1","runId":"r1","timestamp":null,"rawEvent":null}`,
			`{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`},
		{`{"type":"STATE_SNAPSHOT","snapshot":null,"timestamp":null}`, `{"type":"STATE_SNAPSHOT","snapshot":null}`},
		{`{"type":"CUSTOM","name":"n","value":null}`, `{"type":"CUSTOM","name":"n","value":null}`},
		{`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":null}]}`, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":null}]}`},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":null},"result":null}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`},
		{`{"type":"RUN_ERROR","message":"null","metadata":{"a":null}}`, `{"type":"RUN_ERROR","message":"null","metadata":{"a":null}}`},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":null, "toolCalls":[{"id":"c","type":"function","encryptedValue":null,"function":{"name":"f","arguments":"null"}}] }, {"id":"b","role":"user","content":[{"type":"text","text":"x","id":null}]}]}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"null"}}] }, {"id":"b","role":"user","content":[{"type":"text","text":"x"}]}]}`},
		{`{"type":"NEW","rawEvent":null,"other":null}`, `{"type":"NEW","other":null}`},
	} {
		f, err := ParseFrame([]byte(c.raw))
		if err != nil {
			t.Fatal(err)
		}
		got, changed := f.WithoutNulls()
		if string(got.Raw) != c.want || changed != (c.want != c.raw) {
			t.Errorf("%s\n got %s %v\nwant %s", c.raw, got.Raw, changed, c.want)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", got.Raw, err)
		}
	}
}

func TestParseFrameDoesNotAllocate(t *testing.T) {
	for _, raw := range samples {
		raw := []byte(raw)
		n := testing.AllocsPerRun(50, func() {
			f, err := ParseFrame(raw)
			if err != nil || f.Field("type") == nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations, want 0", raw, n)
		}
	}
}

// FuzzParseFrame: no panic; what is taken is one object whose bytes are kept;
// surgery leaves a frame that is taken again.
func FuzzParseFrame(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Add([]byte(" {\"a\\u0062\":\"\\ud800\",\"type\":\"X\" , \"\":[{}]}\n"))
	f.Add([]byte(`{"type":"\"`))    // not checked: a string that does not end
	f.Add([]byte(`{"type":"\u1"}`)) // not checked: half an escape
	f.Fuzz(func(t *testing.T, raw []byte) {
		// Reading text that was not checked may be wrong but not fatal.
		_ = (Frame{Raw: raw}).Text("type")
		_ = (Frame{Raw: raw}).With("type", []byte("1"))
		_ = (Frame{Raw: raw}).Without("type")
		frame, err := ParseFrame(raw)
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) || e.Code != fault.UpstreamProtocolError {
				t.Fatalf("error %v", err)
			}
			return
		}
		if !bytes.Equal(frame.Raw, raw) || string(frame.Type) != frame.Text("type") {
			t.Fatalf("frame %q of %s is not what came", frame.Type, frame.Raw)
		}
		_ = frame.Validate()
		clean, _ := frame.WithoutNulls()
		for _, next := range []Frame{clean, frame.With("zz9", []byte(`{"a":1}`)), frame.WithText("rawEvent", "x"), frame.Without("rawEvent")} {
			if _, err := ParseFrame(next.Raw); err != nil {
				t.Fatalf("%s became %s: %v", raw, next.Raw, err)
			}
		}
		if got := frame.With("zz9", []byte(`1`)).Without("zz9"); frame.Field("zz9") == nil && !bytes.Equal(got.Raw, raw) {
			t.Fatalf("%s is not %s after With and Without", got.Raw, raw)
		}
	})
}
