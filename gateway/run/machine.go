// Package run is one run as a state machine without I/O: frames of an upstream
// in, actions out. It has no goroutine, clock or socket, so it is tested as a
// table and driven by whatever is fastest.
//
// It keeps the promises of RUN-2, RUN-3, RUN-4 and RUN-7: one RUN_STARTED first,
// exactly one terminal event last, what is open closed before it, client calls
// recorded before their end is shown, and every other frame handed on as the
// bytes that came. It speaks 1.0; what an older client can read of that is decided
// behind it.
package run

import (
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// Setup is what a run knows from its beginning.
type Setup struct {
	Thread, Run, Parent string // as the client named them
	RequestID           string
	// Client tells whether a tool name was offered as a client tool in this run
	// [MERGE-6].
	Client func(name string) bool
	// Names renames ids the thread has used before [INV-2].
	Names *Names
	// Prelude is sent right after RUN_STARTED.
	Prelude []agui.Frame
	// Allows tells whether a client call may be made once more; nil is always. A call
	// that may not ends the run in tool_loop.
	Allows func(tool string, arguments []byte) bool
	// Joined says that the frames are another run's of this gateway, which has kept
	// the books: only ids and profile are this client's.
	Joined bool
	// ArgumentBytes bounds the arguments of all client calls of the run; 0 is
	// DefaultArgumentBytes.
	ArgumentBytes int
}

// DefaultArgumentBytes keeps a round well under the store's largest record.
const DefaultArgumentBytes = 1 << 20

// MaxCalls bounds the client calls of one run, MaxID the bytes of a tool call's
// ids: both stand in the records of the round and the thread.
const (
	MaxCalls = 256
	MaxID    = 1024
)

// Kind says what an action asks of the driver.
type Kind uint8

// The actions.
const (
	// Send hands Frame to the client.
	Send Kind = iota
	// Open records Call before anything later is sent [INV-1].
	Open
	// Close ends Call's invocation for Reason: the upstream answered it itself, or
	// asks about it by interrupt.
	Close
	// Hold asks for End soon: the upstream has finished, and may start a second
	// run in the same response [RUN-2].
	Hold
	// Release makes the round's calls answerable and asks for Released.
	Release
	// Cancel ends the run's open calls and asks for Cancelled.
	Cancel
)

// Action is one thing the driver does, in order.
type Action struct {
	Kind   Kind
	Frame  agui.Frame // Send
	Call   *Call      // Open, Close
	Reason string     // Close
	// Prelude marks a frame of Setup.Prelude: what it says is in the record already.
	Prelude bool
}

// Reasons of Close.
const (
	AnsweredUpstream = "answered_upstream"
	Interrupted      = "interrupted"
)

// Call is one tool call of the run.
type Call struct {
	ID        string // the upstream's
	Shown     string // towards clients [INV-2]
	Message   string // parentMessageId towards clients; "" when none
	Tool      string
	Arguments []byte // as written
	Client    bool

	written  []byte // the deltas' JSON text: a character may be cut between two of them
	ended    bool
	answered bool
	chunked  bool // assembled from chunks: the client makes its END itself
	earlier  bool // of an earlier run in this response: its id may come again
}

// Answer is what the record knows of a call of this run at its end.
type Answer struct {
	Shown   string
	Content string // what the model was told, as text
}

// Machine is one run. Make it with New.
type Machine struct {
	set     Setup
	started bool
	done    bool
	held    *agui.Frame
	failure *agui.Frame

	texts     []string // shown ids, in the order opened
	thoughts  []string // REASONING_MESSAGE_START without END
	reasoning []string // REASONING_START without END
	steps     []string
	calls     []*Call // client calls, and backend calls that may still be open
	clients   int     // client calls among them
	over      int     // backend calls among them that have ended
	byID      map[string]*Call
	lanes     []lane
	argBytes  int

	backend  []string // shown ids of calls that are the upstream's own
	dropped  int
	repaired map[string]int
	outcome  string
	code     string
}

// New makes the machine of one run.
func New(s Setup) *Machine {
	if s.ArgumentBytes == 0 {
		s.ArgumentBytes = DefaultArgumentBytes
	}
	if s.Names == nil {
		s.Names = NewNames(nil, nil)
	}
	if s.Client == nil {
		s.Client = func(string) bool { return false }
	}
	return &Machine{set: s}
}

// Done reports that the terminal event was sent.
func (m *Machine) Done() bool { return m.done }

// Held reports that the upstream has finished and the end is only held back.
func (m *Machine) Held() bool { return m.held != nil }

// Outcome is success, interrupt, cancelled or error once Done.
func (m *Machine) Outcome() string { return m.outcome }

// Code is the code of the RUN_ERROR the run ended in: the gateway's own, or
// "upstream" for one that the agent sent, whose code is the agent's text. It is ""
// for any other end.
func (m *Machine) Code() string { return m.code }

// Dropped counts frames that came after the end or were out of place.
func (m *Machine) Dropped() int { return m.dropped }

// Backend lists the shown ids of the calls the upstream ran itself, at most
// MaxCalls of them: nobody may settle those [OWN-3].
func (m *Machine) Backend() []string { return m.backend }

// Repairs counts what the machine added of its own, by kind.
func (m *Machine) Repairs() map[string]int { return m.repaired }

// Step takes the next frame of the upstream and appends what it asks for. The
// frame's bytes are not kept.
func (m *Machine) Step(f agui.Frame, out []Action) []Action {
	switch {
	case m.done || m.failure != nil:
		m.dropped++
		return out
	case m.held != nil:
		if f.Type == agui.RunStarted { // a second run is joined into this one
			m.held = nil
			for _, c := range m.byID {
				c.earlier = true
			}
			m.set.Names.NextRun()
		} else {
			m.dropped++
		}
		return out
	}
	if f.Type != agui.RunStarted {
		out = m.ensureStarted(out)
	} else if m.started {
		m.dropped++ // a client never sees it, so it ends nothing
		return out
	}
	out, ended := m.closeLanes(f, out)
	if ended {
		return out
	}
	return m.take(f, out)
}

// take is Step after the frame has been found to stand in a running run.
func (m *Machine) take(f agui.Frame, out []Action) []Action {
	switch f.Type {
	case agui.RunStarted:
		return m.start(m.ownIDs(f), out)
	case agui.RunFinished:
		held := agui.Frame{Type: f.Type, Raw: append([]byte(nil), f.Raw...)}
		m.held = &held
		return append(out, Action{Kind: Hold})
	case agui.RunError:
		m.code = "upstream"
		return m.fail(agui.Frame{Type: f.Type, Raw: append([]byte(nil), f.Raw...)}, out)
	case agui.TextMessageStart, agui.TextMessageEnd,
		agui.ReasoningStart, agui.ReasoningEnd,
		agui.ReasoningMessageStart, agui.ReasoningMessageEnd,
		agui.StepStarted, agui.StepFinished:
		f = m.names(f)
		m.book(f)
		return append(out, Action{Frame: f})
	case agui.ToolCallStart:
		return m.callStart(f, out)
	case agui.ToolCallArgs:
		return m.callArgs(f, out)
	case agui.ToolCallEnd:
		return m.callEnd(f, out)
	case agui.ToolCallChunk:
		return m.callChunk(f, out)
	case agui.ToolCallResult:
		return m.callResult(f, out)
	}
	if f.Type == agui.MessagesSnapshot {
		if err := agui.CheckSnapshot(f); err != nil {
			return m.fail(m.errorFrame(fault.From(err)), out)
		}
	}
	return append(out, Action{Frame: m.names(f)})
}

// End tells that the upstream's stream is over: cause nil is a clean end of
// file, anything else the trouble there was [RUN-3, ERR-3].
func (m *Machine) End(cause *fault.Error, out []Action) []Action {
	if m.held != nil {
		return m.release(out)
	}
	if cause == nil {
		cause = fault.New(fault.IncompleteStream, "the agent's stream ended without a terminal event")
	}
	return m.FailLocal(cause, out)
}

// ensureStarted begins the run in the upstream's place, if it has not begun.
func (m *Machine) ensureStarted(out []Action) []Action {
	if m.started {
		return out
	}
	return m.start(agui.NewRunStarted(m.set.Thread, m.set.Run, m.set.Parent, agui.ProtocolVersion), out)
}

func (m *Machine) start(f agui.Frame, out []Action) []Action {
	m.started = true
	out = append(out, Action{Frame: f})
	for _, p := range m.set.Prelude {
		out = append(out, Action{Frame: p, Prelude: true})
	}
	return out
}

// ownIDs puts the client's thread and run ids in place of others.
func (m *Machine) ownIDs(f agui.Frame) agui.Frame {
	if f.Text("threadId") != m.set.Thread {
		f = f.With("threadId", quote(m.set.Thread))
	}
	if f.Text("runId") != m.set.Run {
		f = f.With("runId", quote(m.set.Run))
	}
	return f
}

func (m *Machine) repair(kind string) {
	if m.repaired == nil {
		m.repaired = map[string]int{}
	}
	m.repaired[kind]++
}
