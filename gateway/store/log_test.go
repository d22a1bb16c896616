package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aguigate/aguigate/protocol/fault"
)

func add(t testing.TB, s *Store, key string, pieces ...string) (seqs []uint64) {
	t.Helper()
	for _, p := range pieces {
		seq, err := s.Append(t.Context(), key, []byte(p))
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, seq)
	}
	return seqs
}

func follow(t testing.TB, s *Store, key string, after uint64) *Follower {
	t.Helper()
	f, err := s.Follow(t.Context(), key, after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func next(t testing.TB, f *Follower) Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	e, err := f.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func wantNext(t testing.TB, f *Follower, pieces ...string) {
	t.Helper()
	for _, p := range pieces {
		if e := next(t, f); string(e.Data) != p {
			t.Fatalf("entry %d is %q, want %q", e.Seq, e.Data, p)
		}
	}
}

// wantGap reads one ErrGap.
func wantGap(t testing.TB, f *Follower) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if e, err := f.Next(ctx); err != ErrGap {
		t.Fatalf("%q %v, want a gap", e.Data, err)
	}
}

// wantSilence sees that nothing comes for a moment.
func wantSilence(t testing.TB, f *Follower) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if e, err := f.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || fault.CodeOf(err) != fault.StoreUnavailable {
		t.Fatalf("%q %v, want nothing", e.Data, err)
	}
}

// kept counts what a stream holds.
func kept(t testing.TB, s *Store, stream, subject string) uint64 {
	t.Helper()
	js, err := jetstream.New(s.records.Conn)
	if err != nil {
		t.Fatal(err)
	}
	st, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := st.Info(t.Context(), jetstream.WithSubjectFilter(subject))
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	for _, c := range info.State.Subjects {
		n += c
	}
	return n
}

func TestLogLife(t *testing.T) {
	for _, dir := range []string{Memory, t.TempDir()} {
		s, ctx := open(t, Options{Dir: dir}), t.Context()
		if _, err := s.Last(ctx, "a"); err != ErrNotFound {
			t.Fatalf("Last of nothing: %v", err)
		}
		before := time.Now()
		a := add(t, s, "a", "1", "2", "3")
		add(t, s, "b", "other")
		e, err := s.Last(ctx, "a")
		if err != nil || string(e.Data) != "3" || e.Seq != a[2] || e.Time.Before(before.Add(-time.Second)) || e.Time.After(time.Now().Add(time.Second)) {
			t.Fatalf("Last: %+v %v", e, err)
		}
		f := follow(t, s, "a", 0)
		for i, want := range []string{"1", "2", "3"} {
			if e := next(t, f); string(e.Data) != want || e.Seq != a[i] || e.Time.Before(before.Add(-time.Second)) {
				t.Fatalf("%+v", e)
			}
		}
		wantSilence(t, f)
		if seq := add(t, s, "a", "4")[0]; next(t, f).Seq != seq {
			t.Fatal("another number")
		}
		add(t, s, "a", "")
		wantNext(t, f, "")
		wantNext(t, follow(t, s, "a", a[1]), "3", "4", "")
		e.Data[0] = 'X'
		wantNext(t, follow(t, s, "a", 0), "1", "2", "3", "4")
	}
}

func TestLogOutlivesRestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	seqs := add(t, s, "a", "1", "2")
	ap := s.Appender("a")
	if err := ap.Append(t.Context(), []byte("3")); err != nil {
		t.Fatal(err)
	}
	shut(t, s) // keeps what the appender has taken
	if err := ap.Append(t.Context(), nil); err != ErrClosed {
		t.Fatalf("Append after Close: %v", err)
	}
	s = open(t, Options{Dir: dir})
	f := follow(t, s, "a", seqs[0])
	wantNext(t, f, "2", "3")
	if seq := add(t, s, "a", "4")[0]; seq <= seqs[1]+1 {
		t.Fatalf("number %d again", seq)
	}
	wantNext(t, f, "4")
}

func TestLogAge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	seqs := add(t, s, "a", "1", "2")
	if cfg := s.log.stream.CachedInfo().Config; cfg.MaxAge != 24*time.Hour || cfg.MaxMsgsPerSubject != 32768 || cfg.MaxBytes != 1<<30 || cfg.Duplicates != 30*time.Second {
		t.Fatalf("%+v", cfg)
	}
	shut(t, s)
	s = open(t, Options{Dir: dir, EventAge: time.Second})
	if cfg := s.log.stream.CachedInfo().Config; cfg.MaxAge != time.Second || cfg.Duplicates != time.Second {
		t.Fatalf("not adapted: %+v", cfg)
	}
	live := follow(t, s, "a", seqs[1])
	wantSilence(t, live)
	for t0 := time.Now(); kept(t, s, "aguigate-events", "aguigate.events.a") > 0; {
		if time.Since(t0) > 10*time.Second {
			t.Fatal("kept for ever")
		}
		time.Sleep(20 * time.Millisecond)
	}
	wantSilence(t, live)
	late, first := follow(t, s, "a", seqs[0]), follow(t, s, "a", 0)
	wantGap(t, late) // "2" is lost to it, and it is told before anything comes
	wantSilence(t, first)
	add(t, s, "a", "3")
	wantGap(t, live) // it cannot know that nothing came and went
	for _, f := range []*Follower{live, late, first} {
		wantNext(t, f, "3")
	}
}

// A number that never was an entry of this key is a place that is gone.
func TestFollowBehindNothing(t *testing.T) {
	s := open(t, Options{Dir: Memory})
	foreign := add(t, s, "b", "x")[0]
	add(t, s, "a", "1", "2")
	for _, after := range []uint64{foreign, 1 << 40} {
		f := follow(t, s, "a", after)
		wantGap(t, f)
		wantNext(t, f, "1", "2")
		wantSilence(t, f)
	}
}

func TestDropLog(t *testing.T) { // [DATA-2]
	s, ctx := open(t, Options{Dir: t.TempDir()}), t.Context()
	a := add(t, s, "a", "1", "2")
	add(t, s, "ab", "other")
	live := follow(t, s, "a", 0)
	wantNext(t, live, "1", "2")
	for range 2 {
		if err := s.DropLog(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if n := kept(t, s, "aguigate-events", "aguigate.events.*"); n != 1 {
		t.Fatalf("%d entries are left", n)
	}
	if _, err := s.Last(ctx, "a"); err != ErrNotFound {
		t.Fatal(err)
	}
	late := follow(t, s, "a", a[1])
	wantGap(t, late)
	add(t, s, "a", "new")
	wantGap(t, live)
	wantNext(t, live, "new")
	wantNext(t, late, "new")
	wantNext(t, follow(t, s, "ab", 0), "other")
}

func TestPurge(t *testing.T) { // [DATA-2]
	dir, ctx := t.TempDir(), t.Context()
	s := open(t, Options{Dir: dir})
	for _, key := range []string{"t", "t.1", "t.1.x", "t.2", "tt.1", "u.1"} {
		if _, err := s.Create(ctx, Messages, key, []byte("a secret")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Create(ctx, State, "t.1", nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Purge(ctx, Messages, "t"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if n := kept(t, s, "KV_aguigate-messages", "$KV.aguigate-messages.>"); n != 3 {
			t.Fatalf("%d are left", n)
		}
		shut(t, s)
		s = open(t, Options{Dir: dir})
	}
	got, err := s.Keys(ctx, Messages, "")
	if err != nil || strings.Join(got, " ") != "t tt.1 u.1" {
		t.Fatal(got, err)
	}
	if _, err := s.Get(ctx, State, "t.1"); err != nil {
		t.Fatalf("another bucket: %v", err)
	}
	if _, err := s.Create(ctx, Messages, "t.1", nil); err != nil {
		t.Fatalf("Create behind it: %v", err)
	}
	for _, prefix := range []string{"", ">", "*", "t.*", "t.>", "t.", ".t", "t t"} {
		if err := s.Purge(ctx, Messages, prefix); fault.CodeOf(err) != fault.Internal {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
}

func TestLogFaults(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	for _, key := range []string{"", "a.b", "*", ">", "a b"} {
		_, appended := s.Append(ctx, key, nil)
		_, last := s.Last(ctx, key)
		_, followed := s.Follow(ctx, key, 0)
		ap := s.Appender(key)
		_ = ap.Append(ctx, nil)
		for name, err := range map[string]error{"Append": appended, "Last": last, "Follow": followed, "DropLog": s.DropLog(ctx, key), "Flush": ap.Flush(ctx)} {
			if fault.CodeOf(err) != fault.Internal {
				t.Errorf("%s of key %q: %v", name, key, err)
			}
		}
	}
	if _, err := s.Append(ctx, "a", make([]byte, maxPayload+1)); fault.CodeOf(err) != fault.Internal {
		t.Errorf("too big: %v", err)
	}
	if _, err := Open(ctx, Options{Dir: Memory, EventAge: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "event age") {
		t.Errorf("event age: %v", err)
	}
	s.home.server.Shutdown()
	s.opTimeout, s.attempt, s.log.patience = 200*time.Millisecond, 50*time.Millisecond, 100*time.Millisecond
	_, appended := s.Append(ctx, "a", nil)
	_, last := s.Last(ctx, "a")
	ap := s.Appender("a")
	for _, p := range []string{"1", "2"} {
		if err := ap.Append(ctx, []byte(p)); err != nil {
			t.Errorf("Append does not wait: %v", err)
		}
	}
	for name, err := range map[string]error{
		"Append": appended, "Last": last, "DropLog": s.DropLog(ctx, "a"), "Purge": s.Purge(ctx, Rounds, "a"),
		"Flush": ap.Flush(ctx), "Append behind an error": ap.Append(ctx, nil), "Flush again": ap.Flush(ctx),
	} {
		if fault.CodeOf(err) != fault.StoreUnavailable || errors.Unwrap(err) == nil {
			t.Errorf("%s without a server: %v", name, err)
		}
	}
}

func FuzzHeadedEntry(f *testing.F) {
	f.Add("7", "2025-01-02T03:04:05.000000006Z")
	f.Add("", "")
	f.Add("-1", "yesterday")
	f.Fuzz(func(t *testing.T, seq, at string) {
		m := &nats.Msg{Header: nats.Header{"Nats-Sequence": {seq}, "Nats-Time-Stamp": {at}}, Data: []byte("d")}
		e, err := headedEntry(m)
		if err == nil && (fmt.Sprint(e.Seq) != strings.TrimLeft(seq, "0") && e.Seq != 0 || string(e.Data) != "d") {
			t.Errorf("%q %q: %+v", seq, at, e)
		}
	})
}
