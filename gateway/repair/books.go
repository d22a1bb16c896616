package repair

import "slices"

// Bounds of what is remembered of one run. Past them the steps that would need
// to know more let events pass as they are.
const (
	maxOpen  = 256     // things of one kind that are open at once
	maxBytes = 1 << 20 // ids and what belongs to them
	maxID    = 1024    // bytes of an id that is remembered
)

// books is what is open in the stream as it is given out.
type books struct {
	texts, thoughts, spans []string
	calls                  []openCall
	steps                  []step
	full                   bool // something was open that is not here
}

type openCall struct {
	id, tool string
	args     bool // its arguments have begun
}

type step struct{ owner, name string }

// note keeps the books by an event that leaves the chain.
func (c *Chain) note(e *event) {
	b := &c.books
	switch e.kind {
	case textStart:
		b.texts = b.opened(b.texts, e.text(messageID))
	case textEnd:
		b.texts = closed(b.texts, e.bytes(messageID))
	case thoughtStart:
		b.thoughts = b.opened(b.thoughts, e.text(messageID))
	case thoughtEnd:
		b.thoughts = closed(b.thoughts, e.bytes(messageID))
	case spanStart:
		b.spans = b.opened(b.spans, e.text(messageID))
	case spanEnd:
		b.spans = closed(b.spans, e.bytes(messageID))
	case callStart:
		b.openCall(openCall{id: e.text(toolCallID), tool: e.text(toolName)})
	case callArgs:
		if i := b.call(e.bytes(toolCallID)); i >= 0 && !b.calls[i].args {
			b.calls[i].args = !blankText(e.raw(delta))
		}
	case callEnd:
		if i := b.call(e.bytes(toolCallID)); i >= 0 {
			b.calls = slices.Delete(b.calls, i, i+1)
		}
	case stepStarted:
		if b.full = b.full || len(b.steps) >= maxOpen; !b.full {
			b.steps = append(b.steps, step{e.text(subagent), e.text(stepName)})
		}
	case stepFinished:
		if i := slices.Index(b.steps, step{e.text(subagent), e.text(stepName)}); i >= 0 {
			b.steps = slices.Delete(b.steps, i, i+1)
		}
	case runFinished, runError:
		c.over = true
	}
}

func (b *books) opened(list []string, id string) []string {
	switch {
	case id == "", find(list, []byte(id)) >= 0: // nothing could tell it from another
		return list
	case len(list) >= maxOpen, len(id) > maxID:
		b.full = true
		return list
	}
	return append(list, id)
}

func closed(list []string, id []byte) []string {
	if i := find(list, id); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// find looks from the newest back: what goes on is nearly always the last.
func find(list []string, id []byte) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == string(id) {
			return i
		}
	}
	return -1
}

func (b *books) openCall(c openCall) {
	if i := b.call([]byte(c.id)); i >= 0 {
		b.calls[i] = c
		return
	}
	if c.id == "" {
		return
	}
	if len(b.calls) >= maxOpen || len(c.id) > maxID || len(c.tool) > maxID {
		b.full = true
		return
	}
	b.calls = append(b.calls, c)
}

func (b *books) call(id []byte) int {
	for i := len(b.calls) - 1; i >= 0; i-- {
		if b.calls[i].id == string(id) {
			return i
		}
	}
	return -1
}

// listOf is the open things that events of kind k begin, go on with or end.
func (b *books) listOf(k kind) []string {
	switch k {
	case textStart, textContent, textEnd, textChunk:
		return b.texts
	case thoughtStart, thoughtContent, thoughtEnd, thoughtChunk:
		return b.thoughts
	}
	return b.spans
}

// blankText reports whether a raw JSON string says nothing but blanks.
func blankText(raw []byte) bool {
	if len(raw) < 2 || raw[0] != '"' {
		return true
	}
	for in := raw[1 : len(raw)-1]; len(in) > 0; {
		n := blankAt(in)
		if n == 0 {
			return false
		}
		in = in[n:]
	}
	return true
}

// blankAt is the length of the blank that JSON text begins with, 0 when none.
func blankAt(in []byte) int {
	switch {
	case len(in) > 0 && in[0] == ' ':
		return 1
	case len(in) > 1 && in[0] == '\\' && (in[1] == 'n' || in[1] == 't' || in[1] == 'r'):
		return 2
	}
	return 0
}
