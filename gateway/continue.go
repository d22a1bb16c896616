package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// gatewayFrontend is the name of the gateway's own runs in metrics and logs.
const gatewayFrontend = "gateway"

// task is the round a run of the gateway's own continues.
type task struct {
	round string
	again bool // somebody asked for it, so a failed round counts too [INV-12]
}

// mayTake reports whether the round still is this run's to tell.
func (t *task) mayTake(rd *tool.Round) bool {
	if rd.Key != t.round {
		return true
	}
	return rd.Duty != nil && (rd.Duty.State == tool.DutyDue || t.again && rd.Duty.State != tool.DutySent && rd.Duty.State != tool.DutyDone)
}

// basis is what a round's run was asked with, so that the round can be continued
// without a client [INV-11]. It is written once, with the run's first call.
type basis struct {
	Run             string            `json:"run"`
	Parent          string            `json:"parent,omitempty"`
	ProtocolVersion string            `json:"protocol_version,omitempty"`
	Tools           []json.RawMessage `json:"tools,omitempty"` // as advertised
	HasTools        bool              `json:"has_tools,omitempty"`
	Context         json.RawMessage   `json:"context,omitempty"`
	ForwardedProps  json.RawMessage   `json:"forwarded_props,omitempty"`
	State           json.RawMessage   `json:"state,omitempty"`
}

// keepBasis writes the basis of the run's round.
func (r *liveRun) keepBasis(ctx context.Context) error {
	in := r.turn.Input
	b := basis{Run: in.RunID, Parent: in.ParentRunID, ProtocolVersion: in.ProtocolVersion, HasTools: in.HasTools,
		Context: in.Context, ForwardedProps: in.ForwardedProps, State: in.State}
	for _, t := range in.Tools {
		b.Tools = append(b.Tools, t.Append(nil))
	}
	value, err := encode(b)
	if err != nil {
		return err
	}
	if len(value) > maxRecord { // what is too large to keep is not there for the gateway's own run
		b.State, b.ForwardedProps = nil, nil
		if value, err = encode(b); err != nil {
			return err
		}
	}
	_, err = r.g.store.Create(ctx, store.Basis, r.state.Round, value)
	return err
}

// input is the request of the run that continues a round.
func (b *basis) input(rd *tool.Round, run string) *agui.Input {
	in := &agui.Input{ThreadID: rd.Thread, RunID: run, ParentRunID: rd.Run, ProtocolVersion: b.ProtocolVersion,
		HasTools: b.HasTools, Context: b.Context, ForwardedProps: b.ForwardedProps, State: b.State}
	for _, raw := range b.Tools {
		in.Tools = append(in.Tools, agui.ReadTool(raw))
	}
	return in
}

// continueSoon continues a round by a run of the gateway's own, in the background.
// The duty is in the store: whatever keeps this run from happening, the sweep finds
// it again.
func (g *Gateway) continueSoon(key string) {
	wake, mine := g.duties.begin(key)
	if !mine {
		return
	}
	begun := g.spawn(func() {
		defer g.duties.end(key)
		for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
			run, err := g.beginOwn(context.Background(), task{round: key}, newID())
			switch code := fault.CodeOf(err); {
			case err == nil:
				_ = run.Stream(context.Background(), nowhere{}) // how it ended is in its round
				if !run.asked {
					return // the agent could not be reached: the sweep tries again
				}
				pause = 20 * time.Millisecond
				continue // an answer may have come while it told the others
			case errors.Is(err, errNoDuty):
				return
			case code != fault.ThreadBusy && code != fault.StoreUnavailable:
				g.log.Warn("a round could not be continued", "round", key, "code", code)
				return
			}
			select {
			case <-time.After(pause):
			case <-wake:
			case <-g.closing:
				return
			}
		}
	})
	if !begun {
		g.duties.end(key)
	}
}

// errNoDuty says that a round needs nobody to continue it.
var errNoDuty = fault.New(fault.RunConflict, "there is no round on this thread that waits to be continued, or has failed")

// beginOwn begins the gateway's own run for a round.
func (g *Gateway) beginOwn(ctx context.Context, t task, runID string) (*liveRun, error) {
	rd, err := g.loadRound(ctx, t.round)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errNoDuty
	}
	if err != nil {
		return nil, err
	}
	if a := g.byName[rd.Agent]; a == nil || a.conf.History == "none" || !rd.Complete() || !t.mayTake(rd) {
		return nil, errNoDuty // without a history only the client can continue [DATA-1]
	}
	in, err := g.ownInput(ctx, rd, runID)
	if err != nil {
		return nil, err
	}
	turn := &frontend.Turn{
		Principal: owner(rd),
		RequestID: newID(), Frontend: gatewayFrontend, Agent: rd.Agent, Input: in, Appends: true, Profile: agui.ProtocolVersion,
		Header: func(string) string { return "" },
	}
	r, err := g.newRun(ctx, turn)
	if err != nil {
		return nil, err
	}
	if r.thread.revision == 0 { // it was deleted meanwhile
		return nil, errNoDuty
	}
	r.own, r.state.Continues = &t, t.round
	g.active.add(r)
	begun := false
	defer func() {
		if !begun {
			g.active.remove(r)
		}
	}()
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	if r.pending != nil { // another round still waits for its client: it brings these results too
		r.giveBack(nil)
		return nil, errNoDuty
	}
	if !slices.Contains(r.told, t.round) { // nothing of it stands in the conversation
		r.giveBack(nil)
		_, err := g.changeRound(ctx, t.round, nil, func(rd *tool.Round) error {
			if !rd.Leave(reasonHidden, g.now()) {
				return errUnchanged
			}
			return nil
		})
		return nil, errors.Join(errNoDuty, err)
	}
	begun = true
	g.metrics.activeRuns.WithLabelValues(r.agent.name).Inc()
	return r, nil
}

// ownInput is what the gateway asks with: what the round's run was asked with, and
// the thread's newest state.
func (g *Gateway) ownInput(ctx context.Context, rd *tool.Round, runID string) (*agui.Input, error) {
	var b basis
	rec, err := g.store.Get(ctx, store.Basis, rd.Key)
	switch {
	case errors.Is(err, store.ErrNotFound): // a record of an earlier version
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(rec.Value, &b); err != nil {
			return nil, fault.New(fault.StoreUnavailable, "the record of this round cannot be read").Because(err)
		}
	}
	in := b.input(rd, runID)
	t, err := g.loadThread(ctx, owner(rd), rd.Agent, rd.Thread)
	if err != nil {
		return nil, err
	}
	state, err := g.threadState(ctx, t)
	if err != nil {
		g.log.Warn("the state of a thread could not be read; its run starts with an older one", "run", runID, "error", err)
	} else if state != nil {
		in.State = state
	}
	return in, nil
}

// nowhere takes the frames of a run nobody reads: they are in the transcript.
type nowhere struct{}

func (nowhere) Send([]agui.Frame) error { return nil }

// Continue runs the newest round of a thread that waits or has failed [INV-12].
func (g *Gateway) Continue(ctx context.Context, p principal.Principal, ref frontend.ThreadRef) (string, error) {
	if err := g.Admit(); err != nil {
		return "", err
	}
	t, err := g.findThread(ctx, p, ref.Thread, ref.Agent)
	if err != nil {
		return "", err
	}
	if g.busy(t.Run) {
		return "", g.busyFault()
	}
	rounds, err := g.roundsOf(ctx, t)
	if err != nil {
		return "", err
	}
	for _, rd := range slices.Backward(rounds) {
		if open := rd.OpenCalls(); len(open) > 0 && !rd.Complete() {
			return "", fault.New(fault.IncompleteResults, "the call %s still waits for its result", open[0].ID)
		}
		if rd.Duty == nil || rd.Duty.State == tool.DutyDone {
			continue
		}
		run, err := g.beginOwn(context.WithoutCancel(ctx), task{round: rd.Key, again: true}, newID())
		if err != nil {
			return "", err
		}
		if !g.spawn(func() { _ = run.Stream(context.Background(), nowhere{}) }) { // how it ended is in its round
			run.Abort()
			return "", g.Admit()
		}
		return run.state.ID, nil
	}
	return "", errNoDuty
}
