// Package profile is what the published generations of AG-UI accept, as tables,
// and the way between them [RUN-11]: frames for an older client, frames of an
// older upstream, messages and requests for either.
//
// Inside the gateway everything is 1.0. The facts are those of the packages
// @ag-ui/client and @ag-ui/core 0.0.45, 0.0.59 and 1.0.0, found by running them:
// testdata/accepts.json holds what each one said, and the tests compare.
package profile

import (
	"strings"

	"github.com/aguigate/aguigate/protocol/agui"
)

// Profile is one generation of the protocol. There are three; they never change.
type Profile struct {
	name   string
	modern bool
	events map[agui.Type][]string // 0.0.x: the fields of each type it knows
	// content and args are the fields of the two types that are nearly all of a
	// stream.
	content, args []string
	subagents     bool // subagentRunId and metadata of messages, metadata of tools and calls
	media         bool // image, audio, video and document parts
	resume        bool
	emptyDelta    bool // takes a delta that is the empty string
	owners        bool // tells steps and chunks of one subagent from another's
}

var (
	v0045 = old("0.0.45", Profile{})
	v0059 = old("0.0.59", Profile{subagents: true, media: true, resume: true, emptyDelta: true, owners: true})
	v1    = &Profile{name: agui.ProtocolVersion, modern: true, subagents: true, media: true, resume: true,
		emptyDelta: true, owners: true}
)

func old(name string, p Profile) *Profile {
	p.name, p.events = name, eventFields(p.subagents)
	p.content, p.args = p.events[agui.TextMessageContent], p.events[agui.ToolCallArgs]
	return &p
}

// Of gives the profile of a version: "0.0.45", "0.0.59", or any 1.x, which is
// 1.0. ok is false for what is none of these; the caller chooses then.
func Of(version string) (p *Profile, ok bool) {
	switch version {
	case "0.0.45":
		return v0045, true
	case "0.0.59":
		return v0059, true
	case "1":
		return v1, true
	}
	if minor, ok := strings.CutPrefix(version, "1."); ok && minor != "" && strings.Trim(minor, "0123456789.") == "" {
		return v1, true
	}
	return nil, false
}

// Name is 0.0.45, 0.0.59 or 1.0.
func (p *Profile) Name() string { return p.name }

// Modern reports 1.0.
func (p *Profile) Modern() bool { return p.modern }

// Knows reports whether a client of this profile can be sent events of type t: a
// 0.0.x client dies of one it does not know, a 1.0 client skips it.
func (p *Profile) Knows(t agui.Type) bool {
	if p.modern {
		return true
	}
	_, ok := p.events[t]
	return ok
}
