package profile

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

// Messages writes messages for a client or an upstream of this profile: results
// as strings where it has no parts [INV-7, F084], media in the form it knows
// [F083], and without the fields it does not know. It gives list itself when
// nothing changes, and how many messages did.
func (p *Profile) Messages(list []agui.Message) (out []agui.Message, changed int) {
	out = list
	for i, m := range list {
		n, did := p.message(m)
		if !did {
			continue
		}
		if changed == 0 {
			out = append([]agui.Message(nil), list...)
		}
		out[i] = n
		changed++
	}
	return out, changed
}

func (p *Profile) message(m agui.Message) (agui.Message, bool) {
	changed := false
	if !p.subagents {
		for _, key := range []string{"metadata", "subagentRunId"} {
			if n := m.Without(key); len(n.Raw) != len(m.Raw) {
				m, changed = n, true
			}
		}
		if calls, did := plainCalls(m.ToolCalls); did {
			m, changed = m.With("toolCalls", calls), true
		}
	}
	if strictjson.KindOf(m.Content) != strictjson.Array {
		return m, changed
	}
	switch {
	case m.Role == agui.RoleTool && !p.modern:
		return m.With("content", strictjson.Quote(tool.PartsText(m.Content))), true
	case m.Role == agui.RoleTool, m.Role == agui.RoleUser:
		if parts, did := p.parts(m.Content); did {
			return m.With("content", parts), true
		}
	}
	return m, changed
}

// plainCalls writes tool calls without metadata, if one has any.
func plainCalls(calls []agui.ToolCall) (raw []byte, changed bool) {
	list := make([][]byte, len(calls))
	for i, c := range calls {
		list[i] = agui.Frame{Raw: c.Raw}.Without("metadata").Raw
		changed = changed || len(list[i]) != len(c.Raw)
	}
	return join(list), changed
}

// rawMessages is Messages for a JSON array as an event holds it, and without what
// is no message: 0.0.x clients die of an unknown role. n counts changes.
func (p *Profile) rawMessages(raw []byte) (out []byte, n int) {
	list, err := strictjson.ArrayOf(raw)
	if err != nil {
		return raw, 0
	}
	var kept [][]byte
	for _, one := range list {
		m, err := agui.ReadMessage(one)
		switch {
		case err == nil:
			if next, did := p.message(m); did {
				one, n = next.Raw, n+1
			}
		case !p.modern && !readable(one):
			n++
			continue
		}
		kept = append(kept, one)
	}
	if n == 0 {
		return raw, 0
	}
	return join(kept), n
}

// join writes values as a JSON array.
func join(list [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
}

// readable: a message of a known role with an empty id is one to a client.
func readable(raw []byte) bool { return agui.Role(agui.Frame{Raw: raw}.Text("role")).Known() }
