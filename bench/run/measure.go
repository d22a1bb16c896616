package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/aguigate/aguigate/bench/stream"
)

const (
	// settleTime lets a proxy finish what belongs to runs that have ended.
	settleTime = 200 * time.Millisecond
	// idleTime lets idle streams come to rest before their memory is read.
	idleTime = time.Second
)

// sample is one measurement of one target in one scenario.
type sample struct {
	stream.Result
	cpu time.Duration // of the target
}

func (s sample) eventsPerSecond() float64 { return float64(s.Events) / s.Elapsed.Seconds() }
func (s sample) cpuPerEvent() float64     { return micros(s.cpu) / float64(s.Events) }
func (s sample) cpuPerRun() float64       { return micros(s.cpu) / float64(s.Runs) }
func micros(d time.Duration) float64      { return float64(d) / float64(time.Microsecond) }

// measure runs a scenario once. Every event was checked, or it is an error.
func (b *bench) measure(ctx context.Context, t *target, s scenario) (sample, error) {
	before, err := cpuTime(t.proc.pid())
	if err != nil {
		return sample{}, err
	}
	res, err := b.load(ctx, t, s, func() error { return nil })
	if err != nil {
		return sample{}, fmt.Errorf("%s through %s: %w", s.name, t.name, err)
	}
	time.Sleep(settleTime)
	after, err := cpuTime(t.proc.pid())
	if err != nil {
		return sample{}, err
	}
	if want := s.clients * s.runs * s.spec.Total(); res.Events != want {
		return sample{}, fmt.Errorf("%s through %s: %d events of %d", s.name, t.name, res.Events, want)
	}
	t.counted[s.name] += res.Events
	return sample{Result: res, cpu: after - before}, nil
}

// load runs the load client. opened is called once all its clients have their
// first bytes.
func (b *bench) load(ctx context.Context, t *target, s scenario, opened func() error) (res stream.Result, err error) {
	p, err := launch(ctx, b.restCore, b.dir, filepath.Join(b.dir, "load"),
		"-url", "http://"+t.host+t.path(s), "-spec", s.spec.Query(),
		"-clients", strconv.Itoa(s.clients), "-runs", strconv.Itoa(s.runs))
	if err != nil {
		return res, err
	}
	if _, err := p.line(stream.OpenLine); err != nil {
		p.stop()
		return res, err
	}
	atOpen := opened()
	last := ""
	for p.out.Scan() {
		last = p.out.Text()
	}
	if err := errors.Join(p.wait(), atOpen); err != nil {
		return res, err
	}
	return res, json.Unmarshal([]byte(last), &res)
}

// memory is what a proxy holds for each of many idle streams.
type memory struct{ before, during, streams int64 }

func (m memory) perStream() float64 { return float64(m.during-m.before) / float64(m.streams) / 1024 }

// idleMemory opens the idle streams twice at a fresh proxy: a handful first, so
// that what is made once and kept is not counted, then all of them.
func (b *bench) idleMemory(ctx context.Context, start func(context.Context) (*target, error), s scenario) (memory, error) {
	t, err := start(ctx)
	if err != nil {
		return memory{}, err
	}
	defer t.proc.stop()
	m := memory{streams: int64(s.clients)}
	warm := s
	warm.clients = 4
	if _, err := b.measure(ctx, t, warm); err != nil {
		return m, err
	}
	if m.before, err = resident(t.proc.pid()); err != nil {
		return m, err
	}
	_, err = b.load(ctx, t, s, func() error {
		time.Sleep(idleTime)
		m.during, err = resident(t.proc.pid())
		return err
	})
	return m, err
}
