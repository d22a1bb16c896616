package agui

import (
	"strconv"
	"strings"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// shape is one protocol object: what its fields are. Fields it does not name are
// legal and not looked into.
type shape struct {
	fields []fieldRule
	spell  []string               // protocol keys of its siblings; misspelt they are refused here too
	also   func(raw []byte) error // a rule between fields
}

// fieldRule is one field of a shape.
type fieldRule struct {
	name   string
	rule   rule
	need   bool
	nullOK bool // optional, and null is a value of its own
}

// rule says what a value must be: a leaf (ok), a list of items, or an object
// whose shape pick finds. want is the end of "it must be …".
type rule struct {
	want   string
	ok     func(c *checker, raw []byte) bool
	item   *rule // of a list
	min    int   // of a list
	pick   func(raw []byte) *shape
	orText bool   // a string will do as well
	tag    string // the key that pick reads, "" when there is only one shape
	tags   string // the values it may have
}

// checker walks checked JSON along rules.
type checker struct {
	// lenient is for events: a member of a union that the protocol does not know
	// passes, because a 1.0 client drops it and goes on. In a request it is
	// refused, because the agent behind us would refuse it.
	lenient bool
	// nullAbsent is for requests: null of an optional field is the field left
	// out. A 1.0 client refuses such an event.
	nullAbsent bool
	nulls      bool // some were seen
}

// shapeError says what is wrong and where, as a JSON Pointer (RFC 6901).
type shapeError struct{ at, text string }

func (e *shapeError) Error() string {
	if e.at == "" {
		return "the value " + e.text
	}
	return e.at + " " + e.text
}

func (e *shapeError) under(token string) *shapeError {
	e.at = "/" + token + e.at
	return e
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func pointerToken(key []byte) string {
	if len(key) > 64 {
		key = key[:64]
	}
	return pointerEscapes.Replace(strings.ToValidUTF8(string(key), ""))
}

func (c *checker) check(r *rule, raw []byte) *shapeError {
	switch {
	case r.ok != nil:
		if r.ok(c, raw) {
			return nil
		}
		return notWanted(r, raw)
	case r.orText && isString(raw):
		return nil
	case r.item != nil:
		return c.list(r, raw)
	}
	if raw[0] != '{' {
		return notWanted(r, raw)
	}
	s := r.pick(raw)
	if s != nil {
		return c.object(s, raw)
	}
	if c.lenient {
		return nil
	}
	if field(raw, r.tag) == nil {
		return &shapeError{"/" + r.tag, "is missing; it must be one of " + r.tags}
	}
	return &shapeError{"/" + r.tag, "must be one of " + r.tags}
}

func notWanted(r *rule, raw []byte) *shapeError {
	k := strictjson.KindOf(raw).String()
	if strings.HasPrefix(r.want, k) { // the type is right, the value is not
		return &shapeError{"", "must be " + r.want}
	}
	return &shapeError{"", "must be " + r.want + ", not " + k}
}

func (c *checker) list(r *rule, raw []byte) *shapeError {
	if raw[0] != '[' {
		return notWanted(r, raw)
	}
	n := 0
	for cur := walk(raw); ; n++ {
		m, ok := cur.next()
		if !ok {
			break
		}
		if err := c.check(r.item, cur.value(m)); err != nil {
			return err.under(strconv.Itoa(n))
		}
	}
	if n < r.min {
		return &shapeError{"", "must be " + r.want}
	}
	return nil
}

func (c *checker) object(s *shape, raw []byte) *shapeError {
	var keys keySet
	var have uint32
	for cur := walk(raw); ; {
		m, ok := cur.next()
		if !ok {
			break
		}
		key := cur.key(m)
		if !keys.add(key) {
			return &shapeError{"/" + pointerToken(key), "appears twice in one object"}
		}
		i := s.index(key)
		if i < 0 {
			if right := s.misspelt(key); right != "" {
				return &shapeError{"/" + pointerToken(key), "is another spelling of " + right + ", which must be written exactly so"}
			}
			continue
		}
		have |= 1 << i
		if err := c.value(&s.fields[i], cur.value(m)); err != nil {
			return err.under(s.fields[i].name)
		}
	}
	for i := range s.fields {
		if s.fields[i].need && have&(1<<i) == 0 {
			return &shapeError{"/" + s.fields[i].name, "is missing; it must be " + s.fields[i].rule.want}
		}
	}
	if s.also != nil {
		if err := s.also(raw); err != nil {
			return &shapeError{"", err.Error()}
		}
	}
	return nil
}

func (c *checker) value(f *fieldRule, raw []byte) *shapeError {
	if !f.need && isNull(raw) {
		switch {
		case f.nullOK:
			return nil
		case c.nullAbsent:
			c.nulls = true
			return nil
		}
		return &shapeError{"", "must not be null; an optional field is left out, or it is " + f.rule.want}
	}
	return c.check(&f.rule, raw)
}

func (s *shape) index(key []byte) int {
	for i := range s.fields {
		if string(key) == s.fields[i].name {
			return i
		}
	}
	return -1
}

// misspelt gives the protocol key that key is another spelling of, "" when none.
func (s *shape) misspelt(key []byte) string {
	for _, right := range s.spell {
		if string(key) == right {
			return ""
		}
	}
	for i := range s.fields {
		if misspells(key, s.fields[i].name) {
			return s.fields[i].name
		}
	}
	for _, right := range s.spell {
		if misspells(key, right) {
			return right
		}
	}
	return ""
}

// withoutNulls gives raw, which fits r, without the nulls of optional protocol
// fields; nulls that are data stay. It returns raw itself when there are none.
func withoutNulls(r *rule, raw []byte) []byte {
	switch {
	case r.ok != nil, len(raw) == 0, raw[0] != '{' && raw[0] != '[':
		return raw
	case r.item != nil:
		return listWithoutNulls(r.item, raw)
	}
	s := r.pick(raw)
	if s == nil {
		return raw
	}
	for i := range s.fields {
		f := &s.fields[i]
		v := field(raw, f.name)
		switch {
		case v == nil:
		case isNull(v):
			if !f.need && !f.nullOK {
				raw = cut(raw, f.name)
			}
		default:
			if clean := withoutNulls(&f.rule, v); len(clean) != len(v) {
				raw = splice(raw, f.name, clean)
			}
		}
	}
	return raw
}

func listWithoutNulls(item *rule, raw []byte) []byte {
	var out []byte
	done := 0
	for cur := walk(raw); ; {
		m, ok := cur.next()
		if !ok {
			break
		}
		v := cur.value(m)
		if clean := withoutNulls(item, v); len(clean) != len(v) {
			out = append(append(out, raw[done:m.start]...), clean...)
			done = m.end
		}
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}
