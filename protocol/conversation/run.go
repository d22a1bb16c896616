package conversation

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/agui"
)

// step is the name of one, and whose it is.
type step struct {
	by   owner
	name string
}

// kept is a frame, and the place among those of its sort.
type kept struct {
	frame agui.Frame
	born  int
}

func (b *Builder) step(f agui.Frame) {
	s := step{by: ownerIn(f.Field("subagentRunId")), name: decode(f.Field("stepName"))}
	was, open := b.steps[s]
	switch {
	case f.Type == agui.StepFinished:
		b.used -= len(was.frame.Raw)
		delete(b.steps, s)
	case !open && b.take(len(f.Raw)):
		if b.steps == nil {
			b.steps = map[step]kept{}
		}
		b.steps[s] = b.keepFrame(f)
	}
}

func (b *Builder) keepFrame(f agui.Frame) kept {
	b.born++
	return kept{agui.Frame{Type: f.Type, Raw: bytes.Clone(f.Raw)}, b.born}
}

// subagent is one that was started, and its end if it came.
type subagent struct{ started, ended kept }

// subagent keeps the events of subagents for who joins: they add no message, but
// messages name them.
func (b *Builder) subagent(f agui.Frame) {
	id := decode(f.Field("subagentRunId"))
	s, seen := b.subagents[id]
	if (f.Type == agui.SubagentStarted) == seen || s.ended.born > 0 || !b.take(len(f.Raw)+overhead) {
		return
	}
	if seen {
		s.ended = b.keepFrame(f)
	} else {
		s.started = b.keepFrame(f)
	}
	if b.subagents == nil {
		b.subagents = map[string]subagent{}
	}
	b.subagents[id] = s
}

// state is what a run said of the state, as bytes [HIST-5].
type state struct {
	snapshot []byte
	deltas   [][]byte
	size     int
	lost     bool
}

func (s *state) replace(snapshot []byte, limit int) {
	*s = state{lost: len(snapshot) > limit}
	if !s.lost {
		s.snapshot, s.size = bytes.Clone(snapshot), len(snapshot)
	}
}

func (s *state) patch(delta []byte, limit int) {
	if s.lost {
		return
	}
	if s.size += len(delta) + overhead; s.size > limit {
		*s = state{lost: true}
		return
	}
	s.deltas = append(s.deltas, bytes.Clone(delta))
}
