package repair

// emptyDeltas drops what says nothing (F034). For a 1.0 client one with metadata
// says something: such a client takes an empty delta, and the metadata is the
// message's.
func (c *Chain) emptyDeltas(e *event) bool {
	v := e.raw(delta)
	if len(v) > 2 && v[0] != 'n' {
		return true
	}
	if len(v) == 1 { // a digit, when field_types is off
		return true
	}
	if string(v) == `""` && c.set.Modern && e.raw(metadata) != nil {
		return true
	}
	c.did(rowEmptyDeltas)
	return false
}
