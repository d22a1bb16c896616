package store

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func BenchmarkGet(b *testing.B) {
	for _, direct := range []bool{true, false} { // why the embedded store has direct reads
		name := map[bool]string{false: "leader", true: "direct"}[direct]
		b.Run(name, func(b *testing.B) {
			s, ctx := open(b, Options{Dir: b.TempDir()}), context.Background()
			if !direct {
				askLeader(b, s)
			}
			if _, err := s.Create(ctx, Rounds, "k", make([]byte, 1000)); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Get(ctx, Rounds, "k"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func askLeader(b *testing.B, s *Store) {
	js, err := jetstream.New(s.records.Conn)
	if err != nil {
		b.Fatal(err)
	}
	cfg := bucketConfig("aguigate-rounds", shape{replicas: 1, storage: jetstream.FileStorage})
	if _, err := js.UpdateStream(context.Background(), cfg); err != nil {
		b.Fatal(err)
	}
	if s.kv[Rounds], err = js.KeyValue(context.Background(), "aguigate-rounds"); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, always := range []bool{false, true} {
		name := map[bool]string{false: "interval", true: "always"}[always]
		b.Run(name, func(b *testing.B) {
			s, ctx := open(b, Options{Dir: b.TempDir(), SyncAlways: always}), context.Background()
			value := make([]byte, 1000)
			rev, err := s.Create(ctx, Rounds, "k", value)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if rev, err = s.Update(ctx, Rounds, "k", value, rev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
