package carrier

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/valyala/fasthttp"
)

var badFraming = fault.New(fault.InvalidRequest, "the request head is malformed or ambiguous")

// framing refuses heads that two parsers could read differently (RFC 9112 §5, §6):
// the engine accepts bare LF, folded lines, odd field names and Content-Length
// beside Transfer-Encoding. A proxy in front may see another request in them. A
// bare LF after the request line passes: the engine shows the lines below it only,
// and it moves no boundary (RFC 9112 §2.2 allows it).
func framing(h *fasthttp.RequestHeader) *fault.Error {
	if p := string(h.Protocol()); p != "HTTP/1.1" && p != "HTTP/1.0" {
		return badFraming
	}
	var seen singles
	raw := h.RawHeaders()
	for len(raw) > 0 {
		n := bytes.IndexByte(raw, '\n')
		if n < 0 {
			n = len(raw) - 1 // the engine leaves the last line end out
		} else if n == 0 || raw[n-1] != '\r' {
			return badFraming // bare LF
		}
		line := bytes.TrimRight(raw[:n+1], "\r\n")
		raw = raw[n+1:]
		if len(line) == 0 {
			if len(raw) > 0 {
				return badFraming // a second head behind the first
			}
			break
		}
		name, _, ok := bytes.Cut(line, []byte{':'})
		if !ok || !isToken(name) || !seen.add(name) { // a folded line begins with a blank: no token
			return badFraming
		}
	}
	chunked := h.ContentLength() == -1
	if seen.length && seen.coding || seen.coding && !chunked {
		return badFraming
	}
	return nil
}

// singles notes the fields that may come once only: who reads the first and who
// reads the last of two must not disagree.
type singles struct{ length, coding, host, origin, media, identity, id bool }

func (s *singles) add(name []byte) bool {
	var flag *bool
	switch len(name) {
	case len("Host"):
		flag = pick(name, "Host", &s.host)
	case len("Origin"):
		flag = pick(name, "Origin", &s.origin)
	case len("Content-Type"): // as long as X-Request-Id
		if flag = pick(name, "Content-Type", &s.media); flag == nil {
			flag = pick(name, "X-Request-Id", &s.id)
		}
	case len("Content-Length"):
		flag = pick(name, "Content-Length", &s.length)
	case len("Transfer-Encoding"):
		flag = pick(name, "Transfer-Encoding", &s.coding)
	case len("X-Aguigate-Identity"):
		flag = pick(name, "X-Aguigate-Identity", &s.identity)
	}
	if flag == nil {
		return true
	}
	if *flag {
		return false
	}
	*flag = true
	return true
}

func pick(name []byte, want string, flag *bool) *bool {
	if bytes.EqualFold(name, []byte(want)) {
		return flag
	}
	return nil
}

// isToken reports whether b is a field name or method (RFC 9110 §5.6.2).
func isToken[T string | []byte](b T) bool {
	for i := 0; i < len(b); i++ {
		if !tokenByte[b[i]] {
			return false
		}
	}
	return len(b) > 0
}

var tokenByte = func() (t [256]bool) {
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = true, true
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] = true
	}
	return t
}()
