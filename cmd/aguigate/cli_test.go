package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Exit codes and what is said where [CLI-3, CLI-4].
func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.yaml", "agents:\n  demo: {upstream: {kind: demo}}\n")
	bad := write("bad.yaml", "listen: 127.0.0.1:0\nlistne: x\nagents:\n  demo: {upstream: {kind: demon}}\n")
	backend := serveBackend(t, talks)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	up := write("up.yaml", "agents:\n  a: {upstream: {kind: agui, url: '"+backend.URL+"'}}\n")
	down := write("down.yaml", "agents:\n  a: {upstream: {kind: agui, url: 'http://"+closed.Addr().String()+"'}}\n")
	for _, c := range []struct {
		args string
		exit int
		out  string // a part of standard output; "-" is nothing at all
		err  string // a part of standard error
	}{
		{"", 2, "-", "aguigate serve"},
		{"nonsense", 2, "-", `no command "nonsense"`},
		{"help", 0, "aguigate serve", ""},
		{"serve -h", 0, "aguigate serve", ""},
		{"version", 0, "aguigate dev", ""},
		{"serve", 2, "-", "--config FILE is needed"},
		{"serve --config " + dir + "/none.yaml", 1, "-", "none.yaml"},
		{"serve --config " + bad, 1, "-", bad + ":2:1: listne: "},
		{"demo extra", 2, "-", `takes no argument "extra"`},
		{"demo --log-level loud", 2, "-", "--log-level"},
		{"demo --listen nonsense", 1, "-", "nonsense"},
		{"check", 2, "-", "--config FILE is needed"},
		{"check --config " + good, 0, "-", ""},
		{"check --config " + bad, 1, bad + ":2:1: listne: ", ""},
		{"check --config " + bad, 1, bad + ":4:27: agents.demo.upstream.kind: ", ""},
		{"check --probe --config " + up, 0, "agents.a.upstream: answered GET with 200 text/event-stream", ""},
		{"check --probe --config " + down, 1, "agents.a.upstream: upstream_unreachable", "not every upstream answered"},
	} {
		var out, errOut bytes.Buffer
		if exit := run(strings.Fields(c.args), &out, &errOut); exit != c.exit {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.args, exit, c.exit, &out, &errOut)
		}
		if c.out == "-" && out.Len() > 0 || c.out != "-" && !strings.Contains(out.String(), c.out) {
			t.Errorf("%s: standard output %q, want %q", c.args, &out, c.out)
		}
		if !strings.Contains(errOut.String(), c.err) {
			t.Errorf("%s: standard error %q, want %q", c.args, &errOut, c.err)
		}
	}
}

// The gauge of open invocations is right after a restart.
func TestGaugeAfterRestart(t *testing.T) {
	dir := t.TempDir()
	w := beginIn(t, dir, demoAgent)
	w.waiting("", "demo", "th1")
	id, _, _ := w.waiting("", "demo", "th2")
	w.end()
	w = beginIn(t, dir, demoAgent)
	series := `aguigate_open_invocations{agent="demo"}`
	if got := w.metric(series); got != "2" {
		t.Errorf("after the restart %s, want 2", got)
	}
	w.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", body: `{"result":1}`})
	if got := w.metric(series); got != "1" {
		t.Errorf("after an answer %s, want 1", got)
	}
}
