package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nats-io/nats.go"
)

// size is how much is done.
type size struct{ threads, messages int }

// counted drives one kind through a gateway whose store is the tap, and gives the
// writes and reads of each step.
func counted(ctx context.Context, program, dir string, k kind, s size, news func(step)) (steps []step, err error) {
	a := startAgent()
	defer a.Close()
	t, err := startTap(filepath.Join(dir, "nats"))
	if err != nil {
		return nil, err
	}
	defer t.stop()
	g, err := startGateway(program, dir, "nats: '"+t.server.ClientURL()+"', replicas: 1", a.URL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	return newLoad(k, g, a, tapMeter{t}, s.threads).drive(ctx, s.messages, news)
}

type tapMeter struct{ tap *tap }

func (m tapMeter) read() (usage, error) {
	c, err := m.tap.total()
	return usage{counts: c}, err
}

// cost is what a gateway with the embedded store on disk used.
type cost struct {
	steps    []step
	resident [2]int64         // at the begin and at the end, before any collection by force
	disk     int64            // of its directory after it was stopped
	writes   map[string]int64 // by bucket, from the beginning, its start included
	live     map[string]int64 // bytes of records there are, by bucket
}

// costs drives one kind through a gateway as it is by default, with its own store on
// disk.
func costs(ctx context.Context, program, dir string, k kind, s size, news func(step)) (c cost, err error) {
	a := startAgent()
	defer a.Close()
	data := filepath.Join(dir, "data")
	g, err := startGateway(program, dir, "dir: '"+data+"'", a.URL)
	if err != nil {
		return c, err
	}
	pid := g.cmd.Process.Pid
	running := true
	defer func() {
		if running {
			err = errors.Join(err, g.stop())
		}
	}()
	if c.resident[0], err = resident(pid); err != nil {
		return c, err
	}
	if c.steps, err = newLoad(k, g, a, costMeter(pid), s.threads).drive(ctx, s.messages, news); err != nil {
		return c, err
	}
	if c.resident[1], err = resident(pid); err != nil {
		return c, err
	}
	running = false
	if err = g.stop(); err != nil {
		return c, err
	}
	if c.disk, err = onDisk(data); err != nil {
		return c, err
	}
	return c, c.lookInto(ctx, data)
}

type costMeter int

func (pid costMeter) read() (u usage, err error) {
	if u.cpu, err = cpuTime(int(pid)); err != nil {
		return u, err
	}
	u.disk, err = diskWrites(int(pid))
	return u, err
}

// lookInto reads the streams an embedded store has left: the last sequence of each
// is the number of its writes.
func (c *cost) lookInto(ctx context.Context, dir string) error {
	s, err := server.NewServer(&server.Options{ServerName: "aguigate", DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir})
	if err != nil {
		return err
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	c.writes, c.live = map[string]int64{}, map[string]int64{}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	list := js.ListStreams(ctx)
	for info := range list.Info() {
		name := bucketOf(info.Config.Name)
		c.writes[name], c.live[name] = int64(info.State.LastSeq), int64(info.State.Bytes)
	}
	return list.Err()
}
