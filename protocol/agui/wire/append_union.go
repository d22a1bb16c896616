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
