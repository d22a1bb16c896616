// Package agui is the AG-UI frontend over SSE (contract §7.1): run, stop, the list of
// agents and their capabilities. Protocol: https://docs.ag-ui.com, version 1.0
// and the 0.0.x clients before it.
package agui

import (
	"context"
	"crypto/sha256"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Name is the dialect in metrics and logs.
const Name = "agui"

// ProfileHeader lets a client that names no protocolVersion say what it speaks
// [RUN-11].
const ProfileHeader = "X-AGUI-Profile"

// IgnoredHeader names the advertised tools that the configuration owns [MERGE-2].
const IgnoredHeader = "X-Aguigate-Ignored-Tools"

// Frontend answers AG-UI clients.
type Frontend struct{ gateway frontend.Gateway }

var _ frontend.Frontend = (*Frontend)(nil)

// New makes the frontend of a gateway.
func New(g frontend.Gateway) *Frontend { return &Frontend{gateway: g} }

// Name is "agui".
func (f *Frontend) Name() string { return Name }

// Routes are the paths of contract §7.1 that this dialect has so far.
func (f *Frontend) Routes() []carrier.Route {
	return []carrier.Route{
		{Method: "GET", Path: "/agents", Handle: f.list},
		{Method: "GET", Path: "/agents/{agent}", Handle: f.describe},
		{Method: "POST", Path: "/agents/{agent}/run", Handle: f.run, Body: true},
		{Method: "POST", Path: "/agents/{agent}/connect", Handle: f.connect, Body: true},
		{Method: "POST", Path: "/agents/{agent}/stop", Handle: f.stop, Body: true},
	}
}

// list answers {"agents":{id: AgentCapabilities}}.
func (f *Frontend) list(r *carrier.Request) error {
	b := []byte(`{"agents":{`)
	for i, a := range f.gateway.Agents(r.Principal) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strictjson.AppendString(b, a.Name), ':')
		b = a.Capabilities.Append(b)
	}
	return r.JSON(200, append(b, "}}"...))
}

// describe answers one agent's AgentCapabilities.
func (f *Frontend) describe(r *carrier.Request) error {
	a, err := f.gateway.Agent(r.Principal, r.Param("agent"))
	if err != nil {
		return err
	}
	return r.JSON(200, a.Capabilities.Append(nil))
}

// run takes a RunAgentInput and answers with the run's events.
func (f *Frontend) run(r *carrier.Request) error {
	return f.stream(r, f.gateway.Begin, false)
}

// connect takes a RunAgentInput too, of which its thread and run ids count, and
// answers with the thread and what runs on it.
func (f *Frontend) connect(r *carrier.Request) error {
	return f.stream(r, f.gateway.Connect, true)
}

// stream answers with what begin begins. Frames have ids where marked [RUN-1].
func (f *Frontend) stream(r *carrier.Request, begin func(context.Context, *frontend.Turn) (frontend.Run, error), marked bool) error {
	// The agent comes first: a body for an agent that is not there is not judged.
	if _, err := f.gateway.Agent(r.Principal, r.Param("agent")); err != nil {
		return err
	}
	if err := r.Streamable(); err != nil {
		return err
	}
	in, err := agui.DecodeInput(r.Body())
	if err != nil {
		return err
	}
	ctx, release := r.Context(0)
	defer release()
	run, err := begin(ctx, &frontend.Turn{
		Principal: r.Principal, RequestID: r.ID, Frontend: Name, Agent: r.Param("agent"),
		Input: in, Digest: sha256.Sum256(r.Body()), Modern: modern(in, r), Header: r.Header,
	})
	if err != nil {
		return err
	}
	if names := run.IgnoredTools(); names != "" {
		if err := r.SetHeader(IgnoredHeader, names); err != nil {
			run.Abort()
			return err
		}
	}
	// "text/event-stream" and nothing after it: published clients compare it whole
	// [RUN-1].
	err = r.Stream("text/event-stream", func(ctx context.Context, w *carrier.Stream) error {
		w.KeepAlive(run.KeepAlive(), []byte(agui.KeepAlive))
		if marked {
			return run.Stream(ctx, &markedSink{sink: sink{w: w}})
		}
		return run.Stream(ctx, &sink{w: w})
	})
	if err != nil {
		run.Abort()
	}
	return err
}

// modern tells a 1.0 client: by the protocolVersion in its body, else by the
// profile header.
func modern(in *agui.Input, r *carrier.Request) bool {
	if in.ProtocolVersion != "" {
		return true
	}
	return r.Header(ProfileHeader) == agui.ProtocolVersion
}

// sink writes frames as SSE, one Write for all that came together.
type sink struct {
	w   *carrier.Stream
	buf []byte
}

// keepBuffer is how large a buffer a stream keeps between writes: a single large
// snapshot should not stay in memory for the rest of a long run.
const keepBuffer = 16 << 10

func (s *sink) Send(frames []agui.Frame) error {
	s.buf = s.buf[:0]
	for _, f := range frames {
		s.buf = agui.AppendSSE(s.buf, f)
	}
	_, err := s.w.Write(s.buf)
	if cap(s.buf) > keepBuffer {
		s.buf = nil
	}
	return err
}

// markedSink writes frames behind the id a reader may come back with. Only the last
// frame of a write has the newest: who has lost the others gets them again.
type markedSink struct {
	sink
	last, next uint64
}

func (s *markedSink) Mark(id uint64) { s.next = id }

func (s *markedSink) Send(frames []agui.Frame) error {
	s.buf = s.buf[:0]
	for i, f := range frames {
		id := s.last
		if i == len(frames)-1 {
			id = s.next
		}
		s.buf = agui.AppendSSEWithID(s.buf, id, f)
	}
	s.last = s.next
	_, err := s.w.Write(s.buf)
	return err
}
