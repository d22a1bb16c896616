package tool

import (
	"strconv"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
)

// Round is the calls one run left open: one record in the store, changed by
// compare-and-set, so that several calls change together or not at all. Its
// methods change the value in hand; an error has changed nothing.
//
// The JSON names are the record's format: they do not change.
type Round struct {
	Key         string       `json:"key"` // in the store
	ID          string       `json:"id"`
	Tenant      string       `json:"tenant"`
	Owner       string       `json:"owner"`
	Agent       string       `json:"agent"`
	Thread      string       `json:"thread"`
	Run         string       `json:"run"`
	Space       string       `json:"space,omitempty"` // of its thread's event log
	Released    bool         `json:"released"`
	Cancelled   string       `json:"cancelled,omitempty"` // why the run was given up; it opens no more calls
	Invocations []Invocation `json:"invocations"`
	Duty        *Duty        `json:"duty,omitempty"` // never changed in place
	Created     time.Time    `json:"created"`
	Updated     time.Time    `json:"updated"`
	Writer      string       `json:"writer"` // of this version; tells own writes from others'
}

// Verdict says what a settlement did.
type Verdict struct {
	Invocation *Invocation
	Replayed   bool // the same answer was accepted before
	Retried    bool // a retryable failure opened the next attempt
	Complete   bool // no call of the round waits any more
}

// Clone copies a round so that a change of one is not seen in the other.
func (r *Round) Clone() *Round {
	c := *r
	c.Invocations = append([]Invocation(nil), r.Invocations...)
	return &c
}

// Open adds a call [INV-1]. An id the round has already is
// upstream_protocol_error: ids are unique inside a run [INV-2]. A round whose
// calls were cancelled is invocation_closed.
func (r *Round) Open(inv Invocation, now time.Time) error {
	if r.Cancelled != "" {
		return fault.New(fault.InvocationClosed, "the run of this call was given up")
	}
	for i := range r.Invocations {
		if r.Invocations[i].ID == inv.ID || r.Invocations[i].ShownID == inv.ShownID {
			return fault.New(fault.UpstreamProtocolError, "tool call %q was made twice in one run", inv.CallID)
		}
	}
	inv.State, inv.Created = Open, now
	inv.Outcome, inv.Settlement, inv.Ended, inv.Released, inv.ReleasedAt = "", nil, time.Time{}, false, time.Time{}
	if r.Released { // an upstream that waits on each call: it is answerable at once
		inv.Released, inv.ReleasedAt = true, now
	}
	if inv.Attempt == 0 {
		inv.Attempt = 1
	}
	if inv.Delivery == "" {
		inv.Delivery = Held
	}
	r.Invocations = append(r.Invocations, inv)
	return nil
}

// Release makes the open calls of the round answerable by whoever runs them.
func (r *Round) Release(now time.Time) {
	r.Released = true
	for i := range r.Invocations {
		if inv := &r.Invocations[i]; inv.State == Open && !inv.Released {
			inv.Released, inv.ReleasedAt = true, now
		}
	}
	r.ripen(now)
}

// Find gives the call a client means by its public, shown or upstream id: an open
// one before a final one, the newest before an older [INV-2]; nil if there is
// none.
func (r *Round) Find(ref string) *Invocation {
	if ref == "" {
		return nil
	}
	// What clients were shown comes first: it may be the upstream's id of another.
	if inv := r.newest(func(inv *Invocation) bool { return inv.ID == ref || inv.ShownID == ref }); inv != nil {
		return inv
	}
	return r.newest(func(inv *Invocation) bool { return inv.CallID == ref })
}

// newest gives the newest open call that is meant, else the newest.
func (r *Round) newest(meant func(*Invocation) bool) (found *Invocation) {
	for i := len(r.Invocations) - 1; i >= 0; i-- {
		inv := &r.Invocations[i]
		if !meant(inv) {
			continue
		}
		if inv.State == Open {
			return inv
		}
		if found == nil {
			found = inv
		}
	}
	return found
}

// Settle answers a call. The first answer wins; the same again is replayed,
// another is action_result_conflict with the accepted one in it [INV-3]. attempt
// 0 was not sent; another than the current one is stale_attempt [INV-4]. A call
// that was cancelled, or whose deadline has passed, is invocation_closed. A
// retryable failure opens the next attempt while the call's Attempts last; the
// last one settles.
func (r *Round) Settle(ref string, attempt int, s *Settlement, now time.Time) (Verdict, error) {
	inv := r.Find(ref)
	if inv == nil {
		return Verdict{}, fault.New(fault.InvocationNotFound, "there is no such invocation")
	}
	switch {
	case inv.State == Cancelled:
		return Verdict{}, closed(inv, "it was cancelled")
	case inv.State == Expired, inv.State == Open && inv.late(now):
		return Verdict{}, closed(inv, "its deadline has passed")
	}
	if attempt != 0 && attempt != inv.Attempt {
		return Verdict{}, fault.New(fault.StaleAttempt, "the current attempt is %d, not %d", inv.Attempt, attempt).At("/attempt")
	}
	if inv.State == Settled {
		if inv.Settlement == nil { // a damaged record: there is nothing to compare with
			return Verdict{}, closed(inv, "it was answered already")
		}
		if inv.Settlement.Same(s) {
			return Verdict{Invocation: inv, Replayed: true, Complete: r.Done()}, nil
		}
		return Verdict{}, fault.New(fault.ActionResultConflict, "this call was already answered, differently").
			At(inv.ID).With("accepted", inv.Settlement.AppendAccepted(nil))
	}
	if s.Outcome == Failed && s.Error != nil && s.Error.Retryable && inv.Attempt < inv.Attempts {
		inv.Attempt++
		inv.Failures++
		return Verdict{Invocation: inv, Retried: true}, nil
	}
	kept := *s
	inv.State, inv.Outcome, inv.Settlement, inv.Ended, inv.Delivery = Settled, s.Outcome, &kept, now, Held
	return Verdict{Invocation: inv, Complete: r.Done()}, nil
}

// Settling is one answer of several.
type Settling struct {
	Ref        string // public, shown or upstream id
	Attempt    int    // 0 when not sent
	Settlement *Settlement
}

// SettleAll answers several calls: all of them, or, with an error, none. The
// verdicts are in the order of the answers; the last one says whether the round
// is complete. Two answers for one call are a conflict unless they are the same.
func (r *Round) SettleAll(answers []Settling, now time.Time) ([]Verdict, error) {
	c := r.Clone()
	out := make([]Verdict, len(answers))
	first := map[*Invocation]int{}
	for i, a := range answers {
		inv := c.Find(a.Ref)
		if n, again := first[inv]; again && inv != nil && out[n].Retried {
			if !answers[n].Settlement.Same(a.Settlement) {
				return nil, fault.New(fault.ActionResultConflict, "this call was answered twice, differently").At(inv.ID)
			}
			out[i] = Verdict{Invocation: inv, Replayed: true}
			continue
		}
		first[inv] = i
		v, err := c.Settle(a.Ref, a.Attempt, a.Settlement, now)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	*r = *c // the verdicts point into c's calls, which are r's from here
	return out, nil
}

func closed(inv *Invocation, why string) *fault.Error {
	return fault.New(fault.InvocationClosed, "this call takes no answer any more: %s", why).At(inv.ID)
}

func (inv *Invocation) late(now time.Time) bool {
	return !inv.Deadline.IsZero() && now.After(inv.Deadline)
}

// CancelOpen cancels every open call, gives them, and lets the round open no more.
func (r *Round) CancelOpen(reason string, now time.Time) []*Invocation {
	if r.Cancelled == "" {
		r.Cancelled = reason
	}
	open := r.OpenCalls()
	for _, inv := range open {
		inv.State, inv.Reason, inv.Ended = Cancelled, reason, now
	}
	if r.Duty != nil && r.Duty.State == DutyNamed { // nobody goes on by himself with a run that was given up
		d := *r.Duty
		d.State, d.Code, d.Since = DutyFailed, reason, now
		r.Duty = &d
	}
	return open
}

// CancelCall cancels one open call; nil if it is not there or not open.
func (r *Round) CancelCall(ref, reason string, now time.Time) *Invocation {
	inv := r.Find(ref)
	if inv == nil || inv.State != Open {
		return nil
	}
	inv.State, inv.Reason, inv.Ended = Cancelled, reason, now
	r.ripen(now)
	return inv
}

// Expire ends the open calls whose deadline has passed and tells whether there
// were any.
func (r *Round) Expire(now time.Time) bool {
	any := false
	for _, inv := range r.OpenCalls() {
		if inv.late(now) {
			inv.State, inv.Reason, inv.Ended, any = Expired, "deadline", inv.Deadline, true
		}
	}
	if any && r.Duty == nil && r.Released { // the model is told that nobody answered
		r.Duty = &Duty{State: DutyNamed, By: ByGateway, Since: now}
	}
	r.ripen(now)
	return any
}

// OpenCalls gives the calls that wait, in call order.
func (r *Round) OpenCalls() (out []*Invocation) {
	for i := range r.Invocations {
		if r.Invocations[i].State == Open {
			out = append(out, &r.Invocations[i])
		}
	}
	return out
}

// Done reports that no call waits.
func (r *Round) Done() bool { return len(r.OpenCalls()) == 0 }

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
