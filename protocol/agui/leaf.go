package agui

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// maxID is the longest thread or run id in bytes (contract §0).
const maxID = 256

// The leaves of the protocol's types, as in @ag-ui/core 1.0.0.
var (
	aString    = rule{want: "a string", ok: func(_ *checker, raw []byte) bool { return isString(raw) }}
	aBool      = rule{want: "a boolean", ok: ofKind(strictjson.Bool)}
	anObject   = rule{want: "an object", ok: ofKind(strictjson.Object)}
	anything   = rule{want: "a JSON value", ok: func(*checker, []byte) bool { return true }}
	notNull    = rule{want: "a JSON value that is not null", ok: func(_ *checker, raw []byte) bool { return !isNull(raw) }}
	stringList = rule{want: "an array of strings", item: &aString}

	// anInteger is z.int(): 1, 1.0 and 1e0 are one; beyond 2^53-1 none is.
	anInteger = rule{want: "a number without fraction between -(2^53-1) and 2^53-1", ok: func(_ *checker, raw []byte) bool {
		return integer(raw, -maxSafe)
	}}
	aCount = rule{want: "a number without fraction between 0 and 2^53-1", ok: func(_ *checker, raw []byte) bool { return integer(raw, 0) }}

	// anID names something that the gateway has to find again. The schemas take
	// any string; of a request we ask one that can tell two things apart, so not
	// the empty one and not one with a lone surrogate, which has no UTF-8.
	anID = rule{want: "a string that is not empty", ok: func(c *checker, raw []byte) bool {
		return isString(raw) && (c.lenient || len(raw) > 2 && !loneSurrogate(raw))
	}}

	aName = rule{want: "a string of 1 to 256 bytes of UTF-8 without control characters", ok: func(_ *checker, raw []byte) bool {
		return isString(raw) && ValidID(text(raw)) && !loneSurrogate(raw)
	}}
	aNameOrEmpty = rule{want: "a string of up to 256 bytes of UTF-8 without control characters", ok: func(_ *checker, raw []byte) bool {
		return isString(raw) && (len(raw) == 2 || ValidID(text(raw)) && !loneSurrogate(raw))
	}}

	aPointer = rule{want: "a string that is a JSON Pointer (RFC 6901)", ok: func(_ *checker, raw []byte) bool {
		return isString(raw) && jsonPointer(text(raw))
	}}
)

const maxSafe = 1<<53 - 1

// ValidID reports whether s can be a thread id or a run id: 1 to 256 bytes of
// UTF-8 without control characters (contract §0).
func ValidID(s string) bool {
	if s == "" || len(s) > maxID || !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, unicode.IsControl)
}

func ofKind(k strictjson.Kind) func(*checker, []byte) bool {
	return func(_ *checker, raw []byte) bool { return strictjson.KindOf(raw) == k }
}

// oneOf is a string out of a closed list.
func oneOf(values ...string) rule {
	want := `"` + strings.Join(values, `" or "`) + `"`
	if len(values) > 1 {
		want = "one of " + want
	}
	return rule{want: want, ok: func(_ *checker, raw []byte) bool {
		if !isString(raw) {
			return false
		}
		for _, v := range values {
			if string(raw[1:len(raw)-1]) == v {
				return true
			}
		}
		t := text(raw) // an escaped spelling
		for _, v := range values {
			if t == v {
				return true
			}
		}
		return false
	}}
}

func integer(raw []byte, least float64) bool {
	if strictjson.KindOf(raw) != strictjson.Number {
		return false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && f == math.Trunc(f) && f >= least && f <= maxSafe
}

func jsonPointer(s string) bool {
	if s != "" && s[0] != '/' {
		return false
	}
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return false
		}
	}
	return true
}

// loneSurrogate reports whether a checked JSON string escapes half a surrogate
// pair. Decoders make U+FFFD of it, so two such ids would become one.
func loneSurrogate(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' || i+4 >= len(raw) || raw[i+1]|0x20 != 'd' || raw[i+2] < '8' {
			continue
		}
		low := raw[i+2]|0x20 >= 'c' // dc00…dfff with no high half before it
		if low || i+10 >= len(raw) || raw[i+5] != '\\' || raw[i+6] != 'u' || raw[i+7]|0x20 != 'd' || raw[i+8]|0x20 < 'c' {
			return true
		}
		i += 10
	}
	return false
}
