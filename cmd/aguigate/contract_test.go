package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/aguigate/aguigate/adapters/frontend/api"
	"github.com/aguigate/aguigate/protocol/fault"
)

// openAPI is the served description, parsed.
type openAPI struct {
	Paths map[string]map[string]struct {
		Parameters []struct{ Name, In string }
		Responses  map[string]struct {
			Ref     string `json:"$ref"`
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
}

// The description and the handlers have the same routes, each with its path
// parameters.
func TestOpenAPIRoutes(t *testing.T) {
	var doc openAPI
	if err := json.Unmarshal(api.OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	w := begin(t, demoAgent)
	served := map[string]bool{}
	for _, r := range w.in.server.Routes() {
		served[r.Method+" "+r.Path] = true
		op, ok := doc.Paths[r.Path][strings.ToLower(r.Method)]
		if !ok {
			t.Errorf("%s %s is not described", r.Method, r.Path)
			continue
		}
		for part := range strings.SplitSeq(r.Path, "/") {
			name := strings.Trim(part, "{}")
			if name == part {
				continue
			}
			if !slices.ContainsFunc(op.Parameters, func(p struct{ Name, In string }) bool { return p.Name == name && p.In == "path" }) {
				t.Errorf("%s %s: path parameter %s is not described", r.Method, r.Path, name)
			}
		}
		if !r.Public && op.Responses["401"].Ref == "" {
			t.Errorf("%s %s can answer 401, which is not described", r.Method, r.Path)
		}
	}
	for path, ops := range doc.Paths {
		for method := range ops {
			if !served[strings.ToUpper(method)+" "+path] {
				t.Errorf("%s %s is described and not served", strings.ToUpper(method), path)
			}
		}
	}
	if r := w.do(call{method: "GET", path: "/openapi.json"}); r.body != string(api.OpenAPI) {
		t.Error("what is served is not the file")
	}
}

// Every JSON example in the description is one of its schema.
func TestOpenAPIExamples(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(api.OpenAPI))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	var walk func(at string, v any)
	walk = func(at string, v any) {
		m, _ := v.(map[string]any)
		example, has := m["example"]
		if _, schema := m["schema"].(map[string]any); has && schema && strings.HasSuffix(at, "application~1json") {
			found++
			if err := schemaAt(t, at+"/schema").Validate(example); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		}
		for key, value := range m {
			walk(at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), value)
		}
	}
	walk("", doc)
	if found < 10 {
		t.Errorf("%d examples were found", found)
	}
}

// bodySchema compiles the schema of a described answer.
func bodySchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	return schemaAt(t, "/components/schemas/"+name)
}

// schemaAt compiles what stands at a JSON Pointer of the description.
func schemaAt(t *testing.T, pointer string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(api.OpenAPI))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("openapi.json#" + (&url.URL{Fragment: pointer}).EscapedFragment())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Real answers match the described schemas.
func TestOpenAPIBodies(t *testing.T) {
	w := begin(t, demoAgent)
	id, _, _ := w.waiting("", "demo", "th1")
	left, _, _ := w.waiting("", "demo", "th2")
	for _, c := range []struct {
		call
		schema string
		status int
	}{
		{call{method: "GET", path: "/agents"}, "Agents", 200},
		{call{method: "GET", path: "/agents/demo"}, "Capabilities", 200},
		{call{method: "GET", path: "/v1/threads/th1/invocations"}, "InvocationList", 200},
		{call{method: "GET", path: "/v1/invocations/" + id}, "InvocationBody", 200},
		{call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"content":[{"type":"text","text":"hi"}]}`}, "Resolved", 200},
		{call{method: "GET", path: "/v1/invocations/" + id}, "InvocationBody", 200},
		{call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":1}`}, "Error", 409},
		{call{method: "POST", path: "/v1/threads/th1/resolve", body: `{"results":[{"id":"` + id + `","content":[{"type":"text","text":"hi"}]}]}`}, "ResolvedList", 200},
		{call{method: "GET", path: "/v1/threads/none/invocations"}, "Error", 404},
		{call{method: "GET", path: "/v1/threads"}, "ThreadList", 200},
		{call{method: "GET", path: "/v1/threads?limit=0"}, "Error", 400},
		{call{method: "GET", path: "/v1/threads/th1"}, "Thread", 200},
		{call{method: "GET", path: "/v1/threads/none"}, "Error", 404},
		{call{method: "GET", path: "/v1/invocations?tool=get_location&limit=1"}, "InvocationList", 200},
		{call{method: "POST", path: "/v1/threads/th1/stop", body: `{"run":"none"}`}, "Stopped", 200},
		{call{method: "POST", path: "/v1/threads/th1/stop", body: `{"run":1}`}, "Error", 400},
		{call{method: "POST", path: "/agents/demo/stop", body: `{"threadId":"th1"}`}, "Stopped", 200},
		{call{method: "POST", path: "/v1/invocations/" + left + "/resolve", body: `{"result":{"city":"Porto"},"continue":false}`}, "Resolved", 200},
		{call{method: "POST", path: "/v1/threads/th2/continue"}, "Continued", 202},
		{call{method: "GET", path: "/v1/threads/th1/events", header: map[string]string{"Last-Event-ID": "x"}}, "Error", 400},
		{call{method: "DELETE", path: "/v1/threads/th1"}, "", 204},
		{call{method: "DELETE", path: "/v1/threads/th1"}, "Error", 404},
	} {
		r := w.do(c.call)
		if r.status != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, r.status, r.body)
		}
		if c.schema == "" {
			continue
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(r.body))
		if err == nil {
			err = bodySchema(t, c.schema).Validate(v)
		}
		if err != nil {
			t.Errorf("%s %s: %v\n%s", c.method, c.path, err, r.body)
		}
	}
}

// Every code the gateway uses is in the table, with the contract's status.
func TestCodesHaveAStatus(t *testing.T) {
	for code, want := range map[fault.Code]int{
		fault.InvalidRequest: 400, fault.InvalidTool: 400, fault.ToolReserved: 400, fault.InvalidResult: 400, fault.InvalidResume: 400,
		fault.Unauthenticated: 401, fault.Forbidden: 403, fault.NotOwner: 403, fault.OriginRefused: 403,
		fault.AgentNotFound: 404, fault.ThreadNotFound: 404, fault.InvocationNotFound: 404, fault.DataSourceNotFound: 404, fault.NotFound: 404,
		fault.MethodNotAllowed: 405, fault.ActionResultConflict: 409, fault.StaleAttempt: 409, fault.NotClientTool: 409, fault.ThreadBusy: 409,
		fault.RunConflict: 409, fault.ResumeConflict: 409, fault.ToolConflict: 409, fault.UnansweredCalls: 409, fault.IncompleteResults: 409,
		fault.InvocationClosed: 410, fault.BodyTooLarge: 413, fault.ResultTooLarge: 413, fault.DataSourceTooLarge: 413, fault.PageContextTooLarge: 413,
		fault.UnsupportedMediaType: 415, fault.UnsupportedInput: 422, fault.RateLimited: 429, fault.UpstreamError: 502, fault.Draining: 503,
		fault.Overloaded: 503, fault.StoreUnavailable: 503, fault.UpstreamTimeout: 504, fault.Internal: 500, "made_up": 500,
		fault.UpstreamHTTP(503): 502,
	} {
		if got := code.Status(); got != want {
			t.Errorf("%s has status %d, want %d", code, got, want)
		}
	}
}

// The metrics pass Prometheus' own check, and no label comes from a client
// [OPS-2].
func TestMetrics(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is missing: it comes with Debian's package prometheus (make test installs it)")
	}
	w := begin(t, "agents:\n  demo: {upstream: {kind: demo}, tools: [{name: get_location, availability: always}]}\n")
	w.run("", "demo", input("client-made-thread", "r1", "", user("u1", "where am I"))) // the client does not have the tool
	w.do(call{method: "GET", path: "/client-made-path"})
	res, err := http.Get(w.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	body := readAll(res)
	res.Body.Close()
	check := exec.Command(tool, "check", "metrics")
	check.Stdin = strings.NewReader(body)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
	for _, want := range []string{
		`aguigate_runs_total{agent="demo",frontend="agui",outcome="success",upstream="demo"} 1`,
		`aguigate_open_invocations{agent="demo"} 1`, `aguigate_invocations_total{agent="demo",outcome="opened"} 1`,
		`aguigate_calls_unclaimed_total{agent="demo"} 1`, "aguigate_ws_connections 0",
		`aguigate_rejected_total{code="not_found"} 1`, `aguigate_active_runs{agent="demo"} 0`,
		"go_goroutines ", "process_cpu_seconds_total ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(body, "client-made") {
		t.Error("a client's text is a label")
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/debug/pprof/"} {
		if r := w.do(call{method: "GET", path: path}); r.status != 404 {
			t.Errorf("the public listener serves %s: %d", path, r.status)
		}
	}
}

// What goes to the upstream is written from checked values: only configured and
// forwarded headers, no cookie, no client credential; configured ones win [UP-2].
func TestUpstreamRequest(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, testKeys+`
agents:
  a:
    upstream:
      kind: agui
      url: `+up.URL+`
      headers: {X-Token: configured}
      identity_headers: {X-User: subject, X-Tenant: tenant}
      forward_headers: [traceparent, X-Token, X-User]
    client_input: {forwarded_props: [keep], system_messages: drop}
    tools:
      - {name: send_mail, handler: upstream}
      - {name: always_there, description: configured, availability: always}
      - {name: get_location, description: configured text}
`)
	body := `{"threadId":"th1","runId":"r1","unknown":{"a":1},"state":{"n":1.0},"context":[],"forwardedProps":{"keep":1.0,"drop":2},
	  "tools":[` + locate + `,{"name":"send_mail","description":"mine","parameters":{}}],
	  "messages":[{"id":"s1","role":"system","content":"obey"},` + user("u1", "hi") + `]}`
	r := w.do(call{method: "POST", path: "/agents/a/run", as: "alice", body: body, header: map[string]string{
		"Cookie": "sid=1", "traceparent": "00-1-1-01", "X-Token": "client", "X-User": "root", "X-Request-Id": "mine.1", "X-Other": "x",
	}})
	if r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if got := r.header.Get("X-Aguigate-Ignored-Tools"); got != "send_mail" {
		t.Errorf("ignored tools: %q", got)
	}
	h := up.head(0)
	for name, want := range map[string]string{
		"X-Token": "configured", "X-User": "alice", "X-Tenant": "acme", "Traceparent": "00-1-1-01", "X-Request-Id": "mine.1",
		"Cookie": "", "Authorization": "", "X-Other": "", "Accept": "text/event-stream", "Accept-Encoding": "identity", "Content-Type": "application/json",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	want := `{"threadId":"th1","runId":"r1","state":{"n":1.0},"messages":[{"id":"u1","role":"user","content":"hi"}],` +
		`"tools":[{"name":"always_there","description":"configured","parameters":{"type":"object","properties":{}}},{"name":"get_location","description":"configured text","parameters":{"type":"object"}}],` +
		`"context":[],"forwardedProps":{"keep":1.0}}`
	if got := up.seen()[0]; !sameJSON(got, want) {
		t.Errorf("the upstream got\n%s\nwant\n%s", got, want)
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	ja, _ := json.Marshal(x)
	jb, _ := json.Marshal(y)
	return bytes.Equal(ja, jb)
}

// Three equal runs offer the same list [MERGE-1, F030].
func TestOfferIsStable(t *testing.T) {
	up := serveBackend(t, talks)
	w := begin(t, agent("a", up.URL, "    tools: [{name: one, availability: always}]\n"))
	for _, run := range []string{"r1", "r2", "r3"} {
		w.run("", "a", input("th-"+run, run, locate+`,`+locate, user("u1", "hi")))
	}
	seen := up.seen()
	tools := func(body string) string {
		var in struct{ Tools json.RawMessage }
		_ = json.Unmarshal([]byte(body), &in)
		return string(in.Tools)
	}
	if tools(seen[0]) != tools(seen[1]) || tools(seen[1]) != tools(seen[2]) || strings.Count(tools(seen[0]), `"name"`) != 2 {
		t.Errorf("offers differ:\n%s\n%s\n%s", tools(seen[0]), tools(seen[1]), tools(seen[2]))
	}
}

// With protocol auto a server gets what 0.0 knows until it has named its version
// [UP-4].
func TestProtocolIsLearned(t *testing.T) {
	up := serveBackend(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, `{"type":"RUN_STARTED","threadId":"th1","runId":"r1","protocolVersion":"1.0"}`, `{"type":"RUN_FINISHED","threadId":"th1","runId":"r1"}`)
	})
	w := begin(t, agent("a", up.URL, ""))
	for _, id := range []string{"r1", "r2"} {
		w.run("", "a", input("th1", id, "", user("u1", "hi")))
	}
	seen := up.seen()
	if strings.Contains(seen[0], "protocolVersion") || !strings.Contains(seen[1], `"protocolVersion":"1.0"`) {
		t.Errorf("first %s\nthen %s", seen[0], seen[1])
	}
}
