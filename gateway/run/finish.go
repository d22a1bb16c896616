package run

import (
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// NotRun is what the model and the client read about a call that a failed run
// left behind [RUN-3].
const NotRun = "This tool was not run: the agent's run ended before it could be."

// release ends a run that the upstream has finished: what is open is closed and,
// if the run asked the client for anything, the round is released.
func (m *Machine) release(out []Action) []Action {
	for _, c := range append([]*Call(nil), m.calls...) {
		if c.ended || c.chunked {
			continue
		}
		var ok bool
		if out, ok = m.endCall(c, out); !ok {
			return out
		}
		m.repair("close_call")
		out = append(out, Action{Frame: agui.NewToolCallEnd(c.Shown)})
	}
	out = m.closeOpen(out)
	if m.clients == 0 {
		return m.Released(nil, nil, out)
	}
	switch o := m.heldOutcome(); {
	case o == nil:
	case o.Kind == agui.OutcomeCancelled:
		failure := *m.held
		m.failure, m.held = &failure, nil
		return append(out, Action{Kind: Cancel})
	case o.Kind == agui.OutcomeInterrupt:
		out = m.closeInterrupted(o, out)
	}
	return append(out, Action{Kind: Release})
}

// closeInterrupted closes the calls an interrupt asks about: the resume answers
// those [RUN-12].
func (m *Machine) closeInterrupted(o *agui.Outcome, out []Action) []Action {
	for _, i := range o.Interrupts {
		if c := m.byID[i.ToolCallID]; c != nil && c.Client && !c.answered {
			c.answered = true
			out = append(out, Action{Kind: Close, Call: c, Reason: Interrupted})
		}
	}
	return out
}

// Released answers Release: open lists the shown ids of this run's calls that
// still wait, in call order; settled those answered elsewhere meanwhile [RUN-4].
func (m *Machine) Released(open []string, settled []Answer, out []Action) []Action {
	if m.held == nil || m.done {
		return out
	}
	out = m.showSettled(settled, out)
	f := m.ownIDs(*m.held)
	m.held = nil
	return m.terminal(m.withOutcome(f, open), out)
}

func (m *Machine) showSettled(settled []Answer, out []Action) []Action {
	for _, a := range settled {
		for _, c := range m.calls {
			if c.Client && c.Shown == a.Shown && !c.answered {
				c.answered = true
				out = append(out, Action{Frame: agui.NewToolCallResult(ResultID(c.Shown), c.Shown, a.Content)})
			}
		}
	}
	return out
}

// ResultID is the message id of a result that the gateway gives [UP-4, RUN-6].
func ResultID(shown string) string { return "gw-" + shown }

func (m *Machine) heldOutcome() *agui.Outcome {
	o, err := agui.ParseOutcome(m.held.Field("outcome"))
	if err != nil {
		return nil
	}
	return o
}

// withOutcome writes what the run ended in.
func (m *Machine) withOutcome(f agui.Frame, open []string) agui.Frame {
	m.outcome = "success"
	raw := f.Field("outcome")
	var o *agui.Outcome
	if raw != nil {
		var err error
		if o, err = agui.ParseOutcome(raw); err != nil || o == nil {
			// Malformed, or of a type nobody knows: a client would die of it.
			o, f = nil, f.Without("outcome")
			m.repair("outcome")
		}
	}
	if o != nil && o.Kind == agui.OutcomeInterrupt {
		m.outcome = "interrupt"
		if m.set.Names.renameInterrupts(o) {
			f = f.With("outcome", o.Append(nil))
		}
		return f
	}
	if o != nil && o.Kind == agui.OutcomeCancelled {
		m.outcome = "cancelled"
		return f
	}
	if m.set.Joined {
		return f
	}
	if o == nil && len(open) == 0 || o != nil && sameList(o.PendingToolCallIDs, open) {
		return f
	}
	want := agui.Outcome{Kind: agui.OutcomeSuccess, PendingToolCallIDs: open}
	return f.With("outcome", want.Append(nil))
}

func sameList(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// fail ends the run with an error frame, the gateway's or the upstream's. Calls
// get no END; the record is asked which of them have an accepted result.
func (m *Machine) fail(f agui.Frame, out []Action) []Action {
	m.held = nil
	out = m.closeOpen(out)
	m.failure = &f
	if m.clients == 0 {
		return m.Cancelled(nil, out)
	}
	return append(out, Action{Kind: Cancel})
}

// Cancelled answers Cancel: settled lists the calls of this run that have an
// accepted result. Every other client call, whole or half-written, is shown as
// not run, so that no client runs it afterwards [RUN-3].
func (m *Machine) Cancelled(settled []Answer, out []Action) []Action {
	if m.failure == nil || m.done {
		return out
	}
	out = m.showSettled(settled, out)
	for _, c := range m.calls {
		if c.Client && !c.answered && c.Shown != "" {
			c.answered = true
			out = append(out, Action{Frame: agui.NewToolCallResult(ResultID(c.Shown), c.Shown, NotRun)})
		}
	}
	f := *m.failure
	if f.Type == agui.RunFinished {
		for _, c := range m.calls { // which such an end must not leave open, behind the result that says it was not run
			if !c.ended && !c.chunked && c.Shown != "" {
				c.ended = true
				out = append(out, Action{Frame: agui.NewToolCallEnd(c.Shown)})
			}
		}
		return m.terminal(m.withOutcome(m.ownIDs(f), nil), out)
	}
	m.outcome = "error"
	return m.terminal(f, out)
}

func (m *Machine) terminal(f agui.Frame, out []Action) []Action {
	m.done = true
	return append(out, Action{Frame: f})
}

// errorFrame writes RUN_ERROR; the request id is for 1.0 clients, who keep
// metadata [ERR-3].
func (m *Machine) errorFrame(e *fault.Error) agui.Frame {
	m.code = string(e.Code)
	var meta []byte
	if m.set.RequestID != "" {
		meta = append(append([]byte(`{"requestId":`), quote(m.set.RequestID)...), '}')
	}
	return agui.NewRunError(e.Message, string(e.Code), meta)
}

// Stop ends the run for its client without an error [RUN-10]: the calls it made are
// shown as not run, the outcome is cancelled.
func (m *Machine) Stop(out []Action) []Action {
	if m.done || m.failure != nil {
		return out
	}
	out = m.ensureStarted(out)
	return m.fail(agui.NewRunFinished(m.set.Thread, m.set.Run, &agui.Outcome{Kind: agui.OutcomeCancelled}), out)
}

// FailLocal ends the run with an error of the gateway's own that is not the
// upstream's end, such as a store that does not answer.
func (m *Machine) FailLocal(e *fault.Error, out []Action) []Action {
	if m.done || m.failure != nil {
		return out
	}
	return m.fail(m.errorFrame(e), m.ensureStarted(out))
}
