package profile

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// FromUpstream gives the frames of one run of an upstream as 1.0. It belongs to
// one goroutine.
type FromUpstream struct {
	old bool   // the upstream speaks 0.0.x; a RUN_STARTED with a version says otherwise
	run string // for the ids of thoughts that have none
	n   int    // THINKING spans so far
	m   int    // messages in this one

	spanOpen, textOpen bool     // of THINKING
	open               []string // REASONING_MESSAGE_START without END
	spans              []string // REASONING_START without END
}

// NewFromUpstream starts a run. run is its id, of which the ids of THINKING events
// are made: they have none of their own, and the same run read again gives the
// same.
func (p *Profile) NewFromUpstream(run string) *FromUpstream {
	return &FromUpstream{old: !p.modern, run: run}
}

// Step appends what f says in 1.0. A frame that is 1.0 already is appended with
// the same Raw.
func (t *FromUpstream) Step(f agui.Frame, out []agui.Frame) []agui.Frame {
	switch f.Type {
	case agui.TextMessageContent, agui.ToolCallArgs: // nearly all of a stream
		if !t.old || !bytes.Contains(f.Raw, nullWord) && !bytes.Contains(f.Raw, timestampKey) {
			return append(out, f)
		}
	case thinkingStart, thinkingEnd, thinkingText, thinkingContent, thinkingTextEnd:
		return t.thinking(t.repaired(f), out)
	case agui.RunStarted:
		if f.Text("protocolVersion") != "" {
			t.old = false
		}
	case agui.RunFinished, agui.RunError:
		out = t.End(out)
	}
	if !t.old {
		return append(out, f)
	}
	f = t.repaired(f)
	switch f.Type {
	case agui.ReasoningStart, agui.ReasoningEnd, agui.ReasoningMessageStart, agui.ReasoningMessageContent,
		agui.ReasoningMessageEnd:
		return t.reasoning(f, out)
	}
	return append(out, f)
}

// End closes the thoughts that are open, when a stream stops without a terminal
// event. Step does it before one.
func (t *FromUpstream) End(out []agui.Frame) []agui.Frame {
	out = t.endThinking(out)
	for _, id := range t.open {
		out = append(out, agui.NewReasoningMessageEnd(id))
	}
	for _, id := range t.spans {
		out = append(out, agui.NewReasoningEnd(id))
	}
	t.open, t.spans = nil, nil
	return out
}

func (t *FromUpstream) endThinking(out []agui.Frame) []agui.Frame {
	if t.textOpen {
		t.textOpen = false
		out = append(out, agui.NewReasoningMessageEnd(t.textID()))
	}
	if t.spanOpen {
		t.spanOpen = false
		out = append(out, agui.NewReasoningEnd(t.spanID()))
	}
	return out
}

func (t *FromUpstream) spanID() string { return "thinking-" + t.run + "-" + strconv.Itoa(t.n) }
func (t *FromUpstream) textID() string { return t.spanID() + "-" + strconv.Itoa(t.m) }

// thinking writes the events that came before REASONING. Their order was never
// looked at, so a missing start is made up for, and an end of nothing is nothing.
func (t *FromUpstream) thinking(f agui.Frame, out []agui.Frame) []agui.Frame {
	switch f.Type {
	case thinkingStart:
		return t.openSpan(f, t.endThinking(out))
	case thinkingText:
		if t.textOpen {
			return out
		}
		return t.openText(f, out)
	case thinkingContent:
		if !t.textOpen {
			out = t.openText(agui.Frame{Raw: []byte("{}")}, out)
		}
		return append(out, renamed(f, agui.ReasoningMessageContent, t.textID()))
	case thinkingTextEnd:
		if t.textOpen {
			t.textOpen = false
			out = append(out, renamed(f, agui.ReasoningMessageEnd, t.textID()))
		}
		return out
	}
	if t.textOpen {
		t.textOpen = false
		out = append(out, agui.NewReasoningMessageEnd(t.textID()))
	}
	if t.spanOpen {
		t.spanOpen = false
		out = append(out, renamed(f, agui.ReasoningEnd, t.spanID()))
	}
	return out
}

// openSpan starts a span. Its title, which REASONING_START has no field for, is
// kept in the metadata.
func (t *FromUpstream) openSpan(f agui.Frame, out []agui.Frame) []agui.Frame {
	t.spanOpen = true
	t.n++
	t.m = 0
	title := f.Field("title")
	f = f.Without("title")
	if strictjson.KindOf(title) == strictjson.Str {
		meta := agui.Frame{Raw: f.Field("metadata")}
		if strictjson.KindOf(meta.Raw) != strictjson.Object {
			meta.Raw = []byte("{}")
		}
		f = f.With("metadata", meta.With("title", title).Raw)
	}
	return append(out, renamed(f, agui.ReasoningStart, t.spanID()))
}

func (t *FromUpstream) openText(f agui.Frame, out []agui.Frame) []agui.Frame {
	if !t.spanOpen {
		out = t.openSpan(agui.Frame{Raw: []byte("{}")}, out)
	}
	t.textOpen = true
	t.m++
	return append(out, renamed(f, agui.ReasoningMessageStart, t.textID()).WithText("role", "reasoning"))
}

func renamed(f agui.Frame, to agui.Type, id string) agui.Frame {
	return f.WithText("type", string(to)).WithText("messageId", id)
}

// reasoning makes good the order that 0.0.x clients do not look at and 1.0 ones
// die of: content without its start, a second start, an end of nothing.
func (t *FromUpstream) reasoning(f agui.Frame, out []agui.Frame) []agui.Frame {
	id := f.Text("messageId")
	list := &t.open
	if f.Type == agui.ReasoningStart || f.Type == agui.ReasoningEnd {
		list = &t.spans
	}
	at := slices.Index(*list, id)
	switch f.Type {
	case agui.ReasoningStart, agui.ReasoningMessageStart:
		if at >= 0 {
			return out
		}
		*list = append(*list, id)
	case agui.ReasoningMessageContent:
		if at < 0 {
			*list = append(*list, id)
			out = append(out, agui.NewReasoningMessageStart(id))
		}
	default:
		if at < 0 {
			return out
		}
		*list = slices.Delete(*list, at, at+1)
	}
	return append(out, f)
}

// needs names the fields that 0.0.x writers leave out when they are null, and
// whose absence ends the run of a 1.0 client.
var needs = map[agui.Type]string{agui.StateSnapshot: "snapshot", agui.Raw: "event", agui.Custom: "value"}

var (
	nullWord     = []byte("null")
	timestampKey = []byte(`"timestamp"`)
)

// repaired writes the values that 0.0.x allows otherwise: nulls of optional
// fields, a timestamp with a fraction, the old media part.
func (t *FromUpstream) repaired(f agui.Frame) agui.Frame {
	f, _ = f.WithoutNulls()
	if bytes.Contains(f.Raw, timestampKey) {
		f = wholeTimestamp(f)
	}
	if need := needs[f.Type]; need != "" && f.Field(need) == nil {
		f = f.With(need, []byte("null"))
	}
	if (f.Type == agui.MessagesSnapshot || f.Type == agui.RunStarted) && bytes.Contains(f.Raw, binaryWord) {
		f, _ = v1.values(f)
	}
	return f
}

func wholeTimestamp(f agui.Frame) agui.Frame {
	raw := f.Field("timestamp")
	if strictjson.KindOf(raw) != strictjson.Number || !bytes.ContainsAny(raw, ".eE") {
		return f
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || v == math.Trunc(v) || math.Abs(v) > 1<<53-1 {
		return f
	}
	return f.With("timestamp", strconv.AppendInt(nil, int64(v), 10))
}
