// Package strictjson reads JSON that comes from outside without trusting it.
//
// It scans instead of decoding: values stay the bytes that came, so that what
// nobody changes can be forwarded untouched [RUN-7]. Every entry point checks
// the whole text against RFC 8259, valid UTF-8 and a depth of MaxDepth before it
// hands out a part of it; nothing recurses deeper than that.
package strictjson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 128

// Errors that Check and its kin wrap.
var (
	ErrSyntax    = errors.New("not valid JSON")
	ErrDepth     = errors.New("nested too deep")
	ErrUTF8      = errors.New("not valid UTF-8")
	ErrDuplicate = errors.New("duplicate key")
	ErrType      = errors.New("wrong JSON type")
)

// SyntaxError says at which byte the text stops being JSON.
type SyntaxError struct {
	Offset int
	Kind   error // ErrSyntax, ErrDepth or ErrUTF8
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%v at byte %d", e.Kind, e.Offset) }

// Unwrap gives the kind.
func (e *SyntaxError) Unwrap() error { return e.Kind }

// Check reports whether b is exactly one JSON value, blanks around it allowed.
func Check(b []byte) error {
	if !utf8.Valid(b) {
		return &SyntaxError{Offset: invalidUTF8(b), Kind: ErrUTF8}
	}
	i, err := skipValue(b, skipBlank(b, 0), 0)
	if err != nil {
		return err
	}
	if i = skipBlank(b, i); i != len(b) {
		return &SyntaxError{Offset: i, Kind: ErrSyntax}
	}
	return nil
}

// Valid is Check without the reason.
func Valid(b []byte) bool { return Check(b) == nil }

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

func syntaxAt(i int) error { return &SyntaxError{Offset: i, Kind: ErrSyntax} }

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue gives the index after the value that starts at i.
func skipValue(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return i, syntaxAt(i)
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{':
		return skipObject(b, i, depth+1)
	case c == '[':
		return skipArray(b, i, depth+1)
	case c == 't':
		return skipWord(b, i, "true")
	case c == 'f':
		return skipWord(b, i, "false")
	case c == 'n':
		return skipWord(b, i, "null")
	case c == '-' || c >= '0' && c <= '9':
		return skipNumber(b, i)
	}
	return i, syntaxAt(i)
}

func skipWord(b []byte, i int, word string) (int, error) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, syntaxAt(i)
	}
	return i + len(word), nil
}

func skipArray(b []byte, i, depth int) (int, error) {
	if depth > MaxDepth {
		return i, &SyntaxError{Offset: i, Kind: ErrDepth}
	}
	i = skipBlank(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = skipValue(b, i, depth); err != nil {
			return i, err
		}
		i = skipBlank(b, i)
		if i >= len(b) {
			return i, syntaxAt(i)
		}
		switch b[i] {
		case ',':
			i = skipBlank(b, i+1)
		case ']':
			return i + 1, nil
		default:
			return i, syntaxAt(i)
		}
	}
}

func skipObject(b []byte, i, depth int) (int, error) {
	if depth > MaxDepth {
		return i, &SyntaxError{Offset: i, Kind: ErrDepth}
	}
	i = skipBlank(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = skipKey(b, i); err != nil {
			return i, err
		}
		if i, err = skipValue(b, i, depth); err != nil {
			return i, err
		}
		i = skipBlank(b, i)
		if i >= len(b) {
			return i, syntaxAt(i)
		}
		switch b[i] {
		case ',':
			i = skipBlank(b, i+1)
		case '}':
			return i + 1, nil
		default:
			return i, syntaxAt(i)
		}
	}
}

// skipKey gives the index of the value that belongs to the key at i.
func skipKey(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '"' {
		return i, syntaxAt(i)
	}
	i, err := skipString(b, i)
	if err != nil {
		return i, err
	}
	return skipColon(b, i)
}

// skipColon gives the index of the value behind the colon at or after i.
func skipColon(b []byte, i int) (int, error) {
	i = skipBlank(b, i)
	if i >= len(b) || b[i] != ':' {
		return i, syntaxAt(i)
	}
	return skipBlank(b, i+1), nil
}

// skipString gives the index after the closing quote of the string at i.
func skipString(b []byte, i int) (int, error) {
	for i++; ; {
		if i = skipPlain(b, i); i >= len(b) {
			return i, syntaxAt(i)
		}
		switch b[i] {
		case '"':
			return i + 1, nil
		case '\\':
			var ok bool
			if i, ok = skipEscape(b, i); !ok {
				return i, syntaxAt(i)
			}
		default: // a control character
			return i, syntaxAt(i)
		}
	}
}

// skipPlain gives the index of the first quote, backslash or control character
// at or after i, len(b) if there is none. Nearly all bytes of a stream stand
// between two of those, so it looks at eight of them at a time.
func skipPlain(b []byte, i int) int {
	for ; len(b)-i >= 8; i += 8 {
		if marks := special(binary.LittleEndian.Uint64(b[i:])); marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// special sets the high bit of the lowest byte of w that is a quote, a backslash
// or below 0x20; of bytes above that one it says nothing reliable, since a
// subtraction carries. It is the test for a zero byte, (x-1)&^x, applied to w with
// the sought byte made zero, and its kin for bytes less than 0x20.
func special(w uint64) uint64 {
	const each, high = 0x0101010101010101, 0x8080808080808080
	quote := w ^ each*'"'
	slash := w ^ each*'\\'
	return ((quote-each)&^quote | (slash-each)&^slash | (w-each*0x20)&^w) & high
}

// skipEscape gives the index after the escape at i, or of the byte at fault.
func skipEscape(b []byte, i int) (int, bool) {
	if i++; i >= len(b) {
		return i, false
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, true
	case 'u':
		if len(b)-i > 4 && hex4(b[i+1:i+5]) {
			return i + 5, true
		}
	}
	return i, false
}

func hex4(b []byte) bool {
	for _, c := range b[:4] {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return false
		}
	}
	return true
}

func skipNumber(b []byte, i int) (int, error) {
	if b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return i, syntaxAt(i)
	case b[i] == '0':
		i++
	case b[i] >= '1' && b[i] <= '9':
		i = skipDigits(b, i)
	default:
		return i, syntaxAt(i)
	}
	if i < len(b) && b[i] == '.' {
		j := skipDigits(b, i+1)
		if j == i+1 {
			return j, syntaxAt(j)
		}
		i = j
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := skipDigits(b, i)
		if j == i {
			return j, syntaxAt(j)
		}
		i = j
	}
	return i, nil
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}
