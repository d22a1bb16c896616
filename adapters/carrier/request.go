package carrier

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/valyala/fasthttp"
)

// Request is one request on its way through a handler. It belongs to one
// goroutine, the connection's. Inside a stream's run function Header, Query and
// SetHeader must not be used: take what is needed before Stream (F110).
type Request struct {
	Principal principal.Principal // zero on public routes
	ID        string              // X-Request-Id, taken or made [DATA-3]

	s      *Server
	ctx    *fasthttp.RequestCtx // set once the body has been read
	method string
	path   string // raw, without query
	route  *bound
	values []string // of the parameters, decoded
	limit  int      // bytes the body may have

	policy  *policy      // as it was when the head came
	refusal *fault.Error // from the head
	unread  bool         // the body stays on the wire
	origin  string       // to echo; "" when no permission is given
	allow   string

	preflight    bool
	asked        bool
	askedHeaders string

	body    []byte
	taken   bool
	started time.Time
	stream  *Stream
	upgrade func(net.Conn)
	hold    hold
}

func (s *Server) newRequest(h *fasthttp.RequestHeader) *Request {
	return &Request{
		s: s, ID: requestID(h.Peek("X-Request-Id")), method: string(h.Method()),
		limit: ignoredBody, started: s.opt.Now(),
	}
}

// Method is the request's method; HEAD stays HEAD on a GET route.
func (r *Request) Method() string { return r.method }

// Path is the raw path, neither decoded nor with a query. Log Route instead: a
// path may hold a token.
func (r *Request) Path() string { return r.path }

// Route is the pattern that matched, "" if none did.
func (r *Request) Route() string {
	if r.route == nil {
		return ""
	}
	return r.route.Path
}

// Param is the value of {name}, percent-decoded once; "" if the pattern has none.
func (r *Request) Param(name string) string {
	if i := slices.Index(r.route.names, name); i >= 0 {
		return r.values[i]
	}
	return ""
}

// Query is the first value of a query parameter, decoded; "" when missing.
func (r *Request) Query(name string) string { return string(r.ctx.QueryArgs().Peek(name)) }

// Header is the first value of a header field, a copy; "" when missing. Trailer
// fields of a chunked body are never seen here.
func (r *Request) Header(name string) string {
	v := r.ctx.Request.Header.Peek(name)
	if len(v) == 0 || len(r.ctx.Request.Header.PeekTrailerKeys()) > 0 && !inHead(r.ctx.Request.Header.RawHeaders(), name) {
		return ""
	}
	return string(v)
}

// RemoteAddr is the address of the peer: the client, or the proxy before us.
func (r *Request) RemoteAddr() net.Addr { return r.ctx.RemoteAddr() }

// Body is the whole request body. It is the handler's own: no buffer of the server
// is behind it, it stays valid as long as somebody holds it and is never reused.
// Once a stream runs the Request itself lets go of it, and Body is nil.
func (r *Request) Body() []byte {
	if !r.taken {
		r.taken = true
		r.body = r.ctx.Request.SwapBody(nil)
	}
	return r.body
}

func (r *Request) dropBody() {
	r.Body()
	r.body = nil
}

// SetHeader sets a header of the answer. CR, LF or NUL in it is a fault and
// nothing is set [SEC-5].
func (r *Request) SetHeader(name, value string) error {
	if !isToken(name) || strings.ContainsAny(value, "\r\n\x00") {
		return fault.New(fault.InvalidRequest, "the value may not hold line ends or NUL").At(name)
	}
	h := &r.ctx.Response.Header
	if strings.EqualFold(name, "Vary") {
		value = string(h.Peek("Vary")) + ", " + value
	}
	h.Set(name, value)
	r.expose(h, name)
	return nil
}

func (r *Request) expose(h *fasthttp.ResponseHeader, name string) {
	const ours = "x-aguigate-"
	if r.origin == "" || len(name) < len(ours) || !strings.EqualFold(name[:len(ours)], ours) {
		return
	}
	list := string(h.Peek("Access-Control-Expose-Headers"))
	for have := range strings.SplitSeq(list, ", ") {
		if strings.EqualFold(have, name) {
			return
		}
	}
	h.Set("Access-Control-Expose-Headers", list+", "+name)
}

// JSON answers with a JSON body. The bytes must not change afterwards.
func (r *Request) JSON(status int, body []byte) error {
	return r.Send(status, "application/json", body)
}

// Send answers with a body of any type. The bytes must not change afterwards.
func (r *Request) Send(status int, contentType string, body []byte) error {
	r.ctx.Response.SetStatusCode(status)
	r.ctx.Response.Header.SetContentType(contentType)
	r.ctx.Response.SetBodyRaw(body)
	return nil
}

// NoContent answers 204.
func (r *Request) NoContent() { r.ctx.Response.SetStatusCode(fasthttp.StatusNoContent) }

// Context is for handlers that wait or call elsewhere. It ends after limit (0 =
// none), when the client leaves (cause ErrClientGone) or by CloseStreams, and in
// any case with the request. The function returned releases it early.
func (r *Request) Context(limit time.Duration) (context.Context, func()) {
	ctx := r.hold.open(r)
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// inHead reports whether a field of this name stands in the head as received.
func inHead(raw []byte, name string) bool {
	for line := range strings.SplitSeq(string(raw), "\r\n") {
		have, _, _ := strings.Cut(line, ":")
		if strings.EqualFold(have, name) {
			return true
		}
	}
	return false
}
