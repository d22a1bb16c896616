package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aguigate/aguigate/protocol/fault"
)

// appendAll lets several appenders work at the same time, two on each key, and gives
// the function that waits for them.
func appendAll(t *testing.T, stores []*Store, keys []string, each int) (wait func()) {
	t.Helper()
	var wg sync.WaitGroup
	for _, key := range keys {
		for w := range 2 {
			ap := stores[w%len(stores)].Appender(key)
			wg.Go(func() {
				for i := range each {
					if err := ap.Append(t.Context(), fmt.Appendf(nil, "%s %d %d", key, w, i)); err != nil {
						t.Error(err)
						return
					}
				}
				if err := ap.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	return wg.Wait
}

// readAll reads what appendAll has written to key and checks it: every writer's in
// its order, nothing lost, nothing twice.
func readAll(t *testing.T, f *Follower, key string, each int) (seqs []uint64) {
	t.Helper()
	var want [2]int
	for range 2 * each {
		e := next(t, f)
		var k string
		var w, i int
		if _, err := fmt.Sscan(string(e.Data), &k, &w, &i); err != nil || k != key {
			t.Fatalf("%s got %q", key, e.Data)
		}
		if i != want[w] {
			t.Fatalf("%s writer %d: %d comes where %d is due", key, w, i, want[w])
		}
		want[w]++
		if len(seqs) > 0 && e.Seq <= seqs[len(seqs)-1] {
			t.Fatalf("%d behind %d", e.Seq, seqs[len(seqs)-1])
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

func TestManyAppenders(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{Memory, t.TempDir()} {
		s := open(t, Options{Dir: dir})
		keys, each := []string{"a", "b", "c", "d"}, 200 // more than a page and than what may wait
		var live []*Follower
		for _, key := range keys {
			live = append(live, follow(t, s, key, 0))
		}
		lazy := follow(t, s, "a", 0) // reads when all is written
		wait := appendAll(t, []*Store{s}, keys, each)
		var seqs []uint64
		for i, key := range keys {
			seqs = readAll(t, live[i], key, each)
		}
		wait()
		readAll(t, lazy, "a", each)
		readAll(t, follow(t, s, "b", 0), "b", each)
		for _, f := range append(live, lazy) {
			wantSilence(t, f)
		}
		for _, from := range []int{0, 1, 255, 256, 257, len(seqs) - 2, len(seqs) - 1} {
			f := follow(t, s, "d", seqs[from])
			for _, want := range seqs[from+1:] {
				if e := next(t, f); e.Seq != want {
					t.Fatalf("behind %d comes %d, want %d", seqs[from], e.Seq, want)
				}
			}
			wantSilence(t, f)
		}
	}
}

func TestFollowerSurvivesLostConnections(t *testing.T) {
	s := open(t, Options{Dir: Memory})
	each := 600
	live := follow(t, s, "a", 0)
	wait := appendAll(t, []*Store{s}, []string{"a"}, each)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 20 {
			if err := s.events.ForceReconnect(); err != nil {
				t.Error(err)
			}
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	readAll(t, live, "a", each)
	wait()
	close(done)
	wg.Wait()
	wantSilence(t, live)

	// What came while the connection was away comes without waiting for more.
	js := s.records.Conn
	if err := s.events.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	if err := js.Publish("aguigate.events.a", []byte("meanwhile")); err != nil {
		t.Fatal(err)
	}
	wantNext(t, live, "meanwhile")
}

// Entries that never arrived at the follower are found by its own look.
func TestFollowerLooks(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Dir: Memory})
	f := follow(t, s, "a", 0)
	add(t, s, "a", "1")
	wantNext(t, f, "1")
	wantSilence(t, f)
	s.log.mu.Lock()
	err := f.sub.Unsubscribe()
	s.log.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, "a", "2", "3")
	t0 := time.Now()
	wantNext(t, f, "2", "3")
	t.Logf("found after %s", time.Since(t0).Round(time.Millisecond))
	f.look = time.Now().Add(time.Hour)
	seqs := add(t, s, "a", "4", "5")
	f.arrived = []arrival{{Entry{Seq: seqs[1], Data: []byte("5")}, seqs[0]}} // only the last one is heard of
	wantNext(t, f, "4", "5")
	wantSilence(t, f)
}

// Bounds: a follower that is not read holds little, and loses nothing.
func TestFollowerIsBounded(t *testing.T) {
	s := open(t, Options{Dir: Memory})
	f := follow(t, s, "a", 0)
	wantSilence(t, f)
	big := strings.Repeat("x", 7<<20)
	var want []string
	for i := range 6 {
		want = append(want, fmt.Sprint(i), strings.Repeat("y", 400<<10))
	}
	want = append(want, big, "end")
	add(t, s, "a", want...)
	f.mu.Lock()
	held := f.size
	f.mu.Unlock()
	if held > arrivedBytes {
		t.Fatalf("%d bytes are held", held)
	}
	wantNext(t, f, want...)
	add(t, s, "a", big)
	wantNext(t, f, big)
	wantNext(t, follow(t, s, "a", 0), want...)
	if e, err := s.Last(t.Context(), "a"); err != nil || len(e.Data) != len(big) {
		t.Fatalf("%d bytes, %v", len(e.Data), err)
	}
}

// The bound of one key takes its oldest entries, and a reader is told.
func TestLogPerKeyBound(t *testing.T) {
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	cfg := s.log.stream.CachedInfo().Config
	cfg.MaxMsgsPerSubject = 3
	if _, err := s.log.js.UpdateStream(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	seqs := add(t, s, "a", "1", "2", "3")
	add(t, s, "b", "other")
	f := follow(t, s, "a", seqs[0])
	wantNext(t, f, "2")
	add(t, s, "a", "4") // "1" goes, which f has behind it
	wantNext(t, f, "3", "4")
	f.Close()
	f = follow(t, s, "a", seqs[1])
	add(t, s, "a", "5", "6")
	wantGap(t, f)
	wantNext(t, f, "4", "5", "6")
	wantNext(t, follow(t, s, "b", 0), "other")
}

// Next ends with whatever ends first, says why, and says it again.
func TestFollowEnds(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := open(t, Options{Dir: Memory})
	left := errors.New("the client left")
	for _, c := range []struct {
		name string
		end  func(f *Follower, follow, next context.CancelCauseFunc)
		is   error
		once bool // the follower itself lives on
	}{
		{"its ctx", func(_ *Follower, follow, _ context.CancelCauseFunc) { follow(left) }, left, false},
		{"Next's ctx", func(_ *Follower, _, next context.CancelCauseFunc) { next(left) }, left, true},
		{"Close", func(f *Follower, _, _ context.CancelCauseFunc) { f.Close(); f.Close() }, ErrClosed, false},
		{"the store's Close", func(*Follower, context.CancelCauseFunc, context.CancelCauseFunc) { shut(t, s) }, ErrClosed, false},
	} {
		key := Key(c.name)
		ctx, cancel := context.WithCancelCause(t.Context())
		nctx, ncancel := context.WithCancelCause(t.Context())
		f, err := s.Follow(ctx, key, 0)
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan error)
		go func() { _, err := f.Next(nctx); told <- err }()
		time.Sleep(10 * time.Millisecond) // most likely it waits now; the outcome is the same if not
		c.end(f, cancel, ncancel)
		if err := <-told; !errors.Is(err, c.is) || err != ErrClosed && fault.CodeOf(err) != fault.StoreUnavailable {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.once {
			add(t, s, key, "1")
			wantNext(t, f, "1")
		} else if _, err := f.Next(t.Context()); !errors.Is(err, c.is) {
			t.Errorf("%s, again: %v", c.name, err)
		}
		cancel(nil)
		ncancel(nil)
		f.Close()
	}
	if _, err := s.Follow(t.Context(), "a", 0); err != ErrClosed {
		t.Error(err)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	if n := len(s.log.followers); n != 0 {
		t.Errorf("%d followers are left", n)
	}
}
