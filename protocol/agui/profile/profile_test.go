package profile

import (
	"slices"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

func TestOf(t *testing.T) {
	for version, want := range map[string]string{
		"0.0.45": "0.0.45", "0.0.59": "0.0.59", "1.0": "1.0", "1": "1.0", "1.0.0": "1.0", "1.17": "1.0",
		"": "", "0.0.46": "", "0.0": "", "2.0": "", "1.": "", "1.x": "", "10.0": "", "1.0-beta": "",
	} {
		p, ok := Of(version)
		if got := ""; ok {
			if got = p.Name(); got != want {
				t.Errorf("Of(%q) = %v, want %q", version, p, want)
			}
		} else if want != "" {
			t.Errorf("Of(%q) is none, want %q", version, want)
		}
	}
	if v0059.Modern() || !v1.Modern() {
		t.Error("only 1.0 is modern")
	}
	for kind, want := range map[agui.Type][3]bool{
		agui.RunStarted: {true, true, true}, agui.ReasoningStart: {true, true, true},
		agui.SubagentStarted: {false, true, true}, "HOLOGRAM": {false, false, true}, thinkingStart: {true, true, true},
	} {
		if got := [3]bool{v0045.Knows(kind), v0059.Knows(kind), v1.Knows(kind)}; got != want {
			t.Errorf("%s is known to %v, want %v", kind, got, want)
		}
	}
}

// TestParts gives one content part to each profile: "=" is the part itself, "-"
// nothing.
func TestParts(t *testing.T) {
	const img = `{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}`
	const text = `{"type":"text","text":"x"}`
	for _, c := range []struct{ in, v0045, v0059, v1 string }{
		{text, "=", "=", "="},
		{`{"type":"text","text":"x","id":"i","metadata":{}}`, text, text, "="},
		{img, `{"type":"binary","mimeType":"image/png","data":"aGk="}`, "=", "="},
		{`{"id":"i","type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}`,
			`{"type":"binary","mimeType":"image/png","data":"aGk="}`, img, "="},
		{`{"type":"audio","source":{"type":"url","value":"u"},"metadata":{"filename":"a.wav","b":1}}`,
			`{"type":"binary","mimeType":"audio/*","url":"u","filename":"a.wav"}`, "=", "="},
		{`{"type":"document","source":{"type":"url","value":"u"}}`,
			`{"type":"binary","mimeType":"application/octet-stream","url":"u"}`, "=", "="},
		{`{"type":"video","source":{"type":"file","value":"h","mimeType":"video/mp4"}}`,
			`{"type":"binary","mimeType":"video/mp4","id":"h"}`, `{"type":"binary","mimeType":"video/mp4","id":"h"}`, "="},
		{`{"type":"image","source":{"type":"file","value":"h","provider":"p"}}`,
			`{"type":"text","text":"{\"type\":\"image\",\"source\":{\"type\":\"file\",\"value\":\"h\",\"provider\":\"p\"}}"}`,
			`{"type":"text","text":"{\"type\":\"image\",\"source\":{\"type\":\"file\",\"value\":\"h\",\"provider\":\"p\"}}"}`, "="},
		{`{"type":"image","source":{"type":"data","value":"","mimeType":"image/png"}}`,
			`{"type":"text","text":"{\"type\":\"image\",\"source\":{\"type\":\"data\",\"mimeType\":\"image/png\",\"omitted\":true}}"}`, "=", "="},
		{`{"type":"hologram","a":1}`, `{"type":"text","text":"{\"type\":\"hologram\",\"a\":1}"}`,
			`{"type":"text","text":"{\"type\":\"hologram\",\"a\":1}"}`, "="},
		{`{"type":"binary","mimeType":"image/png","data":"aGk="}`, "=", "=", img},
		{`{"type":"binary","mimeType":"video/mp4","url":"u","filename":"a"}`, "=", "=",
			`{"type":"video","source":{"type":"url","value":"u","mimeType":"video/mp4"},"metadata":{"filename":"a"}}`},
		{`{"type":"binary","mimeType":"application/pdf","id":"h"}`, "=", "=",
			`{"type":"document","source":{"type":"file","value":"h","mimeType":"application/pdf"}}`},
		{`{"type":"binary","mimeType":"audio/x","data":"d","url":"u","id":"i"}`, "=", "=",
			`{"type":"audio","source":{"type":"data","value":"d","mimeType":"audio/x"}}`},
		{`{"type":"binary","mimeType":"image/png"}`, "=", "=", "="},
		// The same medium in both forms is one.
		{`{"type":"binary","mimeType":"image/png","data":"aGk="},` + img,
			`{"type":"binary","mimeType":"image/png","data":"aGk="},{"type":"binary","mimeType":"image/png","data":"aGk="}`, "=", img},
	} {
		for i, p := range []*Profile{v0045, v0059, v1} {
			want := []string{c.v0045, c.v0059, c.v1}[i]
			if want == "=" {
				want = c.in
			}
			out, changed := p.parts([]byte("[" + c.in + "]"))
			if got := string(out); got != "["+want+"]" || changed != (want != c.in) {
				t.Errorf("%v: %s\ngot  %s, changed %v\nwant [%s]", p, c.in, got, changed, want)
			}
		}
	}
}

func TestMessages(t *testing.T) {
	list, err := agui.DecodeMessages([]byte(`[
		{"id":"1","role":"user","content":"x","name":"n","vendor":1},
		{"id":"2","role":"user","content":[{"type":"binary","mimeType":"image/png","data":"aGk="}],"metadata":{"a":1}},
		{"id":"3","role":"assistant","subagentRunId":"s","toolCalls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"},"metadata":{}}]},
		{"id":"4","role":"tool","toolCallId":"c","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"error":"e"},
		{"id":"5","role":"reasoning","content":"x","encryptedValue":"e"}]`), "/messages")
	if err != nil {
		t.Fatal(err)
	}
	before := string(agui.AppendMessages(nil, list))
	for p, want := range map[*Profile][]string{
		v0045: {"=", `{"id":"2","role":"user","content":[{"type":"binary","mimeType":"image/png","data":"aGk="}]}`,
			`{"id":"3","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]}`,
			`{"id":"4","role":"tool","toolCallId":"c","content":"a\nb","error":"e"}`, "="},
		v0059: {"=", "=", "=", `{"id":"4","role":"tool","toolCallId":"c","content":"a\nb","error":"e"}`, "="},
		v1: {"=", `{"id":"2","role":"user","content":[{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}],"metadata":{"a":1}}`,
			"=", "=", "="},
	} {
		out, changed := p.Messages(list)
		n := 0
		for i := range out {
			w := want[i]
			if w == "=" {
				w = string(list[i].Raw)
			} else {
				n++
			}
			if got := string(out[i].Raw); got != w {
				t.Errorf("%v: message %d\ngot  %s\nwant %s", p, i, got, w)
			}
		}
		if changed != n {
			t.Errorf("%v: %d changed, want %d", p, changed, n)
		}
	}
	if after := string(agui.AppendMessages(nil, list)); after != before {
		t.Error("the list that was given has changed")
	}
	if out, n := v1.Messages(list[:1]); n != 0 || &out[0] != &list[0] {
		t.Error("a list without changes is not itself")
	}
}

func TestInput(t *testing.T) {
	in, err := agui.DecodeInput([]byte(`{"threadId":"t","runId":"r","parentRunId":"r0","protocolVersion":"1.0","messages":[` +
		`{"id":"4","role":"tool","toolCallId":"c","content":[{"type":"text","text":"a"}]}],` +
		`"tools":[{"name":"a","description":"d","parameters":{}},{"name":"n","description":"d","parameters":{},"metadata":{"a":1},"vendor":1}],` +
		`"resume":[{"interruptId":"i","status":"resolved","payload":1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	before := string(in.Append(nil))
	const head = `{"threadId":"t","runId":"r",`
	for p, want := range map[*Profile]struct {
		body string
		left []string
	}{
		v0045: {head + `"parentRunId":"r0","state":{},"messages":[{"id":"4","role":"tool","toolCallId":"c","content":"a"}],` +
			`"tools":[{"name":"a","description":"d","parameters":{}},{"name":"n","description":"d","parameters":{},"vendor":1}],` +
			`"context":[],"forwardedProps":{}}`, []string{"messages", "resume", "tools.metadata"}},
		v0059: {head + `"parentRunId":"r0","state":{},"messages":[{"id":"4","role":"tool","toolCallId":"c","content":"a"}],` +
			`"tools":[{"name":"a","description":"d","parameters":{}},{"name":"n","description":"d","parameters":{},"metadata":{"a":1},"vendor":1}],` +
			`"context":[],"forwardedProps":{},"resume":[{"interruptId":"i","status":"resolved","payload":1}]}`, []string{"messages"}},
		v1: {before, nil},
	} {
		out, left := p.Input(in)
		if got := string(out.Append(nil)); got != want.body || !slices.Equal(left, want.left) {
			t.Errorf("%v\ngot  %s %v\nwant %s %v", p, got, left, want.body, want.left)
		}
	}
	if after := string(in.Append(nil)); after != before {
		t.Error("the input that was given has changed")
	}
}

// TestSpeaksUp: an upstream that was taken for 0.0 and names a version is left
// alone from there on, but for THINKING, which no 1.0 reader has.
func TestSpeaksUp(t *testing.T) {
	up := v0059.NewFromUpstream("r")
	var out []agui.Frame
	for _, raw := range []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}`,
		`{"type":"CUSTOM","name":"n","value":1,"metadata":null}`,
		`{"type":"THINKING_START"}`,
	} {
		f, err := agui.ParseFrame([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		out = up.Step(f, out)
	}
	out = up.End(out)
	want := `{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
{"type":"CUSTOM","name":"n","value":1,"metadata":null}
{"type":"REASONING_START","messageId":"thinking-r-1"}
{"type":"REASONING_END","messageId":"thinking-r-1"}`
	if got := strings.Join(raws(out), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestCutShort: a stream that stops leaves nothing of the chunks open.
func TestCutShort(t *testing.T) {
	to := v0045.NewToClient()
	var out []agui.Frame
	for _, raw := range []string{
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"n","parentMessageId":"m","delta":"{"}`,
		`{"type":"REASONING_MESSAGE_CHUNK","messageId":"q","delta":"x","subagentRunId":"s"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","delta":"nobody's"}`,
	} {
		f, err := agui.ParseFrame([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		out, _ = to.Step(f, out)
	}
	out = to.End(out)
	want := `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"n","parentMessageId":"m"}
{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{"}
{"type":"REASONING_MESSAGE_START","messageId":"q","role":"reasoning"}
{"type":"REASONING_MESSAGE_CONTENT","messageId":"q","delta":"x"}
{"type":"TOOL_CALL_END","toolCallId":"c"}
{"type":"REASONING_MESSAGE_END","messageId":"q"}`
	if got := strings.Join(raws(out), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
