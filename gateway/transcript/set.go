package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Set is a set of places in a transcript, kept as ranges: what a client has, or
// what is hidden, is nearly always a few of them. Its JSON is "0-57,60".
type Set []span

type span struct{ from, to int } // both inside

// Has reports whether i is in the set.
func (s Set) Has(i int) bool {
	n, found := slices.BinarySearchFunc(s, i, func(p span, i int) int {
		switch {
		case p.to < i:
			return -1
		case p.from > i:
			return 1
		}
		return 0
	})
	return found && n < len(s)
}

// Add gives the set with i.
func (s Set) Add(i int) Set { return s.AddRange(i, i+1) }

// AddRange gives the set with from ≤ i < to. The set itself is unchanged.
func (s Set) AddRange(from, to int) Set {
	if from >= to {
		return s
	}
	in := span{from, to - 1}
	if n := len(s); n > 0 && s[n-1].to >= in.from-1 && s[n-1].from <= in.from { // at the end, as nearly always
		out := slices.Clone(s)
		out[n-1].to = max(out[n-1].to, in.to)
		return out
	}
	out := make(Set, 0, len(s)+1)
	for _, p := range s {
		switch {
		case p.to < in.from-1:
			out = append(out, p)
		case p.from > in.to+1:
			if in.to >= 0 {
				out, in = append(out, in), span{0, -1}
			}
			out = append(out, p)
		default:
			in = span{min(in.from, p.from), max(in.to, p.to)}
		}
	}
	if in.to >= 0 {
		out = append(out, in)
	}
	return out
}

// Remove gives the set without i.
func (s Set) Remove(i int) Set {
	if !s.Has(i) {
		return s
	}
	out := make(Set, 0, len(s)+1)
	for _, p := range s {
		if i < p.from || i > p.to {
			out = append(out, p)
			continue
		}
		if p.from < i {
			out = append(out, span{p.from, i - 1})
		}
		if i < p.to {
			out = append(out, span{i + 1, p.to})
		}
	}
	return out
}

// SetOf makes a set of places in any order, in one go.
func SetOf(places []int) (s Set) {
	places = slices.Clone(places)
	slices.Sort(places)
	for _, at := range places {
		if n := len(s); n > 0 && at <= s[n-1].to+1 {
			s[n-1].to = max(s[n-1].to, at)
			continue
		}
		s = append(s, span{at, at})
	}
	return s
}

// Union gives what is in either.
func (s Set) Union(t Set) Set {
	all := make(Set, 0, len(s)+len(t))
	all = append(append(all, s...), t...)
	slices.SortFunc(all, func(a, b span) int { return a.from - b.from })
	out := all[:0]
	for _, p := range all {
		if n := len(out); n > 0 && p.from <= out[n-1].to+1 {
			out[n-1].to = max(out[n-1].to, p.to)
			continue
		}
		out = append(out, p)
	}
	return out
}

// Minus gives what is in s and not in t.
func (s Set) Minus(t Set) Set {
	var out Set
	for _, p := range s {
		from := p.from
		at, _ := slices.BinarySearchFunc(t, p.from, func(q span, i int) int { return q.to - i })
		for ; at < len(t) && t[at].from <= p.to; at++ {
			if t[at].from > from {
				out = append(out, span{from, t[at].from - 1})
			}
			from = t[at].to + 1
		}
		if from <= p.to {
			out = append(out, span{from, p.to})
		}
	}
	return out
}

// Coarse gives a set of at most n ranges that has all of s: the gaps between the
// oldest of them are filled.
func (s Set) Coarse(n int) Set {
	if len(s) <= n {
		return s
	}
	first := len(s) - n
	out := append(Set(nil), s[first:]...)
	out[0].from = s[0].from
	return out
}

// All gives the places in order.
func (s Set) All(yield func(int) bool) {
	for _, p := range s {
		for i := p.from; i <= p.to; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

// String is the set's text, "" when it is empty.
func (s Set) String() string {
	var b []byte
	for i, p := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(p.from), 10)
		if p.to > p.from {
			b = append(b, '-')
			b = strconv.AppendInt(b, int64(p.to), 10)
		}
	}
	return string(b)
}

// MarshalJSON writes the text.
func (s Set) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON reads the text.
func (s *Set) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	*s = nil
	if text == "" {
		return nil
	}
	last := -1
	for part := range strings.SplitSeq(text, ",") {
		a, b, ranged := strings.Cut(part, "-")
		if !ranged {
			b = a
		}
		from, err := strconv.Atoi(a)
		if err != nil {
			return err
		}
		to, err := strconv.Atoi(b)
		if err != nil {
			return err
		}
		if from <= last || to < from {
			return fmt.Errorf("ranges %q are not in order", text)
		}
		*s, last = append(*s, span{from, to}), to
	}
	return nil
}
