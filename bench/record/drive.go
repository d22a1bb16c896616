package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// workers are the clients that are busy at once.
const workers = 4

// kind is one way a conversation goes. Its name is also the agent's name.
type kind struct {
	name, what string
	path       string // of the agent
	messages   int    // that a turn adds to the thread
	runs       int    // of a turn
	turn       func(*load) error
}

// kinds are what is measured.
var kinds = []kind{
	{"text", "plain text: a question, an answer", "/talk", 2, 1, (*load).talk},
	{"client", "a client call, answered by the client's next run", "/ask", 4, 2, (*load).answer},
	{"resolve", "a client call, answered by resolve: the gateway continues", "/ask", 4, 2, (*load).resolve},
}

// meter reads what has been used so far. It is asked while the gateway is at rest.
type meter interface {
	read() (usage, error)
}

// usage is what a gateway and its store have used; which fields are filled depends
// on the meter.
type usage struct {
	counts
	cpu  time.Duration
	disk int64
}

// step is one turn of every thread.
type step struct {
	messages int // of each thread when it was over
	runs     int
	used     usage
}

// load drives all threads of one kind through one gateway.
type load struct {
	kind    kind
	gateway *gateway
	agent   *agent
	meter   meter
	clients []*client
	ended   int   // runs the gateway must have ended so far
	used    usage // in the step that is under way
}

func newLoad(k kind, g *gateway, a *agent, m meter, threads int) *load {
	l := &load{kind: k, gateway: g, agent: a, meter: m}
	conns := newHTTP()
	for n := range threads {
		l.clients = append(l.clients, &client{url: g.url, kind: k, number: n, of: threads, thread: fmt.Sprintf("%s-%d", k.name, n), http: conns})
	}
	return l
}

// drive goes on until every thread has that many messages.
func (l *load) drive(ctx context.Context, messages int, news func(step)) (steps []step, err error) {
	for at := l.kind.messages; at <= messages; at += l.kind.messages {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l.used = usage{counts: counts{map[string]traffic{}, map[string]traffic{}}}
		if err := l.kind.turn(l); err != nil {
			return nil, err
		}
		s := step{messages: at, runs: l.kind.runs * len(l.clients), used: l.used}
		if err := l.whole(at); err != nil {
			return nil, err
		}
		steps = append(steps, s)
		news(s)
	}
	return steps, nil
}

// whole checks that the agent was told everything there was before its answer.
func (l *load) whole(messages int) error {
	for _, c := range l.clients {
		if n := l.agent.lastRead(c.thread); n != messages-1 {
			return fmt.Errorf("thread %s: the agent read %d messages, want %d", c.thread, n, messages-1)
		}
	}
	return nil
}

func (l *load) talk() error { return l.measured(1, (*client).ask) }

func (l *load) answer() error {
	return l.measured(2, func(c *client) error {
		if err := c.ask(); err != nil {
			return err
		}
		return c.tell()
	})
}

// resolve finds the call's id without measuring it: whoever resolves calls learned
// of them in some way of his own.
func (l *load) resolve() error {
	if err := l.measured(1, (*client).ask); err != nil {
		return err
	}
	ids := make([]string, len(l.clients))
	err := l.each(func(n int, c *client) (err error) {
		ids[n], err = c.openCall()
		return err
	})
	if err != nil {
		return err
	}
	return l.measured(1, func(c *client) error { return c.resolve(ids[c.number]) })
}

// measured does something with every client, waits until the runs it makes have
// ended and enters what that used.
func (l *load) measured(runs int, do func(*client) error) error {
	before, err := l.meter.read()
	if err != nil {
		return err
	}
	if err := l.each(func(_ int, c *client) error { return do(c) }); err != nil {
		return err
	}
	l.ended += runs * len(l.clients)
	if err := l.gateway.settle(l.ended); err != nil {
		return err
	}
	after, err := l.meter.read()
	if err != nil {
		return err
	}
	l.used.add(after.minus(before))
	return nil
}

// each calls do for every client, a few at once.
func (l *load) each(do func(n int, c *client) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		all.Go(func() {
			for errs[w] == nil {
				n := int(next.Add(1)) - 1
				if n >= len(l.clients) {
					return
				}
				errs[w] = do(n, l.clients[n])
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (u *usage) add(v usage) {
	sum := func(a, b map[string]traffic) {
		for k, t := range b {
			a[k] = traffic{a[k].n + t.n, a[k].bytes + t.bytes}
		}
	}
	sum(u.writes, v.writes)
	sum(u.reads, v.reads)
	u.cpu, u.disk = u.cpu+v.cpu, u.disk+v.disk
}

func (u usage) minus(v usage) usage {
	diff := func(a, b map[string]traffic) map[string]traffic {
		out := map[string]traffic{}
		for k, t := range a {
			out[k] = traffic{t.n - b[k].n, t.bytes - b[k].bytes}
		}
		return out
	}
	return usage{counts: counts{diff(u.writes, v.writes), diff(u.reads, v.reads)}, cpu: u.cpu - v.cpu, disk: u.disk - v.disk}
}

// window adds up the steps whose messages are in (from, to].
func window(steps []step, from, to int) (runs int, used usage) {
	used = usage{counts: counts{map[string]traffic{}, map[string]traffic{}}}
	for _, s := range steps {
		if s.messages > from && s.messages <= to {
			runs += s.runs
			used.add(s.used)
		}
	}
	return runs, used
}

// sum is all buckets together.
func sum(m map[string]traffic) (t traffic) {
	for _, one := range m {
		t.n, t.bytes = t.n+one.n, t.bytes+one.bytes
	}
	return t
}

// maxGrowth is how much more a run of the last quarter may use than one of the
// second; what grows with the conversation has more than doubled by then.
const maxGrowth = 1.5

// grown names what a run writes more of in the last quarter of its thread than in
// the second.
func grown(steps []step, messages int) (faults []string) {
	q := messages / 4
	runs, early := window(steps, q, 2*q)
	lateRuns, late := window(steps, 3*q, messages)
	before, after := sum(early.writes), sum(late.writes)
	check := func(what string, before, after int64) {
		b, a := perRun(before, runs), perRun(after, lateRuns)
		if b <= 0 || a > maxGrowth*b {
			faults = append(faults, fmt.Sprintf("%s a run: %.2f in the second quarter, %.2f in the last", what, b, a))
		}
	}
	check("writes", before.n, after.n)
	check("bytes", before.bytes, after.bytes)
	return faults
}
