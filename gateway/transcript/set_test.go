package transcript

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// list gives the places of a set.
func (s Set) list() []int { return slices.Collect(s.All) }

// A set's operations, its text, and how it is kept: as few ranges as can be.
func TestSet(t *testing.T) {
	var s Set
	for _, c := range []struct {
		name string
		do   func(Set) Set
		want string
	}{
		{"a first", func(s Set) Set { return s.Add(5) }, "5"},
		{"the same again", func(s Set) Set { return s.Add(5) }, "5"},
		{"next to it", func(s Set) Set { return s.Add(6) }, "5-6"},
		{"before it", func(s Set) Set { return s.Add(4) }, "4-6"},
		{"apart", func(s Set) Set { return s.Add(9) }, "4-6,9"},
		{"the first place", func(s Set) Set { return s.Add(0) }, "0,4-6,9"},
		{"a bridge", func(s Set) Set { return s.AddRange(7, 9) }, "0,4-9"},
		{"over all", func(s Set) Set { return s.AddRange(2, 12) }, "0,2-11"},
		{"nothing", func(s Set) Set { return s.AddRange(20, 20) }, "0,2-11"},
		{"out of the middle", func(s Set) Set { return s.Remove(5) }, "0,2-4,6-11"},
		{"the ends of a range", func(s Set) Set { return s.Remove(6).Remove(11) }, "0,2-4,7-10"},
		{"what is not there", func(s Set) Set { return s.Remove(6).Remove(99) }, "0,2-4,7-10"},
		{"a range of one", func(s Set) Set { return s.Remove(0) }, "2-4,7-10"},
		{"another", func(s Set) Set { return s.Union(Set{{0, 2}, {5, 5}, {12, 13}}) }, "0-5,7-10,12-13"},
		{"none", func(s Set) Set { return s.Union(nil) }, "0-5,7-10,12-13"},
		{"to none", func(s Set) Set { return Set(nil).Union(s) }, "0-5,7-10,12-13"},
	} {
		before := s.String()
		next := c.do(s)
		if next.String() != c.want {
			t.Fatalf("%s: %q, want %q", c.name, next, c.want)
		}
		if s.String() != before {
			t.Fatalf("%s: the set before became %q", c.name, s)
		}
		s = next
	}
}

// Texts that are no set's are refused: what is read is what would be written.
func TestSetJSON(t *testing.T) {
	for _, text := range []string{`""`, `"0"`, `"0-57,60"`, `"3,5,7-9"`} {
		var s Set
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if out, _ := json.Marshal(s); string(out) != text {
			t.Errorf("%s became %s", text, out)
		}
	}
	for _, text := range []string{`"a"`, `"1-"`, `"-1"`, `"5-3"`, `"3,3"`, `"3-5,4"`, `"5,3"`, `","`, `"1,"`, `"1--2"`, `7`, `null3`} {
		var s Set
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s was read as %q", text, s)
		}
	}
}

// setModel is a set kept as a map beside a Set.
type setModel struct {
	t *testing.T
	s Set
	m map[int]bool
}

// step does one thing, told by three bytes, to both.
func (m *setModel) step(op, a, b byte) {
	before, kept := m.s, slices.Clone(m.s)
	from, to := int(a%80), int(a%80)+int(b%12)
	switch op % 5 {
	case 0:
		m.s, m.m[from] = m.s.Add(from), true
	case 1:
		m.s = m.s.AddRange(from, to)
		for i := from; i < to; i++ {
			m.m[i] = true
		}
	case 2, 3:
		m.s = m.s.Remove(from)
		delete(m.m, from)
	case 4:
		m.s = m.s.Union(Set{}.AddRange(from, to).Add(int(b)))
		for i := from; i < to; i++ {
			m.m[i] = true
		}
		m.m[int(b)] = true
	}
	if !slices.Equal(before, kept) {
		m.t.Fatalf("a set was changed in place: %q became %q", kept, before)
	}
	m.check()
}

func (m *setModel) check() {
	want := slices.Sorted(maps.Keys(m.m))
	if got := m.s.list(); !slices.Equal(got, want) {
		m.t.Fatalf("the set is %v, want %v", got, want)
	}
	for i := -1; i < 260; i++ {
		if m.s.Has(i) != m.m[i] {
			m.t.Fatalf("Has(%d) of %q is %v", i, m.s, m.s.Has(i))
		}
	}
	for i := 1; i < len(m.s); i++ {
		if m.s[i].from <= m.s[i-1].to+1 {
			m.t.Fatalf("%q is more ranges than needed", m.s)
		}
	}
	text, err := json.Marshal(m.s)
	var again Set
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err != nil || !slices.Equal(again.list(), want) {
		m.t.Fatalf("%s was read as %q: %v", text, again, err)
	}
}

func TestSetModel(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		m := &setModel{t: t, m: map[int]bool{}}
		for range 60 {
			m.step(byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32()))
		}
	}
}

// All stops when its reader does.
func TestSetAll(t *testing.T) {
	n := 0
	for i := range (Set{{1, 3}, {7, 9}}).All {
		if n++; i == 7 {
			break
		}
	}
	if n != 4 {
		t.Errorf("%d places were given", n)
	}
}

// Steps of three bytes go to the model; the whole input is read as a set's text, and
// what is read is written as it was read.
func FuzzSet(f *testing.F) {
	for _, s := range []string{"", "0", "0-57,60", "5-3", "\x00\x05\x00\x01\x09\x04\x02\x05\x00", "1,2,3"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &setModel{t: t, m: map[int]bool{}}
		for i := 0; i+2 < len(data) && i < 90; i += 3 {
			m.step(data[i], data[i+1], data[i+2])
		}
		text, _ := json.Marshal(string(data))
		var s, again Set
		if json.Unmarshal(text, &s) != nil {
			return
		}
		last := -1
		for _, p := range s {
			if p.from <= last || p.to < p.from {
				t.Fatalf("%s was read as %v", text, s)
			}
			last = p.to
		}
		out, err := json.Marshal(s)
		if err == nil {
			err = json.Unmarshal(out, &again)
		}
		if err != nil || !slices.Equal(s, again) {
			t.Fatalf("%s was written as %s and read as %q: %v", text, out, again, err)
		}
	})
}

func ExampleSet() {
	fmt.Println(Set{}.AddRange(0, 58).Add(60))
	// Output: 0-57,60
}
