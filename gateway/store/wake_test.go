package store

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
)

func receive(t *testing.T, ch <-chan string) string {
	t.Helper()
	select {
	case s := <-ch:
		return s
	case <-time.After(10 * time.Second):
		t.Fatal("no wake-up")
		return ""
	}
}

func TestWakeUps(t *testing.T) {
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	ch, other := make(chan string, 200), make(chan string, 1)
	stop, err := s.Subscribe("round.abc", func(data []byte) {
		if string(data) == "panic" {
			panic("a receiver's fault")
		}
		ch <- string(data)
	})
	if err != nil {
		t.Fatal(err)
	}
	stopOther, err := s.Subscribe("round.abd", func(data []byte) { other <- string(data) })
	if err != nil {
		t.Fatal(err)
	}
	defer stopOther()
	if err := s.Publish(ctx, "round.abc", []byte("panic")); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := s.Publish(ctx, "round.abc", []byte(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		if got := receive(t, ch); got != strconv.Itoa(i) {
			t.Fatalf("wake-up %d is %s", i, got)
		}
	}
	stop()
	stop()
	if err := s.Publish(ctx, "round.abc", []byte("late")); err != nil {
		t.Fatal(err)
	}
	if err := s.Publish(ctx, "round.abd", []byte("other")); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, other); got != "other" || len(ch) != 0 {
		t.Fatalf("other topic %q, after stop %d", got, len(ch))
	}
}

// A receiver that does not return holds up neither reads nor writes.
func TestSlowReceiverBlocksNobody(t *testing.T) {
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	entered, leave := make(chan struct{}), make(chan struct{})
	stop, err := s.Subscribe("slow", func([]byte) { close(entered); <-leave })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	defer close(leave)
	if err := s.Publish(ctx, "slow", nil); err != nil {
		t.Fatal(err)
	}
	<-entered
	if _, err := s.Create(ctx, Rounds, "a", nil); err != nil {
		t.Fatal(err)
	}
	ch := make(chan string, 1)
	stopOther, err := s.Subscribe("other", func(b []byte) { ch <- string(b) })
	if err != nil {
		t.Fatal(err)
	}
	defer stopOther()
	if err := s.Publish(ctx, "other", []byte("x")); err != nil {
		t.Fatal(err)
	}
	receive(t, ch)
}

func TestTopics(t *testing.T) {
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	for _, topic := range []string{"", ".", "a.", ".a", "a..b", "a b", "*", "a.>", "é"} {
		if err := s.Publish(ctx, topic, nil); fault.CodeOf(err) != fault.Internal {
			t.Errorf("Publish %q: %v", topic, err)
		}
		if _, err := s.Subscribe(topic, nil); fault.CodeOf(err) != fault.Internal {
			t.Errorf("Subscribe %q: %v", topic, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Publish(gone, "a", nil); fault.CodeOf(err) != fault.StoreUnavailable {
		t.Errorf("caller left: %v", err)
	}
}
