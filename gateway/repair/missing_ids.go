package repair

// missingIDs gives each segment without messageId one id (F039): the id of what
// is open and goes on, else a new one derived from the run's. An empty id is
// none: nothing could be told apart by it.
func (c *Chain) missingIDs(e *event) bool {
	if e.has(messageID) {
		return true
	}
	if v := e.raw(messageID); v != nil && v[0] != '"' && v[0] != 'n' {
		return true // of another type: field_types is off, or it is no id at all
	}
	switch e.kind {
	case textChunk, thoughtChunk:
		return c.missingChunkID(e)
	case callResult:
		e.putText(messageID, c.newID("result"))
	case textStart, thoughtStart, spanStart:
		e.putText(messageID, c.newID(wordOf(e.kind)))
	default:
		open := c.books.listOf(e.kind)
		switch {
		case len(open) > 0:
			e.putText(messageID, open[len(open)-1])
		case e.kind == textContent || e.kind == thoughtContent:
			e.putText(messageID, c.newID(wordOf(e.kind)))
		default:
			return true // an end of nothing
		}
	}
	c.did(rowMissingIDs)
	return true
}

func wordOf(k kind) string {
	switch k {
	case textStart, textContent, textChunk:
		return "text"
	}
	return "reasoning"
}

// missingChunkID: only the first chunk of a segment needs an id; a client finds
// the rest by their lane.
func (c *Chain) missingChunkID(e *event) bool {
	empty := e.raw(messageID) != nil
	if c.lanes.goesOn(e, nil) != nil {
		if empty {
			e.cut(keyNames[messageID])
			c.did(rowMissingIDs)
		}
		return true
	}
	if open := c.books.listOf(e.kind); len(open) > 0 && c.active(rowStartTwice) {
		e.putText(messageID, open[len(open)-1]) // START and chunks, mixed
	} else {
		e.putText(messageID, c.newID(wordOf(e.kind)))
	}
	c.did(rowMissingIDs)
	return true
}
