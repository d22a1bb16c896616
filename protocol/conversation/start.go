package conversation

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

const activityRole = agui.RoleActivity

// overhead is what a message, a call or an opening costs beside its bytes.
const overhead = 64

// opener is what an event says that opens something; raw values.
type opener struct {
	rawID, role, name, parent, sub, metadata []byte
}

func openerOf(f agui.Frame, k kind) opener {
	o := opener{sub: f.Field("subagentRunId"), metadata: f.Field("metadata")}
	if k == toolCall {
		o.rawID, o.name, o.parent = f.Field("toolCallId"), f.Field("toolCallName"), f.Field("parentMessageId")
		return o
	}
	o.rawID = f.Field("messageId")
	if k == text {
		o.role, o.name = f.Field("role"), f.Field("name")
	}
	return o
}

// start takes an event that begins a message or a call; chunked says that a
// chunk did.
func (b *Builder) start(k kind, o opener, chunked bool) {
	made := false
	if id := usable(o.rawID); id == "" {
		// Nobody could name it later: it is open, and holds nothing.
	} else if k == toolCall {
		made = b.startCall(id, o)
	} else {
		made = b.startMessage(k, id, o)
	}
	b.opened(k, o, chunked, made)
}

// startMessage continues a message that has the id, whatever its role, or makes
// one. An activity is left alone.
func (b *Builder) startMessage(k kind, id string, o opener) (made bool) {
	e := b.find(id)
	if e != nil && e.role == activityRole {
		return false
	}
	if e == nil {
		role := agui.RoleAssistant
		if k == reasoning {
			role = agui.RoleReasoning
		} else if o.role != nil {
			role = agui.Role(decode(o.role))
		}
		if !b.take(len(id) + len(o.name) + len(o.sub) + overhead) {
			return false
		}
		e = begun(id, role, member{"name", o.name}, member{"subagentRunId", o.sub}, member{"content", []byte(`""`)})
		b.push(e)
		made = true
	} else {
		e.via, e.viaSub = k, bytes.Clone(o.sub)
	}
	b.foldInto(held{in: e}, o.metadata)
	return made
}

// startCall joins the call to the message it names, else to one of its own. A
// call that is there already takes the new name and keeps its arguments.
func (b *Builder) startCall(id string, o opener) (made bool) {
	if h := b.holder(id); h.call != nil {
		if decode(h.call.name) != decode(o.name) && b.take(len(o.name)) {
			h.call.name, h.call.touched = bytes.Clone(o.name), true
			h.in.touch()
		}
		b.foldInto(h, o.metadata)
		return false
	}
	if !b.take(2*len(id) + len(o.name) + len(o.parent) + len(o.sub) + 2*overhead) {
		return false
	}
	e := b.parentOf(id, o)
	if e == nil {
		return false
	}
	c := &call{id: id, name: bytes.Clone(o.name), touched: true}
	e.calls = append(e.calls, c)
	e.touch()
	b.byCall[id] = held{e, c}
	b.foldInto(held{e, c}, o.metadata)
	return true
}

// parentOf gives the message a new call belongs into: the assistant message that
// parentMessageId names, a new one of that id, or, where that id is another
// role's or none is named, a new one under the call's own id.
func (b *Builder) parentOf(callID string, o opener) *entry {
	id := callID
	if len(o.parent) > len(`""`) {
		parent := usable(o.parent)
		if parent == "" {
			return nil
		}
		switch e := b.find(parent); {
		case e == nil:
			id = parent
		case e.role == agui.RoleAssistant:
			return e
		}
	}
	sub := o.sub
	if b.find(id) != nil {
		sub = nil // the client tags the message only where its id is new
	}
	e := begun(id, agui.RoleAssistant, member{"subagentRunId", sub})
	e.byCall = true
	b.push(e)
	return e
}

// foldInto merges an event's metadata into a message, or into a call.
func (b *Builder) foldInto(h held, metadata []byte) {
	if metadata == nil {
		return
	}
	b.cur.target, b.cur.call = h.in, h.call
	b.fold(metadata)
	b.forget()
}

// end takes an event that closes something.
func (b *Builder) end(k kind, rawID, metadata []byte) {
	delete(b.open, entity{k, decode(rawID)})
	b.forget()
	if metadata != nil && k != span && b.reach(k, rawID) {
		b.fold(metadata)
	}
	b.forget()
}

// result makes a message of a tool's answer and puts it behind the message that
// made the call, and behind the answers that stand there; at the end when no
// message did.
func (b *Builder) result(f agui.Frame) {
	id, callID := usable(f.Field("messageId")), usable(f.Field("toolCallId"))
	if id == "" || callID == "" || !b.take(len(f.Raw)) {
		return
	}
	b.find(id) // a message that has this id stays the one that events reach
	raw := join(nil, member{"id", f.Field("messageId")}, member{"role", []byte(`"tool"`)},
		member{"toolCallId", f.Field("toolCallId")}, member{"content", f.Field("content")},
		member{"subagentRunId", f.Field("subagentRunId")}, member{"metadata", f.Field("metadata")})
	m, ok := keep(raw)
	if !ok {
		return
	}
	e := entryOf(m)
	e.touch()
	h := b.holder(callID)
	if h.in == nil || h.in.role != agui.RoleAssistant {
		b.push(e)
		return
	}
	if h.in.old {
		b.unfold()
	}
	at := b.place(h.in)
	for at < len(b.list) && b.list[at].role == agui.RoleTool {
		at++
	}
	b.list = append(b.list, nil)
	copy(b.list[at+1:], b.list[at:])
	b.list[at] = e
	if b.byID[id] == nil {
		b.byID[id] = e
	} else {
		b.reindex() // it may stand before the one that had the id
	}
}

// place is the index behind e; 0 for one of a base that is not unfolded.
func (b *Builder) place(e *entry) int {
	for i := len(b.list) - 1; i >= 0; i-- {
		if b.list[i] == e {
			return i + 1
		}
	}
	return 0
}

// encrypted sets the blob of a message or a call.
func (b *Builder) encrypted(f agui.Frame) {
	id, value := usable(f.Field("entityId")), f.Field("encryptedValue")
	if id == "" {
		return
	}
	if decode(f.Field("subtype")) == "tool-call" {
		if h := b.holder(id); h.call != nil && b.take(len(value)-len(h.call.secret)) {
			h.call.secret = bytes.Clone(value)
			h.in.touch()
		}
		return
	}
	if e := b.find(id); e != nil && e.role != activityRole && b.take(len(value)-len(e.secret)) {
		e.secret = bytes.Clone(value)
		e.touch()
	}
}

// keep checks a raw message, copies it and gives it; parts that the protocol
// does not know are taken out, as the client takes them. One that no request
// could carry is not kept.
func keep(raw []byte) (agui.Message, bool) {
	if deep(raw) {
		return agui.Message{}, false
	}
	for range 2 {
		list := append(append([]byte{'['}, raw...), ']')
		if ms, err := agui.DecodeMessages(list, ""); err == nil && len(ms) == 1 {
			return ms[0], true
		}
		raw = withoutStrangers(raw)
	}
	return agui.Message{}, false
}

func withoutStrangers(raw []byte) []byte {
	content := agui.Frame{Raw: raw}.Field("content")
	if strictjson.KindOf(content) != strictjson.Array {
		return raw
	}
	out := []byte{'['}
	for it := strictjson.Walk(content); ; {
		_, part, _, ok := it.Next()
		if !ok {
			break
		}
		one := append(append([]byte{'['}, part...), ']')
		if _, err := agui.DecodeParts(one, ""); err != nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, part...)
	}
	return agui.Frame{Raw: raw}.With("content", append(out, ']')).Raw
}
