package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// One answer of the agent is deltas pieces of deltaBytes, about 500 bytes.
const (
	deltas     = 20
	deltaBytes = 25
)

// agent is the AG-UI backend of the benchmark. At /talk it answers each run with
// one message, at /ask it calls a tool unless the last message is a tool's.
type agent struct {
	*httptest.Server
	mu   sync.Mutex
	read map[string]int // messages of the newest request, by thread
}

func startAgent() *agent {
	a := &agent{read: map[string]int{}}
	a.Server = httptest.NewServer(a)
	return a
}

// lastRead is how many messages the newest request for the thread had.
func (a *agent) lastRead(thread string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.read[thread]
}

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in struct {
		ThreadID, RunID string
		Messages        []json.RawMessage
	}
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if err != nil || len(in.Messages) == 0 {
		http.Error(w, fmt.Sprint("no run: ", err), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	a.read[in.ThreadID] = len(in.Messages)
	a.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	told := bytes.Contains(in.Messages[len(in.Messages)-1], []byte(`"role":"tool"`))
	frames := fmt.Appendf(nil, "data: {\"type\":\"RUN_STARTED\",\"threadId\":%q,\"runId\":%q}\n\n", in.ThreadID, in.RunID)
	if r.URL.Path == "/ask" && !told {
		frames = appendCall(frames, in.RunID)
	} else {
		frames = appendAnswer(frames, in.RunID)
	}
	frames = fmt.Appendf(frames, "data: {\"type\":\"RUN_FINISHED\",\"threadId\":%q,\"runId\":%q}\n\n", in.ThreadID, in.RunID)
	_, _ = w.Write(frames)
}

func appendAnswer(b []byte, run string) []byte {
	b = fmt.Appendf(b, "data: {\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m-%s\",\"role\":\"assistant\"}\n\n", run)
	for i := range deltas {
		b = fmt.Appendf(b, "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m-%s\",\"delta\":%q}\n\n", run, delta(i))
	}
	return fmt.Appendf(b, "data: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m-%s\"}\n\n", run)
}

func appendCall(b []byte, run string) []byte {
	b = fmt.Appendf(b, "data: {\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"c-%s\",\"toolCallName\":%q,\"parentMessageId\":\"m-%s\"}\n\n", run, toolName, run)
	b = fmt.Appendf(b, "data: {\"type\":\"TOOL_CALL_ARGS\",\"toolCallId\":\"c-%s\",\"delta\":\"{}\"}\n\n", run)
	return fmt.Appendf(b, "data: {\"type\":\"TOOL_CALL_END\",\"toolCallId\":\"c-%s\"}\n\n", run)
}

func delta(i int) string {
	text := fmt.Sprintf("piece %02d of what is said ", i)
	return (text + strings.Repeat(".", deltaBytes))[:deltaBytes]
}

// answer is what all pieces say.
func answer() string {
	var b strings.Builder
	for i := range deltas {
		b.WriteString(delta(i))
	}
	return b.String()
}
