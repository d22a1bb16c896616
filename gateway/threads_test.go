package gateway

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/gateway/run"
)

// A thread's record stays far below what the store takes, whatever ids a backend
// makes up; open rounds are never dropped [OPS-5].
func TestThreadRecordIsBounded(t *testing.T) {
	long := strings.Repeat("\x01", run.MaxID) // six bytes each in JSON
	var rec threadRecord
	names := run.NewNames(nil, nil)
	for i := range 100 {
		ref := roundRef{Key: fmt.Sprint(i), Run: long, Open: i%50 == 0}
		for j := range 20 {
			ref.Calls = append(ref.Calls, fmt.Sprint(long, i, j))
		}
		rec.Rounds = append(rec.Rounds, ref)
		rec.trim()
		for range 10 { // the same id again and again
			names.NextRun()
			names.Start(run.CallID, fmt.Sprint(long[:len(long)-8], i))
		}
		rec.keepNames(names)
	}
	value, err := encode(rec)
	if err != nil || len(value) > 6<<20 {
		t.Errorf("the record has %d bytes, %v", len(value), err)
	}
	if !rec.Trimmed || rec.Rounds[0].Key != "0" || !rec.Rounds[0].Open {
		t.Errorf("trimmed %v, the oldest open round is gone: %s", rec.Trimmed, rec.Rounds[0].Key)
	}
	if last := rec.Rounds[len(rec.Rounds)-1].Key; last != "99" {
		t.Errorf("the newest round listed is %s", last)
	}
}

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
