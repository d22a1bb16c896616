package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// Bounds of what a thread remembers of interrupts.
const (
	keptInterrupts = 64
	keptClaims     = 64
)

// interrupt is a question of the agent's that a run has ended with [RUN-12].
type interrupt struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expires,omitzero"`
}

// interruptsOf reads the interrupts a run's last event names.
func interruptsOf(end agui.Frame) (out []interrupt) {
	if end.Type != agui.RunFinished {
		return nil
	}
	o, err := agui.ParseOutcome(end.Field("outcome"))
	if err != nil || o == nil {
		return nil
	}
	for _, i := range o.Interrupts {
		if len(out) >= keptInterrupts || len(i.ID) > run.MaxID {
			continue // it cannot be checked, so it passes
		}
		at, err := time.Parse(time.RFC3339, i.ExpiresAt)
		if err != nil {
			at = time.Time{}
		}
		out = append(out, interrupt{ID: i.ID, Expires: at})
	}
	return out
}

// checkResume holds a turn's answers against the thread's open interrupts: each is
// answered once, none is left out, and none that another run has claimed [RUN-12].
// A thread the gateway has not seen before passes: its agent knows.
func (r *liveRun) checkResume() error {
	given := r.turn.Input.Resume
	t := r.thread
	r.state.Claims = nil
	if len(given) == 0 || t.revision == 0 {
		return nil
	}
	for i, g := range given {
		at := "/resume/" + strconv.Itoa(i) + "/interruptId"
		known := slices.IndexFunc(t.Interrupts, func(k interrupt) bool { return k.ID == g.InterruptID })
		switch {
		case slices.Contains(r.state.Claims, g.InterruptID):
			return fault.New(fault.InvalidResume, "the interrupt %q is answered twice", g.InterruptID).At(at)
		case known < 0 && slices.Contains(t.Claimed, g.InterruptID):
			return fault.New(fault.ResumeConflict, "the interrupt %q has been answered", g.InterruptID).At(at)
		case known < 0:
			return fault.New(fault.InvalidResume, "no interrupt of this thread that waits is called %q", g.InterruptID).At(at)
		case t.Interrupts[known].over(r.g.now()):
			return fault.New(fault.InvalidResume, "the interrupt %q has expired", g.InterruptID).At(at)
		}
		r.state.Claims = append(r.state.Claims, g.InterruptID)
	}
	for _, k := range t.Interrupts {
		if !k.over(r.g.now()) && !slices.Contains(r.state.Claims, k.ID) {
			return fault.New(fault.InvalidResume, "all interrupts are answered together; %q is missing", k.ID).At("/resume")
		}
	}
	return nil
}

func (i interrupt) over(now time.Time) bool { return !i.Expires.IsZero() && now.After(i.Expires) }

// claimed reports a turn that answers what the active run was given the answer of.
func (r *liveRun) claimed() bool {
	active := r.thread.Run
	return active != nil && r.g.busy(active) && slices.ContainsFunc(r.turn.Input.Resume, func(e agui.ResumeEntry) bool {
		return slices.Contains(active.Claims, e.InterruptID)
	})
}

// claim takes the interrupts that the turn answers.
func (r *liveRun) claim(rec *threadRecord) {
	if len(r.state.Claims) == 0 {
		return
	}
	if len(rec.Interrupts) > 0 {
		r.claims, rec.Run.Open, rec.Interrupts = rec.Interrupts, rec.Interrupts, nil
	}
	rec.Claimed = append(slices.Clone(rec.Claimed), r.state.Claims...)
	if over := len(rec.Claimed) - keptClaims; over > 0 {
		rec.Claimed = rec.Claimed[over:]
	}
}

// reopen gives back what a dead run had claimed.
func (rec *threadRecord) reopen(dead *activeRun) {
	if dead == nil || len(dead.Open) == 0 || len(rec.Interrupts) > 0 {
		return
	}
	rec.Interrupts = dead.Open
	rec.Claimed = slices.DeleteFunc(slices.Clone(rec.Claimed), func(id string) bool { return slices.Contains(dead.Claims, id) })
}

// keepInterrupts writes down what the run has asked. One that failed gives back what
// it had claimed, so that its answers can be sent again.
func (r *liveRun) keepInterrupts(rec *threadRecord, outcome string) {
	switch {
	case !r.asked || outcome == "error" || !r.machine.Done() || r.leftAlone || r.g.active.wasStopped(r):
		if len(r.claims) > 0 {
			rec.Interrupts = r.claims
			rec.Claimed = slices.DeleteFunc(slices.Clone(rec.Claimed), func(id string) bool { return slices.Contains(r.state.Claims, id) })
		}
	default:
		rec.Interrupts, rec.Asked = interruptsOf(r.final), ""
		if len(rec.Interrupts) > 0 {
			rec.Asked = r.state.Round
		}
	}
}

// toolsAgain gives a turn that only answers interrupts the tools of the run that
// asked [RUN-12].
func (g *Gateway) toolsAgain(ctx context.Context, t *thread, in *agui.Input) (*agui.Input, error) {
	if len(in.Resume) == 0 || len(in.Tools) > 0 || t.Asked == "" {
		return in, nil
	}
	rec, err := g.store.Get(ctx, store.Basis, t.Asked)
	if errors.Is(err, store.ErrNotFound) {
		return in, nil
	}
	if err != nil {
		return nil, err
	}
	var b basis
	if err := json.Unmarshal(rec.Value, &b); err != nil {
		return nil, fault.New(fault.StoreUnavailable, "the record of this thread cannot be read").Because(err)
	}
	out := *in
	for _, raw := range b.Tools {
		out.Tools = append(out.Tools, agui.ReadTool(raw))
	}
	out.HasTools = out.HasTools || len(out.Tools) > 0
	return &out, nil
}
