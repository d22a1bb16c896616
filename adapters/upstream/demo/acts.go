package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// longPieces is how many pieces long text comes in.
const longPieces = 200

// play is one run of the script.
type play struct {
	in    *agui.Input
	pause time.Duration
	made  int
}

// act is what the script does on a word. whole is false where the act ends the
// stream in its own way.
type act struct {
	word string
	play func(p *play, said string) (scenes []scene, whole bool)
}

var acts = []act{
	{"where am i", func(p *play, _ string) ([]scene, bool) { return p.call(Location), true }},
	{"compare", func(p *play, _ string) ([]scene, bool) { return p.call(Location, Time), true }},
	{"long", (*play).long},
	{"think", (*play).think},
	{"state", (*play).state},
	{"approve", (*play).approve},
	{"fail", (*play).fail},
	{"hang up", (*play).hangUp},
	{"silent", func(*play, string) ([]scene, bool) { return []scene{{hang: true}}, false }},
}

func (p *play) one(frames ...agui.Frame) scene { return scene{frames: frames} }

// say is one message in word-sized pieces.
func (p *play) say(text string) []scene {
	id := p.id("msg")
	frames := []agui.Frame{agui.NewTextStart(id)}
	for _, piece := range strings.SplitAfter(text, " ") {
		if piece != "" {
			frames = append(frames, agui.NewTextContent(id, piece))
		}
	}
	return []scene{p.one(append(frames, agui.NewTextEnd(id))...)}
}

// call asks for client tools, all in one message. A tool the run does not offer
// is not called.
func (p *play) call(names ...string) []scene {
	for _, name := range names {
		if !p.offered(name) {
			return p.say("I would call the tool " + name + ", but this client does not offer it.")
		}
	}
	parent := p.id("msg")
	var frames []agui.Frame
	for _, name := range names {
		id := p.id("call")
		frames = append(frames, agui.NewToolCallStart(id, name, parent),
			agui.NewToolCallArgs(id, `{"accuracy":`), agui.NewToolCallArgs(id, `"city"}`), agui.NewToolCallEnd(id))
	}
	return []scene{p.one(frames...)}
}

func (p *play) offered(name string) bool {
	for _, t := range p.in.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

func (p *play) long(string) ([]scene, bool) {
	id := p.id("msg")
	out := []scene{p.one(agui.NewTextStart(id))}
	for i := range longPieces {
		out = append(out, scene{after: p.pause, frames: []agui.Frame{agui.NewTextContent(id, fmt.Sprintf("Sentence %d of %d. ", i+1, longPieces))}})
	}
	return append(out, p.one(agui.NewTextEnd(id))), true
}

func (p *play) think(said string) ([]scene, bool) {
	id := p.id("thought")
	return append([]scene{p.one(
		agui.NewReasoningStart(id), agui.NewReasoningMessageStart(id),
		agui.NewReasoningMessageContent(id, "The message has "), agui.NewReasoningMessageContent(id, fmt.Sprintf("%d bytes.", len(said))),
		agui.NewReasoningMessageEnd(id), agui.NewReasoningEnd(id),
	)}, p.say("I thought about it: "+said)...), true
}

func (p *play) state(string) ([]scene, bool) {
	return append([]scene{p.one(
		agui.NewStepStarted("count"),
		agui.NewStateSnapshot([]byte(`{"count":0,"done":false}`)),
		agui.NewStateDelta([]byte(`[{"op":"replace","path":"/count","value":1}]`)),
		agui.NewStateDelta([]byte(`[{"op":"replace","path":"/done","value":true}]`)),
		agui.NewStepFinished("count"),
	)}, p.say("The state has changed.")...), true
}

func (p *play) approve(string) ([]scene, bool) {
	outcome := &agui.Outcome{Kind: agui.OutcomeInterrupt, Interrupts: []agui.Interrupt{{
		ID: p.id("interrupt"), Reason: "approval", Message: "Shall I go on?",
		ResponseSchema: []byte(`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`),
	}}}
	return append(p.say("I need your approval."),
		p.one(agui.NewRunFinished(p.in.ThreadID, p.in.RunID, outcome)), scene{end: io.EOF}), false
}

func (p *play) fail(string) ([]scene, bool) {
	id := p.id("msg")
	return []scene{
		p.one(agui.NewTextStart(id), agui.NewTextContent(id, "I am about to")),
		p.one(agui.NewRunError("the demo agent failed, as it was asked to", "demo_failure", nil)),
		{end: io.EOF},
	}, false
}

func (p *play) hangUp(string) ([]scene, bool) {
	msg, call := p.id("msg"), p.id("call")
	return []scene{
		p.one(agui.NewTextStart(msg), agui.NewTextContent(msg, "Hold on")),
		p.one(agui.NewToolCallStart(call, Location, msg), agui.NewToolCallArgs(call, `{"accu`)),
		{end: fault.New(fault.IncompleteStream, "the agent's stream ended without a terminal event")},
	}, false
}
