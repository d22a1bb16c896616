package store

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/aguigate/aguigate/protocol/fault"
)

// A subscription holds at most this much that its fn has not taken; what comes
// beyond is dropped with a warning, since a wake-up is only a hint.
const (
	wakeQueue      = 1024
	wakeQueueBytes = 16 << 20
)

// Publish wakes every subscriber of topic, on all replicas, with data. It does
// not wait for them, and nothing is kept for those that come later: wake-ups
// are hints, may be lost while a connection is down, and whoever waits for one
// also looks at the record now and then. topic: tokens of letters, digits, _
// and -, joined by ".".
func (s *Store) Publish(ctx context.Context, topic string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return unavailable(err)
	}
	if !validTopic(topic) {
		return badTopic(topic)
	}
	if err := s.wake.Publish(s.subject(topic), data); err != nil {
		return unavailable(fmt.Errorf("store: wake %q: %w", topic, err))
	}
	return nil
}

// Subscribe calls fn with each wake-up of topic, one after the other, until
// stop; data is fn's to keep. When it returns, the server knows the
// subscription, so what is read afterwards misses no later change on this
// server. No call starts after stop, one under way may still finish.
func (s *Store) Subscribe(topic string, fn func(data []byte)) (stop func(), err error) {
	if !validTopic(topic) {
		return nil, badTopic(topic)
	}
	var stopped atomic.Bool
	sub, err := s.wake.Subscribe(s.subject(topic), func(m *nats.Msg) {
		if !stopped.Load() {
			s.call(topic, fn, m.Data)
		}
	})
	if err != nil {
		return nil, unavailable(fmt.Errorf("store: subscribe %q: %w", topic, err))
	}
	stop = func() {
		if !stopped.Swap(true) {
			_ = sub.Unsubscribe() // fails only when the connection is closed, and the subscription with it
		}
	}
	if err = sub.SetPendingLimits(wakeQueue, wakeQueueBytes); err == nil {
		err = s.wake.FlushTimeout(s.opTimeout)
	}
	if err != nil {
		stop()
		return nil, unavailable(fmt.Errorf("store: subscribe %q: %w", topic, err))
	}
	return stop, nil
}

// call keeps a panic of fn from ending the process.
func (s *Store) call(topic string, fn func([]byte), data []byte) {
	defer func() {
		if r := recover(); r != nil {
			s.logger.Error("a wake-up's receiver panicked", "topic", topic, "panic", r, "stack", string(debug.Stack()))
		}
	}()
	fn(data)
}

func (s *Store) subject(topic string) string { return s.prefix + ".wake." + topic }

func badTopic(topic string) error {
	return fault.New(fault.Internal, "the gateway could not pass on a change").Because(fmt.Errorf("store: topic %q", topic))
}

func validTopic(topic string) bool {
	for token := range strings.SplitSeq(topic, ".") {
		if !validToken(token) {
			return false
		}
	}
	return true
}

func validToken(t string) bool {
	for _, c := range []byte(t) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return t != ""
}
