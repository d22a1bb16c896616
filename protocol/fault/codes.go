package fault

import (
	"fmt"
	"strings"
)

// Code names a fault for machines. The list is closed (contract §3), except for
// the family upstream_http_<status> made by UpstreamHTTP.
type Code string

// The codes a refusal may carry.
const (
	InvalidRequest Code = "invalid_request"
	InvalidTool    Code = "invalid_tool"
	ToolReserved   Code = "tool_reserved"
	InvalidResult  Code = "invalid_result"
	InvalidResume  Code = "invalid_resume"

	Unauthenticated Code = "unauthenticated"
	Forbidden       Code = "forbidden"
	NotOwner        Code = "not_owner"
	OriginRefused   Code = "origin_refused"

	AgentNotFound      Code = "agent_not_found"
	ThreadNotFound     Code = "thread_not_found"
	InvocationNotFound Code = "invocation_not_found"
	DataSourceNotFound Code = "data_source_not_found"
	NotFound           Code = "not_found"
	MethodNotAllowed   Code = "method_not_allowed"

	ActionResultConflict Code = "action_result_conflict"
	StaleAttempt         Code = "stale_attempt"
	NotClientTool        Code = "not_client_tool"
	ThreadBusy           Code = "thread_busy"
	RunConflict          Code = "run_conflict"
	ResumeConflict       Code = "resume_conflict"
	ToolConflict         Code = "tool_conflict"
	UnansweredCalls      Code = "unanswered_calls"
	IncompleteResults    Code = "incomplete_results"

	InvocationClosed     Code = "invocation_closed"
	BodyTooLarge         Code = "body_too_large"
	ResultTooLarge       Code = "result_too_large"
	DataSourceTooLarge   Code = "data_source_too_large"
	PageContextTooLarge  Code = "page_context_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	UnsupportedInput     Code = "unsupported_input"

	RateLimited      Code = "rate_limited"
	Internal         Code = "internal"
	UpstreamError    Code = "upstream_error"
	Draining         Code = "draining"
	Overloaded       Code = "overloaded"
	StoreUnavailable Code = "store_unavailable"
	UpstreamTimeout  Code = "upstream_timeout"
)

// The codes that only appear inside a stream, after a run was accepted [ERR-3].
const (
	UpstreamUnreachable   Code = "upstream_unreachable"
	UpstreamProtocolError Code = "upstream_protocol_error"
	UpstreamClosed        Code = "upstream_closed"
	IncompleteStream      Code = "incomplete_stream"
	EventTooLarge         Code = "event_too_large"
	MalformedToolArgs     Code = "malformed_tool_args"
	ToolLoop              Code = "tool_loop"
	ResultRejected        Code = "result_rejected"
	GatewayShutdown       Code = "gateway_shutdown"
)

const upstreamHTTP = "upstream_http_"

// UpstreamHTTP is the in-band code of a backend that refused a run with an HTTP
// status.
func UpstreamHTTP(status int) Code { return Code(fmt.Sprintf("%s%d", upstreamHTTP, status)) }

// carrier is one row of the table: what a code becomes on each carrier.
type carrier struct {
	status int // HTTP status of a refusal
	close  int // WebSocket close code when the fault ends the socket (RFC 6455 §7.4)
}

// table is the only place that maps a code. In-band codes have the status a
// carrier without a stream would use.
var table = map[Code]carrier{
	InvalidRequest: {400, 1008}, InvalidTool: {400, 1008}, ToolReserved: {400, 1008},
	InvalidResult: {400, 1008}, InvalidResume: {400, 1008},
	Unauthenticated: {401, 1008}, Forbidden: {403, 1008}, NotOwner: {403, 1008}, OriginRefused: {403, 1008},
	AgentNotFound: {404, 1008}, ThreadNotFound: {404, 1008}, InvocationNotFound: {404, 1008},
	DataSourceNotFound: {404, 1008}, NotFound: {404, 1008}, MethodNotAllowed: {405, 1008},
	ActionResultConflict: {409, 1008}, StaleAttempt: {409, 1008}, NotClientTool: {409, 1008},
	ThreadBusy: {409, 1008}, RunConflict: {409, 1008}, ResumeConflict: {409, 1008},
	ToolConflict: {409, 1008}, UnansweredCalls: {409, 1008}, IncompleteResults: {409, 1008},
	InvocationClosed: {410, 1008}, BodyTooLarge: {413, 1009}, ResultTooLarge: {413, 1009},
	DataSourceTooLarge: {413, 1009}, PageContextTooLarge: {413, 1009},
	UnsupportedMediaType: {415, 1003}, UnsupportedInput: {422, 1003},
	RateLimited: {429, 1013}, Internal: {500, 1011},
	UpstreamError: {502, 1011}, Draining: {503, 1001}, Overloaded: {503, 1013},
	StoreUnavailable: {503, 1011}, UpstreamTimeout: {504, 1011},
	UpstreamUnreachable: {502, 1011}, UpstreamProtocolError: {502, 1011}, UpstreamClosed: {502, 1011},
	IncompleteStream: {502, 1011}, EventTooLarge: {502, 1009}, MalformedToolArgs: {502, 1011},
	ToolLoop: {502, 1011}, ResultRejected: {502, 1011}, GatewayShutdown: {503, 1001},
}

// Status is the HTTP status of a refusal with this code; an unknown code is 500.
func (c Code) Status() int { return c.row().status }

// Close is the WebSocket close code for a fault that ends a socket.
func (c Code) Close() int { return c.row().close }

// Known reports whether c is in the contract's list.
func (c Code) Known() bool {
	_, ok := table[c]
	return ok || strings.HasPrefix(string(c), upstreamHTTP)
}

// Type groups codes the way the error body's "type" does.
func (c Code) Type() string {
	switch s := c.Status(); {
	case s == 401:
		return "authentication_error"
	case s == 403:
		return "permission_error"
	case s == 404:
		return "not_found_error"
	case s == 409 || s == 410:
		return "conflict_error"
	case s == 429:
		return "rate_limit_error"
	case s >= 500:
		return "api_error"
	}
	return "invalid_request_error"
}

func (c Code) row() carrier {
	if r, ok := table[c]; ok {
		return r
	}
	if strings.HasPrefix(string(c), upstreamHTTP) {
		return carrier{502, 1011}
	}
	return carrier{500, 1011}
}
