package conversation

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/agui"
)

// Builder assembles what one run adds to a conversation. It is fed the frames as
// the client is shown them and holds the messages as that client would. Events
// the client would end its run for are passed over; nothing is an error.
//
// It keeps copies, never a frame's bytes. Not safe for concurrent use.
type Builder struct {
	base  Base
	limit int

	list    []*entry // in the client's order; without the base until unfold
	touched []*entry // messages of the base that were looked at, until unfold
	byID    map[string]*entry
	byCall  map[string]held
	reached bool // list holds the base too, or a snapshot ended its part
	cutOff  bool // a MESSAGES_SNAPSHOT came: what joins is told by one as well
	before  []string

	cur   current
	lanes map[owner]*opening
	open  map[entity]*opening
	born  int // openings so far, their order

	runs      int
	steps     map[step]kept
	subagents map[string]subagent
	state     state

	used int
	full bool
}

// current is where the last delta went, so that the next one finds it without a
// look-up.
type current struct {
	kind   kind
	rawID  []byte
	lead   []byte // what the event began with, up to its delta, where that came last
	target *entry
	call   *call
}

// NewBuilder starts on the conversation base, which must not change while the
// run is built. limit bounds the bytes kept of the run's messages, and apart
// from them the bytes kept of its state; what comes beyond is not kept.
func NewBuilder(base Base, limit int) *Builder {
	return &Builder{base: base, limit: limit, byID: map[string]*entry{}, byCall: map[string]held{}}
}

// Apply takes the next frame. f must have been checked: it comes from
// agui.ParseFrame or one of agui's builders. One that Validate refuses changes
// nothing, as do messages and calls under an id that no request could name: the
// empty one, and one with half a surrogate pair.
func (b *Builder) Apply(f agui.Frame) {
	switch f.Type {
	case agui.TextMessageContent:
		b.applyDelta(text, f.Raw)
		return
	case agui.ToolCallArgs:
		b.applyDelta(toolCall, f.Raw)
		return
	case agui.ReasoningMessageContent:
		b.applyDelta(reasoning, f.Raw)
		return
	case agui.Raw:
		return
	}
	if !f.Type.Known() || len(bytes.TrimSpace(f.Raw)) == 0 || f.Validate() != nil {
		return
	}
	if chunkOf, ok := chunkKinds[f.Type]; ok {
		b.applyChunk(chunkOf, f)
		return
	}
	b.endLanes(f)
	b.apply(f)
}

func (b *Builder) apply(f agui.Frame) {
	b.forget()
	switch f.Type {
	case agui.TextMessageStart:
		b.start(text, openerOf(f, text), false)
	case agui.ToolCallStart:
		b.start(toolCall, openerOf(f, toolCall), false)
	case agui.ReasoningMessageStart:
		b.start(reasoning, openerOf(f, reasoning), false)
	case agui.ReasoningStart:
		b.opened(span, openerOf(f, span), false, false)
	case agui.TextMessageEnd:
		b.end(text, f.Field("messageId"), f.Field("metadata"))
	case agui.ToolCallEnd:
		b.end(toolCall, f.Field("toolCallId"), f.Field("metadata"))
	case agui.ReasoningMessageEnd:
		b.end(reasoning, f.Field("messageId"), f.Field("metadata"))
	case agui.ReasoningEnd:
		b.end(span, f.Field("messageId"), nil)
	case agui.ToolCallResult:
		b.result(f)
	case agui.ReasoningEncryptedValue:
		b.encrypted(f)
	case agui.ActivitySnapshot:
		b.activitySnapshot(f)
	case agui.ActivityDelta:
		b.activityDelta(f)
	case agui.MessagesSnapshot:
		b.snapshot(f)
	case agui.StateSnapshot:
		b.state.replace(f.Field("snapshot"), b.limit)
	case agui.StateDelta:
		b.state.patch(f.Field("delta"), b.limit)
	case agui.RunStarted:
		b.runStarted(f)
	case agui.StepStarted, agui.StepFinished:
		b.step(f)
	case agui.SubagentStarted, agui.SubagentFinished, agui.SubagentError:
		b.subagent(f)
	}
}

// Messages gives the run's new messages and those of the base that it changed,
// in the order the client has them; each as complete as it has come so far. A
// client holds an id twice when an agent names a result as another message; the
// first is the one that further events reach.
func (b *Builder) Messages() []agui.Message {
	out := []agui.Message{}
	for _, e := range b.order() {
		if e.changed {
			out = append(out, e.message())
		}
	}
	return out
}

// Merge gives the whole conversation as the client has it now, where base is the
// list the client began the run with.
func (b *Builder) Merge(base []agui.Message) []agui.Message {
	out := make([]agui.Message, 0, len(base)+len(b.list))
	if !b.reached {
		for _, m := range base {
			if e := b.byID[m.ID]; e != nil && e.old {
				m = e.message()
			}
			out = append(out, m)
		}
	}
	for _, e := range b.list {
		out = append(out, e.message())
	}
	return out
}

// Dropped gives the ids of the base's messages that a MESSAGES_SNAPSHOT took
// from the client's list, in its order. They are known only where Base.Each is.
func (b *Builder) Dropped() []string {
	var out []string
	for _, id := range b.before {
		if b.byID[id] == nil {
			out = append(out, id)
		}
	}
	return out
}

// Truncated reports whether the limit was met: the messages then end where it
// was, and CatchUp is no longer the whole.
func (b *Builder) Truncated() bool { return b.full }

// State gives the run's last STATE_SNAPSHOT, nil when none came, and the
// STATE_DELTAs behind it, as they were sent [HIST-5]. After too much state for
// the limit both are nil until the next snapshot; StateLost tells.
func (b *Builder) State() (snapshot []byte, deltas [][]byte) {
	return b.state.snapshot, b.state.deltas
}

// StateLost reports whether the state was more than the limit.
func (b *Builder) StateLost() bool { return b.state.lost }

// take accounts for n bytes, a negative n for bytes given up, and says whether
// there is room. Once there was none there never is: a text must not go on
// behind a hole.
func (b *Builder) take(n int) bool {
	if b.full || n > 0 && n > b.limit-b.used {
		b.full = true
		return false
	}
	b.used += n
	return true
}
