package profile

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

// With -streams FILE the random and the golden streams are written as the clients
// get them, for testdata/check.mjs to try on the real ones.
var streamsTo = flag.String("streams", "", "append the streams, as each profile gets them, to this file")

// palette are events of few ids, names and owners, so that a random choice of them
// often meets. Which of them fits is asked of agui.Sequence.
var palette = func() (out []agui.Frame) {
	owners := []string{"", `,"subagentRunId":"a"`, `,"subagentRunId":"b"`, `,"subagentRunId":""`}
	forms := []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"%s"%s}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"%s","role":"user","name":"n"%s,"metadata":{"a":1}}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"%s","delta":"x"%s}`,
		`{"type":"TEXT_MESSAGE_CONTENT", "messageId":"%s", "delta": ""%s}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"%s"%s,"timestamp":1}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"%s","delta":"\ud83d"%s}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"%s","delta":"","role":"developer"%s}`,
		`{"type":"TOOL_CALL_START","toolCallId":"%s","toolCallName":"n"%s}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"%s","delta":""%s,"extra":{"delta":""}}`,
		`{"type":"TOOL_CALL_END","toolCallId":"%s"%s}`,
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"%s","toolCallName":"n","delta":"{}"%s}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"o","toolCallId":"%s","content":[{"type":"text","text":"x"},{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}]%s}`,
		`{"type":"REASONING_START","messageId":"%s"%s}`,
		`{"type":"REASONING_END","messageId":"%s"%s}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"%s","role":"reasoning"%s}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"%s","delta":""%s}`,
		`{"type":"REASONING_MESSAGE_END","messageId":"%s"%s}`,
		`{"type":"REASONING_MESSAGE_CHUNK","messageId":"%s","delta":"x"%s}`,
		`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"%s","encryptedValue":"e"%s}`,
		`{"type":"STEP_STARTED","stepName":"%s"%s}`,
		`{"type":"STEP_FINISHED","stepName":"%s"%s}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"%s","activityType":"P","content":{}%s}`,
	}
	add := func(raw string) {
		f, err := agui.ParseFrame([]byte(raw))
		if err != nil {
			panic(raw)
		}
		out = append(out, f)
	}
	for _, form := range forms {
		for _, id := range []string{"p", "q"} {
			for _, by := range owners {
				add(fmt.Sprintf(form, id, by))
			}
		}
	}
	for _, by := range owners {
		add(`{"type":"TEXT_MESSAGE_CHUNK","delta":"y"` + by + `}`)
		add(`{"type":"TOOL_CALL_CHUNK","delta":"1"` + by + `}`)
		add(`{"type":"REASONING_MESSAGE_CHUNK","delta":"y"` + by + `}`)
		add(`{"type":"CUSTOM","name":"n","value":null` + by + `}`)
		add(`{"type":"RAW","event":{"a":1}` + by + `}`)
	}
	for _, raw := range []string{
		`{"type":"SUBAGENT_STARTED","subagentRunId":"a","name":"n"}`,
		`{"type":"SUBAGENT_STARTED","subagentRunId":"b","name":"n","parentSubagentRunId":"a"}`,
		`{"type":"SUBAGENT_FINISHED","subagentRunId":"a","outcome":{"type":"suspended","interruptIds":[],"later":1}}`,
		`{"type":"SUBAGENT_FINISHED","subagentRunId":"b","outcome":{"type":"later"}}`,
		`{"type":"SUBAGENT_ERROR","subagentRunId":"a","message":"m"}`,
		`{"type":"STATE_SNAPSHOT","snapshot":null}`,
		`{"type":"LATER","a":1}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"image","source":{"type":"file","value":"h"}},{"type":"later"}],"metadata":{}},{"id":"2","role":"later"},{"id":"3","role":"tool","toolCallId":"p","content":[]}]}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["p"]}}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"},"usage":[{"cacheWriteInputTokens":1}]}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"x","later":1}],"later":1}}`,
	} {
		add(raw)
	}
	return out
}()

// stream is a valid 1.0 run that pick chooses: of each candidate it is asked which,
// and what does not fit is left out.
func stream(length int, pick func(n int) int) []agui.Frame {
	frames := []agui.Frame{agui.NewRunStarted("t", "r", "", agui.ProtocolVersion)}
	last := agui.NewRunError("m", "", nil)
	fits := func(f agui.Frame) bool { // and the run can still end
		var s agui.Sequence
		for _, have := range frames {
			_ = s.Push(have)
		}
		return s.Push(f) == nil && (f.Type.Terminal() || s.Push(last) == nil)
	}
	for range length {
		f := palette[pick(len(palette))]
		if fits(f) {
			frames = append(frames, f)
			if f.Type.Terminal() {
				return frames
			}
		}
	}
	return append(frames, last)
}

func survives(t testing.TB, a *accepts, p *Profile, frames []agui.Frame) []agui.Frame {
	t.Helper()
	if !ours(frames) {
		t.Fatalf("the stream is not valid 1.0: %v", raws(frames))
	}
	out := through(p.NewToClient(), frames)
	for _, f := range out {
		if g, err := agui.ParseFrame(f.Raw); err != nil || g.Type != f.Type {
			t.Fatalf("%v: %s is no frame of type %s: %v", p, f.Raw, f.Type, err)
		}
	}
	if why := a.dies(p.name, out); why != "" {
		t.Fatalf("%v dies of %s\nin  %v\nout %v", p, why, raws(frames), raws(out))
	}
	return out
}

func raws(frames []agui.Frame) (out []string) {
	for _, f := range frames {
		out = append(out, string(f.Raw))
	}
	return out
}

func TestRandomStreams(t *testing.T) {
	a := load(t)
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[agui.Type]int{}
	for i := range 100 {
		frames := stream(100, r.IntN)
		for _, f := range frames {
			kinds[f.Type]++
		}
		for _, p := range []*Profile{v0045, v0059} {
			out := survives(t, a, p, frames)
			keep(t, p, fmt.Sprintf("random stream %d", i), out)
		}
		keep(t, v1, fmt.Sprintf("random stream %d", i), through(v1.NewToClient(), frames))
	}
	for _, f := range palette {
		if kinds[f.Type] == 0 {
			t.Errorf("no stream has a %s", f.Type)
		}
	}
}

// keep appends a stream to the file of -streams, if there is one.
func keep(t *testing.T, p *Profile, name string, frames []agui.Frame) {
	t.Helper()
	if *streamsTo == "" {
		return
	}
	file, err := os.OpenFile(*streamsTo, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(file, `{"profile":"%s","name":"%s","events":%s}`+"\n", p.name, name, join(bytesOf(frames)))
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func bytesOf(frames []agui.Frame) (out [][]byte) {
	for _, f := range frames {
		out = append(out, f.Raw)
	}
	return out
}

func FuzzToClient(f *testing.F) {
	a := load(f)
	f.Add([]byte{0, 1, 2, 3, 176, 177, 178, 40, 41, 42, 60, 70, 80, 220})
	f.Add([]byte("chunks of many owners, one after the other"))
	f.Fuzz(func(t *testing.T, program []byte) {
		at := 0
		frames := stream(min(len(program), 60), func(n int) int {
			at++
			return int(program[at-1]) % n
		})
		for _, p := range []*Profile{v0045, v0059} {
			survives(t, a, p, frames)
		}
	})
}

// FuzzFrames: whatever frame comes, both directions give frames.
func FuzzFrames(f *testing.F) {
	for _, one := range palette {
		f.Add(one.Raw)
	}
	f.Add([]byte(`{"type":"THINKING_START","title":null,"timestamp":1.5,"rawEvent":null}`))
	f.Add([]byte(`{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"x"}`))
	f.Add([]byte(`{"t\u0079pe":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"binary","mimeType":"","id":"h"},1]}]}`))
	f.Add([]byte(`{"type":"RUN_STARTED","input":{"messages":[{"role":"user","id":"","content":[{"type":"binary","mimeType":"audio/x","data":"\ud800"}]}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, err := agui.ParseFrame(raw)
		if err != nil {
			return
		}
		for _, p := range []*Profile{v0045, v0059, v1} {
			up := p.NewFromUpstream("r")
			out := up.End(up.Step(in, up.Step(in, nil)))
			down := p.NewToClient()
			o, changed := down.Step(in, nil)
			if !changed && (len(o) != 1 || string(o[0].Raw) != string(raw)) {
				t.Fatalf("%v: %s was changed unseen", p, raw)
			}
			out = append(down.End(append(out, o...)), o...)
			for _, f := range out {
				if !json.Valid(f.Raw) {
					t.Fatalf("%v made %q of %s", p, f.Raw, raw)
				}
				if g, err := agui.ParseFrame(f.Raw); err != nil || g.Type != f.Type {
					t.Fatalf("%v made a %s of %s: %s: %v", p, f.Type, raw, f.Raw, err)
				}
			}
		}
	})
}

func BenchmarkToClient(b *testing.B) {
	for _, p := range []*Profile{v0045, v0059, v1} {
		for name, raw := range map[string]string{
			"delta": `{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_01HZX8","delta":"Hello there, this is one token"}`,
			"args":  `{"type":"TOOL_CALL_ARGS","toolCallId":"call_01HZX8","delta":"{\"city\":\"Porto\""}`,
			"text":  `{"type":"TEXT_MESSAGE_START","messageId":"msg_01HZX8","role":"assistant"}`,
		} {
			b.Run(p.name+"/"+name, func(b *testing.B) {
				f, err := agui.ParseFrame([]byte(raw))
				if err != nil {
					b.Fatal(err)
				}
				to, out := p.NewToClient(), make([]agui.Frame, 0, 4)
				b.ReportAllocs()
				for b.Loop() {
					if _, changed := to.Step(f, out); changed {
						b.Fatal("changed")
					}
				}
			})
		}
	}
}

func BenchmarkFromUpstream(b *testing.B) {
	f, err := agui.ParseFrame([]byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_01HZX8","delta":"Hello there, this is one token"}`))
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range []*Profile{v0059, v1} {
		b.Run(p.name, func(b *testing.B) {
			up, out := p.NewFromUpstream("r"), make([]agui.Frame, 0, 4)
			b.ReportAllocs()
			for b.Loop() {
				up.Step(f, out)
			}
		})
	}
}
