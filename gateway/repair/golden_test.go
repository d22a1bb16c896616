package repair

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

var update = flag.Bool("update", false, "write the .out files anew; read them before keeping them")

// golden is one case of testdata. The .in file:
//
//	# what is shown
//	modern                 the client speaks 1.0
//	client NAME …          tools offered as the client's
//	on NAME …, off NAME …  switched repairs
//	> DATA                 a data payload of the upstream
//
// The .out file has "< JSON" for each frame given out, "! text" where a payload is
// refused, and "= name n" for each repair made.
type golden struct {
	name   string
	set    Setup
	client []string
	data   []string
}

func goldens(t testing.TB) (all []golden) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.in")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parse(t, strings.TrimSuffix(file, ".in"), string(text)))
	}
	return all
}

func parse(t testing.TB, name, text string) golden {
	g := golden{name: name, set: Setup{Thread: "th1", Run: "r1", On: map[string]bool{}}}
	g.set.Client = func(tool string) bool { return slices.Contains(g.client, tool) }
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "#":
		case "modern":
			g.set.Modern = true
		case "client":
			g.client = strings.Fields(rest)
		case "on", "off":
			for _, name := range strings.Fields(rest) {
				g.set.On[name] = word == "on"
			}
		case ">":
			g.data = append(g.data, rest)
		default:
			t.Fatalf("%s: unknown line %q", name, line)
		}
	}
	client := g.client
	g.set.Client = func(tool string) bool { return slices.Contains(client, tool) }
	return g
}

// repaired is what a chain makes of payloads.
type repaired struct {
	frames []agui.Frame
	counts map[string]int
	bad    error
}

func (r repaired) String() string {
	var b strings.Builder
	for _, f := range r.frames {
		fmt.Fprintf(&b, "< %s\n", f.Raw)
	}
	if r.bad != nil {
		fmt.Fprintf(&b, "! %v\n", r.bad)
	}
	for _, s := range Steps() {
		if n := r.counts[s.Name]; n > 0 {
			fmt.Fprintf(&b, "= %s %d\n", s.Name, n)
		}
	}
	return b.String()
}

func mend(set Setup, data []string) (r repaired) {
	c := New(set)
	for _, d := range data {
		f, skip, err := c.Read([]byte(d))
		if err != nil {
			r.bad = err
			break
		}
		if !skip {
			r.frames = c.Step(f, r.frames)
		}
	}
	r.frames = c.End(r.frames)
	r.counts = c.Counts()
	return r
}

func payloads(frames []agui.Frame) (data []string) {
	for _, f := range frames {
		data = append(data, string(f.Raw))
	}
	return data
}

func TestGolden(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(filepath.Base(g.name), func(t *testing.T) {
			got := mend(g.set, g.data)
			if *update {
				if err := os.WriteFile(g.name+".out", []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(g.name + ".out")
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			twice := mend(g.set, payloads(got.frames))
			if len(twice.counts) > 0 || !slices.Equal(payloads(twice.frames), payloads(got.frames)) {
				t.Errorf("repaired again it becomes\n%s", twice)
			}
			throughMachine(t, g, got)
		})
	}
}

// Every repair has a case, and in every case it is made in, switching it off
// leaves something else.
func TestOff(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range goldens(t) {
		with := mend(g.set, g.data)
		for name := range with.counts {
			seen[name] = true
			off := g.set
			off.On = map[string]bool{name: false}
			for k, v := range g.set.On {
				if k != name {
					off.On[k] = v
				}
			}
			without := mend(off, g.data)
			if without.counts[name] != 0 {
				t.Errorf("%s: %s was made although it is off", g.name, name)
			}
			if fmt.Sprint(without.bad) == fmt.Sprint(with.bad) && slices.Equal(payloads(without.frames), payloads(with.frames)) {
				t.Errorf("%s: without %s the outcome is the same", g.name, name)
			}
		}
	}
	for _, s := range Steps() {
		if !seen[s.Name] {
			t.Errorf("no case has %s made", s.Name)
		}
		if s.Does == "" || s.Source == "" || !strings.HasSuffix(s.Does, ".") {
			t.Errorf("%s is not described", s.Name)
		}
	}
}

// throughMachine holds what the chain gives out, and what the run's machine makes
// of it, against the published clients' rules.
func throughMachine(t *testing.T, g golden, got repaired) {
	t.Helper()
	over := false
	for _, f := range got.frames {
		over = over && f.Type != agui.RunStarted
		if err := f.Validate(); err != nil && !over { // nobody sees what comes after the end
			t.Errorf("%s: %v", f.Raw, err)
		}
		over = over || f.Type.Terminal()
	}
	m := run.New(run.Setup{Thread: "th1", Run: "r1", Client: g.set.Client})
	var sent []agui.Frame
	var do func([]run.Action)
	do = func(acts []run.Action) {
		for _, a := range acts {
			switch a.Kind {
			case run.Send:
				sent = append(sent, a.Frame)
			case run.Release:
				do(m.Released(nil, nil, nil))
			case run.Cancel:
				do(m.Cancelled(nil, nil))
			}
		}
	}
	for _, f := range got.frames {
		do(m.Step(f, nil))
	}
	if got.bad != nil {
		do(m.End(fault.From(got.bad), nil))
	} else {
		do(m.End(nil, nil))
	}
	var s agui.Sequence
	for _, f := range sent {
		if err := f.Validate(); err != nil {
			t.Errorf("%s: %v", f.Raw, err)
		}
		if err := s.Push(f); err != nil {
			t.Errorf("%s: %v", f.Raw, err)
			return
		}
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
}

// faulty are the machine's own cases that have something to repair: calls
// without arguments (F037), an empty delta (F034), a delta that is a number.
var faulty = map[string]map[string]int{
	"answered_before_end.txt": {"empty_arguments": 1}, "id_again.txt": {"empty_arguments": 2},
	"open_at_finish.txt": {"empty_arguments": 2}, "end_twice.txt": {"empty_arguments": 1, "empty_deltas": 1},
	"interrupt_call.txt": {"empty_arguments": 1}, "answered_upstream.txt": {"empty_arguments": 1},
	"joined.txt": {"empty_arguments": 1}, "snapshot_kinds.txt": {"empty_arguments": 1},
	"bad_outcome.txt": {"empty_arguments": 1}, "legacy.txt": {"empty_arguments": 1},
	"joined_same_id.txt": {"empty_arguments": 2}, "joined_result.txt": {"empty_arguments": 1},
	"settled_meanwhile.txt": {"empty_arguments": 2}, "run_error.txt": {"empty_arguments": 1},
	"bad_first_chunk.txt": {"field_types": 1},
}

// Valid streams pass as the bytes that came, the slices too: those of the
// machine's cases and the builders' events, with the defaults and with every
// step on.
func TestValidStreamsPass(t *testing.T) {
	streams := map[string][]string{}
	files, _ := filepath.Glob("../run/testdata/*.txt")
	if len(files) < 20 {
		t.Fatalf("the machine's cases are missing: %v", files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if data, ok := strings.CutPrefix(line, "> {"); ok {
				streams[filepath.Base(file)] = append(streams[filepath.Base(file)], "{"+data)
			}
		}
	}
	text, err := os.ReadFile("../../protocol/agui/testdata/builders.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		streams[fmt.Sprintf("builders.jsonl:%d", i+1)] = []string{line}
	}
	for name, data := range streams {
		for _, every := range []bool{false, true} {
			checkPasses(t, name, data, every)
		}
	}
}

func checkPasses(t *testing.T, name string, data []string, every bool) {
	t.Helper()
	set := Setup{Thread: "th1", Run: "r1", Modern: true, On: map[string]bool{}, Client: func(tool string) bool { return tool == "a" }}
	for _, s := range Steps() {
		if every {
			set.On[s.Name] = s.Name != "expand_chunks" || !strings.Contains(strings.Join(data, ""), "_CHUNK")
		}
		if s.Name == "client_call_chunks" && strings.Contains(strings.Join(data, ""), "TOOL_CALL_CHUNK") {
			set.On[s.Name] = false
		}
	}
	if len(data) == 1 { // an event alone is out of order
		for _, order := range []string{"missing_start", "stray_end", "steps"} {
			set.On[order] = false
		}
	}
	c := New(set)
	var in, out []agui.Frame
	for _, d := range data {
		f, skip, err := c.Read([]byte(d))
		if err != nil || skip {
			t.Errorf("%s: %s: %v", name, d, err)
			return
		}
		in = append(in, f)
		out = c.Step(f, out)
	}
	out = c.End(out)
	want := faulty[name]
	if got := fmt.Sprint(c.Counts()); got != fmt.Sprint(want) {
		t.Errorf("%s (every %v): repairs %v, want %v", name, every, got, want)
	}
	if len(want) > 0 {
		return
	}
	for i := range in {
		if i >= len(out) || !same(in[i].Raw, out[i].Raw) {
			t.Errorf("%s (every %v): %s was changed", name, every, in[i].Raw)
		}
	}
}

// same asks for one slice, or, of what was held back, for equal bytes.
func same(a, b []byte) bool {
	return bytes.Equal(a, b) && (&a[0] == &b[0] || bytes.Contains(a, []byte("TOOL_CALL_ARGS")))
}
