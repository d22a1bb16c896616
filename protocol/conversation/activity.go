package conversation

import (
	"errors"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// activitySnapshot makes an activity, or replaces the message of that id by it,
// unless the event says not to replace. What an activity keeps of the one before
// it is its metadata.
func (b *Builder) activitySnapshot(f agui.Frame) {
	id := usable(f.Field("messageId"))
	if id == "" || deep(f.Raw) {
		return
	}
	e := b.find(id)
	replace := string(f.Field("replace")) != "false"
	if e != nil && !replace {
		if e.role == activityRole {
			b.foldInto(held{in: e}, f.Field("metadata"))
		}
		return
	}
	if !b.take(len(f.Raw)) {
		return
	}
	made := begun(id, activityRole, member{"activityType", f.Field("activityType")},
		member{"content", f.Field("content")}, member{"subagentRunId", f.Field("subagentRunId")})
	switch {
	case e == nil:
		b.push(made)
		e = made
	case e.role == activityRole:
		b.used -= e.contentSize()
		made.meta = e.meta
		made.meta.changed = made.meta.at != nil
		fallthrough
	default:
		made.old, made.known = e.old, e.known
		*e = *made
		b.reindex()
	}
	b.foldInto(held{in: e}, f.Field("metadata"))
}

func (e *entry) contentSize() int {
	if e.doc != nil {
		return e.doc.size
	}
	return len(e.head.Content)
}

// activityDelta patches an activity's content. A patch that fails, or leaves no
// object, changes nothing but the metadata, which is merged before.
func (b *Builder) activityDelta(f agui.Frame) {
	id := usable(f.Field("messageId"))
	if id == "" {
		return
	}
	e := b.find(id)
	if e == nil || e.role != activityRole {
		return
	}
	b.foldInto(held{in: e}, f.Field("metadata"))
	doc := e.doc
	if doc == nil {
		doc = leaf(e.head.Content)
	}
	was := e.contentSize()
	p := patcher{limit: b.limit - b.used + was, work: activityWork}
	patched, err := p.apply(doc, f.Field("patch"))
	if errors.Is(err, errLimit) || errors.Is(err, errWork) {
		b.full = true // the client has it
	}
	if err != nil || patched.kind() != strictjson.Object || !b.take(patched.size-was) {
		return
	}
	e.doc = patched
	e.head = e.head.With("activityType", f.Field("activityType"))
	e.touch()
}
