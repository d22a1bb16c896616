package repair

import "slices"

// stepOrder drops the end of a step that is not open and the start of one that
// is. A step belongs to who started it.
func (c *Chain) stepOrder(e *event) bool {
	if c.books.full || e.raw(stepName) == nil {
		return true
	}
	open := slices.Contains(c.books.steps, step{e.text(subagent), e.text(stepName)})
	if open == (e.kind == stepFinished) {
		return true
	}
	c.did(rowSteps)
	return false
}
