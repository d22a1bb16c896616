package tool_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/tool"
)

// dutyRound is a round that is driven by words, one step each:
//
//	open:0     a call is made               settle:0   it is answered (nobody is named)
//	answer:0   answered; client a names itself          resolve:0  answered; the gateway is named
//	cancel:0   passed over                  expire     what has a deadline ends
//	stop       CancelOpen                   keep:0     told as not answered yet
//	release    answerable                   name:a     client a, or "gateway"
//	take:a     a tells the agent            heard:a    the agent has begun to answer a
//	finish:a   a came to its end            fail:a     it did not
//	orphan:a   its process died             leave      nobody is to tell
//
// A step that reports false is written with a ! in front of it.
type dutyRound struct {
	round tool.Round
	now   time.Time
}

func (d *dutyRound) do(step string) bool {
	d.now = d.now.Add(time.Second)
	word, who, _ := strings.Cut(step, ":")
	r := &d.round
	switch word {
	case "open", "brief":
		inv := tool.Invocation{ID: who, ShownID: who}
		if word == "brief" {
			inv.Deadline = d.now.Add(time.Minute)
		}
		return r.Open(inv, d.now) == nil
	case "settle", "answer", "resolve":
		s, _ := tool.NewResult(tool.FormText, []byte(who), tool.Limits{})
		v, err := r.Settle(who, 0, s, d.now)
		switch {
		case err != nil:
			return false
		case v.Replayed: // it names nobody
		case word == "answer":
			r.Name(tool.ByClient, "run-a", "a", d.now)
		case word == "resolve":
			r.Name(tool.ByGateway, "", "", d.now)
		}
		return true
	case "cancel":
		return r.CancelCall(who, "unanswered", d.now) != nil
	case "expire":
		d.now = d.now.Add(time.Hour)
		return r.Expire(d.now)
	case "stop":
		return len(r.CancelOpen("stopped", d.now)) > 0
	case "keep":
		return r.Keep(who, d.now)
	case "release":
		r.Release(d.now)
		return true
	case "name":
		r.Name(tool.ByClient, "run-"+who, who, d.now)
		return true
	case "take":
		if !r.Take(tool.ByClient, "run-"+who, who, d.now) {
			return false
		}
		d.deliver(tool.Held, tool.Sent)
		return true
	case "heard":
		d.deliver(tool.Sent, tool.Delivered)
		return true
	case "finish":
		return r.Finish(who, "", d.now)
	case "fail":
		return r.Finish(who, "broken", d.now)
	case "orphan":
		return r.Orphan(who, d.now)
	case "leave":
		return r.Leave("hidden", d.now)
	}
	panic(step)
}

// deliver is what the run that tells writes with its duty.
func (d *dutyRound) deliver(from, to tool.Delivery) {
	for i := range d.round.Invocations {
		if inv := &d.round.Invocations[i]; inv.State == tool.Settled && inv.Delivery == from {
			inv.Delivery = to
		}
	}
}

func (d *dutyRound) String() string {
	if d.round.Duty == nil {
		return "none"
	}
	return strings.Join(strings.Fields(fmt.Sprint(d.round.Duty.State, " ", d.round.Duty.By, " ", d.round.Duty.Key, " ", d.round.Duty.Code)), " ")
}

// Where a duty stands after each course of things [INV-11, INV-12, RUN-6].
func TestDuty(t *testing.T) {
	for _, c := range []struct{ name, steps, want string }{
		{"nobody has answered", "open:0 release", "none"},
		{"answered before the round is released", "open:0 resolve:0", "named gateway"},
		{"due with the release", "open:0 resolve:0 release", "due gateway"},
		{"due with the last answer", "open:0 open:1 release resolve:0 answer:1", "due client a"},
		{"the last answer names", "open:0 open:1 release answer:0 resolve:1", "due gateway"},
		{"one is missing", "open:0 open:1 release answer:0", "named client a"},
		{"the other is passed over", "open:0 open:1 release answer:0 cancel:1", "due client a"},
		{"the other expires", "open:0 brief:1 release resolve:0 expire", "due gateway"},
		{"all expire", "brief:0 release expire", "due gateway"},
		{"all expire before the release", "brief:0 expire release", "none"},
		{"all expire when some were told", "brief:0 brief:1 release keep:1 answer:0 take:a finish:a expire", "done client a"},
		{"the other expires before the release", "open:0 brief:1 resolve:0 expire", "named gateway"},
		{"and is due with it", "open:0 brief:1 resolve:0 expire release", "due gateway"},
		{"the run that asked is stopped", "open:0 open:1 resolve:0 stop", "failed gateway stopped"},
		{"stopped, and released too late", "open:0 open:1 resolve:0 stop release", "failed gateway stopped"},
		{"stopped when all is answered", "open:0 resolve:0 !stop", "failed gateway stopped"},
		{"stopped, and told by who asks for it", "open:0 open:1 resolve:0 stop take:a finish:a", "done client a"},
		{"stopped when it is due", "open:0 release resolve:0 !stop", "due gateway"},
		{"stopped while somebody tells", "open:0 release answer:0 take:a !stop", "sent client a"},
		{"stopped when it is done", "open:0 release answer:0 take:a finish:a !stop", "done client a"},
		{"nobody answered before the stop", "open:0 stop release", "none"},
		{"the other is told as not answered yet", "open:0 open:1 release keep:1 answer:0", "due client a"},
		{"and so is the last", "open:0 open:1 release answer:0 keep:1", "due client a"},
		{"kept twice", "open:0 release keep:0 !keep:0", "none"},
		{"kept after its answer", "open:0 release resolve:0 !keep:0", "due gateway"},
		{"kept, and there is no such call", "open:0 !keep:9", "none"},
		{"taken", "open:0 release answer:0 take:a", "sent client a"},
		{"taken by two", "open:0 release answer:0 take:a !take:b", "sent client a"},
		{"taken by whom it was not named for", "open:0 release answer:0 take:b", "sent client b"},
		{"taken twice by the same", "open:0 release answer:0 take:a take:a", "sent client a"},
		{"taken without having been named", "open:0 release settle:0 take:b", "sent client b"},
		{"done", "open:0 release answer:0 take:a finish:a", "done client a"},
		{"done is done", "open:0 release answer:0 take:a finish:a !take:b !finish:a !leave", "done client a"},
		{"ended by another", "open:0 release answer:0 take:a !finish:b", "sent client a"},
		{"ended before it was taken", "open:0 release answer:0 !finish:a", "due client a"},
		{"failed", "open:0 release answer:0 take:a fail:a", "failed client a broken"},
		{"a failed one is taken again", "open:0 release answer:0 take:a fail:a take:b", "sent client b"},
		{"and done", "open:0 release answer:0 take:a fail:a take:b finish:b", "done client b"},
		{"its process died", "open:0 release answer:0 take:a orphan:a", "failed client a interrupted"},
		{"another's process died", "open:0 release answer:0 take:a !orphan:b", "sent client a"},
		{"an equal answer names nobody", "open:0 release answer:0 take:a finish:a resolve:0", "done client a"},
		{"left while it is due", "open:0 release resolve:0 leave", "failed gateway hidden"},
		{"left while it is named", "open:0 open:1 release resolve:0 leave cancel:1", "failed gateway hidden"},
		{"left, and come back to", "open:0 release answer:0 leave take:b finish:b", "done client b"},
		{"left twice", "open:0 release answer:0 leave !leave", "failed client a hidden"},
		{"not left while somebody tells", "open:0 release resolve:0 take:a !leave", "sent client a"},
		{"not left, since there is none", "open:0 release !leave", "none"},
		{"named while somebody tells", "open:0 open:1 release keep:1 answer:0 take:a resolve:1", "sent client a"},
		{"a late answer is told after that", "open:0 open:1 release keep:1 answer:0 take:a resolve:1 finish:a", "due gateway"},
		{"also if it failed", "open:0 open:1 release keep:1 answer:0 take:a resolve:1 fail:a", "due gateway"},
		{"also if it died", "open:0 open:1 release keep:1 answer:0 take:a resolve:1 orphan:a", "due gateway"},
		{"a late answer to a told round", "open:0 open:1 release keep:1 answer:0 take:a finish:a resolve:1", "due gateway"},
		{"a late answer that was told", "open:0 open:1 release keep:1 answer:0 take:a finish:a resolve:1 take:b finish:b", "done client b"},
		{"kept and never answered", "open:0 open:1 release keep:1 answer:0 take:a finish:a cancel:1", "done client a"},
	} {
		d := &dutyRound{now: time.Unix(1000, 0)}
		for step := range strings.FieldsSeq(c.steps) {
			word, no := strings.CutPrefix(step, "!")
			if d.do(word) == no {
				t.Errorf("%s: %s is %v", c.name, word, !no)
			}
		}
		if d.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, d, c.want)
		}
	}
}

// Whether the agent has read what a dead run was telling is not known; what it has
// answered to, and what was not sent, is.
func TestOrphanDelivery(t *testing.T) {
	for _, c := range []struct{ steps, want string }{
		{"open:0 open:1 release answer:0 answer:1 take:a orphan:a", "unknown unknown"},
		{"open:0 open:1 release answer:0 answer:1 take:a heard:a orphan:a", "delivered delivered"},
		{"open:0 open:1 release keep:1 answer:0 take:a resolve:1 orphan:a", "unknown held"},
		{"open:0 open:1 release answer:0 cancel:1 take:a orphan:a", "unknown held"},
		{"open:0 open:1 release answer:0 answer:1 take:a orphan:b", "sent sent"},
	} {
		d := &dutyRound{now: time.Unix(1000, 0)}
		for step := range strings.FieldsSeq(c.steps) {
			d.do(step)
		}
		if got := fmt.Sprint(d.round.Invocations[0].Delivery, " ", d.round.Invocations[1].Delivery); got != c.want {
			t.Errorf("%s: %s, want %s", c.steps, got, c.want)
		}
	}
}

// How often it has failed is counted over the runs that try, and begins anew with a
// new answer.
func TestDutyFails(t *testing.T) {
	d := &dutyRound{now: time.Unix(1000, 0)}
	for step := range strings.FieldsSeq("open:0 open:1 release keep:1 answer:0 take:a fail:a take:b orphan:b take:a") {
		d.do(step)
	}
	if d.round.Duty.Fails != 2 {
		t.Errorf("%d failures, want 2", d.round.Duty.Fails)
	}
	d.do("fail:a")
	d.do("resolve:1")
	if d.round.Duty.Fails != 0 {
		t.Errorf("%d failures of a new answer", d.round.Duty.Fails)
	}
}

// teller is what the rules say of a duty, kept beside the round.
type teller struct {
	t     *testing.T
	d     dutyRound
	by    string          // the run that tells now
	told  map[string]bool // answers some run has gone out with
	over  bool            // a run came to its end, or the round was left, with nothing new since
	steps []string
}

// Whatever happens in whatever order: never do two runs tell, what was told to the
// end is not told again, and an answer nobody has told is never forgotten.
func TestDutyModel(t *testing.T) {
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		m := &teller{t: t, d: dutyRound{now: time.Unix(1000, 0)}, told: map[string]bool{}}
		for i := range 1 + rng.IntN(3) {
			m.step([]string{"open", "brief"}[rng.IntN(2)] + fmt.Sprintf(":%d", i))
		}
		for range 25 {
			m.step(m.any(rng))
			if t.Failed() {
				return
			}
		}
	}
}

// any picks a step that the gateway could take: nobody tells a round of which a call
// keeps the agent waiting.
func (m *teller) any(rng *rand.Rand) string {
	call, run := fmt.Sprintf(":%d", rng.IntN(3)), ":"+[]string{"a", "b", "c"}[rng.IntN(3)]
	switch n := rng.IntN(17); {
	case n < 3:
		return "answer" + call
	case n < 5:
		return "resolve" + call
	case n == 5:
		return "cancel" + call
	case n == 6:
		return "keep" + call
	case n == 7:
		return "release"
	case n < 11 && m.d.round.Complete():
		return "take" + run
	case n == 11:
		return "heard" + run
	case n == 12:
		return "finish" + run
	case n == 13:
		return "fail" + run
	case n == 14:
		return []string{"orphan" + run, "leave"}[rng.IntN(2)]
	case n == 15:
		return "stop"
	}
	return []string{"expire", "release"}[rng.IntN(2)]
}

// step does one step and holds what it did against the rules.
func (m *teller) step(step string) {
	m.steps = append(m.steps, step)
	before, was := m.d.round.Duty, tool.Duty{}
	if before != nil {
		was = *before
	}
	waiting := len(m.d.round.OpenCalls())
	ok := m.d.do(step)
	if before != nil && *before != was {
		m.wrong("the duty was changed in place")
	}
	word, who, _ := strings.Cut(step, ":")
	switch word {
	case "answer", "resolve":
		if len(m.d.round.OpenCalls()) < waiting {
			m.over = false
		}
	case "take":
		if ok != (m.by == "" && !m.over || m.by == who || m.over && was.Key == who) {
			m.wrong("taken: %v, while %q tells", ok, m.by)
		}
		if ok {
			m.by, m.over = who, false
			m.tell()
		}
	case "finish", "fail", "orphan":
		if ok != (m.by == who) {
			m.wrong("ended: %v, while %q tells", ok, m.by)
		}
		if ok {
			m.by, m.over = "", word == "finish" && m.untold() == ""
		}
	case "leave":
		if ok {
			m.tell() // who comes back to it does, or nobody
		}
	case "stop":
		if was.State == tool.DutyNamed {
			m.tell()
		}
	}
	m.check()
}

// tell notes every answer there is as told.
func (m *teller) tell() {
	for _, inv := range m.d.round.Invocations {
		if inv.State == tool.Settled {
			m.told[inv.ID] = true
		}
	}
}

// untold names an answer no run has gone out with.
func (m *teller) untold() string {
	for _, inv := range m.d.round.Invocations {
		if inv.State == tool.Settled && !m.told[inv.ID] {
			return inv.ID
		}
	}
	return ""
}

func (m *teller) check() {
	r := &m.d.round
	state := tool.DutyState("none")
	if r.Duty != nil {
		state = r.Duty.State
	}
	if (state == tool.DutySent) != (m.by != "") || m.by != "" && r.Duty.Key != m.by {
		m.wrong("the duty is %s, while %q tells", &m.d, m.by)
	}
	if ready := r.Released && r.Complete(); ready && state == tool.DutyNamed || !ready && state == tool.DutyDue && !r.Complete() {
		m.wrong("the duty is %s, complete %v, released %v", state, r.Complete(), r.Released)
	}
	if id := m.untold(); id != "" && state != tool.DutyNamed && state != tool.DutyDue && state != tool.DutySent {
		m.wrong("the answer of call %s is forgotten: the duty is %s", id, &m.d)
	}
	if m.over && state != tool.DutyDone {
		m.wrong("it was told, and is %s", &m.d)
	}
}

func (m *teller) wrong(format string, args ...any) {
	m.t.Helper()
	m.t.Errorf("%s: %s", strings.Join(m.steps, " "), fmt.Sprintf(format, args...))
}
