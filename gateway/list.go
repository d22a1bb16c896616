package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/gateway/transcript"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// Bounds of a list: entries of one part, and entries looked at for it.
const (
	pageDefault = 50
	pageMost    = 200
	pageLook    = 2000
)

// A list is kept as keys below its owner, in the order in which it is read: calls
// oldest first, threads newest first. The keys of an operator's list are those of
// the whole tenant, so it is in order for each owner only.
const (
	threadList = "threads"
	callList   = "calls"
)

func listPrefix(list string, p principal.Principal) string {
	if p.Has(principal.Operator) {
		return list + "." + store.Key(p.Tenant)
	}
	return list + "." + store.Key(p.Tenant) + "." + store.Key(p.Subject)
}

func listKey(list, tenant, owner string, order uint64, name string) string {
	return list + "." + store.Key(tenant) + "." + store.Key(owner) + "." + fmt.Sprintf("%016x-%s", order, name)
}

// callEntry is a call's key in its owner's list.
func callEntry(rd *tool.Round, id string, now time.Time) string {
	return listKey(callList, rd.Tenant, rd.Owner, uint64(now.UnixMicro()), id)
}

// threadEntry is a thread's key in its owner's list.
func threadEntry(t *threadRecord) string {
	return listKey(threadList, t.Tenant, t.Owner, math.MaxUint64-uint64(t.Created.UnixMicro()), t.Born)
}

// threadIndex leads from a list to a thread.
type threadIndex struct {
	Key string `json:"key"`
}

// listThread enters a new thread in its owner's list, before the thread itself is
// written: an entry without its thread is passed over.
func (g *Gateway) listThread(ctx context.Context, t *thread) error {
	value, err := encode(threadIndex{Key: t.key})
	if err != nil {
		return err
	}
	_, err = g.store.Create(ctx, store.Index, threadEntry(&t.threadRecord), value)
	if errors.Is(err, store.ErrExists) {
		return nil
	}
	return err
}

// walk gives the keys of a list behind a cursor.
func (g *Gateway) walk(ctx context.Context, list string, p principal.Principal, c frontend.Cursor) ([]string, error) {
	prefix := listPrefix(list, p)
	if c != "" && !strings.HasPrefix(string(c), prefix+".") {
		return nil, fault.New(fault.InvalidRequest, "this cursor is not of this list").At("cursor")
	}
	keys, err := g.store.Keys(ctx, store.Index, prefix)
	if err != nil && !errors.Is(err, store.ErrTooMany) {
		return nil, err
	}
	from, found := slices.BinarySearch(keys, string(c))
	if found {
		from++
	}
	return keys[from:], nil
}

func limited(n int) int {
	if n <= 0 {
		return pageDefault
	}
	return min(n, pageMost)
}

// part hands keys to take until it has taken as many as one part of a list has, or
// has looked long enough; it gives the cursor of the next part.
func part(keys []string, limit int, take func(key string) (bool, error)) (frontend.Cursor, error) {
	taken := 0
	for i, key := range keys {
		if taken >= limited(limit) || i >= pageLook {
			return frontend.Cursor(keys[i-1]), nil
		}
		ok, err := take(key)
		if err != nil {
			return "", err
		}
		if ok {
			taken++
		}
	}
	return "", nil
}

// AllInvocations lists the caller's calls over all its threads, oldest first.
func (g *Gateway) AllInvocations(ctx context.Context, p principal.Principal, q frontend.InvocationQuery) ([]*tool.Invocation, frontend.Cursor, error) {
	keys, err := g.walk(ctx, callList, p, q.Cursor)
	if err != nil {
		return nil, "", err
	}
	out := []*tool.Invocation{}
	next, err := part(keys, q.Limit, func(key string) (bool, error) {
		_, id, _ := strings.Cut(key[strings.LastIndexByte(key, '.'):], "-")
		rd, err := g.findRound(ctx, p, id)
		if fault.CodeOf(err) == fault.InvocationNotFound {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		inv := invocationOf(rd, id)
		if inv == nil || q.State != "" && inv.State != q.State || q.Tool != "" && inv.Tool != q.Tool {
			return false, nil
		}
		out = append(out, inv)
		return true, nil
	})
	return out, next, err
}

// Threads lists the caller's threads, newest first.
func (g *Gateway) Threads(ctx context.Context, p principal.Principal, agent string, page frontend.Page) ([]frontend.Thread, frontend.Cursor, error) {
	if agent != "" {
		if _, err := g.agentFor(p, agent); err != nil {
			return nil, "", err
		}
	}
	keys, err := g.walk(ctx, threadList, p, page.Cursor)
	if err != nil {
		return nil, "", err
	}
	out := []frontend.Thread{}
	next, err := part(keys, page.Limit, func(key string) (bool, error) {
		t, err := g.listed(ctx, p, key)
		if t == nil || err != nil || agent != "" && t.Agent != agent {
			return false, err
		}
		if a := g.byName[t.Agent]; a == nil || !a.allows(p) {
			return false, nil
		}
		one, _, err := g.describe(ctx, t)
		if err != nil {
			return false, err
		}
		out = append(out, *one)
		return true, nil
	})
	return out, next, err
}

// listed loads the thread a list's entry leads to; nil if it is gone.
func (g *Gateway) listed(ctx context.Context, p principal.Principal, key string) (*thread, error) {
	rec, err := g.store.Get(ctx, store.Index, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ix threadIndex
	if err := json.Unmarshal(rec.Value, &ix); err != nil {
		return nil, nil
	}
	t := &thread{key: ix.Key}
	err = g.reload(ctx, t)
	if errors.Is(err, store.ErrNotFound) || err == nil && (t.Deleting || threadEntry(&t.threadRecord) != key || !p.Owns(t.Tenant, t.Owner)) {
		return nil, nil
	}
	return t, err
}

// describe says what a thread is doing, and loads its rounds.
func (g *Gateway) describe(ctx context.Context, t *thread) (*frontend.Thread, []*tool.Round, error) {
	out := &frontend.Thread{ID: t.ID, Agent: t.Agent, Status: frontend.Idle, Created: t.Created, Active: t.Active}
	var keys []string
	for _, ref := range t.Rounds {
		keys = append(keys, ref.Key)
	}
	if t.Run != nil && !slices.Contains(keys, t.Run.Round) {
		keys = append(keys, t.Run.Round)
	}
	rounds, err := g.loadRounds(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	if slices.ContainsFunc(rounds, func(rd *tool.Round) bool { return !rd.Done() }) {
		out.Status = frontend.Waiting
	}
	if g.busy(t.Run) {
		out.Status, out.Run = frontend.Running, t.Run.ID
	}
	return out, rounds, nil
}

// Thread reads one thread (contract §6).
func (g *Gateway) Thread(ctx context.Context, p principal.Principal, ref frontend.ThreadRef) (*frontend.Thread, error) {
	t, err := g.findThread(ctx, p, ref.Thread, ref.Agent)
	if err != nil {
		return nil, err
	}
	out, _, err := g.describe(ctx, t)
	if err != nil {
		return nil, err
	}
	rounds, err := g.roundsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, rd := range rounds {
		for i := range rd.Invocations {
			out.Invocations = append(out.Invocations, &rd.Invocations[i])
		}
	}
	out.Messages, err = g.visible(ctx, t)
	return out, err
}

// visible gives the messages of a thread that are not hidden, each settled call
// with its result behind it [HIST-1]. Where no history is kept there are none.
func (g *Gateway) visible(ctx context.Context, t *thread) ([]agui.Message, error) {
	if a := g.byName[t.Agent]; a != nil && a.conf.History == "none" {
		return nil, nil
	}
	h, err := g.loadHistory(ctx, t)
	if err != nil {
		return nil, err
	}
	if _, err := g.exhume(ctx, t, h); err != nil {
		return nil, err
	}
	var places []int
	for at := range h.index.Len() {
		if !t.Hidden.Has(at) {
			places = append(places, at)
		}
	}
	msgs, err := g.messages(ctx, h, places)
	if err != nil {
		return nil, err
	}
	rounds, err := g.roundsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	led := newLedger(rounds)
	out := make([]agui.Message, 0, len(msgs))
	for _, m := range msgs {
		out = append(out, m)
		for _, c := range m.ToolCalls {
			_, inv := led.call(c.ID)
			if _, answered := h.index.Answer(c.ID); !answered && inv != nil && inv.State == tool.Settled {
				out = append(out, recordedResult("gw-"+c.ID, inv))
			}
		}
	}
	return out, nil
}

// roundsOf loads a thread's rounds, oldest first, the active run's included.
func (g *Gateway) roundsOf(ctx context.Context, t *thread) ([]*tool.Round, error) {
	h, err := g.loadHistory(ctx, t)
	if err != nil {
		return nil, err
	}
	return g.loadRounds(ctx, roundKeys(t, h.index))
}

func roundKeys(t *thread, x *transcript.Index) (keys []string) {
	seen := map[string]bool{}
	add := func(key string) {
		if key != "" && !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	for at := range x.Len() {
		add(x.At(at).Round)
	}
	for _, ref := range t.Rounds {
		add(ref.Key)
	}
	if t.Run != nil {
		add(t.Run.Round)
	}
	return keys
}
