package repair

import "strings"

// rolesOf says which role of a text another framework's word is.
var rolesOf = map[string]string{
	"assistant": "assistant", "ai": "assistant", "model": "assistant", "bot": "assistant", "agent": "assistant",
	"human": "user", "user": "user", "system": "system", "developer": "developer",
}

// roles writes the role the protocol has. A word it does not know stays: whose
// text it is cannot be told.
func (c *Chain) roles(e *event) bool {
	v := e.raw(role)
	switch e.kind {
	case thoughtStart: // required, and only this one
		if string(v) != `"reasoning"` && e.text(role) != "reasoning" {
			c.did(rowRoles)
			e.putText(role, "reasoning")
		}
	case callResult:
		if v != nil && v[0] == '"' && e.text(role) != "tool" {
			c.did(rowRoles)
			e.putText(role, "tool")
		}
	default:
		if v == nil || v[0] != '"' || len(v) > 16 {
			return true
		}
		was := e.text(role)
		if is := rolesOf[strings.ToLower(was)]; is != "" && is != was {
			c.did(rowRoles)
			e.putText(role, is)
		}
	}
	return true
}
