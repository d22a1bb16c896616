package tool

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// at is n seconds after the tests' beginning of time.
func at(n int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

func call(id string) Invocation {
	return Invocation{ID: "inv_" + id, CallID: id, ShownID: id, Agent: "shop", Thread: "th1", Run: "r1", Tool: "pick", Arguments: "{}", Valid: true, Attempts: 1}
}

func round(t testing.TB, calls ...Invocation) *Round {
	t.Helper()
	r := &Round{Key: "k", ID: "k", Agent: "shop", Thread: "th1", Run: "r1"}
	for _, c := range calls {
		if err := r.Open(c, at(0)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func settle(t testing.TB, r *Round, ref string, s *Settlement) Verdict {
	t.Helper()
	v, err := r.Settle(ref, 0, s, at(1))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// INV-1.
func TestOpen(t *testing.T) {
	r := round(t, call("c1"), call("c2"))
	want := call("c1")
	want.State, want.Delivery, want.Created, want.Attempt = Open, Held, at(0), 1
	if diff := cmp.Diff(want, r.Invocations[0]); diff != "" {
		t.Error(diff)
	}
	refused(t, r.Open(call("c1"), at(1)), fault.UpstreamProtocolError, "")
	sameID := call("c3")
	sameID.ID = "inv_c1"
	refused(t, r.Open(sameID, at(1)), fault.UpstreamProtocolError, "")
	if len(r.Invocations) != 2 {
		t.Errorf("there are %d calls", len(r.Invocations))
	}
	r.CancelOpen("run_failed", at(2))
	refused(t, r.Open(call("c4"), at(3)), fault.InvocationClosed, "")

	waits := &Round{Released: true} // an upstream that waits on each call
	if err := waits.Open(call("c1"), at(4)); err != nil {
		t.Fatal(err)
	}
	if inv := waits.Invocations[0]; !inv.Released || !inv.ReleasedAt.Equal(at(4)) {
		t.Errorf("it is not released: %+v", inv)
	}
	stale := call("c9")
	stale.State, stale.Outcome, stale.Settlement, stale.Ended = Settled, OK, text("x"), at(0)
	r = round(t, stale)
	if inv := r.Invocations[0]; inv.State != Open || inv.Settlement != nil || inv.Outcome != "" || !inv.Ended.IsZero() {
		t.Errorf("a call opens as %+v", inv)
	}
}

func TestRelease(t *testing.T) {
	r := round(t, call("c1"), call("c2"), call("c3"))
	settle(t, r, "c1", text("early")) // before the run's end (F020)
	r.CancelCall("c2", "answered_upstream", at(1))
	r.Release(at(2))
	r.Release(at(9))
	for i, want := range []bool{false, false, true} {
		if r.Invocations[i].Released != want {
			t.Errorf("call %d: released %v, want %v", i, !want, want)
		}
	}
	if !r.Released || !r.Invocations[2].ReleasedAt.Equal(at(2)) {
		t.Errorf("released %v at %v", r.Released, r.Invocations[2].ReleasedAt)
	}
}

// INV-2, F015: what clients were shown comes before the upstream's own ids, open
// ones before final ones, the newest first.
func TestFind(t *testing.T) {
	first, second, third := call("c0"), call("inner"), call("other")
	second.CallID, second.ShownID = "c0", "c0-2" // the upstream used c0 again
	third.CallID, third.ShownID = "c0-2", "c0-2-2"
	r := round(t, first, second, third)
	for ref, want := range map[string]string{
		"inv_c0": "inv_c0", "c0": "inv_c0", "c0-2": "inv_inner", "c0-2-2": "inv_other", "": "", "c9": "", "inv_": "",
	} {
		got := ""
		if inv := r.Find(ref); inv != nil {
			got = inv.ID
		}
		if got != want {
			t.Errorf("Find(%q) = %q, want %q", ref, got, want)
		}
	}
	a, b := call("a"), call("b")
	a.CallID, b.CallID = "up", "up"
	r = round(t, a, b)
	if got := r.Find("up").ID; got != "inv_b" {
		t.Errorf("up is %s, want the newest", got)
	}
	settle(t, r, "b", text("x"))
	if got := r.Find("up").ID; got != "inv_a" {
		t.Errorf("with the newest settled up is %s, want the open one", got)
	}
	settle(t, r, "a", text("y"))
	if got := r.Find("up").ID; got != "inv_b" {
		t.Errorf("with both settled up is %s, want the newest", got)
	}
}

// INV-3, INV-4, F010.
func TestSettle(t *testing.T) {
	for _, c := range settleCases() {
		t.Run(c.name, func(t *testing.T) {
			r := round(t, c.calls...)
			for i, st := range c.steps {
				before := r.Clone()
				v, err := r.Settle(st.ref, st.attempt, st.s, at(st.at))
				if st.code != "" {
					refused(t, err, st.code, "")
					if diff := cmp.Diff(before, r); diff != "" {
						t.Errorf("step %d: a refusal changed the round:\n%s", i, diff)
					}
					continue
				}
				if err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				if got := flags(v); got != st.flags {
					t.Errorf("step %d: %q, want %q", i, got, st.flags)
				}
				if v.Replayed {
					if diff := cmp.Diff(before, r); diff != "" {
						t.Errorf("step %d: a repeat changed the round:\n%s", i, diff)
					}
				}
			}
			if inv := r.Invocations[0]; inv.State != c.want || inv.Outcome != c.out {
				t.Errorf("it is %s %s, want %s %s", inv.State, inv.Outcome, c.want, c.out)
			}
		})
	}
}

type step struct {
	ref     string
	attempt int
	s       *Settlement
	at      int
	code    fault.Code // of the refusal
	flags   string     // replayed, retried, complete
}

type settleCase struct {
	name  string
	calls []Invocation
	steps []step
	want  State
	out   Outcome
}

// settleCases are the histories of TestSettle.
func settleCases() []settleCase {
	retryable := func(model string) *Settlement { return NewFailure(model, "", "", true, limits) }
	tries := call("c1")
	tries.Attempts = 3
	late := call("c1")
	late.Deadline = at(10)
	return []settleCase{
		{"first wins", []Invocation{call("c1")}, []step{
			{ref: "c1", s: text("A"), flags: "complete"},
			{ref: "c1", s: text("B"), code: fault.ActionResultConflict},
			{ref: "c1", s: failure("A"), code: fault.ActionResultConflict},
		}, Settled, OK},
		{"the same again", []Invocation{call("c1"), call("c2")}, []step{
			{ref: "c1", s: jsonOf(`{"a":1,"b":2}`)},
			{ref: "inv_c1", s: jsonOf(`{"b":2.0,"a":1}`), flags: "replayed"},
			{ref: "c1", s: text(`{"a":1,"b":2}`), flags: "replayed"},
			{ref: "c2", s: failure("no"), flags: "complete"},
			{ref: "c1", s: text(`{"a":1,"b":2}`), flags: "replayed complete"},
			{ref: "c2", s: failure("no"), flags: "replayed complete"},
		}, Settled, OK},
		{"a refusal", []Invocation{call("c1")}, []step{
			{ref: "c1", s: NewDenied("", limits), flags: "complete"},
			{ref: "c1", s: text("done after all"), code: fault.ActionResultConflict},
		}, Settled, Denied},
		{"in doubt", []Invocation{call("c1")}, []step{
			{ref: "c1", s: NewInDoubt("", "", limits), flags: "complete"},
			{ref: "c1", s: text("done"), code: fault.ActionResultConflict},
		}, Settled, InDoubt},
		{"unknown", []Invocation{call("c1")}, []step{
			{ref: "c2", s: text("A"), code: fault.InvocationNotFound},
			{ref: "", s: text("A"), code: fault.InvocationNotFound},
		}, Open, ""},
		{"the current attempt", []Invocation{call("c1")}, []step{
			{ref: "c1", attempt: 2, s: text("A"), code: fault.StaleAttempt},
			{ref: "c1", attempt: 1, s: text("A"), flags: "complete"},
			{ref: "c1", attempt: 1, s: text("A"), flags: "replayed complete"},
			{ref: "c1", attempt: 2, s: text("A"), code: fault.StaleAttempt},
		}, Settled, OK},
		{"another attempt after a retryable failure", []Invocation{tries}, []step{
			{ref: "c1", attempt: 1, s: retryable("1"), flags: "retried"},
			{ref: "c1", attempt: 1, s: retryable("1"), code: fault.StaleAttempt},
			{ref: "c1", attempt: 2, s: retryable("2"), flags: "retried"},
			{ref: "c1", s: text("A"), flags: "complete"},
			{ref: "c1", attempt: 2, s: text("A"), code: fault.StaleAttempt},
			{ref: "c1", attempt: 3, s: text("A"), flags: "replayed complete"},
		}, Settled, OK},
		{"attempts run out", []Invocation{tries}, []step{
			{ref: "c1", s: retryable("1"), flags: "retried"},
			{ref: "c1", s: retryable("2"), flags: "retried"},
			{ref: "c1", s: retryable("3"), flags: "complete"},
			{ref: "c1", s: retryable("3"), flags: "replayed complete"},
			{ref: "c1", s: text("A"), code: fault.ActionResultConflict},
		}, Settled, Failed},
		{"a failure for good", []Invocation{tries}, []step{
			{ref: "c1", s: failure("no"), flags: "complete"},
		}, Settled, Failed},
		{"one attempt only", []Invocation{call("c1")}, []step{
			{ref: "c1", s: retryable("no"), flags: "complete"},
		}, Settled, Failed},
		{"in time", []Invocation{late}, []step{
			{ref: "c1", s: text("A"), at: 10, flags: "complete"},
			{ref: "c1", s: text("A"), at: 99, flags: "replayed complete"},
		}, Settled, OK},
		{"too late", []Invocation{late}, []step{
			{ref: "c1", s: text("A"), at: 11, code: fault.InvocationClosed},
			{ref: "c1", attempt: 7, s: text("A"), at: 11, code: fault.InvocationClosed},
		}, Open, ""}, // Expire writes it down
	}
}

func flags(v Verdict) string {
	var out []string
	for name, on := range map[string]bool{"1replayed": v.Replayed, "2retried": v.Retried, "3complete": v.Complete} {
		if on {
			out = append(out, name)
		}
	}
	if len(out) == 2 && out[0] > out[1] {
		out[0], out[1] = out[1], out[0]
	}
	for i := range out {
		out[i] = out[i][1:]
	}
	return strings.Join(out, " ")
}

// The loser learns the winning answer [INV-3], and nothing private [INV-6].
func TestConflictCarriesTheAccepted(t *testing.T) {
	for _, c := range []struct {
		name     string
		accepted *Settlement
		want     string
	}{
		{"text", text(`a "b"`), `{"outcome":"ok","result":"a \"b\""}`},
		{"JSON", jsonOf(`{ "a": 1.0 }`), `{"outcome":"ok","result":{ "a": 1.0 }}`},
		{"null", jsonOf(``), `{"outcome":"ok","result":null}`},
		{"parts", made(FormParts, `[{"type":"text","text":"x"}]`), `{"outcome":"ok","content":[{"type":"text","text":"x"}]}`},
		{"failure", NewFailure("no", "io", "token=1234", true, limits), `{"outcome":"failed","error":{"message":"no","type":"io","retryable":true}}`},
		{"refusal", NewDenied("", limits), `{"outcome":"denied","error":{"message":"The user refused this tool call.","type":"denied","retryable":false}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := round(t, call("c1"))
			settle(t, r, "c1", c.accepted)
			_, err := r.Settle("c1", 0, text("other"), at(2))
			refused(t, err, fault.ActionResultConflict, "inv_c1")
			d := fault.From(err).Detail
			if len(d) != 1 || d[0].Key != "accepted" || string(d[0].Raw) != c.want {
				t.Errorf("the detail is %s, want %s", d, c.want)
			}
			if body := fault.From(err).Body("q1"); !strictjson.Valid(body) || strings.Contains(string(body), "token") {
				t.Errorf("the body is %s", body)
			}
		})
	}
}

// A settlement that is changed after it was accepted does not change the record.
func TestSettleKeepsItsOwn(t *testing.T) {
	r := round(t, call("c1"))
	s := text("A")
	s.By, s.Door, s.At = "ann", "rest", at(1)
	settle(t, r, "c1", s)
	s.Content, s.By = "B", "bob"
	got := r.Invocations[0]
	if got.Settlement.Content != "A" || got.Settlement.By != "ann" || !got.Ended.Equal(at(1)) || got.Delivery != Held {
		t.Errorf("the record holds %+v of %+v", got.Settlement, got)
	}
}

// REST-2 and the rule that answers come all or none.
func TestSettleAll(t *testing.T) {
	tries := call("c3")
	tries.Attempts = 2
	for _, c := range []struct {
		name    string
		answers []Settling
		code    fault.Code
		want    string // the verdicts
	}{
		{"all", []Settling{{Ref: "c2", Settlement: text("2")}, {Ref: "inv_c1", Settlement: text("1")}, {Ref: "c3", Settlement: text("3")}}, "", ", , complete"},
		{"some", []Settling{{Ref: "c1", Settlement: text("1")}}, "", ""},
		{"none", nil, "", ""},
		{"an unknown one", []Settling{{Ref: "c1", Settlement: text("1")}, {Ref: "c9", Settlement: text("9")}}, fault.InvocationNotFound, ""},
		{"a stale one", []Settling{{Ref: "c1", Settlement: text("1")}, {Ref: "c2", Attempt: 2, Settlement: text("2")}}, fault.StaleAttempt, ""},
		{"one twice, equal", []Settling{{Ref: "c1", Settlement: text("1")}, {Ref: "inv_c1", Settlement: text("1")}}, "", ", replayed"},
		{"one twice, different", []Settling{{Ref: "c1", Settlement: text("1")}, {Ref: "inv_c1", Settlement: text("2")}}, fault.ActionResultConflict, ""},
		{"one retryable failure twice", []Settling{{Ref: "c3", Settlement: NewFailure("no", "", "", true, limits)}, {Ref: "c3", Settlement: NewFailure("no", "", "", true, limits)}}, "", "retried, replayed"},
		{"a retryable failure and a result", []Settling{{Ref: "c3", Settlement: NewFailure("no", "", "", true, limits)}, {Ref: "c3", Settlement: text("3")}}, fault.ActionResultConflict, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := round(t, call("c1"), call("c2"), tries)
			before := r.Clone()
			vs, err := r.SettleAll(c.answers, at(1))
			if c.code != "" {
				refused(t, err, c.code, "")
				if diff := cmp.Diff(before, r); diff != "" || vs != nil {
					t.Errorf("a refusal changed the round:\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, v := range vs {
				got = append(got, flags(v))
				if v.Invocation != r.Find(c.answers[i].Ref) {
					t.Errorf("verdict %d is not about the round's own call", i)
				}
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %q, want %q", strings.Join(got, ", "), c.want)
			}
		})
	}
}

// Final is final.
func TestCancelAndExpire(t *testing.T) {
	late := call("c3")
	late.Deadline = at(10)
	r := round(t, call("c1"), call("c2"), late, call("c4"))
	settle(t, r, "c1", text("A"))
	if r.Expire(at(10)) {
		t.Error("something expired at its deadline, not after it")
	}
	if !r.Expire(at(11)) || r.Expire(at(12)) {
		t.Error("the call did not expire once")
	}
	if inv := r.Invocations[2]; inv.State != Expired || !inv.Ended.Equal(at(10)) || inv.Reason != "deadline" {
		t.Errorf("it is %s at %v, %q", inv.State, inv.Ended, inv.Reason)
	}
	if inv := r.CancelCall("c2", "answered_upstream", at(12)); inv == nil || inv.State != Cancelled || inv.Reason != "answered_upstream" {
		t.Errorf("c2 is %+v", inv)
	}
	for _, ref := range []string{"c1", "c2", "c3", "c9"} {
		if r.CancelCall(ref, "again", at(13)) != nil {
			t.Errorf("%s was cancelled although it is final or unknown", ref)
		}
	}
	if r.Done() || len(r.OpenCalls()) != 1 {
		t.Errorf("open: %v", r.OpenCalls())
	}
	if got := r.CancelOpen("unanswered", at(14)); len(got) != 1 || got[0].ID != "inv_c4" || !got[0].Ended.Equal(at(14)) {
		t.Errorf("cancelled %v", got)
	}
	if got := r.CancelOpen("again", at(15)); got != nil || r.Cancelled != "unanswered" {
		t.Errorf("cancelled %v once more, %q", got, r.Cancelled)
	}
	if !r.Done() {
		t.Error("the round is not done")
	}
	want := []State{Settled, Cancelled, Expired, Cancelled}
	for i, inv := range r.Invocations {
		if inv.State != want[i] {
			t.Errorf("call %d is %s, want %s", i, inv.State, want[i])
		}
	}
	for _, ref := range []string{"c2", "c3", "c4"} {
		_, err := r.Settle(ref, 0, text("A"), at(16))
		refused(t, err, fault.InvocationClosed, "inv_"+ref)
	}
}

// The record's format: a store holds it for weeks.
func TestRoundRecord(t *testing.T) {
	r := round(t, call("c1"), call("c2"))
	r.Tenant, r.Owner, r.Created, r.Updated, r.Writer = "acme", "ann", at(0), at(1), "w1"
	r.Invocations[0].IdempotencyKey, r.Invocations[0].Initiator, r.Invocations[0].Arguments = "k1", "model", `{ "a" : 1.0, "e":"\u00e9<" }`
	r.Invocations[0].Deadline, r.Invocations[0].MessageID = at(60), "m1"
	r.Release(at(1))
	s := NewFailure("no", "io", "disk", true, limits)
	s.By, s.Door, s.At, s.Digest = "ann", "rest", at(1), "d"
	settle(t, r, "c1", s)
	got, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
 "key": "k", "id": "k", "tenant": "acme", "owner": "ann", "agent": "shop", "thread": "th1", "run": "r1", "released": true,
 "invocations": [
  {"id": "inv_c1", "call": "c1", "shown": "c1", "message": "m1", "agent": "shop", "thread": "th1", "run": "r1", "tool": "pick",
   "arguments": "{ \"a\" : 1.0, \"e\":\"\\u00e9<\" }", "valid": true, "attempt": 1, "attempts": 1, "key": "k1", "initiator": "model",
   "released": true, "created": "2026-01-02T03:04:05Z", "released_at": "2026-01-02T03:04:06Z", "ended": "2026-01-02T03:04:06Z",
   "deadline": "2026-01-02T03:05:05Z", "state": "settled", "outcome": "failed",
   "settlement": {"outcome": "failed", "error": {"model": "no", "private": "disk", "class": "io", "retryable": true},
    "by": "ann", "door": "rest", "at": "2026-01-02T03:04:06Z", "digest": "d"}, "delivery": "held"},
  {"id": "inv_c2", "call": "c2", "shown": "c2", "agent": "shop", "thread": "th1", "run": "r1", "tool": "pick", "arguments": "{}", "valid": true,
   "attempt": 1, "attempts": 1, "key": "", "initiator": "", "released": true, "created": "2026-01-02T03:04:05Z",
   "released_at": "2026-01-02T03:04:06Z", "state": "open", "delivery": "held"}
 ],
 "created": "2026-01-02T03:04:05Z", "updated": "2026-01-02T03:04:06Z", "writer": "w1"
}`
	a, _ := strictjson.Canonical(nil, got)
	b, err := strictjson.Canonical(nil, []byte(want))
	if err != nil || string(a) != string(b) {
		t.Errorf("%v\ngot  %s\nwant %s", err, a, b)
	}
	back := new(Round)
	if err := json.Unmarshal(got, back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Error(diff)
	}
}

// FuzzRoundJSON reads records that others have written and works with them.
func FuzzRoundJSON(f *testing.F) {
	seed := round(f, call("c1"), call("c2"))
	settle(f, seed, "c1", jsonOf(`{"a":1}`))
	b, _ := json.Marshal(seed)
	f.Add(b)
	f.Add([]byte(`{"invocations":[{"id":"a","state":"settled","settlement":null},{"state":"x","arguments":"{","deadline":"2026-01-01T00:00:00Z"}]}`))
	f.Add([]byte(`{"released":true,"cancelled":"x","invocations":[{"id":"a","settlement":{"outcome":"ok","form":"parts","content":"[{}]"},"state":"settled"}]}`))
	f.Fuzz(func(t *testing.T, record []byte) {
		r := new(Round)
		if json.Unmarshal(record, r) != nil {
			return
		}
		once, err := json.Marshal(r)
		if err != nil {
			return // a year past 9999
		}
		back := new(Round)
		if err := json.Unmarshal(once, back); err != nil {
			t.Fatalf("its own record cannot be read: %v", err)
		}
		if twice, _ := json.Marshal(back); string(twice) != string(once) {
			t.Fatalf("%s\nbecomes\n%s", once, twice)
		}
		for i := range r.Invocations {
			inv := &r.Invocations[i]
			if public := inv.MarshalPublic(); !strictjson.Valid(public) {
				t.Fatalf("the call is shown as %s", public)
			}
			_, _ = r.Settle(inv.ID, 0, text("x"), at(0))
		}
		_ = r.Open(call("new"), at(0))
		r.Expire(at(1))
		r.CancelOpen("x", at(2))
		if !r.Done() {
			t.Fatal("a cancelled round is not done")
		}
	})
}
