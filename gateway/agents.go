package gateway

import (
	"crypto/sha256"
	"errors"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/agui/profile"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

// schemaBytes bounds the schemas a client sends with one run: compiling costs about
// a millisecond a KiB, and what was compiled before is free.
const schemaBytes = 512 << 10

// compiledSchemas is how many argument schemas an agent keeps compiled. A page
// that makes up a new schema each time only costs itself a compilation.
const compiledSchemas = 256

// agent is a named route: one upstream, its tools, its policies.
type agent struct {
	name    string
	conf    config.Agent
	up      upstream.Upstream
	tools   []tool.Tool
	byTool  map[string]tool.Tool
	policy  tool.Policy
	limits  tool.Limits
	outputs map[string]*tool.Schema
	schemas *lru.Cache[[32]byte, *tool.Schema]
	in, out traffic // from the upstream, to clients
}

func newAgent(c config.Agent, limits tool.Limits, up upstream.Upstream) (*agent, error) {
	a := &agent{
		name: c.Name, conf: c, up: up, limits: limits,
		tools: c.ToolList(), policy: c.Policy(),
		byTool: map[string]tool.Tool{}, outputs: map[string]*tool.Schema{},
	}
	a.schemas, _ = lru.New[[32]byte, *tool.Schema](compiledSchemas) // fails for a size below one only
	for _, t := range a.tools {
		a.byTool[t.Name] = t
		if t.Output == nil {
			continue
		}
		s, err := tool.CompileSchema(t.Output)
		if err != nil {
			return nil, err
		}
		a.outputs[t.Name] = s
	}
	return a, nil
}

// allows reports whether the caller may know of this agent [OWN-3].
func (a *agent) allows(p principal.Principal) bool {
	if !p.Known() {
		return false
	}
	tenant := slices.Contains(a.conf.Allow.Tenants, "*") || slices.Contains(a.conf.Allow.Tenants, p.Tenant)
	role := slices.ContainsFunc(a.conf.Allow.Roles, func(r string) bool { return p.Has(principal.Role(r)) })
	return tenant && role
}

// offer merges what this turn advertises into the agent's tools [MERGE-1].
func (a *agent) offer(in *agui.Input) (*tool.Offer, error) {
	advertised := make([]tool.Tool, 0, len(in.Tools))
	total := 0
	for _, d := range in.Tools {
		if total += len(d.Parameters); total > schemaBytes {
			return nil, fault.New(fault.InvalidTool, "the schemas of one request may have %d bytes together", schemaBytes).At("/tools")
		}
		advertised = append(advertised, tool.Tool{
			Name: d.Name, Description: d.Description, Parameters: d.Parameters, Metadata: d.Metadata,
			Written: d.Raw, Handler: tool.Client,
		})
	}
	return tool.Merge(tool.MergeInput{
		Configured: a.tools, Advertised: advertised, Policy: a.policy, Limits: a.limits,
		CheckSchema: func(raw []byte) error { _, err := a.schema(raw); return err },
	})
}

// anyObject stands where a tool has no schema: 0.0.x servers in typed languages
// refuse a tool without parameters.
var anyObject = []byte(`{"type":"object","properties":{}}`)

// definitions writes an offer as AG-UI tools.
func definitions(o *tool.Offer) []agui.ToolDef {
	out := make([]agui.ToolDef, 0, len(o.Tools))
	for _, t := range o.Tools {
		if t.Parameters == nil {
			t.Parameters = anyObject
		}
		out = append(out, agui.ToolDef{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Metadata: t.Metadata})
	}
	return out
}

// validArguments checks a call's arguments against the offered schema. It never
// blocks a call: the verdict is shown to whoever runs it [INV-1].
func (a *agent) validArguments(o *tool.Offer, name, arguments string) (bool, string) {
	i := slices.IndexFunc(o.Tools, func(t tool.Tool) bool { return t.Name == name })
	if i < 0 || o.Tools[i].Parameters == nil {
		return true, ""
	}
	s, err := a.schema(o.Tools[i].Parameters)
	if err != nil {
		return true, ""
	}
	err = s.Validate([]byte(arguments))
	if errors.Is(err, tool.ErrUnchecked) {
		return true, err.Error() // nothing is known against them
	}
	if err != nil {
		return false, err.Error()
	}
	return true, ""
}

func (a *agent) schema(raw []byte) (*tool.Schema, error) {
	key := sha256.Sum256(raw)
	if s, ok := a.schemas.Get(key); ok {
		return s, nil
	}
	s, err := tool.CompileSchema(raw)
	if err != nil {
		return nil, err
	}
	a.schemas.Add(key, s)
	return s, nil
}

// profile is what a client of this agent speaks: what it says, else what the agent's
// configuration takes such clients for [RUN-11].
func (a *agent) profile(said string) *profile.Profile {
	for _, name := range []string{said, a.conf.LegacyProfile, "0.0.59"} {
		if p, ok := profile.Of(name); ok {
			return p
		}
	}
	return nil
}

// speak sets the run up for what its client speaks.
func (r *liveRun) speak() {
	if !r.profile.Modern() {
		r.older = r.profile.NewToClient()
	}
}

// public is what a caller may know of the agent.
func (a *agent) public() frontend.Agent {
	c := agui.Capabilities{
		Identity:  &agui.IdentityCapabilities{Name: a.name, Description: a.conf.Description},
		Transport: &agui.TransportCapabilities{Streaming: true},
		Tools:     &agui.ToolsCapabilities{Supported: true, ClientProvided: true, ParallelCalls: true, Items: a.items()},
	}
	if d, ok := a.up.(upstream.Describer); ok {
		d.Describe(&c)
	}
	return frontend.Agent{Name: a.name, Capabilities: c, Limits: a.limits}
}

// items are the configured client tools: what a client may want to advertise.
func (a *agent) items() []agui.ToolDef {
	var out []agui.ToolDef
	for _, t := range a.tools {
		if t.Handler == tool.Client {
			out = append(out, agui.ToolDef{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
		}
	}
	return out
}

// settlement checks an answer against its call and makes it a settlement. The
// faults result_too_large and invalid_result leave the call open [INV-5].
func (a *agent) settlement(inv *tool.Invocation, ans frontend.Answer) (*tool.Settlement, error) {
	if f := ans.Failure; f != nil {
		return tool.NewFailure(f.Model, f.Class, f.Private, f.Retryable, a.limits), nil
	}
	s, err := tool.NewResult(ans.Form, ans.Content, a.limits)
	if err != nil {
		return nil, err
	}
	schema := a.outputs[inv.Tool]
	if schema == nil || ans.Form == tool.FormParts {
		return s, nil
	}
	value := ans.Content
	if ans.Form == tool.FormText && !strictjson.Valid(value) {
		value = strictjson.Quote(string(value))
	}
	if err := schema.Validate(value); err != nil {
		f := fault.New(fault.InvalidResult, "the result of %s does not match its output schema: %v", inv.Tool, err)
		if at, ok := tool.Pointer(err); ok {
			f = f.At(at)
		}
		return nil, f
	}
	return s, nil
}
