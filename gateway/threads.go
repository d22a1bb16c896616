package gateway

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// Bounds of a thread's record; past them the oldest entries go.
const (
	keptRounds = 64        // closed rounds a thread lists itself
	keptIDs    = 4096      // ids remembered as used [INV-2]
	keptCalls  = 256       // calls of the upstream's own [OWN-3]
	keptBytes  = 256 << 10 // of names in each of these lists
)

// lease is how long a run holds its thread against other replicas without a sign
// of life; a third of it passes between two signs. Tests shorten it.
var lease = 30 * time.Second

// threadRecord is one thread in the store: who owns it, what runs on it, where
// its rounds are, which ids it has used. It changes by compare-and-set only.
type threadRecord struct {
	Tenant  string       `json:"tenant"`
	Owner   string       `json:"owner"`
	Agent   string       `json:"agent"`
	ID      string       `json:"id"`
	Created time.Time    `json:"created"`
	Active  time.Time    `json:"active"`
	Run     *activeRun   `json:"run,omitempty"`
	Rounds  []roundRef   `json:"rounds,omitempty"`  // oldest first
	Trimmed bool         `json:"trimmed,omitempty"` // there were more of them
	Backend []string     `json:"backend,omitempty"` // the upstream's own calls, shown ids, newest last
	Seen    string       `json:"seen,omitempty"`    // used ids, eight bytes each
	Renames []run.Rename `json:"renames,omitempty"`
	Writer  string       `json:"writer"` // of this version; tells own writes from others'
}

// activeRun is the run that has taken the thread.
type activeRun struct {
	ID      string    `json:"id"`
	Round   string    `json:"round"`  // key of the round it would open
	Holder  string    `json:"holder"` // the gateway process that moves it
	Started time.Time `json:"started"`
	Lease   time.Time `json:"lease"`
}

// roundRef leads from a thread to one of its rounds.
type roundRef struct {
	Key   string   `json:"key"`
	Run   string   `json:"run"`
	Calls []string `json:"calls"` // ids as shown to clients
	Open  bool     `json:"open"`  // some call still waits
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
		t.threadRecord = threadRecord{Tenant: p.Tenant, Owner: p.Subject, Agent: agent, ID: id, Created: now, Active: now}
		return t, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(rec.Value, &t.threadRecord); err != nil {
		return nil, fault.New(fault.StoreUnavailable, "the record of this thread cannot be read").Because(err)
	}
	t.revision = rec.Revision
	if !p.Owns(t.Tenant, t.Owner) {
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

// take makes r the thread's active run. A run that is active already is
// thread_busy; a record that has changed since it was read is the store's
// conflict.
func (g *Gateway) take(ctx context.Context, t *thread, r activeRun) error {
	if g.busy(t.Run) {
		return g.busyFault(t)
	}
	next := t.threadRecord
	var err error
	if next.Rounds, err = g.adopt(ctx, next.Run, slices.Clone(next.Rounds)); err != nil {
		return err
	}
	next.Run, next.Active, next.Writer = &r, g.now(), newID()
	return g.writeThread(ctx, t, next)
}

func (g *Gateway) busyFault(t *thread) *fault.Error {
	return fault.New(fault.ThreadBusy, "another run is active on this thread: wait for its end, or cancel it")
}

// adopt keeps the round of a run whose process died: its calls stay answerable.
func (g *Gateway) adopt(ctx context.Context, dead *activeRun, refs []roundRef) ([]roundRef, error) {
	if dead == nil || slices.ContainsFunc(refs, func(r roundRef) bool { return r.Key == dead.Round }) {
		return refs, nil
	}
	rd, err := g.loadRound(ctx, dead.Round)
	if errors.Is(err, store.ErrNotFound) {
		return refs, nil // it opened no call
	}
	if err != nil {
		return nil, err
	}
	return append(refs, refOf(rd)), nil
}

func refOf(rd *tool.Round) roundRef {
	ref := roundRef{Key: rd.Key, Run: rd.Run}
	for i := range rd.Invocations {
		ref.Calls = append(ref.Calls, rd.Invocations[i].ShownID)
		ref.Open = ref.Open || rd.Invocations[i].State == tool.Open
	}
	return ref
}

// give ends the active run on the thread: its round is entered, ids are kept.
// It is tried again until the store takes it or ctx ends, since a thread that is
// not given back stays busy.
func (g *Gateway) give(ctx context.Context, t *thread, r *activeRun, change func(*threadRecord)) error {
	for {
		next := t.threadRecord
		next.Rounds = slices.Clone(next.Rounds)
		next.Run, next.Active, next.Writer = nil, g.now(), newID()
		if change != nil {
			change(&next)
		}
		next.trim()
		err := g.writeThread(ctx, t, next)
		if err == nil || !errors.Is(err, store.ErrConflict) {
			return err
		}
		rec, err := g.store.Get(ctx, store.Threads, t.key)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(rec.Value, &t.threadRecord); err != nil {
			return err
		}
		t.revision = rec.Revision
		if t.Run == nil || t.Run.Round != r.Round {
			return nil // somebody else has taken over
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

// trim drops the oldest closed rounds from the thread's own list. Their calls are
// still found by the index each has.
func (rec *threadRecord) trim() {
	size := 0
	for i := range rec.Rounds {
		size += rec.Rounds[i].size()
	}
	for i := 0; (len(rec.Rounds) > keptRounds || size > keptBytes) && i < len(rec.Rounds); {
		if rec.Rounds[i].Open {
			i++
			continue
		}
		size -= rec.Rounds[i].size()
		rec.Rounds, rec.Trimmed = slices.Delete(rec.Rounds, i, i+1), true
	}
}

func (ref *roundRef) size() int { return len(ref.Run) + bytesOf(ref.Calls) }

func bytesOf(list []string) (n int) {
	for _, s := range list {
		n += len(s)
	}
	return n
}

// names starts the id book of a run.
func (t *thread) names() *run.Names {
	raw, _ := base64.RawStdEncoding.DecodeString(t.Seen)
	seen := make([]uint64, 0, len(raw)/8)
	for ; len(raw) >= 8; raw = raw[8:] {
		seen = append(seen, binary.BigEndian.Uint64(raw))
	}
	return run.NewNames(seen, t.Renames)
}

// keepNames adds a run's ids to the record.
func (rec *threadRecord) keepNames(n *run.Names) {
	raw, _ := base64.RawStdEncoding.DecodeString(rec.Seen)
	for _, h := range n.Fresh() {
		raw = binary.BigEndian.AppendUint64(raw, h)
	}
	if over := len(raw) - 8*keptIDs; over > 0 {
		raw = raw[over:]
	}
	rec.Seen = base64.RawStdEncoding.EncodeToString(raw)
	if n.Renamed() {
		rec.Renames = n.Renames()
		size := 0
		for i := len(rec.Renames) - 1; i >= 0; i-- {
			if size += len(rec.Renames[i].Upstream) + len(rec.Renames[i].Shown); size > keptBytes || len(rec.Renames)-i > keptIDs {
				rec.Renames = rec.Renames[i+1:]
				break
			}
		}
	}
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
