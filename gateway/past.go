package gateway

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

// Bounds of what a thread remembers of runs that ended [RUN-13].
const (
	pastTime  = 10 * time.Minute
	pastRuns  = 8
	pastBytes = 2 << 10 // of a last event, and of a run id
)

// pastRun is a run that ended lately: the same turn sent again gets it again.
type pastRun struct {
	ID     string          `json:"id"`
	Key    string          `json:"key"`
	Digest []byte          `json:"digest"`
	Ended  time.Time       `json:"ended"`
	End    json.RawMessage `json:"end"` // its last event
}

// rememberWaiter enters how a turn ended that never got the thread, for those who have
// joined it. Sent again, it is a new turn.
func (rec *threadRecord) rememberWaiter(r *liveRun, now time.Time) {
	if len(r.final.Raw) == 0 || len(r.final.Raw) > pastBytes {
		return
	}
	rec.Past = slices.Clone(rec.Past)
	if len(rec.Past) >= pastRuns {
		rec.Past = rec.Past[1:]
	}
	rec.Past = append(rec.Past, pastRun{ID: r.state.ID, Key: r.state.Round, Ended: now, End: r.final.Raw})
}

func (p *pastRun) endType() agui.Type {
	f, err := agui.ParseFrame(p.End)
	if err != nil {
		return agui.RunFinished
	}
	return f.Type
}

// remember enters a run that came to its end and asked the agent: a turn that joined
// it late finds its end here. One that did not get that far is run anew when it
// comes again.
func (rec *threadRecord) remember(r *liveRun, now time.Time) {
	rec.Past = slices.DeleteFunc(slices.Clone(rec.Past), func(p pastRun) bool {
		return p.ID == r.state.ID || now.After(p.Ended.Add(pastTime))
	})
	if !r.asked || r.agent.conf.History == "none" || len(r.final.Raw) == 0 || len(r.final.Raw) > pastBytes || len(r.state.ID) > pastBytes {
		return
	}
	if len(rec.Past) >= pastRuns {
		rec.Past = rec.Past[1:]
	}
	rec.Past = append(rec.Past, pastRun{ID: r.state.ID, Key: r.state.Round, Digest: r.state.Digest, Ended: now, End: r.final.Raw})
}
