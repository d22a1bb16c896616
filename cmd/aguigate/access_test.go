package main

import (
	"fmt"
	"strings"
	"testing"
)

// Everybody who may knock. alice owns the thread; bob is of her tenant, carol of
// another; backend is a machine, oncall an operator.
var callers = []string{"nobody", "owner", "other subject", "other tenant", "machine", "machine for the owner", "operator"}

func asCaller(who string) (key string, header map[string]string) {
	switch who {
	case "owner":
		return "alice", nil
	case "other subject":
		return "bob", nil
	case "other tenant":
		return "carol", nil
	case "machine":
		return "backend", nil
	case "machine for the owner":
		return "backend", map[string]string{"X-Aguigate-Identity": "alice"}
	case "operator":
		return "oncall", nil
	}
	return "", nil
}

// accessTable has one column per caller: the status, and for refusals the code.
// Bodies in capitals are made by the test: RUN answers the thread's call by a run,
// LEFT is nothing, behind an answer that leaves going on to somebody, STREAM is
// nothing, and of what it opens only the head is read.
var accessTable = []struct {
	route string
	body  string
	want  [7]string
}{
	//                                     nobody                 owner   other subject               other tenant                machine                     machine for owner           operator
	{"GET /agents", "", [7]string{"401 unauthenticated", "200", "200", "200", "200", "200", "200"}},
	{"GET /agents/demo", "", [7]string{"401 unauthenticated", "200", "200", "200", "200", "200", "200"}},
	{"GET /agents/staff", "", [7]string{"401 unauthenticated", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "200"}},
	{"GET /agents/none", "", [7]string{"401 unauthenticated", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found"}},
	{"POST /agents/demo/run", "RUN", [7]string{"401 unauthenticated", "200", "404 thread_not_found", "NEW", "404 thread_not_found", "200", "200"}},
	{"POST /agents/staff/run", "RUN", [7]string{"401 unauthenticated", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "NEW"}},
	{"POST /agents/demo/connect", `{"threadId":"trip","runId":"c1","state":{},"messages":[],"tools":[],"context":[],"forwardedProps":{}}`, [7]string{"401 unauthenticated", "200", "404 thread_not_found", "200", "404 thread_not_found", "200", "200"}},
	{"GET /v1/threads/trip/invocations", "", [7]string{"401 unauthenticated", "200", "404 thread_not_found", "404 thread_not_found", "404 thread_not_found", "200", "200"}},
	{"POST /v1/threads/trip/resolve", `{"results":[{"id":"INV","result":1}]}`, [7]string{"401 unauthenticated", "200", "404 thread_not_found", "404 thread_not_found", "404 thread_not_found", "200", "200"}},
	{"GET /v1/invocations/INV", "", [7]string{"401 unauthenticated", "200", "404 invocation_not_found", "404 invocation_not_found", "404 invocation_not_found", "200", "200"}},
	{"POST /v1/invocations/INV/resolve", `{"result":1}`, [7]string{"401 unauthenticated", "200", "404 invocation_not_found", "404 invocation_not_found", "404 invocation_not_found", "200", "200"}},
	{"POST /agents/demo/stop", `{"threadId":"trip"}`, [7]string{"401 unauthenticated", "200", "404 thread_not_found", "404 thread_not_found", "404 thread_not_found", "200", "200"}},
	{"POST /agents/staff/stop", `{"threadId":"trip"}`, [7]string{"401 unauthenticated", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "404 agent_not_found", "404 thread_not_found"}},
	{"GET /v1/threads", "", [7]string{"401 unauthenticated", "200", "200", "200", "200", "200", "200"}},
	{"GET /v1/threads/trip", "", [7]string{"401 unauthenticated", "200", "404 thread_not_found", "404 thread_not_found", "404 thread_not_found", "200", "200"}},
	{"DELETE /v1/threads/trip", "", [7]string{"401 unauthenticated", "204", "404 thread_not_found", "404 thread_not_found", "404 thread_not_found", "204", "204"}},
	{"POST /v1/threads/trip/continue", "LEFT", [7]string{"401 unauthenticated", "202", "404 thread_not_found", "404 thread_not_found", "404 thread_not_found", "202", "202"}},
	{"POST /v1/threads/trip/stop", `{"run":"none"}`, [7]string{"401 unauthenticated", "200", "404 thread_not_found", "404 thread_not_found", "404 thread_not_found", "200", "200"}},
	{"GET /v1/threads/trip/events", "STREAM", [7]string{"401 unauthenticated", "200", "404 thread_not_found", "404 thread_not_found", "404 thread_not_found", "200", "200"}},
	{"GET /v1/invocations", "", [7]string{"401 unauthenticated", "200", "200", "200", "200", "200", "200"}},
	{"GET /openapi.json", "", [7]string{"200", "200", "200", "200", "200", "200", "200"}},
}

// TestRoutesAndRoles tries every route as everybody, with the expectations
// written out. After each refusal the thread reads the same as before, and no
// upstream was asked [OWN-1, OWN-2, ERR-1].
func TestRoutesAndRoles(t *testing.T) {
	const yaml = testKeys + `
agents:
  demo: {upstream: {kind: demo}}
  staff: {upstream: {kind: demo}, allow: {tenants: [acme], roles: [operator]}}
`
	covered := map[string]bool{}
	for _, row := range accessTable {
		method, path, _ := strings.Cut(row.route, " ")
		covered[method+" "+pattern(path)] = true
		for i, who := range callers {
			t.Run(row.route+" as "+who, func(t *testing.T) {
				w := begin(t, yaml)
				public, shown, message := w.waiting("alice", "demo", "trip")
				if row.body == "LEFT" { // a round that is answered and waits to be continued
					w.do(call{method: "POST", path: "/v1/invocations/" + public + "/resolve", as: "alice", body: `{"result":1,"continue":false}`})
				}
				state := func() string {
					return w.do(call{method: "GET", path: "/v1/threads/trip/invocations", as: "alice"}).body
				}
				before, runs := state(), w.metric(`aguigate_events_total{agent="demo",direction="up"}`)
				body := strings.ReplaceAll(row.body, "INV", public)
				switch body {
				case "LEFT", "STREAM":
					body = ""
				case "RUN":
					body = input("trip", "r2", locate, user("u-trip", "where am I"), assistant(message, toolCall(shown, "get_location")), result("t1", shown, "Porto"))
				}
				key, header := asCaller(who)
				asked := call{method: method, path: strings.ReplaceAll(path, "INV", public), body: body, as: key, header: header}
				got := w.do(asked.headOf(row.body == "STREAM" && strings.HasPrefix(row.want[i], "200")))
				want := row.want[i]
				if want == "NEW" { // a thread of its own: the id is not shared over tenants or agents
					want = "200"
					if state() != before {
						t.Error("a run on another thread changed this one")
					}
				}
				if have := strings.TrimSpace(fmt.Sprint(got.status, " ", got.code())); have != want {
					t.Fatalf("got %s, want %s\n%s", have, want, got.body)
				}
				if got.status >= 400 {
					if state() != before {
						t.Error("the refusal changed the thread")
					}
					if w.metric(`aguigate_events_total{agent="demo",direction="up"}`) != runs {
						t.Error("the refused request reached an upstream")
					}
					if got.field("error.code") != got.code() || got.field("error.request_id") != got.header.Get("X-Request-Id") {
						t.Errorf("body and headers disagree: %s %v", got.body, got.header)
					}
				}
			})
		}
	}
	w := begin(t, yaml)
	for _, r := range w.in.server.Routes() {
		if !covered[r.Method+" "+r.Path] {
			t.Errorf("%s %s is not in the table", r.Method, r.Path)
		}
	}
}

// headOf asks only for the head, of what would not end by itself.
func (c call) headOf(endless bool) call {
	if endless {
		c.method = "HEAD"
	}
	return c
}

// pattern gives a table path its route's parameters back.
func pattern(path string) string {
	for _, r := range []struct{ from, to string }{
		{"/agents/demo", "/agents/{agent}"}, {"/agents/staff", "/agents/{agent}"}, {"/agents/none", "/agents/{agent}"},
		{"/threads/trip", "/threads/{thread}"}, {"/invocations/INV", "/invocations/{id}"},
	} {
		path = strings.Replace(path, r.from, r.to, 1)
	}
	return path
}

// metric reads one series from the admin listener.
func (w *world) metric(series string) string {
	w.t.Helper()
	res, err := testClient.Get(w.admin + "/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	body := readAll(res)
	for line := range strings.SplitSeq(body, "\n") {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			return rest
		}
	}
	w.t.Fatalf("no series %s", series)
	return ""
}

// An agent outside the caller's reach is not listed [OWN-3].
func TestUnlisted(t *testing.T) {
	w := begin(t, testKeys+"agents:\n  demo: {upstream: {kind: demo}}\n  staff: {upstream: {kind: demo}, allow: {roles: [operator]}}\n")
	for as, want := range map[string]bool{"alice": false, "oncall": true} {
		got := w.do(call{method: "GET", path: "/agents", as: as})
		if has := strings.Contains(got.body, "staff"); has != want {
			t.Errorf("%s: staff listed is %v, want %v", as, has, want)
		}
	}
}

// Only a machine may act for somebody [OWN-2].
func TestIdentityHeader(t *testing.T) {
	w := begin(t, testKeys+"agents:\n  demo: {upstream: {kind: demo}}\n")
	for as, want := range map[string]string{"alice": "forbidden", "oncall": "forbidden", "backend": ""} {
		got := w.do(call{method: "GET", path: "/agents", as: as, header: map[string]string{"X-Aguigate-Identity": "alice"}})
		if got.code() != want {
			t.Errorf("%s: %d %s, want %q", as, got.status, got.code(), want)
		}
	}
	anonymous := begin(t, "agents:\n  demo: {upstream: {kind: demo}}\n")
	got := anonymous.do(call{method: "GET", path: "/agents", header: map[string]string{"X-Aguigate-Identity": "alice"}})
	if got.code() != "forbidden" {
		t.Errorf("anonymous: %d %s, want forbidden", got.status, got.code())
	}
}

// With threads.scope subject each principal has its own name space.
func TestSubjectScope(t *testing.T) {
	w := begin(t, testKeys+"threads: {scope: subject}\nagents:\n  demo: {upstream: {kind: demo}}\n")
	a, _, _ := w.waiting("alice", "demo", "main")
	b, _, _ := w.waiting("bob", "demo", "main")
	if a == b {
		t.Error("two subjects share one thread")
	}
	if got := w.do(call{method: "GET", path: "/v1/invocations/" + a, as: "bob"}); got.code() != "invocation_not_found" {
		t.Errorf("bob reads alice's invocation: %d %s", got.status, got.body)
	}
}
