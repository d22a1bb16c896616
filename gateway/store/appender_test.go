package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aguigate/aguigate/protocol/fault"
)

// forgetful loses the first answers to what it publishes.
type forgetful struct {
	jetstream.JetStream
	lose  int
	tries int
}

func (j *forgetful) PublishMsg(ctx context.Context, m *nats.Msg, o ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := j.JetStream.PublishMsg(ctx, m, o...)
	if j.tries++; j.tries <= j.lose {
		return nil, nats.ErrTimeout
	}
	return ack, err
}

func TestEntryIsKeptOnce(t *testing.T) {
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	j := &forgetful{JetStream: s.log.js, lose: 3}
	s.log.js = j
	seq := add(t, s, "a", "same")[0]
	if e, err := s.Last(ctx, "a"); err != nil || e.Seq != seq || j.tries != 4 {
		t.Fatalf("told %d, is %+v (%v) after %d tries", seq, e, err, j.tries)
	}
	j.lose, j.tries = 2, 0
	ap := s.Appender("a")
	for _, p := range []string{"same", "2"} {
		if err := ap.Append(ctx, []byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := ap.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	f := follow(t, s, "a", 0)
	wantNext(t, f, "same", "same", "2")
	wantSilence(t, f)
}

// A full appender makes its caller wait and lets it leave.
func TestAppenderIsBounded(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	s.home.server.Shutdown()
	s.log.patience = 300 * time.Millisecond
	for name, size := range map[string]int{"entries": 1, "bytes": appenderBytes / 4} {
		ap, n := s.Appender("a"), 0
		for {
			one, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			err := ap.Append(one, make([]byte, size))
			cancel()
			if errors.Is(err, context.DeadlineExceeded) && one.Err() != nil {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if want := min(appenderEntries, appenderBytes/size); n != want {
			t.Errorf("%s: took %d, want %d", name, n, want)
		}
		if err := ap.Append(ctx, make([]byte, size)); fault.CodeOf(err) != fault.StoreUnavailable {
			t.Errorf("%s: who waited is told %v", name, err)
		}
	}
}
