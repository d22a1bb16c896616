package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// environment is what the tests' files may refer to.
var environment = map[string]string{
	"KEY": "0123456789abcdef", "TOKEN": "t0ken", "EMPTY": "", "SIZE": "2MiB", "YES": "true", "LOOP": "${KEY}",
	"SPLIT": "a\r\nX-Admin: yes", "URL": "http://user:hunter2@agent.example/",
}

func lookup(name string) (string, bool) {
	v, ok := environment[name]
	return v, ok
}

// demoAgent completes a file that is about something else.
const demoAgent = "agents: {demo: {upstream: {kind: demo}}}\n"

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("f", []byte(text), lookup)
	if err != nil {
		t.Fatalf("Parse:\n%v", err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	got := mustParse(t, demoAgent)
	want := &Config{
		Listen: "127.0.0.1:8080",
		Admin:  Admin{Listen: "127.0.0.1:9090"},
		Store: Store{NATS: "embedded", Dir: "./data", Sync: "interval", Replicas: 3, Prefix: "aguigate",
			Retention: Retention{Threads: 720 * time.Hour, Events: 24 * time.Hour, Settled: 168 * time.Hour}},
		Auth:  Auth{Mode: "none"},
		Drain: 30 * time.Second,
		Limits: Limits{
			Body: 8 << 20, Event: 8 << 20, Result: 64 << 10, ErrorChars: 1000,
			Tools: 128, ToolSchema: 32 << 10, ToolDescription: 4 << 10, State: 1 << 20,
		},
		Threads: Threads{Scope: "tenant"},
		Agents: []Agent{{
			Name:  "demo",
			Allow: Allow{Tenants: []string{"*"}, Roles: []string{"client", "machine", "operator"}},
			Upstream: Upstream{
				Kind: "demo", Protocol: "auto", Encoding: "sse",
				ForwardHeaders: []string{"traceparent", "x-request-id"},
				Timeouts:       Timeouts{Connect: 5 * time.Second, FirstByte: 5 * time.Minute, Idle: 15 * time.Minute},
			},
			ClientTools: ClientTools{
				Allow: []AllowRule{{Name: "*"}}, Deny: []string{"mcp_*", "searchWeb", "composeUI"},
				OnDenied: "reject", OnUpstreamName: "ignore",
			},
			ClientInput: ClientInput{ForwardedProps: Props{All: true}, SystemMessages: "pass"},
			Unanswered:  "synthesize",
			Concurrency: "reject",
			History:     "keep",
			LoopGuard:   8, OnDisconnect: "cancel", LegacyProfile: "0.0.59",
			Detach:    Detach{Grace: 10 * time.Minute, Buffer: 4 << 20},
			KeepAlive: 15 * time.Second,
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

const wholeFile = `
listen: "[::1]:8081"
admin: {listen: "0.0.0.0:9191"}
hosts: [gateway.example, "gateway.example:8443"]
store:
  nats: nats://a:4222, tls://b:4222
  dir: memory
  sync: always
  creds: /run/creds
  tls: {ca: ca.pem, cert: c.pem, key: k.pem}
  replicas: 1
  prefix: shop_1
  retention: {threads: 1h, events: 2h, settled: 0}
auth:
  mode: keys
  insecure: "${YES}"
  keys:
    - {id: backend, secret: "${KEY}", tenant: acme, roles: [machine, operator]}
    - id: 42
      secret: another-secret-of-16
cors: {origins: ["https://app.example", "capacitor://localhost", "http://127.0.0.1:3000"], credentials: true}
drain: 0
limits: {body: "${SIZE}", event: 1GiB, result: 65536, error_chars: 10, tools: 2, tool_schema: 1KiB, tool_description: 100, state: 4KiB}
threads: {scope: subject}
agents:
  zeta:
    description: |
      Sells
      things.
    allow: {tenants: [acme], roles: [client]}
    upstream:
      url: https://agent.example/run?x=1
      protocol: 1.0
      encoding: protobuf
      headers: {Authorization: "Bearer ${TOKEN}", X-Literal: "$${TOKEN} $5 ${LOOP}${EMPTY}."}
      identity_headers: {X-User: subject, X-Tenant: tenant}
      forward_headers: []
      forward_client_credentials: true
      timeouts: {connect: 1s, first_byte: 0s, idle: 90s, total: 1h}
      idempotent: true
    tools:
      - name: get_location
        description: Get the city
        availability: always
        parameters:
          type: object
          properties: {b: {type: string, pattern: "^$${x}$"}, a: {type: [integer, "null"]}}
          required: [b]
          additionalProperties: false
        output: {type: string}
        schema: client
        timeout: 2h
        attempts: 3
        unanswered: reject
      - {name: send_mail, handler: upstream}
    client_tools:
      allow:
        - show_*
        - {name: pick, schema_sha256: "` + sixtyFour + `"}
        - {name: get_location, text: configured}
      deny: []
      on_denied: ignore
      on_upstream_name: reject
    client_input: {forwarded_props: [theme, locale], system_messages: drop}
    unanswered: reject
    concurrency: queue
    history: none
    on_disconnect: detach
    detach: {grace: 1m, buffer: 1KiB}
    loop_guard: 0
    repairs: {nulls: off, expand_chunks: on}
    keepalive_padding: 2KiB
    legacy_profile: 0.0.45
    keepalive: 0s
  alpha: {upstream: {kind: demo}}
`

const sixtyFour = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestEveryKey(t *testing.T) {
	got := mustParse(t, wholeFile)
	want := defaults()
	want.Listen, want.Admin.Listen = "[::1]:8081", "0.0.0.0:9191"
	want.Hosts = []string{"gateway.example", "gateway.example:8443"}
	want.Store = Store{
		NATS: "nats://a:4222, tls://b:4222", Dir: "memory", Sync: "always", Creds: "/run/creds",
		TLS: StoreTLS{CA: "ca.pem", Cert: "c.pem", Key: "k.pem"}, Replicas: 1, Prefix: "shop_1",
		Retention: Retention{Threads: time.Hour, Events: 2 * time.Hour},
	}
	want.Auth = Auth{Mode: "keys", Insecure: true, Keys: []Key{
		{ID: "backend", Secret: "0123456789abcdef", Tenant: "acme", Roles: []string{"machine", "operator"}},
		{ID: "42", Secret: "another-secret-of-16", Tenant: "default", Roles: []string{"client"}},
	}}
	want.CORS = CORS{Origins: []string{"https://app.example", "capacitor://localhost", "http://127.0.0.1:3000"}, Credentials: true}
	want.Drain = 0
	want.Limits = Limits{
		Body: 2 << 20, Event: 1 << 30, Result: 65536, ErrorChars: 10, Tools: 2, ToolSchema: 1 << 10, ToolDescription: 100, State: 4 << 10,
	}
	want.Threads.Scope = "subject"
	alpha := Demo("", "", "").Agents[0]
	alpha.Name, alpha.Description = "alpha", ""
	alpha.ClientTools.Deny = []string{"mcp_*", "searchWeb", "composeUI"}
	want.Agents = []Agent{{
		Name: "zeta", Description: "Sells\nthings.\n",
		Allow: Allow{Tenants: []string{"acme"}, Roles: []string{"client"}},
		Upstream: Upstream{
			Kind: "agui", URL: "https://agent.example/run?x=1", Protocol: "1.0", Encoding: "protobuf",
			Headers:         Headers{{"Authorization", "Bearer t0ken"}, {"X-Literal", "${TOKEN} $5 ${KEY}."}},
			IdentityHeaders: Headers{{"X-User", "subject"}, {"X-Tenant", "tenant"}},
			ForwardHeaders:  []string{}, ForwardClientCredentials: true, Idempotent: true,
			Timeouts: Timeouts{Connect: time.Second, Idle: 90 * time.Second, Total: time.Hour},
		},
		Tools: []Tool{{
			Name: "get_location", Description: "Get the city", Handler: "client", Availability: "always",
			Parameters: Schema(`{"type":"object","properties":{"b":{"type":"string","pattern":"^${x}$"},` +
				`"a":{"type":["integer","null"]}},"required":["b"],"additionalProperties":false}`),
			Output: Schema(`{"type":"string"}`), Schema: "client", Timeout: 2 * time.Hour, Attempts: 3,
			Unanswered: "reject",
		}, {
			Name: "send_mail", Handler: "upstream", Availability: "when_connected", Schema: "configured", Attempts: 1,
		}},
		ClientTools: ClientTools{
			Allow: []AllowRule{{Name: "show_*"}, {Name: "pick", SchemaSHA256: sixtyFour}, {Name: "get_location", Text: "configured"}},
			Deny:  []string{}, OnDenied: "ignore", OnUpstreamName: "reject",
		},
		ClientInput:  ClientInput{ForwardedProps: Props{Keys: []string{"theme", "locale"}}, SystemMessages: "drop"},
		Unanswered:   "reject",
		Concurrency:  "queue",
		History:      "none",
		OnDisconnect: "detach", Detach: Detach{Grace: time.Minute, Buffer: 1 << 10},
		KeepAlivePadding: 2 << 10, LegacyProfile: "0.0.45",
		Repairs: Repairs{{"nulls", "off"}, {"expand_chunks", "on"}},
	}, alpha}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(file, []byte("lisen: x\n"+demoAgent), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(file, lookup)
	want := file + ":1:1: lisen: unknown key; the keys here are listen, admin, hosts, store, auth, cors, drain, limits, threads, agents"
	if err == nil || err.Error() != want {
		t.Errorf("Load: %v\nwant: %v", err, want)
	}
	missing := filepath.Join(dir, "none.yaml")
	_, err = Load(missing, lookup)
	if want := missing + ":1:1: the file cannot be read: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("Load: %v\nwant: %v", err, want)
	}
	_, err = Load(dir, lookup)
	var faults Faults
	if !errors.As(err, &faults) || len(faults) != 1 || faults[0].File != dir {
		t.Errorf("Load of a folder: %v", err)
	}
}

func TestDemo(t *testing.T) {
	c := Demo("127.0.0.1:0", "127.0.0.1:0", "/var/x")
	if len(c.Agents) != 1 {
		t.Fatalf("%d agents", len(c.Agents))
	}
	a := c.Agents[0]
	if c.Listen != "127.0.0.1:0" || c.Admin.Listen != "127.0.0.1:0" || c.Store.Dir != "/var/x" || c.Store.NATS != "embedded" ||
		c.Auth.Mode != "none" || a.Name != "demo" || a.Upstream.Kind != "demo" || a.KeepAlive != 15*time.Second {
		t.Errorf("Demo: %+v", c)
	}
	if diff := cmp.Diff(ClientTools{Allow: []AllowRule{{Name: "*"}}, OnDenied: "reject", OnUpstreamName: "ignore"}, a.ClientTools); diff != "" {
		t.Error(diff)
	}
	d := &decoder{at: map[string]position{}, bad: map[string]bool{}}
	d.check(c)
	if err := d.err(); err != nil {
		t.Errorf("the demo's own configuration has faults: %v", err)
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	c := mustParse(t, "auth: {mode: keys, keys: [{id: a, secret: \"${KEY}\"}]}\n"+demoAgent)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if out := fmt.Sprintf(format, c.Auth); strings.Contains(out, environment["KEY"]) {
			t.Errorf("%s prints the secret: %s", format, out)
		}
	}
	if string(c.Auth.Keys[0].Secret) != environment["KEY"] {
		t.Error("the secret is not there")
	}
}

func TestFilter(t *testing.T) {
	tests := []struct {
		props Props
		in    string
		want  string
	}{
		{Props{All: true}, `{"a" : 1.0}`, `{"a" : 1.0}`},
		{Props{All: true}, `[1]`, `[1]`},
		{Props{}, `{"a":1}`, `{}`},
		{Props{}, `7`, `{}`},
		{Props{Keys: []string{"b", "é"}}, `{"a":1,"\u00e9":{"x":[ 1 ]},"b":1e2}`, `{"é":{"x":[ 1 ]},"b":1e2}`},
	}
	for _, tt := range tests {
		if got := string(tt.props.Filter([]byte(tt.in))); got != tt.want {
			t.Errorf("%+v.Filter(%s) = %s, want %s", tt.props, tt.in, got, tt.want)
		}
	}
	if got := (Props{}).Filter(nil); got != nil {
		t.Errorf("Filter(nil) = %q", got)
	}
}
