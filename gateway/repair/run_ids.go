package repair

// runIDs fills in ids that are missing or no text. Ids that are others' are the
// machine's to replace [RUN-2].
func (c *Chain) runIDs(e *event) bool {
	changed := false
	for _, is := range [2]struct {
		k  key
		id string
	}{{threadID, c.set.Thread}, {runID, c.set.Run}} {
		if v := e.raw(is.k); v == nil || v[0] != '"' {
			e.putText(is.k, is.id)
			changed = true
		}
	}
	if changed {
		c.did(rowRunIDs)
	}
	return true
}
