package conversation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aguigate/aguigate/protocol/agui"
)

var update = flag.Bool("update", false, "write what Replay and CatchUp say to testdata, for generate.mjs")

// golden is one case of testdata: an event list, and what the published client
// made of it.
type golden struct {
	name   string
	base   []agui.Message
	frames []agui.Frame
	client struct {
		Skipped  []int
		Legal    bool
		State    any
		Messages json.RawMessage
	}
}

func goldens(t testing.TB) []golden {
	t.Helper()
	files, err := filepath.Glob("testdata/*.events.jsonl")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	var all []golden
	for _, file := range files {
		g := golden{name: strings.TrimSuffix(filepath.Base(file), ".events.jsonl")}
		if raw, err := os.ReadFile("testdata/" + g.name + ".base.json"); err == nil {
			if g.base, err = agui.DecodeMessages(raw, ""); err != nil {
				t.Fatal(err)
			}
		}
		lines := bufio.NewScanner(bytes.NewReader(read(t, file)))
		for lines.Scan() {
			f, err := agui.ParseFrame(bytes.Clone(lines.Bytes()))
			if err != nil {
				t.Fatalf("%s: %v", g.name, err)
			}
			g.frames = append(g.frames, f)
		}
		if err := json.Unmarshal(read(t, "testdata/"+g.name+".messages.json"), &g.client); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

const plenty = 1 << 20

func built(base []agui.Message, frames ...agui.Frame) *Builder {
	b := NewBuilder(BaseOf(base), plenty)
	for _, f := range frames {
		f.Raw = bytes.Clone(f.Raw)
		b.Apply(f)
		clear(f.Raw) // nothing of a frame is kept
	}
	return b
}

// value parses JSON for comparing; numbers keep their text.
func value(t testing.TB, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

// plain is value with numbers as the client has them.
func plain(t testing.TB, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

func list(t testing.TB, ms []agui.Message) any {
	t.Helper()
	return plain(t, agui.AppendMessages(nil, ms))
}

// TestGolden: the builder's list is the client's.
func TestGolden(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			b := built(g.base, g.frames...)
			want := plain(t, g.client.Messages)
			if diff := cmp.Diff(want, list(t, b.Merge(g.base))); diff != "" {
				t.Errorf("the client's list (-) and ours (+):\n%s", diff)
			}
			if diff := cmp.Diff(newOrChanged(want, list(t, g.base)), keyed(list(t, b.Messages()))); diff != "" {
				t.Errorf("new or changed, the client's (-) and ours (+):\n%s", diff)
			}
			if diff := cmp.Diff(gone(want, g.base), b.Dropped()); diff != "" {
				t.Errorf("dropped by the client (-) and by us (+):\n%s", diff)
			}
			checkState(t, g, b)
			if b.Truncated() {
				t.Error("truncated")
			}
		})
	}
}

func checkState(t *testing.T, g golden, b *Builder) {
	t.Helper()
	state, deltas := b.State()
	if state == nil {
		state = []byte("{}")
	}
	for _, d := range deltas { // the client goes on without one that fails
		if next, err := ApplyState(state, [][]byte{d}, plenty); err == nil {
			state = next
		}
	}
	if diff := cmp.Diff(g.client.State, plain(t, state)); diff != "" {
		t.Errorf("state:\n%s", diff)
	}
}

// keyed joins an id and the text of a message, so that order does not matter
// where one list leaves messages out.
func keyed(messages any) map[string][]any {
	out := map[string][]any{}
	for _, m := range messages.([]any) {
		id := m.(map[string]any)["id"].(string)
		out[id] = append(out[id], m)
	}
	return out
}

func newOrChanged(client, base any) map[string][]any {
	was := keyed(base)
	out := map[string][]any{}
	for id, ms := range keyed(client) {
		for i, m := range ms {
			if i < len(was[id]) && cmp.Equal(was[id][i], m) {
				continue
			}
			out[id] = append(out[id], m)
		}
	}
	return out
}

func gone(client any, base []agui.Message) []string {
	have := keyed(client)
	var out []string
	for _, m := range base {
		if have[m.ID] == nil {
			out = append(out, m.ID)
		}
	}
	return out
}

// frames.json is what Replay and CatchUp say; the script asks the client what it
// makes of that.
type written struct {
	Replay []json.RawMessage `json:"replay"`
	Joins  []joining         `json:"joins"`
}

type joining struct {
	Cut    int               `json:"cut"`
	Frames []json.RawMessage `json:"frames"`
}

func raws(frames []agui.Frame) []json.RawMessage {
	out := []json.RawMessage{}
	for _, f := range frames {
		out = append(out, f.Raw)
	}
	return out
}

func writtenFor(g golden) written {
	w := written{Replay: raws(Replay(built(g.base, g.frames...).Messages()))}
	for cut := 1; cut < len(g.frames); cut++ {
		if g.frames[cut-1].Type.Terminal() {
			continue
		}
		w.Joins = append(w.Joins, joining{cut, raws(built(g.base, g.frames[:cut]...).CatchUp())})
	}
	return w
}

// TestGoldenFrames: what Replay and CatchUp write is what the client was asked
// about, and it makes the same of it as of the whole run.
func TestGoldenFrames(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			file := "testdata/" + g.name + ".frames.json"
			now := writtenFor(g)
			if *update {
				raw, err := json.Marshal(now)
				if err == nil {
					err = os.WriteFile(file, append(raw, '\n'), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			raw, err := json.Marshal(now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(value(t, read(t, file)), value(t, raw)); diff != "" {
				t.Fatalf("the client was asked about others (-):\n%s", diff)
			}
			var client struct {
				Replay struct {
					Fault    string
					Messages json.RawMessage
				}
				Joins map[string]json.RawMessage
			}
			if err := json.Unmarshal(read(t, "testdata/"+g.name+".client.json"), &client); err != nil {
				t.Fatal(err)
			}
			checkReplay(t, g, client.Replay.Fault, client.Replay.Messages)
			for _, j := range now.Joins {
				cut := j.Cut
				if got := client.Joins[strconv.Itoa(cut)]; string(got) != `"same"` {
					t.Errorf("joined at %d: the client got %s", cut, got)
				}
			}
		})
	}
}

// checkReplay: the client builds the messages again, but for what no event can
// say.
func checkReplay(t *testing.T, g golden, fault string, client []byte) {
	t.Helper()
	if fault != "" {
		t.Fatalf("the client refuses the replay: %s", fault)
	}
	ms := built(g.base, g.frames...).Messages()
	if diff := cmp.Diff(plain(t, client), list(t, built(nil, Replay(ms)...).Merge(nil))); diff != "" {
		t.Errorf("replayed, the client's (-) and ours (+):\n%s", diff)
	}
	if unsayable[g.name] {
		return
	}
	if diff := cmp.Diff(list(t, ms), plain(t, client)); diff != "" {
		t.Errorf("replayed: the run's (-) and the client's (+):\n%s", diff)
	}
}

// unsayable are the cases with messages that no event can make.
var unsayable = map[string]bool{
	"snapshot_binary":         true, // media of a user
	"snapshot_same_id_twice":  true,
	"snapshot_unknown_fields": true,
}
