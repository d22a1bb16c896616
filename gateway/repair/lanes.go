package repair

import "slices"

// lanes are what chunks have open, one of each owner: chunks have no end of their
// own, the published client ends them at the next other event of their owner.
type lanes struct{ list []lane }

type lane struct {
	owner string // subagentRunId, "" for the agent itself
	kind  kind   // of the chunks
	id    string
	ours  bool // a call of a client tool
}

// outside are the kinds that end no lane.
var outside = setOf(other, rawEvent, activitySnapshot, activityDelta, encrypted, subagentStarted)

// ofAll are the kinds that end every lane.
var ofAll = setOf(runStarted, runFinished, runError, messagesSnapshot)

// idKey is the member that names what a chunk belongs to.
func idKey(k kind) key {
	if k == callChunk {
		return toolCallID
	}
	return messageID
}

// goesOn gives the lane that a chunk continues, nil when it begins one. id is its
// own id, nil when it has none.
func (l *lanes) goesOn(e *event, id []byte) *lane {
	owner := e.bytes(subagent)
	var only *lane
	n := 0
	for i := range l.list {
		at := &l.list[i]
		if at.kind != e.kind {
			continue
		}
		if id != nil && at.id == string(id) || id == nil && at.owner == string(owner) {
			return at
		}
		only = at
		n++
	}
	if id == nil && len(owner) == 0 && n == 1 {
		return only
	}
	return nil
}

// keepLanes takes the lanes past e: going is the lane that e begins or continues,
// over are those it ends.
func (c *Chain) keepLanes(e *event) (going *lane, over []lane) {
	l := &c.lanes
	chunk := e.kind == textChunk || e.kind == thoughtChunk || e.kind == callChunk
	if len(l.list) == 0 && !chunk || outside.has(e.kind) {
		return nil, nil
	}
	if chunk {
		if going = l.goesOn(e, e.bytes(idKey(e.kind))); going != nil {
			return going, nil
		}
	}
	owner := e.bytes(subagent)
	l.list = slices.DeleteFunc(l.list, func(at lane) bool {
		ends := ofAll.has(e.kind) || at.owner == string(owner)
		if ends {
			over = append(over, at)
			c.shared.ended(at.kind, at.id)
		}
		return ends
	})
	if chunk && len(l.list) < maxOpen && e.has(idKey(e.kind)) && len(e.raw(idKey(e.kind))) <= maxID {
		l.list = append(l.list, lane{owner: string(owner), kind: e.kind, id: e.text(idKey(e.kind))})
		e.opens = true
		going = &l.list[len(l.list)-1]
	}
	return going, over
}
