package tool

import (
	"encoding/json"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of one validation. A schema of a few hundred bytes can ask for an
// exponential number of visits ({"$defs":{"a":{"allOf":[b,b]},"b":{"allOf":[c,c]},…)
// and this package has no clock, so the visits are counted before they are made:
// the same walk without the checks. A unit is about half a microsecond of the
// validator's work, the unluckiest case of each keyword measured on one core of
// 2020; so the worst schemas stay near 40 ms, below the 50 ms of [SEC-2], and
// ordinary ones use a thousandth of it. The count does not depend on the machine:
// what is checked on one replica is checked on all.
const (
	MaxValue   = 512 << 10 // bytes of a value; decoding them is half of the time
	maxWork    = 65_000    // units
	maxNesting = 3_000     // visits inside each other: they take stack
)

// affordable reports whether v, written in size bytes, can be validated within
// the bounds.
func affordable(s *jsonschema.Schema, v any, size int) bool {
	m := meter{left: maxWork - size/16}
	m.visit(s, v, 0)
	return m.left >= 0
}

type meter struct{ left int }

func (m *meter) charge(n int) { m.left -= n }

// visit charges what validating v against s may take. nesting is how many visits
// this one stands in: a fault is reported with the whole way to it.
func (m *meter) visit(s *jsonschema.Schema, v any, nesting int) {
	if m.charge(1 + nesting/8); nesting > maxNesting {
		m.left = -1
	}
	if m.left < 0 || s.Bool != nil {
		return
	}
	if !typeFits(s.Types, v) {
		m.charge(1) // a fault costs more than a visit
		return
	}
	m.leaf(s, v)
	sameValue(s, func(sub *jsonschema.Schema) {
		if m.left >= 0 {
			m.visit(sub, v, nesting+1)
		}
	})
	switch v := v.(type) {
	case map[string]any:
		m.object(s, v, nesting+1)
	case []any:
		m.array(s, v, nesting+1)
	}
}

// leaf charges the keywords that look at v itself.
func (m *meter) leaf(s *jsonschema.Schema, v any) {
	if s.Enum != nil {
		m.charge(len(s.Enum.Values) * (weight(v) - 1))
		m.charge(len(s.Enum.Values) / 4)
	}
	if s.Const != nil {
		m.charge(weight(v))
	}
	switch v := v.(type) {
	case string:
		m.charge(len(v) / 64)
		m.match(s.Pattern, v)
		if s.Format != nil {
			m.charge(1 + len(v))
		}
	case json.Number:
		m.number(s, v)
	case map[string]any:
		m.charge((len(v) + len(s.Required)/2 + len(s.Dependencies) + len(s.DependentRequired) + len(s.DependentSchemas)) / 2)
	case []any:
		m.charge(len(v) / 4)
		if s.UniqueItems {
			m.unique(v)
		}
	}
}

func (m *meter) number(s *jsonschema.Schema, v json.Number) {
	n := 0
	for _, bound := range []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum} {
		if bound != nil {
			n++
		}
	}
	if s.MultipleOf != nil {
		n += 4
	}
	if s.Types != nil {
		n++ // is it an integer?
	}
	m.charge(n * digits(v))
}

// digits weighs a number by what exact arithmetic has to hold of it.
func digits(v json.Number) int {
	n := 1 + len(v)/16
	if at := strings.IndexAny(string(v), "eE"); at >= 0 {
		n += 3
		if len(v)-at > 3 { // three digits of exponent: it is computed to hundreds
			n += 8
		}
	}
	return n
}

func (m *meter) match(re jsonschema.Regexp, text string) {
	if p, ok := re.(*pattern); ok && p.re != nil {
		m.charge(1 + p.size*(len(text)+1)/16)
	}
}

// unique charges the comparison of each item with each other. The validator
// hashes them, but its hash does not tell lists of texts apart reliably.
func (m *meter) unique(list []any) {
	plain, sum := true, 0
	for _, v := range list {
		switch v.(type) {
		case map[string]any, []any:
			plain = false
		}
		sum += weight(v)
	}
	if m.charge(2 * sum); !plain {
		m.charge(len(list) * sum / 4)
	}
}

func (m *meter) object(s *jsonschema.Schema, obj map[string]any, nesting int) {
	more, _ := s.AdditionalProperties.(*jsonschema.Schema)
	above := nesting
	for name, v := range obj {
		if m.left < 0 {
			return
		}
		nesting := above + len(name)/32 // the way to a fault spells each name
		m.to(s.Properties[name], v, nesting)
		for re, sub := range s.PatternProperties {
			if m.match(re, name); m.left >= 0 && re.MatchString(name) {
				m.to(sub, v, nesting)
			}
		}
		m.to(more, v, nesting)
		if s.PropertyNames != nil {
			m.charge(2)
			m.to(s.PropertyNames, name, nesting)
		}
		m.to(s.UnevaluatedProperties, v, nesting)
	}
}

func (m *meter) array(s *jsonschema.Schema, list []any, nesting int) {
	all, _ := s.Items.(*jsonschema.Schema)
	first, _ := s.Items.([]*jsonschema.Schema)
	first = append(first[:len(first):len(first)], s.PrefixItems...)
	more, _ := s.AdditionalItems.(*jsonschema.Schema)
	for i, v := range list {
		if m.left < 0 {
			return
		}
		if i < len(first) {
			m.to(first[i], v, nesting)
		} else {
			m.to(more, v, nesting)
			m.to(s.Items2020, v, nesting)
		}
		m.to(all, v, nesting)
		m.to(s.Contains, v, nesting)
		m.to(s.UnevaluatedItems, v, nesting)
	}
}

func (m *meter) to(s *jsonschema.Schema, v any, nesting int) {
	if s != nil && m.left >= 0 {
		m.visit(s, v, nesting)
	}
}

// weight is how many parts a value has, long texts counting more.
func weight(v any) int {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v) / 64
	case json.Number:
		n += digits(v)
	case []any:
		for _, e := range v {
			n += weight(e)
		}
	case map[string]any:
		for _, e := range v {
			n += weight(e)
		}
	}
	return n
}

// typeFits tells what the validator decides before all else.
func typeFits(types *jsonschema.Types, v any) bool {
	if types == nil || types.IsEmpty() {
		return true
	}
	var own jsonschema.Types
	switch v.(type) {
	case nil:
		own.Add("null")
	case bool:
		own.Add("boolean")
	case json.Number:
		own.Add("number")
		own.Add("integer")
	case string:
		own.Add("string")
	case []any:
		own.Add("array")
	case map[string]any:
		own.Add("object")
	}
	return *types&own != 0
}
