package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// expected is one frame that the client is to get.
type expected struct {
	raw  string
	kept bool // the frame stands in .out: its bytes are the same [RUN-7]
}

func ours(format string, values ...any) expected {
	return expected{raw: fmt.Sprintf(format, values...)}
}

// parsed is one frame read.
type parsed map[string]any

func readEvent(t *testing.T, raw string) parsed {
	t.Helper()
	var e parsed
	if err := json.Unmarshal([]byte(raw), &e); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return e
}

func (e parsed) text(key string) string { s, _ := e[key].(string); return s }

// machine is what the run adds to a repaired stream, by the contract's words and
// not by the gateway's code:
//
//   - RUN-2: the client's ids in RUN_STARTED and RUN_FINISHED, one RUN_STARTED, runs
//     of one response joined, nothing after the end;
//   - RUN-3: before RUN_FINISHED an END for each call, text, reasoning and step that
//     is open, before RUN_ERROR for all but calls; a client's calls of a failed run
//     get a result; a stream without end ends in RUN_ERROR;
//   - RUN-4: the client's calls that wait, for 1.0;
//   - INV-2: an id that comes again in a second run is another message's.
type machine struct {
	t       *testing.T
	thread  string
	run     string
	client  []string
	out     []expected
	open    map[string][]string // ids by kind, in the order opened
	waiting []string            // calls of the client's that have no result
	used    map[string]bool     // message ids
	earlier map[string]bool     // those used when the second run began
}

// The kinds that are closed, in the order of their closing.
var closings = []struct{ kind, start, end, key string }{
	{"call", "TOOL_CALL_START", "TOOL_CALL_END", "toolCallId"},
	{"text", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "messageId"},
	{"thought", "REASONING_MESSAGE_START", "REASONING_MESSAGE_END", "messageId"},
	{"reasoning", "REASONING_START", "REASONING_END", "messageId"},
	{"step", "STEP_STARTED", "STEP_FINISHED", "stepName"},
}

// afterMachine is the stream that a 1.0 client is to get for a fixture's .out.
func afterMachine(t *testing.T, f fixture, thread, run, requestID string) []expected {
	t.Helper()
	m := &machine{t: t, thread: thread, run: run, client: f.client, open: map[string][]string{}, used: map[string]bool{}}
	var held *expected
	for _, raw := range f.out {
		raw = strings.ReplaceAll(raw, `"th1"`, `"`+thread+`"`)
		e := readEvent(t, raw)
		kind := e.text("type")
		if held != nil && (readEvent(t, held.raw).text("type") == "RUN_ERROR" || kind != "RUN_STARTED") {
			continue
		}
		held = nil
		switch {
		case kind == "RUN_FINISHED" || kind == "RUN_ERROR":
			held = &expected{raw, true}
		case kind == "RUN_STARTED" && len(m.out) > 0:
			m.earlier = maps.Clone(m.used)
		default:
			m.take(e, raw)
		}
	}
	switch {
	case f.refused != "":
		code, text, _ := strings.Cut(f.refused, ": ")
		m.fail(ours(`{"type":"RUN_ERROR","message":%s,"code":%q,"metadata":{"requestId":%q}}`, quoted(text), code, requestID))
	case held == nil:
		m.fail(ours(`{"type":"RUN_ERROR","message":"the agent's stream ended without a terminal event","code":"incomplete_stream","metadata":{"requestId":%q}}`, requestID))
	case readEvent(t, held.raw).text("type") == "RUN_ERROR":
		m.fail(*held)
	default:
		m.finish(*held)
	}
	return m.out
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

func (m *machine) take(e parsed, raw string) {
	one := expected{raw, true}
	if e.text("type") == "RUN_STARTED" {
		one = m.owned(one)
	}
	if id := e.text("messageId"); m.earlier[id] {
		e["messageId"] = id + "-2"
		b, _ := json.Marshal(e)
		one = expected{raw: string(b)}
	} else if id != "" {
		m.used[id] = true
	}
	for _, c := range closings {
		switch e.text("type") {
		case c.start:
			m.open[c.kind] = append(m.open[c.kind], e.text(c.key))
			if c.kind == "call" && slices.Contains(m.client, e.text("toolCallName")) {
				m.waiting = append(m.waiting, e.text(c.key))
			}
		case c.end:
			if i := slices.Index(m.open[c.kind], e.text(c.key)); i >= 0 {
				m.open[c.kind] = slices.Delete(m.open[c.kind], i, i+1)
			}
		}
	}
	if e.text("type") == "TOOL_CALL_RESULT" {
		m.waiting = slices.DeleteFunc(m.waiting, func(id string) bool { return id == e.text("toolCallId") })
	}
	m.out = append(m.out, one)
}

// owned puts the client's ids into a run event.
func (m *machine) owned(x expected) expected {
	e := readEvent(m.t, x.raw)
	if e.text("threadId") == m.thread && e.text("runId") == m.run {
		return x
	}
	e["threadId"], e["runId"] = m.thread, m.run
	b, _ := json.Marshal(e)
	return expected{raw: string(b)}
}

func (m *machine) close(calls bool) {
	for _, c := range closings {
		ids := m.open[c.kind]
		if c.kind == "step" {
			slices.Reverse(ids)
		}
		for _, id := range ids {
			if c.kind != "call" || calls {
				m.out = append(m.out, ours(`{"type":%q,%q:%q}`, c.end, c.key, id))
			}
		}
	}
}

func (m *machine) fail(end expected) {
	m.close(false)
	for _, id := range m.waiting {
		m.out = append(m.out, ours(`{"type":"TOOL_CALL_RESULT","messageId":"gw-%s","toolCallId":%q,"content":%s,"role":"tool"}`, id, id,
			quoted("This tool was not run: the agent's run ended before it could be.")))
	}
	m.out = append(m.out, end)
}

func (m *machine) finish(end expected) {
	m.close(true)
	end = m.owned(end)
	if len(m.waiting) > 0 {
		e := readEvent(m.t, end.raw)
		e["outcome"] = map[string]any{"type": "success", "pendingToolCallIds": m.waiting}
		b, _ := json.Marshal(e)
		end = expected{raw: string(b)}
	}
	m.out = append(m.out, end)
}

// unknownTo are the fields of the fixtures' events that a generation has not
// [RUN-11].
var unknownTo = map[string][]string{
	"0.0.59": {"error"},
	"0.0.45": {"error", "metadata", "subagentRunId"},
}

// forGeneration is what an older client is to get of that: without fields it does
// not know, and without the calls that wait.
func forGeneration(t *testing.T, version string, list []expected) []expected {
	t.Helper()
	gone := unknownTo[version]
	if gone == nil {
		return list
	}
	out := make([]expected, 0, len(list))
	for _, x := range list {
		e := readEvent(t, x.raw)
		before := len(e)
		for _, key := range gone {
			delete(e, key)
		}
		if outcome, ok := e["outcome"].(map[string]any); ok {
			delete(outcome, "pendingToolCallIds")
			if before++; version == "0.0.45" {
				delete(e, "outcome")
			}
		}
		if len(e) != before {
			b, _ := json.Marshal(e)
			x = expected{raw: string(b)}
		}
		out = append(out, x)
	}
	return out
}

// sameFrames compares what came with what was to come: bytes where the frame
// stands in .out, else the value.
func sameFrames(t *testing.T, got []string, want []expected) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("frame %d is missing: %s", i, want[i].raw)
		case i >= len(want):
			t.Errorf("frame %d is too much: %s", i, got[i])
		case want[i].kept && got[i] != want[i].raw,
			!want[i].kept && sameJSON(t, []byte(got[i])) != sameJSON(t, []byte(want[i].raw)):
			t.Errorf("frame %d\n     %s\nwant %s", i, got[i], want[i].raw)
		}
	}
}
