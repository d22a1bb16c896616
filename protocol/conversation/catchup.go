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

// Replay writes the events that make a client build msgs at the end of its list,
// all of them closed [RUN-13]. What no event can say is left out: media in what
// a user said, a tool message's error, fields nobody knows.
func Replay(msgs []agui.Message) []agui.Frame {
	var x emitter
	seen := make(map[string]bool, len(msgs))
	for _, m := range msgs {
		e := entryOf(m)
		if seen[m.ID] && m.Role != agui.RoleTool && (e.hasText || len(e.calls) == 0) {
			continue // its text would join the first one's
		}
		seen[m.ID] = true
		x.whole(e)
	}
	return x.done()
}

// emitter collects frames, and remembers where chunks are left open.
type emitter struct {
	frames  []agui.Frame
	open    map[entity]*opening
	started map[entity]bool // of open, what has been; an id can be two messages'
	lanes   []laneAt
}

// opening gives what is open and not yet started again.
func (x *emitter) opening(k kind, id string) *opening {
	if x.started[entity{k, id}] {
		return nil
	}
	return x.open[entity{k, id}]
}

// laneAt is the frame that leaves a lane open.
type laneAt struct {
	at int
	o  *opening
}

func (x *emitter) add(f agui.Frame) { x.frames = append(x.frames, f) }

func frame(t agui.Type, members ...member) agui.Frame {
	return agui.Frame{Type: t, Raw: join(nil, append([]member{{"type", strictjson.Quote(string(t))}}, members...)...)}
}

// whole writes a message that the client does not have.
func (x *emitter) whole(e *entry) {
	m := agui.Frame{Raw: e.message().Raw}
	id := strictjson.Quote(e.id)
	sub, metadata := m.Field("subagentRunId"), e.meta.value()
	switch e.role {
	case activityRole:
		x.activity(e)
		return
	case agui.RoleTool:
		x.add(frame(agui.ToolCallResult, member{"messageId", id}, member{"toolCallId", m.Field("toolCallId")},
			member{"content", m.Field("content")}, member{"role", []byte(`"tool"`)},
			member{"subagentRunId", sub}, member{"metadata", metadata}))
	case agui.RoleReasoning:
		x.stream(reasoning, e, opener{rawID: id, sub: sub, metadata: metadata}, e.text)
	default:
		if e.byCall {
			x.calls(e, sub)
			x.more(e)
			return
		}
		if e.hasText || len(e.calls) == 0 {
			said := e.text
			if !e.hasText {
				quotedText := strictjson.Quote(agui.TextOf(m.Field("content")))
				said = quotedText[1 : len(quotedText)-1]
			}
			x.stream(text, e, opener{rawID: id, role: m.Field("role"), name: m.Field("name"), sub: sub, metadata: metadata}, said)
		}
	}
	x.calls(e, sub)
	if e.role == agui.RoleAssistant && !e.hasText && len(e.calls) > 0 && metadata != nil {
		x.touch(e, metadata)
	}
	x.secret("message", id, m.Field("encryptedValue"))
	x.reopenText(e)
}

// stream writes a message that is made and filled by text, and leaves it open if
// it is.
func (x *emitter) stream(k kind, e *entry, o opener, said []byte) {
	said = some(said)
	is := x.opening(k, e.id)
	if is != nil && is.made && is.chunked {
		x.start(is, o.metadata, said)
		return
	}
	if k == reasoning && x.open[entity{span, e.id}] == nil && is == nil {
		x.add(frame(agui.ReasoningStart, member{"messageId", o.rawID}, member{"subagentRunId", o.sub}))
		defer x.add(frame(agui.ReasoningEnd, member{"messageId", o.rawID}))
	}
	x.add(startFrame(k, o))
	x.content(k, o.rawID, said)
	if is == nil || !is.made {
		x.end(k, o.rawID)
	} else {
		x.mark(is)
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

// touch carries metadata to a message that exists.
func (x *emitter) touch(e *entry, metadata []byte) {
	if x.opening(text, e.id) != nil {
		return // its own start will
	}
	x.add(startFrame(text, opener{rawID: strictjson.Quote(e.id), metadata: metadata}))
	x.end(text, strictjson.Quote(e.id))
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

// reopenText opens what is open under a message's id and was not opened by what
// made it or continued it.
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

func (x *emitter) calls(e *entry, sub []byte) {
	for _, c := range e.calls {
		if is := x.opening(toolCall, c.id); is != nil || !c.known || c.touched {
			x.call(e, c, is, sub)
		}
		secret := c.secret
		if secret == nil && !c.known {
			secret = agui.Frame{Raw: c.raw}.Field("encryptedValue")
		}
		x.secret("tool-call", strictjson.Quote(c.id), secret)
	}
}

// call writes a call, or what it got since the client knows it; is is its
// opening, nil when it has ended.
func (x *emitter) call(e *entry, c *call, is *opening, sub []byte) {
	metadata, args := c.meta.value(), c.args
	if c.known {
		args = args[c.done:]
	}
	args = some(args)
	makes := !e.known && (e.byCall || !e.hasText) && c == e.calls[0] // the message, too
	if is != nil && is.chunked && (c.known || is.made && (makes || is.parent != nil)) {
		x.start(is, metadata, args)
		return
	}
	id := strictjson.Quote(c.id)
	o := opener{rawID: id, name: c.name, sub: sub, metadata: metadata}
	if is != nil {
		o.sub = is.sub
	}
	if !c.known && !(makes && e.id == c.id) {
		o.parent = strictjson.Quote(e.id)
	}
	x.add(startFrame(toolCall, o))
	x.content(toolCall, id, args)
	switch {
	case is == nil:
		x.end(toolCall, id)
	case is.chunked:
		x.end(toolCall, id)
		x.start(is, nil, nil)
	default:
		x.mark(is)
	}
}

func (x *emitter) secret(subtype string, id, value []byte) {
	if value != nil {
		x.add(frame(agui.ReasoningEncryptedValue, member{"subtype", strictjson.Quote(subtype)},
			member{"entityId", id}, member{"encryptedValue", value}))
	}
}

func (x *emitter) activity(e *entry) {
	m := agui.Frame{Raw: e.message().Raw}
	x.add(frame(agui.ActivitySnapshot, member{"messageId", m.Field("id")}, member{"activityType", m.Field("activityType")},
		member{"content", m.Field("content")}, member{"subagentRunId", m.Field("subagentRunId")}, member{"metadata", e.meta.value()}))
}
