package strictjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string: quotes, backslashes and control
// characters escaped, the line separators U+2028 and U+2029 too, everything else
// as UTF-8. Invalid bytes become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(append(dst, s[start:i]...), "\uFFFD"...)
			start = i + n
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, s[start:i]...)
			dst = append(dst, '\\', 'u', '2', '0', '2', hexDigits[r&0xF])
			start = i + n
		}
		i += n
	}
	return append(append(dst, s[start:]...), '"')
}

// Quote is AppendString to a new slice.
func Quote(s string) []byte { return AppendString(make([]byte, 0, len(s)+2), s) }

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}

// unescape decodes the inside of a checked string. A lone surrogate becomes
// U+FFFD, as in encoding/json.
func unescape(in []byte) string {
	if bytes.IndexByte(in, '\\') < 0 {
		return string(in)
	}
	out, _, _ := decode(in, 0) // that the closing quote is missing is no news
	return string(out)
}

// decode is unescape for the rest of a string that begins before i and may not
// have been checked. It gives the index after the closing quote as well.
func decode(b []byte, i int) (out []byte, end int, err error) {
	out = make([]byte, 0, len(b)-i)
	for {
		start := i
		i = skipPlain(b, i)
		out = append(out, b[start:i]...)
		if i >= len(b) {
			return out, i, syntaxAt(i)
		}
		if b[i] == '"' {
			return out, i + 1, nil
		}
		if b[i] != '\\' { // a control character
			return out, i, syntaxAt(i)
		}
		next, ok := skipEscape(b, i)
		if !ok {
			return out, next, syntaxAt(next)
		}
		if b[i+1] != 'u' {
			out = append(out, plainEscape(b[i+1]))
			i = next
			continue
		}
		r, n := escapedRune(b[i:])
		if n > 6 {
			if next, ok = skipEscape(b, next); !ok {
				return out, next, syntaxAt(next)
			}
		}
		out = utf8.AppendRune(out, r)
		i = next
	}
}

func plainEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// escapedRune decodes \uXXXX, or a surrogate pair of them, at the start of b and
// tells how many bytes it took. A lone surrogate is given as it is.
func escapedRune(b []byte) (rune, int) {
	r := hexRune(b[2:6])
	if utf16.IsSurrogate(r) && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if pair := utf16.DecodeRune(r, hexRune(b[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
}

func hexRune(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		r <<= 4
		switch {
		case c <= '9':
			r |= rune(c - '0')
		case c >= 'a':
			r |= rune(c-'a') + 10
		default:
			r |= rune(c-'A') + 10
		}
	}
	return r
}
