package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestKeyHasNoCollisions(t *testing.T) {
	seen := map[string]string{}
	for _, parts := range [][]string{
		nil, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"},
		{"a", "bc"}, {"ab", "c"}, {"abc"}, {"a", "b", "c"},
		{"a.b"}, {"a", "b"}, {"a/b"}, {"a\x00b"}, {"a\x00", "b"}, {"a", "\x00b"},
		{"\x00\x00\x00\x00\x00\x00\x00\x01a"}, {"\x00\x00\x00\x00\x00\x00\x00\x00"},
		{"A"}, {"é"}, {"e\u0301"}, {"*"}, {">"}, {" "}, {strings.Repeat("x", 256)}, {strings.Repeat("x", 257)},
	} {
		key, name := Key(parts...), fmt.Sprintf("%q", parts)
		if other, taken := seen[key]; taken {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[key] = name
		if len(key) != 32 || !validToken(key) || key != strings.ToLower(key) {
			t.Errorf("%s: %q is no token", name, key)
		}
		if key != Key(parts...) {
			t.Errorf("%s: two keys", name)
		}
	}
	// Written-out: records of an earlier release must be found by a later one.
	if got := Key("acme", "thread-1"); got != "ehqh4fw5te4obhmruz3d5o2qn55hdyna" {
		t.Errorf("Key changed: %s", got)
	}
}

func FuzzKey(f *testing.F) {
	f.Add("a", "bc", "ab", "c")
	f.Add("", "a", "a", "")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		if same := a == c && b == d; (Key(a, b) == Key(c, d)) != same {
			t.Errorf("%q %q | %q %q", a, b, c, d)
		}
		if Key(a, b) == Key(a+b) || !validToken(Key(a)) {
			t.Errorf("%q %q", a, b)
		}
	})
}

func TestKeys(t *testing.T) {
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	for _, key := range []string{"b.2", "a", "a.1", "a.1.x", "a.2", "ab.1", "c.1"} {
		if _, err := s.Create(ctx, Index, key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := s.Get(ctx, Index, "c.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, Index, "c.1", rec.Revision); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string][]string{
		"":    {"a", "a.1", "a.1.x", "a.2", "ab.1", "b.2"},
		"a":   {"a.1", "a.1.x", "a.2"},
		"a.1": {"a.1.x"},
		"b":   {"b.2"},
		"c":   nil,
		"no":  nil,
	} {
		got, err := s.Keys(ctx, Index, prefix)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v (%v)", prefix, got, want, err)
		}
	}
	if got, err := s.Keys(ctx, Rounds, ""); err != nil || len(got) != 0 {
		t.Errorf("another bucket: %v %v", got, err)
	}
	if _, err := s.Keys(ctx, Index, "no spaces"); err == nil {
		t.Error("a prefix that is no key")
	}
}

// A listing that stops early lets go of its watcher (TestMain looks for leaks).
func TestKeysAreBounded(t *testing.T) {
	s, ctx := open(t, Options{Dir: Memory}), t.Context()
	for i := range 600 { // more than a watcher's buffer
		if _, err := s.Create(ctx, Index, fmt.Sprintf("k.%d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := s.list(ctx, Index, "k.>", 600); err != nil || len(all) != 600 {
		t.Fatalf("%d keys, %v", len(all), err)
	}
	if some, err := s.list(ctx, Index, "k.>", 10); err != ErrTooMany || len(some) != 10 {
		t.Fatalf("%d keys, %v", len(some), err)
	}
}
