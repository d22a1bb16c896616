package wire

import (
	"encoding/binary"
	"math"
)

// Wire types (Protocol Buffers, Encoding: Message Structure).
const (
	varintType = iota
	fixed64Type
	bytesType
	groupType
	endGroupType
	fixed32Type
)

// maxGroups bounds how deep groups, which nothing here uses, may be nested.
const maxGroups = 100

// rawField is one field as it stands on the wire: v of the number types, b of bytes.
type rawField struct {
	number   int
	wireType byte
	v        uint64
	b        []byte
}

// next takes the first field off b. ok is false where that is no field. Groups
// are taken as a whole, and say nothing.
func next(b []byte) (f rawField, rest []byte, ok bool) {
	tag, b, ok := varint(b)
	if !ok || tag > math.MaxUint32 || tag>>3 == 0 {
		return f, nil, false
	}
	f.number, f.wireType = int(tag>>3), byte(tag&7)
	switch f.wireType {
	case varintType:
		f.v, b, ok = varint(b)
	case fixed64Type:
		if ok = len(b) >= 8; ok {
			f.v, b = binary.LittleEndian.Uint64(b), b[8:]
		}
	case bytesType:
		f.b, b, ok = prefixed(b)
	case fixed32Type:
		if ok = len(b) >= 4; ok {
			b = b[4:]
		}
	case groupType:
		b, ok = skipGroup(b, f.number)
	default:
		ok = false
	}
	return f, b, ok
}

func varint(b []byte) (uint64, []byte, bool) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], true
	}
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// merge puts one occurrence of a message behind another. What prefixed gives has
// no room behind it, so the first merge copies and the bytes that came are never
// written to; later ones find room, and many small ones are no square.
func merge(have, more []byte) []byte {
	if have == nil {
		return more
	}
	return append(have, more...)
}

// prefixed takes a length and as many bytes off b.
func prefixed(b []byte) (in, rest []byte, ok bool) {
	n, b, ok := varint(b)
	if !ok || n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}

// skipGroup gives what is behind the end of the group that was opened.
func skipGroup(b []byte, number int) ([]byte, bool) {
	open := []int{number}
	for len(open) > 0 {
		tag, rest, ok := varint(b)
		if !ok || tag > math.MaxUint32 {
			return nil, false
		}
		switch at := int(tag >> 3); tag & 7 {
		case groupType:
			if len(open) == maxGroups || at == 0 {
				return nil, false
			}
			open, b = append(open, at), rest
		case endGroupType:
			if open[len(open)-1] != at {
				return nil, false
			}
			open, b = open[:len(open)-1], rest
		default:
			if _, b, ok = next(b); !ok {
				return nil, false
			}
		}
	}
	return b, true
}

// wellFormed reports whether b could be a message at all.
func wellFormed(b []byte) bool {
	for len(b) > 0 {
		var ok bool
		if _, b, ok = next(b); !ok {
			return false
		}
	}
	return true
}

// got is a field of a message that was read.
type got struct {
	set bool
	v   uint64
	b   []byte // of a repeated field: the message from its first element on
}

// read sorts the fields of a message into s. Fields it does not know, and those
// of another wire type, are skipped. Of a scalar that stands twice the last
// counts; messages are merged, which for their bytes is to stand one behind the
// other (Protocol Buffers, Encoding: Last One Wins).
func (m *message) read(b []byte, s []got) *problem {
	arms := 0
	for len(b) > 0 {
		f, rest, ok := next(b)
		if !ok {
			return bad("is no protobuf message")
		}
		at := b
		b = rest
		i := f.number - 1
		if i >= len(m.fields) || f.wireType != m.fields[i].kind.wireType() {
			continue
		}
		k, slot := m.fields[i].kind, &s[i]
		switch {
		case k.repeated():
			if !slot.set {
				slot.b = at
			}
		case slot.set && k.merges():
			slot.b = merge(slot.b, f.b)
		default:
			if arms++; m.union && arms > 1 {
				return bad("has two forms at once")
			}
			slot.v, slot.b = f.v, f.b
		}
		slot.set = true
	}
	return nil
}
