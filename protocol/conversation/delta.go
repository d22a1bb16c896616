package conversation

import (
	"bytes"
	"slices"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// kind is a sort of thing that events open, continue and close. Ids are unique
// inside one kind only.
type kind int

const (
	none kind = iota
	text
	toolCall
	reasoning
	span
)

// said is what a content event says; raw values.
type said struct {
	id, delta, sub, metadata []byte
	ends                     bool // delta is its last member
}

func (s *said) set(key, value []byte, call bool) {
	s.ends = string(key) == "delta"
	switch string(key) {
	case "delta":
		s.delta = value
	case "messageId":
		if !call {
			s.id = value
		}
	case "toolCallId":
		if call {
			s.id = value
		}
	case "subagentRunId":
		s.sub = value
	case "metadata":
		s.metadata = value
	}
}

// applyDelta appends what a content event brings. A relay does this for every
// token, so it reads the event in one walk, and keeps the text escaped: halves
// of a surrogate pair that two events bring become whole that way.
func (b *Builder) applyDelta(k kind, raw []byte) {
	if b.cur.kind == k && len(b.cur.lead) > 0 && len(b.lanes) == 0 && bytes.HasPrefix(raw, b.cur.lead) {
		if from := len(b.cur.lead); stringEnd(raw, from-1) == len(raw)-1 && raw[len(raw)-1] == '}' {
			b.add(raw[from : len(raw)-2])
			return
		}
	}
	s, ok := plainMembers(raw, k == toolCall)
	if !ok {
		s = members(raw, k == toolCall)
	}
	if !isString(s.id) || !isString(s.delta) || s.sub != nil && !isString(s.sub) ||
		s.metadata != nil && strictjson.KindOf(s.metadata) != strictjson.Object {
		return // the client ends its run for it
	}
	if len(b.lanes) > 0 {
		b.endLane(ownerIn(s.sub))
	}
	b.goOn(k, s.id, s.delta[1:len(s.delta)-1], s.metadata)
	b.cur.lead = b.cur.lead[:0]
	if b.cur.kind == k && s.ends && s.metadata == nil && string(raw[len(raw)-2:]) == `"}` {
		b.cur.lead = append(b.cur.lead, raw[:len(raw)-len(s.delta)]...)
	}
}

func members(raw []byte, call bool) (s said) {
	for it := strictjson.Walk(raw); ; {
		key, value, escaped, ok := it.Next()
		if !ok {
			return s
		}
		if escaped {
			key = []byte(decode(quoted(key)))
		}
		s.set(key, value, call)
	}
}

// plainMembers is members for the events that nearly all are: strings and numbers
// only, keys without escapes, no blanks. ok is false for others.
func plainMembers(raw []byte, call bool) (s said, ok bool) {
	if len(raw) < 2 || raw[0] != '{' {
		return s, false
	}
	for i := 1; ; i++ {
		if i >= len(raw) || raw[i] != '"' {
			return s, false
		}
		n := bytes.IndexByte(raw[i+1:], '"')
		colon := i + n + 2
		if n < 0 || colon+1 >= len(raw) || raw[colon] != ':' {
			return s, false
		}
		key := raw[i+1 : colon-1]
		switch c := raw[colon+1]; {
		case c == '"':
			i = stringEnd(raw, colon+1)
		case c == '-' || c >= '0' && c <= '9':
			i = colon + 1 + max(0, bytes.IndexAny(raw[colon+1:], ",}"))
		default:
			return s, false
		}
		if i >= len(raw) || bytes.IndexByte(key, '\\') >= 0 {
			return s, false
		}
		s.set(key, raw[colon+1:i], call)
		if raw[i] == '}' {
			return s, true
		}
		if raw[i] != ',' {
			return s, false
		}
	}
}

// stringEnd gives the index behind the string that opens at i, len(raw) where it
// does not end.
func stringEnd(raw []byte, i int) int {
	for start := i + 1; ; {
		n := bytes.IndexByte(raw[start:], '"')
		if n < 0 {
			return len(raw)
		}
		end := start + n
		slashes := 0
		for end-1-slashes > i && raw[end-1-slashes] == '\\' {
			slashes++
		}
		start = end + 1
		if slashes%2 == 0 {
			return start
		}
	}
}

// goOn appends delta, escaped, to what id names.
func (b *Builder) goOn(k kind, rawID, delta, metadata []byte) {
	if b.cur.kind != k || !bytes.Equal(b.cur.rawID, rawID) {
		if !b.reach(k, rawID) {
			return
		}
	}
	b.add(delta)
	if metadata != nil {
		b.fold(metadata)
	}
}

// add appends delta to the current target.
func (b *Builder) add(delta []byte) {
	if len(delta) > 0 && !b.take(len(delta)) {
		return
	}
	if c := b.cur.call; c != nil {
		c.args = grown(c.args, delta)
		c.touched = true
		b.cur.target.touch()
	} else {
		b.cur.target.appendText(delta)
	}
}

func (e *entry) appendText(delta []byte) {
	if !e.hasText { // no content yet, or parts, which text replaces
		e.text, e.hasText, e.textDone = nil, true, 0
	}
	e.text = grown(e.text, delta)
	e.newText = true
	e.touch()
}

// grown appends to what grows by tokens: it doubles, where append would copy a
// long text five times over.
func grown(text, delta []byte) []byte {
	if len(delta) > cap(text)-len(text) {
		text = slices.Grow(text, max(len(delta), cap(text), 64))
	}
	return append(text, delta...)
}

// reach makes id the current target, and says whether the client has one.
func (b *Builder) reach(k kind, rawID []byte) bool {
	b.forget()
	var h held
	plain := bytes.IndexByte(rawID, '\\') < 0
	switch {
	case k == toolCall && plain:
		h = b.byCall[string(rawID[1:len(rawID)-1])] // no string is made
	case plain:
		h.in = b.byID[string(rawID[1:len(rawID)-1])]
	}
	if h.in == nil {
		id := usable(rawID)
		switch {
		case id == "":
		case k == toolCall:
			h = b.holder(id)
		default:
			h.in = b.find(id)
		}
	}
	if h.in == nil || k != toolCall && h.in.role == activityRole {
		return false // text would take the place of an activity's content
	}
	b.cur = current{kind: k, rawID: append(b.cur.rawID, rawID...), lead: b.cur.lead, target: h.in, call: h.call}
	return true
}

// fold merges metadata into the current target.
func (b *Builder) fold(metadata []byte) {
	if deep(metadata) || !b.take(len(metadata)) {
		return
	}
	o := &b.cur.target.meta
	if c := b.cur.call; c != nil {
		o = &c.meta
		c.touched = true
	}
	b.used += o.merge(metadata) - len(metadata)
	b.cur.target.touch()
}

// forget makes the next delta look its target up.
func (b *Builder) forget() { b.cur = current{rawID: b.cur.rawID[:0], lead: b.cur.lead[:0]} }
