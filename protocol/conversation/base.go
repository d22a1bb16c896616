package conversation

import (
	"iter"

	"github.com/aguigate/aguigate/protocol/agui"
)

// Base is the conversation a run begins with, as the client has it. Each func
// may be nil; a base without any is an empty conversation.
type Base struct {
	// Message finds a message by its id; asked about once for each message and
	// call that a run starts.
	Message func(id string) (agui.Message, bool)
	// Holder finds the first assistant message that holds a call; asked about
	// once for each call and result.
	Holder func(toolCallID string) (agui.Message, bool)
	// Each gives all messages in order; asked for when a MESSAGES_SNAPSHOT comes,
	// and when a result has to be placed behind a call of the base. Without it
	// such a result comes before the run's own messages.
	Each iter.Seq[agui.Message]
}

// BaseOf is the base that a list is. The list must not be changed.
func BaseOf(list []agui.Message) Base {
	byID := make(map[string]int, len(list))
	byCall := map[string]int{}
	for i, m := range list {
		if _, ok := byID[m.ID]; !ok {
			byID[m.ID] = i
		}
		for _, c := range m.ToolCalls {
			if _, ok := byCall[c.ID]; !ok {
				byCall[c.ID] = i
			}
		}
	}
	in := func(index map[string]int) func(string) (agui.Message, bool) {
		return func(key string) (agui.Message, bool) {
			if i, ok := index[key]; ok {
				return list[i], true
			}
			return agui.Message{}, false
		}
	}
	return Base{Message: in(byID), Holder: in(byCall), Each: func(yield func(agui.Message) bool) {
		for _, m := range list {
			if !yield(m) {
				return
			}
		}
	}}
}

// order is what the builder knows of the client's list.
func (b *Builder) order() []*entry {
	if len(b.touched) > 1 {
		b.unfold()
	}
	if len(b.touched) == 0 {
		return b.list
	}
	return append(b.touched[:len(b.touched):len(b.touched)], b.list...)
}

// find gives the first message with this id, as the client's find does.
func (b *Builder) find(id string) *entry {
	if e := b.byID[id]; e != nil {
		return e
	}
	if b.reached || b.base.Message == nil {
		return nil
	}
	m, ok := b.base.Message(id)
	if !ok {
		return nil
	}
	return b.adopt(m)
}

// adopt takes a message of the base in, so that it can change.
func (b *Builder) adopt(m agui.Message) *entry {
	e := entryOf(m)
	e.old = true
	e.settle()
	b.touched = append(b.touched, e)
	b.index(e)
	return e
}

// holder gives the first call with this id and the message it is in.
func (b *Builder) holder(callID string) held {
	if h, ok := b.byCall[callID]; ok {
		return h
	}
	if b.reached || b.base.Holder == nil {
		return held{}
	}
	m, ok := b.base.Holder(callID)
	if !ok || b.byID[m.ID] != nil {
		return held{} // the run has changed it since
	}
	b.adopt(m)
	return b.byCall[callID]
}

// unfold takes the whole base into the list, where order matters.
func (b *Builder) unfold() {
	if b.reached || b.base.Each == nil {
		return
	}
	adopted := make(map[string]*entry, len(b.touched))
	for _, e := range b.touched {
		adopted[e.id] = e
	}
	var list []*entry
	for m := range b.base.Each {
		e := adopted[m.ID]
		if e == nil {
			e = entryOf(m)
			e.old = true
			e.settle()
		}
		delete(adopted, m.ID)
		list = append(list, e)
	}
	b.list = append(list, b.list...)
	b.touched, b.reached = nil, true
	b.reindex()
}

// push puts a new message at the end.
func (b *Builder) push(e *entry) {
	b.list = append(b.list, e)
	b.index(e)
}

// index makes e findable, unless another has its id or its calls already.
func (b *Builder) index(e *entry) {
	if b.byID[e.id] == nil {
		b.byID[e.id] = e
	}
	for _, c := range e.calls {
		if _, ok := b.byCall[c.id]; !ok {
			b.byCall[c.id] = held{e, c}
		}
	}
}

func (b *Builder) reindex() {
	clear(b.byID)
	clear(b.byCall)
	for _, e := range b.touched {
		b.index(e)
	}
	for _, e := range b.list {
		b.index(e)
	}
}
