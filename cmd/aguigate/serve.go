package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	aguifront "github.com/aguigate/aguigate/adapters/frontend/agui"
	"github.com/aguigate/aguigate/adapters/frontend/api"
	"github.com/aguigate/aguigate/adapters/upstream"
	aguiup "github.com/aguigate/aguigate/adapters/upstream/agui"
	"github.com/aguigate/aguigate/adapters/upstream/demo"
	"github.com/aguigate/aguigate/gateway"
	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
)

// upstreams are the kinds of backend built in. A new one is a line here.
var upstreams = map[string]upstream.Factory{
	"agui": aguiup.New,
	"demo": demo.New,
}

// frontends are the client dialects built in. A new one is a line here.
func frontends(g *gateway.Gateway) []frontend.Frontend {
	return []frontend.Frontend{aguifront.New(g), api.New(g)}
}

// cutTime is how long answers that are not runs may still take after the drain.
const cutTime = 5 * time.Second

// instance is one running gateway: what serve starts and stops.
type instance struct {
	log     *slog.Logger
	store   *store.Store
	gateway *gateway.Gateway
	server  *carrier.Server
	admin   *http.Server
	drain   time.Duration
	failed  chan error
}

// serve runs until a signal. The first SIGTERM or SIGINT drains, a second one
// stops at once [CLI-4].
func serve(c *config.Config, log *slog.Logger, out io.Writer) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	// A terminal that closes, or an operator who expects a reload, must not end the
	// gateway; the reload itself is not built yet [CLI-4].
	signal.Ignore(syscall.SIGHUP)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begun := make(chan struct{})
	go func() { // a signal while the store opens ends the wait
		select {
		case s := <-signals:
			cancel()
			signals <- s
		case <-begun:
		}
	}()
	in, err := start(ctx, c, log, out)
	close(begun)
	if err != nil {
		return err
	}
	select {
	case s := <-signals:
		log.Info("draining", "signal", s.String(), "drain", in.drain)
	case err = <-in.failed:
		log.Error("a listener failed; draining", "error", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- in.stop() }()
	select {
	case stopErr := <-stopped:
		return errors.Join(err, stopErr)
	case <-signals:
		return errors.New("stopped at once by a second signal")
	}
}

// start opens the store, then the listeners, then says that it is ready [CLI-2].
func start(ctx context.Context, c *config.Config, log *slog.Logger, out io.Writer) (_ *instance, err error) {
	in := &instance{log: log, drain: c.Drain, failed: make(chan error, 2)}
	defer func() {
		if err != nil {
			in.closeStore()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	log.Info("opening the store; 30 s at most", "embedded", c.Store.NATS == store.Embedded)
	if in.store, err = store.Open(ctx, storeOptions(c.Store, log)); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if in.gateway, err = gateway.New(gateway.Options{Config: c, Store: in.store, Upstreams: upstreams, Log: log}); err != nil {
		return nil, err
	}
	if err = in.gateway.CountOpen(ctx); err != nil {
		return nil, err
	}
	if err = in.gateway.Start(ctx); err != nil {
		return nil, err
	}
	if in.server, err = carrier.New(in.carrierOptions(c), routes(in.gateway)); err != nil {
		return nil, err
	}
	public, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	private, err := net.Listen("tcp", c.Admin.Listen)
	if err != nil {
		_ = public.Close()
		return nil, err
	}
	in.admin = &http.Server{Handler: in.gateway.AdminHandler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { in.report(in.server.Serve(public)) }()
	go func() { in.report(in.admin.Serve(private)) }()
	fmt.Fprintf(out, "aguigate ready listen=%s admin=%s\n", public.Addr(), private.Addr())
	return in, nil
}

func (in *instance) report(err error) {
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		select {
		case in.failed <- err:
		default:
		}
	}
}

// stop drains runs, then cuts what is left, then closes the store [OPS-3].
func (in *instance) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), in.drain)
	in.gateway.Drain(ctx)
	cancel()
	in.server.CloseStreams(fault.New(fault.GatewayShutdown, "the gateway is shutting down"))
	ctx, cancel = context.WithTimeout(context.Background(), cutTime)
	defer cancel()
	err := in.server.Shutdown(ctx)
	in.gateway.Close()
	if errors.Is(err, context.DeadlineExceeded) {
		in.log.Warn("connections were cut at the end of the drain")
		err = nil
	}
	return errors.Join(err, in.admin.Shutdown(ctx), in.closeStore())
}

func (in *instance) closeStore() error {
	if in.store == nil {
		return nil
	}
	if in.gateway != nil {
		in.gateway.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), cutTime)
	defer cancel()
	return in.store.Close(ctx)
}

func storeOptions(c config.Store, log *slog.Logger) store.Options {
	return store.Options{
		NATS: c.NATS, Dir: c.Dir, SyncAlways: c.Sync == "always", Creds: c.Creds,
		TLSCA: c.TLS.CA, TLSCert: c.TLS.Cert, TLSKey: c.TLS.Key,
		Replicas: c.Replicas, Prefix: c.Prefix, EventAge: c.Retention.Events, Log: log,
	}
}

func routes(g *gateway.Gateway) []carrier.Route {
	var out []carrier.Route
	for _, f := range frontends(g) {
		out = append(out, f.Routes()...)
	}
	return out
}

func (in *instance) carrierOptions(c *config.Config) carrier.Options {
	return carrier.Options{
		MaxBody: int(c.Limits.Body),
		Policy: carrier.Policy{
			Hosts: c.Hosts, LoopbackOnly: c.Auth.Mode == "none",
			Origins: c.CORS.Origins, Credentials: c.CORS.Credentials,
		},
		Authenticate: func(h *fasthttp.RequestHeader) (principal.Principal, error) {
			secret, err := carrier.Credential(h)
			if err != nil {
				return principal.Principal{}, err
			}
			return in.gateway.Authenticate(secret, string(h.Peek(gateway.IdentityHeader)))
		},
		Rejected: func(code fault.Code, _ string) { in.gateway.Reject(code) },
		Log:      in.log,
	}
}
