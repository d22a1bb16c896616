package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// bucketOf is the bucket a stream belongs to.
func bucketOf(stream string) string {
	return strings.TrimPrefix(strings.TrimPrefix(stream, "KV_"), prefix+"-")
}

// span is a stretch of a conversation: messages in (from, to].
type span struct{ from, to int }

// spans are a tenth of the conversation each: its beginning, around a quarter, a
// half and three quarters, and its end.
func spans(messages int) (out []span) {
	tenth := messages / 10
	for _, mid := range []int{messages / 20, messages / 4, messages / 2, 3 * messages / 4, messages - messages/20} {
		out = append(out, span{mid - tenth/2, mid + tenth/2})
	}
	return out
}

func perRun(n int64, runs int) float64 { return float64(n) / float64(max(runs, 1)) }

func printCounts(out io.Writer, steps []step, messages int) {
	_, all := window(steps, 0, messages)
	buckets := slices.Sorted(maps.Keys(all.writes))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "messages\twrites/run\tbytes/run\treads/run\tread bytes/run\t%s\t\n", strings.Join(buckets, "\t"))
	for _, sp := range spans(messages) {
		runs, u := window(steps, sp.from, sp.to)
		written, read := sum(u.writes), sum(u.reads)
		fmt.Fprintf(w, "%d-%d\t%.2f\t%.0f\t%.2f\t%.0f\t", sp.from+1, sp.to, perRun(written.n, runs), perRun(written.bytes, runs), perRun(read.n, runs), perRun(read.bytes, runs))
		for _, b := range buckets {
			fmt.Fprintf(w, "%.2f: %.0f | %.2f\t", perRun(u.writes[b].n, runs), perRun(u.writes[b].bytes, runs), perRun(u.reads[b].n, runs))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	fmt.Fprintln(out, "by bucket: writes a run: their bytes a run | reads a run")
}

func printCosts(out io.Writer, c cost, counted []step, messages int) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "messages\tCPU us/run\tdisk bytes/run\t\n")
	for _, sp := range spans(messages) {
		runs, u := window(c.steps, sp.from, sp.to)
		fmt.Fprintf(w, "%d-%d\t%.0f\t%.0f\t\n", sp.from+1, sp.to, perRun(u.cpu.Nanoseconds(), runs)/1000, perRun(u.disk, runs))
	}
	_ = w.Flush()
	runs, u := window(c.steps, 0, messages)
	fmt.Fprintf(out, "all: %.0f us CPU and %.0f bytes to disk a run; resident %.0f MiB before, %.0f MiB after; %.1f MiB on disk after it was stopped\n",
		perRun(u.cpu.Nanoseconds(), runs)/float64(time.Microsecond), perRun(u.disk, runs), mib(c.resident[0]), mib(c.resident[1]), mib(c.disk))
	_, tapped := window(counted, 0, messages)
	for _, b := range slices.Sorted(maps.Keys(c.writes)) {
		fmt.Fprintf(out, "  %-9s %7d writes by its last sequence, %7d counted; %.2f MiB of records\n", b, c.writes[b], tapped.writes[b].n, mib(c.live[b]))
	}
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
