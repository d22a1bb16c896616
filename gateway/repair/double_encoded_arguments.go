package repair

import (
	"slices"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// maxHeld bounds what is held back of one call.
const maxHeld = 64 << 10

// doubled holds the arguments that begin like a JSON string.
type doubled struct{ calls []heldArguments }

type heldArguments struct {
	id     string
	passes bool // they are no JSON string, or too long
	frames []agui.Frame
	text   []byte // JSON text of the deltas, without quotes
}

func (d *doubled) find(id []byte) int {
	return slices.IndexFunc(d.calls, func(h heldArguments) bool { return h.id == string(id) })
}

// doubleEncoded unpacks arguments that were encoded twice.
func (c *Chain) doubleEncoded(e *event) bool {
	d := &c.twice
	switch e.kind {
	case callArgs:
		return c.holdDoubled(e)
	case callEnd:
		if i := d.find(e.bytes(toolCallID)); i >= 0 {
			c.unpack(&d.calls[i], e)
			d.calls = slices.Delete(d.calls, i, i+1)
		}
	case runFinished:
		for i := range d.calls {
			c.unpack(&d.calls[i], e)
		}
		d.calls = nil
	default: // what was half-written stays half-written
		c.releaseDoubled(e)
	}
	return true
}

// holdDoubled keeps the first deltas of a call whose text begins with a quote.
func (c *Chain) holdDoubled(e *event) bool {
	d := &c.twice
	v := e.raw(delta)
	i := d.find(e.bytes(toolCallID))
	if i < 0 {
		if c.books.call(e.bytes(toolCallID)) < 0 || len(d.calls) >= maxOpen || len(e.raw(toolCallID)) > maxID || blankText(v) {
			return true
		}
		s := plain(v)
		at := blank(s, 0)
		d.calls = append(d.calls, heldArguments{id: e.text(toolCallID), passes: at == len(s) || s[at] != '"'})
		i = len(d.calls) - 1
	}
	h := &d.calls[i]
	if h.passes || len(v) < 2 || v[0] != '"' {
		return true
	}
	h.frames = append(h.frames, agui.Frame{Type: e.f.Type, Raw: slices.Clone(e.f.Raw)})
	h.text = append(h.text, v[1:len(v)-1]...)
	if len(h.text) > maxHeld || len(h.frames) > maxHeld/64 {
		e.before = append(e.before, h.frames...)
		*h = heldArguments{id: h.id, passes: true}
	}
	return false
}

// unpack puts the held arguments before e: unpacked when they are JSON text of an
// object or array, else as they came.
func (c *Chain) unpack(h *heldArguments, e *event) {
	if len(h.frames) == 0 {
		return
	}
	raw := slices.Concat([]byte{'"'}, h.text, []byte{'"'})
	inner, unpacked := raw, false
	for range maxHeld {
		s := plain(inner)
		if s == nil || !strictjson.Valid(s) {
			break
		}
		s = s[blank(s, 0):]
		if k := strictjson.KindOf(s); k == strictjson.Object || k == strictjson.Array {
			unpacked = unpacked || len(inner) != len(raw)
			inner = s
			break
		} else if k != strictjson.Str {
			break
		}
		inner, unpacked = trimRight(s), true
	}
	if unpacked && inner[0] != '"' {
		c.did(rowDoubled)
		e.before = append(e.before, h.frames[0].With("delta", quoted(trimRight(inner))))
		return
	}
	e.before = append(e.before, h.frames...)
}

func trimRight(b []byte) []byte {
	for len(b) > 0 && blank(b, len(b)-1) == len(b) {
		b = b[:len(b)-1]
	}
	return b
}

// releaseDoubled puts everything held before e.
func (c *Chain) releaseDoubled(e *event) {
	for _, h := range c.twice.calls {
		e.before = append(e.before, h.frames...)
	}
	c.twice.calls = nil
}
