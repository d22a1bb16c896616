package tool

import (
	"encoding/base32"
	"strings"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// State is where a call stands. All but Open are final.
type State string

// The states.
const (
	Open      State = "open"
	Settled   State = "settled"
	Cancelled State = "cancelled"
	Expired   State = "expired"
)

// Delivery says whether the agent was told the answer [INV-12].
type Delivery string

// The deliveries.
const (
	Held      Delivery = "held"      // not yet
	Sent      Delivery = "sent"      // on its way: the agent may have read it
	Delivered Delivery = "delivered" // the agent has answered to it
	Unknown   Delivery = "unknown"   // its run died on the way
)

// Invocation is one call of a client tool, waiting for its result or past it.
type Invocation struct {
	ID        string `json:"id"`                // public: inv_ and 26 base32 letters
	CallID    string `json:"call"`              // the upstream's
	ShownID   string `json:"shown"`             // towards clients [INV-2]
	MessageID string `json:"message,omitempty"` // the assistant message that holds it
	Agent     string `json:"agent"`
	Thread    string `json:"thread"`
	Run       string `json:"run"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"` // as written

	Valid          bool   `json:"valid"` // against the offered schema
	ArgumentsError string `json:"arguments_error,omitempty"`

	Attempt        int    `json:"attempt"`
	Attempts       int    `json:"attempts"` // how many there may be
	IdempotencyKey string `json:"key"`
	Initiator      string `json:"initiator"` // model | ui | operator

	Released   bool      `json:"released"`
	Created    time.Time `json:"created"`
	Listed     time.Time `json:"listed,omitzero"` // its place in its owner's list
	ReleasedAt time.Time `json:"released_at,omitzero"`
	Ended      time.Time `json:"ended,omitzero"`
	Deadline   time.Time `json:"deadline,omitzero"`

	State      State       `json:"state"`
	Outcome    Outcome     `json:"outcome,omitempty"`
	Reason     string      `json:"reason,omitempty"` // of a cancellation
	Settlement *Settlement `json:"settlement,omitempty"`
	Failures   int         `json:"failures,omitempty"` // attempts that failed retryably
	Delivery   Delivery    `json:"delivery"`
	Kept       bool        `json:"kept,omitempty"` // the agent was told "not answered yet" [RUN-6]
}

const idPrefix = "inv_"

var idAlphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewInvocationID makes a public id of 130 bits from random bytes [SEC-5].
func NewInvocationID(random [17]byte) string {
	return idPrefix + idAlphabet.EncodeToString(random[:])[:26]
}

// ValidInvocationID reports whether id has the form of a public id.
func ValidInvocationID(id string) bool {
	rest, ok := strings.CutPrefix(id, idPrefix)
	return ok && len(rest) == 26 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// ParseArguments gives a call's arguments exactly as written. Nothing but blanks
// is {} (F037); what is not one JSON value is malformed_tool_args [INV-14].
func ParseArguments(s string) (string, error) {
	if strings.Trim(s, " \t\r\n") == "" {
		return "{}", nil
	}
	if err := strictjson.Check([]byte(s)); err != nil {
		return "", fault.New(fault.MalformedToolArgs, "the arguments of the tool call are %v", err)
	}
	return s, nil
}

// AppendPublic writes what GET /v1/invocations/{id} shows (contract §6). The
// private text of a failure stays private.
func (inv *Invocation) AppendPublic(b []byte) []byte {
	str := func(key, v string) {
		b = append(append(append(b, '"'), key...), '"', ':')
		b = append(strictjson.AppendString(b, v), ',')
	}
	orNull := func(key, v string) {
		if v != "" {
			str(key, v)
			return
		}
		b = append(append(append(b, '"'), key...), `":null,`...)
	}
	b = append(b, '{')
	str("id", inv.ID)
	str("state", string(inv.State))
	b = append(b, `"released":`...)
	b = append(appendBool(b, inv.Released), ',')
	orNull("outcome", string(inv.Outcome))
	orNull("delivery", string(inv.shownDelivery()))
	str("tool", inv.Tool)
	b = append(appendJSON(append(b, `"arguments":`...), inv.Arguments), ',')
	b = append(b, `"valid":`...)
	b = append(appendBool(b, inv.Valid), ',')
	if inv.ArgumentsError != "" {
		str("arguments_error", inv.ArgumentsError)
	}
	str("call_id", inv.ShownID)
	str("agent", inv.Agent)
	str("thread", inv.Thread)
	str("run", inv.Run)
	b = append(b, `"attempt":`...)
	b = append(appendInt(b, inv.Attempt), ',')
	str("idempotency_key", inv.IdempotencyKey)
	str("initiator", inv.Initiator)
	str("created_at", stamp(inv.Created))
	orNull("released_at", stamp(inv.ReleasedAt))
	orNull("ended_at", stamp(inv.Ended))
	orNull("deadline", stamp(inv.Deadline))
	if inv.Reason != "" {
		str("reason", inv.Reason)
	}
	b = inv.Settlement.appendPublic(b)
	b[len(b)-1] = '}' // the last comma
	return b
}

// MarshalPublic is AppendPublic to a new slice.
func (inv *Invocation) MarshalPublic() []byte { return inv.AppendPublic(nil) }

// appendJSON writes a recorded text as the JSON value it is, or as a string where
// it is none, so that what is shown is JSON whatever the record holds.
func appendJSON(b []byte, text string) []byte {
	if strictjson.Valid([]byte(text)) {
		return append(b, text...)
	}
	return strictjson.AppendString(b, text)
}

// shownDelivery is nothing for a call without an answer.
func (inv *Invocation) shownDelivery() Delivery {
	if inv.State != Settled {
		return ""
	}
	return inv.Delivery
}

// appendPublic writes result, content or error, with a comma behind each.
func (s *Settlement) appendPublic(b []byte) []byte {
	switch {
	case s == nil:
		return b
	case s.Outcome != OK:
		b = append(b, `"error":{"message":`...)
		b = strictjson.AppendString(b, s.ErrorText())
		if s.Error != nil && s.Error.Class != "" {
			b = strictjson.AppendString(append(b, `,"type":`...), s.Error.Class)
		}
		b = append(b, `,"retryable":`...)
		return append(appendBool(b, s.Error != nil && s.Error.Retryable), "},"...)
	case s.Form == FormParts:
		return append(appendJSON(append(b, `"content":`...), s.Content), ',')
	case s.Form == FormJSON && s.Content != "":
		return append(appendJSON(append(b, `"result":`...), s.Content), ',')
	case s.Form == FormJSON:
		return append(b, `"result":null,`...)
	}
	return append(strictjson.AppendString(append(b, `"result":`...), s.Content), ',')
}

// AppendAccepted writes the accepted answer for a conflict: its outcome and what
// it says.
func (s *Settlement) AppendAccepted(b []byte) []byte {
	b = strictjson.AppendString(append(b, `{"outcome":`...), string(s.Outcome))
	b = s.appendPublic(append(b, ','))
	b[len(b)-1] = '}'
	return b
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, "true"...)
	}
	return append(b, "false"...)
}

// stamp is RFC 3339 in UTC with milliseconds (contract §0), "" for no time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
