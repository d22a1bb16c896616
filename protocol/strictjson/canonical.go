package strictjson

import (
	"sort"
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
	return canonical(dst, b), nil
}

func canonical(dst, b []byte) []byte {
	i := skipBlank(b, 0)
	switch KindOf(b) {
	case Object:
		return canonicalObject(dst, b)
	case Array:
		dst = append(dst, '[')
		it := Walk(b)
		for n := 0; ; n++ {
			_, value, _, ok := it.Next()
			if !ok {
				return append(dst, ']')
			}
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = canonical(dst, value)
		}
	case Str:
		end, _ := skipString(b, i)
		return canonicalString(dst, b[i+1:end-1])
	case Number:
		end, _ := skipNumber(b, i)
		return canonicalNumber(dst, string(b[i:end]))
	}
	for i < len(b) && b[i] >= 'a' && b[i] <= 'z' { // true, false, null
		dst = append(dst, b[i])
		i++
	}
	return dst
}

func canonicalObject(dst, b []byte) []byte {
	type member struct {
		key   []byte // canonical, with quotes
		sort  string // decoded
		value []byte
	}
	var ms []member
	it := Walk(b)
	for {
		key, value, _, ok := it.Next()
		if !ok {
			break
		}
		ms = append(ms, member{canonicalString(nil, key), unescape(key), value})
	}
	// UTF-8 sorts by code point.
	sort.SliceStable(ms, func(i, j int) bool { return ms[i].sort < ms[j].sort })
	dst = append(dst, '{')
	for n, m := range ms {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, m.key...), ':')
		dst = canonical(dst, m.value)
	}
	return append(dst, '}')
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

// appendExponent adds a written exponent to shift. Exponents too large for an
// int64 keep their digits: they are equal only to themselves, which is exact
// enough for a comparison and bounded in work.
func appendExponent(dst []byte, written string, shift int) []byte {
	exp := int64(shift)
	if written != "" {
		e, err := strconv.ParseInt(written, 10, 62)
		if err != nil {
			neg := strings.HasPrefix(written, "-")
			digits := strings.TrimLeft(strings.TrimLeft(written, "+-"), "0")
			dst = append(dst, 'E')
			if neg {
				dst = append(dst, '-')
			}
			dst = append(append(dst, digits...), ':')
			return strconv.AppendInt(dst, exp, 10)
		}
		exp += e
	}
	if exp == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, 'e'), exp, 10)
}
