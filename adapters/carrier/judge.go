package carrier

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/valyala/fasthttp"
)

// pending carries the verdict on a head from where the engine has only the
// header (before the body) to where it has the connection (after it). The engine
// clears the header when a body fails, so the verdict cannot live there. Every
// entry is taken: by handle, or by parseFailed, since conn.Read lets no request
// end silently.
type pending struct {
	mu    sync.Mutex
	heads map[*fasthttp.RequestHeader]*Request
}

func (p *pending) put(h *fasthttp.RequestHeader, r *Request) {
	p.mu.Lock()
	p.heads[h] = r
	p.mu.Unlock()
}

func (p *pending) take(h *fasthttp.RequestHeader) *Request {
	p.mu.Lock()
	r := p.heads[h]
	delete(p.heads, h)
	p.mu.Unlock()
	return r
}

// headerReceived runs between head and body. A refused request loses its body:
// the engine goes on as if there were none, handle answers at once, and the
// connection ends since what follows on it is not a request.
func (s *Server) headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	r := s.newRequest(h)
	if f := s.judgeSafely(r, h); f != nil {
		r.refusal = f
		if hasBody(h) || f == badFraming {
			r.unread = true
			h.SetContentLength(0)
			h.Del("Expect") // no 100 Continue for a body nobody wants
		}
	}
	s.pending.put(h, r)
	c := fasthttp.RequestConfig{MaxRequestBodySize: r.limit}
	if hasBody(h) {
		c.ReadTimeout = s.bodyTimeout
	}
	return c
}

// hasBody: -1 is chunked, -2 neither length nor coding.
func hasBody(h *fasthttp.RequestHeader) bool {
	n := h.ContentLength()
	return n > 0 || n == -1
}

// judgeSafely: the engine does not recover, so a panic of the authentication hook
// would end the process.
func (s *Server) judgeSafely(r *Request, h *fasthttp.RequestHeader) (f *fault.Error) {
	defer func() {
		if p := recover(); p != nil {
			f = s.panicked(r, p)
		}
	}()
	return s.judge(r, h)
}

// judge decides all that the head decides. The order is part of the contract:
// nobody learns of routes through a name or page that may not call, and a
// preflight needs no credential [CORS-1].
func (s *Server) judge(r *Request, h *fasthttp.RequestHeader) *fault.Error {
	if f := framing(h); f != nil {
		return f
	}
	path, host, f := target(h)
	if f != nil {
		return f
	}
	r.path = path
	sh, values, ok := s.routes.match(path)
	if sh != nil {
		r.route, r.values = sh.route(r.method), values
	}
	r.policy = s.policy.Load()
	if !r.policy.hostOK(host) {
		return fault.New(fault.Forbidden, "this gateway does not answer to that host name; add it to hosts").At("Host")
	}
	if f := s.judgeOrigin(r, h, host); f != nil {
		return f
	}
	if r.method == fasthttp.MethodOptions {
		r.options(h, sh, s.routes.verbs)
		return nil
	}
	switch {
	case !ok:
		return fault.New(fault.InvalidRequest, "the path is not valid percent-encoding")
	case sh == nil:
		return fault.New(fault.NotFound, "there is nothing at this path")
	case r.route == nil:
		r.allow = sh.allow
		return fault.New(fault.MethodNotAllowed, "this path takes %s", sh.allow)
	}
	if f := s.judgeCaller(r, h); f != nil {
		return f
	}
	return s.judgeBody(r, h)
}

// target gives path and authority. An absolute target names its own authority
// (RFC 9112 §3.2.2); one that differs from Host is refused, not interpreted.
func target(h *fasthttp.RequestHeader) (path, host string, f *fault.Error) {
	uri, host := string(h.RequestURI()), string(h.Host())
	uri, _, _ = strings.Cut(uri, "#")
	uri, _, _ = strings.Cut(uri, "?")
	if uri == "*" || strings.HasPrefix(uri, "/") {
		return uri, host, nil
	}
	_, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return "", "", badFraming
	}
	authority, path, _ := strings.Cut(rest, "/")
	if !strings.EqualFold(authority, host) {
		return "", "", badFraming
	}
	return "/" + path, host, nil
}

func (s *Server) judgeOrigin(r *Request, h *fasthttp.RequestHeader, host string) *fault.Error {
	origin := string(h.Peek("Origin"))
	switch r.policy.origin(origin, host) {
	case originListed:
		r.origin = origin
	case originRefused:
		if r.route == nil || !r.route.AnyOrigin {
			return fault.New(fault.OriginRefused, "pages of this origin may not call this gateway; add it to cors.origins").At("Origin")
		}
	}
	return nil
}

func (s *Server) judgeCaller(r *Request, h *fasthttp.RequestHeader) *fault.Error {
	if r.route.Public {
		return nil
	}
	if _, err := Credential(h); err != nil {
		return fault.From(err)
	}
	p, err := s.opt.Authenticate(h)
	if err != nil {
		var f *fault.Error
		if !errors.As(err, &f) { // not an outage, a caller nobody knows
			f = unknownCaller.Because(err)
		}
		return f
	}
	if !p.Known() {
		return unknownCaller
	}
	r.Principal = p
	if s.opt.Admit != nil {
		if err := s.opt.Admit(); err != nil {
			return fault.From(err)
		}
	}
	return nil
}

var unknownCaller = fault.New(fault.Unauthenticated, "send a valid credential as Authorization: Bearer, X-API-Key or xi-api-key")

func (s *Server) judgeBody(r *Request, h *fasthttp.RequestHeader) *fault.Error {
	switch {
	case !r.route.Body && !r.route.Raw:
		r.limit = ignoredBody
	case r.route.MaxBody > 0:
		r.limit = r.route.MaxBody
	default:
		r.limit = s.opt.MaxBody
	}
	if r.route.Body && !r.route.Raw && hasBody(h) && !isJSON(string(h.ContentType())) {
		return fault.New(fault.UnsupportedMediaType, "the body must be application/json").At("Content-Type")
	}
	if h.ContentLength() > r.limit {
		return tooLarge(r.limit)
	}
	return nil
}

// isJSON takes application/json, bare or with charset=utf-8 (quoted or not).
func isJSON(v string) bool {
	media, params, more := strings.Cut(v, ";")
	if !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		return false
	}
	if !more {
		return true
	}
	name, value, _ := strings.Cut(strings.TrimSpace(params), "=")
	return strings.EqualFold(name, "charset") && strings.EqualFold(strings.Trim(value, `"`), "utf-8")
}

func tooLarge(limit int) *fault.Error {
	return fault.New(fault.BodyTooLarge, "the body is larger than the limit of %d bytes", limit).
		With("limit", fmt.Appendf(nil, "%d", limit))
}

// requestID is the caller's, if it is a plain word, else made [DATA-3].
func requestID(v []byte) string {
	if n := len(v); 1 <= n && n <= 64 && plainWord(v) {
		return string(v)
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says crypto/rand
	return hex.EncodeToString(b[:])
}

func plainWord(v []byte) bool {
	for _, c := range v {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
