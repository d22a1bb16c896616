// Package agui is the AG-UI wire format: events (Frame), run input, messages,
// content parts, capabilities, the SSE framing and the order rules.
//
// It speaks protocol version 1.0, reads what 0.0.x clients send, and keeps the
// bytes of everything nobody changes [RUN-7]. Facts are those of the published
// packages @ag-ui/core and @ag-ui/client 1.0.0; where their schemas and their
// behaviour differ, behaviour is followed and the place says so.
package agui

// ProtocolVersion is what the gateway names in RUN_STARTED and in its own
// requests: the version segment of https://ag-ui.com/spec/1.0/schema.json.
const ProtocolVersion = "1.0"
