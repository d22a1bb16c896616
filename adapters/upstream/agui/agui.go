// Package agui is the upstream for AG-UI servers over HTTP and SSE: LangGraph,
// Mastra, Pydantic AI, CopilotKit's BuiltInAgent and whatever else answers a
// RunAgentInput with an event stream. Protocol: https://docs.ag-ui.com.
package agui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/agui/profile"
	"github.com/aguigate/aguigate/protocol/agui/wire"
	"github.com/aguigate/aguigate/protocol/fault"
)

// Upstream is one AG-UI server.
type Upstream struct {
	opts   upstream.Options
	client *http.Client
	speaks atomic.Bool // it has shown that it speaks 1.0 [UP-4]
}

var (
	_ upstream.Upstream = (*Upstream)(nil)
	_ upstream.Prober   = (*Upstream)(nil)
)

// Sizes of one connection to a backend.
const (
	readBuffer  = 8 << 10
	idleConns   = 256
	idleTimeout = 90 * time.Second
)

// New is the factory of kind agui. It dials nobody.
func New(o upstream.Options) (upstream.Upstream, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	dialer := &net.Dialer{Timeout: o.Timeouts.Connect, KeepAlive: 30 * time.Second}
	u := &Upstream{opts: o, client: &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dialer.DialContext,
			TLSHandshakeTimeout:   o.Timeouts.Connect,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   idleConns,
			IdleConnTimeout:       idleTimeout,
			ReadBufferSize:        readBuffer,
			DisableCompression:    true, // identity is asked for; see decoded
			ExpectContinueTimeout: time.Second,
		},
		// A redirect is a URL nobody configured [SEC-4].
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	u.speaks.Store(o.Protocol == agui.ProtocolVersion)
	return u, nil
}

// Run posts the input and waits for the head of the answer.
func (u *Upstream) Run(ctx context.Context, req *upstream.RunRequest) (upstream.Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := newSilence(u.opts.Timeouts, cancel)
	res, err := u.post(ctx, req)
	if err != nil {
		err = u.failed(ctx, err) // before the cause is ours
		watch.stop()
		cancel(nil)
		return nil, err
	}
	body, err := u.events(res)
	if err != nil {
		watch.stop()
		_ = res.Body.Close()
		cancel(nil)
		return nil, err
	}
	s := &stream{
		up: u, ctx: ctx, cancel: cancel, raw: res.Body, body: body, silence: watch, began: time.Now(),
		read: req.Read, older: u.speaking().NewFromUpstream(req.Input.RunID), buf: make([]byte, firstBuffer),
	}
	if packed(res) {
		s.events = &protobuf{wire.NewDecoder(u.opts.EventLimit), s.give}
	} else {
		s.events = &sse{agui.NewSSEDecoder(u.opts.EventLimit), s.take}
	}
	return s, nil
}

func (u *Upstream) post(ctx context.Context, req *upstream.RunRequest) (*http.Response, error) {
	in, left := u.speaking().Input(req.Input)
	if len(left) > 0 {
		u.opts.Log.Debug("the agent cannot be told all of a request", "agent", u.opts.Agent, "request_id", req.RequestID, "left_out", left)
	}
	body := in.Append(nil)
	var refused atomic.Pointer[error]
	ctx, stop := context.WithCancel(ctx)
	if req.Sent != nil {
		told := false
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
			if told {
				return
			}
			told = true
			if err := req.Sent(ctx); err != nil {
				refused.Store(&err)
				stop()
			}
		}})
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.opts.URL, bytes.NewReader(body))
	if err != nil {
		stop()
		return nil, err
	}
	u.head(r.Header, req)
	switch {
	case u.opts.Idempotent && r.Header.Get("Idempotency-Key") == "":
		r.Header["Idempotency-Key"] = []string{} // leave to send again, not sent itself (net/http)
	case !u.opts.Idempotent && (r.Header.Get("Idempotency-Key") != "" || r.Header.Get("X-Idempotency-Key") != ""):
		// The transport takes these headers for leave to send a body twice [UP-3].
		r.GetBody = nil
	}
	res, err := u.client.Do(r) //nolint:bodyclose // the stream closes it
	if why := refused.Load(); why != nil {
		if res != nil {
			_ = res.Body.Close()
		}
		stop()
		return nil, *why
	}
	if err != nil {
		stop()
		return nil, err
	}
	context.AfterFunc(ctx, stop) // with the stream's own context, once that ends
	return res, nil
}

// head writes the request's headers: what the client may pass on, then the
// configured ones, which win [UP-2].
func (u *Upstream) head(h http.Header, req *upstream.RunRequest) {
	for _, x := range req.Headers {
		h.Set(x.Name, x.Value)
	}
	for _, x := range u.opts.Headers {
		h.Set(x.Name, x.Value)
	}
	if req.RequestID != "" {
		h.Set("X-Request-Id", req.RequestID)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	if u.opts.Encoding == "protobuf" {
		h.Set("Accept", wire.MediaType+", text/event-stream;q=0.5")
	}
	h.Set("Accept-Encoding", "identity")
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "aguigate")
	}
}

// speaking is the version this server speaks. With protocol auto that is 0.0 until a
// RUN_STARTED of it has carried a protocolVersion [UP-4].
func (u *Upstream) speaking() *profile.Profile {
	version := "0.0.59"
	if u.speaks.Load() {
		version = agui.ProtocolVersion
	}
	p, _ := profile.Of(version)
	return p
}

// learn notes that the server speaks 1.0.
func (u *Upstream) learn(started agui.Frame) {
	if u.opts.Protocol == "auto" && !u.speaks.Load() && started.Text("protocolVersion") != "" {
		u.speaks.Store(true)
	}
}

// failed turns the error of a request into an in-band fault.
func (u *Upstream) failed(ctx context.Context, err error) error {
	var f *fault.Error
	if errors.As(context.Cause(ctx), &f) || errors.As(err, &f) {
		return f
	}
	if ctx.Err() != nil {
		return fault.New(fault.UpstreamClosed, "the request to the agent was cancelled").Because(err)
	}
	err = unnamed(err)
	var op *net.OpError
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op) && op.Op == "read" {
		return fault.New(fault.UpstreamClosed, "the agent closed the connection before it answered").Because(err)
	}
	return fault.New(fault.UpstreamUnreachable, "the agent could not be reached").Because(err)
}

// unnamed takes out of a request's error what must not reach a log: the URL, whose
// query may hold a secret, and pieces of an answer that is no HTTP [DATA-3].
func unnamed(err error) error {
	var named *url.Error
	if errors.As(err, &named) {
		err = named.Err
	}
	if strings.Contains(err.Error(), "malformed") {
		return errors.New("the answer is no HTTP")
	}
	return err
}

// Probe asks the server for anything: any HTTP answer shows that it is there.
func (u *Upstream) Probe(ctx context.Context) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.opts.URL, nil)
	if err != nil {
		return "", err
	}
	u.head(r.Header, &upstream.RunRequest{})
	res, err := u.client.Do(r)
	if err != nil {
		return "", u.failed(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	return fmt.Sprintf("answered GET with %d %s", res.StatusCode, kind), nil
}
