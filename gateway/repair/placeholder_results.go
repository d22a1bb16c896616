package repair

import (
	"strings"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// emptyWords is what stands in the place of a result that nobody has yet.
var emptyWords = map[string]bool{
	"": true, "null": true, "none": true, "undefined": true, "{}": true, "[]": true,
	"pending": true, "waiting": true, "deferred": true, "in_progress": true, "forwarded to client": true,
}

// placeholders drops the result that some frameworks give at once for a tool the
// client has to run: shown to the client it would close the call.
func (c *Chain) placeholders(e *event) bool {
	id := e.text(toolCallID)
	if e.kind != callResult {
		if len(c.asked) < maxOpen && len(id) <= maxID && e.has(toolName) && c.set.Client != nil && c.set.Client(e.text(toolName)) {
			if c.asked == nil {
				c.asked = map[string]struct{}{}
			}
			c.asked[id] = struct{}{}
		}
		return true
	}
	if _, ok := c.asked[id]; !ok || !saysNothing(e.raw(content)) {
		return true
	}
	c.did(rowPlaceholders)
	return false
}

// saysNothing tells a placeholder: an empty word in any case, or {"status":
// "pending"} and its like, as JSON or as the text of it.
func saysNothing(raw []byte) bool {
	const longest = 256 // bytes of a placeholder
	if len(raw) > longest {
		return false
	}
	text := string(raw)
	if s := plain(raw); s != nil {
		text = string(s)
	}
	text = strings.Trim(strings.ToLower(strings.TrimSpace(text)), `".`)
	if emptyWords[text] {
		return true
	}
	if !strictjson.Valid([]byte(text)) {
		return false
	}
	status := agui.Frame{Raw: []byte(text)}.Text("status")
	return status != "" && emptyWords[status]
}
