package agui

// Capabilities is what an agent says about itself (AgentCapabilities of 1.0), as
// far as the gateway can say it. A nil section is not declared, which is not
// the same as declared false.
type Capabilities struct {
	Identity       *IdentityCapabilities
	Transport      *TransportCapabilities
	Tools          *ToolsCapabilities
	HumanInTheLoop *HumanInTheLoopCapabilities
	Custom         []byte // raw JSON object, nil when none
}

// IdentityCapabilities says who the agent is; empty texts are left out.
type IdentityCapabilities struct {
	Name, Description, Type, Version, Provider, DocumentationURL string
}

// TransportCapabilities says how the agent can be reached.
type TransportCapabilities struct {
	Streaming, WebSocket, HTTPBinary, PushNotifications, Resumable bool
}

// ToolsCapabilities says which tools there are and whether a client may bring
// its own.
type ToolsCapabilities struct {
	Supported, ClientProvided, ParallelCalls bool
	Items                                    []ToolDef // nil is left out
}

// HumanInTheLoopCapabilities says how a person can take part.
type HumanInTheLoopCapabilities struct {
	Supported, Approvals, Interventions, Feedback, Interrupts, ApproveWithEdits bool
}

// Append writes the capabilities as JSON.
func (c Capabilities) Append(dst []byte) []byte {
	b := object(dst)
	if i := c.Identity; i != nil {
		b.json("identity", object(nil).some("name", i.Name).some("type", i.Type).some("description", i.Description).
			some("version", i.Version).some("provider", i.Provider).some("documentationUrl", i.DocumentationURL).done())
	}
	if t := c.Transport; t != nil {
		b.json("transport", object(nil).flag("streaming", t.Streaming).flag("websocket", t.WebSocket).
			flag("httpBinary", t.HTTPBinary).flag("pushNotifications", t.PushNotifications).flag("resumable", t.Resumable).done())
	}
	if c.Tools != nil {
		b.json("tools", c.Tools.append(nil))
	}
	if h := c.HumanInTheLoop; h != nil {
		b.json("humanInTheLoop", object(nil).flag("supported", h.Supported).flag("approvals", h.Approvals).
			flag("interventions", h.Interventions).flag("feedback", h.Feedback).flag("interrupts", h.Interrupts).
			flag("approveWithEdits", h.ApproveWithEdits).done())
	}
	return b.json("custom", c.Custom).done()
}

func (t *ToolsCapabilities) append(dst []byte) []byte {
	b := object(dst).flag("supported", t.Supported)
	if t.Items != nil {
		b.key("items")
		b.raw = append(b.raw, '[')
		for i := range t.Items {
			b.raw = t.Items[i].Append(comma(b.raw, i))
		}
		b.raw = append(b.raw, ']')
	}
	return b.flag("parallelCalls", t.ParallelCalls).flag("clientProvided", t.ClientProvided).done()
}
