package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

// stage is a backend that plays what a case wrote down for its thread, one act a
// request, so that several cases may share a gateway. It keeps what it was asked.
type stage struct {
	*httptest.Server
	t     *testing.T
	mu    sync.Mutex
	acts  map[string][]act
	asked map[string][]string
	conns map[net.Conn]http.ConnState
}

// act is the answer to one request.
type act func(w http.ResponseWriter, r *http.Request, body string)

// beginPatient is a stage and a gateway in front of it, as most groups have it.
func beginPatient(t *testing.T) (*stage, *world) {
	t.Helper()
	s := newStage(t)
	return s, begin(t, patient(s.URL, ""))
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, acts: map[string][]act{}, asked: map[string][]string{}, conns: map[net.Conn]http.ConnState{}}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ConnState = s.connState
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP plays the next act of the request's thread.
func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	all, _ := io.ReadAll(r.Body)
	body := string(all)
	thread, _ := reply{body: body}.field("threadId").(string)
	s.mu.Lock()
	n := len(s.asked[thread])
	s.asked[thread] = append(s.asked[thread], body)
	acts := s.acts[thread]
	s.mu.Unlock()
	switch {
	case n < len(acts):
		acts[n](w, r, body)
	case len(acts) > 0:
		acts[len(acts)-1](w, r, body)
	default:
		frames("r")(w, r, body)
	}
}

func (s *stage) connState(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[c] = state; state == http.StateClosed || state == http.StateHijacked {
		delete(s.conns, c)
	}
}

// connections counts the open ones, and those of them with a request.
func (s *stage) connections() (open, busy int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range s.conns {
		if open++; state == http.StateActive {
			busy++
		}
	}
	return open, busy
}

// plays sets the acts of a thread; the last one is repeated. A thread without acts
// gets runs in which nothing is said.
func (s *stage) plays(thread string, acts ...act) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acts[thread] = acts
}

// asks gives the bodies the thread's requests had.
func (s *stage) asks(thread string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked[thread]...)
}

// newest gives the thread's newest request.
func (s *stage) newest(thread string) string {
	s.t.Helper()
	all := s.asks(thread)
	if len(all) == 0 {
		s.t.Fatalf("the agent was not asked on %s", thread)
	}
	return all[len(all)-1]
}

// frames answers with a whole run of the frames.
func frames(run string, more ...string) act {
	return func(w http.ResponseWriter, _ *http.Request, body string) {
		ids := fmt.Sprintf(`"threadId":%q,"runId":%q}`, reply{body: body}.field("threadId"), run)
		all := append([]string{`{"type":"RUN_STARTED",` + ids}, more...)
		say(w, append(all, `{"type":"RUN_FINISHED",`+ids)...)
	}
}

// exactly answers with the frames and nothing else.
func exactly(all ...string) act {
	return func(w http.ResponseWriter, _ *http.Request, _ string) { say(w, all...) }
}

// raw answers with these bytes of an event stream.
func raw(text string) act {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}
}

// started and finished are the first and the last event of a run.
func started(thread string) string {
	return `{"type":"RUN_STARTED","threadId":"` + thread + `","runId":"r1"}`
}

func finished(thread string) string {
	return `{"type":"RUN_FINISHED","threadId":"` + thread + `","runId":"r1"}`
}

// calling is frames that start and end calls of a tool, all in one message.
func calling(message, tool string, calls ...string) (out []string) {
	for _, id := range calls {
		out = append(out, fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":%q,"toolCallName":%q,"parentMessageId":%q}`, id, tool, message),
			fmt.Sprintf(`{"type":"TOOL_CALL_ARGS","toolCallId":%q,"delta":"{}"}`, id), fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":%q}`, id))
	}
	return out
}

// saying is frames of one text.
func saying(message, words string) []string {
	return []string{fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":%q,"role":"assistant"}`, message),
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":%q,"delta":%q}`, message, words),
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_END","messageId":%q}`, message)}
}

// offered advertises tools by name.
func offered(names ...string) string {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf(`{"name":%q,"description":"d","parameters":{"type":"object"}}`, n))
	}
	return strings.Join(out, ",")
}

// older is a request of a client that names no version.
func older(body string) string { return strings.Replace(body, `"protocolVersion":"1.0",`, "", 1) }

// reads writes the messages of a request in short: role, id, what it calls or
// answers, and what it says.
func reads(body string) string {
	var in struct {
		Messages []struct {
			ID, Role, ToolCallID string
			Content              json.RawMessage
			ToolCalls            []struct{ ID string }
		}
	}
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		return err.Error()
	}
	var out []string
	for _, m := range in.Messages {
		s := m.Role + " " + m.ID
		for _, c := range m.ToolCalls {
			s += " +" + c.ID
		}
		if m.ToolCallID != "" {
			s += " =" + m.ToolCallID
		}
		if len(m.Content) > 0 {
			s += " " + shortened.Replace(string(m.Content))
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

// shortened says in short what a model is told of a call without an answer.
var shortened = strings.NewReplacer("The client did not answer this tool call. It is not known to have run.", "NO ANSWER",
	"This tool call has not been answered yet. If an answer comes, it will be in a later message.", "NOT YET")

// lines is a list as reads writes it.
func lines(all ...string) string { return strings.Join(all, "\n") }

// kinds joins the types of frames.
func kinds(f []agui.Frame) string { return strings.Join(types(f), " ") }

// post sends a body to an agent and gives what comes back, whatever it is.
func (w *world) post(agent, body string) reply {
	w.t.Helper()
	return w.do(call{method: "POST", path: "/agents/" + agent + "/run", body: body})
}

// blocks gives the data of each frame of a stream.
func blocks(body string) (out []string) {
	for b := range strings.SplitSeq(body, "\n\n") {
		if data, ok := strings.CutPrefix(b, "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}

// calls lists the invocations of a thread, "c1=open c2=settled".
func (w *world) calls(thread string) string {
	w.t.Helper()
	r := w.do(call{method: "GET", path: "/v1/threads/" + thread + "/invocations"})
	list, _ := r.field("invocations").([]any)
	var out []string
	for _, one := range list {
		inv := one.(map[string]any)
		out = append(out, fmt.Sprint(inv["call_id"], "=", inv["state"]))
	}
	return strings.Join(out, " ")
}

// invocation gives the record of a call by the id its client was shown.
func (w *world) invocation(thread, shown string) map[string]any {
	w.t.Helper()
	r := w.do(call{method: "GET", path: "/v1/threads/" + thread + "/invocations"})
	list, _ := r.field("invocations").([]any)
	for _, one := range list {
		if inv := one.(map[string]any); inv["call_id"] == shown {
			return inv
		}
	}
	w.t.Fatalf("no call %s among %s", shown, r.body)
	return nil
}

// sum reads a metric that may not be there yet.
func (w *world) sum(series string) string {
	w.t.Helper()
	res, err := testClient.Get(w.admin + "/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	for line := range strings.SplitSeq(readAll(res), "\n") {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			return rest
		}
	}
	return "0"
}

// reading is an answer that comes bit by bit.
type reading struct {
	safeBuffer
	t     *testing.T
	res   *http.Response
	ended chan struct{}
}

// reading opens a stream and reads it in the background, until its end or leave.
func (w *world) reading(c call) *reading {
	w.t.Helper()
	res, err := w.open(c)
	if err != nil {
		w.t.Fatal(err)
	}
	if res.StatusCode != 200 {
		w.t.Fatalf("%s %s: %d %s", c.method, c.path, res.StatusCode, readAll(res))
	}
	r := &reading{t: w.t, res: res, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		_, _ = io.Copy(r, res.Body)
	}()
	w.t.Cleanup(r.leave)
	return r
}

// opened posts a run and gives its stream.
func (w *world) opened(agent, thread, run string) *reading {
	w.t.Helper()
	return w.reading(call{method: "POST", path: "/agents/" + agent + "/run", body: input(thread, run, "", user("u1", "hi"))})
}

// leave closes the connection.
func (r *reading) leave() {
	_ = r.res.Body.Close()
	<-r.ended
}

// whole waits for the stream's end.
func (r *reading) whole() {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(10 * time.Second):
		r.t.Fatalf("the stream does not end; so far %q", r.String())
	}
}

// has waits until the stream holds the text.
func (r *reading) has(text string) {
	r.t.Helper()
	for end := time.Now().Add(5 * time.Second); !strings.Contains(r.String(), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not within 5 s: %s in %q", text, r.String())
		}
	}
}

// soon takes what comes within ten seconds.
func soon[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(10 * time.Second):
		t.Fatalf("not within 10 s: %s", what)
	}
	return v
}
