package agui

import "fmt"

// lane is what chunks of one owner have open: a client makes a START, CONTENT,
// END of them, and ends the lane when another event of that owner comes.
type lane struct {
	kind entity
	id   string
	by   owner // whom the first chunk named; what a client adds later names it too
	// What later chunks must repeat or leave out.
	role, name, parent          string
	hasRole, hasName, hasParent bool
}

// chunk expands chunks, and ends the lanes that any other event ends.
func (r *runState) chunk(f Frame) string {
	switch f.Type {
	case TextMessageChunk:
		return r.addChunk(f, textMessage, "messageId")
	case ToolCallChunk:
		return r.addChunk(f, toolCall, "toolCallId")
	case ReasoningMessageChunk:
		return r.addChunk(f, reasoningMessage, "messageId")
	case RunStarted, RunFinished, RunError, MessagesSnapshot:
		for by := range r.lanes {
			if rule := r.endLane(by); rule != "" {
				return rule
			}
		}
	case Raw, ActivitySnapshot, ActivityDelta, ReasoningEncryptedValue, SubagentStarted:
		// These stand outside the lanes.
	default:
		return r.endLane(ownerOf(f.Raw))
	}
	return ""
}

func (r *runState) endLane(by owner) string {
	l, ok := r.lanes[by]
	if !ok {
		return ""
	}
	delete(r.lanes, by)
	return r.goOn(l.kind, l.id, l.by, true)
}

func (r *runState) addChunk(f Frame, kind entity, idKey string) string {
	rawID := f.Field(idKey)
	id, hasID := text(rawID), rawID != nil
	by := ownerOf(f.Raw)
	at, rule := r.laneFor(kind, id, hasID, by)
	if rule != "" {
		return rule
	}
	l, open := r.lanes[at]
	if open && l.kind == kind && (!hasID || id == l.id) {
		if rule := l.repeats(f); rule != "" || !carries(f) {
			return rule
		}
		if !by.sub {
			by = l.by
		}
		return r.goOn(kind, l.id, by, false)
	}
	if rule := r.endLane(at); rule != "" {
		return rule
	}
	if !hasID {
		return fmt.Sprintf("the first chunk of a %v must have a %s", kind, idKey)
	}
	if kind == toolCall && f.Field("toolCallName") == nil {
		return "the first chunk of a tool call must have a toolCallName"
	}
	l = laneOf(f, kind, id)
	if kind == toolCall {
		rule = r.startCall(id, l.hasParent, l.parent, by)
	} else {
		rule = r.start(kind, id, by)
	}
	r.lanes[at] = l
	return rule
}

// laneFor finds the lane a chunk belongs to: the one that holds its id, else its
// own owner's, else the only one of its kind.
func (r *runState) laneFor(kind entity, id string, hasID bool, by owner) (owner, string) {
	if hasID {
		for at, l := range r.lanes {
			if l.kind == kind && l.id == id {
				if by.sub && by != at {
					return at, fmt.Sprintf("the %v %q belongs to %v, not to %v", kind, id, at, by)
				}
				return at, ""
			}
		}
		return by, ""
	}
	if l, ok := r.lanes[owner{}]; by.sub || ok && l.kind == kind {
		return by, ""
	}
	found := owner{}
	n := 0
	for at, l := range r.lanes {
		if l.kind == kind {
			found = at
			n++
		}
	}
	if n > 1 {
		return found, fmt.Sprintf("a chunk with neither id nor subagentRunId is ambiguous: %d lanes have an open %v", n, kind)
	}
	return found, ""
}

// carries reports whether a client makes an event of a chunk that continues a
// lane; of one without content it makes none.
func carries(f Frame) bool {
	return f.Field("delta") != nil || f.Field("rawEvent") != nil || f.Field("metadata") != nil
}

func laneOf(f Frame, kind entity, id string) lane {
	l := lane{kind: kind, id: id, by: ownerOf(f.Raw), role: f.Text("role"), hasRole: f.Field("role") != nil}
	nameKey := "name"
	if kind == toolCall {
		nameKey = "toolCallName"
		l.parent, l.hasParent = f.Text("parentMessageId"), f.Field("parentMessageId") != nil
	} else if kind == textMessage && !l.hasRole {
		l.role, l.hasRole = "assistant", true
	}
	l.name, l.hasName = f.Text(nameKey), f.Field(nameKey) != nil
	return l
}

// repeats: what a later chunk says again must be what the first one said.
func (l lane) repeats(f Frame) string {
	if l.kind == reasoningMessage {
		return ""
	}
	now := laneOf(f, l.kind, l.id)
	switch {
	case f.Field("role") != nil && (!l.hasRole || now.role != l.role):
		return fmt.Sprintf("a later chunk of the %v %q has another role", l.kind, l.id)
	case now.hasName && (!l.hasName || now.name != l.name):
		return fmt.Sprintf("a later chunk of the %v %q has another name", l.kind, l.id)
	case now.hasParent && (!l.hasParent || now.parent != l.parent):
		return fmt.Sprintf("a later chunk of the %v %q has another parentMessageId", l.kind, l.id)
	}
	return ""
}
