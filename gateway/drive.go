package gateway

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/gateway/repair"
	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/gateway/transcript"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/agui/profile"
	"github.com/aguigate/aguigate/protocol/conversation"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/tool"
)

// Times of a run's end.
const (
	// joinGrace is how long an upstream that has finished may take to close its
	// stream, or to start a second run in it [RUN-2].
	joinGrace = 250 * time.Millisecond
	// recordTime bounds what a run writes after its client has gone.
	recordTime = 10 * time.Second
)

// liveRun moves one run: a goroutine, the caller's, reads the upstream, asks the
// machine and writes to the client.
type liveRun struct {
	g         *Gateway
	key       string // of the thread; never changed
	turn      *frontend.Turn
	agent     *agent
	thread    *thread
	state     activeRun
	offer     *tool.Offer
	names     *run.Names
	machine   *run.Machine
	input     *agui.Input
	headers   []upstream.Header
	list      *messages // as the client sent it
	copy      *messages // with what the record has beside it
	ledger    *ledger
	hist      *history
	branch    transcript.Branch
	has       transcript.Set // what of the record the client has beside its list
	unseen    bool           // the client is brought messages it was never sent
	dead      *activeRun     // a run whose process died, in whose place this one is
	book      *conversation.Builder
	chain     *repair.Chain
	own       *task       // the gateway continues a round by itself
	join      *joining    // another run is this turn's answer
	wait      queueing    // how the run waits for the thread, if it is another's for now
	taken     bool        // the thread is this run's
	leftAlone bool        // its client has gone, and it ends for that
	claims    []interrupt // that this run has claimed
	asked     bool        // the upstream's request went out
	final     agui.Frame
	over      chan struct{} // closed when Stream returns
	writing   atomic.Int64  // odd while a write is under way
	told      []string      // rounds whose results this run brings to the agent
	touched   []string      // rounds this run has looked at
	due       []string      // rounds the gateway has to continue when this run is over
	pending   []string      // calls that still wait, when the upstream is not asked [RUN-5]
	begun     time.Time

	sink   frontend.Sink
	opened bool // the run's own round exists
	feed   feeding
	// mu is held while the run is prepared and while frames are moved: a watcher that
	// comes asks for what it missed.
	mu       sync.Mutex
	batch    []agui.Frame
	mended   []agui.Frame
	actions  []run.Action
	sinkErr  error
	profile  *profile.Profile
	older    *profile.ToClient // nil for a client that speaks 1.0
	shown    []agui.Frame      // the batch as such a client reads it
	reshaped int               // frames that were changed for it, or left out
	held     *time.Timer
	upCancel context.CancelFunc

	// cancel and stopCause belong to activeRuns and its lock.
	cancel     context.CancelCauseFunc
	stopCause  error
	following  string      // key of the run it reads
	followers  int         // turns that read this run too
	gone       bool        // its client has left
	remote     time.Time   // until when readers on other replicas are known of
	detachable atomic.Bool // it may go on without its client
	unread     atomic.Bool // and nobody reads it any more, which its agent allows for a while
	aloneFor   int         // bytes of events since then
}

// errStopped ends a run for its client without an error [RUN-10].
var errStopped = errors.New("stopped")

// IgnoredTools names what the configuration owns of the advertised tools.
func (r *liveRun) IgnoredTools() string {
	const limit = 1000 // bytes of the header [MERGE-2]
	out := ""
	for _, name := range r.offer.ConfigIgnored {
		if len(out)+len(name)+2 > limit {
			break
		}
		if out != "" {
			out += ", "
		}
		out += name
	}
	return out
}

// Padding is the agent's keepalive_padding.
func (r *liveRun) Padding() int { return int(r.agent.conf.KeepAlivePadding) }

// LeftOut counts frames that the client's wire format has no place for.
func (r *liveRun) LeftOut(n int) {
	r.g.metrics.repairs.WithLabelValues(r.agent.name, "no_wire_form").Add(float64(n))
}

// KeepAlive is the agent's keepalive.
func (r *liveRun) KeepAlive() time.Duration { return r.agent.conf.KeepAlive }

// Abort gives everything back when no answer could be started.
func (r *liveRun) Abort() {
	r.end(context.Background(), "cancelled")
}

// Stream moves the run from its first frame to its last.
func (r *liveRun) Stream(ctx context.Context, sink frontend.Sink) error {
	r.sink = sink
	runCtx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	r.over = make(chan struct{})
	defer close(r.over)
	r.g.active.arm(r, stop)
	defer context.AfterFunc(ctx, func() { r.clientLeft(context.Cause(ctx)) })()
	defer context.AfterFunc(runCtx, func() { r.cutStuck(sink) })()
	r.log("run accepted", "waits", r.wait != notAtAll, "joins", r.join != nil)
	outcome := "panic" // unless it comes to an end
	defer func() { r.end(ctx, outcome) }()
	if r.wait != notAtAll {
		if err := r.awaitTurn(runCtx); err != nil {
			r.refuse(runCtx, err)
			outcome = r.outcome()
			return r.sinkErr
		}
	}
	switch {
	case r.join != nil:
		r.follow(runCtx)
	case r.pending != nil:
		defer r.holdLease()()
		r.local(runCtx)
	default:
		defer r.holdLease()()
		r.relay(runCtx)
	}
	outcome = r.outcome()
	return r.sinkErr
}

// outcome is the run's end as it is counted.
func (r *liveRun) outcome() string {
	switch {
	case r.machine == nil || r.machine.Outcome() == "":
		return "cancelled" // nobody was left to end it for
	case r.join != nil && r.join.refused == nil:
		return "joined"
	case r.pending != nil:
		return "pending"
	}
	return r.machine.Outcome()
}

// refuse ends a turn that waited and then could not be taken.
func (r *liveRun) refuse(ctx context.Context, err error) {
	r.bareMachine(false)
	var shutdown *fault.Error
	switch {
	case errors.Is(err, errSuperseded), errors.Is(context.Cause(ctx), errStopped):
		r.perform(ctx, r.machine.Stop(r.actions[:0]))
	case ctx.Err() != nil && !errors.As(context.Cause(ctx), &shutdown):
		return // the client has gone
	default:
		r.perform(ctx, r.machine.FailLocal(fault.From(err), r.actions[:0]))
	}
	r.flush()
}

// bareMachine is for a turn that has no run of its own.
func (r *liveRun) bareMachine(joined bool) {
	in := r.turn.Input
	r.machine = run.New(run.Setup{Thread: in.ThreadID, Run: in.RunID, Parent: in.ParentRunID,
		RequestID: r.turn.RequestID, Joined: joined})
}

// local answers a turn that brings only some of a round's results: they are
// kept, the upstream is not asked [RUN-5].
func (r *liveRun) local(ctx context.Context) {
	in := r.turn.Input
	r.mu.Lock()
	defer r.mu.Unlock()
	r.actions = r.machine.Step(agui.NewRunFinished(in.ThreadID, in.RunID, nil), r.actions[:0])
	r.actions = r.machine.End(nil, r.actions)
	r.perform(ctx, r.actions)
	r.flush()
}

// relay asks the upstream and moves its frames.
func (r *liveRun) relay(ctx context.Context) {
	upCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.upCancel = cancel
	if total := r.agent.conf.Upstream.Timeouts.Total; total > 0 {
		limit := time.AfterFunc(total, func() {
			r.stop(fault.New(fault.UpstreamTimeout, "the run took longer than %s", total))
		})
		defer limit.Stop()
	}
	defer func() {
		if r.held != nil {
			r.held.Stop()
		}
	}()
	stream, err := r.agent.up.Run(upCtx, &upstream.RunRequest{
		Input: r.input, Headers: r.headers, RequestID: r.turn.RequestID, Sent: r.sent, Read: r.chain.Read,
	})
	if err != nil {
		r.finish(ctx, err)
		return
	}
	defer func() { _ = stream.Close() }()
	r.move(ctx, stream)
}

// move is the loop: everything that has arrived is stepped through the machine
// and written at once.
func (r *liveRun) move(ctx context.Context, stream upstream.Stream) {
	var frames []agui.Frame
	for first := true; ; first = false {
		var err error
		frames, err = stream.Next(frames[:0])
		if first && len(frames) > 0 {
			r.delivered(ctx)
		}
		r.moveOn(ctx, frames, err != nil)
		switch {
		case r.machine.Done():
			return
		case r.sinkErr != nil:
			r.deserted(ctx)
			return
		case err != nil:
			r.finish(ctx, err)
			return
		}
	}
}

// moveOn moves what has arrived: through the repairs and the machine, to the client.
func (r *liveRun) moveOn(ctx context.Context, frames []agui.Frame, over bool) {
	r.bookIn(ctx, frames, over)
	r.send()
}

// bookIn is moveOn up to the client.
func (r *liveRun) bookIn(ctx context.Context, frames []agui.Frame, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	up := 0
	r.mended, r.actions = r.mended[:0], r.actions[:0]
	for _, f := range frames {
		up += len(f.Raw)
		r.mended = r.chain.Step(f, r.mended)
	}
	if over {
		r.mended = r.chain.End(r.mended)
	}
	for _, f := range r.mended {
		r.actions = r.machine.Step(f, r.actions)
	}
	r.agent.in.moved(len(frames), up)
	r.perform(ctx, r.actions)
	r.stage()
}

// finish ends the run for whatever reason the upstream's stream is over.
func (r *liveRun) finish(ctx context.Context, err error) {
	var cause *fault.Error
	why := context.Cause(ctx)
	switch {
	case r.machine.Held():
	case errors.As(why, &cause):
	case errors.Is(why, errStopped):
		r.mu.Lock()
		defer r.mu.Unlock()
		r.perform(ctx, r.machine.Stop(r.actions[:0]))
		r.flush()
		return
	case ctx.Err() != nil:
		r.deserted(ctx)
		return
	case errors.Is(err, errTold): // by a run that was faster
		cause = errTold
	case err == io.EOF: // itself: a fault may have been caused by one
	default:
		cause = fault.From(err)
		r.g.log.Warn("upstream failed", "agent", r.agent.name, "run", r.state.ID, "request_id", r.turn.RequestID,
			"code", cause.Code, "cause", cause.Cause) // its message may be the backend's own [DATA-3]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.perform(ctx, r.machine.End(cause, r.actions[:0]))
	r.flush()
}

// perform does what the machine asks, in order.
func (r *liveRun) perform(ctx context.Context, acts []run.Action) {
	for i := 0; i < len(acts); i++ {
		switch a := acts[i]; a.Kind {
		case run.Send:
			r.batch = append(r.batch, a.Frame)
			if a.Frame.Type == agui.RunFinished || a.Frame.Type == agui.RunError {
				r.final = a.Frame
			}
			if r.book != nil && !a.Prelude {
				r.book.Apply(a.Frame)
			}
		case run.Open:
			if err := r.open(ctx, a.Call); err != nil {
				if next := r.machine.FailLocal(fault.From(err), nil); next != nil {
					acts, i = next, -1 // else the run is ending already, and the rest of acts ends it
				}
			}
		case run.Close:
			r.closeCall(ctx, a.Call, a.Reason)
		case run.Hold:
			r.hold()
		case run.Release:
			open, settled, err := r.release(ctx)
			if err != nil {
				acts, i = r.machine.FailLocal(fault.From(err), nil), -1
				continue
			}
			acts, i = r.machine.Released(open, settled, nil), -1
		case run.Cancel:
			acts, i = r.machine.Cancelled(r.cancelCalls(ctx, r.cancelReason(ctx)), nil), -1
		}
	}
}

func (r *liveRun) cancelReason(ctx context.Context) string {
	switch why := context.Cause(ctx); {
	case fault.CodeOf(why) == fault.GatewayShutdown:
		return reasonShutdown
	case errors.Is(why, errStopped):
		return reasonStopped
	case r.leftAlone:
		return reasonClientGone
	}
	return reasonRunFailed
}

// hold ends the wait for a stream that its upstream does not close.
func (r *liveRun) hold() {
	if r.upCancel == nil {
		return // there is no upstream: the run ends here
	}
	if r.held == nil {
		r.held = time.AfterFunc(joinGrace, r.upCancel)
		return
	}
	r.held.Reset(joinGrace)
}

// stop ends the run for its client with cause, from any goroutine.
func (r *liveRun) stop(cause error) { r.g.active.stop(r, cause) }

// end cancels what a run left without an end, gives the thread back and counts.
func (r *liveRun) end(ctx context.Context, outcome string) {
	defer r.g.active.remove(r)
	code, dropped := "", 0
	switch {
	case !r.taken:
		if r.wait != notAtAll {
			r.leaveQueue(ctx)
		}
		if r.join != nil && r.join.refused == nil && r.machine != nil {
			r.keepView()
		}
	default:
		if !r.machine.Done() {
			r.cancelCalls(ctx, reasonClientGone)
		}
		r.giveBack(r.closeBooks(outcome))
	}
	if r.machine != nil {
		code, dropped = r.machine.Code(), r.machine.Dropped()
	}
	r.g.metrics.run(r, outcome)
	r.log("run ended", "outcome", outcome, "code", code, "dropped", dropped, "took", r.g.now().Sub(r.begun))
}

func (r *liveRun) log(msg string, more ...any) {
	r.g.log.Info(msg, append([]any{"agent", r.agent.name, "run", r.state.ID, "thread", r.thread.ID,
		"frontend", r.turn.Frontend, "request_id", r.turn.RequestID}, more...)...)
}
