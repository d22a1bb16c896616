package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

// Begin is steps 1 to 3 of a tool call's life: the turn is checked whole, the
// thread is taken, what the turn answers is settled, the upstream's copy is
// written. Everything that can be refused is refused before anything changes.
func (g *Gateway) Begin(ctx context.Context, t *frontend.Turn) (frontend.Run, error) {
	if err := g.Admit(); err != nil {
		return nil, err
	}
	a, err := g.agentFor(t.Principal, t.Agent)
	if err != nil {
		return nil, err
	}
	if err := checkThreadID(t.Input.ThreadID); err != nil {
		return nil, err
	}
	offer, err := a.offer(t.Input)
	if err != nil {
		return nil, err
	}
	headers, err := forwarded(a.conf.Upstream, t)
	if err != nil {
		return nil, err
	}
	th, err := g.loadThread(ctx, t.Principal, a.name, t.Input.ThreadID)
	if err != nil {
		return nil, err
	}
	if g.busy(th.Run) {
		return nil, g.busyFault(th)
	}
	r := &liveRun{
		list: read(t.Input.Messages),
		g:    g, turn: t, agent: a, thread: th, offer: offer, begun: g.now(), headers: headers,
		state: activeRun{ID: t.Input.RunID, Round: newID(), Holder: g.instance, Started: g.now(), Lease: g.now().Add(lease)},
	}
	g.active.add(r)
	begun := false
	defer func() { // also when something panics: a drain waits for active runs
		if !begun {
			g.active.remove(r)
		}
	}()
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	begun = true
	g.metrics.activeRuns.WithLabelValues(a.name).Inc()
	return r, nil
}

// prepare takes the thread and settles. An error has left nothing behind. A
// thread that changed after it was read is read, and the turn judged, again.
func (r *liveRun) prepare(ctx context.Context) error {
	led, p, err := r.plan(ctx)
	if err != nil {
		return err
	}
	err = r.g.take(ctx, r.thread, r.state)
	for errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExists) {
		if r.thread, err = r.g.loadThread(ctx, r.turn.Principal, r.agent.name, r.thread.ID); err != nil {
			return err
		}
		if led, p, err = r.plan(ctx); err != nil {
			return err
		}
		err = r.g.take(ctx, r.thread, r.state)
	}
	if err != nil {
		return err
	}
	if err := r.settle(ctx, led, p); err != nil {
		r.giveBack(nil)
		return err
	}
	r.write(led, p)
	return nil
}

// plan reads the record and the client's list against each other.
func (r *liveRun) plan(ctx context.Context) (*ledger, *plan, error) {
	led, err := r.g.ledgerFor(ctx, r.thread, r.list)
	if err != nil {
		return nil, nil, err
	}
	r.names = r.thread.names()
	seen, fresh := map[string]bool{}, map[string]bool{}
	for _, m := range r.turn.Input.Messages {
		if known := r.names.Use(m.ID); !seen[m.ID] {
			seen[m.ID] = known && !fresh[m.ID]
			fresh[m.ID] = !known || fresh[m.ID]
		}
		for _, c := range m.ToolCalls {
			r.names.Use(c.ID)
		}
	}
	p, err := planTurn(r.list, led, func(id string) bool { return seen[id] }, len(r.turn.Input.Resume) > 0, r.agent)
	if err != nil {
		return nil, nil, err
	}
	if err := checkAnswers(p, r.g.now()); err != nil {
		return nil, nil, err
	}
	return led, p, r.unanswered(p)
}

// ledgerFor loads the rounds a list may be about: those with something left to
// do, and those whose calls the list answers or leaves without an answer.
func (g *Gateway) ledgerFor(ctx context.Context, t *thread, msgs *messages) (*ledger, error) {
	refs, err := g.olderRounds(ctx, t, msgs)
	if err != nil {
		return nil, err
	}
	for _, ref := range t.Rounds {
		if ref.Open || slices.ContainsFunc(ref.Calls, msgs.mentions) {
			refs = append(refs, ref)
		}
	}
	if t.Run != nil { // a run that died holding calls
		refs = append(refs, roundRef{Key: t.Run.Round, Run: t.Run.ID, Open: true})
	}
	var keys []string // each once: a dead run's round is found in more than one way
	for _, ref := range refs {
		if !slices.Contains(keys, ref.Key) {
			keys = append(keys, ref.Key)
		}
	}
	rounds, err := g.loadRounds(ctx, keys)
	if err != nil {
		return nil, err
	}
	return newLedger(rounds), nil
}

// olderRounds finds the rounds of calls that stand in the list and that the thread
// itself lists no more, by the index every call has. A thread that still lists all
// its rounds has none.
func (g *Gateway) olderRounds(ctx context.Context, t *thread, msgs *messages) ([]roundRef, error) {
	if !t.Trimmed {
		return nil, nil
	}
	listed := map[string]bool{}
	for _, ref := range t.Rounds {
		for _, c := range ref.Calls {
			listed[c] = true
		}
	}
	var refs []roundRef
	found := map[string]bool{}
	for _, m := range msgs.list {
		for _, c := range m.ToolCalls {
			if listed[c.ID] {
				continue
			}
			key, err := g.roundOfCall(ctx, t.key, c.ID)
			if err != nil {
				return nil, err
			}
			if key != "" && !found[key] {
				found[key] = true
				refs = append(refs, roundRef{Key: key})
			}
		}
	}
	return refs, nil
}

// write makes the upstream's request, or finds that there is nothing to ask.
func (r *liveRun) write(led *ledger, p *plan) {
	in := r.turn.Input
	r.ledger = led
	prelude := r.prelude(led, p)
	if waiting := stillOpen(led); len(waiting) > 0 {
		r.pending, prelude = waiting, append(prelude, pendingFrame(waiting))
	}
	msgs, repairs := upstreamCopy(r.list, led, p.unknown, r.names)
	if repairs > 0 {
		r.g.metrics.repairs.WithLabelValues(r.agent.name, "history").Add(float64(repairs))
	}
	for _, rd := range led.rounds {
		r.touched = append(r.touched, rd.Key)
		if slices.ContainsFunc(rd.Invocations, r.tells) {
			r.told = append(r.told, rd.Key)
		}
	}
	r.input = r.upstreamInput(msgs)
	r.machine = run.New(run.Setup{
		Thread: in.ThreadID, Run: in.RunID, Parent: in.ParentRunID, Modern: r.turn.Modern,
		RequestID: r.turn.RequestID, Names: r.names, Prelude: prelude,
		Client: func(name string) bool { return r.offer.Owner(name) == tool.Client },
	})
}

// stillOpen lists the shown ids of calls that wait, in call order.
func stillOpen(led *ledger) (ids []string) {
	for _, rd := range led.rounds {
		for _, inv := range rd.OpenCalls() {
			ids = append(ids, inv.ShownID)
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
