package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// stage is an agent backend of the tests' own, for what no real one does on
// purpose, and the recorder in front of the real one. It keeps what each thread's
// agent was asked.
type stage struct {
	server *httptest.Server
	mu     sync.Mutex
	asked  map[string][]question
	parts  map[string]func(*scene)
}

// question is one request as the agent read it.
type question struct {
	Thread   string    `json:"threadId"`
	Run      string    `json:"runId"`
	Parent   string    `json:"parentRunId"`
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools"`
}

// theStage serves all tests of the package, until the process ends.
var theStage = sync.OnceValues(func() (*stage, error) {
	real, err := copilotURL()
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(real)
	if err != nil {
		return nil, err
	}
	s := &stage{asked: map[string][]question{}, parts: map[string]func(*scene){}}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL, r.Out.Host = target, target.Host },
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /scripted", func(w http.ResponseWriter, r *http.Request) {
		if q, ok := s.note(w, r); ok {
			s.play(w, r, q)
		}
	})
	mux.HandleFunc("POST /recorded", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := s.note(w, r); ok {
			proxy.ServeHTTP(w, r)
		}
	})
	s.server = httptest.NewServer(mux)
	return s, nil
})

func (s *stage) scripted() string { return s.server.URL + "/scripted" }
func (s *stage) recorded() string { return s.server.URL + "/recorded" }

// note keeps what was asked and leaves the body to be read again.
func (s *stage) note(w http.ResponseWriter, r *http.Request) (q question, ok bool) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return q, false
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[q.Thread] = append(s.asked[q.Thread], q)
	return q, true
}

// questions are what the agent was asked on a thread, oldest first.
func (s *stage) questions(thread string) []question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]question(nil), s.asked[thread]...)
}

// on gives a thread's agent its part; without one it repeats what the user said.
func (s *stage) on(t *testing.T, thread string, part func(*scene)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[thread] = part
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.parts, thread)
	})
}

// scene is one run of the scripted agent.
type scene struct {
	question
	left <-chan struct{} // closed when the gateway has hung up
	out  io.Writer
}

func (s *stage) play(w http.ResponseWriter, r *http.Request, q question) {
	s.mu.Lock()
	part := s.parts[q.Thread]
	s.mu.Unlock()
	if part == nil {
		part = func(c *scene) { c.text("m-"+c.Run, "You said: "+c.user()) }
	}
	w.Header().Set("Content-Type", "text/event-stream")
	c := &scene{question: q, left: r.Context().Done(), out: w}
	c.send("RUN_STARTED", "threadId", q.Thread, "runId", q.Run)
	part(c)
	c.send("RUN_FINISHED", "threadId", q.Thread, "runId", q.Run)
}

// send writes one event at once.
func (c *scene) send(kind string, members ...string) {
	event := map[string]string{"type": kind}
	for i := 0; i < len(members); i += 2 {
		event[members[i]] = members[i+1]
	}
	encoded, _ := json.Marshal(event)
	fmt.Fprintf(c.out, "data: %s\n\n", encoded)
	_ = http.NewResponseController(c.out.(http.ResponseWriter)).Flush()
}

// text says one message, in as many pieces as are given.
func (c *scene) text(id string, pieces ...string) {
	c.send("TEXT_MESSAGE_START", "messageId", id, "role", "assistant")
	for _, piece := range pieces {
		c.send("TEXT_MESSAGE_CONTENT", "messageId", id, "delta", piece)
	}
	c.send("TEXT_MESSAGE_END", "messageId", id)
}

// call makes one tool call in the message of that id.
func (c *scene) call(message, id, name, arguments string) {
	c.send("TOOL_CALL_START", "toolCallId", id, "toolCallName", name, "parentMessageId", message)
	half := len(arguments) / 2
	c.send("TOOL_CALL_ARGS", "toolCallId", id, "delta", arguments[:half])
	c.send("TOOL_CALL_ARGS", "toolCallId", id, "delta", arguments[half:])
	c.send("TOOL_CALL_END", "toolCallId", id)
}

// user is the last thing the user said.
func (c *scene) user() string {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if c.Messages[i].Role == "user" {
			return c.Messages[i].text()
		}
	}
	return ""
}

// results are the contents of the tool messages behind the last user message.
func (c *scene) results() (list []string) {
	for _, m := range c.Messages {
		switch m.Role {
		case "user":
			list = nil
		case "tool":
			list = append(list, m.text())
		}
	}
	return list
}
