package repair

import "github.com/aguigate/aguigate/protocol/agui"

// emptyArguments: what runs a client tool parses the arguments, and nothing is no
// JSON (F037). Calls that the end of the run closes are meant too.
func (c *Chain) emptyArguments(e *event) bool {
	for _, call := range c.books.calls {
		if call.args || e.kind == callEnd && call.id != string(e.bytes(toolCallID)) {
			continue
		}
		c.did(rowEmptyArguments)
		e.before = append(e.before, e.owned(agui.NewToolCallArgs(call.id, "{}")))
	}
	return true
}
