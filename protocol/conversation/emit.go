package conversation

import (
	"slices"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

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

func startFrame(k kind, o opener) agui.Frame {
	if k == toolCall {
		return frame(agui.ToolCallStart, member{"toolCallId", o.rawID}, member{"toolCallName", o.name},
			member{"parentMessageId", o.parent}, member{"subagentRunId", o.sub}, member{"metadata", o.metadata})
	}
	if k == reasoning {
		return frame(agui.ReasoningMessageStart, member{"messageId", o.rawID}, member{"role", []byte(`"reasoning"`)},
			member{"subagentRunId", o.sub}, member{"metadata", o.metadata})
	}
	return frame(agui.TextMessageStart, member{"messageId", o.rawID}, member{"role", o.role}, member{"name", o.name},
		member{"subagentRunId", o.sub}, member{"metadata", o.metadata})
}

// start opens what is open again, the way it was opened, with what it says.
func (x *emitter) start(is *opening, metadata, said []byte) {
	x.mark(is)
	o := is.opener
	o.metadata = metadata
	if !is.chunked {
		x.add(startFrame(is.kind, o))
		x.content(is.kind, o.rawID, said)
		return
	}
	x.lanes = append(x.lanes, laneAt{len(x.frames), is})
	x.add(chunkFrame(is.kind, o, said))
}

func (x *emitter) mark(is *opening) {
	if x.started == nil {
		x.started = map[entity]bool{}
	}
	x.started[is.entity] = true
}

func chunkFrame(k kind, o opener, said []byte) agui.Frame {
	var delta []byte
	if said != nil {
		delta = quoted(said)
	}
	switch k {
	case toolCall:
		return frame(agui.ToolCallChunk, member{"toolCallId", o.rawID}, member{"toolCallName", o.name},
			member{"parentMessageId", o.parent}, member{"delta", delta}, member{"subagentRunId", o.sub}, member{"metadata", o.metadata})
	case reasoning:
		return frame(agui.ReasoningMessageChunk, member{"messageId", o.rawID}, member{"delta", delta},
			member{"subagentRunId", o.sub}, member{"metadata", o.metadata})
	}
	return frame(agui.TextMessageChunk, member{"messageId", o.rawID}, member{"role", o.role}, member{"name", o.name},
		member{"delta", delta}, member{"subagentRunId", o.sub}, member{"metadata", o.metadata})
}

// content writes text, unless it is nil; 0.0.x clients refuse an empty one.
func (x *emitter) content(k kind, id, said []byte) {
	switch {
	case said == nil:
	case k == toolCall:
		x.add(frame(agui.ToolCallArgs, member{"toolCallId", id}, member{"delta", quoted(said)}))
	case k == reasoning:
		x.add(frame(agui.ReasoningMessageContent, member{"messageId", id}, member{"delta", quoted(said)}))
	default:
		x.add(frame(agui.TextMessageContent, member{"messageId", id}, member{"delta", quoted(said)}))
	}
}

func (x *emitter) end(k kind, id []byte) {
	switch k {
	case toolCall:
		x.add(frame(agui.ToolCallEnd, member{"toolCallId", id}))
	case reasoning:
		x.add(frame(agui.ReasoningMessageEnd, member{"messageId", id}))
	default:
		x.add(frame(agui.TextMessageEnd, member{"messageId", id}))
	}
}

// done gives the frames, so that each lane of chunks is open at the end: a chunk
// that a later frame would end is moved behind, its message made where it stood.
func (x *emitter) done() []agui.Frame {
	var last []agui.Frame
	out := x.frames
	for _, l := range slices.Backward(x.lanes) { // so that the places before stay right
		if !ended(x.frames[l.at+1:], l.o.by) {
			continue
		}
		chunk := out[l.at]
		if l.o.kind == toolCall {
			last = append([]agui.Frame{chunk}, last...)
			out = slices.Delete(slices.Clone(out), l.at, l.at+1)
			continue
		}
		o := l.o.opener
		last = append([]agui.Frame{chunkFrame(l.o.kind, o, nil)}, last...)
		o.metadata = chunk.Field("metadata")
		var here emitter
		here.add(startFrame(l.o.kind, o))
		here.content(l.o.kind, o.rawID, inside(chunk.Field("delta")))
		here.end(l.o.kind, o.rawID)
		out = slices.Replace(slices.Clone(out), l.at, l.at+1, here.frames...)
	}
	return append(out, last...)
}

// ended reports whether one of the frames ends the lane of by.
func ended(frames []agui.Frame, by owner) bool {
	return slices.ContainsFunc(frames, func(f agui.Frame) bool {
		switch f.Type {
		case agui.TextMessageChunk, agui.ToolCallChunk, agui.ReasoningMessageChunk:
			return false
		case agui.MessagesSnapshot:
			return true
		}
		return endsLane(f.Type) && ownerIn(f.Field("subagentRunId")) == by
	})
}
