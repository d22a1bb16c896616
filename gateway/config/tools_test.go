package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aguigate/aguigate/protocol/tool"
)

func TestToolList(t *testing.T) {
	a := mustParse(t, wholeFile).Agents[0]
	want := []tool.Tool{{
		Name: "get_location", Description: "Get the city", Handler: tool.Client, Availability: tool.Always,
		Parameters: []byte(`{"type":"object","properties":{"b":{"type":"string","pattern":"^${x}$"},` +
			`"a":{"type":["integer","null"]}},"required":["b"],"additionalProperties":false}`),
		Output: []byte(`{"type":"string"}`), SchemaFrom: "client", Attempts: 3, Timeout: 2 * time.Hour,
		Unanswered: "reject",
	}, {
		Name: "send_mail", Handler: tool.Upstream, Availability: tool.WhenConnected, SchemaFrom: "configured", Attempts: 1,
	}}
	if diff := cmp.Diff(want, a.ToolList()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPolicy(t *testing.T) {
	agents := mustParse(t, wholeFile).Agents
	want := tool.Policy{
		Allow:    []tool.AllowRule{{Name: "show_*"}, {Name: "pick", SchemaSHA256: sixtyFour}, {Name: "get_location", TextConfigured: true}},
		Deny:     []string{},
		OnDenied: "ignore", OnUpstreamName: "reject",
	}
	if diff := cmp.Diff(want, agents[0].Policy()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want = tool.Policy{
		Allow: []tool.AllowRule{{Name: "*"}}, Deny: []string{"mcp_*", "searchWeb", "composeUI"},
		OnDenied: "reject", OnUpstreamName: "ignore",
	}
	if diff := cmp.Diff(want, agents[1].Policy()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUnusableSchemas(t *testing.T) {
	for _, schema := range []string{
		`{type: nonsense}`,
		`{$ref: "https://schemas.example/a.json"}`,
		`{properties: {a: {pattern: "("}}}`,
	} {
		for _, key := range []string{"parameters", "output"} {
			_, err := Parse("f", []byte("agents: {a: {upstream: {kind: demo}, tools: [{name: t, "+key+": "+schema+"}]}}\n"), lookup)
			prefix := "f:1:" + map[string]string{"parameters": "68", "output": "64"}[key] + ": agents.a.tools[0]." + key + ": "
			if err == nil || !strings.HasPrefix(err.Error(), prefix) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %s: %v, want %s…", key, schema, err, prefix)
			}
		}
	}
}

// Whatever the bytes, Parse ends, and gives either a configuration that its own
// checks accept or faults that name a place and are in order.
func FuzzParse(f *testing.F) {
	f.Add([]byte(wholeFile))
	f.Add([]byte(Example))
	for _, tt := range faultTests {
		if len(tt.file) < 2000 {
			f.Add([]byte(tt.file))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("f", text, lookup)
		if err == nil {
			if len(c.Agents) == 0 || c.Limits.Body < 1 || c.Drain < 0 {
				t.Fatalf("an impossible configuration: %+v", c)
			}
			return
		}
		last := position{1, 1}
		for _, fault := range err.(Faults) {
			at := position{fault.Line, fault.Col}
			if at.line < last.line || at.line == last.line && at.col < last.col {
				t.Fatalf("faults are not in file order:\n%v", err)
			}
			if fault.Message == "" || strings.ContainsAny(fault.String(), "\r\n") {
				t.Fatalf("%q is not one line with a message", fault.String())
			}
			last = at
		}
	})
}
