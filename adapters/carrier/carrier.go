// Package carrier is the HTTP side every HTTP frontend shares: server, routing,
// request ids, authentication, Host and Origin policy, bodies, refusals, streams
// and shutdown. It knows no dialect.
//
// One request passes, in this order: framing, request id, Host, Origin, preflight,
// route, authentication, admission, content type and size, body, handler. All but
// the last two are decided from the head alone, so a refusal never waits for a
// body (field case F070).
package carrier

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/valyala/fasthttp"
)

// The causes of a cancelled request or stream context, see context.Cause.
var (
	// ErrClientGone: the client closed, or no longer takes what it is sent.
	ErrClientGone = errors.New("carrier: the client is gone")
	// ErrShutdown: Shutdown ran out of time and cut what was left.
	ErrShutdown = errors.New("carrier: the server is shutting down")
)

const (
	headTimeout = 10 * time.Second // first byte to the end of the head: bounds a dripping client
	bodyTimeout = 30 * time.Second // end of the head to the end of the body
	idleTimeout = 75 * time.Second // between requests of a connection
	sendTimeout = 30 * time.Second // default of Options.WriteTimeout

	// headLimit bounds request line plus header fields; longer is 431.
	headLimit = 16 << 10
	// writeBuffer holds one chunk with its framing. 4 KiB is one page: events up to
	// some 4,080 bytes leave in one system call, larger ones take two or three, and
	// a thousand silent streams cost 4 MB.
	writeBuffer = 4 << 10
	// ignoredBody bounds a body on a route that expects none.
	ignoredBody = 64 << 10
)

// Options configure a Server. The zero value serves everybody who comes by a
// name of any kind, and refuses every foreign Origin.
type Options struct {
	MaxBody int // bytes; 0 = 8 MiB. A route may have its own limit.
	Policy  Policy
	// Authenticate says who sent this head; nil = principal.Anonymous. An error
	// that is no fault becomes 401 unauthenticated with the error as its cause. The
	// header must neither be kept nor changed. See Credential.
	Authenticate func(h *fasthttp.RequestHeader) (principal.Principal, error)
	// Admit may refuse a known caller's request before its body is read, for
	// instance while draining. Public routes are not asked for.
	Admit func() error
	Log   *slog.Logger // nil = no log. Ids, names, sizes and times only [DATA-3]
	// Rejected is told every refusal; route is the pattern, "" if none matched.
	Rejected     func(code fault.Code, route string)
	Now          func() time.Time // for log durations; nil = time.Now
	WriteTimeout time.Duration    // a client must take one frame, or one answer, within it; 0 = 30 s
}

// Handler answers one request by calling JSON, Send, NoContent, Stream or Upgrade,
// or by returning an error, which becomes its fault's body (fault.From).
type Handler func(r *Request) error

// Route is one pattern and its handler.
type Route struct {
	Method string
	// Path is made of literal segments and {parameters}: "/agents/{agent}/run". A
	// parameter takes exactly one segment, percent-decoded once; it may be empty
	// and may hold an encoded slash.
	Path   string
	Handle Handler
	Public bool // no authentication, no admission: the contract for machines, the page script
	Body   bool // takes an application/json body; without it a body is read and ignored up to 64 KiB
	// Raw takes a body of any media type instead (uploads, forms).
	Raw     bool
	MaxBody int // bytes; 0 = Options.MaxBody (F087: a limit per route)
	// AnyOrigin leaves the Origin unchecked: pages that carry their own token. A
	// no-referrer page posts its form with "Origin: null" [LINK-1].
	AnyOrigin bool
	// Refuse writes the refusals of this route in a vendor's published form (§7.3 to
	// §7.5); nil = fault.Error.Body. The body must be JSON.
	Refuse func(f *fault.Error, requestID string) (status int, body []byte)
}

// Server serves the routes it was made with.
type Server struct {
	opt    Options
	policy atomic.Pointer[policy]
	routes routes
	fh     *fasthttp.Server
	watch  *watcher
	live   live
	conns  conns

	bodyTimeout time.Duration

	pending pending

	mu       sync.Mutex
	stopping bool
	lns      []net.Listener
	serving  sync.WaitGroup // one per running Serve
	sockets  atomic.Int64   // running functions of Upgrade
}

// New makes a server; Shutdown gives back what it holds, also if it never served.
// It fails on duplicate or ambiguous patterns, on a policy that would allow every
// origin with credentials [CORS-1], and when the system gives no watcher.
func New(o Options, list []Route) (*Server, error) {
	rt, err := newRoutes(list)
	if err != nil {
		return nil, err
	}
	p, err := newPolicy(o.Policy)
	if err != nil {
		return nil, err
	}
	w, err := newWatcher()
	if err != nil {
		return nil, err
	}
	s := &Server{opt: withDefaults(o), routes: rt, watch: w, bodyTimeout: bodyTimeout}
	s.policy.Store(p)
	s.pending.heads = map[*fasthttp.RequestHeader]*Request{}
	s.fh = s.engine()
	return s, nil
}

func withDefaults(o Options) Options {
	if o.MaxBody <= 0 {
		o.MaxBody = 8 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = sendTimeout
	}
	if o.Authenticate == nil {
		o.Authenticate = func(*fasthttp.RequestHeader) (principal.Principal, error) { return principal.Anonymous, nil }
	}
	return o
}

func (s *Server) engine() *fasthttp.Server {
	return &fasthttp.Server{
		Handler:        s.handle,
		HeaderReceived: s.headerReceived,
		ErrorHandler:   s.parseFailed,
		ConnState:      connState,
		Logger:         engineLog{s.opt.Log},

		ReadTimeout:     headTimeout,
		IdleTimeout:     idleTimeout,
		WriteTimeout:    s.opt.WriteTimeout,
		ReadBufferSize:  headLimit,
		WriteBufferSize: writeBuffer,
		// The read buffer goes back to the pool while a stream runs, and all buffers
		// while a connection idles.
		ReduceMemoryUsage:  true,
		MaxRequestBodySize: s.opt.MaxBody,
		CloseOnShutdown:    true,
		// A burst of streams leaves its goroutines for no longer than this.
		MaxIdleWorkerDuration: time.Second,
		KeepHijackedConns:     true, // otherwise Close from another goroutine does nothing

		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true, // it would read a form without a limit
		SecureErrorLogMessage:        true, // error texts would hold request bytes
	}
}

// Serve accepts from ln until Shutdown, then returns nil. TLS comes in through
// tls.NewListener. After Shutdown it closes ln and returns at once.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return ln.Close()
	}
	s.lns = append(s.lns, ln)
	s.serving.Add(1)
	s.mu.Unlock()
	defer s.serving.Done()
	return s.fh.Serve(&listener{Listener: ln, s: s})
}

// CloseStreams cancels every stream and every context of Request.Context with
// the given cause, now and from now on. What a stream still says is up to its run
// function: whoever drains decides when, and with which last frame [OPS-3].
func (s *Server) CloseStreams(cause error) { s.live.close(cause) }

// Shutdown stops accepting, closes idle connections and waits for requests,
// streams and sockets to end. When ctx ends first it cuts what is left (cause
// ErrShutdown) and returns ctx's error. A second call returns nil.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	again := s.stopping
	s.stopping = true
	for _, ln := range s.lns {
		_ = ln.Close() // also reaches a Serve that has not come to its Accept yet
	}
	s.mu.Unlock()
	if again {
		return nil
	}
	err := s.fh.ShutdownWithContext(ctx)
	if errors.Is(err, net.ErrClosed) {
		err = nil // we closed the listener ourselves
	}
	if err == nil {
		err = s.waitClosed(ctx) // the engine does not wait for upgraded connections
	}
	if err != nil {
		s.cut()
	}
	s.serving.Wait()
	s.watch.close()
	return err
}

const closedPoll = 5 * time.Millisecond

func (s *Server) closed() bool {
	return s.conns.len() == 0 && s.sockets.Load() == 0
}

func (s *Server) waitClosed(ctx context.Context) error {
	for !s.closed() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(closedPoll):
		}
	}
	return nil
}

// cut ends what did not end by itself, and gives it a second to notice.
func (s *Server) cut() {
	s.live.close(ErrShutdown)
	s.conns.closeAll()
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_ = s.waitClosed(ctx)
}

// SetPolicy replaces the policy for requests to come, on a reload [CLI-4].
func (s *Server) SetPolicy(p Policy) error {
	q, err := newPolicy(p)
	if err != nil {
		return err
	}
	s.policy.Store(q)
	return nil
}

// Routes lists the routes in the order they were given.
func (s *Server) Routes() []Route { return append([]Route(nil), s.routes.list...) }
