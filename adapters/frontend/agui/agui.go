// Package agui is the AG-UI frontend over SSE (contract §7.1): run, stop, the list of
// agents and their capabilities. Protocol: https://docs.ag-ui.com, version 1.0
// and the 0.0.x clients before it.
package agui

import (
	"context"
	"crypto/sha256"
	"strings"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/agui/profile"
	"github.com/aguigate/aguigate/protocol/agui/wire"
	"github.com/aguigate/aguigate/protocol/fault"
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
	speaks, err := spoken(in, r)
	if err != nil {
		return err
	}
	ctx, release := r.Context(0)
	defer release()
	run, err := begin(ctx, &frontend.Turn{
		Principal: r.Principal, RequestID: r.ID, Frontend: Name, Agent: r.Param("agent"),
		Input: in, Digest: sha256.Sum256(r.Body()), Profile: speaks, Header: r.Header,
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
	// The media type and nothing after it: published clients compare it whole [RUN-1].
	packed := speaks == agui.ProtocolVersion && wire.Prefers(r.Header("Accept"))
	kind := "text/event-stream"
	if packed {
		kind = wire.MediaType
	}
	err = r.Stream(kind, func(ctx context.Context, w *carrier.Stream) error {
		if packed {
			return run.Stream(ctx, &packedSink{w: w, run: run}) // which has no keepalive
		}
		w.KeepAlive(run.KeepAlive(), comment(run.Padding()))
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

// spoken finds what a client speaks: what its body names, else its header. A header
// that names no generation there is would otherwise be taken for an older client.
func spoken(in *agui.Input, r *carrier.Request) (string, error) {
	if in.ProtocolVersion != "" {
		return agui.ProtocolVersion, nil
	}
	name := r.Header(ProfileHeader)
	if _, ok := profile.Of(name); name != "" && !ok {
		return "", fault.New(fault.InvalidRequest, "the profile is 0.0.45, 0.0.59 or 1.0").At(ProfileHeader)
	}
	return name, nil
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

// comment is what fills silence, padded for proxies that hold back small pieces.
func comment(padding int) []byte {
	if padding <= 0 {
		return []byte(agui.KeepAlive)
	}
	text, _ := strings.CutSuffix(agui.KeepAlive, "\n\n")
	return []byte(text + " " + strings.Repeat(".", padding) + "\n\n")
}

// packedSink writes frames as protobuf [RUN-1].
type packedSink struct {
	w   *carrier.Stream
	run frontend.Run
	buf []byte
}

func (s *packedSink) Send(frames []agui.Frame) error {
	s.buf = s.buf[:0]
	for _, f := range frames {
		var ok bool
		var err error
		if s.buf, ok, err = wire.Append(s.buf, f); err != nil || !ok {
			s.run.LeftOut(1) // a type its envelope has not, or values it cannot hold
			if f.Type.Terminal() {
				s.buf, _, _ = wire.Append(s.buf, agui.NewRunError("the end of this run cannot be written as protobuf", "internal", nil))
			}
		}
	}
	_, err := s.w.Write(s.buf)
	if cap(s.buf) > keepBuffer {
		s.buf = nil
	}
	return err
}

// Cut ends a write that the client does not take.
func (s *sink) Cut() { s.w.Cut() }

// Cut ends a write that the client does not take.
func (s *packedSink) Cut() { s.w.Cut() }

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
