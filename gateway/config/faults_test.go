package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each case is a whole file and every line that check prints for it [CLI-3].
var faultTests = []struct {
	name, file string
	want       []string
}{
	{"nothing", "", []string{"f:1:1: agents: at least one agent is needed"}},
	{"only a comment", "# hello\n", []string{"f:1:1: agents: at least one agent is needed"}},
	{"no mapping", "- a\n", []string{"f:1:1: must be a mapping of keys to values"}},
	{"no agents", "agents: {}\n", []string{"f:1:9: agents: at least one agent is needed"}},
	{"unknown keys at every depth", `
listn: x
agents:
  a:
    upstream: {kind: demo, ulr: x}
    tools: [{name: t, desc: x}]
    client_tools: {allow: [{name: t, sha: x}]}
`, []string{
		"f:2:1: listn: unknown key; the keys here are listen, admin, hosts, store, auth, cors, drain, limits, threads, agents",
		"f:5:28: agents.a.upstream.ulr: unknown key; the keys here are kind, url, protocol, encoding, headers, identity_headers, forward_headers, forward_client_credentials, timeouts, idempotent",
		"f:6:23: agents.a.tools[0].desc: unknown key; the keys here are name, description, handler, availability, parameters, output, schema, timeout, attempts, unanswered",
		"f:7:38: agents.a.client_tools.allow[0].sha: unknown key; the keys here are name, schema_sha256, text",
	}},
	{"keys of a later version", `
public_url: x
base_path: x
trusted_proxies: []
tls: {}
rate: {}
store: {retention: {data_sources: 1h}}
auth: {mode: jwt, jwt: {}}
limits: {memory: 1GiB}
agents:
  a:
    upstream: {kind: openai, encoding: protobuf, model: m}
    tools: [{name: t, approval: true}]
    client_input: {history: client}
    notify: {}
`, []string{
		"f:2:1: public_url: not supported by this version",
		"f:3:1: base_path: not supported by this version",
		"f:4:1: trusted_proxies: not supported by this version",
		"f:5:1: tls: not supported by this version",
		"f:6:1: rate: not supported by this version",
		"f:7:21: store.retention.data_sources: not supported by this version",
		"f:8:14: auth.mode: jwt is not supported by this version; allowed: none, keys",
		"f:8:19: auth.jwt: not supported by this version",
		"f:9:10: limits.memory: not supported by this version",
		"f:12:22: agents.a.upstream.kind: openai is not supported by this version; allowed: agui, demo",
		"f:12:50: agents.a.upstream.model: not supported by this version",
		"f:13:23: agents.a.tools[0].approval: not supported by this version",
		"f:14:20: agents.a.client_input.history: not supported by this version",
		"f:15:5: agents.a.notify: not supported by this version",
	}},
	{"wrong shapes", `
hosts: a
drain: [1s]
admin: 9090
listen: {a: b}
limits:
cors: {origins: [~]}
agents: {a: {upstream: {kind: demo}, tools: [t], client_input: {forwarded_props: {a: b}}, description: ~}}
`, []string{
		"f:2:8: hosts: must be a list",
		"f:3:8: drain: must be a single value, not a list",
		"f:4:8: admin: must be a mapping of keys to values",
		"f:5:9: listen: must be a single value, not a mapping",
		"f:6:1: limits: has no value; leave the key out to get its default",
		"f:7:18: cors.origins[0]: has no value",
		"f:8:46: agents.a.tools[0]: must be a mapping of keys to values",
		"f:8:82: agents.a.client_input.forwarded_props: must be a list",
		"f:8:91: agents.a.description: has no value; leave the key out to get its default",
	}},
	{"duplicates", "drain: 1s\nhosts: []\n\"drain\": 2s\n" + `agents:
  a: {upstream: {kind: demo, headers: {X-A: "1", x-a: "2"}}, tools: [{name: t, parameters: {type: object, x: {y: 1, y: 2}}}]}
  a: {upstream: {kind: demo}}
`, []string{
		"f:3:1: drain: is there twice; the first is on line 1",
		"f:5:50: agents.a.upstream.headers.x-a: is the same header as X-A",
		"f:5:117: agents.a.tools[0].parameters.x.y: is there twice; the first is on line 5",
		"f:6:3: agents.a: is there twice; the first is on line 5",
	}},
	{"numbers, sizes and durations", `
drain: 30
store: {replicas: 2}
limits: {body: 0, event: -1, result: 8MB, error_chars: 1.5, tools: 0, tool_schema: 2GiB, tool_description: 1.5KiB}
auth: {insecure: yes}
agents:
  a:
    upstream: {kind: demo, timeouts: {connect: -1s, first_byte: 5 minutes, idle: "", total: 0}}
    tools: [{name: t, attempts: 0, timeout: -1ns}]
    keepalive: -5s
`, []string{
		"f:2:8: drain: needs a unit, such as 30s or 5m",
		"f:3:19: store.replicas: must be 1, 3 or 5",
		"f:4:16: limits.body: is too small; the least is 1",
		"f:4:26: limits.event: is too small; the least is 1",
		"f:4:38: limits.result: is not a size; write bytes or a whole number of KiB, MiB or GiB, such as 64KiB",
		"f:4:56: limits.error_chars: is not a whole number",
		"f:4:68: limits.tools: is too small; the least is 1",
		"f:4:84: limits.tool_schema: is too large; the most is 1GiB",
		"f:4:108: limits.tool_description: is not a size; write bytes or a whole number of KiB, MiB or GiB, such as 64KiB",
		"f:5:18: auth.insecure: is neither true nor false",
		"f:8:48: agents.a.upstream.timeouts.connect: is too small; the least is 0s",
		"f:8:65: agents.a.upstream.timeouts.first_byte: is not a duration; write it such as 500ms, 30s, 5m or 1h30m, and 0 for none",
		"f:8:82: agents.a.upstream.timeouts.idle: is not a duration; write it such as 500ms, 30s, 5m or 1h30m, and 0 for none",
		"f:9:33: agents.a.tools[0].attempts: is too small; the least is 1",
		"f:9:45: agents.a.tools[0].timeout: is too small; the least is 0s",
		"f:10:16: agents.a.keepalive: is too small; the least is 0s",
	}},
	{"words", `
store: {sync: never}
threads: {scope: user}
agents:
  a:
    allow: {roles: [admin]}
    upstream: {kind: http, protocol: 2.0, identity_headers: {X-U: email}}
    tools: [{name: t, handler: server, availability: sometimes, schema: mine}]
    client_tools: {on_denied: drop, on_upstream_name: rename, allow: [{name: t, text: mine}]}
    client_input: {forwarded_props: none, system_messages: keep}
    unanswered: wait
`, []string{
		"f:2:15: store.sync: is not one of the allowed words: interval, always",
		"f:3:18: threads.scope: is not one of the allowed words: tenant, subject",
		"f:6:21: agents.a.allow.roles[0]: is not one of the allowed words: client, machine, operator",
		"f:7:22: agents.a.upstream.kind: is not one of the allowed words: agui, demo",
		"f:7:38: agents.a.upstream.protocol: is not one of the allowed words: auto, 0.0, 1.0",
		"f:7:62: agents.a.upstream.identity_headers.X-U: is not one of the allowed words: subject, tenant",
		"f:8:32: agents.a.tools[0].handler: is not one of the allowed words: client, upstream",
		"f:8:54: agents.a.tools[0].availability: is not one of the allowed words: when_connected, always",
		"f:8:73: agents.a.tools[0].schema: is not one of the allowed words: configured, client",
		"f:9:31: agents.a.client_tools.on_denied: is not one of the allowed words: reject, ignore",
		"f:9:55: agents.a.client_tools.on_upstream_name: is not one of the allowed words: ignore, reject",
		"f:9:87: agents.a.client_tools.allow[0].text: is not one of the allowed words: configured",
		"f:10:37: agents.a.client_input.forwarded_props: is not one of the allowed words: pass, drop, or a list of keys",
		"f:10:60: agents.a.client_input.system_messages: is not one of the allowed words: pass, drop",
		"f:11:17: agents.a.unanswered: is not one of the allowed words: synthesize, reject, keep",
	}},
	{"environment", `
listen: ${NONE}
hosts: [ "a${NO-NAME}b", "x $${NONE} ${NONE2}", "${", "${KEY}${NONE3" ]
drain: ${SIZE}
store: {prefix: "${SPLIT}"}
agents:
  a:
    description: |
      one
      two ${GONE}
    upstream: {url: "${NONE}", headers: {X-A: "${SPLIT}", X-B: "a\r\nb"}}
`, []string{
		"f:2:9: listen: the environment has no variable NONE",
		"f:3:12: hosts[0]: ${…} takes the name of an environment variable: letters, digits and _; write $${ for the characters themselves",
		"f:3:38: hosts[1]: the environment has no variable NONE2",
		"f:3:50: hosts[2]: ${ without }; write $${ for the characters themselves",
		"f:3:62: hosts[3]: ${ without }; write $${ for the characters themselves",
		"f:4:8: drain: is not a duration; write it such as 500ms, 30s, 5m or 1h30m, and 0 for none",
		"f:5:17: store.prefix: must match ^[A-Za-z0-9_-]{1,32}$",
		"f:10:11: agents.a.description: the environment has no variable GONE",
		"f:11:22: agents.a.upstream.url: the environment has no variable NONE",
		"f:11:42: agents.a.upstream.headers.X-A: a header's value has no control characters, CR, LF and NUL least of all [SEC-5]",
		"f:11:59: agents.a.upstream.headers.X-B: a header's value has no control characters, CR, LF and NUL least of all [SEC-5]",
	}},
	{"listeners", "listen: 8080\nadmin: {listen: \":x\"}\n" + demoAgent, []string{
		"f:1:9: listen: must be HOST:PORT, such as 127.0.0.1:8080",
		`f:2:17: admin.listen: must be HOST:PORT, such as 127.0.0.1:9090`,
	}},
	{"one address twice", "listen: localhost:80\nadmin: {listen: localhost:80}\n" + demoAgent, []string{
		"f:2:17: admin.listen: is the public listener's address; the public listener serves no admin route [OPS-1]",
	}},
	{"open to the world", "listen: :8080\n" + demoAgent, []string{
		"f:1:9: listen: auth.mode none on a listener that is not loopback lets anybody in; set auth.mode to keys, or auth.insecure to true",
	}},
	{"open to the world, in words", "auth: {mode: none}\nlisten: 192.0.2.1:8080\n" + demoAgent, []string{
		"f:1:14: auth.mode: auth.mode none on a listener that is not loopback lets anybody in; set auth.mode to keys, or auth.insecure to true",
	}},
	{"mode keys without keys", "auth: {mode: keys}\n" + demoAgent, []string{
		"f:1:7: auth.keys: mode keys needs at least one key",
	}},
	{"keys", `
auth:
  mode: keys
  keys:
    - {id: a, secret: "${KEY}"}
    - {id: a, secret: another-secret-of-16}
    - {id: b, secret: "0123456789abcdef"}
    - {id: c, secret: hunter2}
    - {id: d, secret: "with a blank inside it"}
    - {secret: one-more-secret-of-16, tenant: "*", roles: []}
    - {id: e, tenant: ""}
` + demoAgent, []string{
		"f:6:12: auth.keys[1].id: is the id of auth.keys[0] too",
		"f:7:23: auth.keys[2].secret: is the secret of auth.keys[0] too",
		"f:8:23: auth.keys[3].secret: is shorter than 16 characters",
		"f:9:23: auth.keys[4].secret: must be visible ASCII without blanks, since it travels in a header",
		"f:10:7: auth.keys[5].id: is needed: 1 to 256 bytes without control characters",
		"f:10:47: auth.keys[5].tenant: must be 1 to 256 bytes without control characters, and not *",
		"f:10:59: auth.keys[5].roles: must name at least one role",
		"f:11:7: auth.keys[6].secret: is needed",
		"f:11:23: auth.keys[6].tenant: must be 1 to 256 bytes without control characters, and not *",
	}},
	{"keys that nobody looks at", "auth: {keys: [{id: a, secret: \"${KEY}\"}]}\n" + demoAgent, []string{
		"f:1:14: auth.keys: keys are not looked at with mode none; set auth.mode to keys",
	}},
	{"a key's subject is its id", "auth: {mode: keys, keys: [{id: a, secret: \"${KEY}\", subject: s}]}\n" + demoAgent, []string{
		"f:1:53: auth.keys[0].subject: unknown key; the keys here are id, secret, tenant, roles",
	}},
	{"origins and hosts", `
hosts: ["*", "http://a", "a b", ""]
cors: {origins: [app.example, "https://app.example/", "null", "https://u@a.example", "*", "https://a:"], credentials: true}
` + demoAgent, []string{
		"f:2:9: hosts[0]: must be a host name, with or without port, such as gateway.example",
		"f:2:14: hosts[1]: must be a host name, with or without port, such as gateway.example",
		"f:2:26: hosts[2]: must be a host name, with or without port, such as gateway.example",
		"f:2:33: hosts[3]: must be a host name, with or without port, such as gateway.example",
		"f:3:18: cors.origins[0]: must be an origin, scheme and host without path, such as https://app.example, or *",
		"f:3:31: cors.origins[1]: must be an origin, scheme and host without path, such as https://app.example, or *",
		"f:3:55: cors.origins[2]: must be an origin, scheme and host without path, such as https://app.example, or *",
		"f:3:63: cors.origins[3]: must be an origin, scheme and host without path, such as https://app.example, or *",
		"f:3:91: cors.origins[5]: must be an origin, scheme and host without path, such as https://app.example, or *",
		"f:3:119: cors.credentials: cannot be true with the origin *; name the origins",
	}},
	{"store", "store: {nats: http://a, dir: \"\", prefix: a.b, tls: {cert: c}}\n" + demoAgent, []string{
		"f:1:15: store.nats: must be embedded, or nats:// or tls:// addresses separated by commas",
		"f:1:30: store.dir: must be a folder, or memory",
		"f:1:42: store.prefix: must match ^[A-Za-z0-9_-]{1,32}$",
		"f:1:59: store.tls.cert: needs store.tls.key",
	}},
	{"upstream urls", `
agents:
  none: {description: x}
  empty: {upstream: {url: ""}}
  path: {upstream: {url: /agent}}
  file: {upstream: {url: "file:///etc/passwd"}}
  user: {upstream: {url: "${URL}"}}
  part: {upstream: {url: "http://a/#b"}}
  bad: {upstream: {url: "http://a\nb/"}}
  demo: {upstream: {kind: demo, url: "http://a/"}}
  "b d": {upstream: {kind: demo}}
`, []string{
		"f:3:9: agents.none.upstream.url: kind agui needs a url, such as http://127.0.0.1:8000/agent",
		"f:4:27: agents.empty.upstream.url: kind agui needs a url, such as http://127.0.0.1:8000/agent",
		"f:5:26: agents.path.upstream.url: must be an absolute http or https URL, such as http://127.0.0.1:8000/agent",
		"f:6:26: agents.file.upstream.url: must be an absolute http or https URL, such as http://127.0.0.1:8000/agent",
		"f:7:26: agents.user.upstream.url: must not hold a user or password; put credentials into headers",
		"f:8:26: agents.part.upstream.url: must not have a fragment; it is never sent",
		"f:9:25: agents.bad.upstream.url: must be an absolute http or https URL, such as http://127.0.0.1:8000/agent",
		"f:10:38: agents.demo.upstream.url: kind demo has no url; it runs inside the gateway",
		"f:11:3: agents.b d: an agent's name must match ^[A-Za-z0-9_.-]{1,64}$",
	}},
	{"headers", `
agents:
  a:
    upstream:
      kind: demo
      headers: {"A B": x, Host: x, "X-L\n": y, X-U: z, Accept: q}
      identity_headers: {x-u: subject, Content-Length: tenant}
      forward_headers: [Authorization, cookie, X-Api-Key, connection, "a:b", content-type, tracestate]
`, []string{
		`f:6:17: agents.a.upstream.headers.A B: is not a header name`,
		`f:6:27: agents.a.upstream.headers.Host: belongs to the connection and cannot be configured`,
		"f:6:36: agents.a.upstream.headers.X-L\uFFFD: is not a header name",
		`f:6:56: agents.a.upstream.headers.Accept: is written by the gateway itself`,
		`f:7:26: agents.a.upstream.identity_headers.x-u: is in headers too; one name takes one value`,
		`f:7:40: agents.a.upstream.identity_headers.Content-Length: belongs to the connection and cannot be configured`,
		`f:8:25: agents.a.upstream.forward_headers[0]: credentials are not forwarded by name; see forward_client_credentials`,
		`f:8:40: agents.a.upstream.forward_headers[1]: holds a credential or names the caller, and ends at the gateway [UP-2]`,
		`f:8:48: agents.a.upstream.forward_headers[2]: holds a credential or names the caller, and ends at the gateway [UP-2]`,
		`f:8:59: agents.a.upstream.forward_headers[3]: belongs to the connection and cannot be forwarded`,
		`f:8:71: agents.a.upstream.forward_headers[4]: is not a header name`,
		`f:8:78: agents.a.upstream.forward_headers[5]: is written by the gateway itself`,
	}},
	{"tools", `
limits: {tools: 3, tool_description: 5, tool_schema: 20}
agents:
  a:
    allow: {tenants: [], roles: []}
    upstream: {kind: demo}
    tools:
      - {name: t}
      - {name: t, description: too long}
      - {name: 1st, parameters: [a]}
      - {description: x, output: {type: object, title: a}}
    client_tools: {allow: ["", {name: p, schema_sha256: AB}, {name: p, text: configured}], deny: [a b]}
`, []string{
		"f:5:22: agents.a.allow.tenants: leaves out everybody; name a tenant, or *",
		"f:5:33: agents.a.allow.roles: leaves out everybody; name a role",
		"f:8:7: agents.a.tools: has 4 tools; limits.tools allows 3",
		"f:9:16: agents.a.tools[1].name: is the name of agents.a.tools[0] too",
		"f:9:32: agents.a.tools[1].description: is longer than limits.tool_description, 5 bytes",
		"f:10:16: agents.a.tools[2].name: a tool's name must match ^[A-Za-z][A-Za-z0-9_-]{0,63}$",
		"f:10:33: agents.a.tools[2].parameters: a JSON Schema is written as a mapping, such as {type: object}",
		"f:11:9: agents.a.tools[3].name: a tool's name must match ^[A-Za-z][A-Za-z0-9_-]{0,63}$",
		"f:11:34: agents.a.tools[3].output: is longer than limits.tool_schema, 20 bytes as JSON",
		"f:12:28: agents.a.client_tools.allow[0]: needs a tool's name, or a pattern with *",
		"f:12:57: agents.a.client_tools.allow[1].schema_sha256: must be 64 hexadecimal digits in lower case",
		"f:12:78: agents.a.client_tools.allow[2].text: no client tool of this name is configured in tools, so there is no text to take",
		"f:12:99: agents.a.client_tools.deny[0]: must be a tool's name, or a pattern with *",
	}},
	{"anchors, tags and directives", "%YAML 1.2\n---\nhosts: &h [a]\ncors: {origins: *h}\nstore:\n  <<: *h\n  dir: !!str x\n" + demoAgent, []string{
		"f:1:1: tags and directives are not supported",
		"f:3:8: anchors, aliases and merge keys are not supported; write the value out",
		"f:4:17: anchors, aliases and merge keys are not supported; write the value out",
		"f:6:3: anchors, aliases and merge keys are not supported; write the value out",
		"f:6:7: anchors, aliases and merge keys are not supported; write the value out",
		"f:7:8: tags and directives are not supported",
	}},
	{"two documents", demoAgent + "---\nlisten: x\n", []string{"f:3:1: a second document; the configuration is one"}},
	{"brackets", "hosts: " + strings.Repeat("[", 20_000), []string{"f:1:72: nested deeper than 64"}},
	{"lists in lists", strings.Repeat("- ", 20_000), []string{"f:1:129: nested deeper than 64"}},
	{"keys in keys", "a: {" + strings.Repeat("? ", 20_000), []string{"f:1:131: nested deeper than 64"}},
	{"too many words", strings.Repeat("a: b\n", 40_000), []string{"f:1:1: the file has more than 60000 words and marks"}},
	{"too long", "# " + strings.Repeat("x", 1<<20), []string{"f:1:1: the file is longer than 1 MiB"}},
	{"not UTF-8", "hosts: [a]\n# é\xff\n", []string{"f:2:4: this byte is not UTF-8"}},
	{"NUL", "hosts: [\"a\x00\"]\n", []string{"f:1:11: control characters are not allowed; write them escaped in double quotes"}},
	{"open bracket", "hosts: [a\n", []string{"f:1:8: this is not YAML: sequence end token ']' not found"}},
	{"variable in braces", "admin: {listen: ${KEY}}\n", []string{
		`f:1:18: this is not YAML: ',' or '}' must be specified; inside braces and brackets write "${NAME}" with quotes`,
	}},
	{"tabs", "admin:\n\tlisten: x\n", []string{"f:2:1: this is not YAML: found character '\uFFFD' that cannot start any token"}},
	{"CRLF", "hosts: [a]\r\ndrain: x\r\n" + demoAgent, []string{
		"f:2:8: drain: is not a duration; write it such as 500ms, 30s, 5m or 1h30m, and 0 for none",
	}},
}

func TestFaults(t *testing.T) {
	for _, tt := range faultTests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse("f", []byte(tt.file), lookup)
			if err == nil || c != nil {
				t.Fatalf("Parse gave %v and the error %v", c, err)
			}
			if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What came from the environment, or is a secret, is in no fault.
func TestFaultsTellNoSecrets(t *testing.T) {
	for _, tt := range faultTests {
		_, err := Parse("f", []byte(tt.file), lookup)
		for _, secret := range []string{environment["KEY"], environment["TOKEN"], "hunter2", "another-secret-of-16", "X-Admin"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q is in %v", tt.name, secret, err)
			}
		}
	}
}

func TestAcceptedSpellings(t *testing.T) {
	for name, file := range map[string]string{
		"BOM":               "\uFEFF" + demoAgent,
		"CRLF":              strings.ReplaceAll(demoAgent, "\n", "\r\n"),
		"document marks":    "---\n" + demoAgent + "...\n",
		"quoted numbers":    "drain: \"30s\"\nlimits: {tools: \"5\", body: \"8MiB\"}\n" + demoAgent,
		"IPv6 and insecure": "listen: \"[::]:8080\"\nauth: {insecure: true}\n" + demoAgent,
		"127.0.0.2":         "listen: 127.0.0.2:0\nadmin: {listen: 127.0.0.2:0}\n" + demoAgent,
		"any origin":        "cors: {origins: [\"*\"]}\n" + demoAgent,
		"many brackets":     "hosts: [" + strings.Repeat("a, ", 1000) + "b]\n" + demoAgent,
	} {
		if _, err := Parse("f", []byte(file), lookup); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaSpelling(t *testing.T) {
	tests := []struct{ yaml, json string }{
		{`{}`, `{}`},
		{`{z: 1, a: 2, "m n": 3}`, `{"z":1,"a":2,"m n":3}`},
		{`{n: [1.0, 1e3, -0, 0x1F, 1_000, 0o17, +5, .5, 1152921504606846976]}`,
			`{"n":[1.0,1e3,-0,31,1000,15,5,0.5,1152921504606846976]}`},
		{`{b: [true, false, null, ~, "true", yes]}`, `{"b":[true,false,null,null,"true","yes"]}`},
		{`{s: "a\"\\\n${KEY}"}`, `{"s":"a\"\\\n0123456789abcdef"}`},
		{`{12: x, true: y}`, `{"12":"x","true":"y"}`},
	}
	for _, tt := range tests {
		c := mustParse(t, "agents: {a: {upstream: {kind: demo}, tools: [{name: t, parameters: "+tt.yaml+"}]}}\n")
		if got := string(c.Agents[0].Tools[0].Parameters); got != tt.json {
			t.Errorf("%s\n got %s\nwant %s", tt.yaml, got, tt.json)
		}
	}
	_, err := Parse("f", []byte("agents: {a: {upstream: {kind: demo}, tools: [{name: t, parameters: {x: .inf}}]}}\n"), lookup)
	if want := "f:1:72: agents.a.tools[0].parameters.x: JSON has no such value"; err == nil || err.Error() != want {
		t.Errorf("infinity: %v, want %v", err, want)
	}
}
