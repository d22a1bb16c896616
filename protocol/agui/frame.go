package agui

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Frame is one AG-UI event: its type, and its JSON exactly as it came. Raw is
// never changed in place; With and Without give new slices, so frames can be
// shared. A Frame from ParseFrame shares the bytes it was given.
type Frame struct {
	Type Type
	Raw  []byte // one JSON object; blanks around it are possible
}

// ParseFrame checks one event: strict JSON, UTF-8, depth, an object, a "type"
// that is a string and not empty, no key twice and none that is another
// spelling of a protocol key of that event, at the top level [SEC-1]. Types the
// protocol does not know are legal. Whether the fields are right is asked of
// Validate. It keeps raw; a caller that will reuse the buffer copies first.
//
// The error is a *fault.Error with code upstream_protocol_error.
func ParseFrame(raw []byte) (Frame, error) {
	if err := strictjson.Check(raw); err != nil {
		return Frame{}, fault.New(fault.UpstreamProtocolError, "the agent sent an event that is refused: %v", err)
	}
	var keys keySet
	var name []byte
	cur := walk(raw)
	if cur.end != '}' {
		return Frame{}, badFrame("", "is no JSON object")
	}
	for {
		m, ok := cur.next()
		if !ok {
			break
		}
		key := cur.key(m)
		if !keys.add(key) {
			return Frame{}, badFrame("/"+pointerToken(key), "stands twice in one object")
		}
		if string(key) == "type" {
			name = cur.value(m)
		}
	}
	t := typeIn(name)
	if t == "" {
		return Frame{}, badFrame("/type", "must be a string that is not empty")
	}
	if key, right := keys.misspelt(ruleOf(t).pick(nil)); right != "" {
		return Frame{}, badFrame("/"+pointerToken(key), "is another spelling of "+right)
	}
	return Frame{Type: t, Raw: raw}, nil
}

func badFrame(at, text string) *fault.Error {
	what := at
	if at == "" {
		what = "it"
	}
	return fault.New(fault.UpstreamProtocolError, "the agent sent an event that is refused: %s %s", what, text).At(at)
}

// typeIn decodes the value of "type"; an event's type hardly ever has escapes.
func typeIn(raw []byte) Type {
	if !isString(raw) {
		return ""
	}
	in := raw[1 : len(raw)-1]
	if bytes.IndexByte(in, '\\') < 0 {
		return typeOf(in)
	}
	return typeOf([]byte(text(raw)))
}

// Field gives the raw value of a top-level key, nil when absent. It is a part of
// f.Raw and must not be written to.
func (f Frame) Field(key string) []byte { return field(f.Raw, key) }

// Text gives the decoded string under a top-level key, "" when it is absent or
// no string.
func (f Frame) Text(key string) string { return text(field(f.Raw, key)) }

// With gives the frame with key set to value, which must be one JSON value: that
// value's bytes are replaced, or the member is appended, and every other byte
// is as it was [RUN-7].
func (f Frame) With(key string, value []byte) Frame {
	out := Frame{Type: f.Type, Raw: splice(f.Raw, key, value)}
	if key == "type" {
		out.Type = typeIn(value)
	}
	return out
}

// WithText is With for a string.
func (f Frame) WithText(key, value string) Frame { return f.With(key, strictjson.Quote(value)) }

// Without gives the frame without the member key; the same frame when it has
// none.
func (f Frame) Without(key string) Frame { return Frame{Type: f.Type, Raw: cut(f.Raw, key)} }

// Validate reports the first field of a known type that a 1.0 client would end
// the run for: one that is required and missing, or one of the wrong JSON type,
// null of an optional field among them. Unknown fields, unknown types and
// unknown members of a union pass; such a client drops those.
//
// The error is a *fault.Error with code upstream_protocol_error and a JSON
// Pointer.
func (f Frame) Validate() error {
	if !f.Type.Known() {
		return nil
	}
	if err := eventChecker.check(ruleOf(f.Type), trim(f.Raw)); err != nil {
		return fault.New(fault.UpstreamProtocolError, "the agent sent a malformed %s event: %v", f.Type, err).At(err.at)
	}
	return nil
}

// WithoutNulls gives the frame without the nulls of optional protocol fields,
// also those in its messages and its outcome, and tells whether there were any.
// Nulls that are data stay: those in snapshots, patches, arguments, results,
// metadata and custom values.
func (f Frame) WithoutNulls() (Frame, bool) {
	if !bytes.Contains(f.Raw, nullWord) {
		return f, false
	}
	raw := withoutNulls(ruleOf(f.Type), trim(f.Raw))
	if len(raw) == len(trim(f.Raw)) {
		return f, false
	}
	return Frame{Type: f.Type, Raw: raw}, true
}

// eventChecker is never written to, as it takes no null for absent.
var eventChecker = &checker{lenient: true}

var nullWord = []byte("null")

// trim takes the blanks around checked JSON away.
func trim(raw []byte) []byte { return bytes.Trim(raw, " \n\r\t") }
