package gateway

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// one after the other, each operation with its output.
type linLine struct {
	in  linIn
	out linOut
}

func inTurn(lines ...linLine) (ops []porcupine.Operation) {
	for i, l := range lines {
		ops = append(ops, porcupine.Operation{ClientId: i, Input: l.in, Output: l.out, Call: int64(2 * i), Return: int64(2*i + 1)})
	}
	return ops
}

// atOnce lets all of them overlap.
func atOnce(lines ...linLine) []porcupine.Operation {
	ops := inTurn(lines...)
	for i := range ops {
		ops[i].Call, ops[i].Return = 0, 100
	}
	return ops
}

// linExample is a history and whether the gateway may have it.
type linExample struct {
		name  string
		ops   []porcupine.Operation
		legal bool
	}{
		{"the first wins", atOnce(resolve(0, 0, yes), resolve(0, 1, conflict(0))), true},
		{"both win", atOnce(resolve(0, 0, yes), resolve(0, 1, yes)), false},
		{"the second wins", inTurn(resolve(0, 0, yes), resolve(0, 1, yes), look(1, tool.Held)), false},
		{"the conflict names another value", atOnce(resolve(0, 0, yes), resolve(0, 1, conflict(1))), false},
		{"equal is replayed", inTurn(resolve(0, 0, yes), resolve(0, 0, again(0))), true},
		{"equal is accepted twice", inTurn(resolve(0, 0, yes), resolve(0, 0, yes)), false},
		{"replayed before it is there", inTurn(resolve(0, 0, again(0)), resolve(0, 0, yes)), false},
		{"closed after a cancel", inTurn(after(cancelled, []linLine{resolve(0, 0, linOut{code: fault.InvocationClosed})})...), true},
		{"settled after a cancel", inTurn(after(cancelled, []linLine{resolve(0, 0, yes)})...), false},
		{"closed without a cancel", inTurn(resolve(0, 0, linOut{code: fault.InvocationClosed})), false},
		{"told once", inTurn(after(both, told(1, bySelf, "done"))...), true},
		{"told by the gateway before all is answered", inTurn(after(both[:1], told(1, bySelf, "done"))...), false},
		{"told twice", inTurn(after(both, told(1, bySelf, "done"), told(2, bySelf, "done"))...), false},
		{"told again by a client", inTurn(after(both, told(1, bySelf, "done"), told(2, byResults, "done"))...), false},
		{"told again by request", inTurn(after(both, told(1, bySelf, "done"), told(2, byRequest, "done"))...), false},
		{"told again by request after a failure", inTurn(after(both, told(1, bySelf, "failed"), []linLine{goOn("")}, told(2, byRequest, "done"))...), true},
		{"told again by itself after a failure", inTurn(after(both, told(1, bySelf, "failed"), told(2, bySelf, "done"))...), false},
		{"told again by a client after a failure", inTurn(after(both, told(1, bySelf, "failed"), told(2, byResults, "done"))...), true},
		{"joined after a failure", inTurn(after(both, told(1, bySelf, "failed"), []linLine{{linIn{act: actTurnJoins, vals: [2]int{0, 1}}, linOut{}}})...), false},
		{"joined when it is done", inTurn(after(both, told(1, bySelf, "done"), []linLine{{linIn{act: actTurnJoins, vals: [2]int{0, 1}}, linOut{}}})...), true},
		{"sent away after three failures", inTurn(after(both, failing(1), failing(2), failing(3), waits)...), true},
		{"sent away after two", inTurn(after(both, failing(1), failing(2), waits)...), false},
		{"told by itself after its run was given up", inTurn(after(givenUp, told(2, bySelf, "done"))...), false},
		{"told by request after its run was given up", inTurn(after(givenUp, []linLine{goOn("")}, told(2, byRequest, "done"))...), true},
		{"told by itself after what is missing was passed over", inTurn(after(both[:1], cancelled, told(2, bySelf, "done"))...), true},
		{"two runs at a time", inTurn(run(actTake, 1, byResults, ""), run(actTake, 2, byResults, "")), false},
		{"stopped while a run is there", inTurn(run(actTake, 1, byResults, ""), stop(true), run(actGone, 1, byResults, "")), true},
		{"stopped when none is there", inTurn(run(actTake, 1, byResults, ""), run(actGone, 1, byResults, ""), stop(true)), false},
		{"not stopped while a run is there", inTurn(run(actTake, 1, byResults, ""), stop(false), run(actGone, 1, byResults, "")), false},
		{"continued when it waits", inTurn(after(both, []linLine{goOn("")})...), true},
		{"continued before it is complete", inTurn(after(both[:1], []linLine{goOn("")})...), false},
		{"continued when it is done", inTurn(after(both, told(1, bySelf, "done"), []linLine{goOn("")})...), false},
		{"not continued when it waits", inTurn(after(both, []linLine{goOn(fault.RunConflict)})...), false},
		{"shown as held after it was told", inTurn(after(both, told(1, bySelf, "done"), []linLine{look(0, tool.Held)})...), false},
		{"shown as open after it was settled", inTurn(resolve(0, 0, yes), look(isOpen, "")), false},
	}

func linExamples() []linExample {
	yes := linOut{ok: true}
	resolve := func(call, val int, out linOut) linLine {
		var vals [2]int
		vals[call] = val
		return linLine{linIn{act: actResolve, call: call, vals: vals}, out}
	}
	again := func(call int) linOut {
		out := yes
		out.replayed[call] = true
		return out
	}
	conflict := func(val int) linOut { return linOut{code: fault.ActionResultConflict, accepted: val} }
	look := func(val int, d tool.Delivery) linLine {
		return linLine{linIn{act: actLook}, linOut{ok: true, val: val, delivery: d}}
	}
	stop := func(ok bool) linLine { return linLine{linIn{act: actStop}, linOut{ok: ok}} }
	goOn := func(code fault.Code) linLine {
		return linLine{linIn{act: actContinue}, linOut{ok: code == "", code: code}}
	}
	run := func(a act, n int, by asker, gave string) linLine {
		return linLine{linIn{act: a, run: n, by: by, gave: gave}, linOut{ok: a == actAsk}}
	}
	told := func(n int, by asker, gave string) []linLine {
		return []linLine{run(actTake, n, by, ""), run(actAsk, n, by, ""), run(actHeard, n, by, ""), run(actEnd, n, by, gave), run(actGone, n, by, "")}
	}
	both := []linLine{resolve(0, 0, yes), resolve(1, 1, yes)}
	after := func(parts ...[]linLine) (out []linLine) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	cancelled := []linLine{run(actTake, 1, byMessage, ""), {linIn{act: actTurnPasses, run: 1}, linOut{}}, run(actGone, 1, byMessage, "")}
	givenUp := []linLine{run(actTake, 1, byResults, ""), resolve(0, 0, yes), run(actOpened, 1, "", "cancelled"), run(actGone, 1, "", "")}
	failing := func(n int) []linLine { return told(n, byResults, "failed") }
	waits := []linLine{{linIn{act: actTurnWaits, run: 9}, linOut{}}}
	return []linExample{
	}
}

// The model can say no: each rule has a history that breaks it and a neighbour that
// keeps it.
func TestLinearModelRefuses(t *testing.T) {
	for _, c := range linExamples() {
		first := linState{call: [2]int{isOpen, isOpen}, released: true}
		if got := porcupine.CheckOperations(linModel(first, linStep), c.ops); got != c.legal {
			t.Errorf("%s: legal %v, want %v", c.name, got, c.legal)
		}
		last := &linCase{h: &linHistory{}, last: lastValues(c.ops)}
		if got := porcupine.CheckOperations(linModel(first, linStep), last.thin(c.ops)); got != c.legal {
			t.Errorf("%s: legal %v once it is thinned, want %v", c.name, got, c.legal)
		}
	}
}

// lastValues is what the calls of a history in turn are in the end.
func lastValues(ops []porcupine.Operation) [2]int {
	s := linState{call: [2]int{isOpen, isOpen}, released: true}
	for _, o := range ops {
		_, s = linStep(s, o.Input.(linIn), o.Output.(linOut))
	}
	return s.call
}

// A gateway that is held against wrong rules is found out: in the first the second
// settlement wins, in the next whoever comes is answered with 200.
func TestLinearMutations(t *testing.T) {
	s, err := store.Open(context.Background(), store.Options{Dir: store.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	w := newLinWorld(t, s)
	c := w.newCase(0, 1)
	wait := c.begin(rand.New(rand.NewPCG(1, 1)), false)
	for val := range 2 {
		c.resolve(w.gateways[0], 0, [2]int{val, 0})
	}
	c.look(w.gateways[0], 0)
	wait()
	ops := c.h.done()
	if !porcupine.CheckOperations(linModel(c.first, linStep), ops) {
		t.Fatal("the history is refused by the rules as they are")
	}
	secondWins := func(s linState, in linIn, out linOut) (bool, linState) {
		if in.act == actResolve && s.call[in.call] >= 0 {
			s.call[in.call] = in.vals[in.call]
			return true, s
		}
		return linStep(s, in, out)
	}
	if porcupine.CheckOperations(linModel(c.first, secondWins), ops) {
		t.Error("a model in which the second settlement wins finds nothing wrong")
	}
	both := &linCase{w: w, h: &linHistory{}, invs: c.invs}
	for val := range 2 {
		called := w.take.now()
		done, err := saysYes{}.Resolve(context.Background(), principal.Anonymous, c.invs[0], answerOf(c.invs[0], val))
		out := refused(err)
		out.ok, out.replayed[0] = err == nil, done.Replayed
		both.h.note(called, w.take.now(), linIn{act: actResolve, vals: [2]int{val, 0}}, out)
	}
	if porcupine.CheckOperations(linModel(c.first, linStep), both.h.done()) {
		t.Error("a gateway that accepts two different answers passes")
	}
	if text := smallest(linModel(c.first, linStep), both.h.ops); strings.Count(text, "\n") != 2 {
		t.Errorf("what is shown of it is\n%s", text)
	}
}

// saysYes accepts every answer.
type saysYes struct{}

func (saysYes) Resolve(context.Context, principal.Principal, string, frontend.Answer) (frontend.Resolved, error) {
	return frontend.Resolved{}, nil
}
