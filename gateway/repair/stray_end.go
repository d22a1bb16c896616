package repair

// strayEnd drops the END of what is not open. Ends of tool calls are the machine's.
func (c *Chain) strayEnd(e *event) bool {
	if c.books.full || find(c.books.listOf(e.kind), e.bytes(messageID)) >= 0 {
		return true
	}
	c.did(rowStrayEnd)
	return false
}
