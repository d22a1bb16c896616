package conversation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// CatchUp writes the events that bring a client which joins now, with the same
// base and after the run's own RUN_STARTED, to where the run is. Messages and
// calls that are open stay open, so that the frames that follow continue them:
// chunks by chunks. A call gets no end it has not had. Steps, reasoning spans
// and subagents come as they are, the state as it was sent.
//
// After a MESSAGES_SNAPSHOT the messages come as one too, and what came in the
// place of a base's message stands there; a result that was put behind a message
// of the base then stands at the end.
func (b *Builder) CatchUp() []agui.Frame {
	var x emitter
	x.open = b.open
	subagents := slices.SortedFunc(maps.Values(b.subagents), func(p, q subagent) int { return p.started.born - q.started.born })
	for _, s := range subagents {
		x.add(s.started.frame)
	}
	for _, s := range slices.SortedFunc(maps.Values(b.steps), func(p, q kept) int { return p.born - q.born }) {
		x.add(s.frame)
	}
	if b.state.snapshot != nil {
		x.add(agui.NewStateSnapshot(b.state.snapshot))
	}
	for _, d := range b.state.deltas {
		x.add(agui.NewStateDelta(d))
	}
	b.ghosts(&x)
	list := b.order()
	if b.cutOff {
		whole := agui.NewMessagesSnapshot(agui.AppendMessages(nil, b.inSnapshot(list)))
		if b.base.Each != nil { // then it holds every activity there is
			whole = whole.With("metadata", []byte(`{"@ag-ui/client":{"authoritativeActivityTypes":null}}`))
		}
		x.add(whole)
	}
	for _, e := range list {
		switch {
		case b.cutOff && b.told(e):
			x.reopen(e)
		case e.known:
			x.rest(e)
		default:
			x.whole(e)
		}
	}
	ends := slices.DeleteFunc(subagents, func(s subagent) bool { return s.ended.born == 0 })
	slices.SortFunc(ends, func(p, q subagent) int { return p.ended.born - q.ended.born })
	for _, s := range ends {
		x.add(s.ended.frame)
	}
	return x.done()
}

// told reports whether a snapshot can tell of e: of what came since the last one
// not of a result, which a client places by its call, nor of a second message
// with one id.
func (b *Builder) told(e *entry) bool {
	return e.known || e.role != agui.RoleTool && b.byID[e.id] == e
}

func (b *Builder) inSnapshot(list []*entry) []agui.Message {
	var out []agui.Message
	for _, e := range list {
		if b.told(e) {
			out = append(out, e.message())
		}
	}
	return out
}

// ghosts opens what is open and will not be by way of a message: reasoning
// spans, and what lost its message while it was open. It comes first, so that
// what took the message's place takes it again.
func (b *Builder) ghosts(x *emitter) {
	openings := slices.SortedFunc(maps.Values(b.open), func(p, q *opening) int { return cmp.Compare(p.born, q.born) })
	for _, o := range openings {
		switch o.kind {
		case span:
			x.add(frame(agui.ReasoningStart, member{"messageId", o.rawID}, member{"subagentRunId", o.sub}))
			continue
		case toolCall:
			if b.byCall[o.id].call != nil {
				continue
			}
		default:
			if e := b.byID[o.id]; e != nil && e.role != activityRole {
				continue
			}
		}
		x.start(o, nil, nil)
	}
}

// rest writes what a message got since the client knows it.
func (x *emitter) rest(e *entry) {
	if e.role == activityRole {
		if e.touched {
			x.activity(e)
		}
		return
	}
	x.more(e)
	x.calls(e, nil)
}

// more writes what events said of a message that was there: its text, metadata
// and blob. Who said it matters, as an id's text belongs to one owner.
func (x *emitter) more(e *entry) {
	id := strictjson.Quote(e.id)
	k := e.via
	if k == none {
		k = text
	}
	var metadata []byte
	if e.meta.touched {
		metadata = e.meta.value()
	}
	said := some(e.text[min(e.textDone, len(e.text)):])
	if e.newText && len(e.text) == 0 {
		said = []byte{} // no content, or parts, became the empty text
	}
	is := x.opening(k, e.id)
	switch {
	case is != nil:
		x.start(is, metadata, said)
	case e.newText || metadata != nil:
		x.add(startFrame(k, opener{rawID: id, sub: e.viaSub, metadata: metadata}))
		x.content(k, id, said)
		x.end(k, id)
	}
	x.secret("message", id, e.secret)
	x.reopenText(e)
}

// some gives nil for no bytes.
func some(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// reopen opens what is open of a message that a snapshot just gave the client.
// Whose it is the snapshot says, and may say otherwise than what opened it; a
// chunk was opened since and agrees.
func (x *emitter) reopen(e *entry) {
	if e.role == activityRole {
		return
	}
	again := func(k kind, id string) {
		o := x.opening(k, id)
		if o == nil {
			return
		}
		if !o.chunked {
			mute := *o
			mute.sub = nil
			o = &mute
		}
		x.start(o, nil, nil)
	}
	again(text, e.id)
	again(reasoning, e.id)
	for _, c := range e.calls {
		again(toolCall, c.id)
	}
}

// reopenText opens what is open under a message's id and was not started by what
// made the message or continued it.
func (x *emitter) reopenText(e *entry) {
	for _, k := range []kind{text, reasoning} {
		o := x.opening(k, e.id)
		if o == nil {
			continue
		}
		var metadata []byte
		if !e.hasText {
			metadata = e.meta.value()
		}
		x.start(o, metadata, nil)
	}
}
