package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// link is one connection and the news of its end.
type link struct {
	*nats.Conn
	closed chan struct{}
	failed atomic.Pointer[error] // why the last attempt to connect failed
}

// dial opens a connection that reconnects for ever. It returns before a cluster
// has answered: the buckets are what Open waits for. Again, if any, is called
// whenever the connection was lost and is there again; its owner then also looks
// for what a subscription had to drop, which is no news for the log.
func dial(o Options, in *server.Server, purpose string, again func()) (*link, error) {
	l := &link{closed: make(chan struct{})}
	log := o.Log.With("connection", purpose)
	opts := []nats.Option{
		nats.Name("aguigate " + purpose),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(50*time.Millisecond, 100*time.Millisecond),
		// Without a buffer a write fails at once while there is no connection,
		// rather than being sent long after its caller was told it failed.
		nats.ReconnectBufSize(-1),
		nats.Timeout(o.OpTimeout),
		nats.DrainTimeout(o.OpTimeout),
		nats.PingInterval(5 * time.Second), // two lost ones end a silent connection
		nats.ClosedHandler(func(*nats.Conn) { close(l.closed) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("store connection lost", "error", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { l.failed.Store(&err) }),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info("store connected again", "server", nc.ConnectedServerName())
			if again != nil {
				again()
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if again == nil || !errors.Is(err, nats.ErrSlowConsumer) {
				log.Warn("store connection", "error", err)
			}
		}),
	}
	if in != nil {
		opts = append(opts, nats.InProcessServer(in))
	} else {
		opts = append(opts, clusterOptions(o)...)
	}
	nc, err := nats.Connect(addresses(o.NATS), opts...)
	if err != nil {
		return nil, fmt.Errorf("store connection: %w", err)
	}
	l.Conn = nc
	return l, nil
}

func clusterOptions(o Options) []nats.Option {
	opts := []nats.Option{nats.RetryOnFailedConnect(true)}
	if o.Creds != "" {
		opts = append(opts, nats.UserCredentials(o.Creds))
	}
	if o.TLSCA != "" {
		opts = append(opts, nats.RootCAs(o.TLSCA))
	}
	if o.TLSCert != "" {
		opts = append(opts, nats.ClientCert(o.TLSCert, o.TLSKey))
	}
	return opts
}

func addresses(list string) string {
	if list == Embedded {
		return ""
	}
	return strings.ReplaceAll(list, " ", "")
}

// close drains the connection; when ctx ends first, it cuts it.
func (l *link) close(ctx context.Context) error {
	if l == nil {
		return nil
	}
	if err := l.Drain(); err != nil {
		l.Conn.Close() // already closed, or in the middle of a reconnect: nothing to drain
	}
	select {
	case <-l.closed:
		return nil
	case <-ctx.Done():
		l.Conn.Close()
		<-l.closed
		return fmt.Errorf("store connection cut before it was drained: %w", ctx.Err())
	}
}

// trouble says in brackets why there is no connection, "" when there is one.
func (l *link) trouble() string {
	if l.IsConnected() {
		return ""
	}
	err := l.LastError()
	if f := l.failed.Load(); err == nil && f != nil {
		err = *f
	}
	return fmt.Sprintf(" (not connected: %v)", err)
}
