package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "aguigate-record-")
		if err == nil {
			defer os.RemoveAll(dir)
			program, err = build(context.Background(), dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// What a run writes does not grow with its conversation [HIST-1]: a run of a
// thread's last quarter writes as often as one of the second, and as many bytes.
func TestWritesStayFlat(t *testing.T) {
	// Several threads, since a run's bytes rise and fall between two pages of one.
	size := size{threads: 3, messages: 80}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			steps, err := counted(t.Context(), program, t.TempDir(), k, size, func(step) {})
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range grown(steps, size.messages) {
				t.Error(fault)
			}
			printCounts(t.Output(), steps, size.messages)
		})
	}
}

// The measure itself: what grows with the conversation is found.
func TestGrowthIsFound(t *testing.T) {
	steps := func(writes, bytes func(messages int64) int64) (out []step) {
		for at := 2; at <= 200; at += 2 {
			s := step{messages: at, runs: 1}
			s.used.writes = map[string]traffic{"threads": {writes(int64(at)), bytes(int64(at))}}
			out = append(out, s)
		}
		return out
	}
	flat := func(int64) int64 { return 2000 }
	slow := func(messages int64) int64 { return 2000 + 20*messages }
	for _, c := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"flat", steps(flat, flat), ""},
		{"writes grow", steps(slow, flat), "writes a run"},
		{"bytes grow", steps(flat, slow), "bytes a run"},
		{"nothing is written", steps(func(int64) int64 { return 0 }, flat), "writes a run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(grown(c.steps, 200), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// The whole benchmark, shortened. The gateway's own store has had the writes that
// were counted.
func TestQuickRun(t *testing.T) {
	var out, news strings.Builder
	o := options{size: size{threads: 2, messages: 20}, only: "text,resolve", program: program, out: &out, news: &news}
	if err := o.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	wrote := func(bucket string, n int) string {
		return fmt.Sprintf("%-9s %7d writes by its last sequence, %7d counted", bucket, n, n)
	}
	for _, want := range []string{"text: ", "resolve: ", "2 threads of 20 messages, 20 runs", "MiB on disk",
		wrote("threads", 40), wrote("due", 0), wrote("due", 20)} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
