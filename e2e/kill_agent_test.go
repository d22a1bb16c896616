package e2e

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Acts of the scripted agent in one part of a conversation. An agent that holds
// does so until its caller is gone.
const (
	actEnd    = ""       // says its part and ends the run
	actHold   = "hold"   // says its part and keeps the run
	actSilent = "silent" // has read the request and answers nothing
	actHalf   = "half"   // says half of its reply and stops in the middle
	actNext   = "next"   // does not reply, calls the tool once more and keeps the run
)

// Parts of the scripted conversation.
const (
	halfReply  = "you are "
	wholeReply = halfReply + "there"
)

// script is what the agent does on one thread in the gateway's first life; in the
// second it always says its part.
type script struct {
	opening, reply string
}

// asked is one request the agent got.
type asked struct {
	run, parent string
	results     []string // contents of its tool messages, in their order
	roles       []string // of all its messages
}

// scripted is an AG-UI agent under the test's control: it calls get_location until
// it is told a result, then replies.
type scripted struct {
	*httptest.Server
	gate *gate // before the connections of a TLS server

	mu      sync.Mutex
	scripts map[string]script
	first   bool // the gateway's first life
	seen    map[string][]asked
	changed chan struct{} // closed with every request
}

// newScripted makes an agent that does not listen yet.
func newScripted() *scripted {
	s := &scripted{first: true, scripts: map[string]script{}, seen: map[string][]asked{}, changed: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(s)
	return s
}

// behindGate makes an agent over TLS whose connections can be held before they
// stand. Each request makes a connection of its own.
func behindGate() *scripted {
	s := newScripted()
	s.gate = &gate{Listener: s.Listener, open: make(chan struct{}), reached: make(chan struct{}, 100)}
	close(s.gate.open)
	s.Listener = s.gate
	s.Config.SetKeepAlivesEnabled(false)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that a kill ends
	s.StartTLS()
	return s
}

// trusted writes the agent's certificate where a program looks for those it trusts.
func (s *scripted) trusted(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agent.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// play sets what the agent does on a thread.
func (s *scripted) play(thread string, sc script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[thread] = sc
}

// secondLife makes the agent a good one on all threads.
func (s *scripted) secondLife() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = false
}

// asked are the requests of a thread so far, and a channel that is closed with the
// next request of any thread.
func (s *scripted) asked(thread string) ([]asked, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]asked(nil), s.seen[thread]...), s.changed
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway died on the way
	}
	var in struct {
		ThreadID, RunID, ParentRunID string
		Messages                     []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := asked{run: in.RunID, parent: in.ParentRunID}
	for _, m := range in.Messages {
		a.roles = append(a.roles, m.Role)
		if m.Role == "tool" {
			a.results = append(a.results, string(m.Content))
		}
	}
	act := s.note(in.ThreadID, a)
	if act == actSilent {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	frames := part(in.ThreadID, in.RunID, len(a.results) > 0)
	if act == actNext {
		frames = calling(in.ThreadID, in.RunID, nextOf(in.ThreadID))
	}
	if act == actHalf {
		frames = frames[:3]
	}
	if act != actEnd && act != actHalf {
		frames = frames[:len(frames)-1]
	}
	for _, f := range frames {
		encoded, _ := json.Marshal(f)
		_, _ = fmt.Fprintf(w, "data: %s\n\n", encoded)
	}
	w.(http.Flusher).Flush()
	if act != actEnd {
		<-r.Context().Done()
	}
}

// note records a request and gives what is to be done with it.
func (s *scripted) note(thread string, a asked) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[thread] = append(s.seen[thread], a)
	close(s.changed)
	s.changed = make(chan struct{})
	switch {
	case !s.first:
		return actEnd
	case len(a.results) > 0:
		return s.scripts[thread].reply
	}
	return s.scripts[thread].opening
}

// part is the agent's part of the conversation: the call, or the reply to its
// result.
func part(thread, run string, told bool) []map[string]any {
	if !told {
		return calling(thread, run, callOf(thread))
	}
	id := "reply-" + run
	return []map[string]any{
		{"type": "RUN_STARTED", "threadId": thread, "runId": run},
		{"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"},
		{"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": halfReply},
		{"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": wholeReply[len(halfReply):]},
		{"type": "TEXT_MESSAGE_END", "messageId": id},
		{"type": "RUN_FINISHED", "threadId": thread, "runId": run}}
}

func calling(thread, run, id string) []map[string]any {
	return []map[string]any{
		{"type": "RUN_STARTED", "threadId": thread, "runId": run},
		{"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "get_location", "parentMessageId": "m-" + id},
		{"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": "{}"},
		{"type": "TOOL_CALL_END", "toolCallId": id},
		{"type": "RUN_FINISHED", "threadId": thread, "runId": run}}
}

func callOf(thread string) string { return "call-" + thread }
func nextOf(thread string) string { return "next-" + thread }

// gate holds what a caller sends first while it is shut, so that a TLS connection
// does not come to stand.
type gate struct {
	net.Listener
	mu      sync.Mutex
	open    chan struct{} // closed while the gate is open
	reached chan struct{} // one for each connection that is held
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) lift() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

func (g *gate) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &heldConn{Conn: c, gate: g}, nil
}

type heldConn struct {
	net.Conn
	gate *gate
	once sync.Once
}

func (c *heldConn) Read(b []byte) (int, error) {
	c.gate.mu.Lock()
	open := c.gate.open
	c.gate.mu.Unlock()
	select {
	case <-open:
	default:
		c.once.Do(func() { c.gate.reached <- struct{}{} })
		<-open
	}
	return c.Conn.Read(b)
}

// listen makes the agent listen, at the address it had before if it had one. Each
// request makes a connection of its own, so that none is left when it goes down.
func (s *scripted) listen(t *testing.T) {
	t.Helper()
	if old := s.Listener.Addr().String(); s.URL != "" {
		l, err := net.Listen("tcp", old)
		if err != nil {
			t.Fatal(err)
		}
		s.Server = httptest.NewUnstartedServer(s)
		_ = s.Listener.Close()
		s.Listener = l
	}
	s.Config.SetKeepAlivesEnabled(false)
	s.Start()
}
