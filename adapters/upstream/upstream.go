// Package upstream is what the gateway needs of an agent backend: one method
// that starts a run and a stream of frames to read. Each dialect is a folder
// below this one; a new backend is a new folder and a line in cmd/aguigate.
package upstream

import (
	"context"
	"log/slog"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

// RunRequest asks a backend for one run.
type RunRequest struct {
	// Input is the backend's own copy: the client's messages with every settled
	// call answered, the offered tools, state and context. The adapter may keep
	// it for the length of the run and does not change it.
	Input *agui.Input
	// Headers are the caller's headers and identity that the configuration lets
	// through [UP-2], in a fixed order. Configured credentials are the adapter's
	// own and win.
	Headers []Header
	// RequestID goes to the backend as X-Request-Id [DATA-3].
	RequestID string
	// Read makes a frame of one event's JSON, with the repairs that are switched on for
	// the agent; skip says that it means nothing. nil is agui.ParseFrame. A dialect
	// whose events are no JSON does not need it.
	Read func(data []byte) (f agui.Frame, skip bool, err error)
	// Sent is called once, before the first byte of the request body goes out:
	// from then on the backend may have read the results [INV-12]. An error stops
	// the request. It may be nil.
	Sent func(ctx context.Context) error
}

// Header is one HTTP header.
type Header struct{ Name, Value string }

// Upstream is one configured backend. It is safe for concurrent runs.
type Upstream interface {
	// Run sends the request and returns once the backend has answered with a
	// stream. An error is a *fault.Error with an in-band code [ERR-3]. ctx ends
	// the run, also while Next blocks, within a second [RUN-10].
	Run(ctx context.Context, req *RunRequest) (Stream, error)
}

// Stream is the backend's answer to one run.
type Stream interface {
	// Next blocks until something has arrived and appends all complete frames
	// that are there to dst. io.EOF is the clean end; any other error is a
	// *fault.Error. Frames returned together with an error are valid. Raw bytes
	// stay valid until the next call.
	Next(dst []agui.Frame) ([]agui.Frame, error)
	// Close lets the connection go. It is called once, after the last Next.
	Close() error
}

// Prober is implemented by backends that can be asked whether they answer.
type Prober interface {
	// Probe says in a few words what the backend answered.
	Probe(ctx context.Context) (string, error)
}

// Describer is implemented by backends that know more of themselves than the
// configuration says.
type Describer interface {
	// Describe completes the capabilities the gateway shows for this agent.
	Describe(*agui.Capabilities)
}

// Options is the configuration of one backend in the adapters' words.
type Options struct {
	Agent      string
	URL        string
	Protocol   string // auto | 0.0 | 1.0
	Headers    []Header
	Timeouts   Timeouts
	Encoding   string // sse | protobuf
	EventLimit int    // bytes of one event
	Idempotent bool
	FirstByte  func(d time.Duration) // told how long the backend took to answer
	Log        *slog.Logger
}

// Timeouts bound one run; 0 is no bound.
type Timeouts struct {
	Connect   time.Duration // until the connection stands
	FirstByte time.Duration // from the request until the first event
	Idle      time.Duration // between two events
	Total     time.Duration // the whole run
}

// Factory makes a backend of one kind.
type Factory func(Options) (Upstream, error)
