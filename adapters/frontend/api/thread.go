package api

import (
	"time"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// threads answers {"threads":[…]}, newest first, without messages and calls.
func (f *Frontend) threads(r *carrier.Request) error {
	p, err := page(r)
	if err != nil {
		return err
	}
	ctx, release := r.Context(0)
	defer release()
	list, next, err := f.gateway.Threads(ctx, r.Principal, r.Query("agent"), p)
	if err != nil {
		return err
	}
	b := []byte(`{"threads":[`)
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendThread(b, &list[i]), '}')
	}
	return r.JSON(200, appendNext(append(b, ']'), next))
}

// readThread answers one thread with its messages and calls.
func (f *Frontend) readThread(r *carrier.Request) error {
	ctx, release := r.Context(0)
	defer release()
	t, err := f.gateway.Thread(ctx, r.Principal, thread(r))
	if err != nil {
		return err
	}
	b := append(appendThread(nil, t), `,"messages":[`...)
	for i, m := range t.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.Raw...)
	}
	b = appendInvocations(append(b, `],"invocations":`...), t.Invocations)
	return r.JSON(200, append(b, '}'))
}

// appendThread writes what lists show of a thread, without the last brace.
func appendThread(b []byte, t *frontend.Thread) []byte {
	b = strictjson.AppendString(append(b, `{"thread":`...), t.ID)
	b = strictjson.AppendString(append(b, `,"agent":`...), t.Agent)
	b = strictjson.AppendString(append(b, `,"status":`...), string(t.Status))
	b = orNull(append(b, `,"run":`...), t.Run)
	b = orNull(append(b, `,"created_at":`...), stamp(t.Created))
	return orNull(append(b, `,"active_at":`...), stamp(t.Active))
}

// stamp is RFC 3339 in UTC with milliseconds (contract §0), "" for no time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// deleteThread answers 204; what is gone already is not found [DATA-2].
func (f *Frontend) deleteThread(r *carrier.Request) error {
	ctx, release := r.Context(0)
	defer release()
	if err := f.gateway.DeleteThread(ctx, r.Principal, thread(r)); err != nil {
		return err
	}
	r.NoContent()
	return nil
}

// continueThread answers 202 {"run":id}: the run has begun and goes on by itself
// [INV-12].
func (f *Frontend) continueThread(r *carrier.Request) error {
	if _, err := optional(r.Body()); err != nil {
		return err
	}
	ctx, release := r.Context(0)
	defer release()
	run, err := f.gateway.Continue(ctx, r.Principal, thread(r))
	if err != nil {
		return err
	}
	return r.JSON(202, append(strictjson.AppendString([]byte(`{"run":`), run), '}'))
}

// stopThread ends the run the body names, or whatever runs [RUN-10].
func (f *Frontend) stopThread(r *carrier.Request) error {
	body, err := optional(r.Body(), "run")
	if err != nil {
		return err
	}
	run := ""
	// An empty id is refused: it must not become "whatever runs".
	if v := body.Get("run"); v != nil && strictjson.KindOf(v) != strictjson.Null {
		if run, err = text(v); err != nil || run == "" {
			return fault.New(fault.InvalidRequest, "run is the id of a run; without it whatever runs is stopped").At("/run")
		}
	}
	ctx, release := r.Context(0)
	defer release()
	stopped, err := f.gateway.Stop(ctx, r.Principal, thread(r), run)
	if err != nil {
		return err
	}
	if stopped {
		return r.JSON(200, []byte(`{"stopped":true}`))
	}
	return r.JSON(200, []byte(`{"stopped":false}`))
}

// optional reads a body that may be left out.
func optional(raw []byte, keys ...string) (strictjson.Members, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return object(raw, "", keys...)
}
