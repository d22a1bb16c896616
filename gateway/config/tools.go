package config

import (
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/tool"
)

// ToolList gives the configured tools, in file order.
func (a *Agent) ToolList() []tool.Tool {
	out := make([]tool.Tool, len(a.Tools))
	for i, t := range a.Tools {
		out[i] = tool.Tool{
			Name: t.Name, Description: t.Description, Parameters: t.Parameters, Output: t.Output,
			Handler: tool.Handler(t.Handler), Availability: tool.Availability(t.Availability), SchemaFrom: t.Schema,
			Attempts: t.Attempts, Timeout: t.Timeout, Unanswered: t.Unanswered,
		}
	}
	return out
}

// Policy gives what clients may add to the tools.
func (a *Agent) Policy() tool.Policy {
	c := &a.ClientTools
	p := tool.Policy{Deny: c.Deny, OnDenied: c.OnDenied, OnUpstreamName: c.OnUpstreamName}
	for _, r := range c.Allow {
		p.Allow = append(p.Allow, tool.AllowRule{
			Name: r.Name, SchemaSHA256: r.SchemaSHA256, TextConfigured: r.Text == "configured",
		})
	}
	return p
}

// checkSchema checks a schema's size and that it is one the gateway can use, by
// the rules for advertised ones [SEC-2].
func (d *decoder) checkSchema(s Schema, path string, l *Limits) {
	if s == nil {
		return
	}
	if len(s) > int(l.ToolSchema) {
		d.wrong(path, "is longer than limits.tool_schema, %d bytes as JSON", l.ToolSchema)
		return
	}
	if err := tool.CheckSchema(s); err != nil {
		d.wrong(path, "%s", fault.From(err).Message)
	}
}
