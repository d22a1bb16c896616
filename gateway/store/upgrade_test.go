package store

import (
	"bytes"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// An installation of an earlier release gets what it lacks and keeps what it has.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	s := open(t, Options{Dir: dir})
	if _, err := s.Create(ctx, Index, "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"KV_aguigate-messages", "KV_aguigate-state", "KV_aguigate-basis", "KV_aguigate-due", "aguigate-events"} {
		if err := s.log.js.DeleteStream(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, s)
	s = open(t, Options{Dir: dir})
	if rec, err := s.Get(ctx, Index, "a"); err != nil || string(rec.Value) != "x" {
		t.Fatalf("%q %v", rec.Value, err)
	}
	for b := range buckets {
		big := []byte("7")
		if b == Messages {
			big = bytes.Repeat(big, 7<<20)
		}
		if _, err := s.Create(ctx, b, "new.1", big); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if rec, err := s.Get(ctx, b, "new.1"); err != nil || !bytes.Equal(rec.Value, big) {
			t.Fatalf("%s: %d bytes, %v", b, len(rec.Value), err)
		}
	}
	add(t, s, "a", "1")
	if err := s.Ready(ctx); err != nil {
		t.Fatal(err)
	}
}

// A server with less room than the log may take gives it what it has.
func TestLogOnASmallDisk(t *testing.T) {
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, JetStreamMaxStore: 100 << 20, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("no server")
	}
	for range 2 { // the second finds what the first made
		s := open(t, Options{NATS: ns.ClientURL(), Replicas: 1})
		if cfg := s.log.stream.CachedInfo().Config; cfg.MaxBytes != 64<<20 {
			t.Fatalf("%d bytes", cfg.MaxBytes)
		}
		add(t, s, "a", "1")
	}
}
