package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// gateway is one running aguigate.
type gateway struct {
	*process
	listen, admin string // http://HOST:PORT
}

// configuration of a gateway with every agent of this package behind it.
const configuration = `
listen: 127.0.0.1:0
admin: {listen: 127.0.0.1:0}
store: {nats: embedded, dir: %q}
agents:
  copilot:
    upstream: {kind: agui, url: %q}
  gosdk:
    upstream: {kind: agui, url: %q}
  scripted:
    upstream: {kind: agui, url: %q}
  recorded:
    upstream: {kind: agui, url: %q}
  demo:
    upstream: {kind: demo}
`

// startGateway runs `aguigate serve` on a store directory and waits for its
// ready line [CLI-2].
func startGateway(dir string) (*gateway, error) {
	copilot, err := copilotURL()
	if err != nil {
		return nil, err
	}
	gosdk, err := goAgentURL()
	if err != nil {
		return nil, err
	}
	own, err := theStage()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "aguigate.yaml")
	text := fmt.Sprintf(configuration, filepath.Join(dir, "data"), copilot, gosdk, own.scripted(), own.recorded())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return runGateway("serve", "--config", file)
}

// runGateway runs the binary under test with any arguments that make it serve.
func runGateway(args ...string) (*gateway, error) {
	path, err := gatewayBinary()
	if err != nil {
		return nil, err
	}
	p, err := start(path, args...)
	if err != nil {
		return nil, err
	}
	rest, err := p.ready("aguigate ready ")
	if err != nil {
		p.kill()
		return nil, err
	}
	g := &gateway{process: p}
	for _, field := range strings.Fields(rest) {
		switch key, value, _ := strings.Cut(field, "="); key {
		case "listen":
			g.listen = "http://" + value
		case "admin":
			g.admin = "http://" + value
		}
	}
	if g.listen == "" || g.admin == "" {
		p.kill()
		return nil, fmt.Errorf("[CLI-2] ready line %q", rest)
	}
	return g, nil
}

// clean looks for what must never stand in a gateway's log.
func (g *gateway) clean() error {
	for _, sign := range []string{"DATA RACE", "panic", "fatal error"} {
		if log := g.errors.String(); strings.Contains(log, sign) {
			at := strings.Index(log, sign)
			return fmt.Errorf("the gateway's log says %s:\n%s", sign, log[max(0, at-200):min(len(log), at+logPart)])
		}
	}
	return nil
}

// theGateway serves all tests that need nothing special of it.
var theGateway = sync.OnceValues(func() (*gateway, error) {
	g, err := startGateway(workDir)
	if err == nil {
		keepShared(g.process, g.clean)
	}
	return g, err
})

// run is the AG-UI route of an agent.
func (g *gateway) run(agent string) string { return g.listen + "/agents/" + agent + "/run" }

// answer is what a plain request got.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// caller is the plain HTTP client of these tests; a wait of the Gateway API
// stays below its limit.
var caller = &http.Client{Timeout: 30 * time.Second}

// call sends one JSON request, or a GET when body is nil.
func call(t *testing.T, method, target string, body any) answer {
	t.Helper()
	a, err := tryCall(method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func tryCall(method, target string, body any) (answer, error) {
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequest(method, target, reader)
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := caller.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	got, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, got}, err
}

// into decodes the answer of a request that must have that status.
func (a answer) into(t *testing.T, status int, value any) {
	t.Helper()
	if a.Status != status {
		t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	if err := json.Unmarshal(a.Body, value); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
}

// invocation is what the Gateway API shows of one call.
type invocation struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	Released  bool   `json:"released"`
	Outcome   string `json:"outcome"`
	Delivery  string `json:"delivery"`
	Tool      string `json:"tool"`
	CallID    string `json:"call_id"`
	Agent     string `json:"agent"`
	Thread    string `json:"thread"`
	Arguments any    `json:"arguments"`
}

// invocations are a thread's, oldest first; state "" means all.
func (g *gateway) invocations(t *testing.T, agent, thread, state string) []invocation {
	t.Helper()
	query := url.Values{"agent": {agent}}
	if state != "" {
		query.Set("state", state)
	}
	var page struct {
		Invocations []invocation `json:"invocations"`
	}
	target := g.listen + "/v1/threads/" + url.PathEscape(thread) + "/invocations?" + query.Encode()
	call(t, "GET", target, nil).into(t, 200, &page)
	return page.Invocations
}

// onlyOpen is the thread's one open invocation.
func (g *gateway) onlyOpen(t *testing.T, agent, thread string) invocation {
	t.Helper()
	list := g.invocations(t, agent, thread, "open")
	if len(list) != 1 {
		t.Fatalf("open invocations %+v, want one", list)
	}
	if !list[0].Released {
		t.Errorf("[INV-1] not released after its run ended: %+v", list[0])
	}
	return list[0]
}

// invocation reads one, waiting for its end if wait is not "".
func (g *gateway) invocation(t *testing.T, id, wait string) invocation {
	t.Helper()
	var one struct {
		Invocation invocation `json:"invocation"`
	}
	target := g.listen + "/v1/invocations/" + id
	if wait != "" {
		target += "?wait=" + wait
	}
	call(t, "GET", target, nil).into(t, 200, &one)
	return one.Invocation
}

// settlement is the answer to a resolve.
type settlement struct {
	Invocation invocation `json:"invocation"`
	Replayed   bool       `json:"replayed"`
}

// resolve settles one invocation through the Gateway API.
func (g *gateway) resolve(t *testing.T, id string, body map[string]any) answer {
	t.Helper()
	return call(t, "POST", g.listen+"/v1/invocations/"+id+"/resolve", body)
}

// conflict checks a refused settlement: 409, its code, and the accepted value.
func conflict(t *testing.T, a answer, accepted string) {
	t.Helper()
	if code := a.Header.Get("X-Aguigate-Code"); a.Status != 409 || code != "action_result_conflict" {
		t.Errorf("[INV-3] status %d code %q: %s", a.Status, code, a.Body)
	}
	if !bytes.Contains(a.Body, []byte(accepted)) {
		t.Errorf("[INV-3] the refusal does not carry the accepted result %q: %s", accepted, a.Body)
	}
}
