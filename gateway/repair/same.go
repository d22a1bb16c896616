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
	n := len(c.before)
	if n == 0 || len(f.Raw) < n || f.Type != c.kind || !bytes.Equal(f.Raw[:n], c.before) {
		return false
	}
	end := stringEnd(f.Raw, n-1) // from the quote that opens the delta
	return end > n+1 && endsPlainly(f.Raw[end:])
}

// endsPlainly tells what may stand behind the delta: nothing, or the time.
func endsPlainly(tail []byte) bool {
	if string(tail) == "}" {
		return true
	}
	time, ok := bytes.CutPrefix(tail, []byte(`,"timestamp":`))
	return ok && len(time) > 1 && len(time) <= 16 && time[len(time)-1] == '}' && digits(time[:len(time)-1])
}

// remember keeps the beginning of f up to its delta, when no step had anything to
// do with it.
func (c *Chain) remember(f agui.Frame, out []agui.Frame) {
	c.before = c.before[:0]
	e := &c.top
	if !deltas.has(e.kind) || len(out) != 1 || e.odd || e.nulls || len(out[0].Raw) != len(f.Raw) || &out[0].Raw[0] != &f.Raw[0] {
		return
	}
	at := e.at[delta]
	if at.to-at.from <= 2 || at.from >= longestBefore || !endsPlainly(f.Raw[at.to:]) {
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
