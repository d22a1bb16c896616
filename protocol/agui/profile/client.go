package profile

import (
	"bytes"
	"slices"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

// ToClient gives the frames of one run, or of one stream of runs, as a client of
// its profile can read them. It belongs to one goroutine.
type ToClient struct {
	p     *Profile
	steps map[string]int // 0.0.45: how often each name is open
	lanes []lane         // 0.0.45: what chunks have open
}

// NewToClient starts a stream.
func (p *Profile) NewToClient() *ToClient { return &ToClient{p: p} }

// Step appends what the client is sent for f, a frame of 1.0: f itself, with the
// same Raw, when changed is false; else f rewritten, several frames, or none, when
// the client cannot be told.
func (t *ToClient) Step(f agui.Frame, out []agui.Frame) (o []agui.Frame, changed bool) {
	p := t.p
	var fields []string
	switch {
	case p.modern:
		return p.toModern(f, out)
	case f.Type == agui.TextMessageContent:
		fields = p.content
	case f.Type == agui.ToolCallArgs:
		fields = p.args
	default:
		if fields = p.events[f.Type]; fields == nil {
			return out, true
		}
		f, changed = p.values(f)
	}
	if !p.owners {
		var done bool
		if out, done = t.oneOwner(f, out, &changed); done {
			return out, true
		}
	}
	if foreign(f.Raw, fields) {
		f, changed = without(f, fields), true
	}
	return append(out, f), changed
}

// End closes what chunks have open, when a stream stops without a terminal event.
func (t *ToClient) End(out []agui.Frame) []agui.Frame { return t.closeLanes(out) }

// toModern passes everything. Only the media part of 0.0.x, which the gateway
// keeps as it came, is written as a 1.0 client can use it.
func (p *Profile) toModern(f agui.Frame, out []agui.Frame) ([]agui.Frame, bool) {
	changed := false
	if (f.Type == agui.MessagesSnapshot || f.Type == agui.RunStarted) && bytes.Contains(f.Raw, binaryWord) {
		f, changed = p.values(f)
	}
	return append(out, f), changed
}

// values rewrites the values of f that the profile has otherwise.
func (p *Profile) values(f agui.Frame) (agui.Frame, bool) {
	switch f.Type {
	case agui.RunFinished:
		return p.outcome(f, `"success"`, `"interrupt"`, "interrupts")
	case agui.SubagentFinished:
		return p.outcome(f, `"success"`, `"suspended"`, "interruptIds")
	case agui.ToolCallResult:
		if content := f.Field("content"); strictjson.KindOf(content) == strictjson.Array {
			return f.With("content", strictjson.Quote(tool.PartsText(content))), true // F084
		}
	case agui.MessagesSnapshot:
		if list, n := p.rawMessages(f.Field("messages")); n > 0 {
			return f.With("messages", list), true
		}
	case agui.RunStarted:
		return p.echo(f)
	}
	return f, false
}

// outcome writes an outcome as 0.0.59 has it: of its two types one has no other
// key and one has key, and any more would end the run there. What it cannot say
// is left out. 0.0.45 has none; the field is cut with the others.
func (p *Profile) outcome(f agui.Frame, plain, listed, key string) (agui.Frame, bool) {
	raw := f.Field("outcome")
	if raw == nil || !p.subagents {
		return f, false
	}
	m, err := strictjson.ObjectOf(raw)
	if err != nil {
		return f, false
	}
	kind, list := string(m.Get("type")), m.Get(key)
	want, bare := "", 0
	switch mayLack := key == "interruptIds"; {
	case kind == plain, kind == listed && list == nil && mayLack:
		want, bare = `{"type":`+kind+`}`, 1
	case kind == listed && strictjson.KindOf(list) == strictjson.Array && (mayLack || !emptyList(list)):
		want, bare = `{"type":`+kind+`,"`+key+`":`+string(list)+`}`, 2
	default:
		return f.Without("outcome"), true
	}
	if len(m) == bare {
		return f, false
	}
	return f.With("outcome", []byte(want)), true
}

func emptyList(raw []byte) bool {
	it := strictjson.Walk(raw)
	_, _, _, ok := it.Next()
	return !ok
}

// echo rewrites RUN_STARTED.input, the request as an agent repeats it: clients
// take messages out of it, and 0.0.x ones die of one without tools or context.
func (p *Profile) echo(f agui.Frame) (agui.Frame, bool) {
	input := agui.Frame{Raw: f.Field("input")}
	if strictjson.KindOf(input.Raw) != strictjson.Object {
		return f, false
	}
	list, n := p.rawMessages(input.Field("messages"))
	if n > 0 {
		input = input.With("messages", list)
	}
	for _, key := range []string{"tools", "context"} {
		if !p.modern && input.Field(key) == nil {
			input, n = input.With(key, []byte("[]")), n+1
		}
	}
	if n == 0 {
		return f, false
	}
	return f.With("input", input.Raw), true
}

// foreign reports a member whose key is none of fields. Most events are flat
// objects of strings, which are looked through without reading the strings.
func foreign(raw []byte, fields []string) bool {
	for i := blank(raw, 0); i < len(raw) && (raw[i] == '{' || raw[i] == ','); {
		if i = blank(raw, i+1); i >= len(raw) || raw[i] != '"' {
			break
		}
		i++
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 || !known(raw[i:i+n], fields) { // an escaped key is none; without decodes it
			break
		}
		if i = blank(raw, i+n+1); i >= len(raw) || raw[i] != ':' {
			break
		}
		if i = blank(raw, i+1); i >= len(raw) || raw[i] != '"' {
			break
		}
		if i = blank(raw, textEnd(raw, i)); i < len(raw) && raw[i] == '}' {
			return false
		}
	}
	for it := strictjson.Walk(raw); ; {
		key, _, _, ok := it.Next()
		if !ok {
			return false
		}
		if !known(key, fields) {
			return true
		}
	}
}

func known(key []byte, fields []string) bool {
	for _, name := range fields {
		if string(key) == name {
			return true
		}
	}
	return false
}

func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// textEnd is the index behind the checked string that starts at i.
func textEnd(b []byte, i int) int {
	for i++; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		end, slashes := i+n, 0
		for j := end - 1; j >= i && b[j] == '\\'; j-- {
			slashes++
		}
		if i = end + 1; slashes%2 == 0 {
			return i
		}
	}
}

// without leaves out every member whose key is none of fields [RUN-11].
func without(f agui.Frame, fields []string) agui.Frame {
	m, err := strictjson.ObjectOf(f.Raw)
	if err != nil {
		return f
	}
	out := []byte{'{'}
	for _, kv := range m {
		if !slices.Contains(fields, kv.Key) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(strictjson.AppendString(out, kv.Key), ':')
		out = append(out, kv.Raw...)
	}
	return agui.Frame{Type: f.Type, Raw: append(out, '}')}
}

// String is for messages of tests and logs.
func (p *Profile) String() string { return "AG-UI " + p.name }
