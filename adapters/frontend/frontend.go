// Package frontend is the narrow waist between a client dialect and the gateway:
// a dialect turns its bytes into a Turn, and frames into its bytes. Each dialect
// is a folder below this one; a new one is a new folder and a line in
// cmd/aguigate.
package frontend

import (
	"context"
	"time"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// Frontend is one client dialect on the HTTP carrier.
type Frontend interface {
	// Name is the dialect's name in metrics and logs.
	Name() string
	// Routes are the requests the dialect answers.
	Routes() []carrier.Route
}

// Turn is what a client wants of an agent, whatever dialect it came in.
type Turn struct {
	Principal principal.Principal
	RequestID string
	Frontend  string
	Agent     string
	Input     *agui.Input
	// Digest names the request's body: two turns with one run id and one digest are
	// the same turn sent twice [RUN-13].
	Digest [32]byte
	// Appends says that Input.Messages holds only what is new: the rest of the
	// conversation is the record's. Else it is the client's whole view [HIST-2, HIST-3].
	Appends bool
	// Profile is the AG-UI generation the client says it speaks, as profile.Of reads
	// it; "" is the agent's legacy_profile [RUN-11].
	Profile string
	// Header reads a request header; "" when absent. It must stay valid until
	// Begin returns.
	Header func(name string) string
}

// Gateway is what a frontend may ask of the core. Every error is a *fault.Error.
type Gateway interface {
	// Agents lists the agents the caller may use, in the order configured.
	Agents(p principal.Principal) []Agent
	// Agent finds one of them, or agent_not_found.
	Agent(p principal.Principal, name string) (Agent, error)
	// Begin checks a turn whole, settles what it answers, takes the thread and
	// gives the run to move. A refusal has changed nothing [ERR-1].
	Begin(ctx context.Context, t *Turn) (Run, error)

	// Connect gives the thread of the turn's input as one run: its messages and state,
	// and the run that is active, if one is. The agent is not asked.
	Connect(ctx context.Context, t *Turn) (Run, error)

	// Invocations lists the calls of a thread, oldest first; state "" is all.
	Invocations(ctx context.Context, p principal.Principal, ref ThreadRef, state tool.State) ([]*tool.Invocation, error)
	// Invocation finds one call. wait > 0 holds until it is final or ctx ends.
	Invocation(ctx context.Context, p principal.Principal, id string, wait time.Duration) (*tool.Invocation, error)
	// Resolve settles one call.
	Resolve(ctx context.Context, p principal.Principal, id string, a Answer) (Resolved, error)
	// ResolveAll settles a thread's open round: all or nothing.
	ResolveAll(ctx context.Context, p principal.Principal, ref ThreadRef, answers []Answer) ([]Resolved, error)
	// AllInvocations lists the caller's calls over all its threads, oldest first.
	AllInvocations(ctx context.Context, p principal.Principal, q InvocationQuery) ([]*tool.Invocation, Cursor, error)

	// Threads lists the caller's threads, newest first.
	Threads(ctx context.Context, p principal.Principal, agent string, page Page) ([]Thread, Cursor, error)
	// Thread reads one with its messages and calls.
	Thread(ctx context.Context, p principal.Principal, ref ThreadRef) (*Thread, error)
	// DeleteThread removes a thread with all that belongs to it and stops what runs
	// on it [DATA-2].
	DeleteThread(ctx context.Context, p principal.Principal, ref ThreadRef) error
	// Continue runs a waiting or failed round again and names the run [INV-12].
	Continue(ctx context.Context, p principal.Principal, ref ThreadRef) (run string, err error)
	// Stop ends the named run of the thread, or with "" whatever runs on it; false
	// says that no such run is active [RUN-10].
	Stop(ctx context.Context, p principal.Principal, ref ThreadRef, run string) (bool, error)
	// Events opens the thread's event stream behind the event with id last, "" for
	// what comes from now on.
	Events(ctx context.Context, p principal.Principal, ref ThreadRef, last string) (Events, error)
}

// Page is a part of a list: at most Limit entries behind Cursor, which an earlier
// part gave.
type Page struct {
	Limit  int // 0 is 50; at most 200 are given
	Cursor Cursor
}

// Cursor says where the next part of a list begins; "" at its start and end.
// A cursor from elsewhere is invalid_request.
type Cursor string

// InvocationQuery picks calls; zero fields pick all.
type InvocationQuery struct {
	State tool.State
	Tool  string
	Page
}

// Thread is one conversation as its owner sees it.
type Thread struct {
	ID, Agent string
	Status    ThreadStatus
	Run       string // the active run, "" when none is
	Created   time.Time
	Active    time.Time // when something last happened on it
	// Messages and Invocations are given for one thread, not in lists. Messages are
	// in their order, without those hidden from the conversation [HIST-2].
	Messages    []agui.Message
	Invocations []*tool.Invocation
}

// ThreadStatus is what a thread is doing.
type ThreadStatus string

// The statuses: Waiting has calls that wait for their client.
const (
	Idle    ThreadStatus = "idle"
	Running ThreadStatus = "running"
	Waiting ThreadStatus = "waiting"
)

// Event is one frame of a thread's event stream.
type Event struct {
	ID    uint64 // grows; what Last-Event-ID names
	Frame agui.Frame
}

// Events is an opened event stream of a thread.
type Events interface {
	// KeepAlive is the silence after which the dialect says something [RUN-9].
	KeepAlive() time.Duration
	// Stream hands events to send, in order, until the stream has been idle for ten
	// minutes, the thread is gone, ctx ends or send fails. The events are valid
	// during the call only.
	Stream(ctx context.Context, send func([]Event) error) error
	// Close gives everything back when no answer could be started.
	Close()
}

// Agent is what a caller may know of an agent.
type Agent struct {
	Name         string
	Capabilities agui.Capabilities
	Limits       tool.Limits
}

// ThreadRef names a thread: its id and, where several agents use the same id,
// the agent.
type ThreadRef struct{ Thread, Agent string }

// Answer is one answer of a client before it is checked against its call.
type Answer struct {
	ID      string    // public or upstream id
	Attempt int       // 0 when not sent
	Form    tool.Form // empty for an error
	Content []byte    // exact bytes: the text itself, JSON as written, parts array
	Failure *Failure
	Door    string // which frontend carried it
	// Leave says that the client continues the round itself, so that the gateway
	// does not ("continue": false) [INV-11].
	Leave bool
}

// Failure says that the client could not, or would not, do what was asked.
type Failure struct {
	Model     string // the sentence the model reads
	Private   string // for the operator only
	Class     string
	Retryable bool
}

// Resolved is one accepted answer.
type Resolved struct {
	Invocation *tool.Invocation
	Replayed   bool // the same outcome was accepted before [INV-3]
}

// Run is an accepted turn. Exactly one of Stream and Abort is called.
type Run interface {
	// IgnoredTools names the advertised tools the configuration owns, for the
	// header X-Aguigate-Ignored-Tools [MERGE-2]; "" when none.
	IgnoredTools() string
	// KeepAlive is the silence after which the dialect says something [RUN-9].
	KeepAlive() time.Duration
	// Padding is how many bytes it then has to say at least.
	Padding() int
	// LeftOut counts frames that the dialect cannot write.
	LeftOut(n int)
	// Stream moves frames to sink until the run has ended. It always gives the
	// sink exactly one terminal frame, unless ctx ends or the sink fails first.
	Stream(ctx context.Context, sink Sink) error
	// Abort gives the thread back when no answer could be started.
	Abort()
}

// Marker is a sink that can give its frames ids: with the next Send a reader has
// everything up to the event with that id of the thread's event stream.
type Marker interface{ Mark(id uint64) }

// Cutter is a sink whose Send, when the client does not read, can be ended from
// another goroutine.
type Cutter interface{ Cut() }

// Sink takes the frames of one run in order. The frames' bytes are valid during
// the call only.
type Sink interface {
	Send(frames []agui.Frame) error
}
