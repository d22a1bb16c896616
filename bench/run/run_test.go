package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The whole benchmark, shortened: programs build, nginx takes its configuration,
// every event of every scenario arrives.
func TestQuickRunThroughNginx(t *testing.T) {
	var out strings.Builder
	o := options{quick: true, targets: "direct,nginx", buffer: "16k", out: &out, news: io.Discard}
	if err := o.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"burst: ", "flush: ", "paced: ", "grouped: ", "short: ", "4 clients x 2 runs x 20 events", "nginx", "direct", "with 20 streams open"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestCPUTimeAgreesWithTheKernelsAccounts(t *testing.T) {
	used := func() time.Duration {
		var r unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
			t.Fatal(err)
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	least := used()
	for n := 0; used()-least < 30*time.Millisecond; n++ {
	}
	got, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	// rusage rounds to microseconds and lags behind by up to a tick.
	if most := used(); got < least+30*time.Millisecond-time.Microsecond || got > most+time.Second {
		t.Fatalf("%s, rusage says between %s and %s", got, least+30*time.Millisecond, most)
	}
}

func TestFamilyHasTheChildren(t *testing.T) {
	sh := exec.Command("sh", "-c", "exec 3<&0; cat <&3 & echo up; wait")
	in, err := sh.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := sh.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	pids, err := family(sh.Process.Pid)
	if err != nil || len(pids) != 2 || pids[0] != sh.Process.Pid {
		t.Fatalf("%v, %v", pids, err)
	}
	if bytes, err := resident(sh.Process.Pid); err != nil || bytes <= 0 {
		t.Fatalf("%d, %v", bytes, err)
	}
	in.Close()
	if err := sh.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		format string
		want   string
	}{
		{nil, "%.1f", ""},
		{[]float64{2.5}, "%.1f us", "2.5 us"},
		{[]float64{3, 1, 2}, "%.0f us", "2 (1–3) us"},
		{[]float64{4, 1, 2, 3}, "%.1f", "2.5 (1.0–4.0)"},
	} {
		before := slices.Clone(c.values)
		if got := formatSpread(c.values, c.format); got != c.want || !slices.Equal(before, c.values) {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}
