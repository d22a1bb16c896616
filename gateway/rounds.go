package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"sync"
	"time"

	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// stripes keep writers of one round in this process in line, so that a crowd at
// one call does not spend itself on lost compare-and-sets. The store decides.
type stripes struct {
	seed maphash.Seed
	mu   [64]sync.Mutex
}

func (s *stripes) of(key string) *sync.Mutex {
	return &s.mu[maphash.String(s.seed, key)%uint64(len(s.mu))]
}

func (g *Gateway) loadRound(ctx context.Context, key string) (*tool.Round, error) {
	rd, _, err := g.readRound(ctx, key)
	return rd, err
}

func (g *Gateway) readRound(ctx context.Context, key string) (*tool.Round, uint64, error) {
	rec, err := g.store.Get(ctx, store.Rounds, key)
	if err != nil {
		return nil, 0, err
	}
	rd := new(tool.Round)
	if err := json.Unmarshal(rec.Value, rd); err != nil {
		return nil, 0, fault.New(fault.StoreUnavailable, "the record of this round cannot be read").Because(err)
	}
	return rd, rec.Revision, nil
}

// maxRecord keeps a record below what the store takes, 8 MiB, with room for what
// is added to a round later: a state, a time, a cancellation.
const maxRecord = 7 << 20

// tooMuch says why a result that is small enough alone is refused.
const tooMuch = "the results of this round are too large together"

// fits reports that a round with its answers can still be stored. It is cheap for
// all rounds but the very large.
func fits(rd *tool.Round) bool {
	size := 0
	for i := range rd.Invocations {
		inv := &rd.Invocations[i]
		size += 1024 + len(inv.Arguments)
		if inv.Settlement != nil {
			size += len(inv.Settlement.Content)
		}
	}
	if size < maxRecord/6 { // no character takes more than six bytes in JSON
		return true
	}
	value, err := encode(rd)
	return err == nil && len(value) <= maxRecord
}

// encode writes a record without the escapes that only matter inside HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// loadRounds loads rounds with their deadlines applied; those that are not there,
// because their run opened no call, are left out.
func (g *Gateway) loadRounds(ctx context.Context, keys []string) (out []*tool.Round, err error) {
	for _, key := range keys {
		if rd, ok := g.finished.Get(key); ok {
			out = append(out, rd)
			continue
		}
		rd, err := g.loadRound(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err == nil {
			rd, err = g.expire(ctx, rd)
		}
		if err != nil {
			return nil, err
		}
		g.keepFinished(rd)
		out = append(out, rd)
	}
	return out, nil
}

// finishedRounds is how many rounds that can change no more are kept in memory: a
// long conversation asks for all of its own with every run.
const finishedRounds = 4096

// keepFinished remembers a round that can change no more, unless it is large. Nobody
// may write to it.
func (g *Gateway) keepFinished(rd *tool.Round) {
	if !settledWhole(rd, false) {
		return
	}
	size := 0
	for i := range rd.Invocations {
		inv := &rd.Invocations[i]
		size += 512 + len(inv.Arguments)
		if inv.Settlement != nil {
			size += len(inv.Settlement.Content)
			if inv.Delivery == tool.Held {
				return // to be told yet
			}
		}
	}
	if size <= 16<<10 {
		g.finished.Add(rd.Key, rd)
	}
}

// errUnchanged says that a change found nothing to do.
var errUnchanged = errors.New("unchanged")

// changeRound applies one change by compare-and-set, counts what it ended and wakes
// who waits for it.
// change sees the newest record and may be called several times; what it returns
// as an error is the answer, except errUnchanged. A round that is not there yet
// is made by create, if given.
func (g *Gateway) changeRound(ctx context.Context, key string, create func() *tool.Round, change func(*tool.Round) error) (*tool.Round, error) {
	// A write that is cut off may or may not have happened; a caller that leaves
	// does not make it so.
	ctx = context.WithoutCancel(ctx)
	mu := g.stripes.of(key)
	mu.Lock()
	defer mu.Unlock()
	for {
		rd, revision, err := g.readRound(ctx, key)
		if errors.Is(err, store.ErrNotFound) && create != nil {
			rd, revision, err = create(), 0, nil
		}
		if err != nil {
			return nil, err
		}
		before := rd.Clone()
		err = change(rd)
		if errors.Is(err, errUnchanged) {
			return rd, nil
		}
		if err != nil {
			return nil, err
		}
		if awaits(rd) && !awaits(before) {
			if err := g.onAgenda(ctx, key); err != nil {
				return nil, err
			}
		}
		rd.Writer, rd.Updated = newID(), g.now()
		value, err := encode(rd)
		if err != nil {
			return nil, err
		}
		if revision == 0 {
			_, err = g.store.Create(ctx, store.Rounds, key, value)
		} else {
			_, err = g.store.Update(ctx, store.Rounds, key, value, revision)
		}
		if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExists) {
			continue
		}
		if err != nil {
			return nil, err
		}
		g.metrics.openCalls(rd.Agent, openCount(rd)-openCount(before))
		g.countEnded(before, rd)
		g.wake(ctx, key)
		g.follows(ctx, before, rd)
		return rd, nil
	}
}

// follows does what a change of a round brings about: watchers are told, a round
// that is complete is continued, one that was told is off the agenda.
func (g *Gateway) follows(ctx context.Context, before, after *tool.Round) {
	g.logCalls(ctx, before, after)
	switch {
	case awaits(before) && !awaits(after) && !awaitsDeadline(after):
		if err := g.drop(ctx, store.Due, after.Key); err != nil {
			g.log.Warn("a round that is done could not be taken off the agenda; the sweep does", "round", after.Key, "error", err)
		}
	case awaits(after) && after.Duty.State == tool.DutyDue && after.Duty.By == tool.ByGateway && before.Duty != after.Duty:
		g.continueSoon(after.Key)
	}
}

func openCount(rd *tool.Round) int { return len(rd.OpenCalls()) }

// wake tells every replica that a round changed.
func (g *Gateway) wake(ctx context.Context, key string) {
	if err := g.store.Publish(ctx, "round."+key, nil); err != nil {
		g.log.Warn("a change of a round could not be announced; waiters see it at their next look", "error", err)
	}
}

// expire writes down deadlines that have passed, so that everybody reads the
// same state.
func (g *Gateway) expire(ctx context.Context, rd *tool.Round) (*tool.Round, error) {
	now := g.now()
	late := false
	for _, inv := range rd.OpenCalls() {
		late = late || !inv.Deadline.IsZero() && now.After(inv.Deadline)
	}
	if !late {
		return rd, nil
	}
	return g.changeRound(ctx, rd.Key, nil, func(r *tool.Round) error {
		if !r.Expire(now) {
			return errUnchanged
		}
		return nil
	})
}

func invocationOf(rd *tool.Round, id string) *tool.Invocation {
	for i := range rd.Invocations {
		if rd.Invocations[i].ID == id {
			return &rd.Invocations[i]
		}
	}
	return nil
}

// waitFinal holds until the call is final, the wait is over or ctx ends, and
// gives the call as it then is.
func (g *Gateway) waitFinal(ctx context.Context, p principal.Principal, id string, wait time.Duration) (*tool.Invocation, error) {
	rd, err := g.findRound(ctx, p, id)
	if err != nil {
		return nil, err
	}
	inv := invocationOf(rd, id)
	if inv == nil {
		return nil, noInvocation()
	}
	if wait <= 0 || inv.State != tool.Open {
		return inv, nil
	}
	woken := make(chan struct{}, 1)
	stop, err := g.store.Subscribe("round."+rd.Key, func([]byte) {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	defer stop()
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	// A wake-up can be lost with its replica, so look by yourself now and then.
	look := time.NewTicker(5 * time.Second)
	defer look.Stop()
	for over := false; ; {
		if rd, err = g.findRound(context.WithoutCancel(ctx), p, id); err != nil {
			return nil, err
		}
		if inv = invocationOf(rd, id); inv.State != tool.Open || over {
			return inv, nil
		}
		select {
		case <-woken:
		case <-look.C:
		case <-timeout.C:
			over = true
		case <-ctx.Done():
			over = true
		}
	}
}

// CountOpen sets the gauge of open invocations from the store. It is called
// before the first request, and only a store of one's own is counted: with a
// shared one each replica shows what it has seen.
func (g *Gateway) CountOpen(ctx context.Context) error {
	if !g.store.Exclusive() {
		return nil
	}
	keys, err := g.store.Keys(ctx, store.Rounds, "")
	if errors.Is(err, store.ErrTooMany) {
		g.log.Warn("the gauge of open invocations starts with a part of them", "rounds", len(keys))
	} else if err != nil {
		return err
	}
	for _, key := range keys {
		rd, err := g.loadRound(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if g.byName[rd.Agent] != nil {
			g.metrics.openCalls(rd.Agent, openCount(rd))
		}
	}
	return nil
}
