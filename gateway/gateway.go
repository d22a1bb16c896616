// Package gateway is the core: it owns threads, merges tools, matches results
// and moves runs. It knows no dialect: frontends hand it a Turn, upstreams give
// it frames.
package gateway

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// Options is what a gateway is made of.
type Options struct {
	Config    *config.Config
	Store     *store.Store
	Upstreams map[string]upstream.Factory // by kind
	Log       *slog.Logger
	Now       func() time.Time // nil is time.Now
}

// Gateway is the core. It is safe for concurrent use.
type Gateway struct {
	conf     *config.Config
	store    *store.Store
	log      *slog.Logger
	now      func() time.Time
	keys     *keyring
	agents   []*agent
	byName   map[string]*agent
	metrics  *metrics
	instance string // this process, among all that share the store
	stripes  stripes
	active   activeRuns
	drain    drainState
	pages    *lru.Cache[string, closedPages]
	finished *lru.Cache[string, *tool.Round]
	watched  watched
	duties   duties
	orphans  map[string]bool // spaces that had pages and no thread when retire looked last; it alone has it

	background  sync.WaitGroup // what Start began, and the gateway's own runs
	spawning    sync.Mutex     // nothing is begun once closing is closed
	closing     chan struct{}
	closeOnce   sync.Once
	unsubscribe func()
}

var _ frontend.Gateway = (*Gateway)(nil)

// New builds the agents of a configuration. It dials nobody.
func New(o Options) (*Gateway, error) {
	g := &Gateway{
		conf: o.Config, store: o.Store, log: o.Log, now: o.Now,
		keys: newKeyring(o.Config.Auth), byName: map[string]*agent{},
		metrics: newMetrics(), instance: newID(), closing: make(chan struct{}),
	}
	g.pages, _ = lru.New[string, closedPages](cachedThreads) // fails for a size below one only
	g.finished, _ = lru.New[string, *tool.Round](finishedRounds)
	g.stripes.seed = maphash.MakeSeed()
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.now == nil {
		g.now = time.Now
	}
	for _, c := range o.Config.Agents {
		factory := o.Upstreams[c.Upstream.Kind]
		if factory == nil {
			return nil, fault.New(fault.InvalidRequest, "agents.%s.upstream.kind: %q is not built in", c.Name, c.Upstream.Kind)
		}
		opts := g.upstreamOptions(c)
		up, err := factory(opts)
		if err != nil {
			return nil, err
		}
		a, err := newAgent(c, g.toolLimits(), up)
		if err != nil {
			return nil, err
		}
		a.in, a.out = g.metrics.traffic(a.name, "up"), g.metrics.traffic(a.name, "down")
		g.agents = append(g.agents, a)
		g.byName[a.name] = a
		g.metrics.known(a.name)
	}
	return g, nil
}

func (g *Gateway) upstreamOptions(c config.Agent) upstream.Options {
	o := upstream.Options{
		Agent: c.Name, URL: c.Upstream.URL, Protocol: c.Upstream.Protocol, Encoding: c.Upstream.Encoding,
		EventLimit: int(g.conf.Limits.Event), Idempotent: c.Upstream.Idempotent, Log: g.log,
		Timeouts: upstream.Timeouts{
			Connect: c.Upstream.Timeouts.Connect, FirstByte: c.Upstream.Timeouts.FirstByte,
			Idle: c.Upstream.Timeouts.Idle, Total: c.Upstream.Timeouts.Total,
		},
		FirstByte: func(d time.Duration) { g.metrics.firstByte.WithLabelValues(c.Name).Observe(d.Seconds()) },
	}
	for _, h := range c.Upstream.Headers {
		o.Headers = append(o.Headers, upstream.Header{Name: h.Name, Value: h.Value})
	}
	return o
}

func (g *Gateway) toolLimits() tool.Limits {
	l := g.conf.Limits
	return tool.Limits{
		Tools: int(l.Tools), ToolSchema: int(l.ToolSchema), ToolDescription: int(l.ToolDescription),
		Result: int(l.Result), ErrorChars: int(l.ErrorChars),
	}
}

// Authenticate finds the principal behind a request's credential and the subject
// it wants to act for, each "" when not sent [OWN-2, OWN-4].
func (g *Gateway) Authenticate(secret, identity string) (principal.Principal, error) {
	p, err := g.keys.authenticate(secret, identity)
	if err == nil && (p.Has(principal.Operator) || p.Has(principal.Machine)) {
		g.log.Info("privileged credential used", "key", p.Key, "tenant", p.Tenant, "subject", p.Subject)
	}
	return p, err
}

// Reject counts a refusal.
func (g *Gateway) Reject(code fault.Code) { g.metrics.reject(code) }

// Agents lists the agents the caller may use.
func (g *Gateway) Agents(p principal.Principal) []frontend.Agent {
	var out []frontend.Agent
	for _, a := range g.agents {
		if a.allows(p) {
			out = append(out, a.public())
		}
	}
	return out
}

// Agent finds one agent the caller may use.
func (g *Gateway) Agent(p principal.Principal, name string) (frontend.Agent, error) {
	a, err := g.agentFor(p, name)
	if err != nil {
		return frontend.Agent{}, err
	}
	return a.public(), nil
}

// agentFor does not tell an agent that is not there from one that is not for the
// caller [OWN-3].
func (g *Gateway) agentFor(p principal.Principal, name string) (*agent, error) {
	a := g.byName[name]
	if a == nil || !a.allows(p) {
		return nil, fault.New(fault.AgentNotFound, "there is no such agent")
	}
	return a, nil
}

// Probe asks every upstream that can be asked, for check --probe.
func (g *Gateway) Probe(ctx context.Context, say func(agent, answer string, err error)) {
	for _, a := range g.agents {
		p, ok := a.up.(upstream.Prober)
		if !ok {
			say(a.name, "has nothing to dial", nil)
			continue
		}
		answer, err := p.Probe(ctx)
		say(a.name, answer, err)
	}
}

// activeRuns are the runs this process moves.
type activeRuns struct {
	mu   sync.Mutex
	runs map[string]*liveRun // by round key
	idle chan struct{}       // closed when the last one ends during a drain
}

func (a *activeRuns) add(r *liveRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.runs == nil {
		a.runs = map[string]*liveRun{}
	}
	a.runs[r.state.Round] = r
}

func (a *activeRuns) remove(r *liveRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.runs, r.state.Round)
	if len(a.runs) == 0 && a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
}

func (a *activeRuns) has(round string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.runs[round] != nil
}

// of gives the run with that key, nil for one of another process.
func (a *activeRuns) of(round string) *liveRun {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.runs[round]
}

func (a *activeRuns) all() []*liveRun {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]*liveRun, 0, len(a.runs))
	for _, r := range a.runs {
		out = append(out, r)
	}
	return out
}

// whenIdle gives a channel that is closed once no run is active.
func (a *activeRuns) whenIdle() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	done := make(chan struct{})
	if len(a.runs) == 0 {
		close(done)
		return done
	}
	a.idle = done
	return done
}

// left cancels a run whose client has gone [RUN-10], unless others read it too, or it
// is detached. It reports whether the run goes on.
func (a *activeRuns) left(r *liveRun, cause error, detach bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.gone = true
	if !detach && !r.followedNow() {
		r.cancel(cause)
		return false
	}
	return true
}

// read notes a reader of the run with that key on another replica.
func (a *activeRuns) read(key string, until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.runs[key]; r != nil {
		r.remote = until
	}
}

// followedNow reports a run that somebody else reads too. The lock is held.
func (r *liveRun) followedNow() bool { return r.followers > 0 || r.g.now().Before(r.remote) }

// follow notes that reader reads the run with that key until the func it gives is
// called.
func (a *activeRuns) follow(reader *liveRun, key string) (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	reader.following = key
	r := a.runs[key]
	if r == nil {
		return func() {}
	}
	r.followers++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		r.followers-- // a run without its client looks now and then whether anybody reads it
	}
}

// followed reports a run that somebody else reads too.
func (a *activeRuns) followed(r *liveRun) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return r.followedNow()
}

// wasStopped reports a run that somebody has stopped.
func (a *activeRuns) wasStopped(r *liveRun) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return errors.Is(r.stopCause, errStopped)
}

// arm gives a run the means to be stopped; stop uses them.
func (a *activeRuns) arm(r *liveRun, cancel context.CancelCauseFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.cancel = cancel
	if r.stopCause != nil {
		cancel(r.stopCause)
	}
}

func (a *activeRuns) stop(r *liveRun, cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.stopCause == nil {
		r.stopCause = cause
	}
	if r.cancel != nil {
		r.cancel(cause)
	}
}
