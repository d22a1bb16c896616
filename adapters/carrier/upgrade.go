package carrier

import (
	"net"
	"strings"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/valyala/fasthttp"
)

// Upgrade answers 101 and hands the raw connection to run, in a goroutine of its
// own that Shutdown waits for. Headers such as Sec-WebSocket-Accept are set before.
// Bytes the client sent early are read first; Close works from any goroutine.
// The connection closes when run returns; run must end by itself, CloseStreams
// does not reach it. A request that did not ask for protocol is 400.
func (r *Request) Upgrade(protocol string, run func(c net.Conn)) error {
	h := &r.ctx.Request.Header
	if !h.ConnectionUpgrade() || !strings.EqualFold(r.Header("Upgrade"), protocol) || !h.IsHTTP11() {
		return fault.New(fault.InvalidRequest, "this path needs an upgrade to %s", protocol).At("Upgrade")
	}
	resp := &r.ctx.Response
	resp.SetStatusCode(fasthttp.StatusSwitchingProtocols)
	resp.Header.Set("Connection", "Upgrade")
	resp.Header.Set("Upgrade", protocol)
	r.upgrade = run
	return nil
}

// hijack gives the connection away, once the handler has ended well. Nothing is
// counted before the engine calls back: it does not if the 101 cannot be sent.
func (r *Request) hijack() {
	s, own := r.s, unwrap(r.ctx.Conn())
	r.ctx.Hijack(func(c net.Conn) {
		s.sockets.Add(1)
		defer s.sockets.Add(-1)
		defer func() { _ = c.Close() }()
		defer func() {
			if p := recover(); p != nil {
				_ = s.panicked(r, p)
			}
		}()
		if own != nil {
			own.active.Store(false)
		}
		r.upgrade(c)
	})
}
