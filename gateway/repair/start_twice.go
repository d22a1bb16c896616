package repair

// startTwice drops a START of what is open: clients end the run for it. A call
// that starts again under another name is a fault the machine names.
func (c *Chain) startTwice(e *event) bool {
	if e.kind == callStart {
		i := c.books.call(e.bytes(toolCallID))
		if i < 0 || c.books.calls[i].tool != string(e.bytes(toolName)) {
			return true
		}
	} else if find(c.books.listOf(e.kind), e.bytes(messageID)) < 0 {
		return true
	}
	c.did(rowStartTwice)
	return false
}
