// Package demo is an agent that needs no model: a script that answers to words.
// It exists to try a frontend, a gateway and their tools without a key, a network
// or a cost.
//
// The newest user message decides; the first word of the table that it contains,
// upper or lower case, wins:
//
//	where am I   calls the client tool get_location once
//	compare      calls get_location and get_time in one message, in parallel
//	long         streams some 200 pieces of text, one every few milliseconds
//	think        reasons before it answers
//	state        sends a state snapshot and two deltas
//	approve      asks for approval by interrupt; the next run resumes it
//	fail         starts to speak and ends in RUN_ERROR
//	hang up      starts a call and cuts the stream half-way
//	silent       says nothing until its client leaves
//	(else)       repeats the message
//
// When the list ends in tool results it tells them back, each exactly as it came.
// It calls a tool only if the run offers it.
package demo

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// The client tools the script calls.
const (
	Location = "get_location"
	Time     = "get_time"
)

// Upstream is the scripted agent.
type Upstream struct {
	// Pause is the time between two pieces of long text.
	Pause time.Duration
}

var (
	_ upstream.Upstream  = (*Upstream)(nil)
	_ upstream.Describer = (*Upstream)(nil)
)

// New is the factory of kind demo; no option matters to it.
func New(upstream.Options) (upstream.Upstream, error) {
	return &Upstream{Pause: 5 * time.Millisecond}, nil
}

// Describe adds what the script can do.
func (u *Upstream) Describe(c *agui.Capabilities) {
	c.HumanInTheLoop = &agui.HumanInTheLoopCapabilities{Supported: true, Approvals: true, Interrupts: true}
	if c.Identity != nil && c.Identity.Description == "" {
		c.Identity.Description = "A scripted agent. Say: where am I, compare, long, think, state, approve, fail, hang up; anything else is repeated."
	}
}

// Run plays the script for the newest message.
func (u *Upstream) Run(ctx context.Context, req *upstream.RunRequest) (upstream.Stream, error) {
	if req.Sent != nil {
		if err := req.Sent(ctx); err != nil {
			return nil, err
		}
	}
	return &stream{ctx: ctx, scenes: u.script(req.Input)}, nil
}

// scene is some frames after a pause.
type scene struct {
	after  time.Duration
	frames []agui.Frame
	end    error // io.EOF or a fault, instead of frames
	hang   bool  // wait for the client to leave
}

type stream struct {
	ctx    context.Context
	scenes []scene
}

// Next plays the next scene.
func (s *stream) Next(dst []agui.Frame) ([]agui.Frame, error) {
	if len(s.scenes) == 0 {
		return dst, io.EOF
	}
	now := s.scenes[0]
	s.scenes = s.scenes[1:]
	if err := s.wait(now); err != nil {
		return dst, err
	}
	return append(dst, now.frames...), now.end
}

func (s *stream) wait(now scene) error {
	var bell <-chan time.Time
	if !now.hang {
		if now.after == 0 {
			return s.ctx.Err()
		}
		t := time.NewTimer(now.after)
		defer t.Stop()
		bell = t.C
	}
	select {
	case <-bell:
		return nil
	case <-s.ctx.Done():
		return fault.New(fault.UpstreamClosed, "the demo agent was cancelled").Because(s.ctx.Err())
	}
}

// Close has nothing to close.
func (s *stream) Close() error { return nil }

// script chooses the scenes of a run.
func (u *Upstream) script(in *agui.Input) []scene {
	p := &play{in: in, pause: u.Pause}
	start := p.one(agui.NewRunStarted(in.ThreadID, in.RunID, in.ParentRunID, agui.ProtocolVersion))
	finish := p.one(agui.NewRunFinished(in.ThreadID, in.RunID, nil))
	end := scene{end: io.EOF}
	if len(in.Resume) > 0 {
		return append(append([]scene{start}, p.say(resumed(in.Resume))...), finish, end)
	}
	if told := results(in.Messages); told != "" {
		return append(append([]scene{start}, p.say(told)...), finish, end)
	}
	said := newest(in.Messages)
	for _, act := range acts {
		if strings.Contains(strings.ToLower(said), act.word) {
			body, whole := act.play(p, said)
			scenes := append([]scene{start}, body...)
			if !whole {
				return scenes
			}
			return append(scenes, finish, end)
		}
	}
	return append(append([]scene{start}, p.say(said)...), finish, end)
}

func newest(msgs []agui.Message) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == agui.RoleUser {
			return agui.TextOf(msgs[i].Content)
		}
	}
	return "Hello. Say something."
}

// results tells the tool results at the end of the list, "" when there are none.
func results(msgs []agui.Message) string {
	i := len(msgs)
	for i > 0 && msgs[i-1].Role == agui.RoleTool {
		i--
	}
	var told []string
	for _, m := range msgs[i:] {
		verb := "gave"
		if m.HasError {
			verb = "failed"
		}
		told = append(told, toolName(msgs, m.ToolCallID)+" "+verb+": "+agui.TextOf(m.Content))
	}
	return strings.Join(told, "\n")
}

func toolName(msgs []agui.Message, call string) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		for _, c := range msgs[i].ToolCalls {
			if c.ID == call {
				return c.Name
			}
		}
	}
	return "a tool"
}

func resumed(entries []agui.ResumeEntry) string {
	var told []string
	for _, e := range entries {
		told = append(told, "interrupt "+e.InterruptID+" was "+e.Status+" with "+payload(e.Payload))
	}
	return strings.Join(told, "\n")
}

func payload(raw []byte) string {
	if raw == nil {
		return "nothing"
	}
	return string(raw)
}

// id makes an id that is this run's own.
func (p *play) id(kind string) string {
	p.made++
	return kind + "-" + p.in.RunID + "-" + strconv.Itoa(p.made)
}
