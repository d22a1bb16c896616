package profile

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGoldenClients and TestGoldenUpstream read a file of frames and compare what
// becomes of each; the files are the expectation, written out.
func TestGoldenClients(t *testing.T) {
	a := load(t)
	profiles := []*Profile{v0045, v0059, v1}
	var clients []*ToClient
	sent := make([][]agui.Frame, len(profiles))
	for _, p := range profiles {
		clients = append(clients, p.NewToClient())
	}
	golden(t, "testdata/golden/clients.txt", func(f agui.Frame, show func(head string, out []agui.Frame)) {
		for i, p := range profiles {
			out, _ := clients[i].Step(f, nil)
			sent[i] = append(sent[i], out...)
			show(p.name, out)
		}
	})
	if !ours(sent[2]) {
		t.Error("the stream is not valid 1.0")
	}
	for i, p := range profiles {
		keep(t, p, "golden", sent[i])
	}
	for i, p := range profiles[:2] {
		if why := a.dies(p.name, sent[i]); why != "" {
			t.Errorf("%v dies of the golden stream: %s", p, why)
		}
	}
}

func TestGoldenUpstream(t *testing.T) {
	up := v0059.NewFromUpstream("r")
	var all []agui.Frame
	golden(t, "testdata/golden/upstream.txt", func(f agui.Frame, show func(head string, out []agui.Frame)) {
		out := up.Step(f, nil)
		all = append(all, out...)
		show("1.0", out)
	})
	if !ours(all) {
		t.Error("what came of it is not valid 1.0")
	}
}

func golden(t *testing.T, file string, each func(f agui.Frame, show func(head string, out []agui.Frame))) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, line := range strings.Split(strings.TrimSuffix(string(want), "\n"), "\n") {
		raw, isIn := strings.CutPrefix(line, "in ")
		if !isIn {
			if strings.HasPrefix(line, "#") {
				fmt.Fprintln(&got, line)
			}
			continue
		}
		f, err := agui.ParseFrame([]byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		fmt.Fprintln(&got, line)
		each(f, func(head string, out []agui.Frame) {
			if len(out) == 0 {
				fmt.Fprintln(&got, head, "-")
			}
			for _, o := range out {
				if &o.Raw[0] == &f.Raw[0] && len(o.Raw) == len(f.Raw) {
					fmt.Fprintln(&got, head, "=")
					continue
				}
				fmt.Fprintf(&got, "%s %s\n", head, o.Raw)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	g, w := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s:%d\ngot  %s\nwant %s", file, i+1, g[i], w[i])
		}
	}
	if len(g) != len(w) {
		t.Errorf("%s: %d lines, want %d", file, len(g), len(w))
	}
}
