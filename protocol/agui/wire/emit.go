package wire

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// emitter writes the JSON of one message at a time.
type emitter struct {
	json  []byte
	limit int
	depth int // objects and arrays that are open
}

// event writes the event in an envelope. dropped is one of a later protocol.
func (e *emitter) event(b []byte) (agui.Type, *problem) {
	ev, payload, p := armOf(b)
	if p != nil {
		return "", p
	}
	var own [most]got
	if p := ev.of.read(payload, own[:]); p != nil {
		return "", p
	}
	var base [4]got
	if !own[0].set {
		return "", bad("has no base event")
	}
	if p := baseEvent.read(own[0].b, base[:]); p != nil {
		return "", p.under("baseEvent")
	}
	if int32(base[0].v) != int32(ev.enum) {
		return "", bad("names two types")
	}
	e.json, e.depth = e.json[:0], 0
	e.json = append(append(append(e.json, `{"type":"`...), ev.kind...), '"')
	e.depth++
	if p := e.members(baseEvent, base[:]); p != nil {
		return "", p
	}
	if p := e.members(ev.of, own[:]); p != nil {
		return "", p
	}
	e.end('}')
	return ev.kind, e.within()
}

// armOf finds the event of an envelope. Two of one kind are merged; two kinds
// are refused, since readers would not agree on one.
func armOf(b []byte) (ev *event, payload []byte, p *problem) {
	number, later := 0, false
	for len(b) > 0 {
		f, rest, ok := next(b)
		if !ok {
			return nil, nil, bad("is no protobuf message")
		}
		b = rest
		switch {
		case f.number > len(events):
			later = later || f.wireType == bytesType && wellFormed(f.b)
		case f.wireType != bytesType:
			return nil, nil, bad("is no event")
		case number != 0 && f.number != number:
			return nil, nil, bad("holds two events")
		case number != 0:
			payload = merge(payload, f.b)
		default:
			number, payload = f.number, f.b
		}
	}
	switch {
	case number != 0:
		return &events[number-1], payload, nil
	case later:
		return nil, nil, dropped
	}
	return nil, nil, bad("holds no event")
}

// message writes b as a JSON object.
func (e *emitter) message(m *message, b []byte) *problem {
	var s [most]got
	if p := m.read(b, s[:]); p != nil {
		return p
	}
	if m.union {
		return e.arm(m, s[:])
	}
	if p := e.begin('{'); p != nil {
		return p
	}
	if p := e.members(m, s[:]); p != nil {
		return p
	}
	e.end('}')
	return e.within()
}

// arm writes the one arm of a union that is set, as an object with a type. None
// is one of a later protocol: the part is dropped.
func (e *emitter) arm(m *message, s []got) *problem {
	for i := range m.fields {
		if !s[i].set {
			continue
		}
		f := &m.fields[i]
		var in [most]got
		if p := f.of.read(s[i].b, in[:]); p != nil {
			return p
		}
		if p := e.begin('{'); p != nil {
			return p
		}
		e.json = append(append(append(e.json, `"type":"`...), f.name...), '"')
		if p := e.members(f.of, in[:]); p != nil {
			return p
		}
		e.end('}')
		return nil
	}
	return dropped
}

func (e *emitter) members(m *message, s []got) *problem {
	for i := range m.fields {
		f := &m.fields[i]
		var p *problem
		switch {
		case f.form:
		case m.spread != whole && i == m.spread.place():
			p = e.together(m.spread, s)
		default:
			p = e.member(f, s[i])
		}
		if p != nil {
			return p
		}
	}
	return nil
}

// member writes one field, or nothing when it is absent.
func (e *emitter) member(f *field, s got) *problem {
	if !s.set && f.kind != text && f.kind != operation && f.kind != list {
		return nil
	}
	before := len(e.json)
	e.key(f.name)
	var p *problem
	switch f.kind {
	case text, mayText:
		p = e.text(s.b)
	case mayInt:
		p = e.integer(int64(s.v))
	case mayBool:
		e.json = strconv.AppendBool(e.json, s.v != 0)
	case operation:
		e.operation(int32(s.v))
	case anyValue, mayValue:
		var there bool
		if there, p = e.value(s.b); p == nil && !there {
			e.json = e.json[:before]
		}
	case mayStruct:
		p = e.structure(s.b)
	case one:
		p = e.message(f.of, s.b)
	default:
		p = e.items(fieldNumber(s.b), f, s.b)
	}
	if p != nil {
		return p.under(f.name)
	}
	return nil
}

// fieldNumber is that of the first field of b.
func fieldNumber(b []byte) int {
	f, _, _ := next(b)
	return f.number
}

// items writes all fields of that number as an array. Elements without a form
// are left out.
func (e *emitter) items(number int, f *field, b []byte) *problem {
	if p := e.begin('['); p != nil {
		return p
	}
	for n := 0; len(b) > 0; {
		var item rawField
		if item, b, _ = next(b); item.number != number || item.wireType != bytesType {
			continue
		}
		before := len(e.json)
		depth := e.depth
		e.comma('[')
		var p *problem
		if f.kind == texts {
			p = e.text(item.b)
		} else {
			p = e.message(f.of, item.b)
		}
		if p == dropped {
			e.json, e.depth = e.json[:before], depth
			continue
		}
		if p == nil {
			p = e.within()
		}
		if p != nil {
			return p.underItem(n)
		}
		n++
	}
	e.end(']')
	return nil
}

func (e *emitter) begin(bracket byte) *problem {
	if e.depth >= strictjson.MaxDepth {
		return bad("is nested too deep")
	}
	e.depth++
	e.json = append(e.json, bracket)
	return nil
}

func (e *emitter) end(bracket byte) {
	e.depth--
	e.json = append(e.json, bracket)
}

// within stops an event whose JSON is larger than it may be.
func (e *emitter) within() *problem {
	if len(e.json) > e.limit {
		return &problem{tooLarge: true}
	}
	return nil
}

// comma separates from what came before, unless that opened the array or object.
func (e *emitter) comma(bracket byte) {
	if e.json[len(e.json)-1] != bracket {
		e.json = append(e.json, ',')
	}
}

func (e *emitter) key(name string) {
	e.comma('{')
	e.json = append(append(append(e.json, '"'), name...), '"', ':')
}

func (e *emitter) integer(v int64) *problem {
	if v < -maxSafe || v > maxSafe {
		return bad("must be a number between -(2^53-1) and 2^53-1")
	}
	e.json = strconv.AppendInt(e.json, v, 10)
	return nil
}

func (e *emitter) operation(n int32) {
	if n >= 0 && int(n) < len(operations) {
		e.json = append(append(append(e.json, '"'), operations[n]...), '"')
		return
	}
	e.json = append(strconv.AppendInt(append(e.json, '"'), int64(n), 10), '"')
}

// text writes a JSON string: quotes, backslashes and control characters escaped.
func (e *emitter) text(b []byte) *problem {
	if !utf8.Valid(b) {
		return bad("is not UTF-8")
	}
	e.json = append(e.json, '"')
	start := 0
	for i, c := range b {
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		e.json = append(e.json, b[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			e.json = append(e.json, '\\', c)
		case '\n':
			e.json = append(e.json, '\\', 'n')
		case '\r':
			e.json = append(e.json, '\\', 'r')
		case '\t':
			e.json = append(e.json, '\\', 't')
		default:
			const digits = "0123456789abcdef"
			e.json = append(e.json, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	e.json = append(append(e.json, b[start:]...), '"')
	return nil
}

// number writes a float64 as JavaScript does; what is none in JSON is null, as
// in JSON.stringify.
func (e *emitter) number(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		e.json = append(e.json, "null"...)
		return
	}
	format := byte('f')
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	e.json = strconv.AppendFloat(e.json, f, format, -1, 64)
	if n := len(e.json); format == 'e' && e.json[n-4] == 'e' && e.json[n-3] == '-' && e.json[n-2] == '0' {
		e.json = append(e.json[:n-2], e.json[n-1]) // 1e-07
	}
}
