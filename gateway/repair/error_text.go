package repair

import (
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// errorText gives RUN_ERROR the message it must have, so that the client sees the
// agent's error instead of one about its form.
func (c *Chain) errorText(e *event) bool {
	changed := false
	if strictjson.KindOf(e.f.Field("message")) != strictjson.Str {
		text := errorSaid(e.f)
		e.replace(e.f.WithText("message", text))
		changed = true
	}
	switch code := e.f.Field("code"); {
	case code == nil || code[0] == '"' || code[0] == 'n': // null is nulls' work
	case strictjson.KindOf(code) == strictjson.Number:
		e.replace(e.f.With("code", quoted(code)))
		changed = true
	default:
		e.cut("code")
		changed = true
	}
	if changed {
		c.did(rowErrorText)
	}
	return true
}

// errorSaid looks for the text where servers put it that have no message.
func errorSaid(f agui.Frame) string {
	for _, k := range []string{"message", "error", "detail", "reason"} {
		if v := f.Field(k); v != nil && v[0] != 'n' {
			if text, _ := said(v); text != noErrorText {
				return text
			}
		}
	}
	return noErrorText
}
