package strictjson

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical appends the one form of a JSON value that two writers of the same
// value agree on [INV-3]: keys sorted by code point, no blanks, strings with the
// fewest escapes, numbers as exact decimals ("1.0", "1" and "10e-1" are one
// number; 2^60 and 2^60+1 are two). Keys that appear twice stay twice, in order.
func Canonical(dst, b []byte) ([]byte, error) {
	if err := Check(b); err != nil {
		return dst, err
	}
	dst, _ = canonical(dst, b, skipBlank(b, 0))
	return dst, nil
}

// canonical appends the checked value at i and gives the index after it.
func canonical(dst, b []byte, i int) ([]byte, int) {
	switch c := b[i]; c {
	case '{':
		return canonicalObject(dst, b, i)
	case '[':
		dst = append(dst, '[')
		for i = skipBlank(b, i+1); b[i] != ']'; {
			dst, i = canonical(dst, b, i)
			if i = skipBlank(b, i); b[i] == ',' {
				dst = append(dst, ',')
				i = skipBlank(b, i+1)
			}
		}
		return append(dst, ']'), i + 1
	case '"':
		end, _ := skipString(b, i)
		return canonicalString(dst, b[i+1:end-1]), end
	case 't', 'f', 'n':
		end := i
		for end < len(b) && b[end] >= 'a' && b[end] <= 'z' {
			end++
		}
		return append(dst, b[i:end]...), end
	}
	end, _ := skipNumber(b, i)
	return canonicalNumber(dst, string(b[i:end])), end
}

// canonicalObject writes the members as they come and puts them in order
// afterwards, if they are not yet.
func canonicalObject(dst, b []byte, i int) ([]byte, int) {
	type member struct {
		name       string // decoded
		start, key int    // in dst: of the member, and after its key
		end        int
	}
	var ms []member
	byName := func(x, y member) int {
		// UTF-8 sorts by code point. Names that only differ in lone surrogates
		// decode to the same text.
		if c := strings.Compare(x.name, y.name); c != 0 {
			return c
		}
		return bytes.Compare(dst[x.start:x.key], dst[y.start:y.key])
	}
	dst = append(dst, '{')
	body := len(dst)
	for i = skipBlank(b, i+1); b[i] != '}'; {
		end, _ := skipString(b, i)
		m := member{name: unescape(b[i+1 : end-1]), start: len(dst)}
		dst = canonicalString(dst, b[i+1:end-1])
		m.key = len(dst)
		dst = append(dst, ':')
		dst, i = canonical(dst, b, skipBlank(b, skipBlank(b, end)+1))
		m.end = len(dst)
		ms = append(ms, m)
		if i = skipBlank(b, i); b[i] == ',' {
			dst = append(dst, ',')
			i = skipBlank(b, i+1)
		}
	}
	if !slices.IsSortedFunc(ms, byName) {
		slices.SortStableFunc(ms, byName)
		written := slices.Clone(dst[body:])
		dst = dst[:body]
		for n, m := range ms {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, written[m.start-body:m.end-body]...)
		}
	}
	return append(dst, '}'), i + 1
}

// canonicalString takes the inside of a string and writes it with the fewest
// escapes. A lone surrogate has no UTF-8 and stays an escape.
func canonicalString(dst, in []byte) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(in); {
		c := in[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		if in[i+1] != 'u' {
			if p := plainEscape(in[i+1]); p < 0x20 || p == '"' || p == '\\' {
				dst = appendEscape(dst, p)
			} else {
				dst = append(dst, p)
			}
			i += 2
			continue
		}
		r, n := escapedRune(in[i:])
		switch {
		case utf16.IsSurrogate(r):
			dst = append(dst, '\\', 'u')
			dst = append(dst, hexDigits[r>>12&0xF], hexDigits[r>>8&0xF], hexDigits[r>>4&0xF], hexDigits[r&0xF])
		case r < 0x20 || r == '"' || r == '\\':
			dst = appendEscape(dst, byte(r))
		default:
			dst = utf8.AppendRune(dst, r)
		}
		i += n
	}
	return append(dst, '"')
}

// canonicalNumber writes a number as its significant digits and, unless it is
// zero, a power of ten: 120 is 12e1, 1.0 is 1, -0.50 is -5e-1, -0 is 0.
func canonicalNumber(dst []byte, s string) []byte {
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+frac, "0")
	shift := -len(frac)
	trimmed := strings.TrimRight(digits, "0")
	shift += len(digits) - len(trimmed)
	if trimmed == "" {
		return append(dst, '0')
	}
	if neg {
		dst = append(dst, '-')
	}
	dst = append(dst, trimmed...)
	return appendExponent(dst, exponent, shift)
}

// appendExponent adds a written exponent to shift, whatever its size: a number
// is never computed, so a huge exponent costs no more than its digits.
func appendExponent(dst []byte, written string, shift int) []byte {
	neg := strings.HasPrefix(written, "-")
	digits := strings.TrimLeft(strings.TrimLeft(written, "+-"), "0")
	if len(digits) < 18 {
		exp, _ := strconv.ParseInt("0"+digits, 10, 64)
		if neg {
			exp = -exp
		}
		if exp += int64(shift); exp == 0 {
			return dst
		}
		return strconv.AppendInt(append(dst, 'e'), exp, 10)
	}
	dst = append(dst, 'e')
	if neg {
		dst = append(dst, '-')
		shift = -shift
	}
	return appendSum(dst, digits, shift)
}

// appendSum appends digits+n for a decimal larger than n can be.
func appendSum(dst []byte, digits string, n int) []byte {
	out := []byte(digits)
	for i := len(out) - 1; n != 0 && i >= 0; i-- {
		n += int(out[i] - '0')
		digit := n % 10
		if n /= 10; digit < 0 {
			digit += 10
			n--
		}
		out[i] = byte('0' + digit)
	}
	if n > 0 {
		dst = strconv.AppendInt(dst, int64(n), 10)
		return append(dst, out...)
	}
	return append(dst, bytes.TrimLeft(out, "0")...)
}
