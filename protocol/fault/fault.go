// Package fault holds the one error type of the gateway and the one table that
// says what each code becomes on every carrier (contract §3).
//
// A fault has three texts that never mix: the code, a word for machines; the
// message, a sentence for the caller; the cause, for the log only [ERR-2].
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Error is a refusal or a failure on its way to a caller.
type Error struct {
	Code       Code
	Message    string        // for the caller: what was wrong, where, what is allowed
	Param      string        // JSON Pointer, tool name or header at fault; "" when none
	RetryAfter time.Duration // > 0 adds Retry-After, rounded up to whole seconds
	Detail     []Member      // further members of the error object, in order
	Cause      error         // for the log; never shown
}

// Member is one extra member of an error body, such as the accepted outcome of
// a conflict. Raw is JSON the gateway itself has written or checked.
type Member struct {
	Key string
	Raw []byte
}

// New makes a fault with a formatted public message.
func New(code Code, format string, args ...any) *Error {
	if len(args) == 0 {
		return &Error{Code: code, Message: format}
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// At returns a copy of e that names the part of the input at fault.
func (e *Error) At(param string) *Error {
	c := *e
	c.Param = param
	return &c
}

// Because returns a copy of e that carries an internal cause for the log.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// With returns a copy of e with one more member in its body.
func (e *Error) With(key string, raw []byte) *Error {
	c := *e
	c.Detail = append(append([]Member(nil), e.Detail...), Member{Key: key, Raw: raw})
	return &c
}

// Error gives code, message and cause: the log's view.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Message
	if e.Param != "" {
		s += " (" + e.Param + ")"
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is a fault of the same code, so that
// errors.Is(err, &fault.Error{Code: c}) asks for a code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Code == e.Code
}

// From finds the fault in err. An error without one is Internal: its text goes
// to the log and never to a caller.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	return &Error{Code: Internal, Message: "the gateway could not handle this request", Cause: err}
}

// CodeOf is the code of err, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return From(err).Code
}
