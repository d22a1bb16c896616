package config

import "time"

// Agent is a named route: one upstream, its tools, its policies.
type Agent struct {
	Name string `yaml:"-"` // the key below agents
	// What the agent is for; shown to clients among its capabilities.
	Description string `yaml:"description"`
	// Who may use the agent. At the bound: for others it does not exist, 404
	// `agent_not_found` [OWN-3].
	Allow Allow `yaml:"allow"`
	// The backend that runs the agent.
	Upstream Upstream `yaml:"upstream"`
	// Tools known beforehand, in the order they are offered.
	Tools []Tool `yaml:"tools"`
	// What clients may add to the tools [MERGE-2].
	ClientTools ClientTools `yaml:"client_tools"`
	// What of a client's request reaches the backend.
	ClientInput ClientInput `yaml:"client_input"`
	// What a new user message does to calls that still wait. `synthesize`: each is told
	// to the model as not answered, and closed. `reject`: 409 `unanswered_calls`.
	// `keep`: the model is told that there is no answer yet, the call stays open, and
	// an answer that comes later reaches the model as a new message; tools with
	// `availability: always` have it unless they say otherwise [RUN-6].
	Unanswered string `yaml:"unanswered" default:"synthesize" oneof:"synthesize reject keep"`
	// What a new run does on a thread that has one. `reject`: 409 `thread_busy`.
	// `queue`: it waits its turn, at most 8 do, 60 s each, then `thread_busy`.
	// `supersede`: the active run is stopped, and the new one begins once that is
	// recorded [RUN-10].
	Concurrency string `yaml:"concurrency" default:"reject" oneof:"reject queue supersede"`
	// What is kept of a conversation. `keep`: its messages. `none`: ids only; rounds are
	// then continued by the client's own next run, never by the gateway [DATA-1].
	History string `yaml:"history" default:"keep" oneof:"keep none"`
	// What a client that goes away does to its run. `cancel`: the upstream's request is
	// cancelled within a second. `detach`: the run goes on, as `detach` says, and what it
	// makes is brought to the client when it comes back [RUN-10].
	OnDisconnect string `yaml:"on_disconnect" default:"cancel" oneof:"cancel detach"`
	// How far a run goes on without its client.
	Detach Detach `yaml:"detach"`
	// How often a client tool may be called with equal arguments without a word of the
	// user in between; 0 counts nothing. At the bound: the run ends in RUN_ERROR
	// `tool_loop`.
	LoopGuard int `yaml:"loop_guard" default:"8" min:"0" max:"1000"`
	// After how much silence a stream gets a comment line; 0 sends none [RUN-9].
	KeepAlive time.Duration `yaml:"keepalive" default:"15s" min:"0s"`
	// Bytes that such a comment has beside its words, for proxies that pass on no small
	// pieces.
	KeepAlivePadding Size `yaml:"keepalive_padding" default:"0" min:"0" max:"65536"`
	// What a client that names no version is taken to speak [RUN-11].
	LegacyProfile string `yaml:"legacy_profile" default:"0.0.59" oneof:"0.0.45 0.0.59"`

	// Repairs of what backends send, by name: `on` or `off`. Each that is not named has
	// its default.
	Repairs Repairs `yaml:"repairs"`

	_ struct{} `later:"access_key notify"`
}

// Detach bounds a run whose client has gone away; one that nobody reads again until
// then is cancelled.
type Detach struct {
	// How long it may take. At the bound: it is cancelled.
	Grace time.Duration `yaml:"grace" default:"10m" min:"1s"`
	// Bytes of events it may make. At the bound: it is cancelled.
	Buffer Size `yaml:"buffer" default:"4MiB" min:"1"`
}

// Allow names callers by tenant and role; both must match [OWN-3].
type Allow struct {
	// Tenants that may use the agent; `*` is every tenant.
	Tenants []string `yaml:"tenants" default:"*"`
	// Roles that may use the agent.
	Roles []string `yaml:"roles" default:"client,machine,operator" oneof:"client machine operator"`
}

// Upstream is one agent backend.
type Upstream struct {
	// `agui`: any AG-UI server over HTTP. `demo`: the built-in scripted agent.
	Kind string `yaml:"kind" default:"agui" oneof:"agui demo" later:"omnia ultravox elevenlabs amarsia openai worker"`
	// Where runs are posted: absolute, `http` or `https`, without user and fragment.
	// Needed for `agui`. Redirects are not followed [SEC-4].
	URL string `yaml:"url"`
	// AG-UI version spoken to the backend. `auto` sends what 0.0 knows until the backend
	// has named its version [UP-4].
	Protocol string `yaml:"protocol" default:"auto" oneof:"auto 0.0 1.0"`
	// Wire format that the backend is asked for. `protobuf`: it may still answer with
	// `sse`.
	Encoding string `yaml:"encoding" default:"sse" oneof:"sse protobuf"`
	// Headers of every request to the backend, by name; they win over forwarded ones
	// [UP-2].
	Headers Headers `yaml:"headers"`
	// Headers that name the caller: each value is `subject` or `tenant`. A client's own
	// header of that name is dropped.
	IdentityHeaders Headers `yaml:"identity_headers"`
	// Names of client headers that go on. Credentials, cookies and headers of the
	// connection are not possible here.
	ForwardHeaders []string `yaml:"forward_headers" default:"traceparent,x-request-id"`
	// Whether the client's `Authorization` goes on to the backend.
	ForwardClientCredentials bool `yaml:"forward_client_credentials" default:"false"`
	// How long the gateway waits for the backend.
	Timeouts Timeouts `yaml:"timeouts"`
	// Whether a request that the backend did not answer may be sent once more on a new
	// connection. With `false` none is whose body went out [UP-3].
	Idempotent bool `yaml:"idempotent" default:"false"`

	_ struct{} `later:"model api_key system max_rounds agent_id"`
}

// Timeouts bounds one run; 0 is no bound.
type Timeouts struct {
	// Until the connection stands. At the bound: RUN_ERROR `upstream_unreachable`.
	Connect time.Duration `yaml:"connect" default:"5s" min:"0s"`
	// From the request to the first event. At the bound: RUN_ERROR `upstream_timeout`.
	FirstByte time.Duration `yaml:"first_byte" default:"5m" min:"0s"`
	// Between two events. At the bound: RUN_ERROR `upstream_timeout`.
	Idle time.Duration `yaml:"idle" default:"15m" min:"0s"`
	// The whole run. At the bound: RUN_ERROR `upstream_timeout`.
	Total time.Duration `yaml:"total" default:"0s" min:"0s"`
}

// Tool is one tool the operator wrote down.
type Tool struct {
	// `^[A-Za-z][A-Za-z0-9_-]{0,63}$`, unique in its agent.
	Name string `yaml:"name"`
	// What the model reads; it wins over an advertised one [MERGE-3].
	Description string `yaml:"description"`
	// Who runs the tool. `upstream`: the name belongs to the backend and no client can
	// take it; the keys below do nothing then [MERGE-2].
	Handler string `yaml:"handler" default:"client" oneof:"client upstream"`
	// `when_connected`: offered only if the request advertises the name. `always`: also
	// with nobody connected [MERGE-5].
	Availability string `yaml:"availability" default:"when_connected" oneof:"when_connected always"`
	// JSON Schema of the arguments, written as YAML. It resolves inside itself only
	// [SEC-2].
	Parameters Schema `yaml:"parameters"`
	// JSON Schema of the result. At the bound: a result that does not match is refused
	// with 400 `invalid_result`, or fails the call [INV-5].
	Output Schema `yaml:"output"`
	// Whose schema the model gets: `configured`, or the `client`'s advertised one
	// [MERGE-3].
	Schema string `yaml:"schema" default:"configured" oneof:"configured client"`
	// How long a call waits for its result; 0 is for ever. At the bound: the call expires
	// and the model is told that nobody answered.
	Timeout time.Duration `yaml:"timeout" default:"0s" min:"0s"`
	// How often a call may be tried when its failures are retryable. At the bound: the
	// last failure stands [INV-4].
	Attempts int `yaml:"attempts" default:"1" min:"1" max:"100"`
	// As the agent's `unanswered`, for this tool; empty takes the agent's, or `keep` for
	// a tool that is always available.
	Unanswered string `yaml:"unanswered" oneof:"synthesize reject keep"`

	_ struct{} `later:"idempotent backoff approval rerun"`
}

// ClientTools says which advertised tools are taken [MERGE-4, SEC-6].
type ClientTools struct {
	// Names that clients may advertise; `*` stands for any characters. An entry may also
	// be `{name, schema_sha256}`, which pins the schema's digest, or `{name, text:
	// configured}`, which takes the texts from `tools`.
	Allow []AllowRule `yaml:"allow" default:"*"`
	// Names that clients may not advertise; it wins over `allow`.
	Deny []string `yaml:"deny" default:"mcp_*,searchWeb,composeUI"`
	// What a denied name does. `reject`: 400 `tool_reserved`. `ignore`: it is left out.
	OnDenied string `yaml:"on_denied" default:"reject" oneof:"reject ignore"`
	// What an advertised name that belongs to the backend does. `ignore`: it is left out
	// and named in `X-Aguigate-Ignored-Tools`. `reject`: 409 `tool_conflict` [MERGE-2].
	OnUpstreamName string `yaml:"on_upstream_name" default:"ignore" oneof:"ignore reject"`
}

// AllowRule lets advertised tools in.
type AllowRule struct {
	// A name, or a pattern with `*`.
	Name string `yaml:"name"`
	// Digest of the advertised schema's canonical JSON, 64 hexadecimal digits.
	SchemaSHA256 string `yaml:"schema_sha256"`
	// `configured`: the model reads the description and schema of `tools`, never the
	// client's.
	Text string `yaml:"text" oneof:"configured"`
}

// ClientInput says what of a client's request reaches the backend.
type ClientInput struct {
	// `pass`, `drop`, or the list of keys that pass.
	ForwardedProps Props `yaml:"forwarded_props" default:"pass"`
	// Whether messages of the roles `system` and `developer` pass.
	SystemMessages string `yaml:"system_messages" default:"pass" oneof:"pass drop"`

	_ struct{} `later:"history"`
}

// Headers are HTTP headers in file order.
type Headers []Header

// Header is one HTTP header. In Upstream.IdentityHeaders the value is "subject"
// or "tenant".
type Header struct{ Name, Value string }

// Repairs switches event repairs by name, in file order. The values are "on" and
// "off".
type Repairs []Header

// Switches gives them as they are used.
func (r Repairs) Switches() map[string]bool {
	if len(r) == 0 {
		return nil
	}
	on := make(map[string]bool, len(r))
	for _, x := range r {
		on[x.Name] = x.Value == "on"
	}
	return on
}

// Schema is a JSON Schema as JSON text, nil when there is none. The order of
// keys is the file's.
type Schema []byte

// Props says which members of forwardedProps pass. The zero value passes none.
type Props struct {
	All  bool
	Keys []string // when not All
}
