package tool

import (
	"slices"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// StringWire is what an agent reads of a success on a string wire [INV-7]: text
// as it is, a JSON string as the text it says, other JSON as written, null and
// nothing as the empty string, parts as their text and one JSON reference a
// medium.
func (s *Settlement) StringWire() string {
	switch s.Form {
	case FormParts:
		return PartsText([]byte(s.Content))
	case FormJSON:
		switch raw := []byte(s.Content); strictjson.KindOf(raw) {
		case strictjson.Null, strictjson.Invalid:
			return ""
		case strictjson.Str:
			text, _ := strictjson.StringOf(trim(raw))
			return text
		}
	}
	return s.Content
}

func trim(raw []byte) []byte {
	blank := func(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
	for len(raw) > 0 && blank(raw[0]) {
		raw = raw[1:]
	}
	for len(raw) > 0 && blank(raw[len(raw)-1]) {
		raw = raw[:len(raw)-1]
	}
	return raw
}

// PartsText flattens content parts for a string wire: texts joined by line ends,
// every other part as one JSON reference that says what it is and where [INV-7,
// F084]. What is no array of parts is given back as it is.
func PartsText(parts []byte) string {
	if !strictjson.Valid(parts) {
		return string(parts)
	}
	list, err := strictjson.ArrayOf(parts)
	if err != nil {
		return string(parts)
	}
	var out []byte
	for i, raw := range list {
		if i > 0 {
			out = append(out, '\n')
		}
		m, err := strictjson.ObjectOf(raw)
		if err != nil {
			out = append(out, raw...)
			continue
		}
		if kind, _ := strictjson.StringOf(m.Get("type")); kind == "text" {
			text, _ := strictjson.StringOf(m.Get("text"))
			out = append(out, text...)
			continue
		}
		out = append(out, reference(m, raw)...)
	}
	return string(out)
}

// reference names a medium: its own bytes, unless it carries the data itself,
// which a model cannot read as text. 1.0 parts carry it in a source of type data,
// the older binary part beside its mimeType (F083).
func reference(m strictjson.Members, raw []byte) []byte {
	if src, err := strictjson.ObjectOf(m.Get("source")); err == nil {
		if kind, _ := strictjson.StringOf(src.Get("type")); kind != "data" {
			return raw
		}
		short := writeMembers(append(without(src, "value", "data"), omitted))
		return writeMembers(append(without(m, "source", "metadata"), strictjson.Member{Key: "source", Raw: short}))
	}
	if m.Get("data") == nil {
		return raw
	}
	return writeMembers(append(without(m, "data"), omitted))
}

// omitted stands in a reference whose data was left out.
var omitted = strictjson.Member{Key: "omitted", Raw: []byte("true")}

func without(m strictjson.Members, leave ...string) strictjson.Members {
	out := make(strictjson.Members, 0, len(m)+1)
	for _, kv := range m {
		if !slices.Contains(leave, kv.Key) {
			out = append(out, kv)
		}
	}
	return out
}

func writeMembers(m strictjson.Members) []byte {
	b := []byte{'{'}
	for i, kv := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strictjson.AppendString(b, kv.Key), ':')
		b = append(b, kv.Raw...)
	}
	return append(b, '}')
}
