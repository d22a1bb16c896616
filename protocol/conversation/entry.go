package conversation

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// entry is one message: the bytes it came as, and what events laid over them.
type entry struct {
	id   string
	role agui.Role
	head agui.Message

	text     []byte // escaped, without quotes; the content where hasText
	hasText  bool
	textDone int // so much of it a client that joins has from elsewhere
	newText  bool
	byCall   bool // a call made the message
	via      kind // how the run continued a message that was there, and for whom
	viaSub   []byte

	calls  []*call
	meta   object
	secret []byte // encryptedValue
	doc    *node  // an activity's content, once a patch came

	old     bool // of the base
	changed bool // new, or not as the base has it
	known   bool // a client that joins has it; what is touched is since then
	touched bool
}

// call is one tool call of a message.
type call struct {
	id      string
	raw     []byte // as it came, nil when events made it
	name    []byte // raw string
	args    []byte // escaped, without quotes
	done    int    // see entry.textDone
	meta    object
	secret  []byte
	known   bool
	touched bool
}

// held is a call and the message it is in.
type held struct {
	in   *entry
	call *call
}

func entryOf(m agui.Message) *entry {
	e := &entry{id: m.ID, role: m.Role, head: m}
	if strictjson.KindOf(m.Content) == strictjson.Str && m.Role != agui.RoleActivity {
		e.text, e.hasText = inside(m.Content), true
	}
	e.meta.of(agui.Frame{Raw: m.Raw}.Field("metadata"))
	for _, t := range m.ToolCalls {
		e.calls = append(e.calls, callOf(t))
	}
	return e
}

func callOf(t agui.ToolCall) *call {
	function := agui.Frame{Raw: agui.Frame{Raw: t.Raw}.Field("function")}
	c := &call{id: t.ID, raw: t.Raw, name: function.Field("name"), args: inside(function.Field("arguments"))}
	c.meta.of(agui.Frame{Raw: t.Raw}.Field("metadata"))
	return c
}

// settle marks all there is as known to a client that joins.
func (e *entry) settle() {
	e.known, e.touched, e.newText, e.textDone = true, false, false, len(e.text)
	e.meta.touched = false
	for _, c := range e.calls {
		c.known, c.touched, c.done = true, false, len(c.args)
		c.meta.touched = false
	}
}

func (e *entry) touch() { e.changed, e.touched = true, true }

// message gives the message as it is now.
func (e *entry) message() agui.Message {
	m := e.head
	if !e.changed {
		return m
	}
	if e.doc != nil {
		m = m.With("content", e.doc.append(nil))
	} else if e.hasText {
		m = m.With("content", quoted(e.text))
	}
	if len(e.calls) > 0 {
		raw := []byte{'['}
		for i, c := range e.calls {
			if i > 0 {
				raw = append(raw, ',')
			}
			raw = c.append(raw)
		}
		m = m.With("toolCalls", append(raw, ']'))
	}
	if e.secret != nil {
		m = m.With("encryptedValue", e.secret)
	}
	if e.meta.changed {
		m = m.With("metadata", e.meta.append(nil))
	}
	return m
}

func (c *call) append(dst []byte) []byte {
	function := agui.Frame{Raw: []byte("{}")}
	call := agui.Frame{Raw: c.raw}
	if c.raw == nil {
		call = agui.Frame{Raw: join(nil, member{"id", strictjson.Quote(c.id)}, member{"type", []byte(`"function"`)})}
	} else {
		function.Raw = call.Field("function")
	}
	call = call.With("function", function.With("name", c.name).With("arguments", quoted(c.args)).Raw)
	if c.secret != nil {
		call = call.With("encryptedValue", c.secret)
	}
	if c.meta.changed {
		call = call.With("metadata", c.meta.append(nil))
	}
	return append(dst, call.Raw...)
}

// member is a key of the protocol and a raw value, nil for none.
type member struct {
	key   string
	value []byte
}

// join appends an object of the members that have a value.
func join(dst []byte, members ...member) []byte {
	dst = append(dst, '{')
	for _, m := range members {
		if m.value == nil {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), m.key...), '"', ':')
		dst = append(dst, m.value...)
	}
	return append(dst, '}')
}

// begun is a message an event makes.
func begun(id string, role agui.Role, members ...member) *entry {
	q := strictjson.Quote(id)
	raw := join(nil, append([]member{{"id", q}, {"role", strictjson.Quote(string(role))}}, members...)...)
	e := entryOf(agui.Message{Raw: raw}.With("id", q)) // With reads the fields
	e.touch()
	return e
}

// inside gives a raw string without its quotes, with no room to append in place.
func inside(raw []byte) []byte {
	if !isString(raw) {
		return nil
	}
	return raw[1 : len(raw)-1 : len(raw)-1]
}

func quoted(in []byte) []byte {
	return append(append(append(make([]byte, 0, len(in)+2), '"'), in...), '"')
}

func isString(raw []byte) bool { return len(raw) >= 2 && raw[0] == '"' && raw[len(raw)-1] == '"' }

// decode gives a raw string's value, "" for what is none.
func decode(raw []byte) string {
	if !isString(raw) {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	s, err := strictjson.StringOf(raw)
	if err != nil {
		return ""
	}
	return s
}

// usable gives the id a raw string is, "" when no request could name it: half a
// surrogate pair has no UTF-8, so that two such ids would become one.
func usable(raw []byte) string {
	id := decode(raw)
	if bytes.IndexByte(raw, '\\') >= 0 && loneSurrogate(raw) {
		return ""
	}
	return id
}

// loneSurrogate reports whether a checked string escapes half a surrogate pair.
func loneSurrogate(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		unit, ok := surrogate(raw, i)
		if !ok {
			continue
		}
		next, ok := surrogate(raw, i+6)
		if unit >= 'c' || !ok || raw[i+5] != '\\' || next < 'c' {
			return true
		}
		i += 10
	}
	return false
}

// surrogate gives the third digit of an escape \udXXX whose u is at i, from
// which the halves are told apart: 8 to b comes first, c to f second.
func surrogate(raw []byte, i int) (digit byte, ok bool) {
	if i+4 >= len(raw) || raw[i] != 'u' || raw[i+1]|0x20 != 'd' || raw[i+2] < '8' {
		return 0, false
	}
	if d := raw[i+2]; d <= '9' {
		return d, true
	}
	return raw[i+2] | 0x20, true
}
