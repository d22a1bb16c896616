package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// readyFor is how long one answer of Ready serves all who ask.
const readyFor = time.Second

// probeKey is read, never written.
const probeKey = "ready-probe"

// probe is the last answer; turn lets one at a time ask for a new one.
type probe struct {
	turn chan struct{}
	at   time.Time
	err  error
}

// Ready reports whether the store answers [OPS-1]: one read in each bucket and
// in the log by its leader, at most once a second whatever the number of callers. A lost
// connection counts at once.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.connected(); err != nil {
		return unavailable(err)
	}
	select {
	case s.probe.turn <- struct{}{}:
		defer func() { <-s.probe.turn }()
	case <-ctx.Done():
		return unavailable(ctx.Err())
	}
	if !s.probe.at.IsZero() && time.Since(s.probe.at) < readyFor {
		return s.probe.err
	}
	err := s.ask(ctx)
	if ctx.Err() == nil { // a caller that left says nothing about the store
		s.probe.at, s.probe.err = time.Now(), err
	}
	return err
}

func (s *Store) ask(ctx context.Context) error {
	for b := range buckets {
		if _, err := s.Get(ctx, b, probeKey); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	if _, err := s.Last(ctx, probeKey); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}

func (s *Store) connected() error {
	for _, l := range []*link{s.records, s.wake, s.events} {
		if st := l.Status(); st != nats.CONNECTED {
			return fmt.Errorf("store: %s: %s", l.Opts.Name, st)
		}
	}
	return nil
}
