package repair

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// key numbers the members that steps look at.
type key uint8

const (
	messageID key = iota
	toolCallID
	delta
	subagent
	parentID
	toolName
	role
	stepName
	threadID
	runID
	timestamp
	content
	metadata
	keys
)

var keyNames = [keys]string{"messageId", "toolCallId", "delta", "subagentRunId", "parentMessageId", "toolCallName",
	"role", "stepName", "threadId", "runId", "timestamp", "content", "metadata"}

// noted gives the key of a member's name, keys when no step asks for it.
func noted(name []byte) key {
	switch string(name) {
	case "messageId":
		return messageID
	case "toolCallId":
		return toolCallID
	case "delta":
		return delta
	case "subagentRunId":
		return subagent
	case "parentMessageId":
		return parentID
	case "toolCallName":
		return toolName
	case "role":
		return role
	case "stepName":
		return stepName
	case "threadId":
		return threadID
	case "runId":
		return runID
	case "timestamp":
		return timestamp
	case "content":
		return content
	case "metadata":
		return metadata
	}
	return keys
}

// event is one frame on its way through the steps, with where its members are.
type event struct {
	f     agui.Frame
	kind  kind
	nulls bool // a member is null
	odd   bool // a member is of another JSON type than hot events have
	opens bool // a chunk that begins a message or call
	at    [keys]span
	// before is what a step puts in front of the event.
	before []agui.Frame
}

type span struct{ from, to uint32 }

func (e *event) load(f agui.Frame) {
	e.f, e.kind, e.opens, e.before = f, kindOf(f.Type), false, nil
	if e.kind != other {
		e.scan()
	}
}

// scan walks the members once for all steps.
func (e *event) scan() {
	e.at, e.nulls, e.odd = [keys]span{}, false, false
	m := walk(e.f.Raw)
	for m.next() {
		first := m.b[m.from]
		if first == 'n' {
			e.nulls = true
		}
		k := noted(m.b[m.keyFrom:m.keyTo])
		if k == keys && bytes.IndexByte(m.b[m.keyFrom:m.keyTo], '\\') >= 0 {
			k = noted(m.key())
		}
		if k == keys {
			continue
		}
		e.at[k] = span{uint32(m.from), uint32(m.to)}
		switch {
		case k == timestamp:
			e.odd = e.odd || !digits(m.b[m.from:m.to])
		case first != '"' && k != metadata:
			e.odd = true
		}
	}
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// raw is the value of k, nil when absent. It is a part of the frame.
func (e *event) raw(k key) []byte {
	s := e.at[k]
	if s.to == 0 {
		return nil
	}
	return e.f.Raw[s.from:s.to:s.to]
}

// bytes is the string under k: nil when absent or no string. It shares the frame
// unless the string has escapes.
func (e *event) bytes(k key) []byte { return plain(e.raw(k)) }

func (e *event) text(k key) string { return string(e.bytes(k)) }

// has reports a string under k that is not empty.
func (e *event) has(k key) bool { v := e.raw(k); return len(v) > 2 && v[0] == '"' }

// put sets a member to a JSON value.
func (e *event) put(k key, value []byte) {
	e.f = e.f.With(keyNames[k], value)
	e.scan()
}

func (e *event) putText(k key, s string) { e.put(k, strictjson.Quote(s)) }

func (e *event) cut(name string) {
	e.f = e.f.Without(name)
	e.scan()
}

// replace puts another frame of the same type in the event's place.
func (e *event) replace(f agui.Frame) {
	e.f = f
	e.scan()
}

// owned gives f the subagent of e.
func (e *event) owned(f agui.Frame) agui.Frame {
	if v := e.raw(subagent); v != nil {
		return f.With(keyNames[subagent], v)
	}
	return f
}

// plain decodes a raw JSON string that has passed a check; nil for anything else.
func plain(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	in := raw[1 : len(raw)-1]
	if bytes.IndexByte(in, '\\') < 0 {
		return in
	}
	s, err := strictjson.StringOf(raw)
	if err != nil {
		return nil
	}
	return []byte(s)
}

// walker goes through the members of one checked object. Text that was not
// checked ends the walk early and never makes it panic.
type walker struct {
	b              []byte
	i              int
	keyFrom, keyTo int // without quotes
	from, to       int // the value
}

func walk(b []byte) walker {
	i := blank(b, 0)
	if i >= len(b) || b[i] != '{' {
		return walker{b: b, i: len(b)}
	}
	return walker{b: b, i: i + 1}
}

func (m *walker) next() bool {
	b, i := m.b, blank(m.b, m.i)
	if i < len(b) && b[i] == ',' {
		i = blank(b, i+1)
	}
	end := stringEnd(b, i)
	m.keyFrom, m.keyTo = i+1, end-1
	i = blank(b, end)
	if end <= m.keyFrom || i >= len(b) || b[i] != ':' {
		return false
	}
	if i = blank(b, i+1); i < len(b) && b[i] == '"' {
		m.from, m.to = i, stringEnd(b, i)
	} else {
		m.from, m.to = i, valueEnd(b, i)
	}
	m.i = m.to
	return m.to > m.from
}

// key is the member's name; one written with escapes is decoded.
func (m *walker) key() []byte {
	k := m.b[m.keyFrom:m.keyTo]
	if bytes.IndexByte(k, '\\') < 0 {
		return k
	}
	return plain(m.b[m.keyFrom-1 : m.keyTo+1])
}

func blank(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd gives the index after the string that opens at i, i when it has none.
func stringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return i
	}
	for j := i + 1; j < len(b); {
		n := bytes.IndexByte(b[j:], '"')
		if n < 0 {
			return i
		}
		q, back := j+n, 0
		if b[q-1] != '\\' {
			return q + 1
		}
		for q-1-back > i && b[q-1-back] == '\\' {
			back++
		}
		if j = q + 1; back%2 == 0 {
			return j
		}
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
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}

func containerEnd(b []byte, i int) int {
	start := i
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := stringEnd(b, i)
			if end == i {
				return start
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return start
}
