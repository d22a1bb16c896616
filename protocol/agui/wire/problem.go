package wire

import (
	"strconv"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// problem says why an event has no form on the other side, and where in its JSON.
type problem struct {
	at, text string // at is a JSON Pointer (RFC 6901)
	tooLarge bool
}

func bad(text string) *problem { return &problem{text: text} }

// under puts the name of a member or element in front of the place.
func (p *problem) under(token string) *problem {
	if p == dropped {
		return p
	}
	p.at = "/" + token + p.at
	return p
}

func (p *problem) underItem(n int) *problem {
	if p == dropped {
		return p
	}
	return p.under(strconv.Itoa(n))
}

// dropped is no fault: the content part it comes from is left out.
var dropped = bad("of a type without a form")

func (p *problem) ofFrame(t agui.Type) *fault.Error {
	if p.tooLarge {
		return fault.New(fault.EventTooLarge, "a %s event is more than %d bytes in protobuf", t, MaxEvent)
	}
	return fault.New(fault.UpstreamProtocolError, "a %s event has no protobuf form: %s %s", t, place(p.at), p.text).At(p.at)
}

func (p *problem) ofMessage(limit int) *fault.Error {
	if p.tooLarge {
		return fault.New(fault.EventTooLarge, "the agent sent an event of more than %d bytes", limit)
	}
	return fault.New(fault.UpstreamProtocolError, "the agent sent a protobuf event that is refused: %s %s", place(p.at), p.text).At(p.at)
}

func place(at string) string {
	if at == "" {
		return "it"
	}
	return at
}
