package gateway

import (
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/tool"
)

// What porcupine has to try grows with the operations that overlap. Most of them only
// look, and of those most say nothing that another does not say more exactly: they
// are left out before the history is judged, which is legal exactly if it was.

// doubts gives what may have happened in several measures: nothing of it; one turn
// having had the thread for a moment; each turn, and some or all of the results of
// stopped turns being accepted beside.
func (c *linCase) doubts() [][]porcupine.Operation {
	var moments, settles []porcupine.Operation
	for _, o := range c.h.doubt {
		if o.Input.(linIn).act == actTurnSettles {
			settles = append(settles, o)
		} else {
			moments = append(moments, o)
		}
	}
	out := [][]porcupine.Operation{nil}
	for pair := range slices.Chunk(moments, 2) {
		out = append(out, pair)
	}
	for some := range 1 << min(len(settles), 3) {
		with := slices.Clone(moments)
		for n, o := range settles {
			if some>>n&1 == 1 {
				with = append(with, o)
			}
		}
		if len(with) > 0 {
			out = append(out, with)
		}
	}
	return out
}

// thin leaves out what is said more exactly by others.
func (c *linCase) thin(ops []porcupine.Operation) (out []porcupine.Operation) {
	type saying struct {
		in  linIn
		out linOut
	}
	alike := map[saying][]porcupine.Operation{}
	var order []saying
	settled := settledBy(ops)
	for _, o := range ops {
		in, res := o.Input.(linIn), o.Output.(linOut)
		if c.waited(o) {
			continue
		}
		if in.act == actTurnSettles && settled(in.vals) {
			res.ok = true // it repeats what others have settled
		}
		if !onlyLooks(in, res) {
			out = append(out, o)
			continue
		}
		in.run, in.by, in.gave = noRun, "", ""
		if in.act == actResolve {
			in.vals[1-in.call] = 0
		}
		k := saying{in, res}
		if alike[k] == nil {
			order = append(order, k)
		}
		alike[k] = append(alike[k], o)
	}
	for _, k := range order {
		out = append(out, c.sharpest(k.in, k.out, alike[k])...)
	}
	return out
}

// waited reports a refusal of a busy thread that a waiting turn is reason enough for.
func (c *linCase) waited(o porcupine.Operation) bool {
	return (o.Output.(linOut).code == fault.ThreadBusy || o.Input.(linIn).act == actTurnBusy) &&
		slices.ContainsFunc(c.h.waits, func(w [2]int64) bool { return w[0] <= o.Return && w[1] >= o.Call })
}

// settledBy tells of which calls the history has the settlement that was the first.
func settledBy(ops []porcupine.Operation) (all func(vals [2]int) bool) {
	var known [2]bool
	for _, o := range ops {
		in, out := o.Input.(linIn), o.Output.(linOut)
		for i, v := range in.vals {
			carried := in.act == actResolve && in.call == i || in.act == actResolveAll && v != notCarried
			known[i] = known[i] || carried && out.ok && !out.replayed[i]
		}
	}
	return func(vals [2]int) bool {
		return (vals[0] == notCarried || known[0]) && (vals[1] == notCarried || known[1])
	}
}

// onlyLooks reports an operation that has changed nothing.
func onlyLooks(in linIn, out linOut) bool {
	switch in.act {
	case actLook, actStop, actContinue, actTurnBusy, actTurnRefused, actTurnJoins, actTurnWaits:
		return true
	case actTurnSettles:
		return out.ok
	case actResolve:
		return !out.ok || out.replayed[in.call]
	case actResolveAll:
		for i, v := range in.vals {
			if out.ok && v != notCarried && !out.replayed[i] {
				return false
			}
		}
		return true
	}
	return false
}

// sharpest gives those of alike operations that the rest follows from. What stays
// possible once it is possible has to be so at the first end; what is possible until
// it is not, at the last beginning; what is possible for one span of time, at both.
// Anything else only has to be possible inside the shortest spans.
func (c *linCase) sharpest(in linIn, res linOut, ops []porcupine.Operation) []porcupine.Operation {
	first, last := ops[0], ops[0]
	for _, o := range ops {
		if o.Return < first.Return {
			first = o
		}
		if o.Call > last.Call {
			last = o
		}
	}
	stays, was := c.stays(in, res)
	switch {
	case stays:
		first.Call = first.Return
		return []porcupine.Operation{first}
	case was:
		last.Return = last.Call
		return []porcupine.Operation{last}
	case in.act == actLook && first.ClientId != last.ClientId:
		return []porcupine.Operation{first, last}
	case in.act == actLook:
		return []porcupine.Operation{first}
	}
	var out []porcupine.Operation
	for _, o := range ops {
		if slices.ContainsFunc(out, func(p porcupine.Operation) bool { return o.Call <= p.Call && o.Return >= p.Return }) {
			continue
		}
		out = slices.DeleteFunc(out, func(p porcupine.Operation) bool { return p.Call <= o.Call && p.Return >= o.Return })
		out = append(out, o)
	}
	return out
}

// stays says of an operation whether it is possible from some time on for good, or
// up to some time: each call is open until it is what it is at last.
func (c *linCase) stays(in linIn, out linOut) (stays, was bool) {
	switch in.act {
	case actLook:
		return out.val == isCancelled || out.delivery == tool.Delivered, out.val == isOpen
	case actContinue:
		return false, !out.ok && out.code == fault.IncompleteResults
	case actResolve, actResolveAll, actTurnRefused, actTurnSettles:
	default:
		return false, false
	}
	var can [4]bool
	for some := range can {
		s := linState{call: [2]int{isOpen, isOpen}}
		for i := range s.call {
			if some>>i&1 == 1 {
				s.call[i] = c.last[i]
			}
		}
		ok, next := linStep(s, in, out)
		can[some] = ok && next == s
	}
	rises := func(a, b int) bool { return !can[a] || can[b] }
	stays = can[3] && rises(0, 1) && rises(0, 2) && rises(1, 3) && rises(2, 3)
	was = can[0] && rises(1, 0) && rises(2, 0) && rises(3, 1) && rises(3, 2)
	return stays, was
}
