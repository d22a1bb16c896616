// Package config reads the gateway's configuration (contract §2): YAML with
// positions, every fault at once [CLI-3].
//
// The types are the one place where a key is written down: the tags give its
// name, default and allowed values, the comment what it does. The decoder walks
// the types and docs/configuration.md is generated from them.
//
// Tags: yaml is the key; default its value when left out, lists separated by
// commas; oneof the allowed words; later the words and keys that the contract
// keeps for a later version; min and max bound numbers, sizes and durations.
package config

import "time"

// Size is a number of bytes, written 65536, 64KiB, 8MiB or 1GiB.
type Size int

// Secret is a text that prints as dots. Convert it to a string to use it.
type Secret string

// String hides the text from logs and messages [SEC-5].
func (Secret) String() string { return "•••" }

// GoString does the same for %#v.
func (Secret) GoString() string { return "•••" }

// MarshalText does the same for JSON and structured logs.
func (Secret) MarshalText() ([]byte, error) { return []byte("•••"), nil }

// Config is one validated configuration.
type Config struct {
	// Address of the public listener. Port 0 picks a free one.
	Listen string `yaml:"listen" default:"127.0.0.1:8080"`
	// The listener for the operator.
	Admin Admin `yaml:"admin"`
	// Host names, with or without port, that requests may carry beside loopback
	// names. At the bound: with `auth.mode: none` another Host is refused with 403 [SEC-3].
	Hosts []string `yaml:"hosts"`
	// Where threads, their messages and their invocations are kept.
	Store Store `yaml:"store"`
	// Who may call.
	Auth Auth `yaml:"auth"`
	// Which web pages of other hosts may call.
	CORS CORS `yaml:"cors"`
	// How long active runs may go on after SIGTERM; 0 ends them at once. At the
	// bound: RUN_ERROR `gateway_shutdown` [OPS-3].
	Drain time.Duration `yaml:"drain" default:"30s" min:"0s"`
	// Bounds of what the gateway takes in.
	Limits Limits `yaml:"limits"`
	// How thread ids are kept apart.
	Threads Threads `yaml:"threads"`
	// The agents by name, `^[A-Za-z0-9_.-]{1,64}$`. At least one; kept in file order.
	Agents []Agent `yaml:"agents"`

	_ struct{} `later:"public_url base_path trusted_proxies tls rate"`
}

// Admin is the listener for the operator [OPS-1].
type Admin struct {
	// Address of `/metrics`, `/healthz`, `/readyz` and `/debug/pprof/`. It asks for no
	// credential: keep it on loopback or a private network.
	Listen string `yaml:"listen" default:"127.0.0.1:9090"`
}

// Store is where the gateway keeps what must survive it.
type Store struct {
	// `embedded`, or the addresses of an existing cluster, as in
	// `nats://a:4222,nats://b:4222`. Any number of gateways share a cluster.
	NATS string `yaml:"nats" default:"embedded"`
	// Folder of the embedded store; `memory` keeps nothing across a restart.
	Dir string `yaml:"dir" default:"./data"`
	// When the embedded store writes through to the disk. `interval`: a power cut
	// loses at most the last second of accepted writes, a killed process none.
	// `always`: nothing is lost, and each write waits for the disk.
	Sync string `yaml:"sync" default:"interval" oneof:"interval always"`
	// Credentials file for a cluster.
	Creds string `yaml:"creds"`
	// TLS to a cluster.
	TLS StoreTLS `yaml:"tls"`
	// Copies of each record in a cluster: 1, 3 or 5, no even number. The embedded store
	// has one. At the bound: with fewer servers than copies the gateway does not start.
	Replicas int `yaml:"replicas" default:"3" min:"1" max:"5"`
	// Begins the name of every bucket and subject, so that several installations can
	// share a cluster: letters, digits, `_`, `-`, at most 32.
	Prefix string `yaml:"prefix" default:"aguigate"`

	// How long what is no longer needed is kept.
	Retention Retention `yaml:"retention"`
}

// Retention bounds what is kept, by the time since something last happened to it
// [DATA-1]; 0 keeps it for ever. Old records are looked for once an hour.
type Retention struct {
	// A thread with its messages and calls, unless one of its calls is open. At the
	// bound: it is deleted, its id starts a new thread.
	Threads time.Duration `yaml:"threads" default:"720h" min:"0s"`
	// Events of `/v1/threads/{thread}/events`. At the bound: a reader that comes back
	// with an older `Last-Event-ID` gets snapshots first. 0 is 24h.
	Events time.Duration `yaml:"events" default:"24h" min:"0s"`
	// Calls that have ended. At the bound: they are not found any more, the messages
	// that told their results stay.
	Settled time.Duration `yaml:"settled" default:"168h" min:"0s"`

	_ struct{} `later:"data_sources"`
}

// StoreTLS names PEM files.
type StoreTLS struct {
	// File with the certificates that sign the cluster's.
	CA string `yaml:"ca"`
	// File with the gateway's own certificate; needs `key`.
	Cert string `yaml:"cert"`
	// File with the private key of `cert`.
	Key string `yaml:"key"`
}

// Auth says how callers prove who they are [OWN-2].
type Auth struct {
	// `none`: every caller is the principal "anonymous" of tenant "default". `keys`:
	// callers send one of the secrets below. At the bound: 401 `unauthenticated`.
	Mode string `yaml:"mode" default:"none" oneof:"none keys" later:"jwt"`
	// Must be true for `mode: none` on a listener that is not loopback.
	Insecure bool `yaml:"insecure" default:"false"`
	// The credentials of `mode: keys`.
	Keys []Key `yaml:"keys"`

	_ struct{} `later:"jwt"`
}

// Key is one credential.
type Key struct {
	// The subject its holder is known by; 1 to 256 bytes, unique.
	ID string `yaml:"id"`
	// What the holder sends as `Authorization: Bearer`, `X-API-Key` or `xi-api-key`;
	// at least 16 visible ASCII characters, unique.
	Secret Secret `yaml:"secret"`
	// Threads of different tenants never meet.
	Tenant string `yaml:"tenant" default:"default"`
	// `client`: its own threads. `machine`: acts for the subject in
	// `X-Aguigate-Identity`. `operator`: reads and settles all threads of its tenant.
	Roles []string `yaml:"roles" default:"client" oneof:"client machine operator"`
}

// CORS names the pages that may call from elsewhere [CORS-1].
type CORS struct {
	// Origins such as `https://app.example`, or `*` for all. At the bound: 403
	// `origin_refused` for any other page that is not of this host [SEC-3].
	Origins []string `yaml:"origins"`
	// Whether pages may send cookies and client certificates; not with `*`. Tokens in
	// headers do not need it.
	Credentials bool `yaml:"credentials" default:"false"`
}

// Limits bounds what the gateway takes in [OPS-5].
type Limits struct {
	// Body of a request. At the bound: 413 `body_too_large`.
	Body Size `yaml:"body" default:"8MiB" min:"1"`
	// One event of an agent backend. At the bound: the run ends in RUN_ERROR
	// `event_too_large`.
	Event Size `yaml:"event" default:"8MiB" min:"1"`
	// One result of a client tool. At the bound: 413 `result_too_large` where the
	// caller gets a status, else the call fails with that class [INV-5].
	Result Size `yaml:"result" default:"64KiB" min:"1"`
	// Code points of a failure's text for the model. At the bound: it is cut [INV-6].
	ErrorChars int `yaml:"error_chars" default:"1000" min:"1" max:"1000000"`
	// Tools of one run, configured and advertised. At the bound: 400 `invalid_tool`.
	Tools int `yaml:"tools" default:"128" min:"1" max:"10000"`
	// JSON text of one tool's schema. At the bound: 400 `invalid_tool`.
	ToolSchema Size `yaml:"tool_schema" default:"32KiB" min:"1"`
	// One tool's description. At the bound: 400 `invalid_tool`.
	ToolDescription Size `yaml:"tool_description" default:"4KiB" min:"1"`
	// A thread's state. At the bound: it is not kept, and a run that the gateway starts
	// by itself gets the state its round began with [HIST-5].
	State Size `yaml:"state" default:"1MiB" min:"1"`

	_ struct{} `later:"page_context data_source file ws_message queue memory"`
}

// Threads says whose name space a thread id lives in.
type Threads struct {
	// `tenant`: an id belongs to whoever used it first in the tenant. `subject`: each
	// principal has a name space of its own, for apps with fixed thread ids.
	Scope string `yaml:"scope" default:"tenant" oneof:"tenant subject"`
}
