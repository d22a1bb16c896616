package agui

import (
	"errors"
	"strings"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// stop ends the run the body names, or whatever runs on its thread, and answers
// {"stopped":bool}: false says that no such run is active [RUN-10].
func (f *Frontend) stop(r *carrier.Request) error {
	agent := r.Param("agent")
	if _, err := f.gateway.Agent(r.Principal, agent); err != nil {
		return err
	}
	thread, run, err := decodeStop(r.Body())
	if err != nil {
		return err
	}
	ctx, release := r.Context(0)
	defer release()
	stopped, err := f.gateway.Stop(ctx, r.Principal, frontend.ThreadRef{Thread: thread, Agent: agent}, run)
	if err != nil {
		return err
	}
	if stopped {
		return r.JSON(200, []byte(`{"stopped":true}`))
	}
	return r.JSON(200, []byte(`{"stopped":false}`))
}

// decodeStop reads {threadId, runId?} strictly: no key twice, none in another
// spelling [SEC-1]. run is "" when none was named.
func decodeStop(raw []byte) (thread, run string, err error) {
	m, err := strictjson.ParseObject(raw)
	switch {
	case errors.Is(err, strictjson.ErrDuplicate):
		return "", "", fault.New(fault.InvalidRequest, "%v", err).At(pointTo("", repeated(m)))
	case err != nil:
		return "", "", fault.New(fault.InvalidRequest, "the body is refused: %v", err)
	}
	if key, right, bad := strictjson.Misspelt(m, []string{"threadId", "runId"}); bad {
		return "", "", fault.New(fault.InvalidRequest, "this key is written %q", right).At(pointTo("", key))
	}
	if thread, err = strictjson.StringOf(m.Get("threadId")); err != nil || thread == "" {
		return "", "", fault.New(fault.InvalidRequest, "threadId is the id of a thread").At("/threadId")
	}
	// An empty id is refused: it must not become "whatever runs".
	if v := m.Get("runId"); v != nil && strictjson.KindOf(v) != strictjson.Null {
		if run, err = strictjson.StringOf(v); err != nil || run == "" {
			return "", "", fault.New(fault.InvalidRequest, "runId is the id of a run; without it whatever runs is stopped").At("/runId")
		}
	}
	return thread, run, nil
}

// repeated is the first key that stands twice.
func repeated(m strictjson.Members) string {
	seen := make(map[string]bool, len(m))
	for _, one := range m {
		if seen[one.Key] {
			return one.Key
		}
		seen[one.Key] = true
	}
	return ""
}

// pointTo adds a client's key to a JSON Pointer (RFC 6901 §3), unless it is so long
// that it should not be said back.
func pointTo(at, key string) string {
	if len(key) > 64 {
		return at
	}
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
