package strictjson

import (
	"bytes"
	"fmt"
	"strings"
)

// Kind is the first byte of a JSON value reduced to its type.
type Kind byte

// The JSON types.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	Str
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// KindOf tells the type of a checked value from its first byte.
func KindOf(raw []byte) Kind {
	if i := skipBlank(raw, 0); i < len(raw) {
		switch c := raw[i]; {
		case c == '{':
			return Object
		case c == '[':
			return Array
		case c == '"':
			return Str
		case c == 't' || c == 'f':
			return Bool
		case c == 'n':
			return Null
		case c == '-' || c >= '0' && c <= '9':
			return Number
		}
	}
	return Invalid
}

// Member is one key of an object with its value as it was written.
type Member struct {
	Key string // decoded
	Raw []byte // the value's bytes, a part of the input
}

// Members is an object in the order it was written.
type Members []Member

// Get gives the raw value of key, nil when absent.
func (m Members) Get(key string) []byte {
	for i := range m {
		if m[i].Key == key {
			return m[i].Raw
		}
	}
	return nil
}

// Iter walks the members of one object, or the elements of one array, without
// allocating. The text must have passed Check.
type Iter struct {
	b   []byte
	i   int
	end byte
}

// Walk starts on a checked object or array; any other value has no members.
func Walk(checked []byte) Iter {
	i := skipBlank(checked, 0)
	if i < len(checked) && (checked[i] == '{' || checked[i] == '[') {
		return Iter{b: checked, i: skipBlank(checked, i+1), end: checked[i] + 2} // '{'+2 = '}', '['+2 = ']'
	}
	return Iter{}
}

// Next gives the next member. key is without quotes and still escaped when
// escaped is true; in an array it is nil. ok is false at the end.
func (it *Iter) Next() (key, value []byte, escaped, ok bool) {
	if it.end == 0 || it.i >= len(it.b) || it.b[it.i] == it.end {
		return nil, nil, false, false
	}
	if it.end == '}' {
		if it.b[it.i] != '"' {
			return nil, nil, false, false
		}
		stop, err := skipString(it.b, it.i)
		if err != nil {
			return nil, nil, false, false
		}
		key = it.b[it.i+1 : stop-1]
		escaped = bytes.IndexByte(key, '\\') >= 0
		if it.i, err = skipColon(it.b, stop); err != nil {
			return nil, nil, false, false
		}
	}
	start := it.i
	stop, err := skipValue(it.b, start, 0)
	if err != nil {
		return nil, nil, false, false
	}
	it.i = skipBlank(it.b, stop)
	if it.i < len(it.b) && it.b[it.i] == ',' {
		it.i = skipBlank(it.b, it.i+1)
	}
	return key, it.b[start:stop], escaped, true
}

// ParseObject checks b whole and gives its members. A key that appears twice in
// this object, however it is escaped, is ErrDuplicate [SEC-1]; values are not
// looked into.
func ParseObject(b []byte) (Members, error) {
	if err := Check(b); err != nil {
		return nil, err
	}
	return ObjectOf(b)
}

// ObjectOf is ParseObject for a value that has passed Check already.
func ObjectOf(checked []byte) (Members, error) {
	if k := KindOf(checked); k != Object {
		return nil, fmt.Errorf("%w: an object is needed, this is %v", ErrType, k)
	}
	var out Members
	it := Walk(checked)
	for {
		key, value, escaped, ok := it.Next()
		if !ok {
			break
		}
		k := string(key)
		if escaped {
			k = unescape(key)
		}
		out = append(out, Member{Key: k, Raw: value})
	}
	return out, unique(out)
}

func unique(ms Members) error {
	if len(ms) <= 16 {
		for i := range ms {
			for j := range i {
				if ms[i].Key == ms[j].Key {
					return fmt.Errorf("%w %q", ErrDuplicate, clip(ms[i].Key))
				}
			}
		}
		return nil
	}
	seen := make(map[string]struct{}, len(ms))
	for _, m := range ms {
		if _, dup := seen[m.Key]; dup {
			return fmt.Errorf("%w %q", ErrDuplicate, clip(m.Key))
		}
		seen[m.Key] = struct{}{}
	}
	return nil
}

// ArrayOf gives the elements of a checked array.
func ArrayOf(checked []byte) ([][]byte, error) {
	if k := KindOf(checked); k != Array {
		return nil, fmt.Errorf("%w: an array is needed, this is %v", ErrType, k)
	}
	var out [][]byte
	it := Walk(checked)
	for {
		_, value, _, ok := it.Next()
		if !ok {
			return out, nil
		}
		out = append(out, value)
	}
}

// StringOf decodes a checked string, blanks around it allowed. Of text that was
// not checked, what is no string is ErrType and what is no JSON ErrSyntax; UTF-8 is
// not looked at.
func StringOf(raw []byte) (string, error) {
	start := skipBlank(raw, 0)
	if start == len(raw) || raw[start] != '"' {
		return "", fmt.Errorf("%w: a string is needed, this is %v", ErrType, KindOf(raw))
	}
	start++
	end := skipPlain(raw, start)
	if end < len(raw) && raw[end] == '"' {
		if err := onlyBlank(raw, end+1); err != nil {
			return "", err
		}
		return string(raw[start:end]), nil
	}
	text, end, err := decode(raw, start)
	if err == nil {
		err = onlyBlank(raw, end)
	}
	if err != nil {
		return "", err
	}
	return string(text), nil
}

func onlyBlank(b []byte, i int) error {
	if i = skipBlank(b, i); i != len(b) {
		return syntaxAt(i)
	}
	return nil
}

// Misspelt finds a key that is another spelling of a protocol key: the same
// letters in another case, or with other separators, so that one parser would
// read it as the protocol's field and another would not [SEC-1]. It gives the
// key and the right spelling.
func Misspelt(ms Members, protocol []string) (key, right string, found bool) {
next:
	for i := range ms {
		for _, p := range protocol {
			if ms[i].Key == p {
				continue next
			}
		}
		for _, p := range protocol {
			if sameLetters(ms[i].Key, p) {
				return ms[i].Key, p, true
			}
		}
	}
	return "", "", false
}

func sameLetters(a, b string) bool { return strings.EqualFold(bare(a), bare(b)) }

func bare(s string) string {
	if !strings.ContainsAny(s, "_-. ") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, s)
}

func clip(s string) string {
	if len(s) > 64 {
		return strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}
