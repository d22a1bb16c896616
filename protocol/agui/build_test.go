package agui

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/fault"
)

var update = flag.Bool("update", false, "write testdata/builders.jsonl anew")

// built is every builder once with all it can hold, and once with the least.
func built() []Frame {
	odd := "a\"\\\n\u2028é😀\x01"
	return []Frame{
		NewRunStarted("th1", "r1", "r0", ProtocolVersion), NewRunStarted(odd, "r1", "", ""),
		NewRunFinished("th1", "r1", nil),
		NewRunFinished("th1", "r1", &Outcome{Kind: OutcomeSuccess}),
		NewRunFinished("th1", "r1", &Outcome{Kind: OutcomeSuccess, PendingToolCallIDs: []string{"c1", odd}}),
		NewRunFinished("th1", "r1", &Outcome{Kind: OutcomeCancelled}),
		NewRunFinished("th1", "r1", &Outcome{Kind: OutcomeInterrupt, Interrupts: []Interrupt{
			{ID: "i1", Reason: "tool_approval", Message: "m", ToolCallID: "c1", ResponseSchema: []byte(`{"type":"boolean"}`),
				Metadata: []byte(`{"k":null}`), ExpiresAt: "2026-01-01T00:00:00.000Z", SubagentRunID: "s1"},
			{ID: "i2", Reason: "r"}}}),
		NewRunError("no", "upstream_closed", []byte(`{"request_id":"q"}`)), NewRunError("", "", nil),
		NewTextStart("m1"), NewTextContent("m1", odd), NewTextEnd("m1"),
		NewToolCallStart("c1", "f", "m1"), NewToolCallStart("c1", "f", ""), NewToolCallArgs("c1", `{"a":`), NewToolCallEnd("c1"),
		NewToolCallResult("m2", "c1", odd), NewToolCallResultRaw("m2", "c1", []byte(`[{"type":"text","text":"x"}]`)),
		NewReasoningStart("m3"), NewReasoningMessageStart("m3"), NewReasoningMessageContent("m3", "hm"),
		NewReasoningMessageEnd("m3"), NewReasoningEnd("m3"),
		NewStepStarted("s"), NewStepFinished("s"),
		NewStateSnapshot([]byte(`{"n":1.0}`)), NewStateSnapshot(nil), NewStateDelta([]byte(`[{"op":"remove","path":"/a"}]`)), NewStateDelta(nil),
		NewCustom("aguigate.pending", []byte(`{"toolCallIds":["c1"]}`)), NewCustom("n", nil),
		NewMessagesSnapshot(AppendMessages(nil, []Message{NewUserMessage("m1", []byte(`"hi"`)),
			NewAssistantMessage("m2", "", []ToolCall{{ID: "c1", Name: "f", Arguments: "{}"}}), NewToolMessage("gw-c1", "c1", nil, "not answered")})),
		NewMessagesSnapshot(nil),
	}
}

// TestBuilders holds the builders to testdata/builders.jsonl, which is readable
// by anybody's schema.
func TestBuilders(t *testing.T) {
	const golden = "testdata/builders.jsonl"
	var out strings.Builder
	for _, f := range built() {
		g, err := ParseFrame(f.Raw)
		if err != nil || g.Type != f.Type {
			t.Errorf("%s is of type %q: %v", f.Raw, f.Type, err)
		}
		if err := f.Validate(); err != nil {
			t.Errorf("%s: %v", f.Raw, err)
		}
		out.Write(append(f.Raw, '\n'))
	}
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || out.String() != string(want) {
		t.Errorf("%v; the builders wrote\n%s\nwant\n%s", err, out.String(), want)
	}
}

func TestParseOutcome(t *testing.T) {
	for _, raw := range []string{
		`{"type":"success"}`, `{"type":"success","pendingToolCallIds":["c1","c2"]}`, `{"type":"cancelled"}`,
		`{"type":"interrupt","interrupts":[{"id":"i","reason":"r","x":1.0,"responseSchema":{"a":1,"a":2}}]}`,
	} {
		o, err := ParseOutcome([]byte(" " + raw + "\n"))
		if err != nil || string(o.Append(nil)) != raw {
			t.Errorf("%s came back as %+v %v", raw, o, err)
		}
	}
	o, err := ParseOutcome([]byte(`{"type":"interrupt","interrupts":[{"id":"i","reason":"r","message":"m","toolCallId":"c","expiresAt":"e","subagentRunId":"s","metadata":{"a":1},"responseSchema":{}}]}`))
	if err != nil || len(o.Interrupts) != 1 {
		t.Fatal(o, err)
	}
	if i := o.Interrupts[0]; i.ID != "i" || i.Reason != "r" || i.Message != "m" || i.ToolCallID != "c" || i.ExpiresAt != "e" ||
		i.SubagentRunID != "s" || string(i.Metadata) != `{"a":1}` || string(i.ResponseSchema) != `{}` {
		t.Errorf("%+v", i)
	}
	for _, raw := range []string{``, `null`, `{"type":"later"}`} {
		if o, err := ParseOutcome([]byte(raw)); o != nil || err != nil {
			t.Errorf("%q: %+v %v, want none", raw, o, err)
		}
	}
	for _, c := range []struct{ raw, param string }{
		{`"success"`, "/outcome"},
		{`{`, ""},
		{`{"type":"success","pendingToolCallIds":[1]}`, "/outcome/pendingToolCallIds/0"},
		{`{"type":"success","type":"cancelled"}`, "/outcome/type"},
		{`{"type":"interrupt"}`, "/outcome/interrupts"},
		{`{"type":"interrupt","interrupts":[{"id":"i"}]}`, "/outcome/interrupts/0/reason"},
	} {
		_, err := ParseOutcome([]byte(c.raw))
		if f := fault.From(err); err == nil || f.Code != fault.UpstreamProtocolError || f.Param != c.param {
			t.Errorf("%s: %v, want upstream_protocol_error at %q", c.raw, err, c.param)
		}
	}
}

// FuzzOutcome: what is parsed is written in a form that says the same.
func FuzzOutcome(f *testing.F) {
	f.Add([]byte(`{"type":"success","pendingToolCallIds":["c1"]}`))
	f.Add([]byte(`{"type":"interrupt","interrupts":[{"id":"i","reason":"r","metadata":{"a":null}}]}`))
	f.Add([]byte(`{"type":"cancelled","x":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := ParseOutcome(raw)
		if err != nil || o == nil {
			return
		}
		once := o.Append(nil)
		again, err := ParseOutcome(once)
		if err != nil || again == nil || string(again.Append(nil)) != string(once) || again.Kind != o.Kind {
			t.Fatalf("%s became %s, then %+v %v", raw, once, again, err)
		}
		if err := NewRunFinished("t", "r", o).Validate(); err != nil {
			t.Fatalf("%s: %v", once, err)
		}
	})
}

func TestCapabilities(t *testing.T) {
	for _, c := range []struct {
		c    Capabilities
		want string
	}{
		{Capabilities{}, `{}`},
		{Capabilities{Identity: &IdentityCapabilities{}}, `{"identity":{}}`},
		{Capabilities{
			Identity: &IdentityCapabilities{Name: "shop", Description: "d", Type: "t", Version: "1", Provider: "p", DocumentationURL: "u"}, Transport: &TransportCapabilities{Streaming: true},
			Tools:          &ToolsCapabilities{Supported: true, ClientProvided: true, ParallelCalls: true, Items: []ToolDef{{Name: "a", Description: "d", Parameters: []byte(`{"type":"object"}`)}}},
			HumanInTheLoop: &HumanInTheLoopCapabilities{Supported: true, Approvals: true, Interrupts: true}, Custom: []byte(`{"aguigate":{"x":1}}`)},
			`{"identity":{"name":"shop","type":"t","description":"d","version":"1","provider":"p","documentationUrl":"u"},` +
				`"transport":{"streaming":true,"websocket":false,"httpBinary":false,"pushNotifications":false,"resumable":false},` +
				`"tools":{"supported":true,"items":[{"name":"a","description":"d","parameters":{"type":"object"}}],"parallelCalls":true,"clientProvided":true},` +
				`"humanInTheLoop":{"supported":true,"approvals":true,"interventions":false,"feedback":false,"interrupts":true,"approveWithEdits":false},` +
				`"custom":{"aguigate":{"x":1}}}`},
	} {
		if got := string(c.c.Append(nil)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
