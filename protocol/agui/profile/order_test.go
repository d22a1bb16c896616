package profile

import (
	"strings"

	"github.com/aguigate/aguigate/protocol/agui"
)

// order is what verifyEvents and transformChunks of the two 0.0.x clients look
// at. The owners' rules of 0.0.59 are those of 1.0, which agui.Sequence has.
type order struct {
	oneOwner bool // 0.0.45

	begun, running, finished, failed bool
	texts, calls, steps              map[string]bool
	thinking, thinkingText           bool
	lane                             *[2]string // type and id of what chunks have open
	owned                            *agui.Sequence
}

func (o *order) reset() {
	o.texts, o.calls, o.steps = map[string]bool{}, map[string]bool{}, map[string]bool{}
	o.thinking, o.thinkingText = false, false
}

func (o *order) push(f agui.Frame) string {
	switch {
	case o.failed && (o.oneOwner || f.Type != agui.RunStarted):
		return "an event after RUN_ERROR"
	case o.finished && f.Type != agui.RunStarted && f.Type != agui.RunError:
		return "an event after RUN_FINISHED"
	case !o.begun && f.Type != agui.RunStarted && f.Type != agui.RunError:
		return "no RUN_STARTED"
	case o.running && f.Type == agui.RunStarted:
		return "a second RUN_STARTED"
	}
	o.begun = true
	if rule := o.thought(f); rule != "" {
		return rule
	}
	if !o.oneOwner {
		return o.owners(f)
	}
	if o.texts == nil || f.Type == agui.RunStarted {
		o.reset()
	}
	return o.single(f)
}

// owners asks the rules of 1.0. 0.0.59 does not look whether reasoning is open.
func (o *order) owners(f agui.Frame) string {
	if o.owned == nil {
		o.owned = &agui.Sequence{ManyRuns: true}
	}
	o.running = f.Type != agui.RunFinished && f.Type != agui.RunError
	o.finished, o.failed = f.Type == agui.RunFinished, f.Type == agui.RunError
	err := o.owned.Push(f)
	if err == nil || strings.Contains(err.Error(), "no reasoning message") {
		return ""
	}
	if f.Type == agui.RunFinished && !strings.Contains(err.Error(), "text message") &&
		!strings.Contains(err.Error(), "tool call") && !strings.Contains(err.Error(), "step") &&
		!strings.Contains(err.Error(), "subagent") && strings.Contains(err.Error(), "reasoning") {
		return ""
	}
	return err.Error()
}

// thought are the rules of THINKING events. 0.0.45 makes REASONING of them first,
// which it has no rules for.
func (o *order) thought(f agui.Frame) string {
	bad := false
	switch f.Type {
	case thinkingStart:
		bad, o.thinking = o.thinking, true
	case thinkingText:
		bad, o.thinkingText = o.thinkingText || !o.thinking, true
	case thinkingContent:
		bad = !o.thinkingText
	case thinkingTextEnd:
		bad, o.thinkingText = !o.thinkingText, false
	case thinkingEnd:
		bad, o.thinking = !o.thinking, false
	}
	if bad && !o.oneOwner {
		return "the order of THINKING events"
	}
	return ""
}

// single are the rules of 0.0.45: a name or id is open or not, whoever owns it.
func (o *order) single(f agui.Frame) string {
	if rule := o.chunks(f); rule != "" {
		return rule
	}
	text, call := f.Text("messageId"), f.Text("toolCallId")
	switch f.Type {
	case agui.RunStarted:
		o.running, o.finished = true, false
	case agui.RunError:
		o.running, o.failed = false, true
	case agui.RunFinished:
		o.running, o.finished = false, true
		if len(o.texts)+len(o.calls)+len(o.steps) > 0 {
			return "RUN_FINISHED with something open"
		}
	case agui.TextMessageStart:
		return opens(o.texts, text)
	case agui.TextMessageContent:
		return goesOn(o.texts, text, false)
	case agui.TextMessageEnd:
		return goesOn(o.texts, text, true)
	case agui.ToolCallStart:
		return opens(o.calls, call)
	case agui.ToolCallArgs:
		return goesOn(o.calls, call, false)
	case agui.ToolCallEnd:
		return goesOn(o.calls, call, true)
	case agui.StepStarted:
		return opens(o.steps, f.Text("stepName"))
	case agui.StepFinished:
		return goesOn(o.steps, f.Text("stepName"), true)
	}
	return ""
}

// chunks: there is one place for what they have open, and any other event but a
// few ends it.
func (o *order) chunks(f agui.Frame) string {
	id, isChunk := chunkIDs[f.Type]
	switch f.Type {
	case agui.Raw, agui.ActivitySnapshot, agui.ActivityDelta, agui.ReasoningEncryptedValue:
		return ""
	}
	has := f.Field(id) != nil
	if o.lane != nil && (!isChunk || o.lane[0] != string(f.Type) || has && o.lane[1] != f.Text(id)) {
		if rule := o.laneDo(false); rule != "" {
			return rule
		}
		o.lane = nil
	}
	if !isChunk || o.lane != nil {
		return ""
	}
	if !has || f.Type == agui.ToolCallChunk && f.Field("toolCallName") == nil {
		return "a first chunk without an id or a name"
	}
	o.lane = &[2]string{string(f.Type), f.Text(id)}
	return o.laneDo(true)
}

func (o *order) laneDo(start bool) string {
	set := o.texts
	switch agui.Type(o.lane[0]) {
	case agui.ReasoningMessageChunk:
		return ""
	case agui.ToolCallChunk:
		set = o.calls
	}
	if start {
		return opens(set, o.lane[1])
	}
	return goesOn(set, o.lane[1], true)
}

func opens(set map[string]bool, id string) string {
	if set[id] {
		return "is open already"
	}
	set[id] = true
	return ""
}

func goesOn(set map[string]bool, id string, end bool) string {
	if !set[id] {
		return "is not open"
	}
	if end {
		delete(set, id)
	}
	return ""
}
