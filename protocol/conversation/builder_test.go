package conversation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aguigate/aguigate/protocol/agui"
)

func raw(t testing.TB, text string) agui.Frame {
	t.Helper()
	f, err := agui.ParseFrame([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func texts(ms []agui.Message) string {
	var out []string
	for _, m := range ms {
		one := m.ID + "=" + agui.TextOf(m.Content)
		for _, c := range m.ToolCalls {
			one += "+" + c.ID + c.Arguments
		}
		out = append(out, one)
	}
	return strings.Join(out, " ")
}

// TestLimit: what is beyond is not kept, and nothing behind it.
func TestLimit(t *testing.T) {
	b := NewBuilder(Base{}, 300)
	b.Apply(agui.NewTextStart("m"))
	b.Apply(agui.NewTextContent("m", "abc"))
	if b.Truncated() {
		t.Error("truncated too early")
	}
	b.Apply(agui.NewTextContent("m", strings.Repeat("x", 300)))
	b.Apply(agui.NewTextContent("m", "y"))
	b.Apply(agui.NewToolCallStart("c", "f", "m"))
	b.Apply(agui.NewToolCallResult("r", "c", "z"))
	if got := texts(b.Messages()); got != "m=abc" || !b.Truncated() {
		t.Errorf("got %q, truncated %v", got, b.Truncated())
	}
}

// TestLimitHolds: however many events come, what is kept stays in the bounds.
func TestLimitHolds(t *testing.T) {
	const limit = 10_000
	for name, event := range map[string]string{
		"messages":   `{"type":"TEXT_MESSAGE_START","messageId":"m%d"}`,
		"calls":      `{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"f","parentMessageId":"m"}`,
		"results":    `{"type":"TOOL_CALL_RESULT","messageId":"r%d","toolCallId":"c","content":"x"}`,
		"chunks":     `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m%d"}`,
		"subagents":  `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m%[1]d","subagentRunId":"s%[1]d"}`,
		"steps":      `{"type":"STEP_STARTED","stepName":"s%d"}`,
		"spans":      `{"type":"REASONING_START","messageId":"s%d"}`,
		"metadata":   `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"","metadata":{"k%d":1}}`,
		"activities": `{"type":"ACTIVITY_SNAPSHOT","messageId":"a%d","activityType":"t","content":{}}`,
		"snapshots":  `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"user","content":"%01000d"}]}`,
		"patches":    `{"type":"ACTIVITY_DELTA","messageId":"p","activityType":"t","patch":[{"op":"add","path":"/k%d","value":1}]}`,
		"state":      `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/k%d","value":1}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder(Base{}, limit)
			b.Apply(agui.NewTextStart("m"))
			b.Apply(raw(t, `{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"t","content":{}}`))
			for i := range 2000 {
				b.Apply(raw(t, fmt.Sprintf(event, i)))
			}
			kept := len(agui.AppendMessages(nil, b.Messages())) + b.state.size + len(b.open) + len(b.steps)
			if kept > 2*limit || b.used > limit || b.used < 0 {
				t.Errorf("%d bytes kept, %d counted", kept, b.used)
			}
			if full := name != "snapshots" && name != "state"; b.Truncated() != full {
				t.Errorf("truncated %v", b.Truncated())
			}
		})
	}
}

// TestMetadataIsCountedOnce: a value that is replaced again and again costs what
// it holds.
func TestMetadataIsCountedOnce(t *testing.T) {
	b := NewBuilder(Base{}, 1000)
	b.Apply(agui.NewTextStart("m"))
	for i := range 1000 {
		b.Apply(raw(t, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"","metadata":{"usage":%d}}`, i)))
	}
	if b.Truncated() {
		t.Error("truncated")
	}
}

func TestStateLost(t *testing.T) {
	b := NewBuilder(Base{}, 200)
	b.Apply(agui.NewStateDelta([]byte(`[]`)))
	if s, d := b.State(); s != nil || len(d) != 1 || b.StateLost() {
		t.Errorf("got %s, %s, lost %v", s, d, b.StateLost())
	}
	b.Apply(agui.NewStateSnapshot([]byte(`{"n":1.0}`)))
	b.Apply(agui.NewStateDelta([]byte(`[{"op":"add","path":"/a","value":1}]`)))
	if s, d := b.State(); string(s) != `{"n":1.0}` || len(d) != 1 {
		t.Errorf("got %s, %s", s, d)
	}
	b.Apply(agui.NewStateSnapshot([]byte(`"` + strings.Repeat("x", 200) + `"`)))
	b.Apply(agui.NewStateDelta([]byte(`[]`)))
	if s, d := b.State(); s != nil || d != nil || !b.StateLost() || b.Truncated() {
		t.Errorf("got %s, %s, lost %v", s, d, b.StateLost())
	}
	b.Apply(agui.NewStateSnapshot([]byte(`2`)))
	if s, _ := b.State(); string(s) != "2" || b.StateLost() {
		t.Errorf("got %s, lost %v", s, b.StateLost())
	}
}

// TestPoorBase: a base that can only look up.
func TestPoorBase(t *testing.T) {
	base := BaseOf(someBase)
	base.Each = nil
	b := NewBuilder(base, plenty)
	b.Apply(agui.NewTextStart("m"))
	b.Apply(agui.NewTextContent("m", "one"))
	b.Apply(agui.NewToolCallResult("late", "x", "res")) // of a call of the base
	b.Apply(agui.NewTextContent("m", " two"))
	b.Apply(agui.NewToolCallArgs("x", "}"))
	if got := texts(b.Messages()); got != "a=see+x{} late=res m=one two" {
		t.Errorf("got %q", got)
	}
	b.Apply(raw(t, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"new"},{"id":"v","role":"user","content":"hi"}]}`))
	b.Apply(agui.NewTextStart("a")) // dropped, so made anew
	if got := texts(b.Messages()); got != "u=new v=hi a=" {
		t.Errorf("got %q", got)
	}
}

// TestUnusableIDs: no request could name such a message, so it is not kept.
func TestUnusableIDs(t *testing.T) {
	b := NewBuilder(Base{}, plenty)
	for _, f := range []string{
		`{"type":"TEXT_MESSAGE_START","messageId":""}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"","delta":"x"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"\ud800"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"\udc00\ud800"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"","toolCallName":"f"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"\ud800x"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"\ud800","toolCallId":"c","content":"x"}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"","activityType":"t","content":{}}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"\ud83d\ude00"}`,
	} {
		b.Apply(raw(t, f))
	}
	if got := texts(b.Messages()); got != "\U0001F600=" {
		t.Errorf("got %q", got)
	}
}

// TestSpelling: a delta is found however its event is written, and the shape of
// the event before does not mislead.
func TestSpelling(t *testing.T) {
	b := NewBuilder(Base{}, plenty)
	b.Apply(agui.NewTextStart("x"))
	b.Apply(agui.NewTextStart("y"))
	for _, f := range []string{
		`{"type":"TEXT_MESSAGE_CONTENT","delta":"x","messageId":"x"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","delta":"x","messageId":"y"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"x","delta":"1"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"x","delta":"\\\""}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"x","delta":"2","messageid2":"\""}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"x","delta":"3","timestamp":17}`,
		`{"type":"TEXT_MESSAGE_CONTENT","timestamp":17,"messageId":"x","delta":"4"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","rawEvent":{"delta":"no"},"messageId":"x","delta":"5"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"x","delta":"6" }`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"x","delta":"7","metadata":{"a":1}}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"x","delta":null}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"x","delta":"no","metadata":[]}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"y","delta":"8"}`,
	} {
		b.Apply(raw(t, f))
	}
	if got := texts(b.Messages()); got != `x=x1\"234567 y=x8` {
		t.Errorf("got %q", got)
	}
}

// TestDeltasDoNotAllocate: a token costs its bytes.
func TestDeltasDoNotAllocate(t *testing.T) {
	b := NewBuilder(Base{}, plenty)
	b.Apply(agui.NewToolCallStart("c", "f", "m"))
	b.byID["m"].text = make([]byte, 0, 1<<16)
	b.byCall["c"].call.args = make([]byte, 0, 1<<16)
	b.byID["m"].hasText = true
	text, args := agui.NewTextContent("m", "token"), agui.NewToolCallArgs("c", "token")
	b.Apply(text)
	b.Apply(args)
	if n := testing.AllocsPerRun(100, func() { b.Apply(text); b.Apply(text); b.Apply(args) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestDepth: what is kept can be put into a message, a list and an event.
func TestDepth(t *testing.T) {
	deepObject := strings.Repeat(`{"a":`, 110) + "1" + strings.Repeat("}", 110)
	b := NewBuilder(Base{}, plenty)
	for _, f := range []string{
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"t","content":` + deepObject + `}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"q","activityType":"t","content":{}}`,
		`{"type":"ACTIVITY_DELTA","messageId":"q","activityType":"t","patch":[{"op":"add","path":"/a","value":` + deepObject + `}]}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m","metadata":` + deepObject + `}`,
	} {
		b.Apply(raw(t, f))
	}
	want := `[{"id":"q","role":"activity","activityType":"t","content":{}},{"id":"m","role":"assistant","content":""}]`
	if diff := cmp.Diff(plain(t, []byte(want)), list(t, b.Messages())); diff != "" {
		t.Error(diff)
	}
}
