package run

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/agui/profile"
	"github.com/aguigate/aguigate/protocol/fault"
)

// The golden files in testdata are transcripts anybody can read:
//
//	# what is shown
//	modern | legacy        the client's profile
//	client NAME …          tools offered as the client's
//	seen ID …              ids the thread has used before
//	> JSON                 a frame of the upstream
//	> EOF | CODE           the end of its stream, clean or with trouble
//	! open ID ARGS, ! close ID, ! hold, ! release, ! cancel   what the machine asks
//	= settled ID TEXT      the record's answer to the next release or cancel
//	< JSON                 a frame for the client
//
// Lines beginning with ! and < have to come exactly so, in this order.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { play(t, file) })
	}
}

type player struct {
	t       *testing.T
	m       *Machine
	set     Setup
	client  map[string]bool
	seen    map[string]bool
	old     *profile.ToClient // a client of an older generation
	settled []Answer
	opened  []string
	got     []string
}

func play(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := &player{t: t, client: map[string]bool{}, seen: map[string]bool{}, set: Setup{Thread: "th1", Run: "r1", RequestID: "req"}}
	var want []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), " ")
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "modern":
		case "legacy":
			old, _ := profile.Of("0.0.59")
			p.old = old.NewToClient()
		case "client":
			for _, name := range strings.Fields(rest) {
				p.client[name] = true
			}
		case "seen":
			for _, id := range strings.Fields(rest) {
				p.seen[id] = true
			}
		case ">":
			p.feed(rest)
		case "=":
			_, answer, _ := strings.Cut(rest, " ")
			id, text, _ := strings.Cut(answer, " ")
			p.settled = append(p.settled, Answer{Shown: id, Content: text})
		case "!", "<":
			want = append(want, line)
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	if got, want := strings.Join(p.got, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("got\n%s\n\nwant\n%s", got, want)
	}
	p.checkOrder()
}

func (p *player) feed(what string) {
	if p.m == nil {
		p.set.Client = func(name string) bool { return p.client[name] }
		p.set.Names = NewNames(func(id string) bool { return p.seen[id] }, nil)
		p.m = New(p.set)
	}
	switch {
	case what == "EOF":
		p.do(p.m.End(nil, nil))
	case strings.HasPrefix(what, "{"):
		f, err := agui.ParseFrame([]byte(what))
		if err != nil {
			p.t.Fatal(err)
		}
		p.do(p.m.Step(f, nil))
	default:
		p.do(p.m.End(fault.New(fault.Code(what), "trouble"), nil))
	}
}

func (p *player) do(acts []Action) {
	for _, a := range acts {
		switch a.Kind {
		case Send:
			frames := []agui.Frame{a.Frame}
			if p.old != nil {
				frames, _ = p.old.Step(a.Frame, nil)
			}
			for _, f := range frames {
				p.got = append(p.got, "< "+string(f.Raw))
			}
		case Open:
			p.opened = append(p.opened, a.Call.Shown)
			p.got = append(p.got, "! open "+a.Call.Shown+" "+string(a.Call.Arguments))
		case Close:
			p.opened = slices.DeleteFunc(p.opened, func(id string) bool { return id == a.Call.Shown })
			p.got = append(p.got, "! close "+a.Call.Shown)
		case Hold:
			p.got = append(p.got, "! hold")
		case Release:
			p.got = append(p.got, "! release")
			p.do(p.m.Released(p.waiting(), p.settled, nil))
		case Cancel:
			p.got = append(p.got, "! cancel")
			p.do(p.m.Cancelled(p.settled, nil))
		}
	}
}

func (p *player) waiting() (open []string) {
next:
	for _, id := range p.opened {
		for _, s := range p.settled {
			if s.Shown == id {
				continue next
			}
		}
		open = append(open, id)
	}
	return open
}

// checkOrder holds what was sent against the published client's own rules.
func (p *player) checkOrder() {
	if p.m == nil || !p.m.Done() {
		return
	}
	var s agui.Sequence
	for _, line := range p.got {
		raw, ok := strings.CutPrefix(line, "< ")
		if !ok {
			continue
		}
		f, err := agui.ParseFrame([]byte(raw))
		if err == nil {
			err = s.Push(f)
		}
		if err != nil {
			p.t.Errorf("%s: %v", raw, err)
		}
	}
	if err := s.End(); err != nil {
		p.t.Error(err)
	}
}

// Every cut of a stream of calls ends in one terminal event, and no client call
// is left without a result [RUN-3].
func TestEveryCut(t *testing.T) {
	stream := []string{
		`{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m1"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hel"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"a","parentMessageId":"m1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"c2","toolCallName":"a","delta":"{\"x\":"}`,
		`{"type":"TOOL_CALL_CHUNK","delta":"1}"}`,
		`{"type":"STEP_STARTED","stepName":"s"}`,
		`{"type":"REASONING_START","messageId":"t1"}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"t1","role":"reasoning"}`,
	}
	for cut := range len(stream) + 1 {
		p := &player{t: t, client: map[string]bool{"a": true}, set: Setup{Thread: "th1", Run: "r1"}}
		for _, raw := range stream[:cut] {
			p.feed(raw)
		}
		p.feed("EOF")
		p.checkOrder()
		sent := strings.Join(p.got, "\n")
		if !p.m.Done() || strings.Count(sent, `"RUN_ERROR"`) != 1 || !strings.Contains(sent, "incomplete_stream") {
			t.Errorf("cut %d: %s", cut, sent)
		}
		for id, at := range map[string]int{"c1": 4, "c2": 7} {
			if got, want := strings.Contains(sent, `"gw-`+id+`"`), cut >= at; got != want {
				t.Errorf("cut %d: result for %s is %v, want %v\n%s", cut, id, got, want, sent)
			}
		}
	}
}

func FuzzMachine(f *testing.F) {
	f.Add("RUN_STARTED|TOOL_CALL_START|TOOL_CALL_END|RUN_FINISHED", true)
	f.Add("TOOL_CALL_CHUNK|TEXT_MESSAGE_CHUNK|RUN_ERROR|RUN_STARTED", false)
	f.Add("RUN_STARTED|RUN_FINISHED|RUN_STARTED|STEP_STARTED|RUN_FINISHED", true)
	f.Fuzz(func(t *testing.T, script string, modern bool) {
		p := &player{t: t, client: map[string]bool{"a": true}, set: Setup{Thread: "th1", Run: "r1"}}
		for i, name := range strings.Split(script, "|") {
			if name = strings.Map(letters, name); name == "" {
				continue
			}
			raw := `{"type":"` + name + `","messageId":"m` + string(rune('0'+i%3)) +
				`","toolCallId":"c` + string(rune('0'+i%4)) + `","toolCallName":"a","stepName":"s","delta":"{}"}`
			p.feed(raw)
		}
		p.feed("EOF")
		if !p.m.Done() {
			t.Fatal("the run has no end")
		}
		terminal := 0
		for _, line := range p.got {
			if strings.HasPrefix(line, `< {"type":"RUN_FINISHED"`) || strings.HasPrefix(line, `< {"type":"RUN_ERROR"`) {
				terminal++
			}
		}
		if terminal != 1 {
			t.Fatalf("%d terminal events:\n%s", terminal, strings.Join(p.got, "\n"))
		}
	})
}

func letters(r rune) rune {
	if r >= 'A' && r <= 'Z' || r == '_' {
		return r
	}
	return -1
}

func TestNames(t *testing.T) {
	known := func(id string) bool { return id == "c0" || id == "c0-2" }
	n := NewNames(known, []Rename{{Upstream: "c0", Shown: "c0-2", Kind: CallID}})
	if got := n.Show(CallID, "c0"); got != "c0-2" {
		t.Errorf("a reference shows %q, want the newest name c0-2", got)
	}
	if got := n.Start(CallID, "c0"); got != "c0-3" {
		t.Errorf("a third use shows %q, want c0-3", got)
	}
	if got := n.Start(CallID, "c0"); got != "c0-3" {
		t.Errorf("the same id in one run shows %q, want c0-3", got)
	}
	if got := n.Start(MessageID, "new"); got != "new" {
		t.Errorf("a first use shows %q, want it unchanged", got)
	}
	for shown, up := range map[string]string{"c0": "c0", "c0-2": "c0", "c0-3": "c0", "new": "new"} {
		if got := n.Upstream(shown); got != up {
			t.Errorf("%s goes up as %q, want %q", shown, got, up)
		}
	}
}
