package gateway

import (
	"log/slog"
	"testing"
	"time"
)

// What cannot be accepted once something was written, or further back in a list,
// is history; at the end of a list, before anything was written, it refuses the
// turn [HIST-4, ERR-1].
func TestLateAnswers(t *testing.T) {
	for _, c := range []struct{ trailing, written, refused bool }{
		{true, false, true}, {true, true, false}, {false, false, false},
	} {
		led := rounds(t, "c1=first")
		g := &Gateway{log: discard(), now: fixed}
		r := &liveRun{g: g, turn: turn("r1", "x"), agent: &agent{}}
		rd := led.rounds[0]
		other := messageSettlement(r.agent, &rd.Invocations[0], list(t, "t(c1=second)")[0])
		changed, err := r.applyAnswers(rd, []answer{{round: rd, call: &rd.Invocations[0], settlement: other, trailing: c.trailing}}, c.written)
		if (err != nil) != c.refused || changed {
			t.Errorf("%+v: changed %v, %v", c, changed, err)
		}
		if got := rd.Invocations[0].Settlement.Content; got != "first" {
			t.Errorf("%+v: the accepted answer became %q", c, got)
		}
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func fixed() time.Time { return time.Unix(2, 0) }
