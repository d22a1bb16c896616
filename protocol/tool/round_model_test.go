package tool_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

// model is what the rules say of a round, kept beside it: one entry a call.
type model struct {
	t         *testing.T
	round     tool.Round
	now       time.Time
	calls     []*expected
	cancelled bool // CancelOpen was called: no more calls
}

// expected is one call by the rules alone.
type expected struct {
	state    tool.State
	accepted int // index in answers, once settled
	attempt  int
	attempts int
	deadline time.Time
	released bool
}

// answers are settlements that no two of are the same [INV-3], except that a
// retryable failure reads as the plain one.
func answers(t *testing.T) []*tool.Settlement {
	made := func(form tool.Form, content string) *tool.Settlement {
		s, err := tool.NewResult(form, []byte(content), tool.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return []*tool.Settlement{
		made(tool.FormText, "a"), made(tool.FormJSON, `{"b":[1,2]}`), made(tool.FormParts, `[{"type":"text","text":"c"}]`),
		tool.NewDenied("", tool.Limits{}), tool.NewFailure("broken", "x", "", false, tool.Limits{}),
		tool.NewFailure("later", "x", "", true, tool.Limits{}),
	}
}

const retryable = 5 // the one of answers that is

// step does one thing to the round, picked by three bytes, and holds what it did
// against the model.
func (m *model) step(op, which, how byte) {
	m.now = m.now.Add(time.Duration(how%7) * time.Second)
	switch op % 8 {
	case 0:
		m.open(how)
	case 1:
		m.round.Release(m.now)
		for _, c := range m.calls {
			c.released = c.released || c.state == tool.Open
		}
	case 2, 3, 4:
		m.settle(which, how)
	case 5:
		m.cancel(which)
	case 6:
		m.expire()
	case 7:
		if how%16 == 0 {
			m.cancelOpen()
		}
	}
	m.check()
}

func (m *model) open(how byte) {
	n := len(m.calls)
	inv := tool.Invocation{
		ID: fmt.Sprint("inv_", n), CallID: fmt.Sprint("call_", n), ShownID: fmt.Sprint("shown_", n),
		Tool: "pick", Arguments: `{}`, Attempts: int(how % 4),
	}
	if how%3 == 0 {
		inv.Deadline = m.now.Add(20 * time.Second)
	}
	if err := m.round.Open(inv, m.now); (err != nil) != m.cancelled {
		m.t.Fatalf("opening a call in a round that was cancelled (%v) gives %v", m.cancelled, err)
	}
	if m.cancelled {
		return
	}
	m.calls = append(m.calls, &expected{
		state: tool.Open, attempt: 1, attempts: int(how % 4), deadline: inv.Deadline, released: m.round.Released,
	})
	inv.ID = "inv_other"
	m.unchanged(fault.UpstreamProtocolError, func() error { return m.round.Open(inv, m.now) })
}

// unchanged runs what has to be refused, and compares the round with before.
func (m *model) unchanged(code fault.Code, refuse func() error) *fault.Error {
	m.t.Helper()
	before := mustJSON(m.t, m.round)
	err := refuse()
	if got := fault.CodeOf(err); got != code {
		m.t.Fatalf("got %v, want %s", err, code)
	}
	if diff := cmp.Diff(before, mustJSON(m.t, m.round)); diff != "" {
		m.t.Fatalf("%s has changed the round:\n%s", code, diff)
	}
	return fault.From(err)
}

func (m *model) settle(which, how byte) {
	n := int(which) % (len(m.calls) + 1)
	all := answers(m.t)
	answer := int(how) % len(all)
	if n == len(m.calls) {
		m.unchanged(fault.InvocationNotFound, func() error { return m.try("nobody", 0, all[answer]) })
		return
	}
	c := m.calls[n]
	ref := fmt.Sprint([]string{"inv_", "call_", "shown_"}[how%3], n)
	late := !c.deadline.IsZero() && m.now.After(c.deadline)
	if c.state == tool.Cancelled || c.state == tool.Expired || c.state == tool.Open && late {
		m.unchanged(fault.InvocationClosed, func() error { return m.try(ref, 0, all[answer]) })
		return
	}
	m.unchanged(fault.StaleAttempt, func() error { return m.try(ref, c.attempt+1, all[answer]) })
	if c.state == tool.Settled {
		m.settleAgain(c, ref, answer, all)
		return
	}
	v, err := m.round.Settle(ref, c.attempt*int(how&1), all[answer], m.now)
	if err != nil {
		m.t.Fatalf("the first answer is refused: %v", err)
	}
	retried := answer == retryable && c.attempt < c.attempts
	if retried {
		c.attempt++
	} else {
		c.state, c.accepted = tool.Settled, answer
	}
	if v.Replayed || v.Retried != retried || v.Invocation.Attempt != c.attempt || v.Complete != m.done() {
		m.t.Fatalf("the verdict is %+v", v)
	}
}

// settleAgain repeats the accepted answer, and tries another.
func (m *model) settleAgain(c *expected, ref string, answer int, all []*tool.Settlement) {
	before := mustJSON(m.t, m.round)
	v, err := m.round.Settle(ref, 0, all[c.accepted], m.now)
	if err != nil || !v.Replayed || v.Retried || v.Complete != m.done() {
		m.t.Fatalf("an equal repeat gives %+v, %v", v, err)
	}
	if diff := cmp.Diff(before, mustJSON(m.t, m.round)); diff != "" {
		m.t.Fatalf("an equal repeat has changed the round:\n%s", diff)
	}
	if answer == c.accepted {
		return
	}
	f := m.unchanged(fault.ActionResultConflict, func() error { return m.try(ref, 0, all[answer]) })
	want := fmt.Sprintf(`{"accepted":%s}`, all[c.accepted].AppendAccepted(nil))
	if len(f.Detail) != 1 || fmt.Sprintf(`{"%s":%s}`, f.Detail[0].Key, f.Detail[0].Raw) != want {
		m.t.Fatalf("the conflict carries %s, want %s", f.Detail, want)
	}
}

func (m *model) try(ref string, attempt int, s *tool.Settlement) error {
	v, err := m.round.Settle(ref, attempt, s, m.now)
	if err != nil && v != (tool.Verdict{}) {
		m.t.Fatalf("a refusal comes with the verdict %+v", v)
	}
	return err
}

func (m *model) cancel(which byte) {
	n := int(which) % (len(m.calls) + 1)
	inv := m.round.CancelCall(fmt.Sprint("call_", n), "upstream_lost", m.now)
	open := n < len(m.calls) && m.calls[n].state == tool.Open
	if (inv != nil) != open {
		m.t.Fatalf("cancelling call %d gives %v, open is %v", n, inv, open)
	}
	if open {
		m.calls[n].state = tool.Cancelled
	}
}

func (m *model) cancelOpen() {
	want := 0
	for _, c := range m.calls {
		if c.state == tool.Open {
			c.state = tool.Cancelled
			want++
		}
	}
	if got := m.round.CancelOpen("stopped", m.now); len(got) != want {
		m.t.Fatalf("%d calls were cancelled, want %d", len(got), want)
	}
	m.cancelled = true
}

func (m *model) expire() {
	want := false
	for _, c := range m.calls {
		if c.state == tool.Open && !c.deadline.IsZero() && m.now.After(c.deadline) {
			c.state, want = tool.Expired, true
		}
	}
	if got := m.round.Expire(m.now); got != want {
		m.t.Fatalf("Expire gives %v, want %v", got, want)
	}
}

func (m *model) done() bool {
	for _, c := range m.calls {
		if c.state == tool.Open {
			return false
		}
	}
	return true
}

// check compares the whole round with the model, and with itself out of the store.
func (m *model) check() {
	m.t.Helper()
	if len(m.round.Invocations) != len(m.calls) || m.round.Done() != m.done() {
		m.t.Fatalf("%d calls, done %v; want %d, %v", len(m.round.Invocations), m.round.Done(), len(m.calls), m.done())
	}
	for i, c := range m.calls {
		inv := &m.round.Invocations[i]
		if inv.State != c.state || inv.Attempt != c.attempt || inv.Released != c.released || inv.Ended.IsZero() != (c.state == tool.Open) {
			m.t.Fatalf("call %d is %+v, want %+v", i, inv, c)
		}
		if inv.Released == inv.ReleasedAt.IsZero() {
			m.t.Fatalf("call %d is released %v at %v", i, inv.Released, inv.ReleasedAt)
		}
		switch settled := inv.State == tool.Settled; {
		case settled != (inv.Settlement != nil), settled != (inv.Outcome != ""):
			m.t.Fatalf("call %d is %s with outcome %q and settlement %v", i, inv.State, inv.Outcome, inv.Settlement)
		case settled && !inv.Settlement.Same(answers(m.t)[c.accepted]):
			m.t.Fatalf("call %d has another answer than the one it accepted", i)
		}
		if public := inv.AppendPublic(nil); !strictjson.Valid(public) {
			m.t.Fatalf("call %d is shown as %s", i, public)
		}
	}
	var stored tool.Round
	if err := json.Unmarshal([]byte(mustJSON(m.t, m.round)), &stored); err != nil {
		m.t.Fatal(err)
	}
	if diff := cmp.Diff(m.round, stored); diff != "" {
		m.t.Fatalf("the round comes out of the store changed:\n%s", diff)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func runModel(t *testing.T, steps []byte) {
	m := &model{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for ; len(steps) >= 3; steps = steps[3:] {
		if len(m.calls) >= 12 && steps[0]%8 == 0 {
			continue
		}
		m.step(steps[0], steps[1], steps[2])
	}
}

// TestRoundModel drives rounds by chance, the same chance each time: never two
// accepted outcomes, what is final stays final, an equal repeat is replayed,
// another is a conflict with the accepted one, a refusal changes nothing [ERR-1,
// INV-3, INV-4].
func TestRoundModel(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 7))
		steps := make([]byte, 3*50)
		for i := range steps {
			steps[i] = byte(random.Uint32())
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, steps) })
	}
}

// FuzzRoundModel is TestRoundModel with steps that coverage picks.
func FuzzRoundModel(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 0, 2, 0, 0, 2, 0, 1})
	f.Add([]byte{0, 0, 3, 2, 0, 5, 2, 0, 5, 2, 0, 5, 2, 0, 4, 0, 0, 6, 6, 0, 6, 7, 0, 16})
	f.Add([]byte{1, 0, 0, 0, 0, 1, 0, 0, 2, 5, 0, 0, 2, 1, 2, 2, 0, 3, 0, 0, 0})
	f.Fuzz(func(t *testing.T, steps []byte) { runModel(t, steps[:min(len(steps), 300)]) })
}
