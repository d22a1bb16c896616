package api

import (
	"context"
	"strconv"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// lastEventID is how a client says which event it saw last (WHATWG HTML §9.2.4).
const lastEventID = "Last-Event-ID"

// events answers with the thread's event stream, each event with its id.
func (f *Frontend) events(r *carrier.Request) error {
	if err := r.Streamable(); err != nil {
		return err
	}
	last, err := lastSeen(r.Header(lastEventID))
	if err != nil {
		return err
	}
	ctx, release := r.Context(0)
	defer release()
	events, err := f.gateway.Events(ctx, r.Principal, thread(r), last)
	if err != nil {
		return err
	}
	// "text/event-stream" and nothing after it: published clients compare it whole
	// [RUN-1].
	err = r.Stream("text/event-stream", func(ctx context.Context, w *carrier.Stream) error {
		w.KeepAlive(events.KeepAlive(), []byte(agui.KeepAlive))
		out := eventSink{w: w}
		return events.Stream(ctx, out.send)
	})
	if err != nil || r.Method() == "HEAD" { // HEAD gets the headers, and no stream runs
		events.Close()
	}
	return err
}

// lastSeen checks an event id: every id is a number of ours.
func lastSeen(id string) (string, error) {
	if id == "" {
		return "", nil
	}
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return "", fault.New(fault.InvalidRequest, "%s is the id of an event of this stream, a number", lastEventID).At(lastEventID)
	}
	return strconv.FormatUint(n, 10), nil
}

// eventSink writes events as SSE, one Write for all that came together.
type eventSink struct {
	w   *carrier.Stream
	buf []byte
}

// keepBuffer is how large a buffer a stream keeps between writes: a single large
// snapshot should not stay in memory for the rest of a long stream.
const keepBuffer = 16 << 10

func (s *eventSink) send(events []frontend.Event) error {
	s.buf = s.buf[:0]
	for _, e := range events {
		s.buf = agui.AppendSSEWithID(s.buf, e.ID, e.Frame)
	}
	_, err := s.w.Write(s.buf)
	if cap(s.buf) > keepBuffer {
		s.buf = nil
	}
	return err
}
