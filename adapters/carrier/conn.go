package carrier

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	lingerTotal = 10 * time.Second // a client that keeps sending after its refusal
	lingerQuiet = 2 * time.Second  // one that neither sends nor closes
	lingerBytes = 64 << 20
)

// listener wraps what it accepts.
type listener struct {
	net.Listener
	s *Server
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	w := &conn{Conn: c, list: &l.s.conns}
	l.s.conns.add(w)
	if t, ok := c.(*tls.Conn); ok {
		return &tlsConn{conn: w, tls: t}, nil
	}
	return w, nil
}

// conn is one connection as the engine sees it. It closes gently after a
// refusal, and it lets no request end in silence.
type conn struct {
	net.Conn
	list   *conns
	active atomic.Bool // between a request's first byte and its answer
	linger atomic.Bool
	last   error // of the last Read; the reader's own
}

// tlsConn keeps what the engine asks a TLS connection for.
type tlsConn struct {
	*conn
	tls *tls.Conn
}

func (c *tlsConn) Handshake() error                     { return c.tls.Handshake() }
func (c *tlsConn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

type lingerer interface{ lingerOnClose() }

func (c *conn) lingerOnClose() { c.linger.Store(true) }

// NetConn is the connection below, TLS or TCP.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Read reports an end inside a request as such. The engine would take io.EOF
// between two chunks for an orderly end, and tell nobody.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF && c.active.Load() {
		err = io.ErrUnexpectedEOF
	}
	c.last = err
	return n, err
}

// Close waits, after a refusal, for the client to stop sending: closing with
// unread bytes makes the kernel reset the connection, and the answer is lost.
func (c *conn) Close() error {
	if c.linger.CompareAndSwap(true, false) {
		c.drain()
	}
	c.list.remove(c)
	return c.Conn.Close()
}

func (c *conn) drain() {
	end := time.Now().Add(lingerTotal)
	_ = c.Conn.SetDeadline(time.Now().Add(lingerQuiet))
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	buf := make([]byte, 32<<10)
	for left := lingerBytes; left > 0 && time.Now().Before(end); {
		_ = c.Conn.SetReadDeadline(time.Now().Add(lingerQuiet))
		n, err := c.Conn.Read(buf)
		left -= n
		if err != nil {
			return
		}
	}
}

func connState(c net.Conn, state fasthttp.ConnState) {
	if w := unwrap(c); w != nil {
		w.active.Store(state == fasthttp.StateActive)
	}
}

func unwrap(c net.Conn) *conn {
	switch c := c.(type) {
	case *conn:
		return c
	case *tlsConn:
		return c.conn
	}
	return nil
}

var errNoSocket = errors.New("carrier: no socket below this connection")

// socketOf finds the TCP connection below TLS and below our own wrapper.
func socketOf(c net.Conn) (syscall.RawConn, error) {
	for {
		if sc, ok := c.(syscall.Conn); ok {
			return sc.SyscallConn()
		}
		n, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil, errNoSocket
		}
		c = n.NetConn()
	}
}

// conns lists the open connections, for the end of Shutdown.
type conns struct {
	mu   sync.Mutex
	open map[*conn]struct{}
}

func (l *conns) add(c *conn) {
	l.mu.Lock()
	if l.open == nil {
		l.open = map[*conn]struct{}{}
	}
	l.open[c] = struct{}{}
	l.mu.Unlock()
}

func (l *conns) remove(c *conn) {
	l.mu.Lock()
	delete(l.open, c)
	l.mu.Unlock()
}

func (l *conns) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

func (l *conns) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Conn.Close()
	}
}
