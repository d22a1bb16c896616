package run

import (
	"slices"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// lane is what one producer (the parent agent, or one subagent) is assembling
// from chunks. Chunks have no end of their own: the published client ends them
// at the next other event of the same lane, and so must the books.
type lane struct {
	owner string // subagentRunId, "" for the parent agent
	call  *Call  // nil for text and reasoning, which need no books
}

// closeLanes ends the tool calls that f ends by being something else. ended is
// true when that ended the run.
func (m *Machine) closeLanes(f agui.Frame, out []Action) (_ []Action, ended bool) {
	if len(m.lanes) == 0 {
		return out, false
	}
	switch f.Type {
	case agui.Raw, agui.ActivitySnapshot, agui.ActivityDelta, agui.ReasoningEncryptedValue, agui.SubagentStarted:
		return out, false
	case agui.ToolCallChunk:
		return out, false // callChunk decides
	case agui.RunStarted, agui.RunFinished, agui.MessagesSnapshot:
		return m.closeLane(func(lane) bool { return true }, out)
	case agui.RunError:
		m.lanes = nil // what was half-written stays half-written
		return out, false
	}
	if !f.Type.Known() {
		return out, false
	}
	owner := f.Text("subagentRunId")
	return m.closeLane(func(l lane) bool { return l.owner == owner }, out)
}

func (m *Machine) closeLane(which func(lane) bool, out []Action) (_ []Action, ended bool) {
	for i := 0; i < len(m.lanes); {
		l := m.lanes[i]
		if !which(l) {
			i++
			continue
		}
		m.lanes = slices.Delete(m.lanes, i, i+1)
		var ok bool
		if out, ok = m.endCall(l.call, out); !ok {
			return out, true
		}
	}
	return out, false
}

func (m *Machine) callChunk(f agui.Frame, out []Action) []Action {
	id, owner := f.Text("toolCallId"), f.Text("subagentRunId")
	c := m.continued(id, owner)
	if c == nil {
		var ended bool
		if out, ended = m.closeLane(func(l lane) bool { return l.owner == owner }, out); ended {
			return out
		}
		var bad *fault.Error
		if c, bad = m.newCall(f); bad != nil {
			return m.fail(m.errorFrame(bad), out)
		}
		m.lanes = append(m.lanes, lane{owner: owner, call: c})
	}
	if bad := m.addArguments(c, f); bad != nil {
		return m.fail(m.errorFrame(bad), out) // a first chunk was not shown: c has no Shown
	}
	f = m.names(f)
	if c.Shown == "" {
		c.Shown, c.Message = f.Text("toolCallId"), f.Text("parentMessageId")
	}
	return append(out, Action{Frame: f})
}

// continued finds the call a chunk goes on with: the named one, or without a
// name the one of its lane, or the only one there is.
func (m *Machine) continued(id, owner string) *Call {
	var only *Call
	for _, l := range m.lanes {
		switch {
		case id != "" && l.call.ID == id:
			return l.call
		case id == "" && l.owner == owner:
			return l.call
		}
		only = l.call
	}
	if id == "" && owner == "" && len(m.lanes) == 1 {
		return only
	}
	return nil
}
