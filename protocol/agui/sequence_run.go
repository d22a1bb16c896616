package agui

import (
	"fmt"
	"slices"
	"strings"
)

// entity is a kind of thing that events open, continue and close. Ids are
// unique inside a kind only.
type entity int

const (
	textMessage entity = iota
	toolCall
	reasoningSpan
	reasoningMessage
	activity
)

func (e entity) String() string {
	return [...]string{"text message", "tool call", "reasoning span", "reasoning message", "activity"}[e]
}

// bucket is where an entity's owner is kept: a reasoning span and the messages
// in it share one, so that two producers cannot claim the same id.
func (e entity) bucket() entity {
	if e == reasoningSpan {
		return reasoningMessage
	}
	return e
}

// owner is who an event belongs to: a subagent, or the agent itself. The empty
// id is a legal subagent, so "none" is a flag.
type owner struct {
	sub bool
	id  string
}

func (o owner) String() string {
	if !o.sub {
		return "the agent itself"
	}
	return fmt.Sprintf("subagent %q", o.id)
}

func ownerOf(raw []byte) owner {
	v := field(raw, "subagentRunId")
	return owner{sub: isString(v), id: text(v)}
}

type named struct {
	kind entity
	id   string
}

type step struct {
	by   owner
	name string
}

// runState is what the order rules remember of one run.
type runState struct {
	open      map[named]struct{}
	owners    map[named]owner // kept after the close: a late event must still agree
	steps     map[step]struct{}
	subagents map[string]bool // true while active
	lanes     map[owner]lane  // see chunk
}

func newRunState() runState {
	return runState{open: map[named]struct{}{}, owners: map[named]owner{}, steps: map[step]struct{}{},
		subagents: map[string]bool{}, lanes: map[owner]lane{}}
}

// take applies the rules of one event that is no chunk.
func (r *runState) take(f Frame) string {
	by := ownerOf(f.Raw)
	id := f.Text("messageId")
	switch f.Type {
	case TextMessageStart:
		return r.start(textMessage, id, by)
	case TextMessageContent:
		return r.goOn(textMessage, id, by, false)
	case TextMessageEnd:
		return r.goOn(textMessage, id, by, true)
	case ToolCallStart:
		return r.startCall(f.Text("toolCallId"), f.Field("parentMessageId") != nil, f.Text("parentMessageId"), by)
	case ToolCallArgs:
		return r.goOn(toolCall, f.Text("toolCallId"), by, false)
	case ToolCallEnd:
		return r.goOn(toolCall, f.Text("toolCallId"), by, true)
	case ToolCallResult:
		r.owners[named{textMessage, id}] = by // a result makes a message of its own
	case ReasoningStart:
		return r.start(reasoningSpan, id, by)
	case ReasoningEnd:
		return r.goOn(reasoningSpan, id, by, true)
	case ReasoningMessageStart:
		return r.start(reasoningMessage, id, by)
	case ReasoningMessageContent:
		return r.goOn(reasoningMessage, id, by, false)
	case ReasoningMessageEnd:
		return r.goOn(reasoningMessage, id, by, true)
	case ReasoningEncryptedValue:
		return r.encrypted(f, by)
	case ActivitySnapshot:
		if _, known := r.owners[named{activity, id}]; !known || string(f.Field("replace")) != "false" {
			r.owners[named{activity, id}] = by
		}
	case ActivityDelta:
		return r.agrees(activity, id, by)
	case StepStarted, StepFinished:
		return r.step(f.Type == StepStarted, step{by, f.Text("stepName")})
	case SubagentStarted:
		return r.startSubagent(f)
	case SubagentFinished, SubagentError:
		return r.endSubagent(f.Text("subagentRunId"))
	case MessagesSnapshot:
		r.seed(f.Field("messages"), true)
	case RunStarted:
		r.seed(field(f.Field("input"), "messages"), false)
	case RunFinished:
		return r.nothingOpen()
	}
	return ""
}

func (r *runState) start(kind entity, id string, by owner) string {
	if _, ok := r.open[named{kind, id}]; ok {
		return fmt.Sprintf("the %v %q is open already; it must end first", kind, id)
	}
	if rule := r.agrees(kind.bucket(), id, by); rule != "" {
		return rule
	}
	r.open[named{kind, id}] = struct{}{}
	r.claim(named{kind.bucket(), id}, by)
	return ""
}

// claim records an owner unless there is one.
func (r *runState) claim(n named, by owner) {
	if _, ok := r.owners[n]; !ok {
		r.owners[n] = by
	}
}

func (r *runState) goOn(kind entity, id string, by owner, end bool) string {
	if _, ok := r.open[named{kind, id}]; !ok {
		return fmt.Sprintf("no %v %q is open; it must be started first", kind, id)
	}
	if rule := r.agrees(kind.bucket(), id, by); rule != "" {
		return rule
	}
	if end {
		delete(r.open, named{kind, id})
	}
	return ""
}

// agrees: an event that names a subagent must name the one its entity belongs
// to; an event that names none always agrees.
func (r *runState) agrees(kind entity, id string, by owner) string {
	if was, ok := r.owners[named{kind, id}]; ok && by.sub && was != by {
		return fmt.Sprintf("the %v %q belongs to %v, not to %v", kind, id, was, by)
	}
	return ""
}

// startCall: a call lives in the message that parentMessageId names, so it
// belongs to whom that belongs to.
func (r *runState) startCall(id string, hasParent bool, parent string, by owner) string {
	if _, ok := r.open[named{toolCall, id}]; ok {
		return fmt.Sprintf("the tool call %q is open already; it must end first", id)
	}
	effective := by
	if hasParent {
		if up, ok := r.owners[named{textMessage, parent}]; ok {
			if by.sub && by != up {
				return fmt.Sprintf("the tool call %q is of %v but its parent message %q of %v", id, by, parent, up)
			}
			effective = up
			if was, ok := r.owners[named{toolCall, id}]; ok && was != up {
				return fmt.Sprintf("the tool call %q belongs to %v but its parent message %q to %v", id, was, parent, up)
			}
		}
	}
	if rule := r.agrees(toolCall, id, by); rule != "" {
		return rule
	}
	r.open[named{toolCall, id}] = struct{}{}
	r.claim(named{toolCall, id}, effective)
	return ""
}

func (r *runState) encrypted(f Frame, by owner) string {
	id := f.Text("entityId")
	switch f.Text("subtype") {
	case "tool-call":
		return r.agrees(toolCall, id, by)
	case "message":
		if _, ok := r.owners[named{textMessage, id}]; ok {
			return r.agrees(textMessage, id, by)
		}
	}
	return r.agrees(reasoningMessage, id, by)
}

func (r *runState) step(start bool, s step) string {
	_, open := r.steps[s]
	switch {
	case start && open:
		return fmt.Sprintf("the step %q of %v is open already", s.name, s.by)
	case start:
		r.steps[s] = struct{}{}
	case !open:
		return fmt.Sprintf("no step %q of %v is open; whoever started a step ends it", s.name, s.by)
	default:
		delete(r.steps, s)
	}
	return ""
}

func (r *runState) startSubagent(f Frame) string {
	id, parent := f.Text("subagentRunId"), f.Field("parentSubagentRunId")
	if active, seen := r.subagents[id]; active {
		return fmt.Sprintf("the subagent %q is active already", id)
	} else if seen {
		return fmt.Sprintf("the subagent %q has ended in this run; ids are used once", id)
	}
	if _, seen := r.subagents[text(parent)]; parent != nil && !seen {
		return fmt.Sprintf("the parent subagent %q has not been started in this run", text(parent))
	}
	r.subagents[id] = true
	return ""
}

func (r *runState) endSubagent(id string) string {
	if !r.subagents[id] {
		return fmt.Sprintf("no subagent %q is active", id)
	}
	r.subagents[id] = false
	return ""
}

// seed records the owners of messages that an event restates. A snapshot
// overrules what is known, the echo of a request does not.
func (r *runState) seed(messages []byte, overrule bool) {
	set := func(n named, by owner) {
		if overrule {
			r.owners[n] = by
		} else {
			r.claim(n, by)
		}
	}
	for cur := walk(messages); cur.end == ']'; {
		m, ok := cur.next()
		if !ok {
			return
		}
		raw := cur.value(m)
		id := field(raw, "id")
		if !isString(id) {
			continue
		}
		kind := textMessage
		switch Role(text(field(raw, "role"))) {
		case RoleReasoning:
			kind = reasoningMessage
		case RoleActivity:
			kind = activity
		}
		by := ownerOf(raw)
		set(named{kind, text(id)}, by)
		for _, call := range toolCallsOf(field(raw, "toolCalls")) {
			set(named{toolCall, call.ID}, by)
		}
	}
}

// nothingOpen is the rule of RUN_FINISHED. RUN_ERROR may come at any time.
func (r *runState) nothingOpen() string {
	var open []string
	for n := range r.open {
		open = append(open, fmt.Sprintf("%v %q", n.kind, n.id))
	}
	for s := range r.steps {
		open = append(open, fmt.Sprintf("step %q", s.name))
	}
	for id, active := range r.subagents {
		if active {
			open = append(open, fmt.Sprintf("subagent %q", id))
		}
	}
	if len(open) == 0 {
		return ""
	}
	slices.Sort(open)
	return "a run must not finish with something open: " + strings.Join(open, ", ")
}
