package profile

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// 0.0.45 has never heard of subagents. It knows one step of a name, not one an
// owner, and dies of the second; and it has one place for what chunks have open,
// so that two owners' chunks end in one message. Here both are made plain.

// oneOwner handles what 0.0.45 tells apart by name only. done is true when f has
// been dealt with; what it appended, if anything, was not f.
func (t *ToClient) oneOwner(f agui.Frame, out []agui.Frame, changed *bool) (o []agui.Frame, done bool) {
	before := len(out)
	switch f.Type {
	case agui.TextMessageChunk, agui.ReasoningMessageChunk, agui.ToolCallChunk:
		return t.chunk(f, out), true
	case agui.Raw, agui.ActivitySnapshot, agui.ActivityDelta, agui.ReasoningEncryptedValue:
		return out, false
	case agui.RunStarted, agui.RunFinished, agui.RunError, agui.MessagesSnapshot:
		out = t.closeLanes(out)
		if f.Type == agui.RunStarted {
			t.steps = nil
		}
	default:
		if len(t.lanes) > 0 {
			out = t.closeLane(ownerOf(f), out)
		}
	}
	*changed = *changed || len(out) > before
	switch f.Type {
	case agui.TextMessageContent, agui.ReasoningMessageContent, thinkingContent:
		return out, bytes.Contains(f.Raw, emptyString) && emptyText(f.Field("delta"))
	case agui.StepStarted, agui.StepFinished:
		return out, t.hiddenStep(f)
	}
	return out, false
}

var emptyString = []byte(`""`)

// hiddenStep counts a name's steps: shown are the first start and the last end.
func (t *ToClient) hiddenStep(f agui.Frame) bool {
	name := f.Text("stepName")
	if f.Type == agui.StepStarted {
		if t.steps == nil {
			t.steps = map[string]int{}
		}
		t.steps[name]++
		return t.steps[name] > 1
	}
	if t.steps[name] > 0 {
		t.steps[name]--
	}
	return t.steps[name] > 0
}

// owner is who an event belongs to; the empty id is a legal subagent.
type owner struct {
	sub bool
	id  string
}

func ownerOf(f agui.Frame) owner {
	v := f.Field("subagentRunId")
	return owner{sub: strictjson.KindOf(v) == strictjson.Str, id: f.Text("subagentRunId")}
}

// lane is what one owner's chunks have open.
type lane struct {
	by   owner
	kind agui.Type // of the chunk
	id   string
}

// The fields of a chunk that name its entity, and the events it stands for.
var chunkIDs = map[agui.Type]string{agui.TextMessageChunk: "messageId",
	agui.ReasoningMessageChunk: "messageId", agui.ToolCallChunk: "toolCallId"}

// chunk writes a chunk as the events that a client of 1.0 makes of it.
func (t *ToClient) chunk(f agui.Frame, out []agui.Frame) []agui.Frame {
	rawID, id, by := f.Field(chunkIDs[f.Type]), f.Text(chunkIDs[f.Type]), ownerOf(f)
	at := t.laneFor(f.Type, id, rawID != nil, by)
	if at >= 0 {
		l := t.lanes[at]
		if l.kind == f.Type && (rawID == nil || l.id == id) {
			return delta(l, f, out)
		}
		out = t.closeLane(l.by, out)
	}
	if rawID == nil || f.Type == agui.ToolCallChunk && f.Field("toolCallName") == nil {
		return out // a client would die of it
	}
	l := lane{by: by, kind: f.Type, id: id}
	t.lanes = append(t.lanes, l)
	return delta(l, f, append(out, opening(f, id)))
}

// laneFor finds the lane a chunk belongs to, -1 when none is open: the one that
// holds its id, else its own owner's, else the only one of its kind.
func (t *ToClient) laneFor(kind agui.Type, id string, hasID bool, by owner) int {
	own, found, n := -1, -1, 0
	for i, l := range t.lanes {
		if l.by == by {
			own = i
		}
		if l.kind == kind && (!hasID || l.id == id) {
			found, n = i, n+1
		}
	}
	if hasID && found >= 0 {
		return found
	}
	if hasID || by.sub || own >= 0 && t.lanes[own].kind == kind || n != 1 {
		return own
	}
	return found
}

func opening(f agui.Frame, id string) agui.Frame {
	switch f.Type {
	case agui.TextMessageChunk:
		start := agui.NewTextStart(id)
		if role := f.Field("role"); role != nil {
			start = start.With("role", role)
		}
		return start
	case agui.ReasoningMessageChunk:
		return agui.NewReasoningMessageStart(id)
	}
	start := agui.NewToolCallStart(id, f.Text("toolCallName"), "")
	if parent := f.Field("parentMessageId"); parent != nil {
		start = start.With("parentMessageId", parent)
	}
	return start
}

// delta appends a chunk's text, unless there is none.
func delta(l lane, f agui.Frame, out []agui.Frame) []agui.Frame {
	raw := f.Field("delta")
	if raw == nil || emptyText(raw) {
		return out
	}
	var d agui.Frame
	switch l.kind {
	case agui.TextMessageChunk:
		d = agui.NewTextContent(l.id, "")
	case agui.ReasoningMessageChunk:
		d = agui.NewReasoningMessageContent(l.id, "")
	default:
		d = agui.NewToolCallArgs(l.id, "")
	}
	return append(out, d.With("delta", raw)) // as written: it may end in half a character
}

func (t *ToClient) closeLane(by owner, out []agui.Frame) []agui.Frame {
	for i, l := range t.lanes {
		if l.by == by {
			t.lanes = append(t.lanes[:i], t.lanes[i+1:]...)
			return append(out, l.end())
		}
	}
	return out
}

func (t *ToClient) closeLanes(out []agui.Frame) []agui.Frame {
	for _, l := range t.lanes {
		out = append(out, l.end())
	}
	t.lanes = t.lanes[:0]
	return out
}

func (l lane) end() agui.Frame {
	switch l.kind {
	case agui.TextMessageChunk:
		return agui.NewTextEnd(l.id)
	case agui.ReasoningMessageChunk:
		return agui.NewReasoningMessageEnd(l.id)
	}
	return agui.NewToolCallEnd(l.id)
}

func emptyText(raw []byte) bool { return string(raw) == `""` }
