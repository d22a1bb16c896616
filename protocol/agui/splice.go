package agui

import "github.com/aguigate/aguigate/protocol/strictjson"

// splice gives obj with key set to value: the bytes of that one value replaced,
// or the member put after the last one. Every other byte stays as it was
// [RUN-7]. The result is a new slice; an obj that is no object is returned as
// it is.
func splice(obj []byte, key string, value []byte) []byte {
	if m, ok := find(obj, key); ok {
		out := make([]byte, 0, len(obj)-(m.end-m.start)+len(value))
		out = append(append(out, obj[:m.start]...), value...)
		return append(out, obj[m.end:]...)
	}
	c := walk(obj)
	if c.end != '}' {
		return obj
	}
	at, comma := blank(obj, 0)+1, false
	for {
		m, ok := c.next()
		if !ok {
			break
		}
		at, comma = m.end, true
	}
	out := make([]byte, 0, len(obj)+len(key)+len(value)+4)
	out = append(out, obj[:at]...)
	if comma {
		out = append(out, ',')
	}
	out = append(strictjson.AppendString(out, key), ':')
	out = append(out, value...)
	return append(out, obj[at:]...)
}

// cut gives obj without the member key, in a new slice when there was one. The
// comma that joined it goes with it: the one behind, or for the last member the
// one before.
func cut(obj []byte, key string) []byte {
	c := walk(obj)
	if c.end != '}' {
		return obj
	}
	prev := -1
	for {
		m, ok := c.next()
		if !ok {
			return obj
		}
		if string(c.key(m)) != key {
			prev = m.end
			continue
		}
		from, to := m.keyStart, m.end
		if c.i < len(obj) && obj[c.i] != '}' {
			to = c.i
		} else if prev >= 0 {
			from = prev
		}
		out := make([]byte, 0, len(obj)-(to-from))
		return append(append(out, obj[:from]...), obj[to:]...)
	}
}
