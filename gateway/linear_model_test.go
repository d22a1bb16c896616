package gateway

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/tool"
)

// The sequential gateway that concurrent histories are held against: one thread with
// one round of two calls. What callers see, what the agent sees and what runs do are
// operations on it alike.

// act is one kind of operation.
type act string

const (
	// Asked by callers.
	actResolve    act = "resolve"     // settle one call [INV-3]
	actResolveAll act = "resolve-all" // settle the round, all or nothing
	actLook       act = "look"        // read one call
	actStop       act = "stop"        // [RUN-10]
	actContinue   act = "continue"    // [INV-12]

	// Parts of a client's turn.
	actTurnSettles act = "turn-settles" // its results are accepted
	actTurnRefused act = "turn-refused" // one of them is not
	actTurnBusy    act = "turn-busy"    // it may not wait
	actTurnJoins   act = "turn-joins"   // its results were, or are being, told [INV-11]
	actTurnWaits   act = "turn-waits"   // the agent has failed too often on its results
	actTurnPends   act = "turn-pends"   // others are still missing [RUN-5]
	actTurnPasses  act = "turn-passes"  // a new message goes on without open calls [RUN-6]

	// Parts of any run.
	actTake   act = "take"   // the thread is the run's
	actHold   act = "hold"   // the same, of a run that may not have come so far
	actGone   act = "gone"   // the thread is free again
	actOpened act = "opened" // the run that made the calls ends: released, or cancelled
	actAsk    act = "ask"    // the agent is asked; refused when another run has done so
	actHeard  act = "heard"  // the agent has begun to answer
	actEnd    act = "end"    // of a run that asked

	noRun = 0
)

// asker is who began a run.
type asker string

const (
	byResults asker = "results" // a turn with results
	byMessage asker = "message" // a turn with a new user message
	bySelf    asker = "self"    // the gateway, by itself
	byRequest asker = "request" // the gateway, because somebody called continue
)

// Values of a call beside 0, 1, …, which stand for its answers.
const (
	isOpen      = -1
	isCancelled = -2
	notCarried  = -3
)

type linIn struct {
	act  act
	run  int // number of the run, if the operation is one's
	by   asker
	call int
	vals [2]int // of actResolve the one at call
	gave string // how the run ended: done, failed, released, cancelled
}

type linOut struct {
	ok       bool
	code     fault.Code
	accepted int // of a conflict; notCarried where nobody is told
	replayed [2]bool
	val      int // of actLook
	delivery tool.Delivery
}

// linState is the whole state. It is compared by ==.
type linState struct {
	call     [2]int
	delivery [2]tool.Delivery
	released bool
	duty     tool.DutyState
	teller   int // the run that has the duty
	fails    int // of telling, one after the other
	active   int // the run that has the thread
}

// waits says that somebody may still ask the agent, who is told of it: nobody has, or
// it came to nothing.
func (s linState) waits() bool {
	return s.duty == tool.DutyNamed || s.duty == tool.DutyDue || s.duty == tool.DutyFailed
}

func (s linState) complete() bool { return s.call[0] != isOpen && s.call[1] != isOpen }

// settle answers one call, and says what its caller is told.
func (s *linState) settle(call, val int) linOut {
	switch have := s.call[call]; {
	case have == isCancelled:
		return linOut{code: fault.InvocationClosed}
	case have == isOpen:
		s.call[call], s.delivery[call] = val, tool.Held
		if s.duty != tool.DutySent {
			s.duty, s.fails = tool.DutyNamed, 0
		}
		s.ripen()
		return linOut{ok: true}
	case have == val:
		out := linOut{ok: true}
		out.replayed[call] = true
		return out
	default:
		return linOut{code: fault.ActionResultConflict, accepted: have}
	}
}

// settleSome answers the calls that vals carries, or none of them.
func (s *linState) settleSome(vals [2]int) linOut {
	after, out := *s, linOut{ok: true}
	for i, v := range vals {
		if v == notCarried {
			continue
		}
		one := after.settle(i, v)
		if !one.ok {
			return one
		}
		out.replayed[i] = one.replayed[i]
	}
	*s = after
	return out
}

func (s *linState) ripen() {
	if s.duty == tool.DutyNamed && s.released && s.complete() {
		s.duty = tool.DutyDue
	}
}

// passOver ends what is open: the conversation goes on without it [RUN-6].
func (s *linState) passOver() {
	s.cancelOpen()
	s.ripen()
}

// giveUp is the end of a run that did not come to its own: nobody continues by
// himself with what its calls were answered so far.
func (s *linState) giveUp() {
	s.cancelOpen()
	if s.duty == tool.DutyNamed {
		s.duty = tool.DutyFailed
	}
}

func (s *linState) cancelOpen() {
	for i := range s.call {
		if s.call[i] == isOpen {
			s.call[i] = isCancelled
		}
	}
}

// linStep says whether an operation can have had this output in this state.
func linStep(s linState, in linIn, out linOut) (bool, linState) {
	switch in.act {
	case actResolve:
		return s.settle(in.call, in.vals[in.call]) == out, s
	case actResolveAll:
		for i, v := range in.vals {
			if v == notCarried && s.call[i] == isOpen {
				return out == linOut{code: fault.IncompleteResults}, s
			}
		}
		return s.settleSome(in.vals) == out, s
	case actLook:
		return s.looks(in.call) == out, s
	case actStop:
		return out.ok == (s.active != noRun), s
	case actContinue:
		return s.continues(out), s
	case actTake, actHold, actGone:
		return linThread(s, in)
	case actOpened, actAsk, actHeard, actEnd:
		return linRunStep(s, in, out)
	}
	return linTurn(s, in, out)
}

func (s linState) looks(call int) linOut {
	out := linOut{ok: true, val: s.call[call]}
	if out.val >= 0 {
		out.delivery = s.delivery[call]
	}
	return out
}

// continues says whether Continue can answer so. The thread is looked at before the
// round, so a run that has the thread by then is thread_busy or no duty. So is one
// that waits for it, which thin knows.
func (s linState) continues(out linOut) bool {
	switch {
	case out.ok:
		return s.waits() && s.complete()
	case out.code == fault.ThreadBusy:
		return s.active != noRun
	case out.code == fault.IncompleteResults:
		return !s.complete()
	case out.code == fault.RunConflict:
		return !s.waits()
	}
	return false
}

func linTurn(s linState, in linIn, out linOut) (bool, linState) {
	switch in.act {
	case actTurnSettles:
		return s.settleSome(in.vals).ok, s
	case actTurnRefused:
		want := s.settleSome(in.vals)
		return !want.ok && want.code == out.code && (out.accepted == notCarried || out.accepted == want.accepted), s
	case actTurnBusy:
		return s.active != noRun, s
	case actTurnJoins:
		for i, v := range in.vals {
			if v != notCarried && v != s.call[i] {
				return false, s
			}
		}
		return s.duty == tool.DutyDue || s.duty == tool.DutySent || s.duty == tool.DutyDone, s
	case actTurnWaits:
		return s.duty == tool.DutyFailed && s.fails >= patience, s
	case actTurnPends:
		return s.active == in.run && !s.complete(), s
	case actTurnPasses:
		s.passOver()
		return s.active == in.run, s
	}
	return false, s
}

// linThread is who has the thread: one run at a time.
func linThread(s linState, in linIn) (bool, linState) {
	switch in.act {
	case actTake:
		own := in.by == bySelf || in.by == byRequest // for a round that waits, or did
		if s.active != noRun || own && !s.complete() {
			return false, s
		}
		s.active = in.run
	case actHold:
		if s.active == noRun {
			s.active = in.run
		}
	case actGone:
		if s.active == in.run {
			s.active = noRun
		}
	}
	return true, s
}

// linRunStep is what the run that has the thread does to the round.
func linRunStep(s linState, in linIn, out linOut) (bool, linState) {
	if s.active != in.run {
		return false, s
	}
	switch in.act {
	case actOpened:
		if in.gave == "cancelled" {
			s.giveUp()
			return true, s
		}
		s.released = true
		s.ripen()
	case actAsk:
		return linAsk(s, in, out)
	case actHeard:
		for i := range s.delivery {
			if s.teller == in.run && s.delivery[i] == tool.Sent {
				s.delivery[i] = tool.Delivered
			}
		}
	case actEnd:
		if s.teller == in.run && s.duty == tool.DutySent {
			s.duty = tool.DutyState(in.gave)
			if in.gave == "failed" {
				s.fails++
			}
		}
	}
	return true, s
}

// linAsk holds that the agent is told a round once: again only when that failed, and
// then not by the gateway itself [INV-11, INV-12]. A client that has the thread is
// never turned away here.
func linAsk(s linState, in linIn, out linOut) (bool, linState) {
	may := s.duty == tool.DutyDue
	switch in.by {
	case byRequest, byResults:
		may = s.waits()
	case byMessage: // it brings what has not been told beside its own message
		may = true
	}
	if !out.ok {
		return !may && in.by != byResults && in.by != byMessage, s
	}
	if !may || !s.complete() {
		return false, s
	}
	told := in.by != byMessage
	for i, v := range s.call {
		told = told || v >= 0 && (s.delivery[i] != tool.Delivered || s.duty == tool.DutyDue || s.duty == tool.DutyFailed)
	}
	if !told || in.by == byMessage && (s.duty == tool.DutyDone || s.duty == tool.DutySent) {
		return true, s
	}
	s.duty, s.teller = tool.DutySent, in.run
	for i, v := range s.call {
		if v >= 0 && s.delivery[i] == tool.Held {
			s.delivery[i] = tool.Sent
		}
	}
	return true, s
}

// linModel begins at first, and steps as step says.
func linModel(first linState, step func(linState, linIn, linOut) (bool, linState)) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(s, in, out any) (bool, any) {
			return step(s.(linState), in.(linIn), out.(linOut))
		},
		DescribeOperation: func(in, out any) string { return in.(linIn).String() + out.(linOut).String() },
	}
}

// String is the operation in few words, with what matters to its kind.
func (in linIn) String() string {
	s := string(in.act)
	if in.run != noRun {
		s += fmt.Sprintf(" run %d", in.run)
	}
	switch in.act {
	case actResolve:
		s += fmt.Sprintf(" call %d with %d", in.call, in.vals[in.call])
	case actLook:
		s += fmt.Sprintf(" call %d", in.call)
	case actResolveAll, actTurnSettles, actTurnRefused, actTurnJoins:
		s += fmt.Sprintf(" %v", in.vals)
	}
	if in.by != "" {
		s += " by " + string(in.by)
	}
	return s + " " + in.gave
}

// String is what came of an operation.
func (out linOut) String() string {
	switch {
	case out == linOut{}:
		return ""
	case out.code == fault.ActionResultConflict:
		return fmt.Sprintf(" → %s, accepted %d", out.code, out.accepted)
	case out.code != "":
		return " → " + string(out.code)
	}
	return fmt.Sprintf(" → %t, replayed %v, value %d, %s", out.ok, out.replayed, out.val, out.delivery)
}
