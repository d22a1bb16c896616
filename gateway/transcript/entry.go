// Package transcript is the record of a thread's conversation [HIST-1 to HIST-5]:
// each message once, by id, in the order the thread came to know it. It is pure:
// entries come in as they were read, and what a client's list means against them
// comes out.
package transcript

import (
	"encoding/json"

	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/protocol/agui"
)

// Entry is one thing that was written down: a message, or a newer version of one,
// with where it came from. The JSON names are the record's format.
type Entry struct {
	Run   string `json:"r,omitempty"` // key of the run that made or brought it
	Made  bool   `json:"a,omitempty"` // the agent made it in that run
	Round string `json:"k,omitempty"` // that holds the invocations of the message's client calls
	// Over is one more than the place of the message this is a newer version of; 0
	// for a new message.
	Over    int             `json:"o,omitempty"`
	Renames []run.Rename    `json:"n,omitempty"` // ids this run showed under other names [INV-2]
	Raw     json.RawMessage `json:"m,omitempty"` // the message with the ids clients know; nil for none
}

// Size is about how many bytes the entry takes in the store.
func (e *Entry) Size() int {
	n := 32 + len(e.Run) + len(e.Round) + len(e.Raw)
	for _, r := range e.Renames {
		n += 32 + len(r.Upstream) + len(r.Shown)
	}
	return n
}

// Page is a closed part of a transcript in the store. It never changes.
type Page struct {
	Prev    string  `json:"prev,omitempty"` // key of the page before
	Entries []Entry `json:"entries"`
}

// Bare is a message without what was said: its ids and role, which are all that is
// kept where no history is [DATA-1].
func Bare(m agui.Message) agui.Message {
	switch m.Role {
	case agui.RoleTool:
		return agui.NewToolMessage(m.ID, m.ToolCallID, nil, "")
	case agui.RoleAssistant:
		calls := make([]agui.ToolCall, len(m.ToolCalls))
		for i, c := range m.ToolCalls {
			calls[i] = agui.ToolCall{ID: c.ID, Name: c.Name, Arguments: ""}
		}
		return agui.NewAssistantMessage(m.ID, "", calls)
	}
	return agui.NewUserMessage(m.ID, nil).With("role", []byte(`"`+string(m.Role)+`"`))
}
