package api

import (
	"errors"
	"strconv"
	"strings"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

func pointer(at string, i int) string { return at + "/" + strconv.Itoa(i) }

// object reads one JSON object strictly: no duplicate keys, no other spelling of
// the keys the API knows [SEC-1].
func object(raw []byte, at string, keys ...string) (strictjson.Members, error) {
	m, err := strictjson.ParseObject(raw)
	switch {
	case errors.Is(err, strictjson.ErrDuplicate):
		return nil, fault.New(fault.InvalidRequest, "%v", err).At(pointTo(at, repeated(m)))
	case errors.Is(err, strictjson.ErrType):
		return nil, fault.New(fault.InvalidRequest, "%v", err).At(at)
	case err != nil:
		return nil, fault.New(fault.InvalidRequest, "the body is %v", err).At(at)
	}
	if key, right, bad := strictjson.Misspelt(m, keys); bad {
		return nil, fault.New(fault.InvalidRequest, "this key is written %q", right).At(pointTo(at, key))
	}
	return m, nil
}

// repeated is the first key that stands twice.
func repeated(m strictjson.Members) string {
	seen := make(map[string]bool, len(m))
	for _, one := range m {
		if seen[one.Key] {
			return one.Key
		}
		seen[one.Key] = true
	}
	return ""
}

// pointTo adds a client's key to a JSON Pointer (RFC 6901 §3), unless it is so long
// that it should not be said back.
func pointTo(at, key string) string {
	if len(key) > 64 {
		return at
	}
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// decodeAnswer reads one answer: exactly one of result, content and error, and
// for a round the id of its call.
func decodeAnswer(raw []byte, at string, named bool) (frontend.Answer, error) {
	a := frontend.Answer{Door: Name}
	m, err := object(raw, at, "id", "result", "content", "error", "attempt", "continue")
	if err != nil {
		return a, err
	}
	if named {
		if a.ID, err = text(m.Get("id")); err != nil || a.ID == "" {
			return a, fault.New(fault.InvalidRequest, "id is the public or the upstream's id of a call").At(at + "/id")
		}
	}
	if a.Attempt, err = attempt(m.Get("attempt")); err != nil {
		return a, fault.New(fault.InvalidRequest, "attempt is a whole number from 1").At(at + "/attempt")
	}
	if c := m.Get("continue"); c != nil {
		if strictjson.KindOf(c) != strictjson.Bool {
			return a, fault.New(fault.InvalidRequest, "continue is true or false").At(at + "/continue")
		}
		a.Leave = c[0] == 'f'
	}
	return a, outcome(&a, m, at)
}

// outcome fills in what was answered.
func outcome(a *frontend.Answer, m strictjson.Members, at string) error {
	result, content, failure := m.Get("result"), m.Get("content"), m.Get("error")
	given := 0
	for _, v := range [][]byte{result, content, failure} {
		if v != nil {
			given++
		}
	}
	if given != 1 {
		return fault.New(fault.InvalidRequest, "an answer has exactly one of result (any JSON), content (parts) and error (an object)").At(at)
	}
	switch {
	case result != nil:
		a.Form, a.Content = tool.FormJSON, result
	case content != nil:
		if strictjson.KindOf(content) != strictjson.Array {
			return fault.New(fault.InvalidRequest, "content is an array of parts").At(at + "/content")
		}
		if _, err := agui.DecodeParts(content, at+"/content"); err != nil {
			return err
		}
		a.Form, a.Content = tool.FormParts, content
	default:
		return decodeFailure(a, failure, at+"/error")
	}
	return nil
}

// decodeFailure reads {message, type, retryable, private}; everything else, a
// stack for one, is dropped [INV-6].
func decodeFailure(a *frontend.Answer, raw []byte, at string) error {
	m, err := object(raw, at, "message", "type", "retryable", "private")
	if err != nil {
		return err
	}
	f := &frontend.Failure{}
	if f.Model, err = text(m.Get("message")); err != nil || f.Model == "" {
		return fault.New(fault.InvalidRequest, "message is the sentence the model reads").At(at + "/message")
	}
	for key, to := range map[string]*string{"type": &f.Class, "private": &f.Private} {
		if v := m.Get(key); v != nil && strictjson.KindOf(v) != strictjson.Null {
			if *to, err = text(v); err != nil {
				return fault.New(fault.InvalidRequest, "%s is a string", key).At(at + "/" + key)
			}
		}
	}
	switch v := m.Get("retryable"); strictjson.KindOf(v) {
	case strictjson.Invalid, strictjson.Null:
	case strictjson.Bool:
		f.Retryable = v[0] == 't'
	default:
		return fault.New(fault.InvalidRequest, "retryable is true or false").At(at + "/retryable")
	}
	a.Failure = f
	return nil
}

func text(raw []byte) (string, error) {
	if raw == nil {
		return "", nil
	}
	return strictjson.StringOf(raw)
}

func attempt(raw []byte) (int, error) {
	if raw == nil || strictjson.KindOf(raw) == strictjson.Null {
		return 0, nil
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 1 {
		return 0, strconv.ErrRange
	}
	return n, nil
}
