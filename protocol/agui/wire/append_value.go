package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// The kinds of google.protobuf.Value, by their field numbers, as in
// google/protobuf/struct.proto.
const (
	nullKind = iota + 1
	numberKind
	stringKind
	boolKind
	structKind
	listKind
)

var notJSON = problem{text: "is no checked JSON"}

func fromText() *problem { p := notJSON; return &p }

// value writes the google.protobuf.Value for the JSON value at b[i], and gives
// the index after it. It reads each byte once, however deep it is nested; depth
// counts the arrays and objects around it.
func (e *encoder) value(b []byte, i, depth int) (int, *problem) {
	if i >= len(b) {
		return i, fromText()
	}
	switch b[i] {
	case '{':
		e.tag(structKind, bytesType)
		hole := e.open()
		end, p := e.structure(b, i, depth)
		e.close(hole)
		return end, p
	case '[':
		e.tag(listKind, bytesType)
		hole := e.open()
		end, p := e.listValue(b, i, depth)
		e.close(hole)
		return end, p
	case '"':
		end := stringEnd(b, i)
		if end == i {
			return i, fromText()
		}
		e.tag(stringKind, bytesType)
		return end, e.chars(b[i:end])
	}
	end := wordEnd(b, i)
	return end, e.word(b[i:end])
}

// word writes null, a boolean or a number. A number beyond float64 becomes
// infinite, as it does in JSON.parse.
func (e *encoder) word(w []byte) *problem {
	switch string(w) {
	case "null":
		e.varint(nullKind, 0)
	case "true":
		e.varint(boolKind, 1)
	case "false":
		e.varint(boolKind, 0)
	default:
		f, err := strconv.ParseFloat(string(w), 64)
		if err != nil && !math.IsInf(f, 0) {
			return fromText()
		}
		e.tag(numberKind, fixed64Type)
		e.out = binary.LittleEndian.AppendUint64(e.out, math.Float64bits(f))
	}
	return nil
}

// structure writes the google.protobuf.Struct for the object at b[i]: a map, so
// repeated entries of key and value.
func (e *encoder) structure(b []byte, i, depth int) (int, *problem) {
	if depth >= strictjson.MaxDepth {
		return i, bad("is nested too deep")
	}
	for i = blank(b, i+1); i < len(b) && b[i] != '}'; {
		keyEnd := stringEnd(b, i)
		if keyEnd == i {
			return i, fromText()
		}
		e.tag(1, bytesType)
		entry := e.open()
		if p := e.text(1, b[i:keyEnd], false); p != nil {
			return i, p
		}
		if i = blank(b, keyEnd); i >= len(b) || b[i] != ':' {
			return i, fromText()
		}
		var p *problem
		if i, p = e.element(2, b, blank(b, i+1), depth+1); p != nil {
			return i, p
		}
		e.close(entry)
	}
	return closed(b, i)
}

// listValue writes the google.protobuf.ListValue for the array at b[i].
func (e *encoder) listValue(b []byte, i, depth int) (int, *problem) {
	if depth >= strictjson.MaxDepth {
		return i, bad("is nested too deep")
	}
	for i = blank(b, i+1); i < len(b) && b[i] != ']'; {
		var p *problem
		if i, p = e.element(1, b, i, depth+1); p != nil {
			return i, p
		}
	}
	return closed(b, i)
}

// element writes a value as a field, and gives the index after it and its comma.
func (e *encoder) element(number int, b []byte, i, depth int) (int, *problem) {
	e.tag(number, bytesType)
	hole := e.open()
	end, p := e.value(b, i, depth)
	if p != nil {
		return i, p
	}
	e.close(hole)
	if i = blank(b, end); i < len(b) && b[i] == ',' {
		i = blank(b, i+1)
	}
	return i, nil
}

func closed(b []byte, i int) (int, *problem) {
	if i >= len(b) {
		return i, fromText()
	}
	return i + 1, nil
}

func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd gives the index after the string that opens at i, i when there is
// none.
func stringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return i
	}
	for at := i + 1; ; {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return i
		}
		quote, slashes := at+n, 0
		for b[quote-1-slashes] == '\\' {
			slashes++
		}
		at = quote + 1
		if slashes%2 == 0 {
			return at
		}
	}
}

// wordEnd gives the index after the number or word at i.
func wordEnd(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ':', '"', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}
