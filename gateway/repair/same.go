package repair

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/agui"
)

// longestBefore bounds what is remembered of a delta's event.
const longestBefore = 512

// goesOn reports an event that is the one before it but for its delta. Nearly
// all events are that: an agent's text comes in hundreds of deltas, and what was
// found of the first one holds until something else comes.
func (c *Chain) goesOn(f agui.Frame) bool {
	n, last := len(c.before), len(f.Raw)-2
	if n == 0 || last <= n || f.Type != c.kind || f.Raw[last] != '"' || f.Raw[last+1] != '}' {
		return false
	}
	if !bytes.Equal(f.Raw[:n], c.before) {
		return false
	}
	return stringEnd(f.Raw, n-1) == last+1 // from the quote that opens the delta
}

// remember keeps the beginning of f, when f is a delta at its event's end that no
// step had anything to do with.
func (c *Chain) remember(f agui.Frame, out []agui.Frame) {
	c.before = c.before[:0]
	e := &c.top
	if !deltas.has(e.kind) || len(out) != 1 || e.odd || e.nulls || len(out[0].Raw) != len(f.Raw) || &out[0].Raw[0] != &f.Raw[0] {
		return
	}
	at := e.at[delta]
	if at.to-at.from <= 2 || int(at.to) != len(f.Raw)-1 || at.from >= longestBefore {
		return
	}
	if e.kind == callArgs && !c.settled(e) {
		return
	}
	c.before, c.kind = append(c.before, f.Raw[:at.from+1]...), f.Type
}

// settled reports that the next arguments of e's call need no step: some have
// come, and no step looks into them.
func (c *Chain) settled(e *event) bool {
	if c.active(rowDoubled) || c.active(rowLeading) {
		return false
	}
	i := c.books.call(e.bytes(toolCallID))
	return i >= 0 && c.books.calls[i].args
}
