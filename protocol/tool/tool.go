// Package tool is the waist between what a client offers and what an agent asks
// of it: tools and how they are merged, calls and how they are settled. It is
// pure: no I/O, no clock, no goroutine.
package tool

import (
	"time"
)

// Handler says who runs a tool.
type Handler string

// The handlers.
const (
	Client   Handler = "client"
	Upstream Handler = "upstream"
)

// Availability says when a configured client tool is offered [MERGE-5].
type Availability string

// The availabilities.
const (
	WhenConnected Availability = "when_connected"
	Always        Availability = "always"
)

// Tool is one tool. Schemas are raw JSON Schema, nil when there is none.
type Tool struct {
	Name         string
	Description  string
	Parameters   []byte
	Output       []byte
	Metadata     []byte // passed on for advertised tools, not read
	Written      []byte // the advertised definition as it was sent, nil for a configured one
	Handler      Handler
	Availability Availability
	SchemaFrom   string        // configured | client [MERGE-3]
	Attempts     int           // times a call may be tried [INV-4]
	Timeout      time.Duration // 0 waits for ever
	Unanswered   string        // synthesize | reject; "" is the agent's [RUN-6]
}

// Limits bound what comes from clients; 0 is no bound.
type Limits struct {
	Tools           int // of one run
	ToolSchema      int // bytes
	ToolDescription int // bytes
	Result          int // bytes
	ErrorChars      int // code points of the text for the model [INV-6]
}
