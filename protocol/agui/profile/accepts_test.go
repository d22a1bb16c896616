package profile

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

// accepts is testdata/accepts.json: what the real packages said.
type accepts struct {
	Around  map[string][2][]json.RawMessage
	Schemas map[string]map[agui.Type]*schema
	Cases   map[string]map[string]json.RawMessage
	Streams map[string]map[string]json.RawMessage
}

// schema is a zod schema as plain data.
type schema struct {
	Kind              string
	Optional, Null    bool
	Integer, Positive bool
	NotEmpty          bool
	Min               int
	Unknown, Tag      string
	Values            []any
	Fields            map[string]*schema
	Of                oneOrMany
}

type oneOrMany []*schema

func (o *oneOrMany) UnmarshalJSON(raw []byte) error {
	if raw[0] == '[' {
		return json.Unmarshal(raw, (*[]*schema)(o))
	}
	var one schema
	*o = []*schema{&one}
	return json.Unmarshal(raw, &one)
}

func load(t testing.TB) *accepts {
	t.Helper()
	raw, err := os.ReadFile("testdata/accepts.json")
	if err != nil {
		t.Fatal(err)
	}
	var a accepts
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatal(err)
	}
	return &a
}

// fits reports whether v passes, as that version's zod would judge.
func (s *schema) fits(v any) bool {
	if v == nil {
		return s.Null || s.Kind == "any"
	}
	switch s.Kind {
	case "any":
		return true
	case "string":
		text, ok := v.(string)
		return ok && (text != "" || !s.NotEmpty)
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "number":
		n, ok := v.(float64)
		return ok && (!s.Integer || n == math.Trunc(n)) && (!s.Positive || n >= 0)
	case "literal":
		return slices.Contains(s.Values, v)
	case "record":
		_, ok := v.(map[string]any)
		return ok
	case "array":
		list, ok := v.([]any)
		return ok && len(list) >= s.Min && !slices.ContainsFunc(list, func(one any) bool { return !s.Of[0].fits(one) })
	case "union":
		return slices.ContainsFunc(s.Of, func(one *schema) bool { return one.fits(v) })
	case "object":
		return s.object(v)
	}
	panic("a schema of kind " + s.Kind)
}

func (s *schema) object(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for name, field := range s.Fields {
		value, there := m[name]
		if there && !field.optional(value) || !there && !field.Optional && field.Kind != "any" {
			return false
		}
	}
	for name := range m {
		if s.Fields[name] == nil && s.Unknown == "refused" {
			return false
		}
	}
	if m["type"] == "binary" { // a rule between fields, which the schemas have as code
		return m["id"] != nil && m["id"] != "" || m["url"] != nil && m["url"] != "" || m["data"] != nil && m["data"] != ""
	}
	return true
}

func (s *schema) optional(v any) bool { return s.fits(v) }

// dies gives the reason why a client of version would not get to the end of the
// stream, "" when it would: its schema, and its order rules.
func (a *accepts) dies(version string, frames []agui.Frame) string {
	o := &order{oneOwner: version == "0.0.45"}
	for _, f := range frames {
		var v any
		if json.Unmarshal(f.Raw, &v) != nil {
			return "no JSON: " + string(f.Raw)
		}
		s := a.Schemas[version][f.Type]
		if s == nil {
			return "the type " + string(f.Type)
		}
		if !s.fits(v) {
			return "the schema of " + string(f.Raw)
		}
		if rule := o.push(f); rule != "" {
			return rule + ": " + string(f.Raw)
		}
	}
	return ""
}

func framesOf(t testing.TB, raws ...json.RawMessage) (out []agui.Frame) {
	t.Helper()
	for _, raw := range raws {
		f, err := agui.ParseFrame(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		out = append(out, f)
	}
	return out
}

// each visits all recorded streams: the cases in what stands around them, and the
// whole ones.
func (a *accepts) each(t *testing.T, visit func(name string, frames []agui.Frame, dies func(version string) bool)) {
	for _, name := range slices.Sorted(maps.Keys(a.Cases)) {
		c := a.Cases[name]
		kind, _, _ := strings.Cut(name, " ")
		around, ok := a.Around[kind]
		if !ok {
			around = a.Around[""]
		}
		raws := append(append(slices.Clone(around[0]), c["event"]), around[1]...)
		visit(name, framesOf(t, raws...), func(v string) bool { return string(c[v]) == `"dies"` })
	}
	for _, name := range slices.Sorted(maps.Keys(a.Streams)) {
		c := a.Streams[name]
		var raws []json.RawMessage
		if err := json.Unmarshal(c["events"], &raws); err != nil {
			t.Fatal(err)
		}
		visit(name, framesOf(t, raws...), func(v string) bool { return string(c[v]) == `"dies"` })
	}
}

// TestTables: the tables in fields.go are the fields of the published schemas.
func TestTables(t *testing.T) {
	a := load(t)
	for _, p := range []*Profile{v0045, v0059} {
		schemas := a.Schemas[p.name]
		if len(schemas) != len(p.events) {
			t.Errorf("%v: the table has %d types, the package %d", p, len(p.events), len(schemas))
		}
		for kind, s := range schemas {
			want := slices.Sorted(maps.Keys(s.Fields))
			if got := slices.Sorted(slices.Values(p.events[kind])); !slices.Equal(got, want) {
				t.Errorf("%v %s: the table has %v, the package %v", p, kind, got, want)
			}
		}
	}
}

// TestRulesAreThoseOfThePackages: the judge that the other tests use says of every
// recorded case what the real client did.
func TestRulesAreThoseOfThePackages(t *testing.T) {
	a := load(t)
	n := 0
	a.each(t, func(name string, frames []agui.Frame, dies func(string) bool) {
		for _, version := range []string{"0.0.45", "0.0.59"} {
			n++
			if why := a.dies(version, frames); (why != "") != dies(version) {
				t.Errorf("%s: %s: the package dies %v, the judge says %q", version, name, dies(version), why)
			}
		}
	})
	if n < 1500 {
		t.Errorf("only %d verdicts", n)
	}
}

// ours reports that a stream is one the gateway would send: valid 1.0 in form and
// order. THINKING events have become REASONING by then.
func ours(frames []agui.Frame) bool {
	s := agui.Sequence{ManyRuns: true}
	for _, f := range frames {
		if strings.HasPrefix(string(f.Type), "THINKING_") || f.Validate() != nil || s.Push(f) != nil {
			return false
		}
	}
	return s.End() == nil
}

func through(t *ToClient, frames []agui.Frame) (out []agui.Frame) {
	for _, f := range frames {
		out, _ = t.Step(f, out)
	}
	return t.End(out)
}

// TestNothingKillsAClient: every recorded stream that is valid 1.0 is one its
// clients survive, after ToClient.
func TestNothingKillsAClient(t *testing.T) {
	a := load(t)
	n, saved := 0, 0
	a.each(t, func(name string, frames []agui.Frame, dies func(string) bool) {
		if !ours(frames) || name == "a second run after RUN_ERROR" { // 0.0.45 takes nothing after RUN_ERROR
			return
		}
		for _, p := range []*Profile{v0045, v0059} {
			n++
			if dies(p.name) {
				saved++
			}
			if why := a.dies(p.name, through(p.NewToClient(), frames)); why != "" {
				t.Errorf("%v dies of %s: %s", p, name, why)
			}
		}
	})
	if n < 700 || saved < 100 {
		t.Errorf("only %d streams were tried and %d saved", n, saved)
	}
}

// TestOldStreamsBecomeNew: what 0.0.x clients take of an upstream is valid 1.0
// after FromUpstream, but for what is wrong in every version.
func TestOldStreamsBecomeNew(t *testing.T) {
	wrong := map[string]bool{ // no 0.0.x looks at these, no 1.0 writer means them
		"STATE_DELTA delta=no path": true,
	}
	a := load(t)
	a.each(t, func(name string, frames []agui.Frame, dies func(string) bool) {
		if wrong[name] || dies("0.0.59") {
			return
		}
		var out []agui.Frame
		up := v0059.NewFromUpstream("r")
		for _, f := range frames {
			out = up.Step(f, out)
		}
		for _, f := range out {
			if err := f.Validate(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		s := agui.Sequence{ManyRuns: true}
		for _, f := range out {
			if err := s.Push(f); err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
		}
	})
}
