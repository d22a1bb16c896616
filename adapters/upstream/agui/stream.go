package agui

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/agui/profile"
	"github.com/aguigate/aguigate/protocol/agui/wire"
	"github.com/aguigate/aguigate/protocol/fault"
)

// A stream's read buffer starts small, since most streams are slow and many, and
// grows while reads fill it.
const (
	firstBuffer = 4 << 10
	lastBuffer  = 64 << 10
)

// stream is one answer being read. It belongs to one goroutine.
type stream struct {
	up      *Upstream
	ctx     context.Context
	cancel  context.CancelCauseFunc
	raw     io.Closer
	body    io.Reader
	events  framing
	read    func(data []byte) (agui.Frame, bool, error)
	older   *profile.FromUpstream
	buf     []byte
	frames  []agui.Frame
	silence *silence
	began   time.Time
	first   bool
}

// Next reads what is there: one read of the socket, all frames it completes.
func (s *stream) Next(dst []agui.Frame) ([]agui.Frame, error) {
	s.frames = dst
	before := len(dst)
	for {
		n, err := s.body.Read(s.buf)
		if n > 0 {
			s.silence.heard()
			if bad := s.events.feed(s.buf[:n]); bad != nil {
				return s.frames, bad
			}
		}
		if err != nil {
			why := s.over(err)
			s.frames = s.older.End(s.frames) // thoughts that an older server leaves open
			return s.frames, why
		}
		if len(s.frames) > before {
			s.grow(n)
			return s.frames, nil
		}
	}
}

// take parses one event. Its bytes are kept where they lie if that is the read
// buffer, which stands until the next Next.
func (s *stream) take(data []byte) error {
	if !within(data, s.buf) {
		data = append([]byte(nil), data...)
	}
	var f agui.Frame
	var skip bool
	var err error
	if s.read != nil {
		f, skip, err = s.read(data)
	} else {
		f, err = agui.ParseFrame(data)
	}
	if err != nil || skip {
		return err
	}
	s.enter(f)
	return nil
}

// give takes an event that came as protobuf, whose frame lasts only for the call. What
// such an event lacks reads as empty, so it is checked here.
func (s *stream) give(f agui.Frame) error {
	if err := f.Validate(); err != nil {
		return err
	}
	s.enter(agui.Frame{Type: f.Type, Raw: append([]byte(nil), f.Raw...)})
	return nil
}

// enter adds one frame, as 1.0 [RUN-11].
func (s *stream) enter(f agui.Frame) {
	if !s.first {
		s.first = true
		s.silence.speaking()
		if s.up.opts.FirstByte != nil {
			s.up.opts.FirstByte(time.Since(s.began))
		}
	}
	if f.Type == agui.RunStarted {
		s.up.learn(f)
	}
	s.frames = s.older.Step(f, s.frames)
}

// framing cuts the answer's bytes into events.
type framing interface {
	feed(chunk []byte) error
	close() error // an event that was cut
}

type sse struct {
	*agui.SSEDecoder
	each func([]byte) error
}

func (f *sse) feed(chunk []byte) error { return f.Feed(chunk, f.each) }
func (f *sse) close() error            { return f.Close() }

type protobuf struct {
	*wire.Decoder
	each func(agui.Frame) error
}

func (f *protobuf) feed(chunk []byte) error { return f.Feed(chunk, f.each) }
func (f *protobuf) close() error            { return f.Close() }

// within reports whether part is a piece of whole: two slices of one array that
// reach to its end have their last byte in common.
func within(part, whole []byte) bool {
	a, b := part[:cap(part)], whole[:cap(whole)]
	return len(a) > 0 && len(b) > 0 && &a[len(a)-1] == &b[len(b)-1]
}

// grow doubles a buffer that a read has filled: a new one, so that the frames
// just handed out keep theirs.
func (s *stream) grow(n int) {
	if n == len(s.buf) && len(s.buf) < lastBuffer {
		s.buf = make([]byte, 2*len(s.buf))
	}
}

// over names the end of the stream.
func (s *stream) over(err error) error {
	if errors.Is(err, io.EOF) {
		if bad := s.events.close(); bad != nil {
			return bad
		}
		return io.EOF
	}
	var f *fault.Error
	if errors.As(context.Cause(s.ctx), &f) {
		return f
	}
	if s.ctx.Err() != nil {
		return fault.New(fault.UpstreamClosed, "the request to the agent was cancelled").Because(err)
	}
	return fault.New(fault.IncompleteStream, "the agent's stream was cut before its end").Because(err)
}

// Close lets the connection go. A stream that was not read to its end is cut, so
// that the backend stops working for nobody.
func (s *stream) Close() error {
	s.silence.stop()
	s.cancel(nil)
	return s.raw.Close()
}

// silence ends a request whose backend says nothing for too long: first_byte
// before the first event, idle after it. Hearing something only notes the time;
// the timer looks when it fires.
type silence struct {
	mu     sync.Mutex
	timer  *time.Timer
	limit  time.Duration
	idle   time.Duration
	last   time.Time
	cancel context.CancelCauseFunc
	first  bool
}

func newSilence(t upstream.Timeouts, cancel context.CancelCauseFunc) *silence {
	s := &silence{limit: t.FirstByte, idle: t.Idle, last: time.Now(), cancel: cancel, first: true}
	if s.limit > 0 {
		s.timer = time.AfterFunc(s.limit, s.fire)
	}
	return s
}

// heard notes that bytes came. Before the first event they do not count: a proxy
// that sends comments is not an agent that answers.
func (s *silence) heard() {
	s.mu.Lock()
	if !s.first {
		s.last = time.Now()
	}
	s.mu.Unlock()
}

// speaking notes the first event.
func (s *silence) speaking() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first, s.limit, s.last = false, s.idle, time.Now()
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.limit > 0 {
		s.timer = time.AfterFunc(s.limit, s.fire)
	}
}

func (s *silence) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit <= 0 {
		return
	}
	if left := s.limit - time.Since(s.last); left > 0 {
		s.timer.Reset(left)
		return
	}
	what := "the agent said nothing for %s"
	if s.first {
		what = "the agent did not begin to answer within %s"
	}
	s.cancel(fault.New(fault.UpstreamTimeout, what, s.limit))
}

func (s *silence) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = 0
	if s.timer != nil {
		s.timer.Stop()
	}
}
