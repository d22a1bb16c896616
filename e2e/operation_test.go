package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// `aguigate demo` needs nothing: both published clients get an answer, SIGTERM
// ends it with code 0 [CLI-1] [CLI-4].
func TestDemoCommand(t *testing.T) {
	t.Parallel()
	g, err := runGateway("demo", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.kill)
	g.logsOnFailure(t)
	for _, version := range versions {
		thread := threadID(t) + version
		c := open(t, opening{Version: version, URL: g.run("demo"), ThreadID: thread})
		r := c.do(step{User: "where am I", Tools: bothTools, Answers: map[string]string{"get_location": awkward}})
		finished(t, r, version, thread, 2)
		contains(t, r.lastText(), awkward)
	}
	if err := g.stop(); err != nil {
		t.Fatalf("[CLI-4] %v", err)
	}
}

// The metrics page passes promtool's lint after real traffic [OPS-2].
func TestMetrics(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal(`promtool is missing: install it, e.g. apt-get install prometheus`)
	}
	c, g, thread := join(t, "1.0.0", "gosdk")
	r := c.do(step{User: "where am I", Tools: bothTools, Answers: map[string]string{"get_location": "Porto"}})
	finished(t, r, "1.0.0", thread, 2)
	page := call(t, "GET", g.admin+"/metrics", nil)
	if page.Status != 200 {
		t.Fatalf("status %d", page.Status)
	}
	lint := exec.Command(promtool, "check", "metrics")
	lint.Stdin = bytes.NewReader(page.Body)
	if said, err := lint.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, said)
	}
	for _, name := range []string{"aguigate_runs_total", "aguigate_run_duration_seconds", "aguigate_active_runs", "aguigate_events_total",
		"aguigate_event_bytes_total", "aguigate_invocations_total", "aguigate_open_invocations", "aguigate_invocation_wait_seconds",
		"aguigate_upstream_first_byte_seconds", "go_goroutines", "process_open_fds"} {
		if !bytes.Contains(page.Body, []byte("# TYPE "+name+" ")) {
			t.Errorf("[OPS-2] no %s", name)
		}
	}
	if bytes.Contains(page.Body, []byte(thread)) {
		t.Error("[OPS-2] a label carries a client's thread id")
	}
}

func TestAdminListener(t *testing.T) {
	g := must(t, theGateway)
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := call(t, "GET", g.admin+path, nil); a.Status != 200 {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/debug/pprof/"} {
		if a := call(t, "GET", g.listen+path, nil); a.Status != 404 {
			t.Errorf("[OPS-1] the public listener answers %s with %d", path, a.Status)
		}
	}
}

// The published schema accepts what the gateway says about each agent (§7.1).
func TestCapabilities(t *testing.T) {
	g := must(t, theGateway)
	var all struct {
		Agents map[string]json.RawMessage `json:"agents"`
	}
	call(t, "GET", g.listen+"/agents", nil).into(t, 200, &all)
	for _, agent := range agents {
		one := call(t, "GET", g.listen+"/agents/"+agent, nil)
		if one.Status != 200 {
			t.Fatalf("%s: %d %s", agent, one.Status, one.Body)
		}
		for _, document := range [][]byte{one.Body, all.Agents[agent]} {
			check := exec.Command(must(t, node), filepath.Join("clients", "schema.mjs"), "AgentCapabilitiesSchema")
			check.Stdin = bytes.NewReader(document)
			if said, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %v\n%s", agent, document, err, said)
			}
		}
	}
}

func TestOpenAPI(t *testing.T) {
	g := must(t, theGateway)
	var document struct {
		OpenAPI string                     `json:"openapi"`
		Paths   map[string]json.RawMessage `json:"paths"`
	}
	call(t, "GET", g.listen+"/openapi.json", nil).into(t, 200, &document)
	if !strings.HasPrefix(document.OpenAPI, "3.") {
		t.Errorf("openapi is %q", document.OpenAPI)
	}
	for _, path := range []string{"/agents/{agent}/run", "/v1/invocations/{id}", "/v1/invocations/{id}/resolve", "/v1/threads/{thread}/resolve"} {
		if document.Paths[path] == nil {
			t.Errorf("no %s", path)
		}
	}
}
