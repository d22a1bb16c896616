package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/gateway/transcript"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
)

// lease is how long a run holds its thread against other replicas without a sign
// of life; a third of it passes between two signs. Tests shorten it.
var lease = 30 * time.Second

// threadRecord is one thread in the store: who owns it, what runs on it, where
// its unfinished rounds and its messages are. It changes by compare-and-set only,
// and its size does not grow with the conversation.
type threadRecord struct {
	Tenant  string     `json:"tenant"`
	Owner   string     `json:"owner"`
	Agent   string     `json:"agent"`
	ID      string     `json:"id"`
	Born    string     `json:"born"` // of this incarnation: an id that was deleted begins anew
	Created time.Time  `json:"created"`
	Active  time.Time  `json:"active"`
	Run     *activeRun `json:"run,omitempty"`
	Queue   []waiter   `json:"queue,omitempty"`  // runs that wait for the thread, first one first
	Past    []pastRun  `json:"past,omitempty"`   // runs that ended lately [RUN-13]
	Rounds  []roundRef `json:"rounds,omitempty"` // rounds with something left to do, oldest first

	Interrupts []interrupt `json:"interrupts,omitempty"` // that wait for their answer
	Asked      string      `json:"asked,omitempty"`      // key of the run that ended with them
	Claimed    []string    `json:"claimed,omitempty"`    // that were answered, newest last

	Page   string             `json:"page,omitempty"` // newest closed page of the transcript
	Tail   []transcript.Entry `json:"tail,omitempty"` // entries behind it
	Hidden transcript.Set     `json:"hidden,omitempty"`
	Views  []transcript.View  `json:"views,omitempty"`
	// Unlogged is when something last happened that the event log did not get: nobody
	// was watching.
	Unlogged time.Time `json:"unlogged,omitzero"`
	// Deleting says that the thread is being deleted: it is there for nobody any more.
	Deleting bool   `json:"deleting,omitempty"`
	Writer   string `json:"writer"` // of this version; tells own writes from others'
}

// activeRun is the run that has taken the thread.
type activeRun struct {
	ID     string   `json:"id"`
	Round  string   `json:"round"`  // the run's own key, and that of the round it would open
	Holder string   `json:"holder"` // the gateway process that moves it
	Digest []byte   `json:"digest,omitempty"`
	Claims []string `json:"claims,omitempty"` // interrupts it brings the answers of
	// Open are the interrupts the thread had when they were claimed: they are open again
	// if the run fails or dies.
	Open []interrupt `json:"open,omitempty"`
	// Continues is the round that a run of the gateway's own brings to the agent.
	Continues string    `json:"continues,omitempty"`
	Started   time.Time `json:"started"`
	Lease     time.Time `json:"lease"`
}

// roundRef leads from a thread to a round with something left to do.
type roundRef struct {
	Key string `json:"key"`
	Run string `json:"run"`
}

// thread is a loaded record. revision 0 means it is not in the store yet.
type thread struct {
	key      string
	revision uint64
	threadRecord
}

// threadKey is where a thread lives. With scope subject every principal has its
// own name space (threads.scope).
func (g *Gateway) threadKey(p principal.Principal, agent, id string) string {
	if g.conf.Threads.Scope == "subject" {
		return store.Key(p.Tenant, "subject", p.Subject, agent, id)
	}
	return store.Key(p.Tenant, "tenant", agent, id)
}

// loadThread gives the thread if the caller may see it. One that does not exist
// comes back with revision 0 and the caller as its owner to be. Somebody else's
// is thread_not_found [OWN-1].
func (g *Gateway) loadThread(ctx context.Context, p principal.Principal, agent, id string) (*thread, error) {
	t := &thread{key: g.threadKey(p, agent, id)}
	rec, err := g.store.Get(ctx, store.Threads, t.key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		now := g.now()
		t.threadRecord = threadRecord{Tenant: p.Tenant, Owner: p.Subject, Agent: agent, ID: id, Born: newID(), Created: now, Active: now}
		return t, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(rec.Value, &t.threadRecord); err != nil {
		return nil, fault.New(fault.StoreUnavailable, "the record of this thread cannot be read").Because(err)
	}
	t.revision = rec.Revision
	if t.Deleting || !p.Owns(t.Tenant, t.Owner) {
		return nil, noThread()
	}
	return t, nil
}

func noThread() *fault.Error { return fault.New(fault.ThreadNotFound, "there is no such thread") }

// busy reports a run that still holds the thread. A holder that cannot be alive
// any more does not count: with an embedded store every other process is gone,
// with a shared one its lease runs out.
func (g *Gateway) busy(r *activeRun) bool {
	if r == nil {
		return false
	}
	if r.Holder == g.instance {
		return g.active.has(r.Round)
	}
	return !g.store.Exclusive() && g.now().Before(r.Lease)
}

// take makes r the thread's active run and enters what change says. A run that is
// active already, or one that waits longer, is thread_busy; a record that has
// changed since it was read is the store's conflict.
func (g *Gateway) take(ctx context.Context, t *thread, r activeRun, change func(*threadRecord)) error {
	if t.Deleting {
		return noThread()
	}
	if g.busy(t.Run) || g.behind(t, r.Round) {
		return g.busyFault()
	}
	next := t.threadRecord
	next.Rounds = slices.Clone(next.Rounds)
	next.Queue = slices.DeleteFunc(slices.Clone(next.Queue), func(w waiter) bool { return w.Key == r.Round })
	next.Run, next.Active, next.Writer = &r, g.now(), newID()
	change(&next)
	return g.writeThread(ctx, t, next)
}

func (g *Gateway) busyFault() *fault.Error {
	return fault.New(fault.ThreadBusy, "another run is active on this thread: wait for its end, or cancel it")
}

// give ends the active run on the thread: what change enters is kept. It is tried
// again until the store takes it or ctx ends, since a thread that is not given
// back stays busy.
func (g *Gateway) give(ctx context.Context, t *thread, r *activeRun, change func(*threadRecord)) error {
	for {
		next := t.threadRecord
		next.Rounds = slices.Clone(next.Rounds)
		next.Run, next.Active, next.Writer = nil, g.now(), newID()
		if change != nil {
			change(&next)
		}
		err := g.writeThread(ctx, t, next)
		if err == nil && len(next.Queue) > 0 {
			g.wakeThread(ctx, t.key)
		}
		if err == nil || !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := g.reload(ctx, t); err != nil {
			return err
		}
		if t.Run == nil || t.Run.Round != r.Round {
			return nil // somebody else has taken over
		}
	}
}

// reload reads the record again.
func (g *Gateway) reload(ctx context.Context, t *thread) error {
	rec, err := g.store.Get(ctx, store.Threads, t.key)
	if err != nil {
		return err
	}
	t.threadRecord, t.revision = threadRecord{}, rec.Revision
	return json.Unmarshal(rec.Value, &t.threadRecord)
}

// changeThread applies one change to a thread's record by compare-and-set. change
// may be called several times; errUnchanged leaves the record alone.
func (g *Gateway) changeThread(ctx context.Context, t *thread, change func(*threadRecord) error) error {
	ctx = context.WithoutCancel(ctx)
	for {
		next := t.threadRecord
		next.Queue = slices.Clone(next.Queue)
		if err := change(&next); err != nil {
			if errors.Is(err, errUnchanged) {
				return nil
			}
			return err
		}
		next.Writer = newID()
		err := g.writeThread(ctx, t, next)
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrExists) {
			return err
		}
		if err := g.reload(ctx, t); err != nil {
			return err
		}
	}
}

// writeThread stores next over t and makes t it.
func (g *Gateway) writeThread(ctx context.Context, t *thread, next threadRecord) error {
	ctx = context.WithoutCancel(ctx) // what is written is known to be written
	value, err := encode(next)
	if err != nil {
		return err
	}
	var revision uint64
	if t.revision == 0 {
		revision, err = g.store.Create(ctx, store.Threads, t.key, value)
	} else {
		revision, err = g.store.Update(ctx, store.Threads, t.key, value, t.revision)
	}
	if err != nil {
		return err
	}
	t.threadRecord, t.revision = next, revision
	return nil
}

// findThread resolves a thread a caller named without, or with, its agent. With
// several agents using the id the caller has to say which (contract §6).
func (g *Gateway) findThread(ctx context.Context, p principal.Principal, id, agent string) (*thread, error) {
	if err := checkThreadID(id); err != nil {
		return nil, err
	}
	var found []*thread
	for _, a := range g.agents {
		if agent != "" && a.name != agent || !a.allows(p) {
			continue
		}
		t, err := g.loadThread(ctx, p, a.name, id)
		if fault.CodeOf(err) == fault.ThreadNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		if t.revision != 0 {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return nil, noThread()
	case 1:
		return found[0], nil
	}
	names := ""
	for i, t := range found {
		if i > 0 {
			names += ", "
		}
		names += t.Agent
	}
	return nil, fault.New(fault.InvalidRequest, "several agents use this thread id; add ?agent= with one of: %s", names).At("agent")
}
