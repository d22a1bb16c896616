package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// deletion leads to a thread that is being deleted. It is on the agenda before anything
// goes, so that a crash in between leaves nothing behind.
type deletion struct {
	Entry string `json:"entry"` // in its owner's list
	Key   string `json:"key"`   // of its record
}

// DeleteThread removes a thread: its messages, calls, state and events [DATA-2].
// What runs on it, or waits for it, is stopped. The id then starts a new thread.
func (g *Gateway) DeleteThread(ctx context.Context, p principal.Principal, ref frontend.ThreadRef) error {
	ctx = context.WithoutCancel(ctx)
	t, err := g.findThread(ctx, p, ref.Thread, ref.Agent)
	if err != nil {
		return err
	}
	if err := g.putDeletion(ctx, t); err != nil {
		return err
	}
	born := t.Born
	err = g.changeThread(ctx, t, func(rec *threadRecord) error { // from here on nothing begins on it
		if rec.Deleting || rec.Born != born {
			return noThread()
		}
		rec.Deleting, rec.Queue = true, nil
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return noThread()
	}
	if err != nil {
		return err
	}
	g.wakeThread(ctx, t.key)
	if g.busy(t.Run) {
		if _, err := g.stopRun(ctx, t, ""); err != nil {
			return err
		}
	}
	g.log.Info("thread deleted", "thread", t.ID, "agent", t.Agent, "tenant", t.Tenant, "key", p.Key)
	return g.finishDelete(ctx, t.space())
}

// putDeletion puts a thread's deletion on the agenda.
func (g *Gateway) putDeletion(ctx context.Context, t *thread) error {
	value, err := encode(deletion{Entry: threadEntry(&t.threadRecord), Key: t.key})
	if err != nil {
		return err
	}
	return g.put(ctx, store.Due, "del-"+t.space(), value)
}

// finishDelete removes a thread that is being deleted, with all that belongs to it. It
// can be cut off anywhere and done again.
func (g *Gateway) finishDelete(ctx context.Context, space string) error {
	rec, err := g.store.Get(ctx, store.Due, "del-"+space)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var d deletion
	if err := json.Unmarshal(rec.Value, &d); err != nil {
		return err
	}
	t := &thread{key: d.Key}
	switch err := g.reload(ctx, t); {
	case err == nil && t.space() == space && !t.Deleting:
		return g.drop(ctx, store.Due, "del-"+space) // it did not come to that
	case err == nil && t.space() == space:
		if err := g.removeRecord(ctx, t); err != nil {
			return err
		}
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	}
	g.pages.Remove(space)
	return errors.Join(
		g.store.Purge(ctx, store.Messages, space),
		g.drop(ctx, store.State, space),
		g.store.DropLog(ctx, space),
		g.drop(ctx, store.Index, d.Entry),
		g.drop(ctx, store.Due, "del-"+space),
	)
}

// removeRecord removes a thread's rounds and then its record, which leads to them. A
// record that was written meanwhile, by a run that ended, is read again.
func (g *Gateway) removeRecord(ctx context.Context, t *thread) error {
	for {
		h, err := g.loadHistory(ctx, t)
		if err != nil {
			return err
		}
		for _, key := range roundKeys(t, h.index) {
			if err := g.removeRound(ctx, key); err != nil {
				return err
			}
		}
		err = g.store.Delete(ctx, store.Threads, t.key, t.revision)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := g.reload(ctx, t); err != nil {
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			return err
		}
	}
}

// removeRound removes a round with its calls. Who waits for one of them learns that
// it is cancelled.
func (g *Gateway) removeRound(ctx context.Context, key string) error {
	g.finished.Remove(key)
	rd, err := g.changeRound(ctx, key, nil, func(rd *tool.Round) error {
		rd.Duty = nil
		if len(rd.CancelOpen(reasonDeleted, g.now())) == 0 {
			return errUnchanged
		}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range rd.Invocations {
		inv := &rd.Invocations[i]
		if err := errors.Join(g.drop(ctx, store.Index, inv.ID),
			g.drop(ctx, store.Index, callEntry(rd, inv.ID, inv.Listed))); err != nil {
			return err
		}
	}
	return errors.Join(g.drop(ctx, store.Basis, key), g.drop(ctx, store.Due, key), g.drop(ctx, store.Rounds, key))
}

// retire removes what is older than store.retention says [DATA-1]: threads some
// time after their last activity, ended rounds some time after their end. A thread
// with an open call stays. Every replica does this, one after the other or at once:
// each removal is a compare-and-set.
func (g *Gateway) retire() {
	ctx, cancel := context.WithTimeout(context.Background(), retireWait/2)
	defer cancel()
	keep := g.conf.Store.Retention
	spaces := map[string]bool{} // of threads that are there
	g.eachKey(ctx, store.Threads, func(key string) error {
		t := &thread{key: key}
		if err := g.reload(ctx, t); err != nil {
			return err
		}
		spaces[t.space()] = true
		if keep.Threads == 0 {
			return nil
		}
		return g.retireThread(ctx, t, g.now().Add(-keep.Threads))
	})
	g.purgeOrphans(ctx, spaces)
	if keep.Settled > 0 {
		g.eachKey(ctx, store.Rounds, func(key string) error { return g.retireRound(ctx, key, g.now().Add(-keep.Settled)) })
	}
}

func (g *Gateway) eachKey(ctx context.Context, b store.Bucket, look func(key string) error) {
	keys, err := g.store.Keys(ctx, b, "")
	if err != nil && !errors.Is(err, store.ErrTooMany) {
		g.log.Warn("old records could not be listed", "bucket", b.String(), "error", err)
		return
	}
	for _, key := range keys {
		select {
		case <-g.closing:
			return
		default:
		}
		err := look(key)
		if ctx.Err() != nil {
			return // the rest is for the next time
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
			g.log.Warn("an old record could not be removed", "bucket", b.String(), "error", err)
		}
	}
}

// purgeOrphans removes pages of threads that are not there: a run that ended late, or
// one that lost its thread, may have left some. A page is there before its thread's
// record, so only what had no thread an hour ago goes.
func (g *Gateway) purgeOrphans(ctx context.Context, living map[string]bool) {
	orphans := map[string]bool{}
	g.eachKey(ctx, store.Messages, func(key string) error {
		if space, _, _ := strings.Cut(key, "."); !living[space] {
			orphans[space] = true
		}
		return nil
	})
	if ctx.Err() != nil {
		return // not all was seen
	}
	for space := range orphans {
		if !g.orphans[space] {
			continue
		}
		if err := g.store.Purge(ctx, store.Messages, space); err != nil {
			g.log.Warn("messages without a thread could not be removed", "error", err)
		}
	}
	g.orphans = orphans
}

func (g *Gateway) retireThread(ctx context.Context, t *thread, before time.Time) error {
	if !t.Active.Before(before) || g.busy(t.Run) {
		return nil
	}
	_, rounds, err := g.describe(ctx, t)
	if err != nil {
		return err
	}
	for _, rd := range rounds {
		if !rd.Done() || awaits(rd) {
			return nil
		}
	}
	if err := g.putDeletion(ctx, t); err != nil {
		return err
	}
	next := t.threadRecord
	next.Deleting, next.Writer = true, newID()
	if err := g.writeThread(ctx, t, next); err != nil {
		return err // it is used again; the sweep takes the deletion off the agenda
	}
	return g.finishDelete(ctx, t.space())
}

func (g *Gateway) retireRound(ctx context.Context, key string, before time.Time) error {
	rd, err := g.loadRound(ctx, key)
	if err != nil {
		return err
	}
	if !rd.Done() || awaits(rd) || !rd.Updated.Before(before) {
		return nil
	}
	return g.removeRound(ctx, key)
}
