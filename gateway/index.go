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

// openCall records one call of a run [INV-1]: under its public id, in its owner's
// list, and in its round. The indexes are written first: an index without its call
// leads nowhere and harms nobody.
func (g *Gateway) openCall(ctx context.Context, rd tool.Round, inv tool.Invocation) error {
	index, err := encode(indexRecord{Round: rd.Key})
	if err != nil {
		return err
	}
	if _, err := g.store.Create(ctx, store.Index, inv.ID, index); err != nil {
		return err
	}
	inv.Listed = g.now()
	if _, err := g.store.Create(ctx, store.Index, callEntry(&rd, inv.ID, inv.Listed), index); err != nil {
		return err
	}
	if !inv.Deadline.IsZero() {
		if err := g.onAgenda(ctx, rd.Key); err != nil {
			return err
		}
	}
	_, err = g.changeRound(ctx, rd.Key,
		func() *tool.Round { fresh := rd; return &fresh },
		func(r *tool.Round) error { return r.Open(inv, g.now()) })
	if err == nil {
		g.log.Debug("invocation opened", "invocation", inv.ID, "tool", inv.Tool, "agent", inv.Agent, "run", inv.Run, "valid", inv.Valid)
	}
	return err
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
