package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
)

type drainState struct{ on atomic.Bool }

// shutdownGrace is how long runs have to send their RUN_ERROR after the drain's
// time is over.
const shutdownGrace = 3 * time.Second

// Admit refuses new work while draining [OPS-3].
func (g *Gateway) Admit() error {
	if !g.drain.on.Load() {
		return nil
	}
	f := fault.New(fault.Draining, "this gateway is shutting down; try again, another one will answer")
	f.RetryAfter = time.Second
	return f
}

// Drain stops taking runs at once, gives active ones until ctx ends, then ends
// them with gateway_shutdown and waits for their last frame. Open invocations
// stay in the store.
func (g *Gateway) Drain(ctx context.Context) {
	g.drain.on.Store(true)
	idle := g.active.whenIdle()
	select {
	case <-idle:
		return
	case <-ctx.Done():
	}
	runs := g.active.all()
	g.log.Info("drain time is over; ending active runs", "runs", len(runs))
	for _, r := range runs {
		r.stop(fault.New(fault.GatewayShutdown, "the gateway is shutting down"))
	}
	select {
	case <-idle:
	case <-time.After(shutdownGrace):
		g.log.Warn("runs did not end in time", "runs", len(g.active.all()))
	}
}

// Ready reports why this process should get no traffic; nil when it should
// [OPS-1].
func (g *Gateway) Ready(ctx context.Context) error {
	if err := g.Admit(); err != nil {
		return err
	}
	return g.store.Ready(ctx)
}
