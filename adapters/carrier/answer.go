package carrier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/valyala/fasthttp"
)

// handle runs once the body has been read, or will not be.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	r := s.pending.take(&ctx.Request.Header)
	r.ctx = ctx
	defer s.lastResort(r)
	r.head()
	switch {
	case r.refusal != nil:
		r.refuse(r.refusal, r.refusal.Code.Status())
		if r.unread {
			r.hangUp()
		}
	case r.preflight:
		r.answerOptions()
	default:
		if f := s.run(r); f != nil {
			r.restart()
			r.refuse(f, f.Code.Status())
		}
	}
	switch {
	case r.stream != nil:
		return // its Close does what follows
	case r.upgrade != nil:
		r.hijack()
	}
	r.hold.close()
	s.logRequest(r, ctx.Response.StatusCode(), len(ctx.Response.Body()))
}

// lastResort recovers what run does not cover: the hooks and a route's Refuse.
func (s *Server) lastResort(r *Request) {
	p := recover()
	if p == nil {
		return
	}
	f := s.panicked(r, p)
	r.restart()
	r.hold.close()
	r.ctx.Response.Header.Set("X-Aguigate-Code", string(f.Code))
	_ = r.JSON(f.Code.Status(), f.Body(r.ID))
	defer func() { _ = recover() }() // it may have been Rejected that panicked
	s.logRefusal(r, f, f.Code.Status())
}

// restart forgets what the answer was going to be.
func (r *Request) restart() {
	r.stream, r.upgrade = nil, nil
	r.ctx.Response.Reset() // also closes the body of a stream that will not run
	r.ctx.Response.Header.SetNoDefaultContentType(true)
	r.head()
}

// run calls the handler. A panic costs this request and no more.
func (s *Server) run(r *Request) (f *fault.Error) {
	defer func() {
		if p := recover(); p != nil {
			f = s.panicked(r, p)
		}
	}()
	if err := r.route.Handle(r); err != nil {
		return fault.From(err)
	}
	return nil
}

func (s *Server) panicked(r *Request, p any) *fault.Error {
	s.opt.Log.Error("handler panicked", "request_id", r.ID, "route", r.Route(), "panic", p, "stack", string(debug.Stack()))
	return fault.From(fmt.Errorf("panic: %v", p))
}

// head sets what every answer carries.
func (r *Request) head() {
	h := &r.ctx.Response.Header
	h.Set("X-Request-Id", r.ID)
	r.corsHeaders(h)
}

// refuse writes a fault as §3 says, or as the route's vendor does. status is the
// code's own, except for what only the parser can say (408, 431).
func (r *Request) refuse(f *fault.Error, status int) {
	body := []byte(nil)
	if r.route != nil && r.route.Refuse != nil {
		status, body = r.route.Refuse(f, r.ID)
	} else {
		body = f.Body(r.ID)
	}
	h := &r.ctx.Response.Header
	h.Set("X-Aguigate-Code", string(f.Code))
	if v := f.RetryAfterSeconds(); v != "" {
		h.Set("Retry-After", v)
	}
	if status == fasthttp.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if r.allow != "" {
		h.Set("Allow", r.allow)
	}
	_ = r.JSON(status, body)
	r.s.logRefusal(r, f, status)
}

// hangUp ends the connection after this answer without losing the answer: the
// client may still be sending, and a plain close would reset it (F087).
func (r *Request) hangUp() {
	r.ctx.Response.SetConnectionClose()
	if c, ok := r.ctx.Conn().(lingerer); ok {
		c.lingerOnClose()
	}
}

// parseFailed answers when head or body could not be read.
func (s *Server) parseFailed(ctx *fasthttp.RequestCtx, err error) {
	r := s.pending.take(&ctx.Request.Header)
	if r == nil { // the head itself failed: no id, no origin to go by
		r = &Request{s: s, ID: requestID(nil), started: s.opt.Now()}
	}
	r.ctx = ctx
	defer s.lastResort(r)
	broken := err
	if c := unwrap(ctx.Conn()); c != nil && c.last != nil {
		broken = c.last // the engine's chunk errors hide what they were caused by
	}
	f, status := parseFault(err, broken, r.limit)
	r.restart()
	r.refuse(f.Because(quiet(err)), status)
	if status != fasthttp.StatusRequestTimeout && !errors.Is(broken, io.ErrUnexpectedEOF) {
		r.hangUp() // it may still be sending
	}
	s.logRequest(r, status, len(ctx.Response.Body()))
}

// parseFault turns the engine's error, and the socket's if that broke, into ours.
func parseFault(err, broken error, limit int) (*fault.Error, int) {
	var small *fasthttp.ErrSmallBuffer
	var ne net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return tooLarge(limit), fasthttp.StatusRequestEntityTooLarge
	case errors.As(err, &small):
		return fault.New(fault.InvalidRequest, "request line and headers are larger than the limit of %d bytes", headLimit),
			fasthttp.StatusRequestHeaderFieldsTooLarge
	case errors.As(broken, &ne) && ne.Timeout():
		return fault.New(fault.InvalidRequest, "the request did not arrive in time"), fasthttp.StatusRequestTimeout
	}
	return fault.New(fault.InvalidRequest, "the request is not valid HTTP/1.1"), fasthttp.StatusBadRequest
}

// quiet keeps the kind of a parser error and drops its text, which may quote the
// request.
func quiet(err error) error { return fmt.Errorf("%T", err) }

func (s *Server) logRefusal(r *Request, f *fault.Error, status int) {
	if s.opt.Rejected != nil {
		s.opt.Rejected(f.Code, r.Route())
	}
	level := slog.LevelInfo
	if f.Code == fault.Internal {
		level = slog.LevelError
	}
	attrs := []slog.Attr{slog.String("request_id", r.ID), slog.String("route", r.Route()),
		slog.String("code", string(f.Code)), slog.Int("status", status), slog.String("key", r.Principal.Key)}
	if f.Cause != nil {
		attrs = append(attrs, slog.String("cause", f.Cause.Error()))
	}
	s.opt.Log.LogAttrs(context.Background(), level, "refused", attrs...)
}

// logRequest is one line a request: ids, names, sizes, times. The pattern stands
// for the path, which may hold a token [SEC-5].
func (s *Server) logRequest(r *Request, status, size int) {
	if !s.opt.Log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	s.opt.Log.LogAttrs(context.Background(), slog.LevelDebug, "request", slog.String("request_id", r.ID),
		slog.String("method", r.method), slog.String("route", r.Route()), slog.Int("status", status),
		slog.Int("bytes", size), slog.Duration("took", s.opt.Now().Sub(r.started)),
		slog.String("tenant", r.Principal.Tenant), slog.String("key", r.Principal.Key))
}

// engineLog takes the engine's own messages, at debug: they tell of clients that
// left, and name addresses.
type engineLog struct{ log *slog.Logger }

func (l engineLog) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("http engine", "note", fmt.Sprintf(format, args...))
	}
}
