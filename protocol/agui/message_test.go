package agui

import (
	"testing"

	"github.com/aguigate/aguigate/protocol/fault"
)

func TestMadeMessages(t *testing.T) {
	for _, c := range []struct {
		m    Message
		want string
	}{
		{NewToolMessage("m1", "c1", []byte(`"ok"`), ""), `{"id":"m1","role":"tool","toolCallId":"c1","content":"ok"}`},
		{NewToolMessage("m1", "c1", nil, "late \"x\""), `{"id":"m1","role":"tool","toolCallId":"c1","content":"","error":"late \"x\""}`},
		{NewToolMessage("m1", "c1", []byte(`[{"type":"text","text":"a"}]`), ""), `{"id":"m1","role":"tool","toolCallId":"c1","content":[{"type":"text","text":"a"}]}`},
		{NewUserMessage("m1", []byte(`"hi"`)), `{"id":"m1","role":"user","content":"hi"}`},
		{NewAssistantMessage("m1", "", nil), `{"id":"m1","role":"assistant","content":""}`},
		{NewAssistantMessage("m1", "a", []ToolCall{{ID: "c1", Name: "f", Arguments: `{"x":1}`}, {Raw: []byte(`{"id":"c2","type":"function","function":{"name":"g","arguments":""},"x":1.0}`)}}),
			`{"id":"m1","role":"assistant","content":"a","toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":""},"x":1.0}]}`},
		{NewAssistantMessage("m1", "", []ToolCall{{ID: "c1", Name: "f"}}),
			`{"id":"m1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}`},
	} {
		if string(c.m.Raw) != c.want {
			t.Errorf("got %s\nwant %s", c.m.Raw, c.want)
		}
		ms, err := DecodeMessages(AppendMessages(nil, []Message{c.m}), "")
		if err != nil || len(ms) != 1 || ms[0].ID != c.m.ID || ms[0].Role != c.m.Role || len(ms[0].ToolCalls) != len(c.m.ToolCalls) {
			t.Errorf("%s came back as %+v %v", c.m.Raw, ms, err)
		}
	}
	if m := NewToolMessage("m1", "c1", nil, "e"); m.ID != "m1" || m.Role != RoleTool || m.ToolCallID != "c1" || m.Error != "e" || !m.HasError || string(m.Content) != `""` {
		t.Errorf("fields %+v", m)
	}
}

func TestMessageSurgery(t *testing.T) {
	ms, err := DecodeMessages([]byte(`[ {"content" : "1" , "id":"m1","role":"tool", "toolCallId":"c1" ,"x":1.0} ]`), "")
	if err != nil {
		t.Fatal(err)
	}
	m := ms[0].With("toolCallId", []byte(`"fc-a1"`)).With("error", []byte(`"e"`))
	if want := `{"content" : "1" , "id":"m1","role":"tool", "toolCallId":"fc-a1" ,"x":1.0,"error":"e"}`; string(m.Raw) != want ||
		m.ToolCallID != "fc-a1" || m.Error != "e" || !m.HasError || ms[0].ToolCallID != "c1" {
		t.Errorf("%s %+v", m.Raw, m)
	}
	if m = m.Without("error"); m.HasError || m.Error != "" {
		t.Errorf("%+v", m)
	}
}

func TestDecodeMessagesPlace(t *testing.T) {
	for _, c := range []struct{ raw, param string }{
		{`[{"id":"m","role":"user","content":7}]`, "/body/messages/0/content"},
		{`{}`, "/body/messages"},
		{`[`, "/body/messages"},
	} {
		_, err := DecodeMessages([]byte(c.raw), "/body/messages")
		if f := fault.From(err); err == nil || f.Param != c.param || f.Code != fault.InvalidRequest {
			t.Errorf("%s: %v, want invalid_request at %s", c.raw, err, c.param)
		}
	}
}

func TestReadMessagesIsLenient(t *testing.T) {
	ms, err := ReadMessages([]byte(`[{"role":"later"},{"id":"","role":"user","content":[{"type":"later"}],"name":null},{"id":"m2","role":"assistant","content":"x"}]`))
	if err != nil || len(ms) != 2 || string(ms[0].Raw) != `{"id":"","role":"user","content":[{"type":"later"}]}` || ms[1].ID != "m2" {
		t.Errorf("%+v %v", ms, err)
	}
	if _, err := ReadMessages([]byte(`[{"role":"user"}]`)); fault.CodeOf(err) != fault.UpstreamProtocolError {
		t.Errorf("%v, want upstream_protocol_error", err)
	}
}

func TestParts(t *testing.T) {
	raw := `[{"type":"text","text":"see","id":"p1"}, {"type":"image","source":{"type":"data","value":"iVB","mimeType":"image/png"},"metadata":[1]},` +
		`{"type":"document","source":{"type":"file","value":"f1","provider":"openai"}},{"type":"audio","source":{"type":"url","value":"u","mimeType":null}},` +
		`{"type":"binary","mimeType":"video/mp4","url":"u","id":"b1","filename":"a.mp4"},{"type":"binary","mimeType":"a/b","id":"b2"},{"type":"text","text":"this"}]`
	parts, err := DecodeParts([]byte(raw), "")
	if err != nil || len(parts) != 7 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	want := []Part{
		{Kind: PartText, ID: "p1", Text: "see"},
		{Kind: PartImage, Source: Source{SourceData, "iVB", "image/png", ""}},
		{Kind: PartDocument, Source: Source{SourceFile, "f1", "", "openai"}},
		{Kind: PartAudio, Source: Source{SourceURL, "u", "", ""}},
		{Kind: PartBinary, ID: "b1", Filename: "a.mp4", Source: Source{SourceURL, "u", "video/mp4", ""}},
		{Kind: PartBinary, ID: "b2", Source: Source{SourceFile, "b2", "a/b", ""}},
		{Kind: PartText, Text: "this"},
	}
	for i, p := range parts {
		if w := want[i]; p.Kind != w.Kind || p.ID != w.ID || p.Text != w.Text || p.Source != w.Source || p.Filename != w.Filename {
			t.Errorf("part %d: %+v, want %+v", i, p, w)
		}
	}
	if string(parts[1].Metadata) != "[1]" || string(parts[3].Raw) != `{"type":"audio","source":{"type":"url","value":"u"}}` {
		t.Errorf("metadata %s, raw %s", parts[1].Metadata, parts[3].Raw)
	}
	if got := TextOf([]byte(raw)); got != "see\nthis" || !HasMedia([]byte(raw)) {
		t.Errorf("text %q", got)
	}
	for _, c := range []struct{ raw, want string }{{`"a\u00e9\n"`, "aé\n"}, {`[]`, ""}, {``, ""}, {`null`, ""}, {`{"a":1}`, ""}} {
		if got := TextOf([]byte(c.raw)); got != c.want || HasMedia([]byte(c.raw)) {
			t.Errorf("TextOf(%s) = %q, want %q", c.raw, got, c.want)
		}
	}
	one, err := DecodeParts([]byte(`"hi"`), "")
	if err != nil || len(one) != 1 || one[0].Text != "hi" || string(one[0].Raw) != `{"type":"text","text":"hi"}` {
		t.Errorf("%+v %v", one, err)
	}
	if _, err := DecodeParts([]byte(`[{"type":"text"}]`), "/content"); fault.From(err).Param != "/content/0/text" {
		t.Errorf("%v", err)
	}
}

func TestPartAppend(t *testing.T) {
	for _, c := range []struct {
		p    Part
		want string
	}{
		{Part{Kind: PartText, Text: "a"}, `{"type":"text","text":"a"}`},
		{Part{Kind: PartImage, ID: "p", Source: Source{SourceData, "x", "image/png", ""}, Metadata: []byte(`{"filename":"a"}`)},
			`{"type":"image","id":"p","source":{"type":"data","value":"x","mimeType":"image/png"},"metadata":{"filename":"a"}}`},
		{Part{Kind: PartText, Raw: []byte(`{"type":"text","text":"b","x":1.0}`)}, `{"type":"text","text":"b","x":1.0}`},
	} {
		if got := string(c.p.Append(nil)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
