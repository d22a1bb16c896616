package gateway

import (
	"context"
	"slices"
	"strings"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/gateway/repair"
	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/gateway/transcript"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/conversation"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

// write makes the upstream's request out of the client's list and what the record
// has beside it, or finds that there is nothing to ask [HIST-2, HIST-3].
func (r *liveRun) write(ctx context.Context, led *ledger, p *plan) error {
	in := r.turn.Input
	r.ledger = led
	r.enterAnswers(led, p)
	merged, err := r.merge(ctx)
	if err != nil {
		return err
	}
	r.copy = read(r.recordedIDs(merged))
	prelude := r.prelude(led, p)
	if r.unseen {
		if n := apart(merged, r.list.list); n > 0 {
			prelude = append(prelude, r.snapshot(merged[:n]))
		}
		prelude = append(prelude, r.snapshot(merged))
	}
	if waiting := stillOpen(led); len(waiting) > 0 {
		r.pending, prelude = waiting, append(prelude, pendingFrame(waiting))
	}
	kept, err := r.keptAnswers(ctx, led)
	if err != nil {
		return err
	}
	msgs, repairs := upstreamCopy(r.copy, led, kept, r.names)
	if repairs > 0 {
		r.g.metrics.repairs.WithLabelValues(r.agent.name, "history").Add(float64(repairs))
	}
	for _, rd := range led.rounds {
		r.touched = append(r.touched, rd.Key)
		if r.brings(rd) {
			r.told = append(r.told, rd.Key)
		}
	}
	r.input = r.upstreamInput(msgs)
	r.machine = run.New(run.Setup{
		Thread: in.ThreadID, Run: in.RunID, Parent: in.ParentRunID,
		RequestID: r.turn.RequestID, Names: r.names, Prelude: prelude,
		Client: func(name string) bool { return r.offer.Owner(name) == tool.Client },
		Allows: newLoopGuard(r.agent.conf.LoopGuard, merged, led).allows,
	})
	r.chain = repair.New(repair.Setup{Thread: in.ThreadID, Run: in.RunID, Modern: r.profile.Modern(),
		On: r.agent.conf.Repairs.Switches(), Client: func(name string) bool { return r.offer.Owner(name) == tool.Client }})
	r.book = conversation.NewBuilder(r.base(), bookBytes)
	return nil
}

// bookBytes bounds what the record takes of one run's messages; what comes beyond
// is passed to the client and not kept [OPS-5].
const bookBytes = 6 << 20

// base is the conversation the run begins with. The transcript's index tells at once
// that an id is new, as nearly all are.
func (r *liveRun) base() conversation.Base {
	find := func(meant func(*agui.Message) bool) (agui.Message, bool) {
		for i := range r.copy.list {
			if meant(&r.copy.list[i]) {
				return r.copy.list[i], true
			}
		}
		return agui.Message{}, false
	}
	return conversation.Base{
		Message: func(id string) (agui.Message, bool) {
			if !r.known(id) {
				return agui.Message{}, false
			}
			return find(func(m *agui.Message) bool { return m.ID == id })
		},
		Holder: func(call string) (agui.Message, bool) {
			if at := r.copy.holders[call]; len(at) > 0 {
				return r.copy.list[at[0]], true
			}
			return agui.Message{}, false
		},
		Each: slices.Values(r.copy.list),
	}
}

// enterAnswers writes down the result of every call that has ended and has none in
// the transcript yet: with the client's own message id, else the gateway's, the
// same in every later run [UP-4]. A call that was told as not answered yet is told
// anew, by a message of its own [RUN-6].
func (r *liveRun) enterAnswers(led *ledger, p *plan) {
	shown := map[string]bool{} // by the prelude, to a client that has the call
	for _, inv := range p.gone {
		shown[inv.ShownID] = r.list.stands(inv.ShownID)
	}
	for _, rd := range led.rounds {
		for i := range rd.Invocations {
			inv := &rd.Invocations[i]
			if inv.State == tool.Open || agentsOwn(inv) {
				continue
			}
			holder, held := r.hist.index.Holder(inv.ShownID)
			if !held || r.branch.Hidden.Has(holder) {
				continue
			}
			if inv.Kept && inv.State == tool.Settled {
				r.enterLate(inv)
			}
			if _, there := r.hist.index.Answer(inv.ShownID); there {
				continue
			}
			id := run.ResultID(inv.ShownID)
			for _, n := range r.list.results[inv.ShownID] {
				id = r.list.list[n].ID
				r.branch.Known[n] = r.hist.index.Len()
			}
			at := r.enter(recordedResult(id, inv))
			switch {
			case slices.Contains(r.branch.Known, at): // the client's own
			case shown[inv.ShownID]:
				r.has = r.has.Add(at)
			default:
				r.branch.Unseen = append(r.branch.Unseen, at)
			}
		}
	}
}

// enterLate adds the message that brings an answer which came after its call had
// been told as not answered yet.
func (r *liveRun) enterLate(inv *tool.Invocation) {
	id := "gw-late-" + inv.ShownID
	if _, there := r.hist.index.Find(id); there {
		return
	}
	text, failed := toldText(inv)
	says := "The tool call " + inv.ShownID + " (" + inv.Tool + "), which had not been answered yet, has its result now: "
	if failed {
		says = "The tool call " + inv.ShownID + " (" + inv.Tool + "), which had not been answered yet, has failed: "
	}
	r.branch.Unseen = append(r.branch.Unseen, r.enter(agui.NewUserMessage(id, strictjson.Quote(says+text))))
}

// enter adds a message to the transcript, in memory: the thread's record gets it
// when the thread is written.
func (r *liveRun) enter(m agui.Message) int {
	if r.agent.conf.History == "none" {
		m = transcript.Bare(m)
	}
	return r.hist.add(transcript.Entry{Run: r.state.Round, Raw: m.Raw})
}

// merge puts what the client was never sent into its list.
func (r *liveRun) merge(ctx context.Context) ([]agui.Message, error) {
	if r.agent.conf.History == "none" || len(r.branch.Unseen) == 0 && r.wait != inFront {
		return r.list.list, nil
	}
	places := r.branch.Unseen
	whole := map[int]bool{} // messages the client had only the beginning of
	for i, at := range r.branch.Known {
		if r.wait == inFront && at >= 0 && len(r.hist.index.At(at).Calls) > len(r.list.list[i].ToolCalls) {
			places, whole[i] = append(slices.Clone(places), at), true
		}
	}
	unseen, err := r.g.messages(ctx, r.hist, places)
	if err != nil {
		return nil, err
	}
	byID := map[string]agui.Message{}
	for _, m := range unseen {
		byID[m.ID] = m
	}
	out := make([]agui.Message, 0, len(r.list.list)+len(unseen))
	for _, s := range r.branch.Merge() {
		if s.List >= 0 && !whole[s.List] {
			out = append(out, r.list.list[s.List])
		} else if m, ok := byID[r.hist.index.At(s.At).ID]; ok {
			out, r.unseen = append(out, m), true
		}
	}
	return out, nil
}

// keptAnswers gives the results of calls without a round, the agent's own and those
// whose rounds are not kept any more, where the list leaves them out or says something
// else: they are in the transcript [HIST-3, HIST-4].
func (r *liveRun) keptAnswers(ctx context.Context, led *ledger) (map[string]agui.Message, error) {
	var places []int
	for i, m := range r.copy.list {
		for _, c := range m.ToolCalls {
			at, there := r.hist.index.Answer(c.ID)
			if !there || led.knows(c.ID) {
				continue
			}
			n := r.copy.answerOf(i, c.ID)
			if n >= 0 {
				if own, known := r.hist.index.Find(r.copy.list[n].ID); known && own != at {
					continue // the id was used for several calls
				}
			}
			if n < 0 || r.hist.index.At(at).Hash != transcript.HashOf(r.copy.list[n].Content) {
				places = append(places, at)
			}
		}
	}
	if len(places) == 0 || r.agent.conf.History == "none" {
		return nil, nil
	}
	msgs, err := r.g.messages(ctx, r.hist, places)
	if err != nil {
		return nil, err
	}
	out := make(map[string]agui.Message, len(msgs))
	for _, m := range msgs {
		out[m.ToolCallID] = m
	}
	return out, nil
}

// recordedIDs gives results the id they have in the record, which is the one the
// agent has read, and reads in every later run [UP-4].
func (r *liveRun) recordedIDs(merged []agui.Message) []agui.Message {
	out := merged
	for i, m := range merged {
		if m.Role != agui.RoleTool {
			continue
		}
		at, there := r.hist.index.Answer(m.ToolCallID)
		if !there || r.hist.index.At(at).ID == m.ID {
			continue
		}
		if len(r.list.results[m.ToolCallID]) != 1 || r.known(m.ID) {
			continue // one id that was used for several calls: the newest has it
		}
		if &out[0] == &merged[0] {
			out = slices.Clone(merged)
		}
		out[i] = m.With("id", strictjson.Quote(r.hist.index.At(at).ID))
	}
	return out
}

// apart is how many of the merged messages stand before the first that the client
// has behind one it has not; 0 where none does. Published clients keep what they
// have in the order they have it, and put what a snapshot adds behind it: so those
// are taken from them first, by a snapshot that ends here.
func apart(merged, list []agui.Message) int {
	has := map[string]bool{}
	for _, m := range list {
		has[m.ID] = true
	}
	missing := false
	for i, m := range merged {
		if !has[m.ID] {
			missing = true
		} else if missing {
			return i
		}
	}
	return 0
}

// snapshot brings the client the messages it was never sent, among its own.
func (r *liveRun) snapshot(merged []agui.Message) agui.Frame {
	return agui.NewMessagesSnapshot(agui.AppendMessages(nil, merged))
}

// stillOpen lists the shown ids of calls that wait, in call order.
func stillOpen(led *ledger) (ids []string) {
	for _, rd := range led.rounds {
		for _, inv := range rd.OpenCalls() {
			if !inv.Kept {
				ids = append(ids, inv.ShownID)
			}
		}
	}
	return ids
}

// prelude shows the client the calls that the conversation goes on without
// [RUN-6].
func (r *liveRun) prelude(led *ledger, p *plan) (out []agui.Frame) {
	for _, old := range p.gone {
		_, inv := led.call(old.ID)
		if inv != nil && inv.Reason == reasonUnanswered {
			text, _ := toldText(inv)
			out = append(out, agui.NewToolCallResult(run.ResultID(inv.ShownID), inv.ShownID, text))
		}
	}
	return out
}

func pendingFrame(ids []string) agui.Frame {
	value := []byte(`{"toolCallIds":[`)
	for i, id := range ids {
		if i > 0 {
			value = append(value, ',')
		}
		value = strictjson.AppendString(value, id)
	}
	return agui.NewCustom("aguigate.pending", append(value, "]}"...))
}

// upstreamInput is what the backend reads: written from checked values, with the
// client's say cut to what the configuration lets through.
func (r *liveRun) upstreamInput(msgs []agui.Message) *agui.Input {
	in, c := r.turn.Input, r.agent.conf.ClientInput
	if c.SystemMessages == "drop" {
		msgs = slices.DeleteFunc(msgs, func(m agui.Message) bool {
			return m.Role == agui.RoleSystem || m.Role == agui.RoleDeveloper
		})
	}
	return &agui.Input{
		ThreadID: in.ThreadID, RunID: in.RunID, ParentRunID: in.ParentRunID, ProtocolVersion: in.ProtocolVersion,
		State: in.State, Context: in.Context, Messages: msgs, Tools: definitions(r.offer), HasTools: true,
		ForwardedProps: c.ForwardedProps.Filter(in.ForwardedProps), Resume: in.Resume,
	}
}

// forwarded picks the caller's headers that go on, and names the caller where
// the configuration asks for it [UP-2]. A client cannot name itself: a header
// that carries identity is never taken from the request.
func forwarded(c config.Upstream, t *frontend.Turn) ([]upstream.Header, error) {
	var out []upstream.Header
	identity := map[string]bool{}
	for _, h := range c.IdentityHeaders {
		value := t.Principal.Subject
		if h.Value == "tenant" {
			value = t.Principal.Tenant
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fault.New(fault.InvalidRequest, "this identity cannot stand in a header").At(IdentityHeader)
		}
		identity[strings.ToLower(h.Name)] = true
		out = append(out, upstream.Header{Name: h.Name, Value: value})
	}
	names := c.ForwardHeaders
	if c.ForwardClientCredentials {
		names = append(slices.Clone(names), "Authorization")
	}
	for _, name := range names {
		value := t.Header(name)
		if value == "" || identity[strings.ToLower(name)] || strings.EqualFold(name, "X-Request-Id") {
			continue
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fault.New(fault.InvalidRequest, "this header value is not allowed").At(name)
		}
		out = append(out, upstream.Header{Name: name, Value: value})
	}
	return out, nil
}
