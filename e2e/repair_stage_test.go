package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// faultyAgent is an agent backend that says what a thread's script has, word for
// word, and keeps what it was asked.
type faultyAgent struct {
	server  *httptest.Server
	mu      sync.Mutex
	scripts map[string]answerScript
	asked   map[string][]byte // the last request of each thread
}

// answerScript is one answer: SSE data payloads, and how the answer ends.
type answerScript struct {
	data []string
	cut  bool // the connection breaks, where else the body ends
}

var theFaultyAgent = sync.OnceValue(func() *faultyAgent {
	a := &faultyAgent{scripts: map[string]answerScript{}, asked: map[string][]byte{}}
	a.server = httptest.NewServer(http.HandlerFunc(a.serve))
	return a
})

func (a *faultyAgent) serve(w http.ResponseWriter, r *http.Request) {
	var input struct {
		Thread string `json:"threadId"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &input)
	}
	a.mu.Lock()
	s, known := a.scripts[input.Thread]
	a.asked[input.Thread] = body
	a.mu.Unlock()
	if err != nil || !known {
		http.Error(w, fmt.Sprintf("no script for thread %q (%v)", input.Thread, err), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, data := range s.data {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	}
	_ = http.NewResponseController(w).Flush()
	if s.cut {
		time.Sleep(20 * time.Millisecond) // or the break overtakes what was written
		panic(http.ErrAbortHandler)
	}
}

// play makes s the answer to the next run of a thread.
func (a *faultyAgent) play(thread string, s answerScript) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scripts[thread] = s
}

// told is the last request on a thread as the agent read it.
func (a *faultyAgent) told(t *testing.T, thread string) (in toldInput) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := json.Unmarshal(a.asked[thread], &in); err != nil {
		t.Fatalf("%v: %s", err, a.asked[thread])
	}
	return in
}

type toldInput struct {
	Version  string    `json:"protocolVersion"`
	Messages []message `json:"messages"`
}

// The agents of the repair gateway: one for each set of switches that a fixture
// asks for, behind an upstream whose version is found out, and one that is told it.
func repairAgents(b *strings.Builder, url string) error {
	sets, err := fixtures()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, f := range sets {
		for _, protocol := range []string{"auto", "1.0"} {
			name := f.agent(protocol)
			if seen[name] {
				continue
			}
			seen[name] = true
			fmt.Fprintf(b, "  %s:\n    upstream: {kind: agui, url: %q, protocol: %q}\n    repairs: {", name, url, protocol)
			for i, s := range f.switches {
				if i > 0 {
					b.WriteString(", ")
				}
				fmt.Fprintf(b, "%s: %s", s.name, s.value)
			}
			b.WriteString("}\n")
		}
	}
	return nil
}

// repairGateway serves the tests of repairs, profiles and protobuf.
var repairGateway = sync.OnceValues(func() (*gateway, error) {
	packed, err := packedURL()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if err := repairAgents(&b, theFaultyAgent().server.URL); err != nil {
		return nil, err
	}
	for _, version := range []string{"1.0.0", "0.0.59"} {
		fmt.Fprintf(&b, "  %s:\n    upstream: {kind: agui, url: %q, encoding: protobuf}\n", packedAgent(version), packed+"/"+version)
	}
	// Each finds out for itself what its agent speaks [UP-4], so none is shared by tests
	// whose agents speak differently.
	for _, name := range []string{"plain", "older", "newer"} {
		fmt.Fprintf(&b, "  %s:\n    upstream: {kind: agui, url: %q}\n", name, theFaultyAgent().server.URL)
	}
	g, err := gatewayOf(b.String())
	if err == nil {
		keepShared(g.process, g.clean)
	}
	return g, err
})

// gatewayOf runs a gateway with those agents, in YAML.
func gatewayOf(agents string) (*gateway, error) {
	dir, err := os.MkdirTemp(workDir, "repair-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "aguigate.yaml")
	text := fmt.Sprintf("listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\nstore: {nats: embedded, dir: %q}\nagents:\n%s", filepath.Join(dir, "data"), agents)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return runGateway("serve", "--config", file)
}

// packedURL is the server of upstreams/packed.mjs; a package version is its path.
var packedURL = sync.OnceValues(func() (string, error) {
	path, err := node()
	if err != nil {
		return "", err
	}
	return startShared("ready ", path, filepath.Join("upstreams", "packed.mjs"))
})

func packedAgent(version string) string { return "packed-" + strings.ReplaceAll(version, ".", "-") }

// generations are the published clients, and how each says what it is [RUN-11].
var generations = []struct {
	version string
	headers map[string]string
}{
	{"1.0.0", nil},
	{"0.0.59", map[string]string{"X-AGUI-Profile": "0.0.59"}},
	{"0.0.45", map[string]string{"X-AGUI-Profile": "0.0.45"}},
}

// reader is clients/repair.mjs.
type reader struct{ *process }

var theReader = sync.OnceValues(func() (*reader, error) {
	path, err := node()
	if err != nil {
		return nil, err
	}
	p, err := start(path, filepath.Join("clients", "repair.mjs"))
	if err == nil {
		keepShared(p, nil)
	}
	return &reader{p}, err
})

// reading is one order for the reader.
type reading struct {
	Version  string            `json:"version"`
	URL      string            `json:"url"`
	Thread   string            `json:"threadId"`
	Run      string            `json:"runId"`
	Headers  map[string]string `json:"headers,omitempty"`
	Accept   string            `json:"accept,omitempty"`
	Messages []map[string]any  `json:"messages,omitempty"`
	State    map[string]any    `json:"state,omitempty"`
	Tools    []tool            `json:"tools,omitempty"`
}

// readout is what the reader found.
type readout struct {
	Broken      string            `json:"broken"`
	Status      int               `json:"status"`
	ContentType string            `json:"contentType"`
	RequestID   string            `json:"requestId"`
	Wire        []string          `json:"wire"`
	Problems    []string          `json:"problems"`
	Events      []json.RawMessage `json:"events"`
	Messages    []message         `json:"messages"`
	State       json.RawMessage   `json:"state"`
	Error       *failure          `json:"error"`
	Complaints  []string          `json:"complaints"`
}

// read runs a client once.
func (r *reader) read(t *testing.T, order reading) readout {
	t.Helper()
	var out readout
	askJSON(t, r.process, order, &out)
	if out.Broken != "" {
		t.Fatalf("driver broke: %s", out.Broken)
	}
	return out
}

// askJSON sends a driver one line and reads its one line.
func askJSON(t *testing.T, p *process, order, answer any) {
	t.Helper()
	line, err := json.Marshal(order)
	if err == nil {
		_, err = p.stdin.Write(append(line, '\n'))
	}
	if err != nil {
		t.Fatalf("%v; standard error:\n%s", err, p.errors.String())
	}
	said, err := p.line(stepLimit)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(said), answer); err != nil {
		t.Fatalf("driver said %q: %v", said, err)
	}
}

// String shows a readout the way a failing test wants to print it.
func (r readout) String() string {
	messages, _ := json.Marshal(r.Messages)
	return fmt.Sprintf("status %d %s, error %+v\nproblems %q\ncomplaints %q\nwire\n  %s\nmessages %s\nstate %s",
		r.Status, r.ContentType, r.Error, r.Problems, r.Complaints, strings.Join(r.Wire, "\n  "), messages, r.State)
}
