// Package strictjson reads JSON that comes from outside without trusting it.
//
// It scans instead of decoding: values stay the bytes that came, so that what
// nobody changes can be forwarded untouched [RUN-7]. Every entry point checks
// the whole text against RFC 8259, valid UTF-8 and a depth of MaxDepth before it
// hands out a part of it; nothing recurses deeper than that.
package strictjson

import (
	"errors"
	"fmt"
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
	i = skipBlank(b, i)
	if i >= len(b) || b[i] != ':' {
		return i, syntaxAt(i)
	}
	return skipBlank(b, i+1), nil
}

// skipString gives the index after the closing quote of the string at i.
func skipString(b []byte, i int) (int, error) {
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			i++
			if i >= len(b) {
				return i, syntaxAt(i)
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if i+4 >= len(b) || !hex4(b[i+1:i+5]) {
					return i, syntaxAt(i)
				}
				i += 4
			default:
				return i, syntaxAt(i)
			}
		case c < 0x20:
			return i, syntaxAt(i)
		}
	}
	return i, syntaxAt(i)
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
