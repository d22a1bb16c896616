package main

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

// A drain: not ready at once, no new runs, active ones get their time and then
// RUN_ERROR gateway_shutdown, open invocations stay [OPS-3].
func TestDrain(t *testing.T) {
	dir := t.TempDir()
	up := serveBackend(t, func(w http.ResponseWriter, r *http.Request, body string) {
		if strings.Contains(body, "where am I") {
			talks(w, r, body)
			return
		}
		say(w, `{"type":"RUN_STARTED","threadId":"long","runId":"r1"}`)
		<-r.Context().Done()
	})
	yaml := strings.Replace(agent("a", up.URL, ""), "first_byte: 1s, idle: 1s", "first_byte: 1m, idle: 1m", 1)
	w := beginIn(t, dir, yaml)
	id, _, _ := w.waiting("", "a", "th1")
	res, err := w.open(call{method: "POST", path: "/agents/a/run", body: input("long", "r1", "", user("u1", "hi"))})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Scan() // RUN_STARTED is here: the run is active
	poll := make(chan reply, 1)
	go func() {
		r, _ := w.try(call{method: "GET", path: "/v1/invocations/" + id + "?wait=30s"})
		poll <- r
	}()
	began := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- w.in.stop() }()
	eventually(t, "not ready", func() bool {
		r, err := http.Get(w.admin + "/readyz")
		if err != nil {
			return true // the admin listener is gone already: not ready either
		}
		r.Body.Close()
		return r.StatusCode == 503
	})
	refused := w.do(call{method: "POST", path: "/agents/a/run", body: input("th2", "r1", "", user("u1", "hi"))})
	if refused.status != 503 || refused.code() != "draining" || refused.header.Get("Retry-After") == "" {
		t.Errorf("a new run: %d %s %v", refused.status, refused.body, refused.header)
	}
	end := ""
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			end = data
		}
	}
	took := time.Since(began)
	if f, err := agui.ParseFrame([]byte(end)); err != nil || f.Text("code") != "gateway_shutdown" {
		t.Errorf("the active run ended with %s", end)
	}
	if took < 900*time.Millisecond {
		t.Errorf("the active run got %v of a drain of 1 s", took)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if strings.Contains(w.logs.String(), "runs did not end in time") {
		t.Error("the drain did not end the active run: the cut behind it did")
	}
	<-poll
	w.in = nil
	again := beginIn(t, dir, yaml)
	if r := again.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":"Porto"}`}); r.status != 200 {
		t.Errorf("the open invocation after the restart: %d %s", r.status, r.body)
	}
}
