package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Append writes one event behind its length, byte for byte as the 1.0.0 encoder
// would (but JavaScript puts keys that look like numbers first). f.Raw must have
// been checked, as ParseFrame does; what doc.go lists is lost without a word.
//
// ok is false, and nothing written, for a type that the envelope does not have:
// every type of 1.0 is in it, those of 0.0.x that were renamed since are not.
//
// The error is a *fault.Error: upstream_protocol_error with a JSON Pointer where
// a field has the wrong JSON type or a required one is missing, so that the
// reader would get something else than was sent; event_too_large beyond
// MaxEvent, as numbers can be longer than in JSON. Nothing is written then.
func Append(dst []byte, f agui.Frame) (out []byte, ok bool, err error) {
	number := numbers[f.Type]
	if number == 0 {
		return dst, false, nil
	}
	start := len(dst)
	e := encoder{out: append(dst, make([]byte, prefixSize)...), holes: make([]hole, 0, 4)}
	p := e.event(number, &events[number-1], f.Raw)
	if p == nil {
		e.fill()
		if len(e.out)-start > MaxEvent {
			p = &problem{tooLarge: true}
		}
	}
	if p != nil {
		return dst, false, p.ofFrame(f.Type)
	}
	binary.BigEndian.PutUint32(e.out[start:], uint32(len(e.out)-start-prefixSize))
	return e.out, true, nil
}

// encoder writes protobuf. Lengths stand in front of what they measure and are
// known after it only, so each leaves a hole of no bytes, and fill widens all
// holes in one pass from the end.
type encoder struct {
	out   []byte
	holes []hole
	wider int // bytes that the holes closed so far will take
}

// hole is a length that is to stand at a place of out.
type hole struct{ at, length int }

func (e *encoder) open() int {
	e.holes = append(e.holes, hole{len(e.out), -e.wider})
	return len(e.holes) - 1
}

func (e *encoder) close(i int) {
	h := &e.holes[i]
	h.length += len(e.out) - h.at + e.wider
	e.wider += varintSize(uint64(h.length))
}

// fill writes the lengths.
func (e *encoder) fill() {
	end := len(e.out)
	e.out = slices.Grow(e.out, e.wider)[:end+e.wider]
	for i := len(e.holes) - 1; i >= 0; i-- {
		h := e.holes[i]
		copy(e.out[h.at+e.wider:end+e.wider], e.out[h.at:end])
		end = h.at
		e.wider -= varintSize(uint64(h.length))
		binary.PutUvarint(e.out[h.at+e.wider:], uint64(h.length))
	}
}

func varintSize(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

func (e *encoder) tag(number int, wireType byte) {
	e.out = binary.AppendUvarint(e.out, uint64(number)<<3|uint64(wireType))
}

func (e *encoder) varint(number int, v uint64) {
	e.tag(number, varintType)
	e.out = binary.AppendUvarint(e.out, v)
}

func (e *encoder) event(number int, ev *event, raw []byte) *problem {
	var own, base slots
	for it := strictjson.Walk(raw); ; {
		key, value, ok := member(&it)
		if !ok {
			break
		}
		if i := ev.of.index(key); i >= 0 {
			own[i] = value
		} else if i := baseEvent.index(key); i >= 0 {
			base[i] = value
		}
	}
	e.tag(number, bytesType)
	all := e.open()
	e.tag(1, bytesType)
	head := e.open()
	if ev.enum != 0 {
		e.varint(1, uint64(ev.enum))
	}
	if p := e.fields(baseEvent, &base); p != nil {
		return p
	}
	e.close(head)
	if p := e.fields(ev.of, &own); p != nil {
		return p
	}
	e.close(all)
	return nil
}

// member is one step through an object, with the key decoded.
func member(it *strictjson.Iter) (key, value []byte, ok bool) {
	key, value, escaped, ok := it.Next()
	if escaped {
		k, err := strictjson.StringOf(quoted(key))
		if err != nil {
			return nil, nil, false
		}
		key = []byte(k)
	}
	return key, value, ok
}

// quoted puts the quotes back around an escaped key.
func quoted(key []byte) []byte { return append(append([]byte{'"'}, key...), '"') }

// message writes what a JSON object says, without tag and length. Of a key that
// stands twice the last counts, as in JSON.parse.
func (e *encoder) message(m *message, raw []byte) *problem {
	if len(raw) == 0 || raw[0] != '{' {
		return bad("must be an object")
	}
	if m.union {
		return e.arm(m, raw)
	}
	var s slots
	for it := strictjson.Walk(raw); ; {
		key, value, ok := member(&it)
		if !ok {
			return e.fields(m, &s)
		}
		if i := m.index(key); i >= 0 {
			s[i] = value
		}
	}
}

func (e *encoder) fields(m *message, s *slots) *problem {
	if m.spread != whole {
		if p := m.spread.apart(s); p != nil {
			return p
		}
	}
	for i := range m.fields {
		f := &m.fields[i]
		raw := s[i]
		if raw == nil || f.kind != anyValue && isNull(raw) {
			if f.need {
				return bad("is missing").under(f.name)
			}
			continue
		}
		if p := e.field(i+1, f, raw); p != nil {
			return p.under(f.name)
		}
	}
	return nil
}

func (e *encoder) field(number int, f *field, raw []byte) *problem {
	switch f.kind {
	case text, mayText:
		return e.text(number, raw, f.kind == mayText)
	case mayInt:
		v, ok := integerOf(raw)
		if !ok {
			return bad("must be a number without fraction between -(2^53-1) and 2^53-1")
		}
		e.varint(number, uint64(v))
	case mayBool:
		if raw[0] != 't' && raw[0] != 'f' {
			return bad("must be a boolean")
		}
		e.varint(number, uint64(truth(raw)))
	case operation:
		return e.operation(number, raw)
	case list, mayList, texts:
		return e.items(number, f, raw)
	default:
		e.tag(number, bytesType)
		hole := e.open()
		p := e.content(f, raw)
		e.close(hole)
		return p
	}
	return nil
}

// content writes what stands behind the tag and length of a message.
func (e *encoder) content(f *field, raw []byte) *problem {
	switch {
	case f.kind == one:
		return e.message(f.of, raw)
	case f.kind == mayStruct && raw[0] != '{':
		return bad("must be an object")
	case f.kind == mayStruct:
		_, p := e.structure(raw, 0, 0)
		return p
	}
	_, p := e.value(raw, 0, 0)
	return p
}

// items writes an array, element by element under the same number.
func (e *encoder) items(number int, f *field, raw []byte) *problem {
	if raw[0] != '[' {
		return bad("must be an array")
	}
	it := strictjson.Walk(raw)
	for n := 0; ; n++ {
		_, item, _, ok := it.Next()
		if !ok {
			return nil
		}
		if f.kind == texts {
			if p := e.text(number, item, true); p != nil {
				return p.underItem(n)
			}
			continue
		}
		out, holes, wider := len(e.out), len(e.holes), e.wider
		e.tag(number, bytesType)
		hole := e.open()
		p := e.message(f.of, item)
		switch {
		case p == dropped:
			e.out, e.holes, e.wider = e.out[:out], e.holes[:holes], wider
			continue
		case p != nil:
			return p.underItem(n)
		}
		e.close(hole)
	}
}

// text writes a string; an empty one only where empty and absent are different.
func (e *encoder) text(number int, raw []byte, evenEmpty bool) *problem {
	if len(raw) < 2 || raw[0] != '"' {
		return bad("must be a string")
	}
	if len(raw) == 2 && !evenEmpty {
		return nil
	}
	e.tag(number, bytesType)
	return e.chars(raw)
}

// chars writes the length and the characters of a JSON string.
func (e *encoder) chars(raw []byte) *problem {
	if in := raw[1 : len(raw)-1]; bytes.IndexByte(in, '\\') < 0 {
		e.out = append(binary.AppendUvarint(e.out, uint64(len(in))), in...)
		return nil
	}
	s, err := strictjson.StringOf(raw)
	if err != nil {
		return bad("is no JSON string")
	}
	e.out = append(binary.AppendUvarint(e.out, uint64(len(s))), s...)
	return nil
}

// operation writes a JSON Patch operation. One that the schema does not name
// goes as -1, or as its number if that is how a reader has spelled it; a 1.0
// client takes it out of the patch and says so, as it does with SSE.
func (e *encoder) operation(number int, raw []byte) *problem {
	name, err := strictjson.StringOf(raw)
	if err != nil {
		return bad("must be a string")
	}
	n := slices.Index(operations[:], name)
	if n < 0 {
		if v, err := strconv.ParseInt(name, 10, 32); err == nil && (v < 0 || v >= int64(len(operations))) {
			n = int(v)
		}
	}
	if n != 0 {
		e.varint(number, uint64(n))
	}
	return nil
}

const maxSafe = 1<<53 - 1

// integerOf reads a JSON number that JavaScript would hold exactly: 1, 1.0 and
// 1e0 are one.
func integerOf(raw []byte) (int64, bool) {
	if v, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return v, v >= -maxSafe && v <= maxSafe
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) <= maxSafe
}

func truth(raw []byte) int {
	if raw[0] == 't' {
		return 1
	}
	return 0
}

func isNull(raw []byte) bool { return string(raw) == "null" }
