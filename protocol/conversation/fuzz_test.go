package conversation

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aguigate/aguigate/protocol/agui"
)

// FuzzBuilder: whatever frames come, the messages are ones that a request may
// hold, and nothing panics, with room and without.
func FuzzBuilder(f *testing.F) {
	files, err := filepath.Glob("testdata/*.events.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, 40)
	}
	f.Fuzz(func(t *testing.T, raw []byte, limit int) {
		var frames []agui.Frame
		for _, line := range bytes.Split(raw, []byte("\n")) {
			if f, err := agui.ParseFrame(line); err == nil {
				frames = append(frames, f)
			}
		}
		for _, limit := range []int{plenty, limit % 4096} {
			b := NewBuilder(BaseOf(someBase), limit)
			for _, f := range frames {
				b.Apply(f)
			}
			checkWhole(t, b)
			for _, ms := range [][]agui.Message{b.Messages(), b.Merge(someBase)} {
				checkWhole(t, built(nil, Replay(ms)...))
			}
		}
	})
}

// checkWhole: what the builder gives is well-formed.
func checkWhole(t *testing.T, b *Builder) {
	t.Helper()
	for _, ms := range [][]agui.Message{b.Messages(), b.Merge(someBase)} {
		raw := agui.AppendMessages(nil, ms)
		if _, err := agui.DecodeMessages(raw, ""); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
	}
	for _, f := range append(b.CatchUp(), Replay(b.Messages())...) {
		got, err := agui.ParseFrame(f.Raw)
		if err == nil {
			err = got.Validate()
		}
		if err != nil || got.Type != f.Type {
			t.Fatalf("%s %s: %v", f.Type, f.Raw, err)
		}
	}
}

var someBase = func() []agui.Message {
	ms, err := agui.DecodeMessages([]byte(`[{"id":"u","role":"user","content":[{"type":"text","text":"hi"}]},
		{"id":"a","role":"assistant","content":"see","toolCalls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{"}}]},
		{"id":"r","role":"tool","toolCallId":"x","content":"sun"},
		{"id":"p","role":"activity","activityType":"plan","content":{"n":1},"metadata":{"k":0}},
		{"id":"q","role":"reasoning","content":"hm"}]`), "")
	if err != nil {
		panic(err)
	}
	return ms
}()

// FuzzJoin: who joins a run anywhere gets by CatchUp and what follows what all
// others got, in a sequence that is as legal as theirs. The bytes choose from a
// small alphabet of events, so that they meet.
func FuzzJoin(f *testing.F) {
	for i := range 60 {
		seed := make([]byte, 64)
		for j := range seed {
			seed[j] = byte(i*37 + j*j*11 + i*j*7)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		frames := legalRun(choices)
		cut := 1
		if len(choices) > 0 {
			cut += int(choices[0]) % len(frames)
		}
		cut = min(cut, len(frames))
		whole := built(someBase, frames...)
		half := built(someBase, frames[:cut]...)
		joined := append(append([]agui.Frame{frames[0]}, half.CatchUp()...), frames[cut:]...)
		if err := legal(joined); err != nil {
			t.Fatalf("%v\nrun:\n%s\njoined at %d:\n%s", err, dump(frames), cut, dump(joined))
		}
		got := built(someBase, joined...)
		a, b := reachable(t, whole), reachable(t, got)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("%s\nrun:\n%s\njoined at %d:\n%s", diff, dump(frames), cut, dump(joined))
		}
	})
}

// reachable gives, by id, the messages that events can reach: of two with one id
// the first.
func reachable(t *testing.T, b *Builder) map[string]any {
	t.Helper()
	out := map[string]any{}
	for id, ms := range keyed(list(t, b.Merge(someBase))) {
		out[id] = ms[0]
	}
	return out
}

func dump(frames []agui.Frame) string {
	var b bytes.Buffer
	for _, f := range frames {
		fmt.Fprintf(&b, "%s\n", f.Raw)
	}
	return b.String()
}

func legal(frames []agui.Frame) error {
	var s agui.Sequence
	for _, f := range frames {
		if err := f.Validate(); err != nil {
			return err
		}
		if err := s.Push(f); err != nil {
			return err
		}
	}
	return nil
}

// legalRun makes events of the choices and leaves out what a client would end
// its run for. Events of subagents and snapshots do not come together: a snapshot
// says whose all messages are, also where the run has not said it yet. Nor do
// chunks of calls and activities, which may take the place of the message that
// holds the call.
func legalRun(choices []byte) []agui.Frame {
	frames := []agui.Frame{agui.NewRunStarted("t", "r", "", "")}
	snapshots, activities := len(choices) > 1 && choices[1]%2 == 0, len(choices) > 2 && choices[2]%2 == 0
	for i := 0; i+2 < len(choices) && len(frames) < 24; i += 3 {
		f := eventFor(choices[i], choices[i+1], choices[i+2])
		if snapshots && f.Field("subagentRunId") != nil || !snapshots && f.Type == agui.MessagesSnapshot ||
			activities && f.Type == agui.ToolCallChunk || !activities && f.Type == agui.ActivitySnapshot {
			continue
		}
		if legal(append(frames[:len(frames):len(frames)], f)) == nil {
			frames = append(frames, f)
		}
	}
	return frames
}

func eventFor(what, a, b byte) agui.Frame {
	id := []string{"a", "m", "n", "p", "o", "u", "r"}[a%7]
	call := []string{"x", "c", "d", "m"}[b%4]
	chunked := id // chunks and whole events never name one thing in turns
	switch id {
	case "a", "u":
		id = "b"
	default:
		chunked = "k" + id
	}
	tag, meta := "", ""
	if a >= 0xC0 {
		tag = `,"subagentRunId":"s"`
	}
	if b >= 0xC0 {
		meta = fmt.Sprintf(`,"metadata":{"k%d":%d}`, b%3, a)
	}
	events := []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"%[1]s"%[3]s%[4]s}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"%[1]s","delta":"%[5]d "%[3]s%[4]s}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"%[1]s"%[4]s}`,
		`{"type":"TOOL_CALL_START","toolCallId":"%[2]s","toolCallName":"f","parentMessageId":"%[1]s"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"%[2]s","toolCallName":"g"%[4]s}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"%[2]s","delta":"%[5]d "%[4]s}`,
		`{"type":"TOOL_CALL_END","toolCallId":"%[2]s"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"%[1]s-%[2]s-%[5]d","toolCallId":"%[2]s","content":"%[5]d"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"%[7]s","delta":"%[5]d "%[3]s%[4]s}`,
		`{"type":"TEXT_MESSAGE_CHUNK","delta":"%[5]d "%[4]s}`,
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"k%[2]s","toolCallName":"f","delta":"%[5]d "}`,
		`{"type":"TOOL_CALL_CHUNK","delta":"%[5]d "%[4]s}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"%[1]s","role":"reasoning"}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"%[1]s","delta":"%[5]d "}`,
		`{"type":"REASONING_MESSAGE_END","messageId":"%[1]s"}`,
		`{"type":"REASONING_MESSAGE_CHUNK","messageId":"%[7]s","delta":"%[5]d "}`,
		`{"type":"REASONING_START","messageId":"%[1]s"}`,
		`{"type":"REASONING_END","messageId":"%[1]s"}`,
		`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"%[1]s","encryptedValue":"%[5]d"}`,
		`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":"%[2]s","encryptedValue":"%[5]d"}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"%[1]s","activityType":"t%[2]s","content":{"n":%[5]d}%[4]s}`,
		`{"type":"ACTIVITY_DELTA","messageId":"%[1]s","activityType":"t%[2]s","patch":[{"op":"add","path":"/%[2]s","value":%[5]d}]%[4]s}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"v","role":"user","content":"hi"},{"id":"%[1]s","role":"assistant","content":"s"}]}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"%[1]s","role":"activity","activityType":"plan","content":{}},{"id":"w","role":"reasoning","content":"new"}]}`,
		`{"type":"STEP_STARTED","stepName":"%[1]s"}`,
		`{"type":"STEP_FINISHED","stepName":"%[1]s"}`,
		`{"type":"CUSTOM","name":"%[1]s","value":1}`,
		`{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"sub"}`,
		`{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}`,
	}
	f, err := agui.ParseFrame(fmt.Appendf(nil, events[int(what)%len(events)]+"%[6]s", id, call, tag, meta, a^b, "", chunked))
	if err != nil {
		panic(err)
	}
	return f
}
