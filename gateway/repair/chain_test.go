package repair

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

func TestForeign(t *testing.T) {
	long := strings.Repeat("ä", 600)
	for _, c := range []struct{ data, want string }{
		{``, "skip"}, {" \n", "skip"}, {`[DONE]`, "skip"}, {`null`, "skip"},
		{`{"error":{"message":"Rate limit","type":"requests","code":"rate_limit_exceeded"}}`, "Rate limit|rate_limit_exceeded"},
		{`{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED"}}`, "Quota|429"},
		{`{"error":"no model"}`, "no model|"},
		{`{"error":"ValueError","message":"bad city"}`, "bad city|ValueError"},
		{`{"event":"error","data":{"error":"ValueError","message":"bad city"}}`, "bad city|ValueError"},
		{`{"event":"error","data":"broken"}`, "broken|"},
		{`{"event":"error"}`, noErrorText + "|"},
		{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "Overloaded|overloaded_error"},
		{`{"type":"error","errorText":"An error occurred."}`, "An error occurred.|"},
		{`{"type":"ERROR","message":"a\n\tb","code":"X"}`, "a b|X"},
		{`{"detail":"Not Found"}`, "Not Found|"},
		{`{"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]}`, "field required|"},
		{`{"object":"error","message":"too long","type":"BadRequestError","code":400}`, "too long|400"},
		{`{"errors":[{"message":"no field"}]}`, "no field|"},
		{`{"error":{"message":"<html><body>502</body></html>"}}`, noErrorText + "|"},
		{`{"error":{}}`, noErrorText + "|"},
		{`{"error":{"message":"` + long + `"}}`, strings.Repeat("ä", 250) + "…|"},
		{`{"status":500,"error":"Internal Server Error","path":"/run"}`, "Internal Server Error|500"},
		{`{"hello":1}`, "fault"}, {`{"error":null}`, "fault"}, {`{"error":false}`, "fault"}, {`{"detail":null}`, "fault"},
		{`{"type":"TEXT_MESSAGE_START","error":"x"}`, "fault"},
		{`[]`, "fault"}, {`"text"`, "fault"}, {`{"error":`, "fault"}, {"{\"error\":\"\xff\"}", "fault"},
	} {
		f, skip, err := Foreign([]byte(c.data))
		got := f.Text("message") + "|" + f.Text("code")
		var bad *fault.Error
		switch {
		case skip:
			got = "skip"
		case errors.As(err, &bad) && bad.Code == fault.UpstreamProtocolError:
			got = "fault"
		case f.Type != agui.RunError || f.Validate() != nil:
			got = "no RUN_ERROR: " + string(f.Raw)
		}
		want := c.want
		if strings.HasSuffix(want, "|") { // an error that names no code
			want += "upstream_error"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", c.data, got, want)
		}
	}
}

func TestReadOff(t *testing.T) {
	c := New(Setup{On: map[string]bool{"error_frames": false, "no_such_repair": true}})
	for _, data := range []string{`{"type":"TEXT_MESSAGE_END","message_id":"m"}`, `{"error":"x"}`} {
		if _, _, err := c.Read([]byte(data)); err == nil {
			t.Errorf("%s was read although the repairs are off", data)
		}
	}
	if _, skip, err := c.Read([]byte("[DONE]")); !skip || err != nil {
		t.Errorf("[DONE]: skip %v, %v", skip, err)
	}
}

func TestRenamed(t *testing.T) {
	c := New(Setup{Thread: "th1", Run: "r1"})
	for _, d := range []string{
		`{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":""}`,
	} {
		f, _, _ := c.Read([]byte(d))
		c.Step(f, nil)
	}
	if got, want := c.Renamed(), []Renamed{{"m", "m-2"}, {"m", "m-3"}}; !slices.Equal(got, want) {
		t.Errorf("renamed %v, want %v", got, want)
	}
}

// An upstream that opens and names without end costs bounded memory, and what is
// beyond the bound passes as it came.
func TestBounds(t *testing.T) {
	on := map[string]bool{}
	for _, s := range Steps() {
		on[s.Name] = true
	}
	c := New(Setup{Run: "r1", On: on, Client: func(string) bool { return true }})
	id := strings.Repeat("x", 900)
	for i := range 1000 {
		for _, format := range []string{
			`{"type":"TEXT_MESSAGE_START","messageId":"%s%d"}`,
			`{"type":"TEXT_MESSAGE_CHUNK","messageId":"%s%d","delta":"a","subagentRunId":"%[1]s%[2]d"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"%s%d","toolCallName":"a"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"%s%d","delta":"\"{"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"%s%d","delta":"{}"}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"same","toolCallId":"%s%d","content":"x"}`,
			`{"type":"STEP_STARTED","stepName":"%s%d"}`,
		} {
			c.Step(frame(t, fmt.Sprintf(format, id, i)), nil)
		}
	}
	b := &c.books
	if len(b.texts) > maxOpen || len(b.calls) > maxOpen || len(b.steps) > maxOpen || len(c.lanes.list) > maxOpen ||
		len(c.twice.calls) > maxOpen || len(c.lead.calls) > maxOpen || len(c.asked) > maxOpen || c.shared.bytes > maxBytes {
		t.Errorf("the chain keeps too much")
	}
	for _, raw := range []string{
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"` + id + `999","delta":"a"}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"` + id + `999"}`,
	} {
		if out := c.Step(frame(t, raw), nil); len(out) != 1 || string(out[0].Raw) != raw {
			t.Errorf("beyond the bound %.60s became %d frames", raw, len(out))
		}
	}
}

// Arguments that are held back do not grow without end.
func TestHeldArguments(t *testing.T) {
	c := New(Setup{Run: "r1", On: map[string]bool{"double_encoded_arguments": true}})
	c.Step(frame(t, `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"a"}`), nil)
	part := `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"\"` + strings.Repeat("x", 1000) + `"}`
	given := 0
	for range 200 {
		given += len(c.Step(frame(t, part), nil))
	}
	if given != 200 {
		t.Errorf("%d of 200 deltas were given out when they were too many to hold", given)
	}
}

func frame(t testing.TB, raw string) agui.Frame {
	t.Helper()
	f, err := agui.ParseFrame([]byte(raw))
	if err != nil {
		t.Fatalf("%.80s: %v", raw, err)
	}
	return f
}

// The hot path makes nothing.
func TestNoAllocations(t *testing.T) {
	c, f, out := hot(t)
	if n := testing.AllocsPerRun(1000, func() { out = c.Step(f, out[:0]) }); n != 0 {
		t.Errorf("%v allocations for a frame nothing is wrong with", n)
	}
}

func hot(t testing.TB) (*Chain, agui.Frame, []agui.Frame) {
	c := New(Setup{Thread: "th1", Run: "r1"})
	var out []agui.Frame
	for _, raw := range []string{`{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"4f1c9a52-83c5-4b41-9f0e-1f2d3c4b5a69","role":"assistant"}`} {
		out = c.Step(frame(t, raw), out)
	}
	return c, frame(t, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"4f1c9a52-83c5-4b41-9f0e-1f2d3c4b5a69","delta":"Hello, \"world\" and "}`), out
}

func BenchmarkText(b *testing.B) {
	c, f, out := hot(b)
	b.ReportAllocs()
	for b.Loop() {
		out = c.Step(f, out[:0])
	}
}

// BenchmarkLongWay has two texts in turn, so that no delta is like the one before.
func BenchmarkLongWay(b *testing.B) {
	c, f, out := hot(b)
	other := frame(b, `{"type":"REASONING_MESSAGE_CONTENT","messageId":"m2","delta":"Hello, world and "}`)
	out = c.Step(frame(b, `{"type":"REASONING_MESSAGE_START","messageId":"m2","role":"reasoning"}`), out[:0])
	b.ReportAllocs()
	for b.Loop() {
		out = c.Step(f, out[:0])
		out = c.Step(other, out[:0])
	}
}

func BenchmarkArguments(b *testing.B) {
	c, _, out := hot(b)
	out = c.Step(frame(b, `{"type":"TOOL_CALL_START","toolCallId":"call_8Qw2Zx91","toolCallName":"pick_date"}`), out[:0])
	f := frame(b, `{"type":"TOOL_CALL_ARGS","toolCallId":"call_8Qw2Zx91","delta":"{\"city\":"}`)
	b.ReportAllocs()
	for b.Loop() {
		out = c.Step(f, out[:0])
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New(Setup{Thread: "th1", Run: "r1"})
	}
}

// FuzzChain: whatever comes, the chain does not panic, gives out JSON objects with
// a type, and changes nothing of what it has repaired.
func FuzzChain(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(strings.Join(g.data, "\n"), uint32(0), g.set.Modern)
		f.Add(strings.Join(g.data, "\n"), ^uint32(0), g.set.Modern)
	}
	f.Fuzz(func(t *testing.T, text string, on uint32, modern bool) {
		set := Setup{Thread: "th1", Run: "r1", Modern: modern, On: map[string]bool{},
			Client: func(tool string) bool { return strings.HasPrefix(tool, "pick") }}
		for i, s := range Steps() {
			set.On[s.Name] = s.On != (on&(1<<i) != 0)
		}
		data := strings.Split(text, "\n")
		came := slices.Clone(data)
		got := mend(set, data)
		if !slices.Equal(came, data) {
			t.Fatal("the chain has written to what it was given")
		}
		for _, f := range got.frames {
			if strictjson.KindOf(bytes.TrimSpace(f.Raw)) != strictjson.Object || f.Type == "" {
				t.Fatalf("%s is no event", f.Raw)
			}
			if g, err := agui.ParseFrame(f.Raw); err != nil || g.Type != f.Type {
				t.Fatalf("%s is no event: %v", f.Raw, err)
			}
		}
		if len(text) > 32*maxOpen { // past the bounds steps begin to let go
			return
		}
		twice := mend(set, payloads(got.frames))
		if !slices.Equal(payloads(twice.frames), payloads(got.frames)) {
			t.Fatalf("repaired\n%s\nagain\n%s", got, twice)
		}
	})
}

// The short way for deltas gives what the long one does, wherever something else
// comes between.
func TestShortWay(t *testing.T) {
	start := `{"type":"TEXT_MESSAGE_START","messageId":"m"}`
	text := `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}`
	for _, c := range []struct {
		name string
		in   []string
		want string
	}{
		{"an empty delta", []string{start, text, text, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":""}`}, "map[empty_deltas:1]"},
		{"a delta with quotes", []string{start, text, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\"\\"}`}, "map[]"},
		{"a field behind the delta", []string{start, text, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","timestamp":"x"}`}, "map[field_types:1]"},
		{"a null behind the delta", []string{start, text, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","rawEvent":null}`}, "map[nulls:1]"},
		{"the time behind the delta", []string{start, text, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","timestamp":17}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","timestamp":18,"delta2":null}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","timestamp":1.5}`}, "map[field_types:1]"},
		{"another id", []string{start, text, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"n","delta":"a"}`}, "map[missing_start:1]"},
		{"after its end", []string{start, text, `{"type":"TEXT_MESSAGE_END","messageId":"m"}`, text}, "map[missing_start:1]"},
		{"blank arguments", []string{`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"a"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":" "}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":" "}`, `{"type":"TOOL_CALL_END","toolCallId":"c"}`}, "map[]"},
		{"after the run", []string{start, text, `{"type":"RUN_ERROR","message":""}`, text}, "map[]"},
	} {
		chain := New(Setup{Run: "r1"})
		for _, raw := range c.in {
			chain.Step(frame(t, raw), nil)
		}
		if got := fmt.Sprint(chain.Counts()); got != c.want {
			t.Errorf("%s: repairs %s, want %s", c.name, got, c.want)
		}
	}
}
