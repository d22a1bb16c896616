package repair

import "github.com/aguigate/aguigate/protocol/agui"

// missingStart starts a message that goes on without having begun. Arguments of a
// call that never began stay: nobody knows which tool is meant, and the machine
// ends the run for it.
func (c *Chain) missingStart(e *event) bool {
	if c.books.full || !e.has(messageID) || find(c.books.listOf(e.kind), e.bytes(messageID)) >= 0 {
		return true
	}
	c.did(rowMissingStart)
	f := agui.NewTextStart(e.text(messageID))
	if e.kind == thoughtContent {
		f = agui.NewReasoningMessageStart(e.text(messageID))
	}
	e.before = append(e.before, e.owned(f))
	return true
}
