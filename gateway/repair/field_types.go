package repair

import (
	"math"
	"strconv"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// textKeys are the members that are text in every event that has them.
var textKeys = [...]key{messageID, toolCallID, parentID, subagent, threadID, runID, stepName, toolName}

// fieldTypes writes members in the type the protocol has, where the value that
// is meant is certain.
func (c *Chain) fieldTypes(e *event) bool {
	if !e.odd {
		return true
	}
	changed := false
	for _, k := range textKeys {
		if v := e.raw(k); v != nil && strictjson.KindOf(v) == strictjson.Number {
			e.put(k, quoted(v))
			changed = true
		}
	}
	changed = e.wholeTime() || changed
	switch e.kind {
	case textContent, thoughtContent, textChunk, thoughtChunk:
		changed = e.asText(delta, false) || changed
	case callArgs, callChunk:
		changed = e.asText(delta, true) || changed
	case callResult:
		changed = e.resultText() || changed
	}
	if changed {
		c.did(rowFieldTypes)
	}
	return true
}

// asText writes a number or a boolean as text, and with tree an object or an
// array as its JSON text.
func (e *event) asText(k key, tree bool) bool {
	v := e.raw(k)
	if v == nil {
		return false
	}
	switch strictjson.KindOf(v) {
	case strictjson.Number, strictjson.Bool:
	case strictjson.Object, strictjson.Array:
		if !tree {
			return false
		}
	default:
		return false
	}
	e.put(k, quoted(v))
	return true
}

// resultText: a result is text or a list of parts. JSON that is neither is what
// a server forgot to dump; null is a tool that returns nothing.
func (e *event) resultText() bool {
	v := e.raw(content)
	if v == nil {
		return false
	}
	switch strictjson.KindOf(v) {
	case strictjson.Null:
		e.put(content, []byte(`""`))
		return true
	case strictjson.Array:
		probe := agui.NewToolCallResultRaw("m", "c", v)
		if probe.Validate() == nil {
			return false
		}
	}
	return e.asText(content, true)
}

// wholeTime: a timestamp is a whole number. A number in quotes or with a fraction
// is made one in its own unit, a date in RFC 3339 one in milliseconds; what is
// no time is left out.
func (e *event) wholeTime() bool {
	v := e.raw(timestamp)
	switch {
	case v == nil || digits(v):
		return false
	case strictjson.KindOf(v) == strictjson.Null:
		return false // nulls' work
	case strictjson.KindOf(v) == strictjson.Str:
		v = plain(v)
		if t, err := time.Parse(time.RFC3339Nano, string(v)); err == nil {
			e.put(timestamp, strconv.AppendInt(nil, t.UnixMilli(), 10))
			return true
		}
	case strictjson.KindOf(v) != strictjson.Number:
		v = nil
	}
	n, err := strconv.ParseFloat(string(v), 64)
	whole := math.Trunc(n)
	switch {
	case err != nil || math.IsNaN(n) || math.Abs(whole) > 1<<53-1:
		e.cut(keyNames[timestamp])
	case whole == n && e.raw(timestamp)[0] != '"':
		return false // 1e3 and 1.0 are whole
	default:
		e.put(timestamp, strconv.AppendInt(nil, int64(whole), 10))
	}
	return true
}

func quoted(raw []byte) []byte { return strictjson.Quote(string(raw)) }
