package wire

import "math"

// kindOf finds what a google.protobuf.Value holds, 0 for nothing. It is a oneof:
// the last counts, and only lists and structs of one kind in a row are merged.
func kindOf(b []byte) (kind int, v uint64, payload []byte, p *problem) {
	wireTypes := [...]byte{nullKind: varintType, numberKind: fixed64Type, stringKind: bytesType,
		boolKind: varintType, structKind: bytesType, listKind: bytesType}
	for len(b) > 0 {
		f, rest, ok := next(b)
		if !ok {
			return 0, 0, nil, bad("is no protobuf message")
		}
		b = rest
		switch {
		case f.number >= len(wireTypes) || f.wireType != wireTypes[f.number]:
		case f.number == kind && kind >= structKind:
			payload = merge(payload, f.b)
		default:
			kind, v, payload = f.number, f.v, f.b
		}
	}
	return kind, v, payload, nil
}

// value writes a google.protobuf.Value. there is false, and nothing written,
// when it holds nothing.
func (e *emitter) value(b []byte) (there bool, p *problem) {
	kind, v, payload, p := kindOf(b)
	if p != nil {
		return false, p
	}
	switch kind {
	case nullKind:
		e.json = append(e.json, "null"...)
	case numberKind:
		e.number(math.Float64frombits(v))
	case stringKind:
		p = e.text(payload)
	case boolKind:
		if v != 0 {
			e.json = append(e.json, "true"...)
		} else {
			e.json = append(e.json, "false"...)
		}
	case structKind:
		p = e.structure(payload)
	case listKind:
		p = e.listValue(payload)
	}
	return kind != 0, p
}

// listValue writes a google.protobuf.ListValue; a value of nothing is null, as
// in JSON.stringify of undefined in an array.
func (e *emitter) listValue(b []byte) *problem {
	if p := e.begin('['); p != nil {
		return p
	}
	for len(b) > 0 {
		f, rest, ok := next(b)
		if !ok {
			return bad("is no protobuf message")
		}
		if b = rest; f.number != 1 || f.wireType != bytesType {
			continue
		}
		e.comma('[')
		there, p := e.value(f.b)
		if p == nil && !there {
			e.json = append(e.json, "null"...)
		}
		if p == nil {
			p = e.within()
		}
		if p != nil {
			return p
		}
	}
	e.end(']')
	return nil
}

// structure writes a google.protobuf.Struct. It is a map: of a key that stands
// twice the last counts, and an entry whose value holds nothing is none.
func (e *emitter) structure(b []byte) *problem {
	last, p := lastOf(b)
	if p != nil {
		return p
	}
	if p := e.begin('{'); p != nil {
		return p
	}
	for n := 0; len(b) > 0; {
		var f rawField
		if f, b, _ = next(b); f.number != 1 || f.wireType != bytesType {
			continue
		}
		key, value, _ := entryOf(f.b)
		before := len(e.json)
		e.comma('{')
		if p := e.text(key); p != nil {
			return p
		}
		e.json = append(e.json, ':')
		if last != nil && last[string(key)] != n {
			e.json = e.json[:before]
			n++
			continue
		}
		there, p := e.value(value)
		switch {
		case p != nil:
			return p
		case !there:
			e.json = e.json[:before]
		}
		n++
		if p := e.within(); p != nil {
			return p
		}
	}
	e.end('}')
	return nil
}

// few is the number of entries that are compared with each other one by one.
const few = 16

// lastOf checks the entries of a struct and says which of a key's entries is the
// last, by its place; nil when no key stands twice for sure.
func lastOf(b []byte) (map[string]int, *problem) {
	var keys [few][]byte
	var last map[string]int
	for n := 0; len(b) > 0; {
		f, rest, ok := next(b)
		if !ok {
			return nil, bad("is no protobuf message")
		}
		if b = rest; f.number != 1 || f.wireType != bytesType {
			continue
		}
		key, value, ok := entryOf(f.b)
		if !ok {
			return nil, bad("is no protobuf message")
		}
		if last == nil && (n == few || seen(keys[:n], key)) {
			last = make(map[string]int, 2*few)
			for i, k := range keys[:n] {
				last[string(k)] = i
			}
		}
		if kind, _, _, p := kindOf(value); p != nil {
			return nil, p
		} else if last != nil && kind != 0 {
			last[string(key)] = n
		}
		if n < few {
			keys[n] = key
		}
		n++
	}
	return last, nil
}

func seen(keys [][]byte, key []byte) bool {
	for _, k := range keys {
		if string(k) == string(key) {
			return true
		}
	}
	return false
}

// entryOf reads an entry of a map; a value that stands twice is merged.
func entryOf(b []byte) (key, value []byte, ok bool) {
	for len(b) > 0 {
		f, rest, ok := next(b)
		if !ok {
			return nil, nil, false
		}
		b = rest
		switch {
		case f.wireType != bytesType:
		case f.number == 1:
			key = f.b
		case f.number == 2:
			value = merge(value, f.b)
		}
	}
	return key, value, true
}
