package gateway

import (
	"context"
	"math/rand/v2"
	"slices"
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

// The lines that the examples are made of.
var (
	linYes         = linOut{ok: true}
	bothLines      = []linLine{resolveLine(0, 0, linYes), resolveLine(1, 1, linYes)}
	cancelledLines = []linLine{runLine(actTake, 1, byMessage, ""), {linIn{act: actTurnPasses, run: 1}, linOut{}}, runLine(actGone, 1, byMessage, "")}
	givenUpLines   = []linLine{runLine(actTake, 1, byResults, ""), resolveLine(0, 0, linYes), runLine(actOpened, 1, "", "cancelled"), runLine(actGone, 1, "", "")}
	waitsLines     = []linLine{{linIn{act: actTurnWaits, run: 9}, linOut{}}}
)

func resolveLine(call, val int, out linOut) linLine {
	var vals [2]int
	vals[call] = val
	return linLine{linIn{act: actResolve, call: call, vals: vals}, out}
}

func linAgain(call int) linOut {
	out := linYes
	out.replayed[call] = true
	return out
}

func linConflict(val int) linOut { return linOut{code: fault.ActionResultConflict, accepted: val} }

func lookLine(val int, d tool.Delivery) linLine {
	return linLine{linIn{act: actLook}, linOut{ok: true, val: val, delivery: d}}
}

func stopLine(ok bool) linLine { return linLine{linIn{act: actStop}, linOut{ok: ok}} }

func continueLine(code fault.Code) linLine {
	return linLine{linIn{act: actContinue}, linOut{ok: code == "", code: code}}
}

func runLine(a act, n int, by asker, gave string) linLine {
	return linLine{linIn{act: a, run: n, by: by, gave: gave}, linOut{ok: a == actAsk}}
}

// toldLines is a run that asks the agent, from its start to its end.
func toldLines(n int, by asker, gave string) []linLine {
	return []linLine{runLine(actTake, n, by, ""), runLine(actAsk, n, by, ""), runLine(actHeard, n, by, ""), runLine(actEnd, n, by, gave), runLine(actGone, n, by, "")}
}

func failingLines(n int) []linLine { return toldLines(n, byResults, "failed") }

func linAfter(parts ...[]linLine) (out []linLine) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// linExample is a history, and whether the rules allow it.
type linExample struct {
	name  string
	ops   []porcupine.Operation
	legal bool
}

// settleExamples are about who wins a call.
func settleExamples() []linExample {
	return []linExample{
		{"the first wins", atOnce(resolveLine(0, 0, linYes), resolveLine(0, 1, linConflict(0))), true},
		{"both win", atOnce(resolveLine(0, 0, linYes), resolveLine(0, 1, linYes)), false},
		{"the second wins", inTurn(resolveLine(0, 0, linYes), resolveLine(0, 1, linYes), lookLine(1, tool.Held)), false},
		{"the conflict names another value", atOnce(resolveLine(0, 0, linYes), resolveLine(0, 1, linConflict(1))), false},
		{"equal is replayed", inTurn(resolveLine(0, 0, linYes), resolveLine(0, 0, linAgain(0))), true},
		{"equal is accepted twice", inTurn(resolveLine(0, 0, linYes), resolveLine(0, 0, linYes)), false},
		{"replayed before it is there", inTurn(resolveLine(0, 0, linAgain(0)), resolveLine(0, 0, linYes)), false},
		{"closed after a cancel", inTurn(linAfter(cancelledLines, []linLine{resolveLine(0, 0, linOut{code: fault.InvocationClosed})})...), true},
		{"settled after a cancel", inTurn(linAfter(cancelledLines, []linLine{resolveLine(0, 0, linYes)})...), false},
		{"closed without a cancel", inTurn(resolveLine(0, 0, linOut{code: fault.InvocationClosed})), false},
	}
}

// tellExamples are about when the agent is told, and how often.
func tellExamples() []linExample {
	return []linExample{
		{"told once", inTurn(linAfter(bothLines, toldLines(1, bySelf, "done"))...), true},
		{"told by the gateway before all is answered", inTurn(linAfter(bothLines[:1], toldLines(1, bySelf, "done"))...), false},
		{"told twice", inTurn(linAfter(bothLines, toldLines(1, bySelf, "done"), toldLines(2, bySelf, "done"))...), false},
		{"told again by a client", inTurn(linAfter(bothLines, toldLines(1, bySelf, "done"), toldLines(2, byResults, "done"))...), false},
		{"told again by request", inTurn(linAfter(bothLines, toldLines(1, bySelf, "done"), toldLines(2, byRequest, "done"))...), false},
		{"told again by request after a failure", inTurn(linAfter(bothLines, toldLines(1, bySelf, "failed"), []linLine{continueLine("")}, toldLines(2, byRequest, "done"))...), true},
		{"told again by itself after a failure", inTurn(linAfter(bothLines, toldLines(1, bySelf, "failed"), toldLines(2, bySelf, "done"))...), false},
		{"told again by a client after a failure", inTurn(linAfter(bothLines, toldLines(1, bySelf, "failed"), toldLines(2, byResults, "done"))...), true},
		{"joined after a failure", inTurn(linAfter(bothLines, toldLines(1, bySelf, "failed"), []linLine{{linIn{act: actTurnJoins, vals: [2]int{0, 1}}, linOut{}}})...), false},
		{"joined when it is done", inTurn(linAfter(bothLines, toldLines(1, bySelf, "done"), []linLine{{linIn{act: actTurnJoins, vals: [2]int{0, 1}}, linOut{}}})...), true},
		{"sent away after three failures", inTurn(linAfter(bothLines, failingLines(1), failingLines(2), failingLines(3), waitsLines)...), true},
		{"sent away after two", inTurn(linAfter(bothLines, failingLines(1), failingLines(2), waitsLines)...), false},
		{"told by itself after its run was given up", inTurn(linAfter(givenUpLines, toldLines(2, bySelf, "done"))...), false},
		{"told by request after its run was given up", inTurn(linAfter(givenUpLines, []linLine{continueLine("")}, toldLines(2, byRequest, "done"))...), true},
		{"told by itself after what is missing was passed over", inTurn(linAfter(bothLines[:1], cancelledLines, toldLines(2, bySelf, "done"))...), true},
	}
}

// roundExamples are about runs, stops and what is shown.
func roundExamples() []linExample {
	return []linExample{
		{"two runs at a time", inTurn(runLine(actTake, 1, byResults, ""), runLine(actTake, 2, byResults, "")), false},
		{"stopped while a run is there", inTurn(runLine(actTake, 1, byResults, ""), stopLine(true), runLine(actGone, 1, byResults, "")), true},
		{"stopped when none is there", inTurn(runLine(actTake, 1, byResults, ""), runLine(actGone, 1, byResults, ""), stopLine(true)), false},
		{"not stopped while a run is there", inTurn(runLine(actTake, 1, byResults, ""), stopLine(false), runLine(actGone, 1, byResults, "")), false},
		{"continued when it waits", inTurn(linAfter(bothLines, []linLine{continueLine("")})...), true},
		{"continued before it is complete", inTurn(linAfter(bothLines[:1], []linLine{continueLine("")})...), false},
		{"continued when it is done", inTurn(linAfter(bothLines, toldLines(1, bySelf, "done"), []linLine{continueLine("")})...), false},
		{"not continued when it waits", inTurn(linAfter(bothLines, []linLine{continueLine(fault.RunConflict)})...), false},
		{"shown as held after it was told", inTurn(linAfter(bothLines, toldLines(1, bySelf, "done"), []linLine{lookLine(0, tool.Held)})...), false},
		{"shown as open after it was settled", inTurn(resolveLine(0, 0, linYes), lookLine(isOpen, "")), false},
	}
}

// The model can say no: each rule has a history that breaks it and a neighbour that
// keeps it.
func TestLinearModelRefuses(t *testing.T) {
	for _, c := range slices.Concat(settleExamples(), tellExamples(), roundExamples()) {
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
