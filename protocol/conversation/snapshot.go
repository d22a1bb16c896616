package conversation

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// snapshot merges a MESSAGES_SNAPSHOT: its messages take the places of those
// with the same ids, new ones go to the end, and the client's others are
// dropped, but for activities and reasoning that the agent does not keep itself.
func (b *Builder) snapshot(f agui.Frame) {
	msgs, err := agui.ReadMessages(f.Field("messages"))
	if err != nil {
		return
	}
	var fresh []agui.Message
	size := 0
	for _, m := range msgs {
		if m, ok := keep(m.Raw); ok {
			fresh = append(fresh, m)
			size += len(m.Raw) + overhead
		}
	}
	b.unfold()
	if !b.cutOff {
		b.before = b.oldIDs()
	}
	s := sheet{last: map[string]agui.Message{}}
	for _, m := range fresh {
		s.last[m.ID] = m
		s.activity = s.activity || m.Role == activityRole
		s.reasoning = s.reasoning || m.Role == agui.RoleReasoning
	}
	s.types, s.declared = ownedTypes(f.Field("metadata"))
	for _, e := range b.order() {
		if _, in := s.last[e.id]; !in && s.keeps(e) && e.changed {
			size += e.size()
		}
	}
	if size > b.limit {
		b.full = true
	}
	if b.full {
		return
	}
	b.used = size
	b.merge(s, fresh)
}

// merge rebuilds the list; the whole of it is then known to a client that joins,
// as CatchUp sends it in a snapshot.
func (b *Builder) merge(s sheet, fresh []agui.Message) {
	var list []*entry
	have := map[string]bool{}
	for _, e := range b.order() {
		if m, in := s.last[e.id]; in {
			e = replaced(e, m)
		} else if !s.keeps(e) {
			continue
		}
		have[e.id] = true
		list = append(list, e)
	}
	for _, m := range fresh {
		if !have[m.ID] {
			e := entryOf(m)
			e.touch()
			if b.base.Each == nil && b.base.Message != nil {
				_, e.old = b.base.Message(m.ID)
			}
			list = append(list, e)
		}
	}
	b.list, b.touched, b.reached, b.cutOff = list, nil, true, true
	for _, e := range list {
		e.settle()
	}
	b.reindex()
}

func replaced(e *entry, m agui.Message) *entry {
	if !e.changed && equal(e.head.Raw, m.Raw) {
		return e
	}
	out := entryOf(m)
	out.old = e.old
	out.touch()
	return out
}

// equal compares as JSON values, numbers by what is written.
func equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := strictjson.Canonical(nil, a)
	y, errY := strictjson.Canonical(nil, b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func (b *Builder) oldIDs() []string {
	var ids []string
	for _, e := range b.order() {
		if e.old {
			ids = append(ids, e.id)
		}
	}
	return ids
}

// size is what the entry costs of the limit.
func (e *entry) size() int {
	n := len(e.head.Raw) + len(e.text) + len(e.secret) + overhead
	if e.doc != nil {
		n += e.doc.size
	}
	if e.meta.changed {
		n += len(e.meta.append(nil))
	}
	for _, c := range e.calls {
		n += len(c.id) + len(c.name) + len(c.args) + len(c.secret) + overhead
		if c.meta.changed {
			n += len(c.meta.append(nil))
		}
	}
	return n
}

// sheet is what a MESSAGES_SNAPSHOT says.
type sheet struct {
	last                map[string]agui.Message // by id; of two the later one
	activity, reasoning bool                    // it holds some
	declared            declaration
	types               map[string]bool
}

// declaration is how far a snapshot owns activities that it leaves out.
type declaration int

const (
	undeclared declaration = iota // all of them where it holds one, else none
	allTypes
	someTypes
)

// keeps reports whether a message that the snapshot leaves out stays.
func (s *sheet) keeps(e *entry) bool {
	switch {
	case e.role == agui.RoleReasoning:
		return !s.reasoning
	case e.role != activityRole || s.declared == allTypes:
		return false
	case s.declared == undeclared:
		return !s.activity
	}
	return !s.types[decode(agui.Frame{Raw: e.head.Raw}.Field("activityType"))]
}

// ownedTypes reads the client's own convention: metadata
// {"@ag-ui/client":{"authoritativeActivityTypes": null | [types]}}. Anything
// malformed in it owns nothing.
func ownedTypes(metadata []byte) (map[string]bool, declaration) {
	ours := agui.Frame{Raw: metadata}.Field("@ag-ui/client")
	if ours == nil {
		return nil, undeclared
	}
	types := agui.Frame{Raw: ours}.Field("authoritativeActivityTypes")
	switch {
	case strictjson.KindOf(ours) != strictjson.Object:
		return nil, someTypes
	case types == nil:
		return nil, undeclared
	case strictjson.KindOf(types) == strictjson.Null:
		return nil, allTypes
	case strictjson.KindOf(types) != strictjson.Array:
		return nil, someTypes
	}
	out := map[string]bool{}
	for it := strictjson.Walk(types); ; {
		_, t, _, ok := it.Next()
		if !ok {
			return out, someTypes
		}
		if !isString(t) {
			return nil, someTypes
		}
		out[decode(t)] = true
	}
}

// runStarted adds the messages of the request that an agent echoes, where the
// client does not have them. A run behind another one begins with nothing open.
func (b *Builder) runStarted(f agui.Frame) {
	b.runs++
	if b.runs > 1 {
		b.open, b.steps, b.subagents = nil, nil, nil
	}
	msgs, err := agui.ReadMessages(agui.Frame{Raw: f.Field("input")}.Field("messages"))
	if err != nil {
		return
	}
	for _, m := range msgs {
		if b.find(m.ID) != nil {
			continue
		}
		m, ok := keep(m.Raw)
		if !ok || !b.take(len(m.Raw)+overhead) {
			continue
		}
		e := entryOf(m)
		e.touch()
		if b.runs == 1 {
			e.settle() // who joins is sent the same RUN_STARTED
		}
		for _, c := range e.calls {
			b.holder(c.id) // one that the base holds stays the one that events reach
		}
		b.push(e)
	}
}
