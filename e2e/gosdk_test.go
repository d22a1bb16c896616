package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
)

// goReport is what the Go community SDK's client made of one run.
type goReport struct {
	Frames   []map[string]any `json:"frames"`
	Refused  []string         `json:"refused"`
	Sequence string           `json:"sequence"`
	Error    string           `json:"error"`
}

// goRun sends one run with the Go community SDK's client. Fields that are not
// given go out as its structs write them: null.
func goRun(t *testing.T, target string, input map[string]any) goReport {
	t.Helper()
	job, err := json.Marshal(map[string]any{"url": target, "input": input})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(must(t, goClient))
	cmd.Stdin = bytes.NewReader(job)
	var said, complained bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complained
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, complained.String())
	}
	var r goReport
	if err := json.Unmarshal(said.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if r.Error != "" || r.Sequence != "" || len(r.Refused) > 0 {
		t.Fatalf("the Go client refuses the stream: %q %q %v\n%s", r.Error, r.Sequence, r.Refused, said.String())
	}
	return r
}

// The Go community SDK's client, which asks for nothing but `data: ` frames and
// names no protocol version, gets a call, answers it, and gets the answer.
func TestGoClient(t *testing.T) {
	for _, agent := range agents {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			g := must(t, theGateway)
			g.logsOnFailure(t)
			thread := threadID(t)
			user := map[string]any{"id": "m1", "role": "user", "content": "where am I"}
			r := goRun(t, g.run(agent), map[string]any{
				"threadId": thread, "runId": "r1", "tools": bothTools, "messages": []any{user},
			})
			var parent, id, arguments string
			for _, f := range r.Frames {
				switch f["type"] {
				case "TOOL_CALL_START":
					id, _ = f["toolCallId"].(string)
					parent, _ = f["parentMessageId"].(string)
				case "TOOL_CALL_ARGS":
					arguments += f["delta"].(string)
				}
			}
			if id == "" {
				t.Fatalf("no call in %v", r.Frames)
			}
			if parent == "" {
				parent = id // [HIST-1]
			}
			function := map[string]any{"name": "get_location", "arguments": arguments}
			assistant := map[string]any{"id": parent, "role": "assistant",
				"toolCalls": []any{map[string]any{"id": id, "type": "function", "function": function}}}
			result := map[string]any{"id": "m3", "role": "tool", "toolCallId": id, "content": awkward}
			r = goRun(t, g.run(agent), map[string]any{
				"threadId": thread, "runId": "r2", "tools": bothTools, "messages": []any{user, assistant, result},
			})
			var text string
			for _, f := range r.Frames {
				if f["type"] == "TEXT_MESSAGE_CONTENT" {
					text += f["delta"].(string)
				}
			}
			contains(t, text, awkward)
		})
	}
}

// A plain run with neither tools nor context: the SDK writes both as null.
func TestGoClientWithNulls(t *testing.T) {
	t.Parallel()
	g := must(t, theGateway)
	g.logsOnFailure(t)
	r := goRun(t, g.run("gosdk"), map[string]any{
		"threadId": threadID(t), "runId": "r1",
		"messages": []any{map[string]any{"id": "m1", "role": "user", "content": "good morning"}},
	})
	if last := r.Frames[len(r.Frames)-1]; last["type"] != "RUN_FINISHED" {
		t.Fatalf("ended in %v", last)
	}
}
