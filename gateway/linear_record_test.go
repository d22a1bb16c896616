package gateway

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// linTake records what happens on many threads at once.
type linTake struct {
	begun   time.Time
	threads sync.Map // id → *linHistory
}

func (l *linTake) now() int64 { return int64(time.Since(l.begun)) }

func (l *linTake) of(thread string) *linHistory {
	h, _ := l.threads.Load(thread)
	if h == nil {
		return nil
	}
	return h.(*linHistory)
}

// linHistory is what happened on one thread.
type linHistory struct {
	mu    sync.Mutex
	ops   []porcupine.Operation
	doubt []porcupine.Operation // of which nobody was told whether they happened
	waits [][2]int64            // when turns waited for the thread
	runs  map[string]*linRun
	begun int64
	asks  []linManner // how the agent behaves, ask by ask
	asked int
}

// linRun is one run as far as it was seen from outside.
type linRun struct {
	number   int
	by       asker
	accepted int64 // the gateway said so; 0 for never
	ended    int64
	outcome  string
	ask      *linAsked
}

// linAsked is one question to the agent.
type linAsked struct {
	called, sent int64
	err          error // of what the gateway has to do before the first byte
	cut          bool  // the run was over before it came to that
	heard        [2]int64
	over         int64 // the stream gave its last
	held         bool  // and was read again behind it
}

// run gives the run of that id, which it numbers when it is new.
func (h *linHistory) run(id string) *linRun {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[id]
	if r == nil {
		r = &linRun{number: len(h.runs) + 1, by: bySelf}
		h.runs[id] = r
	}
	return r
}

// note enters one operation.
func (h *linHistory) note(called, returned int64, in linIn, out linOut) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: len(h.ops), Input: in, Call: called, Output: out, Return: returned})
}

// wonder enters one that may have happened.
func (h *linHistory) wonder(called, returned int64, in linIn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubt = append(h.doubt, porcupine.Operation{Input: in, Call: called, Output: linOut{}, Return: returned})
}

// moment enters a time in which a run may have had the thread.
func (h *linHistory) moment(from, to int64, run int) {
	h.wonder(from, to, linIn{act: actHold, run: run})
	h.wonder(from, to, linIn{act: actGone, run: run})
}

// wait enters when a turn waited.
func (h *linHistory) wait(from, to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = append(h.waits, [2]int64{from, to})
}

// done enters what runs were seen to do and gives the history.
func (h *linHistory) done() []porcupine.Operation {
	for _, r := range h.runs {
		if r.by == bySelf || r.by == byRequest {
			h.ownRun(r)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ops)
}

// ownRun enters a run of the gateway's own, of which its log says when it had the
// thread.
func (h *linHistory) ownRun(r *linRun) {
	if r.by == bySelf { // continue has told when the other kind began
		h.note(h.begun, r.accepted, linIn{act: actTake, run: r.number, by: r.by}, linOut{})
	}
	gave := "failed"
	if r.outcome == "success" {
		gave = "done"
	}
	h.asking(r, gave, r.accepted, r.ended)
}

// asking enters what a run did from having the thread to its end.
func (h *linHistory) asking(r *linRun, gave string, from, end int64) {
	if a := r.ask; a != nil && !a.cut {
		h.note(a.called, a.sent, linIn{act: actAsk, run: r.number, by: r.by}, linOut{ok: a.err == nil})
		from = max(from, a.sent)
		if a.heard[1] == 0 && a.heard[0] != 0 { // nothing was read after the first
			a.heard[1] = end
		}
		if a.heard[0] != 0 {
			h.note(a.heard[0], a.heard[1], linIn{act: actHeard, run: r.number}, linOut{})
		}
		if from = max(from, a.over); a.err == nil {
			h.note(from, end, linIn{act: actEnd, run: r.number, gave: gave}, linOut{})
		}
	}
	h.note(from, end, linIn{act: actGone, run: r.number}, linOut{})
}

// Handle reads when the gateway's runs begin and end.
func (l *linTake) Handle(_ context.Context, rec slog.Record) error {
	if rec.Message != "run accepted" && rec.Message != "run ended" {
		return nil
	}
	var thread, run, outcome string
	rec.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "thread":
			thread = a.Value.String()
		case "run":
			run = a.Value.String()
		case "outcome":
			outcome = a.Value.String()
		}
		return true
	})
	h := l.of(thread)
	if h == nil {
		return nil
	}
	r := h.run(run)
	h.mu.Lock()
	defer h.mu.Unlock()
	if rec.Message == "run accepted" {
		r.accepted = l.now()
		return nil
	}
	r.ended, r.outcome = l.now(), outcome
	return nil
}

func (l *linTake) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *linTake) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *linTake) WithGroup(string) slog.Handler                    { return l }

// linManner is how the agent answers once.
type linManner struct {
	pause  time.Duration // before the first frame, and before the end
	opens  bool          // the round's calls
	refuse bool          // no stream comes at all
	hangs  bool          // its last word never comes
	stays  bool          // its stream does not end behind it
	fail   string        // where it breaks off: "", first, later, cut
}

// Run makes linTake the agent of all its threads.
func (l *linTake) Run(ctx context.Context, req *upstream.RunRequest) (upstream.Stream, error) {
	called := l.now()
	h := l.of(req.Input.ThreadID)
	r := h.run(req.Input.RunID)
	a := &linAsked{called: called}
	if a.cut = ctx.Err() != nil; !a.cut {
		a.err = req.Sent(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	a.sent, r.ask = l.now(), a
	switch {
	case a.cut:
		return nil, fault.New(fault.UpstreamClosed, "cancelled")
	case a.err != nil:
		return nil, a.err
	}
	m := h.asks[min(h.asked, len(h.asks)-1)]
	if h.asked++; m.refuse {
		return nil, fault.New(fault.UpstreamUnreachable, "nobody is there")
	}
	return &linStream{take: l, h: h, a: a, ctx: ctx, linManner: m, script: m.says(req.Input)}, nil
}

// says is what the agent says, one read each.
func (m linManner) says(in *agui.Input) [][]agui.Frame {
	begin, end := agui.NewRunStarted(in.ThreadID, in.RunID, "", agui.ProtocolVersion), agui.NewRunFinished(in.ThreadID, in.RunID, nil)
	id := "m-" + in.RunID
	said := []agui.Frame{agui.NewTextStart(id), agui.NewTextContent(id, "thanks"), agui.NewTextEnd(id)}
	failed := agui.NewRunError("broken", "broken", nil)
	switch {
	case m.opens:
		var calls []agui.Frame
		for _, c := range []string{"c0", "c1"} {
			calls = append(calls, agui.NewToolCallStart(c, "pick", "a1"), agui.NewToolCallArgs(c, "{}"), agui.NewToolCallEnd(c))
		}
		return [][]agui.Frame{append([]agui.Frame{begin}, calls...), {end}}
	case m.fail == "first":
		return [][]agui.Frame{{failed}}
	case m.fail == "later":
		return [][]agui.Frame{{begin}, append(said, failed)}
	case m.fail == "cut":
		return [][]agui.Frame{{begin}, said}
	}
	return [][]agui.Frame{{begin}, said, {end}}
}

// linStream is the agent's answer to one question.
type linStream struct {
	take *linTake
	h    *linHistory
	a    *linAsked
	ctx  context.Context
	linManner
	script [][]agui.Frame
	reads  int
}

// Next says the next part of the script after a pause.
func (s *linStream) Next(dst []agui.Frame) ([]agui.Frame, error) {
	s.mark(func() {
		if s.reads++; s.reads == 2 {
			s.a.heard[1] = s.take.now()
		}
	})
	defer s.mark(func() { s.a.over = s.take.now() })
	if s.pause > 0 && (s.reads == 1 || len(s.script) == 1) {
		select {
		case <-time.After(s.pause):
		case <-s.ctx.Done():
		}
	}
	s.mark(func() { s.a.held = len(s.script) == 0 })
	if s.stays && len(s.script) == 0 || s.hangs && len(s.script) == 1 {
		<-s.ctx.Done()
	}
	if s.ctx.Err() != nil {
		return dst, fault.New(fault.UpstreamClosed, "cancelled")
	}
	if len(s.script) == 0 {
		return dst, io.EOF
	}
	now := s.script[0]
	s.script = s.script[1:]
	if s.reads == 1 {
		s.mark(func() { s.a.heard[0] = s.take.now() })
	}
	return append(dst, now...), nil
}

func (s *linStream) mark(f func()) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	f()
}

// Close has nothing to close.
func (s *linStream) Close() error { return nil }
