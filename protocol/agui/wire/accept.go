package wire

import "strings"

const eventStream = "text/event-stream"

// Prefers reports whether an Accept header asks for protobuf: it gives protobuf
// more weight than text/event-stream, or accepts protobuf and not that (RFC 9110
// §12.5.1). Of equal weights SSE wins, and so it does where the header is empty
// or accepts neither. A range of */* speaks for SSE only [RUN-1]: who asks for
// anything gets text.
//
// Several Accept lines are to be joined with commas first (§5.3).
func Prefers(accept string) bool {
	var proto, sse weight
	for accept != "" {
		var element string
		element, accept = cut(accept, ',')
		r, ok := rangeOf(element)
		if !ok {
			continue
		}
		proto.take(r.specificity(MediaType), r.q)
		if r.name == "*/*" {
			sse.take(anyRange, r.q)
		}
		sse.take(r.specificity(eventStream), r.q)
	}
	return proto.q > sse.q
}

// weight is that of the most specific range so far, in thousandths.
type weight struct{ specificity, q int }

func (w *weight) take(specificity, q int) {
	if specificity > w.specificity || specificity == w.specificity && specificity > 0 && q > w.q {
		w.specificity, w.q = specificity, q
	}
}

const (
	noMatch = iota
	anyRange
	typeRange
	exactRange
)

// mediaRange is one element of an Accept header.
type mediaRange struct {
	name    string // lower case
	q       int
	charset string // lower case
	other   bool   // it has a parameter beside q and charset
}

// specificity says how closely the range matches one of our two types, which
// have no parameters; an event stream is UTF-8 always (WHATWG HTML §9.2.1), so
// naming that changes nothing.
func (r mediaRange) specificity(mediaType string) int {
	main, _, _ := strings.Cut(mediaType, "/")
	switch {
	case r.other || r.charset != "" && (r.charset != "utf-8" || mediaType != eventStream):
		return noMatch
	case r.name == mediaType:
		return exactRange
	case r.name == main+"/*":
		return typeRange
	}
	return noMatch
}

// rangeOf reads a range and its parameters. One whose weight is malformed says
// nothing that could be relied on; ok is false.
func rangeOf(element string) (r mediaRange, ok bool) {
	name, rest := cut(element, ';')
	r.name = strings.ToLower(strings.Trim(name, blanks))
	r.q = 1000
	for rest != "" {
		var parameter string
		parameter, rest = cut(rest, ';')
		key, value, _ := strings.Cut(parameter, "=")
		key, value = strings.ToLower(strings.Trim(key, blanks)), strings.Trim(value, blanks)
		switch key {
		case "q": // what stands behind it belongs to no media type
			r.q, ok = weightOf(value)
			return r, ok && r.name != ""
		case "charset":
			r.charset = strings.ToLower(strings.Trim(value, `"`))
		case "":
		default:
			r.other = true
		}
	}
	return r, r.name != ""
}

const blanks = " \t"

// weightOf reads a qvalue (RFC 9110 §12.4.2), in thousandths.
func weightOf(s string) (int, bool) {
	whole, digits, _ := strings.Cut(s, ".")
	if whole != "0" && whole != "1" || len(digits) > 3 {
		return 0, false
	}
	q := int(whole[0] - '0')
	for i := range 3 {
		q *= 10
		if i < len(digits) {
			if digits[i] < '0' || digits[i] > '9' {
				return 0, false
			}
			q += int(digits[i] - '0')
		}
	}
	return q, q <= 1000
}

// cut is strings.Cut at the first sep that is in no quoted string.
func cut(s string, sep byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case quoted && s[i] == '\\':
			i++
		case !quoted && s[i] == sep:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}
