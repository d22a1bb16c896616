package agui

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/fault"
)

const fullInput = `{
 "runId":"r1", "threadId":"th1", "protocolVersion":"1.0", "parentRunId":"r0", "x-unknown":{"a":1,"a":2},
 "state":{"n":1.0,"n":1152921504606846976}, "forwardedProps":{"Thread_Id":"mine"},
 "messages":[
  {"id":"m1","role":"user","content":[{"type":"text","text":"see"},{"type":"binary","mimeType":"image/png","data":"iVB"}],"extra":[1.0]},
  {"id":"m2","role":"assistant","content":null,"toolCalls":[{"id":"c1","type":"function","function":{"name":"pick_date","arguments":"{\"a\":1,\"a\":2}"}}]},
  {"id":"m3","role":"tool","toolCallId":"c1","content":"","error":"late"}],
 "tools":[{"name":"pick_date","description":"d","parameters":{"type":"object","type":"object"},"metadata":null}],
 "context":[{"description":"d","value":"v"}],
 "resume":[{"interruptId":"i1","status":"resolved","payload":{"ok":true,"ok":false},"metadata":null,"x":1},{"interruptId":"i2","status":"cancelled"}]
}`

const fullInputOut = `{"threadId":"th1","runId":"r1","protocolVersion":"1.0","parentRunId":"r0","state":{"n":1.0,"n":1152921504606846976},"messages":[` +
	`{"id":"m1","role":"user","content":[{"type":"text","text":"see"},{"type":"binary","mimeType":"image/png","data":"iVB"}],"extra":[1.0]},` +
	`{"id":"m2","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"pick_date","arguments":"{\"a\":1,\"a\":2}"}}]},` +
	`{"id":"m3","role":"tool","toolCallId":"c1","content":"","error":"late"}],` +
	`"tools":[{"name":"pick_date","description":"d","parameters":{"type":"object","type":"object"}}],"context":[{"description":"d","value":"v"}],` +
	`"forwardedProps":{"Thread_Id":"mine"},"resume":[{"interruptId":"i1","status":"resolved","payload":{"ok":true,"ok":false}},{"interruptId":"i2","status":"cancelled"}]}`

func TestDecodeInput(t *testing.T) {
	in, err := DecodeInput([]byte(fullInput))
	if err != nil {
		t.Fatal(err)
	}
	if in.ThreadID != "th1" || in.RunID != "r1" || in.ProtocolVersion != "1.0" || in.ParentRunID != "r0" || !in.HasTools {
		t.Errorf("envelope %+v", in)
	}
	if len(in.Messages) != 3 || len(in.Tools) != 1 || len(in.Resume) != 2 {
		t.Fatalf("%d messages, %d tools, %d resume entries", len(in.Messages), len(in.Tools), len(in.Resume))
	}
	if m := in.Messages[1]; m.Role != RoleAssistant || m.Content != nil || len(m.ToolCalls) != 1 ||
		m.ToolCalls[0].ID != "c1" || m.ToolCalls[0].Name != "pick_date" || m.ToolCalls[0].Arguments != `{"a":1,"a":2}` {
		t.Errorf("assistant message %+v", m)
	}
	if m := in.Messages[2]; m.ID != "m3" || m.ToolCallID != "c1" || string(m.Content) != `""` || m.Error != "late" || !m.HasError {
		t.Errorf("tool message %+v", m)
	}
	if tool := in.Tools[0]; tool.Name != "pick_date" || tool.Description != "d" || string(tool.Parameters) != `{"type":"object","type":"object"}` || tool.Metadata != nil {
		t.Errorf("tool %+v", tool)
	}
	if r := in.Resume[0]; r.InterruptID != "i1" || r.Status != "resolved" || string(r.Payload) != `{"ok":true,"ok":false}` || r.Metadata != nil {
		t.Errorf("resume %+v", r)
	}
	if got := string(in.Append(nil)); got != fullInputOut {
		t.Errorf("Append\n got %s\nwant %s", got, fullInputOut)
	}
}

func TestDecodeInputLeast(t *testing.T) {
	for _, body := range []string{
		`{"threadId":"t","runId":"r","messages":[]}`,
		`{"threadId":"t","runId":"r","messages":[],"state":null,"tools":null,"context":null,"forwardedProps":null,"resume":null,"parentRunId":null,"protocolVersion":null}`,
		"\n{\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[],\"parentRunId\":\"\"}\r\n",
	} {
		in, err := DecodeInput([]byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if in.HasTools || in.State != nil || in.Context != nil || in.ForwardedProps != nil || in.Resume != nil {
			t.Errorf("%s: %+v", body, in)
		}
		want := `x{"threadId":"t","runId":"r","state":{},"messages":[],"tools":[],"context":[],"forwardedProps":{}}`
		if got := string(in.Append([]byte("x"))); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	in, err := DecodeInput([]byte(`{"threadId":"t","runId":"r","messages":[],"tools":[],"state":0}`))
	if err != nil || !in.HasTools || string(in.State) != "0" {
		t.Errorf("%+v %v: an empty list of tools is not an absent one", in, err)
	}
}

func TestDecodeInputRefuses(t *testing.T) {
	with := func(rest string) string { return `{"threadId":"t","runId":"r",` + rest + `}` }
	messages := func(list string) string { return with(`"messages":[` + list + `]`) }
	plus := func(rest string) string { return with(`"messages":[],` + rest) }
	long := strings.Repeat("ä", 129)
	for _, c := range []struct{ body, param, says string }{
		{``, "", "not valid JSON"},
		{`[]`, "", "must be a JSON object"},
		{`{"threadId":"t"`, "", "not valid JSON"},
		{strings.Repeat("[", 10_000), "", "128 levels"},
		{`{"runId":"r","messages":[]}`, "/threadId", "1 to 256 bytes"},
		{`{"threadId":"","runId":"r","messages":[]}`, "/threadId", "1 to 256 bytes"},
		{`{"threadId":"` + long + `","runId":"r","messages":[]}`, "/threadId", "1 to 256 bytes"},
		{`{"threadId":"a\u0000","runId":"r","messages":[]}`, "/threadId", "control"},
		{`{"threadId":"a\u0085","runId":"r","messages":[]}`, "/threadId", "control"},
		{`{"threadId":"\ud800","runId":"r","messages":[]}`, "/threadId", "UTF-8"},
		{`{"threadId":7,"runId":"r","messages":[]}`, "/threadId", "not a number"},
		{`{"threadId":null,"runId":"r","messages":[]}`, "/threadId", "not null"},
		{`{"threadId":"t","messages":[]}`, "/runId", "is missing"},
		{`{"threadId":"t","runId":"r"}`, "/messages", "is missing"},
		{with(`"messages":{}`), "/messages", "an array of messages, not an object"},
		{with(`"messages":null`), "/messages", "not null"},
		{plus(`"threadId":"t"`), "/threadId", "twice"},
		{plus(`"thread\u0049d":"t"`), "/threadId", "twice"},
		{plus(`"Thread_Id":"u"`), "/Thread_Id", "another spelling of threadId"},
		{plus(`"forwarded_props":{}`), "/forwarded_props", "forwardedProps"},
		{plus(`"unknown":1,"unknown":2`), "/unknown", "twice"},
		{plus(`"protocolVersion":1`), "/protocolVersion", "a string"},
		{plus(`"parentRunId":"a\nb"`), "/parentRunId", "control"},
		{plus(`"tools":{}`), "/tools", "an array of tools"},
		{plus(`"tools":[{"name":"a"}]`), "/tools/0/description", "is missing"},
		{plus(`"tools":[{"name":"a","description":"d","Parameters":{}}]`), "/tools/0/Parameters", "another spelling"},
		{plus(`"tools":[{"name":"a","description":"d","name":"b"}]`), "/tools/0/name", "twice"},
		{plus(`"tools":["a"]`), "/tools/0", "an object, not a string"},
		{plus(`"tools":[{"name":"a","description":"d","metadata":[]}]`), "/tools/0/metadata", "an object"},
		{plus(`"context":[{"description":"d"}]`), "/context/0/value", "is missing"},
		{plus(`"context":[{"description":"d","value":{}}]`), "/context/0/value", "a string, not an object"},
		{plus(`"context":[{"description":"d","value":"","Value":""}]`), "/context/0/Value", "another spelling"},
		{messages(`1`), "/messages/0", "an object with a role"},
		{messages(`{"id":"m","content":""}`), "/messages/0/role", `"developer", "system"`},
		{messages(`{"id":"m","role":"bot","content":""}`), "/messages/0/role", `must be one of "developer"`},
		{messages(`{"id":"m","role":"user","role":"tool","content":""}`), "/messages/0/role", "twice"},
		{messages(`{"id":"m","role":"user","content":"","tool_calls":[]}`), "/messages/0/tool_calls", "toolCalls"},
		{messages(`{"role":"user","content":""}`), "/messages/0/id", "is missing"},
		{messages(`{"id":"","role":"user","content":""}`), "/messages/0/id", "not empty"},
		{messages(`{"id":"m","role":"user"}`), "/messages/0/content", "a string or an array of parts"},
		{messages(`{"id":"m","role":"user","content":null}`), "/messages/0/content", "not null"},
		{messages(`{"id":"m","role":"system","content":[]}`), "/messages/0/content", "a string, not an array"},
		{messages(`{"id":"m","role":"user","content":"","metadata":1}`), "/messages/0/metadata", "an object"},
		{messages(`{"id":"m1","role":"user","content":""},{"id":"m2","role":"assistant"},{"id":"m3","role":"tool","content":"ok"}`), "/messages/2/toolCallId", "is missing"},
		{messages(`{"id":"m","role":"tool","content":"ok","toolCallId":null}`), "/messages/0/toolCallId", "not null"},
		{messages(`{"id":"m","role":"tool","content":"ok","toolCallId":""}`), "/messages/0/toolCallId", "not empty"},
		{messages(`{"id":"m","role":"tool","content":"ok","tool_call_id":"c"}`), "/messages/0/tool_call_id", "toolCallId"},
		{messages(`{"id":"m","role":"tool","content":"ok","toolCallId":"c","error":{}}`), "/messages/0/error", "a string"},
		{messages(`{"id":"m","role":"activity","activityType":"a","content":""}`), "/messages/0/content", "an object"},
		{messages(`{"id":"m","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":{}}}]}`), "/messages/0/toolCalls/0/function/arguments", "a string, not an object"},
		{messages(`{"id":"m","role":"assistant","toolCalls":[{"id":"c","type":"tool","function":{"name":"f","arguments":""}}]}`), "/messages/0/toolCalls/0/type", `"function"`},
		{messages(`{"id":"m","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"","Name":"g"}}]}`), "/messages/0/toolCalls/0/function/Name", "another spelling"},
		{messages(`{"id":"m","role":"assistant","toolCalls":[{"id":"c","id":"d","type":"function","function":{"name":"f","arguments":""}}]}`), "/messages/0/toolCalls/0/id", "twice"},
		{messages(`{"id":"m","role":"user","content":[{"type":"text","text":"a","Text":"b"}]}`), "/messages/0/content/0/Text", "another spelling"},
		{messages(`{"id":"m","role":"user","content":[{"type":"video"}]}`), "/messages/0/content/0/source", "is missing"},
		{messages(`{"id":"m","role":"user","content":[{"type":"hologram"}]}`), "/messages/0/content/0/type", `"text", "image"`},
		{messages(`{"id":"m","role":"user","content":[{"text":"a"}]}`), "/messages/0/content/0/type", "is missing"},
		{messages(`{"id":"m","role":"user","content":[{"type":"image","source":{"type":"s3","value":""}}]}`), "/messages/0/content/0/source/type", `"data", "url" or "file"`},
		{messages(`{"id":"m","role":"user","content":[{"type":"image","source":{"type":"url","value":"u","value":"v"}}]}`), "/messages/0/content/0/source/value", "twice"},
		{messages(`{"id":"m","role":"user","content":[{"type":"image","source":{"type":"url","value":"u","mime_type":"v"}}]}`), "/messages/0/content/0/source/mime_type", "mimeType"},
		{messages(`{"id":"m","role":"user","content":[{"type":"binary","mimeType":"a/b","id":""}]}`), "/messages/0/content/0", "id, url and data"},
	} {
		_, err := DecodeInput([]byte(c.body))
		f := fault.From(err)
		if err == nil || f.Code != fault.InvalidRequest || f.Param != c.param || !strings.Contains(f.Message, c.says) {
			t.Errorf("%.120s\n got %v\nwant invalid_request at %q saying %q", c.body, err, c.param, c.says)
		}
	}
}

func TestDecodeResumeRefuses(t *testing.T) {
	for _, c := range []struct{ resume, param string }{
		{`{}`, "/resume"},
		{`[1]`, "/resume/0"},
		{`[{"interruptId":"i","status":"done"}]`, "/resume/0/status"},
		{`[{"interruptId":"i"}]`, "/resume/0/status"},
		{`[{"interruptId":"i","status":"resolved"},{"status":"resolved"}]`, "/resume/1/interruptId"},
		{`[{"interruptId":"i","status":"resolved","interrupt_id":"j"}]`, "/resume/0/interrupt_id"},
		{`[{"interruptId":"i","status":"resolved","status":"cancelled"}]`, "/resume/0/status"},
	} {
		_, err := DecodeInput([]byte(`{"threadId":"t","runId":"r","messages":[],"resume":` + c.resume + `}`))
		if f := fault.From(err); err == nil || f.Code != fault.InvalidResume || f.Param != c.param {
			t.Errorf("resume %s: got %v, want invalid_resume at %s", c.resume, err, c.param)
		}
	}
}

func TestValidID(t *testing.T) {
	for _, c := range []struct {
		id   string
		want bool
	}{
		{"t", true}, {strings.Repeat("x", 256), true}, {"a/b ä😀%", true},
		{"", false}, {strings.Repeat("x", 257), false}, {"\xff", false}, {"a\x7f", false}, {"a\r\n", false},
	} {
		if got := ValidID(c.id); got != c.want {
			t.Errorf("ValidID(%.20q) = %v", c.id, got)
		}
	}
}

func TestLoneSurrogate(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want bool
	}{
		{`"\ud83d\ude00"`, false}, {`"\uD83D\uDE00x"`, false}, {`"\\ud800"`, false}, {`"\u00e9\ud7ff\ue000"`, false}, {`"x"`, false},
		{`"\ud800"`, true}, {`"\udc00"`, true}, {`"\uDFFF"`, true}, {`"\uD800\uD800"`, true}, {`"\udbff\u0041"`, true},
		{`"\ud83d\ude00\ud83d"`, true}, {`"\\\uDAAA"`, true}, {`"\ud800abcdefgh"`, true},
	} {
		if got := loneSurrogate([]byte(c.raw)); got != c.want {
			t.Errorf("loneSurrogate(%s) = %v", c.raw, got)
		}
	}
}

// FuzzDecodeInput: no panic, and what was taken is written in a form that is
// taken again and written the same.
func FuzzDecodeInput(f *testing.F) {
	f.Add([]byte(fullInput))
	f.Add([]byte(`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"activity","activityType":"a","content":{"x":null}}],"tools":[],"context":[],"state":null}`))
	f.Add([]byte(`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":[{"type":"image","source":{"type":"url","value":"u","mimeType":null},"metadata":null}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := DecodeInput(body)
		if err != nil {
			if c := fault.CodeOf(err); c != fault.InvalidRequest && c != fault.InvalidResume {
				t.Fatalf("error %v", err)
			}
			return
		}
		once := in.Append(nil)
		again, err := DecodeInput(once)
		if err != nil {
			t.Fatalf("%s\nbecame %s: %v", body, once, err)
		}
		if twice := again.Append(nil); !bytes.Equal(once, twice) {
			t.Fatalf("%s\nthen %s", once, twice)
		}
		if again.ThreadID != in.ThreadID || again.RunID != in.RunID || len(again.Messages) != len(in.Messages) {
			t.Fatalf("%+v became %+v", in, again)
		}
		for _, m := range in.Messages {
			_, _ = TextOf(m.Content), HasMedia(m.Content)
			if again := m.With("id", []byte(`"other"`)); again.ID != "other" || again.Role != m.Role {
				t.Fatalf("%s with another id: %+v", m.Raw, again)
			}
		}
	})
}
