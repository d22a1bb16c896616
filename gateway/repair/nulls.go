package repair

// deepNulls are the kinds whose protocol fields reach below the top level.
var deepNulls = setOf(runStarted, runFinished, runError, callResult, messagesSnapshot, subagentFinished, stateDelta, activityDelta)

// optionalNulls leaves out optional fields that are null (F035): a client with a
// strict schema ends the run for one.
func (c *Chain) optionalNulls(e *event) bool {
	if !e.nulls && !deepNulls.has(e.kind) {
		return true
	}
	if f, changed := e.f.WithoutNulls(); changed {
		c.did(rowNulls)
		e.replace(f)
	}
	return true
}
