package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/conversation"
)

// stateRecord is a thread's state as bytes: it is only put together when somebody
// needs it [HIST-5].
type stateRecord struct {
	Run    string            `json:"run,omitempty"` // key of the run that left it so
	Base   json.RawMessage   `json:"base,omitempty"`
	Deltas []json.RawMessage `json:"deltas,omitempty"`
	Over   bool              `json:"over,omitempty"` // it was too large to keep (limits.state)
	Writer string            `json:"writer"`
}

// keepState writes down what the run did to the state, if it did anything.
func (r *liveRun) keepState(ctx context.Context) error {
	snapshot, deltas := r.book.State()
	if snapshot == nil && len(deltas) == 0 || r.agent.conf.History == "none" {
		return nil
	}
	if snapshot == nil {
		snapshot = r.input.State
	}
	rec := stateRecord{Run: r.state.Round, Base: snapshot, Writer: newID()}
	size := len(snapshot)
	for _, d := range deltas {
		rec.Deltas = append(rec.Deltas, d)
		size += len(d)
	}
	if size > int(r.g.conf.Limits.State) {
		rec = stateRecord{Over: true, Writer: newID()}
		r.g.log.Warn("a thread's state is over limits.state and is not kept", "thread", r.thread.ID, "bytes", size)
	}
	value, err := encode(rec)
	if err != nil {
		return err
	}
	return r.g.put(ctx, store.State, r.thread.space(), value)
}

// threadState puts the thread's state together; nil when none is kept.
func (g *Gateway) threadState(ctx context.Context, t *thread) ([]byte, error) {
	state, _, _, err := g.readState(ctx, t)
	return state, err
}

// readState is threadState, and tells which run left it so, and of a state that was too
// large to keep.
func (g *Gateway) readState(ctx context.Context, t *thread) (state []byte, run string, over bool, err error) {
	rec, err := g.store.Get(ctx, store.State, t.space())
	if errors.Is(err, store.ErrNotFound) {
		return nil, "", false, nil
	}
	if err != nil {
		return nil, "", false, err
	}
	var s stateRecord
	if err := json.Unmarshal(rec.Value, &s); err != nil || s.Over {
		return nil, s.Run, s.Over, err
	}
	out := []byte(s.Base)
	for _, d := range s.Deltas {
		next, err := conversation.ApplyState(out, [][]byte{d}, int(g.conf.Limits.State))
		if err == nil { // a client passes over a delta that does not apply, and goes on
			out = next
		}
	}
	return out, s.Run, false, nil
}

// put writes a record whatever was there.
func (g *Gateway) put(ctx context.Context, b store.Bucket, key string, value []byte) error {
	for {
		_, err := g.store.Create(ctx, b, key, value)
		if !errors.Is(err, store.ErrExists) {
			return err
		}
		old, err := g.store.Get(ctx, b, key)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err = g.store.Update(ctx, b, key, value, old.Revision); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}
