package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aguigate/aguigate/protocol/fault"
)

func TestRecordLife(t *testing.T) {
	for _, dir := range []string{Memory, t.TempDir()} {
		s, ctx := open(t, Options{Dir: dir}), t.Context()
		if _, err := s.Get(ctx, Threads, "a"); err != ErrNotFound {
			t.Fatalf("Get of nothing: %v", err)
		}
		if _, err := s.Update(ctx, Threads, "a", []byte("x"), 7); err != ErrConflict {
			t.Fatalf("Update of nothing: %v", err)
		}
		if _, err := s.Update(ctx, Threads, "a", []byte("x"), 0); err != ErrConflict {
			t.Fatalf("Update of revision 0: %v", err)
		}
		r1, err := s.Create(ctx, Threads, "a", []byte("one"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Create(ctx, Threads, "a", []byte("one")); err != ErrExists {
			t.Fatalf("second Create: %v", err)
		}
		r2, err := s.Update(ctx, Threads, "a", []byte("two"), r1)
		if err != nil || r2 <= r1 {
			t.Fatalf("Update: %d after %d, %v", r2, r1, err)
		}
		if _, err := s.Update(ctx, Threads, "a", []byte("three"), r1); err != ErrConflict {
			t.Fatalf("Update of an old revision: %v", err)
		}
		rec, err := s.Get(ctx, Threads, "a")
		if err != nil || string(rec.Value) != "two" || rec.Revision != r2 {
			t.Fatalf("Get: %q %d, %v", rec.Value, rec.Revision, err)
		}
		if _, err := s.Get(ctx, Rounds, "a"); err != ErrNotFound {
			t.Fatalf("the same key in another bucket: %v", err)
		}
		if err := s.Delete(ctx, Threads, "a", r1); err != ErrConflict {
			t.Fatalf("Delete of an old revision: %v", err)
		}
		if err := s.Delete(ctx, Threads, "a", 0); err != ErrConflict {
			t.Fatalf("Delete of revision 0: %v", err)
		}
		for range 2 {
			if err := s.Delete(ctx, Threads, "a", r2); err != nil {
				t.Fatalf("Delete: %v", err)
			}
		}
		if _, err := s.Get(ctx, Threads, "a"); err != ErrNotFound {
			t.Fatalf("Get after Delete: %v", err)
		}
		if _, err := s.Update(ctx, Threads, "a", []byte("four"), r2); err != ErrConflict {
			t.Fatalf("Update after Delete: %v", err)
		}
		if r, err := s.Create(ctx, Threads, "a", nil); err != nil || r <= r2 {
			t.Fatalf("Create after Delete: %d, %v", r, err)
		}
	}
}

func TestMarkerOfDeletedKeyGoesAway(t *testing.T) {
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	rev, err := s.Create(ctx, Rounds, "a", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, Rounds, "a", rev); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(s.records.Conn)
	if err != nil {
		t.Fatal(err)
	}
	st, err := js.Stream(ctx, "KV_aguigate-rounds")
	if err != nil {
		t.Fatal(err)
	}
	m, err := st.GetLastMsgForSubject(ctx, "$KV.aguigate-rounds.a")
	if err != nil || m.Header.Get("Nats-TTL") != markerTTL.String() {
		t.Fatalf("marker: %v %v", m, err)
	}
}

// race lets 64 goroutines do the same and gives how many succeeded.
func race(t *testing.T, stores []*Store, lost error, do func(s *Store, g int) error) int {
	t.Helper()
	var wins atomic.Int64
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for g := range 64 {
		wg.Go(func() {
			<-gate
			switch err := do(stores[g%len(stores)], g); {
			case err == nil:
				wins.Add(1)
			case err != lost:
				t.Errorf("a loser got %v", err)
			}
		})
	}
	close(gate)
	wg.Wait()
	return int(wins.Load())
}

func testOneWinner(t *testing.T, stores []*Store, rounds int) {
	ctx := t.Context()
	for i := range rounds {
		key := "cas-" + strconv.Itoa(i)
		if n := race(t, stores, ErrExists, func(s *Store, g int) error {
			_, err := s.Create(ctx, Rounds, key, []byte(strconv.Itoa(g)))
			return err
		}); n != 1 {
			t.Fatalf("Create: %d winners", n)
		}
		rec, err := stores[0].Get(ctx, Rounds, key)
		if err != nil {
			t.Fatal(err)
		}
		var won atomic.Int64
		if n := race(t, stores, ErrConflict, func(s *Store, g int) error {
			_, err := s.Update(ctx, Rounds, key, []byte(strconv.Itoa(g)), rec.Revision)
			if err == nil {
				won.Store(int64(g))
			}
			return err
		}); n != 1 {
			t.Fatalf("Update: %d winners", n)
		}
		rec, err = stores[0].Get(ctx, Rounds, key)
		if want := strconv.FormatInt(won.Load(), 10); err != nil || string(rec.Value) != want {
			t.Fatalf("the record holds %q, the winner wrote %q (%v)", rec.Value, want, err)
		}
	}
}

func TestOneWinner(t *testing.T) {
	testOneWinner(t, []*Store{open(t, Options{Dir: t.TempDir()})}, 10)
}

// lossy is a bucket whose first answers go astray.
type lossy struct {
	jetstream.KeyValue
	before, after func() // what happens in the first try: without and with the write done
	tries         int
}

func (l *lossy) lose(ctx context.Context, send func() (uint64, error)) (uint64, error) {
	l.tries++
	if l.tries > 1 {
		return send()
	}
	if l.before != nil {
		l.before()
	}
	if l.after != nil {
		if _, err := send(); err != nil {
			panic(err)
		}
		l.after()
	}
	return 0, fmt.Errorf("lost: %w", nats.ErrTimeout)
}

func (l *lossy) Create(ctx context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return l.lose(ctx, func() (uint64, error) { return l.KeyValue.Create(ctx, key, value) })
}

func (l *lossy) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	return l.lose(ctx, func() (uint64, error) { return l.KeyValue.Update(ctx, key, value, rev) })
}

func (l *lossy) Purge(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	_, err := l.lose(ctx, func() (uint64, error) { return 0, l.KeyValue.Purge(ctx, key, opts...) })
	return err
}

// A write whose answer is lost is found again, repeated or honestly given up.
func TestLostAnswer(t *testing.T) {
	nothing := func() {}
	for _, c := range []struct {
		name             string
		applied          bool
		other            string // another writer's value, written after the lost try; "-" deletes
		create, upd, del error
	}{
		{"applied", true, "", nil, nil, nil},
		{"not applied", false, "", nil, nil, nil},
		{"not applied, another wrote", false, "other", ErrExists, ErrConflict, ErrConflict},
		{"applied, another wrote on top", true, "other", ErrExists, ErrConflict, ErrConflict},
	} {
		for verb, want := range map[string]error{"create": c.create, "update": c.upd, "delete": c.del} {
			t.Run(c.name+"/"+verb, func(t *testing.T) {
				s, ctx := open(t, Options{Dir: Memory}), t.Context()
				real := s.kv[Rounds]
				l := &lossy{KeyValue: real}
				then := nothing
				if c.other != "" {
					then = func() { // past every check, as a writer with the newest revision would
						if _, err := real.Put(ctx, "k", []byte(c.other)); err != nil {
							t.Error(err)
						}
					}
				}
				if c.applied {
					l.after = then
				} else {
					l.before = then
				}
				rev := uint64(0)
				if verb != "create" {
					var err error
					if rev, err = s.Create(ctx, Rounds, "k", []byte("old")); err != nil {
						t.Fatal(err)
					}
				}
				s.kv[Rounds] = l
				var got uint64
				var err error
				switch verb {
				case "create":
					got, err = s.Create(ctx, Rounds, "k", []byte("mine"))
				case "update":
					got, err = s.Update(ctx, Rounds, "k", []byte("mine"), rev)
				case "delete":
					err = s.Delete(ctx, Rounds, "k", rev)
				}
				if err != want {
					t.Fatalf("%v, want %v", err, want)
				}
				rec, rerr := s.Get(ctx, Rounds, "k")
				switch {
				case want != nil:
					if string(rec.Value) != c.other {
						t.Fatalf("the other's value is gone: %q %v", rec.Value, rerr)
					}
				case verb == "delete":
					if rerr != ErrNotFound {
						t.Fatalf("still there: %v", rerr)
					}
				case rerr != nil || string(rec.Value) != "mine" || rec.Revision != got:
					t.Fatalf("record %q at %d, told %d (%v)", rec.Value, rec.Revision, got, rerr)
				}
			})
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	if _, err := s.Create(ctx, Rounds, "no spaces", nil); fault.CodeOf(err) != fault.Internal {
		t.Errorf("bad key: %v", err)
	}
	if _, err := s.Create(ctx, Rounds, "big", make([]byte, maxPayload+1)); fault.CodeOf(err) != fault.Internal {
		t.Errorf("too big: %v", err)
	}
	if _, err := s.Create(ctx, Rounds, "fits", make([]byte, maxPayload-1024)); err != nil {
		t.Errorf("nearly too big: %v", err)
	}
	if rec, err := s.Get(ctx, Rounds, "fits"); err != nil || len(rec.Value) != maxPayload-1024 {
		t.Errorf("nearly too big: %d bytes, %v", len(rec.Value), err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Get(gone, Rounds, "a"); fault.CodeOf(err) != fault.StoreUnavailable || !errors.Is(err, context.Canceled) {
		t.Errorf("caller left: %v", err)
	}
	s.home.server.Shutdown()
	s.opTimeout, s.attempt = 200*time.Millisecond, 50*time.Millisecond
	_, get := s.Get(ctx, Rounds, "a")
	_, create := s.Create(ctx, Rounds, "a", nil)
	_, update := s.Update(ctx, Rounds, "a", nil, 1)
	_, keys := s.Keys(ctx, Rounds, "")
	for name, err := range map[string]error{"Get": get, "Create": create, "Update": update, "Keys": keys, "Delete": s.Delete(ctx, Rounds, "a", 1), "Ready": s.Ready(ctx)} {
		if fault.CodeOf(err) != fault.StoreUnavailable || errors.Unwrap(err) == nil {
			t.Errorf("%s without a server: %v", name, err)
		}
	}
}

func TestReadyAfterLostConnection(t *testing.T) {
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	for range 2 {
		if err := s.Ready(ctx); err != nil {
			t.Fatal(err)
		}
	}
	s.records.Conn.Close()
	if err := s.Ready(ctx); fault.CodeOf(err) != fault.StoreUnavailable {
		t.Fatalf("Ready on a closed connection: %v", err)
	}
}

// The value handed out is the caller's: later reads do not change it.
func TestValuesAreNotShared(t *testing.T) {
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	if _, err := s.Create(ctx, Rounds, "a", []byte("abc")); err != nil {
		t.Fatal(err)
	}
	one, err := s.Get(ctx, Rounds, "a")
	if err != nil {
		t.Fatal(err)
	}
	one.Value[0] = 'X'
	two, err := s.Get(ctx, Rounds, "a")
	if err != nil || !bytes.Equal(two.Value, []byte("abc")) {
		t.Fatalf("%q %v", two.Value, err)
	}
}
