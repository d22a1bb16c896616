// Run is the benchmark: nginx and aguigate in turn on one processor, the
// generator and the load client on another, all on loopback. See bench/README.md.
//
//	run [-rounds 5] [-quick] [-only burst,paced] [-targets direct,nginx,aguigate] [-nginx-buffer 16k]
//
// It ends with an error if one event of one run was lost or changed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

type options struct {
	rounds  int
	quick   bool
	only    string
	targets string
	buffer  string
	out     io.Writer // tables
	news    io.Writer // a line a measurement
}

func main() {
	o := options{out: os.Stdout, news: os.Stderr}
	flag.IntVar(&o.rounds, "rounds", 5, "rounds; the order of the proxies alternates")
	flag.BoolVar(&o.quick, "quick", false, "one short round that shows everything works")
	flag.StringVar(&o.only, "only", "", "scenarios, comma separated (default all, and idle)")
	flag.StringVar(&o.targets, "targets", "direct,nginx,aguigate", "what to measure")
	flag.StringVar(&o.buffer, "nginx-buffer", "16k", "nginx proxy_buffer_size")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	if o.quick {
		o.rounds = 1
	}
	timed, withIdle := o.chosen()
	if o.rounds < 1 || len(timed) == 0 && !withIdle {
		return errors.New("nothing to do")
	}
	b, err := prepare(ctx, append(scenarios(o.quick), idle(o.quick)), o.buffer, strings.Contains(o.targets, "aguigate"))
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if err := b.startGenerator(ctx); err != nil {
		return err
	}
	defer b.generator.proc.stop()
	if err := o.timed(ctx, b, timed); err != nil {
		return err
	}
	if !withIdle {
		return nil
	}
	return o.idle(ctx, b)
}

// chosen is what -only leaves.
func (o options) chosen() (timed []scenario, withIdle bool) {
	names := strings.Split(o.only, ",")
	wanted := func(name string) bool { return o.only == "" || slices.Contains(names, name) }
	for _, s := range scenarios(o.quick) {
		if wanted(s.name) {
			timed = append(timed, s)
		}
	}
	return timed, wanted("idle")
}

func (o options) wants(name string) bool { return slices.Contains(strings.Split(o.targets, ","), name) }

// prepare builds the programs into a directory of their own.
func prepare(ctx context.Context, agents []scenario, buffer string, withAguigate bool) (*bench, error) {
	gomod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, err
	}
	b := &bench{agents: agents, buffer: buffer}
	if b.proxyCore, b.restCore, err = twoCores(); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "aguigate-bench-"); err != nil {
		return nil, err
	}
	programs := []string{"./bench/generator", "./bench/load"}
	if withAguigate {
		programs = append(programs, "./cmd/aguigate")
	}
	build := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-o", b.dir + "/"}, programs...)...)
	build.Dir = filepath.Dir(strings.TrimSpace(string(gomod)))
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("go build: %w\n%s", err, out), os.RemoveAll(b.dir))
	}
	return b, nil
}

// starters are the proxies asked for, nginx first.
func (o options) starters(b *bench) (names []string, start []func(context.Context) (*target, error)) {
	if o.wants("nginx") {
		names, start = append(names, "nginx"), append(start, b.nginx)
	}
	if o.wants("aguigate") {
		names, start = append(names, "aguigate"), append(start, b.aguigate)
	}
	return names, start
}

func (o options) timed(ctx context.Context, b *bench, all []scenario) error {
	if len(all) == 0 {
		return nil
	}
	var targets []*target
	names, start := o.starters(b)
	for _, one := range start {
		t, err := one(ctx)
		if err != nil {
			return err
		}
		defer t.proc.stop()
		targets = append(targets, t)
	}
	if o.wants("direct") {
		names, targets = append(names, "direct"), append(targets, b.generator)
	}
	results, err := o.repeat(ctx, b, all, targets)
	if err != nil {
		return err
	}
	if err := results.print(o.out, all, names); err != nil {
		return err
	}
	for _, t := range targets {
		if t.admin == "" {
			continue
		}
		if err := t.agrees(ctx); err != nil {
			return err
		}
		fmt.Fprintln(o.out, "\naguigate's own count of events is the clients'.")
	}
	return nil
}

// repeat measures everything once a round, every other round in reverse.
func (o options) repeat(ctx context.Context, b *bench, all []scenario, targets []*target) (table, error) {
	results := table{}
	for round := range o.rounds + 1 {
		for _, s := range all {
			if round == 0 {
				s.runs = max(1, s.runs/5)
			}
			for _, t := range targets {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				one, err := b.measure(ctx, t, s)
				if err != nil {
					return nil, err
				}
				if round > 0 { // the first is warm-up
					fmt.Fprintf(o.news, "round %d %-8s %-9s %9.0f events/s %7.2f us/event\n", round, s.name, t.name, one.eventsPerSecond(), one.cpuPerEvent())
					results.add(s, t.name, one)
				}
			}
		}
		slices.Reverse(targets)
	}
	return results, nil
}

func (o options) idle(ctx context.Context, b *bench) error {
	s := idle(o.quick)
	fmt.Fprintf(o.out, "\nidle: %s\n", s.what)
	names, start := o.starters(b)
	for i, one := range start {
		m, err := b.idleMemory(ctx, one, s)
		if err != nil {
			return err
		}
		printMemory(o.out, s, names[i], m)
	}
	return nil
}
