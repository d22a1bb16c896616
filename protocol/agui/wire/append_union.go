package wire

import (
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// arm writes the object of a union as the field its "type" names: content parts
// and their sources. A type the schema does not have is dropped.
func (e *encoder) arm(m *message, raw []byte) *problem {
	tag := textIn(memberOf(raw, "type"))
	for i := range m.fields {
		if f := &m.fields[i]; f.name == tag {
			return e.field(i+1, f, raw)
		}
	}
	if m == part && tag == "binary" {
		return e.legacyBinary(raw)
	}
	return dropped
}

// legacyBinary writes the media part of 0.0.x as both packages do: a document
// whose metadata tells where it comes from. Its bytes are its data, else its
// url, else its id; without any it is dropped.
func (e *encoder) legacyBinary(raw []byte) *problem {
	for _, from := range []struct{ member, source string }{{"data", "data"}, {"url", "url"}, {"id", "url"}} {
		value := memberOf(raw, from.member)
		if len(value) <= 2 || value[0] != '"' {
			continue
		}
		b := append([]byte(`{"type":"document","source":{"type":"`), from.source...)
		b = append(append(b, `","value":`...), value...)
		b = addMember(b, "mimeType", memberOf(raw, "mimeType"))
		b = append(b, `},"metadata":{"legacyBinary":true`...)
		b = addMember(b, "filename", memberOf(raw, "filename"))
		b = addMember(b, "id", memberOf(raw, "id"))
		return e.arm(part, append(b, "}}"...))
	}
	return dropped
}

func addMember(b []byte, name string, value []byte) []byte {
	if value == nil || isNull(value) {
		return b
	}
	return append(append(append(append(b, ',', '"'), name...), '"', ':'), value...)
}

// splitMessage sorts content by its JSON type: a string stays, an array of parts
// and an activity's object have fields of their own.
func splitMessage(s *slots) *problem {
	return splitContent(s, roleOf(textIn(s[messageRole])), messageContent, messageParts, messageActivity)
}

func splitResult(s *slots) *problem {
	return splitContent(s, partsRole, resultContent, resultParts, resultParts)
}

func splitContent(s *slots, role roleKind, content, parts, activity int) *problem {
	raw := s[content]
	if raw == nil || isNull(raw) {
		if role == partsRole { // it would be read as no parts
			return bad("is missing").under("content")
		}
		s[content] = nil
		return nil
	}
	switch {
	case raw[0] == '"' && role != activityRole:
	case raw[0] == '[' && (role == partsRole || role == otherRole):
		s[content], s[parts] = nil, raw
	case raw[0] == '{' && (role == activityRole || role == otherRole):
		s[content], s[activity] = nil, raw
	default:
		return bad("has a form that its role does not have").under("content")
	}
	return nil
}

// roleKind is what a role's content may be.
type roleKind uint8

const (
	textRole     roleKind = iota // a string
	partsRole                    // a string or parts
	activityRole                 // an object
	otherRole                    // no role of 1.0: whatever is there
)

func roleOf(name string) roleKind {
	switch name {
	case "developer", "system", "assistant", "reasoning":
		return textRole
	case "user", "tool":
		return partsRole
	case "activity":
		return activityRole
	}
	return otherRole
}

// splitRun spreads RUN_FINISHED.outcome over three fields.
func splitRun(s *slots) *problem {
	raw := s[runOutcome]
	kind, p := outcomeType(s, runOutcome)
	if p != nil {
		return p
	}
	switch kind {
	case "success":
		s[runPending] = memberOf(raw, "pendingToolCallIds")
	case "interrupt":
		if s[runInterrupts] = memberOf(raw, "interrupts"); s[runInterrupts] == nil {
			return bad("is missing").under("interrupts").under("outcome")
		}
	}
	return nil
}

func splitSubagent(s *slots) *problem {
	raw := s[subagentOutcome]
	kind, p := outcomeType(s, subagentOutcome)
	if kind == "suspended" {
		s[subagentInterrupts] = memberOf(raw, "interruptIds")
	}
	return p
}

// outcomeType puts an outcome's type in its place. One without a type is an
// outcome a 1.0 client drops, so it is left out.
func outcomeType(s *slots, at int) (string, *problem) {
	raw := s[at]
	if raw == nil || isNull(raw) {
		return "", nil
	}
	if raw[0] != '{' {
		return "", bad("must be an object").under("outcome")
	}
	if s[at] = memberOf(raw, "type"); len(s[at]) == 0 || s[at][0] != '"' {
		s[at] = nil
		return "", nil
	}
	return textIn(s[at]), nil
}

// memberOf is the raw value of a member of an object, nil when it has none.
func memberOf(raw []byte, name string) (value []byte) {
	for it := strictjson.Walk(raw); ; {
		key, v, ok := member(&it)
		if !ok {
			return value
		}
		if string(key) == name {
			value = v
		}
	}
}

func textIn(raw []byte) string {
	s, err := strictjson.StringOf(raw)
	if err != nil {
		return ""
	}
	return s
}
