package conversation

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/agui"
)

// owner is who an event belongs to: a subagent, or the agent itself.
type owner struct {
	sub bool
	id  string
}

func ownerIn(sub []byte) owner {
	if !isString(sub) {
		return owner{}
	}
	return owner{true, decode(sub)}
}

// entity names what can be open.
type entity struct {
	kind kind
	id   string
}

// opening is something that an event has opened and none has closed.
type opening struct {
	entity
	opener
	by      owner
	chunked bool // a client waits for its next chunk
	made    bool // it made the message or the call
	born    int
}

// opened records an opening, in copies.
func (b *Builder) opened(k kind, o opener, chunked, made bool) {
	if !b.take(len(o.rawID) + len(o.role) + len(o.name) + len(o.parent) + len(o.sub) + overhead) {
		return
	}
	for _, raw := range []*[]byte{&o.rawID, &o.role, &o.name, &o.parent, &o.sub} {
		if *raw != nil {
			*raw = bytes.Clone(*raw)
		}
	}
	o.metadata = nil
	b.born++
	at := &opening{entity: entity{k, decode(o.rawID)}, opener: o, by: ownerIn(o.sub), chunked: chunked, made: made, born: b.born}
	if b.open == nil {
		b.open = map[entity]*opening{}
	}
	b.open[at.entity] = at
	if chunked {
		if b.lanes == nil {
			b.lanes = map[owner]*opening{}
		}
		b.lanes[at.by] = at
	}
}

var chunkKinds = map[agui.Type]kind{
	agui.TextMessageChunk: text, agui.ToolCallChunk: toolCall, agui.ReasoningMessageChunk: reasoning,
}

// applyChunk does what the events would do that the client makes of a chunk. One
// that the client would end its run for changes nothing.
func (b *Builder) applyChunk(k kind, f agui.Frame) {
	o := openerOf(f, k)
	at, ok := b.laneFor(k, o)
	if !ok {
		return
	}
	l := b.lanes[at]
	starts := l == nil || l.kind != k || o.rawID != nil && decode(o.rawID) != l.id
	switch {
	case starts && (o.rawID == nil || k == toolCall && o.name == nil):
		return
	case starts:
		b.endLane(at)
		b.forget()
		b.start(k, o, true)
		if l = b.lanes[at]; l == nil {
			return // no room for it
		}
	case !l.agrees(o):
		return
	}
	if delta := f.Field("delta"); delta != nil || f.Field("rawEvent") != nil || !starts && o.metadata != nil {
		b.goOn(k, l.rawID, inside(delta), o.metadata)
	}
}

// agrees: what a later chunk says again must be what the first one said.
func (l *opening) agrees(o opener) bool {
	role := l.role
	if l.kind == text && role == nil {
		role = []byte(`"assistant"`)
	}
	return same(o.role, role) && same(o.name, l.name) && same(o.parent, l.parent)
}

func same(now, first []byte) bool { return now == nil || first != nil && decode(now) == decode(first) }

// laneFor finds the lane a chunk belongs to: the one that holds its id, else its
// own owner's, else the only one of its kind.
func (b *Builder) laneFor(k kind, o opener) (owner, bool) {
	by := ownerIn(o.sub)
	if o.rawID != nil {
		if l := b.open[entity{k, decode(o.rawID)}]; l != nil && b.lanes[l.by] == l {
			return l.by, !by.sub || by == l.by
		}
		return by, true
	}
	if l := b.lanes[by]; by.sub || l != nil && l.kind == k {
		return by, true
	}
	found, n := by, 0
	for at, l := range b.lanes {
		if l.kind == k {
			found = at
			n++
		}
	}
	return found, n < 2
}

// endLanes ends what chunks have open and f ends: what its owner has, and with
// an event of the whole run all.
func (b *Builder) endLanes(f agui.Frame) {
	if len(b.lanes) == 0 {
		return
	}
	switch f.Type {
	case agui.RunStarted, agui.RunFinished, agui.RunError, agui.MessagesSnapshot:
		for at := range b.lanes {
			b.endLane(at)
		}
	default:
		if endsLane(f.Type) {
			b.endLane(ownerIn(f.Field("subagentRunId")))
		}
	}
}

// endsLane reports whether an event of type t ends its owner's lane. Chunks have
// their own rule, and events of the whole run end every lane.
func endsLane(t agui.Type) bool {
	switch t {
	case agui.Raw, agui.ActivitySnapshot, agui.ActivityDelta, agui.ReasoningEncryptedValue, agui.SubagentStarted:
		return false
	}
	return t.Known()
}

func (b *Builder) endLane(at owner) {
	l := b.lanes[at]
	if l == nil {
		return
	}
	delete(b.lanes, at)
	if b.open[l.entity] == l {
		delete(b.open, l.entity)
	}
}
