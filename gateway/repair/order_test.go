package repair

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// events are what a script of bytes may say; %s is one of a few ids. Calls have
// other ids than messages: the machine's renaming has one list for both.
var events = []string{
	`{"type":"TEXT_MESSAGE_START","messageId":"%s"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"%s","delta":"a"}`,
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":"%s","delta":"b"}`, `{"type":"TEXT_MESSAGE_END","messageId":"%s"}`,
	`{"type":"TEXT_MESSAGE_CHUNK","messageId":"%s","delta":"a"}`, `{"type":"TEXT_MESSAGE_CHUNK","delta":"a"}`,
	`{"type":"TEXT_MESSAGE_START"}`, `{"type":"TEXT_MESSAGE_CONTENT","delta":"a"}`, `{"type":"TEXT_MESSAGE_END"}`,
	`{"type":"REASONING_START","messageId":"%s"}`, `{"type":"REASONING_END","messageId":"%s"}`,
	`{"type":"REASONING_MESSAGE_START","messageId":"%s"}`, `{"type":"REASONING_MESSAGE_CONTENT","messageId":"%s","delta":"a"}`,
	`{"type":"REASONING_MESSAGE_END","messageId":"%s"}`, `{"type":"REASONING_MESSAGE_CHUNK","messageId":"%s","delta":"a"}`,
	`{"type":"TOOL_CALL_START","toolCallId":"c%s","toolCallName":"pick"}`, `{"type":"TOOL_CALL_START","toolCallId":"c%s","toolCallName":"own","parentMessageId":"m0"}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":"c%s","delta":"{}"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c%s","delta":"\"{}\""}`,
	`{"type":"TOOL_CALL_END","toolCallId":"c%s"}`, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c%s","toolCallName":"own","delta":"{}"}`,
	`{"type":"TOOL_CALL_CHUNK","delta":""}`, `{"type":"TOOL_CALL_RESULT","messageId":"%s","toolCallId":"cm1","content":""}`,
	`{"type":"TOOL_CALL_RESULT","toolCallId":"c%s","content":"x"}`, `{"type":"STEP_STARTED","stepName":"%s"}`, `{"type":"STEP_FINISHED","stepName":"%s"}`,
	`{"type":"CUSTOM","name":"%s","value":null}`, `{"type":"RAW","event":{}}`, `{"type":"RUN_STARTED"}`, `{"type":"RUN_FINISHED"}`, `{"type":"RUN_ERROR"}`,
	`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"%s","role":"assistant","content":"a"}]}`, `{"type":"ACTIVITY_SNAPSHOT","messageId":"%s","activityType":"a","content":{}}`,
}

func scripted(script []byte) (data []string) {
	data = append(data, `{"type":"RUN_STARTED"}`)
	for _, b := range script {
		text := events[int(b)%len(events)]
		text = strings.ReplaceAll(text, "%s", "m"+string(rune('0'+int(b)/len(events)%3)))
		data = append(data, text)
	}
	return append(data, `{"type":"RUN_FINISHED"}`)
}

// checkScript: whatever order events come in, what the chain gives out is well
// formed, and the machine makes of it what the published clients accept; repaired
// once more it stays.
func checkScript(t *testing.T, script []byte, on uint32, modern bool) {
	t.Helper()
	g := golden{set: Setup{Thread: "th1", Run: "r1", Modern: modern, On: map[string]bool{}, Client: func(tool string) bool { return tool == "pick" }}}
	for i, s := range Steps() {
		if !s.On {
			g.set.On[s.Name] = on&(1<<i) != 0
		}
	}
	data := scripted(script)
	got := mend(g.set, data)
	throughMachine(t, g, got)
	if twice := mend(g.set, payloads(got.frames)); !slices.Equal(payloads(twice.frames), payloads(got.frames)) {
		t.Errorf("repaired\n%s\nagain\n%s", got, twice)
	}
	if t.Failed() {
		t.Fatalf("script %q on %x: %q\nrepaired\n%s", script, on, data, got)
	}
}

func TestAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		script := make([]byte, r.IntN(14))
		for i := range script {
			script[i] = byte(r.IntN(256))
		}
		checkScript(t, script, r.Uint32(), r.IntN(2) == 0)
	}
}

func FuzzOrder(f *testing.F) {
	f.Add([]byte{0, 1, 3, 15, 17, 19, 22, 0, 1}, uint32(0), true)
	f.Add([]byte{11, 12, 0, 1, 4, 5, 20, 21}, ^uint32(0), false)
	f.Fuzz(func(t *testing.T, script []byte, on uint32, modern bool) {
		if len(script) < 200 {
			checkScript(t, script, on, modern)
		}
	})
}
