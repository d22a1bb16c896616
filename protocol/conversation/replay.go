package conversation

import (
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

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

// touch carries metadata to a message that exists.
func (x *emitter) touch(e *entry, metadata []byte) {
	if x.opening(text, e.id) != nil {
		return // its own start will
	}
	x.add(startFrame(text, opener{rawID: strictjson.Quote(e.id), metadata: metadata}))
	x.end(text, strictjson.Quote(e.id))
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
