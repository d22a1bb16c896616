package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// indexRecord leads from a public invocation id to its round.
type indexRecord struct {
	Round string `json:"round"`
}

// openCall records one call of a run [INV-1]: under its public id, under its name
// in the thread, and in its round. The indexes are written first: an index without
// its call leads nowhere and harms nobody.
func (g *Gateway) openCall(ctx context.Context, thread string, rd tool.Round, inv tool.Invocation) error {
	index, err := encode(indexRecord{Round: rd.Key})
	if err != nil {
		return err
	}
	if _, err := g.store.Create(ctx, store.Index, inv.ID, index); err != nil {
		return err
	}
	if err := g.indexCall(ctx, callKey(thread, inv.ShownID), index); err != nil {
		return err
	}
	_, err = g.changeRound(ctx, rd.Key,
		func() *tool.Round { fresh := rd; return &fresh },
		func(r *tool.Round) error { return r.Open(inv, g.now()) })
	if err == nil {
		g.log.Debug("invocation opened", "invocation", inv.ID, "tool", inv.Tool, "agent", inv.Agent, "run", inv.Run, "valid", inv.Valid)
	}
	return err
}

func callKey(thread, shown string) string { return store.Key(thread, "call", shown) }

// indexCall points a call's name to its round. A name is used once in a thread,
// but a thread forgets very old names: then the newest round has it.
func (g *Gateway) indexCall(ctx context.Context, key string, index []byte) error {
	for {
		_, err := g.store.Create(ctx, store.Index, key, index)
		if !errors.Is(err, store.ErrExists) {
			return err
		}
		old, err := g.store.Get(ctx, store.Index, key)
		if err != nil {
			return err
		}
		if _, err = g.store.Update(ctx, store.Index, key, index, old.Revision); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// roundOfCall finds the round of a call by its name in the thread, "" for a call
// the gateway does not know.
func (g *Gateway) roundOfCall(ctx context.Context, thread, shown string) (string, error) {
	rec, err := g.store.Get(ctx, store.Index, callKey(thread, shown))
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var ix indexRecord
	err = json.Unmarshal(rec.Value, &ix)
	return ix.Round, err
}

// findRound gives the round of a public id, if the caller may know of it.
func (g *Gateway) findRound(ctx context.Context, p principal.Principal, id string) (*tool.Round, error) {
	if !tool.ValidInvocationID(id) {
		return nil, noInvocation()
	}
	rec, err := g.store.Get(ctx, store.Index, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, noInvocation()
	}
	if err != nil {
		return nil, err
	}
	var ix indexRecord
	if err := json.Unmarshal(rec.Value, &ix); err != nil {
		return nil, fault.New(fault.StoreUnavailable, "the record of this invocation cannot be read").Because(err)
	}
	rd, err := g.loadRound(ctx, ix.Round)
	if errors.Is(err, store.ErrNotFound) {
		return nil, noInvocation()
	}
	if err != nil {
		return nil, err
	}
	a := g.byName[rd.Agent]
	if !p.Owns(rd.Tenant, rd.Owner) || a != nil && !a.allows(p) {
		return nil, noInvocation()
	}
	return g.expire(ctx, rd)
}

func noInvocation() *fault.Error {
	return fault.New(fault.InvocationNotFound, "there is no such invocation")
}
