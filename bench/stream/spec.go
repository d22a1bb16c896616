// Package stream is the shape of the event stream the benchmark moves: what the
// generator writes and what the load client must get back, to the byte.
package stream

import (
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// Bounds of a Spec, so that a slip of the pen cannot fill the machine.
const (
	MaxEvents = 10_000_000
	MaxDelta  = 1 << 20
	MinDelta  = headDelta
	MaxHold   = time.Minute
)

// Spec says what one run looks like. The zero Group writes as many frames at
// once as fit in 32 KiB.
type Spec struct {
	Events int           // TEXT_MESSAGE_CONTENT frames, beside the four that frame them
	Delta  int           // bytes of each delta, at least MinDelta
	Group  int           // frames in one write
	Pause  time.Duration // between two writes; then frames carry the time they were written
	Hold   time.Duration // silence between the last content frame and the end
}

// Total is the number of events of a run: its content frames, and RUN_STARTED,
// TEXT_MESSAGE_START, TEXT_MESSAGE_END and RUN_FINISHED.
func (s Spec) Total() int { return s.Events + 4 }

// Query writes s as a URL query that Parse reads back.
func (s Spec) Query() string {
	return url.Values{
		"events": {strconv.Itoa(s.Events)},
		"delta":  {strconv.Itoa(s.Delta)},
		"group":  {strconv.Itoa(s.Group)},
		"pause":  {s.Pause.String()},
		"hold":   {s.Hold.String()},
	}.Encode()
}

// Parse reads what Query wrote. A key that is missing is zero, for delta MinDelta.
func Parse(query string) (Spec, error) {
	v, err := url.ParseQuery(query)
	if err != nil {
		return Spec{}, err
	}
	s := Spec{Delta: MinDelta}
	for _, f := range []struct {
		key string
		to  *int
		max int
	}{{"events", &s.Events, MaxEvents}, {"delta", &s.Delta, MaxDelta}, {"group", &s.Group, MaxEvents}} {
		if err := number(v.Get(f.key), f.to, f.max); err != nil {
			return Spec{}, fmt.Errorf("%s: %w", f.key, err)
		}
	}
	if s.Delta < MinDelta {
		return Spec{}, fmt.Errorf("delta: %d is less than %d", s.Delta, MinDelta)
	}
	if err := span(v.Get("pause"), &s.Pause); err != nil {
		return Spec{}, fmt.Errorf("pause: %w", err)
	}
	if err := span(v.Get("hold"), &s.Hold); err != nil {
		return Spec{}, fmt.Errorf("hold: %w", err)
	}
	return s, nil
}

func number(text string, to *int, limit int) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	if n < 0 || n > limit {
		return fmt.Errorf("%d is not in 0..%d", n, limit)
	}
	*to = n
	return nil
}

func span(text string, to *time.Duration) error {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	if d < 0 || d > MaxHold {
		return fmt.Errorf("%s is not in 0..%s", d, MaxHold)
	}
	*to = d
	return nil
}
