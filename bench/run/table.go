package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// table collects the samples of all rounds: scenario, then target.
type table map[string]map[string][]sample

func (t table) add(s scenario, to string, one sample) {
	if t[s.name] == nil {
		t[s.name] = map[string][]sample{}
	}
	t[s.name][to] = append(t[s.name][to], one)
}

// print writes medians with the least and the greatest value behind them.
func (t table) print(w io.Writer, all []scenario, targets []string) error {
	for _, s := range all {
		fmt.Fprintf(w, "\n%s: %s; %d clients x %d runs x %d events\n", s.name, s.what, s.clients, s.runs, s.spec.Total())
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tw, "\tevents/s\tCPU us/event\tCPU us/run\tCPU / nginx\tdelay p50\tp99\t")
		for _, name := range targets {
			fmt.Fprintln(tw, t.row(s, name))
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (t table) row(s scenario, name string) string {
	samples := t[s.name][name]
	cells := []string{name, spread(samples, "%.0f", sample.eventsPerSecond)}
	if name == "direct" {
		cells = append(cells, "", "", "") // the generator's processor time compares with nothing
	} else {
		cells = append(cells, spread(samples, "%.2f", sample.cpuPerEvent), spread(samples, "%.0f", sample.cpuPerRun), t.ratio(s, name))
	}
	if s.spec.Pause > 0 {
		cells = append(cells,
			spread(samples, "%.0f us", func(s sample) float64 { return micros(s.P50) }),
			spread(samples, "%.0f us", func(s sample) float64 { return micros(s.P99) }))
	} else {
		cells = append(cells, "", "")
	}
	return strings.Join(cells, "\t") + "\t"
}

// ratio divides by nginx's processor time of the same round, so that a
// neighbour's noise that lasts longer than a round cancels out.
func (t table) ratio(s scenario, name string) string {
	own, other := t[s.name][name], t[s.name]["nginx"]
	if len(other) != len(own) {
		return ""
	}
	ratios := make([]float64, len(own))
	for i := range own {
		ratios[i] = own[i].cpuPerEvent() / other[i].cpuPerEvent()
	}
	return formatSpread(ratios, "%.2f")
}

func spread(samples []sample, format string, of func(sample) float64) string {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return formatSpread(values, format)
}

// formatSpread writes "median (least–greatest)".
func formatSpread(values []float64, format string) string {
	if len(values) == 0 {
		return ""
	}
	number, unit, _ := strings.Cut(format, " ")
	if unit != "" {
		unit = " " + unit
	}
	if len(values) == 1 {
		return fmt.Sprintf(format, values[0])
	}
	return fmt.Sprintf(number+" ("+number+"–"+number+")", median(values), slices.Min(values), slices.Max(values)) + unit
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func printMemory(w io.Writer, s scenario, name string, m memory) {
	fmt.Fprintf(w, "  %-9s %7.1f MiB before, %7.1f MiB with %d streams open: %.1f KiB a stream (held %s)\n",
		name, mebi(m.before), mebi(m.during), m.streams, m.perStream(), s.spec.Hold)
}

func mebi(n int64) float64 { return float64(n) / (1 << 20) }
