package agui

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// cursor walks the members of one object, or the elements of one array, of text
// that strictjson has checked. It looks for the ends of values only, so that a
// frame costs one validation and little more; strictjson.Iter would validate
// again. Text that was not checked cannot make it panic or loop.
type cursor struct {
	b   []byte
	i   int
	end byte // '}' or ']'; 0 when there is nothing to walk
}

// member is one step of a cursor: offsets into the walked text.
type member struct {
	keyStart, keyEnd int // with quotes; equal in an array
	start, end       int // the value without blanks around it
}

// walk starts on the object or array b; another value has no members.
func walk(b []byte) cursor {
	i := blank(b, 0)
	if i < len(b) && (b[i] == '{' || b[i] == '[') {
		return cursor{b: b, i: blank(b, i+1), end: b[i] + 2} // '{'+2 = '}', '['+2 = ']'
	}
	return cursor{}
}

func (c *cursor) next() (m member, ok bool) {
	if c.end == 0 || c.i >= len(c.b) || c.b[c.i] == c.end {
		return m, false
	}
	m.keyStart, m.keyEnd = c.i, c.i
	if c.end == '}' {
		m.keyEnd = stringEnd(c.b, c.i)
		c.i = blank(c.b, m.keyEnd)
		if c.i >= len(c.b) || c.b[c.i] != ':' {
			return m, false
		}
		c.i = blank(c.b, c.i+1)
	}
	m.start = c.i
	m.end = valueEnd(c.b, c.i)
	if m.end == m.start {
		return m, false
	}
	c.i = blank(c.b, m.end)
	if c.i < len(c.b) && c.b[c.i] == ',' {
		c.i = blank(c.b, c.i+1)
	}
	return m, true
}

// key is the decoded key of m; it allocates only where the key holds an escape.
func (c *cursor) key(m member) []byte {
	if m.keyEnd-m.keyStart < 2 {
		return nil
	}
	k := c.b[m.keyStart+1 : m.keyEnd-1]
	if bytes.IndexByte(k, '\\') < 0 {
		return k
	}
	return []byte(text(c.b[m.keyStart:m.keyEnd]))
}

func (c *cursor) value(m member) []byte { return c.b[m.start:m.end:m.end] }

// find gives the member key of the object b, and false when it is absent.
func find(b []byte, key string) (member, bool) {
	c := walk(b)
	if c.end != '}' {
		return member{}, false
	}
	for {
		m, ok := c.next()
		if !ok {
			return member{}, false
		}
		if string(c.key(m)) == key {
			return m, true
		}
	}
}

// field is the raw value of key in the object b, nil when absent.
func field(b []byte, key string) []byte {
	m, ok := find(b, key)
	if !ok {
		return nil
	}
	return b[m.start:m.end:m.end]
}

// text decodes a raw JSON string, "" for anything else. strictjson decodes
// escapes of checked text only, and a Frame can be made of anything, so they are
// checked here.
func text(raw []byte) string {
	if !isString(raw) {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	if !strictjson.Valid(raw) {
		return ""
	}
	s, err := strictjson.StringOf(raw)
	if err != nil {
		return ""
	}
	return s
}

func isString(raw []byte) bool { return len(raw) >= 2 && raw[0] == '"' && raw[len(raw)-1] == '"' }
func isNull(raw []byte) bool   { return string(raw) == "null" }

func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return containerEnd(b, i)
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ':', '"', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}

// stringEnd gives the index after the string that opens at i, i when it does not
// end.
func stringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return i
	}
	start := i
	for i++; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return start
		}
		q, slashes := i+n, 0
		for j := q - 1; j >= i && b[j] == '\\'; j-- {
			slashes++
		}
		i = q + 1
		if slashes%2 == 0 {
			return i
		}
	}
}

// containerEnd gives the index after the object or array that opens at i, i when
// it does not end.
func containerEnd(b []byte, i int) int {
	start := i
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			end := stringEnd(b, i)
			if end == i {
				return start
			}
			i = end
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return start
}
