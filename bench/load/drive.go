package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/aguigate/aguigate/bench/stream"
)

const (
	readBytes = 64 << 10
	// runLimit ends a run that hangs; the longest real one takes seconds.
	runLimit = 2 * time.Minute
)

type plan struct {
	host, path    string
	clients, runs int
	spec          stream.Spec
}

// client is one connection and what came over it.
type client struct {
	plan
	name   string
	conn   net.Conn
	br     *bufio.Reader
	buf    []byte
	opened func()
	events int
	bytes  int64
	delays []time.Duration
}

// drive runs the plan. opened is called once all clients have their first bytes.
// The clock runs from the first request, when all connections are there.
func (p plan) drive(opened func()) (stream.Result, error) {
	clients, err := p.dial()
	defer func() {
		for _, c := range clients {
			if c.conn != nil {
				c.conn.Close()
			}
		}
	}()
	if err != nil {
		return stream.Result{}, err
	}
	var first, all sync.WaitGroup
	first.Add(p.clients)
	errs := make([]error, p.clients)
	start := time.Now()
	for i, c := range clients {
		c.opened = sync.OnceFunc(first.Done)
		all.Go(func() {
			defer c.opened() // also where it failed
			errs[i] = c.run()
		})
	}
	first.Wait()
	opened()
	all.Wait()
	return p.sum(clients, time.Since(start)), errors.Join(errs...)
}

func (p plan) dial() ([]*client, error) {
	var clients []*client
	for i := range p.clients {
		c := &client{plan: p, buf: make([]byte, readBytes), name: fmt.Sprintf("bench-%d-%d-%d", os.Getpid(), time.Now().UnixNano(), i)}
		if err := c.dial(); err != nil {
			return clients, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func (c *client) dial() (err error) {
	if c.conn, err = net.DialTimeout("tcp", c.host, 10*time.Second); err == nil {
		c.br = bufio.NewReaderSize(c.conn, readBytes)
	}
	return err
}

func (p plan) sum(clients []*client, elapsed time.Duration) stream.Result {
	res := stream.Result{Runs: p.clients * p.runs, Elapsed: elapsed}
	var delays []time.Duration
	for _, c := range clients {
		res.Events += c.events
		res.Bytes += c.bytes
		delays = append(delays, c.delays...)
	}
	if n := len(delays); n > 0 {
		slices.Sort(delays)
		res.P50, res.P99 = delays[n/2], delays[n*99/100]
	}
	return res
}

func (c *client) run() error {
	for n := range c.runs {
		// A thread of its own for each run: what is measured is a run, not a
		// conversation that grows.
		id := fmt.Sprintf("%s-%d", c.name, n)
		if err := c.once(stream.Input{ThreadID: id, RunID: id + "-run"}); err != nil {
			return fmt.Errorf("client %s, run %d: %w", c.name, n, err)
		}
	}
	return nil
}

func (c *client) once(in stream.Input) error {
	if err := c.conn.SetDeadline(time.Now().Add(runLimit)); err != nil {
		return err
	}
	body := in.Request()
	req := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
		c.path, c.host, len(body), body)
	if _, err := c.conn.Write(req); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 2<<10))
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	if err := c.read(resp.Body); err != nil || !resp.Close {
		return err
	}
	c.conn.Close() // the server does so too
	return c.dial()
}

func (c *client) read(body io.Reader) error {
	check := stream.NewChecker(c.spec)
	for {
		n, err := body.Read(c.buf)
		if n > 0 {
			c.opened()
			c.bytes += int64(n)
			if err := check.Feed(c.buf[:n], time.Now()); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("after %d events: %w", check.Events(), err)
		}
	}
	c.events += check.Events()
	c.delays = append(c.delays, check.Delays()...)
	return check.Close()
}
