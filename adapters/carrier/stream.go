package carrier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/valyala/fasthttp"
)

// streamSendBuffer bounds what the kernel holds for a client that stopped
// reading: some 240 KB with it, nearly 4 MB without [OPS-5].
const streamSendBuffer = 64 << 10

// Stream is an open streamed answer. Its methods may be called by run's goroutine
// and others at the same time; none may be called after run has returned.
type Stream struct {
	r       *Request
	run     func(ctx context.Context, w *Stream) error
	timeout time.Duration

	begun   bool // run was called
	mu      sync.Mutex
	out     io.Writer // nil before and after
	err     error     // of the first failed write
	armed   time.Time // when the write deadline was set last
	last    time.Time // when something was written last
	sent    int
	every   time.Duration
	comment []byte
	timer   *time.Timer
}

// Stream makes the answer a stream: the headers of [RUN-1] leave at once, then
// run is called in the connection's own goroutine, after the handler has
// returned. Its context ends with cause ErrClientGone when the client leaves,
// noticed within microseconds even if nothing is written, or with the cause given
// to CloseStreams; run then writes its last frame, if it has one, and returns.
// When run returns nil the stream ends well; an error or a panic cuts it, so that
// the client sees it is not whole. run is called exactly once, so that it can give
// back what the handler took: if the headers could not be sent its context has
// ended already and every Write fails. Only HEAD gets the headers without it.
//
// HTTP/1.0 has no chunks: 400 invalid_request.
func (r *Request) Stream(contentType string, run func(ctx context.Context, w *Stream) error) error {
	if err := r.Streamable(); err != nil {
		return err
	}
	r.dropBody()
	resp := &r.ctx.Response
	resp.SetStatusCode(fasthttp.StatusOK)
	resp.Header.SetContentType(contentType)
	resp.Header.Set("Cache-Control", "no-cache, no-transform")
	resp.Header.Set("X-Accel-Buffering", "no")
	resp.ImmediateHeaderFlush = true
	r.stream = &Stream{r: r, run: run, timeout: r.s.opt.WriteTimeout}
	r.stream.arm(time.Now())
	resp.SetBodyStream(streamBody{r.stream}, -1)
	return nil
}

// Streamable is the fault Stream would give for this request, nil if none: for
// handlers that change something before they answer [ERR-1].
func (r *Request) Streamable() error {
	if !r.ctx.Request.Header.IsHTTP11() {
		return fault.New(fault.InvalidRequest, "streams need HTTP/1.1")
	}
	return nil
}

// Write sends p as one chunk, in one system call if it fits the write buffer. p
// should be one whole frame: keepalives go between writes. It fails when the
// client is gone, or has not taken the bytes within Options.WriteTimeout; then
// every later Write fails too and run's context ends.
func (w *Stream) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(p)
}

func (w *Stream) write(p []byte) (int, error) {
	switch {
	case w.err != nil:
		return 0, w.err
	case w.out == nil:
		return 0, errStreamEnded
	case len(p) == 0:
		return 0, nil // an empty chunk would end the body
	}
	now := time.Now()
	w.arm(now)
	n, err := w.out.Write(p)
	if err != nil {
		w.err = fmt.Errorf("%w: %w", ErrClientGone, err)
		w.r.hold.cancel(w.err)
		return n, w.err
	}
	w.sent += n
	w.last = now
	return n, nil
}

var errStreamEnded = errors.New("carrier: the stream has ended")

// arm gives the client between 3/4 and all of the timeout to take what follows.
// Setting the deadline for each of thousands of frames a second would cost more
// than the frames.
func (w *Stream) arm(now time.Time) {
	if now.Sub(w.armed) < w.timeout/4 {
		return
	}
	w.armed = now
	_ = w.r.ctx.SetWriteDeadline(now.Add(w.timeout))
}

// Cut ends a write that waits for a client which does not read, from any goroutine.
func (w *Stream) Cut() { _ = w.r.ctx.SetWriteDeadline(time.Now()) }

// KeepAlive writes comment whenever nothing was written for the given time
// [RUN-9], from now on and until called again; 0 = off. comment must be a whole
// frame, blank line included. One timer, no goroutine.
func (w *Stream) KeepAlive(every time.Duration, comment []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(comment) == 0 {
		every = 0
	}
	w.every, w.comment = every, append([]byte(nil), comment...)
	switch {
	case w.out == nil:
	case every <= 0 && w.timer != nil:
		w.timer.Stop()
	case every <= 0:
	case w.timer == nil:
		w.timer = time.AfterFunc(w.silence(), w.tick)
	default:
		w.timer.Reset(w.silence())
	}
}

// silence is how long nothing need be said yet.
func (w *Stream) silence() time.Duration { return max(0, w.every-time.Since(w.last)) }

// tick runs in the timer's goroutine. Writes do not touch the timer, it looks
// when it fires: cheaper for busy streams.
func (w *Stream) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out == nil || w.err != nil || w.every <= 0 {
		return
	}
	if w.silence() == 0 {
		if _, err := w.write(w.comment); err != nil {
			return
		}
	}
	w.timer.Reset(w.silence())
}

// open and end bracket run. After end no timer writes any more: it would meet the
// connection's next answer.
func (w *Stream) open(out io.Writer) {
	w.mu.Lock()
	w.out, w.last = out, time.Now()
	w.mu.Unlock()
}

func (w *Stream) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = nil
	if w.timer != nil {
		w.timer.Stop()
	}
	w.armed = time.Time{}
	w.arm(time.Now()) // run may have been silent for long; the last chunk still has to leave
}

// serve is the life of a stream. Its error, if any, cuts the connection.
func (w *Stream) serve(out io.Writer) (err error) {
	w.begun = true
	ctx := w.r.hold.open(w.r)
	boundSendBuffer(w.r.ctx.Conn())
	w.open(out)
	defer func() {
		if p := recover(); p != nil {
			err = w.r.s.panicked(w.r, p)
		}
		w.end()
		if w.err != nil {
			err = w.err
		}
	}()
	return w.run(ctx, w)
}

// abandon is run for a stream that never began.
func (w *Stream) abandon() {
	w.begun = true
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrClientGone)
	defer func() {
		if p := recover(); p != nil {
			_ = w.r.s.panicked(w.r, p)
		}
	}()
	_ = w.run(ctx, w)
}

func boundSendBuffer(c net.Conn) {
	for {
		if t, ok := c.(interface{ SetWriteBuffer(int) error }); ok {
			_ = t.SetWriteBuffer(streamSendBuffer)
			return
		}
		n, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return
		}
		c = n.NetConn()
	}
}

// streamBody is a Stream as the engine wants it: WriteTo gets the socket's chunk
// writer, Close comes in every case, also when the headers could not be sent.
type streamBody struct{ w *Stream }

func (b streamBody) Read([]byte) (int, error)  { return 0, io.EOF }
func (b streamBody) SupportsBodyWriteTo() bool { return true }

func (b streamBody) WriteTo(out io.Writer) (int64, error) {
	err := b.w.serve(out)
	if err != nil {
		b.w.r.s.opt.Log.Debug("stream cut", "request_id", b.w.r.ID, "route", b.w.r.Route(), "cause", err)
	}
	return int64(b.w.sent), err
}

func (b streamBody) Close() error {
	if !b.w.begun && b.w.r.method != fasthttp.MethodHead {
		b.w.abandon()
	}
	b.w.r.hold.close()
	if b.w.r.stream == b.w { // not one that was dropped for a refusal
		b.w.r.s.logRequest(b.w.r, fasthttp.StatusOK, b.w.sent)
	}
	return nil
}
