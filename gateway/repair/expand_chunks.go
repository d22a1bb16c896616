package repair

import (
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// expanded says what a chunk is written as: the type that starts, the one that
// carries, and what the second leaves out.
var expanded = map[kind]struct {
	start, carry agui.Type
	startOnly    []string
}{
	textChunk:    {agui.TextMessageStart, agui.TextMessageContent, []string{"role", "name"}},
	thoughtChunk: {agui.ReasoningMessageStart, agui.ReasoningMessageContent, nil},
	callChunk:    {agui.ToolCallStart, agui.ToolCallArgs, []string{"toolCallName", "parentMessageId"}},
}

// expandChunks writes chunks as the events a client makes of them, for consumers
// that have no chunks. Its row always runs, since others ask for the lanes; with
// client_call_chunks alone it writes those of calls of client tools.
//
// A call that a RUN_ERROR cuts gets no END [RUN-3]; texts are the machine's to
// close.
func (c *Chain) expandChunks(e *event) bool {
	if c.active(rowStartTwice) && c.chunkOfOpen(e) {
		c.asCarrier(e)
	}
	going, over := c.keepLanes(e)
	if !c.expand && !c.client {
		return true
	}
	if going != nil && e.opens && e.kind == callChunk && c.client {
		going.ours = c.set.Client(e.text(toolName))
	}
	if e.kind != runError {
		for _, l := range over {
			if c.expand || l.ours {
				e.before = append(e.before, l.end())
			}
		}
	}
	to, chunk := expanded[e.kind]
	if !chunk || going == nil || !c.expand && !going.ours {
		return true
	}
	if c.expand {
		c.did(rowChunks)
	} else {
		c.did(rowClientChunks)
	}
	id := strictjson.Quote(going.id)
	carries := e.raw(delta) != nil
	if e.opens {
		f := e.f.WithText("type", string(to.start)).Without("delta")
		if carries {
			f = f.Without("rawEvent")
		}
		switch e.kind {
		case thoughtChunk:
			f = f.WithText("role", "reasoning")
		case textChunk:
			if e.raw(role) == nil {
				f = f.WithText("role", "assistant")
			}
		}
		e.before = append(e.before, f)
	}
	if carries {
		f := e.f.WithText("type", string(to.carry)).With(keyNames[idKey(e.kind)], id)
		for _, name := range to.startOnly {
			f = f.Without(name)
		}
		e.before = append(e.before, f)
	}
	return false
}

// chunkOfOpen reports a chunk of something that was begun by a START: a client
// would start it once more.
func (c *Chain) chunkOfOpen(e *event) bool {
	if e.kind != textChunk && e.kind != thoughtChunk && e.kind != callChunk {
		return false
	}
	id := e.bytes(idKey(e.kind))
	if len(id) > 0 && c.lanes.goesOn(e, id) != nil {
		return false // of a chunk that is written as START, and goes on
	}
	if e.kind == callChunk {
		return len(id) > 0 && c.books.call(id) >= 0
	}
	if name := c.shared.name(sortOf(e.kind), id); name != "" {
		id = []byte(name)
	}
	return len(id) > 0 && find(c.books.listOf(e.kind), id) >= 0
}

// asCarrier makes CONTENT or ARGS of such a chunk.
func (c *Chain) asCarrier(e *event) {
	c.did(rowStartTwice)
	to := expanded[e.kind]
	f := e.f.WithText("type", string(to.carry))
	for _, name := range to.startOnly {
		f = f.Without(name)
	}
	e.load(f)
}

// end is the END that a client makes for the lane.
func (l lane) end() agui.Frame {
	var f agui.Frame
	switch l.kind {
	case textChunk:
		f = agui.NewTextEnd(l.id)
	case thoughtChunk:
		f = agui.NewReasoningMessageEnd(l.id)
	default:
		f = agui.NewToolCallEnd(l.id)
	}
	if l.owner != "" {
		f = f.WithText("subagentRunId", l.owner)
	}
	return f
}
