package stream

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Checker reads the body of one run and refuses anything but the stream its
// Spec describes: every content frame equal to the byte and in order, the four
// frames around them once each. Comments between frames are let through, they
// are a gateway's keepalive.
type Checker struct {
	spec  Spec
	rest  []byte // an incomplete frame
	next  int    // events seen
	want  []byte // scratch: the content frame expected
	delay []time.Duration
}

// NewChecker expects one run of the given shape.
func NewChecker(s Spec) *Checker { return &Checker{spec: s} }

// Feed takes the next piece of the body, cut anywhere, and the time it was read.
func (c *Checker) Feed(p []byte, at time.Time) error {
	c.rest = append(c.rest, p...)
	done := 0
	for {
		n := bytes.Index(c.rest[done:], []byte("\n\n"))
		if n < 0 {
			break
		}
		frame := c.rest[done : done+n+2]
		done += n + 2
		if frame[0] == ':' {
			continue
		}
		if err := c.frame(frame, at); err != nil {
			return err
		}
	}
	c.rest = c.rest[:copy(c.rest, c.rest[done:])]
	return nil
}

// Events is the number of events seen so far.
func (c *Checker) Events() int { return c.next }

// Delays are the times from writing to reading, of frames that carry a time.
func (c *Checker) Delays() []time.Duration { return c.delay }

// Close says whether the whole run was there.
func (c *Checker) Close() error {
	if len(c.rest) > 0 {
		return fmt.Errorf("after event %d the stream ends inside a frame: %.80q", c.next, c.rest)
	}
	if c.next != c.spec.Total() {
		return fmt.Errorf("%d events arrived of %d", c.next, c.spec.Total())
	}
	return nil
}

func (c *Checker) frame(f []byte, at time.Time) error {
	ok := false
	switch last := c.spec.Total() - 1; c.next {
	case 0:
		// Ids and version are the gateway's business, not the benchmark's.
		ok = bytes.Contains(f, []byte(`"type":"RUN_STARTED"`))
	case 1:
		ok = string(f) == messageStart
	case last - 1:
		ok = string(f) == messageEnd
	case last:
		ok = bytes.Contains(f, []byte(`"type":"RUN_FINISHED"`))
	default:
		ok = c.next < last && c.content(f, at) == nil
	}
	if !ok {
		return fmt.Errorf("event %d of %d is not the expected one: %.120q", c.next, c.spec.Total(), f)
	}
	c.next++
	return nil
}

func (c *Checker) content(f []byte, at time.Time) error {
	stamp, err := stampOf(f)
	if err != nil {
		return err
	}
	c.want = AppendContent(c.want[:0], c.next-2, stamp, c.spec.Delta)
	if !bytes.Equal(f, c.want) {
		return errors.New("other bytes")
	}
	if stamp != 0 {
		c.delay = append(c.delay, time.Duration(at.UnixNano()-stamp))
	}
	return nil
}

func stampOf(f []byte) (int64, error) {
	from := len(prefix) + seqDigits + 1
	if len(f) < from+stampDigits {
		return 0, errors.New("short frame")
	}
	return strconv.ParseInt(string(f[from:from+stampDigits]), 10, 64)
}
