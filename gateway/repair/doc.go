// Package repair mends what agents in the field get wrong before the run's
// machine sees it: events without ids, empty deltas, nulls, two messages of one
// id, texts that were never started.
//
// Each repair is one small step with a name, which an agent's configuration can
// switch and the metrics count. A step changes what a published client would
// end the run for or show wrongly, and nothing else: an event nothing is wrong
// with leaves as the bytes that came [RUN-7]. A repair that would have to guess
// is off until somebody who knows the agent turns it on.
//
// What the run's machine does is not done here: closing what is open at the end,
// ids of the client's run, joining a second run, dropping a second RUN_STARTED
// and what comes after the end. The package has no I/O, clock or goroutine.
package repair
