package gateway

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// Times of the work that no request asks for.
const (
	tendEvery  = 10 * time.Second
	retireWait = time.Hour        // between two looks for what is too old to keep [DATA-1]
	dueGrace   = 15 * time.Second // how long a client's run may take to begin before the gateway does
)

// duties are the rounds this process is about to continue.
type duties struct {
	mu   sync.Mutex
	keys map[string]chan struct{}
}

// begin reports whether the round is the caller's to continue. It wakes whoever
// waits to do so already.
func (d *duties) begin(key string) (wake chan struct{}, mine bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys == nil {
		d.keys = map[string]chan struct{}{}
	}
	if wake = d.keys[key]; wake != nil {
		select {
		case wake <- struct{}{}:
		default:
		}
		return wake, false
	}
	wake = make(chan struct{}, 1)
	d.keys[key] = wake
	return wake, true
}

func (d *duties) end(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.keys, key)
}

// Start begins the work in the background: what other replicas ask for, rounds
// that wait to be continued, data that is too old. Close ends it.
func (g *Gateway) Start(ctx context.Context) error {
	stopStops, err := g.store.Subscribe("stop", g.onStop)
	if err != nil {
		return err
	}
	stopWatch, err := g.store.Subscribe("watch", g.onWatch)
	if err != nil {
		stopStops()
		return err
	}
	stopRead, err := g.store.Subscribe("read", g.onRead)
	if err != nil {
		stopStops()
		stopWatch()
		return err
	}
	g.unsubscribe = func() { stopStops(); stopWatch(); stopRead() }
	g.spawn(g.tend)
	return nil
}

// Close waits for the background's end. The store must still be open.
func (g *Gateway) Close() {
	g.closeOnce.Do(func() {
		g.spawning.Lock()
		close(g.closing)
		g.spawning.Unlock()
		if g.unsubscribe != nil {
			g.unsubscribe()
		}
	})
	g.background.Wait()
}

// spawn runs f in the background, unless the gateway is closing.
func (g *Gateway) spawn(f func()) bool {
	g.spawning.Lock()
	defer g.spawning.Unlock()
	select {
	case <-g.closing:
		return false
	default:
		g.background.Go(f)
		return true
	}
}

// tend looks at once, since another process may have died, and then now and then.
func (g *Gateway) tend() {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	var retired time.Time
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		g.sweep(ctx)
		cancel()
		if now := g.now(); now.Sub(retired) >= retireWait {
			retired = now
			g.spawn(g.retire)
		}
		g.watched.tidy(g.now())
		select {
		case <-tick.C:
		case <-g.closing:
			return
		}
	}
}

// sweep looks at every round whose answers nobody has brought to the agent, and at
// deletions that were not finished.
func (g *Gateway) sweep(ctx context.Context) {
	if g.drain.on.Load() {
		return
	}
	keys, err := g.store.Keys(ctx, store.Due, "")
	if err != nil && !errors.Is(err, store.ErrTooMany) {
		g.log.Warn("rounds that wait to be continued could not be listed", "error", err)
		return
	}
	for _, key := range keys {
		if space, deleted := strings.CutPrefix(key, "del-"); deleted {
			err = g.finishDelete(ctx, space)
		} else {
			err = g.lookAt(ctx, key)
		}
		if err != nil && ctx.Err() == nil {
			g.log.Warn("a round that waits could not be looked at", "round", key, "error", err)
		}
	}
}

// lookAt does what a round on the agenda needs.
func (g *Gateway) lookAt(ctx context.Context, key string) error {
	rounds, err := g.loadRounds(ctx, []string{key}) // deadlines are applied here
	if err != nil {
		return err
	}
	if len(rounds) == 0 {
		return g.drop(ctx, store.Due, key)
	}
	rd := rounds[0]
	if a := g.byName[rd.Agent]; a == nil || a.conf.History == "none" && !awaitsDeadline(rd) {
		return g.drop(ctx, store.Due, key) // its client continues, or nobody can
	}
	switch d := rd.Duty; {
	case d != nil && d.State == tool.DutyNamed && awaits(rd):
		t, err := g.loadThread(ctx, owner(rd), rd.Agent, rd.Thread)
		if err != nil {
			return err
		}
		if !g.alive(t, rd.Key) {
			_, err = g.buryIn(ctx, rd, rd.Key) // which releases it, and makes the duty due
			return err
		}
	case d != nil && d.State == tool.DutyDue && awaits(rd):
		if g.now().Sub(d.Since) >= dueGrace || d.By == tool.ByGateway || g.store.Exclusive() && g.active.of(d.Key) == nil {
			g.continueSoon(key)
		}
	case d != nil && d.State == tool.DutySent:
		t, err := g.loadThread(ctx, owner(rd), rd.Agent, rd.Thread)
		if err != nil {
			return err
		}
		if !g.alive(t, d.Key) {
			_, err = g.buryIn(ctx, rd, d.Key)
			return err
		}
	default:
		if !awaitsDeadline(rd) {
			return g.drop(ctx, store.Due, key)
		}
	}
	return nil
}

func owner(rd *tool.Round) principal.Principal {
	return principal.Principal{Tenant: rd.Tenant, Subject: rd.Owner,
		Roles: []principal.Role{principal.Client, principal.Machine, principal.Operator}}
}

// awaitsDeadline reports an open call that ends by itself at some time.
func awaitsDeadline(rd *tool.Round) bool {
	for _, inv := range rd.OpenCalls() {
		if !inv.Deadline.IsZero() {
			return true
		}
	}
	return false
}

// drop removes a record whatever it says.
func (g *Gateway) drop(ctx context.Context, b store.Bucket, key string) error {
	for {
		rec, err := g.store.Get(ctx, b, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err = g.store.Delete(ctx, b, key, rec.Revision); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// onAgenda puts a round where the sweep finds it, before the write that needs it.
func (g *Gateway) onAgenda(ctx context.Context, key string) error {
	_, err := g.store.Create(ctx, store.Due, key, []byte("{}"))
	if errors.Is(err, store.ErrExists) {
		return nil
	}
	return err
}

// awaits reports a duty that somebody has to see to. A round that is complete
// before its run is over is seen to by that run, as long as it lives.
func awaits(rd *tool.Round) bool {
	d := rd.Duty
	switch {
	case d == nil:
		return false
	case d.State == tool.DutyNamed:
		return !left(d) && !rd.Released && rd.Complete()
	}
	return d.State == tool.DutySent || d.State == tool.DutyDue && !left(d)
}

// left reports a duty that was left to the client, whenever it comes.
func left(d *tool.Duty) bool { return d.By == tool.ByClient && d.Key == "" }
