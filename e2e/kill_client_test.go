package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// killLimit bounds every wait of the kill test: for what has to happen, not for
// what may.
const killLimit = time.Minute

// event is what these tests read of an AG-UI event.
type event struct {
	Type, Delta, Code, Name, ToolCallID string
	Outcome                             struct{ PendingToolCallIDs []string }
	Value                               struct{ ToolCallIDs []string }
	Messages                            []threadMessage
}

// stream is one event stream that is read as it comes.
type stream struct {
	t      *testing.T
	begun  chan struct{} // closed with the head of the answer
	events chan event
}

// openStream sends a request and gives its stream, which may begin later. With the
// test's end it is closed; one that breaks off, or a refusal, ends the channel.
func openStream(t *testing.T, method, target string, body []byte) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	s := &stream{t: t, begun: make(chan struct{}), events: make(chan event, 1000)}
	go func() {
		defer close(s.events)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return
		}
		close(s.begun)
		defer func() { _ = response.Body.Close() }()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			var e event
			if ok && json.Unmarshal([]byte(data), &e) == nil {
				s.events <- e
			}
		}
	}()
	return s
}

// until reads to the first event of one of the types and gives all it has read. A
// stream that ends first fails the test.
func (s *stream) until(types ...string) (got []event) {
	s.t.Helper()
	limit := time.After(killLimit)
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				s.t.Fatalf("the stream ended before %v; it was %+v", types, got)
			}
			if got = append(got, e); slices.Contains(types, e.Type) {
				return got
			}
		case <-limit:
			s.t.Fatalf("no %v came; so far %+v", types, got)
		}
	}
}

// threadMessage is a message of a list or of a thread.
type threadMessage struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolCalls  []threadCall    `json:"toolCalls,omitempty"`
}

type threadCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function map[string]any `json:"function"`
}

// threadState is what the Gateway API shows of a thread.
type threadState struct {
	Status      string
	Messages    []threadMessage
	Invocations []invocation
}

func (g *gateway) thread(t *testing.T, id string) (s threadState) {
	t.Helper()
	call(t, "GET", g.listen+"/v1/threads/"+id, nil).into(t, 200, &s)
	return s
}

// turn is the body of a run: the question, with a result what came of it, and what
// the user says after that.
func turn(thread, run, result string, more ...string) []byte {
	text := func(s string) json.RawMessage {
		encoded, _ := json.Marshal(s)
		return encoded
	}
	list := []threadMessage{{ID: "q-" + thread, Role: "user", Content: text("where am I")}}
	if result != "" || more != nil {
		list = append(list, threadMessage{ID: "m-" + callOf(thread), Role: "assistant", ToolCalls: []threadCall{{
			ID: callOf(thread), Type: "function", Function: map[string]any{"name": "get_location", "arguments": "{}"}}}})
	}
	if result != "" {
		list = append(list, threadMessage{ID: "t-" + thread, Role: "tool", ToolCallID: callOf(thread), Content: text(result)})
	}
	for i, says := range more {
		list = append(list, threadMessage{ID: fmt.Sprint("more-", i), Role: "user", Content: text(says)})
	}
	body, _ := json.Marshal(map[string]any{
		"threadId": thread, "runId": run, "protocolVersion": "1.0", "state": map[string]any{}, "context": []any{}, "forwardedProps": map[string]any{},
		"tools":    []any{map[string]any{"name": "get_location", "description": "the city", "parameters": map[string]any{"type": "object"}}},
		"messages": list,
	})
	return body
}

// become waits until cond holds.
func become(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(killLimit); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come to this: %s", what)
		}
	}
}
