package repair

import (
	"bytes"
	"slices"

	"github.com/aguigate/aguigate/protocol/agui"
)

// leading holds the {} that some providers write before the real arguments.
type leading struct{ calls []heldEmpty }

type heldEmpty struct {
	id     string
	begun  bool // other arguments have come
	frames []agui.Frame
}

func (l *leading) find(id []byte) int {
	return slices.IndexFunc(l.calls, func(h heldEmpty) bool { return h.id == string(id) })
}

// leadingEmpty drops {} when an object follows it: together they are no JSON.
func (c *Chain) leadingEmpty(e *event) bool {
	l := &c.lead
	switch e.kind {
	case callArgs:
		return c.holdEmpty(e)
	case callEnd:
		if i := l.find(e.bytes(toolCallID)); i >= 0 {
			e.before = append(e.before, l.calls[i].frames...)
			l.calls = slices.Delete(l.calls, i, i+1)
		}
	default:
		c.releaseLeading(e)
	}
	return true
}

func (c *Chain) holdEmpty(e *event) bool {
	l := &c.lead
	v := e.raw(delta)
	if blankText(v) {
		return true
	}
	i := l.find(e.bytes(toolCallID))
	if i < 0 {
		if c.books.call(e.bytes(toolCallID)) < 0 || len(l.calls) >= maxOpen || len(e.raw(toolCallID)) > maxID {
			return true
		}
		l.calls = append(l.calls, heldEmpty{id: e.text(toolCallID)})
		i = len(l.calls) - 1
	}
	h := &l.calls[i]
	if h.begun {
		return true
	}
	text := trimText(v[1 : len(v)-1])
	rest := withoutEmpty(text)
	switch {
	case len(rest) == 0:
		if len(h.frames) > 0 { // {}{}: one is enough
			c.did(rowLeading)
			return false
		}
		h.frames = append(h.frames, agui.Frame{Type: e.f.Type, Raw: slices.Clone(e.f.Raw)})
		return false
	case len(rest) < len(text) && rest[0] == '{':
		c.did(rowLeading)
		e.put(delta, slices.Concat([]byte{'"'}, rest, []byte{'"'}))
	case len(h.frames) > 0 && text[0] == '{':
		c.did(rowLeading)
	default:
		e.before = append(e.before, h.frames...)
	}
	h.begun, h.frames = true, nil
	return true
}

// withoutEmpty takes all {} from the front of JSON text without its quotes. It is
// not decoded: a delta may end inside a character.
func withoutEmpty(text []byte) []byte {
	for {
		rest, ok := bytes.CutPrefix(text, []byte("{}"))
		if !ok {
			return text
		}
		text = trimText(rest)
	}
}

// trimText takes blanks from the front of JSON text.
func trimText(text []byte) []byte {
	for {
		n := blankAt(text)
		if n == 0 {
			return text
		}
		text = text[n:]
	}
}

// releaseLeading puts everything held before e.
func (c *Chain) releaseLeading(e *event) {
	for _, h := range c.lead.calls {
		e.before = append(e.before, h.frames...)
	}
	c.lead.calls = nil
}
