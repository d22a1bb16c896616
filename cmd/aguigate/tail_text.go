package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// textPrinter shows events for people: a line each with the ids that matter, and
// what is streamed in pieces joined into one line.
type textPrinter struct {
	out  io.Writer
	open string // what the open line joins, "" when none is open
}

// deltas are the events that carry a piece: what the line is called, and the id of
// what the piece belongs to.
var deltas = map[agui.Type]struct{ label, id string }{
	agui.TextMessageContent:      {"text", "messageId"},
	agui.TextMessageChunk:        {"text", "messageId"},
	agui.ReasoningMessageContent: {"reasoning", "messageId"},
	agui.ReasoningMessageChunk:   {"reasoning", "messageId"},
	agui.ToolCallArgs:            {"arguments", "toolCallId"},
	agui.ToolCallChunk:           {"arguments", "toolCallId"},
}

// ends say only that nothing more is joined.
var ends = map[agui.Type]bool{agui.TextMessageEnd: true, agui.ReasoningMessageEnd: true, agui.ToolCallEnd: true}

// shown are the members of events, in the order they are shown.
var shown = []struct{ key, label string }{
	{"runId", "run"}, {"toolCallName", "tool"}, {"toolCallId", "call"}, {"stepName", "step"}, {"messageId", "message"},
	{"role", "role"}, {"code", "code"}, {"name", "name"}, {"message", "message"}, {"content", "content"},
}

// valueShown are the members of CUSTOM aguigate.invocation's value.
var valueShown = []string{"id", "tool", "state", "outcome"}

func (p *textPrinter) show(f agui.Frame) error {
	if d, is := deltas[f.Type]; is {
		return p.join(d.label, f.Text(d.id), f)
	}
	if err := p.end(); err != nil || ends[f.Type] {
		return err
	}
	_, err := fmt.Fprintln(p.out, describe(f))
	return err
}

// join adds a piece to the open line, or opens one. A chunk may name what it
// begins only once: one without an id goes on with what is open.
func (p *textPrinter) join(label, id string, f agui.Frame) error {
	begins := label + " " + id
	if p.open == "" || p.open != begins && (id != "" || !strings.HasPrefix(p.open, label+" ")) {
		if err := p.end(); err != nil {
			return err
		}
		if name := f.Text("toolCallName"); name != "" {
			label += " tool=" + quoted(name)
		}
		p.open = begins
		if _, err := io.WriteString(p.out, label+": "); err != nil {
			return err
		}
	}
	lines := strings.Split(f.Text("delta"), "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	_, err := io.WriteString(p.out, strings.Join(lines, "\n  "))
	return err
}

func (p *textPrinter) end() error {
	if p.open == "" {
		return nil
	}
	p.open = ""
	_, err := io.WriteString(p.out, "\n")
	return err
}

// describe is one event in a short line.
func describe(f agui.Frame) string {
	var b strings.Builder
	b.WriteString(printable(string(f.Type)))
	add := func(label, value string) {
		if value != "" {
			b.WriteString(" " + label + "=" + quoted(value))
		}
	}
	for _, s := range shown {
		add(s.label, f.Text(s.key))
	}
	switch f.Type {
	case agui.RunFinished:
		outcome, _ := strictjson.ObjectOf(f.Field("outcome"))
		add("outcome", word(outcome, "type"))
		pending, _ := strictjson.ArrayOf(outcome.Get("pendingToolCallIds"))
		ids := make([]string, len(pending))
		for i := range pending {
			ids[i], _ = strictjson.StringOf(pending[i])
		}
		add("pending", strings.Join(ids, ","))
	case agui.MessagesSnapshot:
		list, _ := strictjson.ArrayOf(f.Field("messages"))
		add("messages", strconv.Itoa(len(list)))
	case agui.Custom:
		value, err := strictjson.ObjectOf(f.Field("value"))
		if err != nil || f.Text("name") != "aguigate.invocation" {
			add("value", string(f.Field("value")))
			break
		}
		for _, key := range valueShown {
			add(key, word(value, key))
		}
	}
	return b.String()
}

// word is a string member, "" when there is none.
func word(m strictjson.Members, key string) string {
	s, _ := strictjson.StringOf(m.Get(key))
	return s
}

// quoted is a value as it stands in a line: bare if it is one word, else quoted
// with everything that is not to be printed escaped; 200 characters at most.
func quoted(s string) string {
	cut, n := "", 0
	for i := range s {
		if n == 200 {
			s, cut = s[:i], "…"
			break
		}
		n++
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '"' }) {
		return strconv.Quote(s) + cut
	}
	return s + cut
}
