package agui

import "fmt"

// Sequence checks the order of one stream's events: the rules that
// @ag-ui/client 1.0.0 applies when it expands chunks and verifies, and on top
// that exactly one terminal event ends the stream [RUN-2]. The zero value is
// ready. It looks at order only; the form of each event is Validate's.
type Sequence struct {
	// ManyRuns lets a RUN_STARTED follow a terminal event, as in the stream of a
	// whole thread. Else nothing may follow one.
	ManyRuns bool

	n       int   // events seen
	ended   bool  // the last run has its terminal event
	started bool  // a run is, or was, going on
	err     error // the first fault; it stays
	run     runState
}

// SequenceError says which event broke which rule.
type SequenceError struct {
	Index int    // of the event, from 0; at the end of the stream the number of events
	Type  Type   // "" at the end of the stream
	Rule  string // what is asked for
}

func (e *SequenceError) Error() string {
	if e.Type == "" {
		return fmt.Sprintf("end of stream after %d events: %s", e.Index, e.Rule)
	}
	return fmt.Sprintf("event %d (%s): %s", e.Index, e.Type, e.Rule)
}

// Push takes the next event. The error is a *SequenceError; after the first one
// Push gives it again.
func (s *Sequence) Push(f Frame) error {
	if s.err != nil {
		return s.err
	}
	if rule := s.push(f); rule != "" {
		s.err = &SequenceError{Index: s.n, Type: f.Type, Rule: rule}
		return s.err
	}
	s.n++
	return nil
}

// End says whether the stream may end here.
func (s *Sequence) End() error {
	switch {
	case s.err != nil:
		return s.err
	case s.n == 0:
		return &SequenceError{Rule: "a stream has at least RUN_STARTED and a terminal event"}
	case !s.ended:
		return &SequenceError{Index: s.n, Rule: "the last event must be RUN_FINISHED or RUN_ERROR"}
	}
	return nil
}

// push gives the rule that f breaks, "" when none.
func (s *Sequence) push(f Frame) string {
	switch {
	case s.ended && !s.ManyRuns:
		return "nothing may follow the terminal event"
	case s.ended && f.Type != RunStarted:
		return "only RUN_STARTED may follow a terminal event"
	case s.n == 0 && f.Type != RunStarted && f.Type != RunError:
		return "the first event must be RUN_STARTED or RUN_ERROR"
	case f.Type == RunStarted && s.started && !s.ended:
		return "a run is still active; it must end before the next RUN_STARTED"
	}
	if f.Type == RunStarted {
		s.run, s.started, s.ended = newRunState(), true, false
	}
	if s.run.open == nil { // RUN_ERROR as the first event
		s.run = newRunState()
	}
	if !f.Type.Known() {
		return "" // a 1.0 client drops it before it looks at the order
	}
	if rule := s.run.chunk(f); rule != "" {
		return rule
	}
	if rule := s.run.take(f); rule != "" {
		return rule
	}
	s.ended = f.Type.Terminal()
	return ""
}
