package profile

import "github.com/aguigate/aguigate/protocol/agui"

// Input writes a request for an upstream of this profile [UP-4]: in itself is not
// changed. left names what the upstream cannot be told, for a log or a counter.
//
//   - protocolVersion: 1.0 only;
//   - messages: see Messages;
//   - resume: not to 0.0.45, which has no interrupts that could be answered;
//   - metadata of tools: not to 0.0.45.
//
// parentRunId is known to all three.
func (p *Profile) Input(in *agui.Input) (out *agui.Input, left []string) {
	to := *in
	to.ProtocolVersion = ""
	if p.modern {
		to.ProtocolVersion = agui.ProtocolVersion
	}
	var n int
	if to.Messages, n = p.Messages(in.Messages); n > 0 && !p.modern {
		left = append(left, "messages")
	}
	if !p.resume && len(in.Resume) > 0 {
		to.Resume, left = nil, append(left, "resume")
	}
	if !p.subagents {
		if tools, did := plainTools(in.Tools); did {
			to.Tools, left = tools, append(left, "tools.metadata")
		}
	}
	return &to, left
}

// plainTools gives tools without metadata; list itself when none has any.
func plainTools(list []agui.ToolDef) (out []agui.ToolDef, changed bool) {
	out = list
	for i, t := range list {
		if t.Metadata == nil {
			continue
		}
		if !changed {
			out, changed = append([]agui.ToolDef(nil), list...), true
		}
		out[i].Metadata = nil
		if t.Raw != nil {
			out[i].Raw = agui.Frame{Raw: t.Raw}.Without("metadata").Raw
		}
	}
	return out, changed
}
