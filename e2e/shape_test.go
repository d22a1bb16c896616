package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// terminal are the events that end a run.
var terminal = []string{"RUN_FINISHED", "RUN_ERROR"}

// finished checks a step whose runs all ended well and were well-formed on the
// wire, and that there were as many as expected.
func finished(t *testing.T, r report, version, thread string, runs int) {
	t.Helper()
	if len(r.Runs) != runs {
		t.Errorf("%d runs, want %d", len(r.Runs), runs)
	}
	for i, run := range r.Runs {
		wellFormed(t, run, version, thread)
		if run.Error != nil || run.Failed != nil {
			t.Errorf("run %d failed: %s", i, run)
		}
		if kinds := run.types(); len(kinds) > 0 && kinds[len(kinds)-1] != "RUN_FINISHED" {
			t.Errorf("run %d ended in %s", i, kinds[len(kinds)-1])
		}
	}
	if t.Failed() {
		for _, run := range r.Runs {
			t.Log(run)
		}
		t.FailNow()
	}
}

// wellFormed checks one stream by [RUN-1], [RUN-2] and the version's schema.
func wellFormed(t *testing.T, r runReport, version, thread string) {
	t.Helper()
	if r.Status != 200 {
		t.Errorf("status %d", r.Status)
		return
	}
	for name, want := range map[string]string{
		"content-type":      "text/event-stream",
		"cache-control":     "no-cache, no-transform",
		"x-accel-buffering": "no",
	} {
		if r.Headers[name] != want {
			t.Errorf("[RUN-1] header %s is %q, want %q", name, r.Headers[name], want)
		}
	}
	for _, f := range r.Wire {
		if f.Problem != "" {
			t.Errorf("client %s refuses %s: %s", version, f.Raw, f.Problem)
		}
		if len(f.Extra) > 0 {
			t.Errorf("[RUN-1] frame with more than data: %q", f.Extra)
		}
	}
	for _, c := range r.Comments {
		if c.Raw != ": keep-alive" {
			t.Errorf("[RUN-9] comment %q", c.Raw)
		}
	}
	if r.WireError != nil {
		t.Errorf("stream broke: %+v", r.WireError)
	}
	bounded(t, r, thread)
	deliveredAll(t, r)
}

// bounded checks [RUN-2]: one RUN_STARTED first, one terminal event last.
func bounded(t *testing.T, r runReport, thread string) {
	t.Helper()
	kinds := r.types()
	if len(kinds) < 2 || kinds[0] != "RUN_STARTED" || !slices.Contains(terminal, kinds[len(kinds)-1]) {
		t.Errorf("[RUN-2] stream begins or ends wrongly: %v", kinds)
		return
	}
	for i, kind := range kinds {
		if (kind == "RUN_STARTED") != (i == 0) || slices.Contains(terminal, kind) != (i == len(kinds)-1) {
			t.Errorf("[RUN-2] %s at %d of %v", kind, i, kinds)
		}
	}
	if got := r.Wire[0].Event["threadId"]; got != thread {
		t.Errorf("[RUN-2] RUN_STARTED has thread %v, want %s", got, thread)
	}
}

// deliveredAll checks that the client handed every event of the wire to the
// application: one it drops or dies on is one we should not have sent.
func deliveredAll(t *testing.T, r runReport) {
	t.Helper()
	var got []string
	for _, e := range r.Events {
		kind, _ := e.Event["type"].(string)
		got = append(got, kind)
	}
	if want := r.types(); !slices.Equal(got, want) {
		t.Errorf("client delivered\n  %v\nof\n  %v", got, want)
	}
}

// contains checks that the answer came back byte for byte [INV-7].
func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("final text %q does not contain %q", text, part)
	}
}

// pendingNamed checks [RUN-4]: a 1.0 client is told exactly the open calls, in
// call order; an 0.0.x client gets no such key.
func pendingNamed(t *testing.T, r runReport, version string, calls []toolCall) {
	t.Helper()
	var want []string
	for _, call := range calls {
		want = append(want, call.ID)
	}
	ends := r.find("RUN_FINISHED")
	if len(ends) != 1 {
		t.Fatalf("no RUN_FINISHED:\n%s", r)
	}
	encoded, _ := json.Marshal(ends[0]["outcome"])
	var outcome struct {
		Type    string   `json:"type"`
		Pending []string `json:"pendingToolCallIds"`
	}
	_ = json.Unmarshal(encoded, &outcome)
	if version == "0.0.59" {
		if strings.Contains(string(encoded), "pendingToolCallIds") {
			t.Errorf("[RUN-11] 0.0.59 got outcome %s", encoded)
		}
		return
	}
	if outcome.Type != "success" || !slices.Equal(outcome.Pending, want) {
		t.Errorf("[RUN-4] outcome %s, want success with pending %v", encoded, want)
	}
	if !slices.Equal(r.Pending, want) {
		t.Errorf("[RUN-4] the application was told %v, want %v", r.Pending, want)
	}
}
