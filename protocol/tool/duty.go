package tool

import "time"

// Duty is the task to tell the agent the answers of a round, once all its calls
// have ended: who does it, and whether it was done. It is written with the answer
// that completes the round, so it survives whatever happens afterwards [INV-11,
// INV-12].
type Duty struct {
	State DutyState `json:"state"`
	By    Continuer `json:"by"`
	Run   string    `json:"run,omitempty"` // id of the run that does it, once that is known
	Key   string    `json:"key,omitempty"` // that run's own key: clients use run ids again
	Since time.Time `json:"since"`
	Code  string    `json:"code,omitempty"`  // why it failed
	Fails int       `json:"fails,omitempty"` // how often it has failed so far
}

// DutyState is where a duty stands.
type DutyState string

// The states, in their order. DutyDue may be taken by any run that brings the answers;
// Sent is not repeated unless somebody asks for it.
const (
	DutyNamed  DutyState = "named"  // answered so far, but some call of the round still waits
	DutyDue    DutyState = "due"    // every call has ended, nobody has told the agent
	DutySent   DutyState = "sent"   // a request with the answers went out, or is about to
	DutyDone   DutyState = "done"   // its run came to its end
	DutyFailed DutyState = "failed" // its run ended in an error, or died
)

// Continuer is who starts the run that brings a round's answers.
type Continuer string

// The continuers.
const (
	ByClient  Continuer = "client"
	ByGateway Continuer = "gateway"
)

// Name says who continues if the answer just given was the last one of the round:
// a client's run, or with run "" whoever of the client's comes, or the gateway.
// Each answer names anew; what comes while a run is telling others waits for that
// run's end.
func (r *Round) Name(by Continuer, run, key string, now time.Time) {
	if r.Duty == nil || r.Duty.State != DutySent {
		r.Duty = &Duty{State: DutyNamed, By: by, Run: run, Key: key, Since: now}
	}
	r.ripen(now)
}

// ripen makes a named duty due once no call of the released round waits.
func (r *Round) ripen(now time.Time) {
	if r.Duty == nil || r.Duty.State != DutyNamed || !r.Released || !r.Complete() {
		return
	}
	d := *r.Duty
	d.State, d.Since = DutyDue, now
	r.Duty = &d
}

// Complete reports that no call of the round keeps the agent waiting: each has
// ended, or was told as not answered yet.
func (r *Round) Complete() bool {
	for i := range r.Invocations {
		if inv := &r.Invocations[i]; inv.State == Open && !inv.Kept {
			return false
		}
	}
	return true
}

// Take makes run the one that tells the agent, before the first byte goes out. It
// reports false when another run has done so: the agent is told once [INV-12]. A
// duty that failed, or that nobody had, can be taken again.
func (r *Round) Take(by Continuer, run, key string, now time.Time) bool {
	if d := r.Duty; d != nil && d.Key != key && (d.State == DutySent || d.State == DutyDone) {
		return false
	}
	fails := 0
	if r.Duty != nil {
		fails = r.Duty.Fails
	}
	r.Duty = &Duty{State: DutySent, By: by, Run: run, Key: key, Since: now, Fails: fails}
	return true
}

// Finish ends the duty a run has taken: code "" for a run that came to its end. It
// reports whether there was such a duty.
func (r *Round) Finish(key, code string, now time.Time) bool {
	if r.Duty == nil || r.Duty.State != DutySent || r.Duty.Key != key {
		return false
	}
	d := *r.Duty
	d.State, d.Since = DutyDone, now
	if code != "" {
		d.State, d.Code = DutyFailed, code
		d.Fails++
	}
	r.Duty = &d
	if r.untold() { // answered meanwhile: a call that was kept waiting [RUN-6]
		r.Duty = &Duty{State: DutyNamed, By: ByGateway, Since: now}
		r.ripen(now)
	}
	return true
}

// untold reports an answer that came after its round had been told.
func (r *Round) untold() bool {
	for i := range r.Invocations {
		if inv := &r.Invocations[i]; inv.Kept && inv.State == Settled && inv.Delivery == Held {
			return true
		}
	}
	return false
}

// Orphan ends the duty of a run that died after its request went out: whether the
// agent has read the answers is not known, so nobody sends them again by itself.
func (r *Round) Orphan(key string, now time.Time) bool {
	if !r.Finish(key, "interrupted", now) {
		return false
	}
	for i := range r.Invocations {
		if inv := &r.Invocations[i]; inv.State == Settled && inv.Delivery == Sent {
			inv.Delivery = Unknown
		}
	}
	return true
}

// Leave ends a duty that nobody is to do by himself any more: the conversation goes on
// without the round, unless it comes back to it. It reports whether there was one.
func (r *Round) Leave(reason string, now time.Time) bool {
	if r.Duty == nil || r.Duty.State != DutyNamed && r.Duty.State != DutyDue {
		return false
	}
	d := *r.Duty
	d.State, d.Code, d.Since = DutyFailed, reason, now
	r.Duty = &d
	return true
}

// Keep notes that the agent was told "not answered yet" of an open call, which
// stays open [RUN-6].
func (r *Round) Keep(ref string, now time.Time) bool {
	inv := r.Find(ref)
	if inv == nil || inv.State != Open || inv.Kept {
		return false
	}
	inv.Kept = true
	r.ripen(now)
	return true
}
