package store

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

var piece = make([]byte, 300) // a text delta and its frame

func BenchmarkAppend(b *testing.B) {
	for _, dir := range []string{"file", Memory} {
		b.Run(dir, func(b *testing.B) {
			s := openIn(b, dir)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Append(b.Context(), "k", piece); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppender has one appender, or as many as 64 runs have.
func BenchmarkAppender(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, ctx := openIn(b, "file"), b.Context()
			var all []*Appender
			for i := range n {
				all = append(all, s.Appender(Key(fmt.Sprint(i))))
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				if err := all[i%n].Append(ctx, piece); err != nil {
					b.Fatal(err)
				}
			}
			for _, ap := range all {
				if err := ap.Flush(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFollow is the way of one entry: from Append's call to Next's return,
// with Append's own wait left to another goroutine.
func BenchmarkFollow(b *testing.B) {
	s, ctx := openIn(b, "file"), b.Context()
	ap, f := s.Appender("k"), follow(b, s, "k", 0)
	b.ReportAllocs()
	for b.Loop() {
		if err := ap.Append(ctx, piece); err != nil {
			b.Fatal(err)
		}
		if _, err := f.Next(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay reads an entry that was there before, one of 2000 a follower.
func BenchmarkReplay(b *testing.B) {
	s, ctx := openIn(b, "file"), b.Context()
	const n = 2000
	ap, other := s.Appender("k"), s.Appender("other")
	for range n {
		if err := ap.Append(ctx, piece); err != nil {
			b.Fatal(err)
		}
		if err := other.Append(ctx, piece); err != nil {
			b.Fatal(err)
		}
	}
	if err := ap.Flush(ctx); err != nil {
		b.Fatal(err)
	}
	var f *Follower
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if i%n == 0 {
			f = follow(b, s, "k", 0)
		}
		i++
		if _, err := f.Next(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkResume is a follower's begin behind the last entry but one.
func BenchmarkResume(b *testing.B) {
	s := openIn(b, "file")
	seqs := add(b, s, "k", "1", "2")
	b.ReportAllocs()
	for b.Loop() {
		f, err := s.Follow(b.Context(), "k", seqs[0])
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

// BenchmarkIdleFollowers tells what one of 2000 followers that wait takes, with
// its reader's goroutine.
func BenchmarkIdleFollowers(b *testing.B) {
	s := openIn(b, Memory)
	add(b, s, "k", "1")
	const n = 2000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		ctx, cancel := context.WithCancel(b.Context())
		var began, ended sync.WaitGroup
		began.Add(n)
		for range n {
			f, err := s.Follow(ctx, "k", 0)
			if err != nil {
				b.Fatal(err)
			}
			ended.Go(func() {
				_, _ = f.Next(ctx)
				began.Done()
				_, _ = f.Next(ctx)
			})
		}
		began.Wait()
		for len(s.log.reads) > 0 {
			runtime.Gosched()
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapInuse-before.HeapInuse)/n, "heap-B/follower")
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/n, "stack-B/follower")
		cancel()
		ended.Wait()
	}
}

func openIn(b *testing.B, dir string) *Store {
	b.Helper()
	if dir == "file" {
		dir = b.TempDir()
	}
	return open(b, Options{Dir: dir})
}
