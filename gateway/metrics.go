package gateway

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/aguigate/aguigate/protocol/fault"
)

// metrics is the gateway's own registry [OPS-2]. Label values come from the
// configuration and from closed lists, never from a client.
type metrics struct {
	registry   *prometheus.Registry
	runs       *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	activeRuns *prometheus.GaugeVec
	events     *prometheus.CounterVec
	bytes      *prometheus.CounterVec
	calls      *prometheus.CounterVec
	open       *prometheus.GaugeVec
	wait       *prometheus.HistogramVec
	firstByte  *prometheus.HistogramVec
	repairs    *prometheus.CounterVec
	rejected   *prometheus.CounterVec
	ignored    *prometheus.CounterVec
	unclaimed  *prometheus.CounterVec
}

// Buckets in seconds: a run takes from an echo's milliseconds to a long job's
// quarter of an hour; an answer of a person takes longer still.
var (
	runBuckets  = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900}
	waitBuckets = []float64{.05, .25, 1, 5, 15, 60, 300, 1800, 7200, 86400}
	byteBuckets = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 15, 60, 300}
)

func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(v)
		return v
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(v)
		return v
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(v)
		return v
	}
	m.runs = counter("aguigate_runs_total", "Runs that ended, by how.", "agent", "frontend", "upstream", "outcome")
	m.duration = histogram("aguigate_run_duration_seconds", "Time from a run's acceptance to its end.", runBuckets, "agent")
	m.activeRuns = gauge("aguigate_active_runs", "Runs in progress in this process.", "agent")
	m.events = counter("aguigate_events_total", "Events received from upstreams (up) and sent to clients (down).", "agent", "direction")
	m.bytes = counter("aguigate_event_bytes_total", "Bytes of event JSON received from upstreams (up) and sent to clients (down).", "agent", "direction")
	m.calls = counter("aguigate_invocations_total", "Client tool invocations, by what became of them; opened counts each once.", "agent", "outcome")
	m.open = gauge("aguigate_open_invocations", "Invocations waiting for a client, as this process has seen them open and end.", "agent")
	m.wait = histogram("aguigate_invocation_wait_seconds", "Time from an invocation's opening to its accepted answer.", waitBuckets, "agent")
	m.firstByte = histogram("aguigate_upstream_first_byte_seconds", "Time from the request to the upstream's first event.", byteBuckets, "agent")
	m.repairs = counter("aguigate_repairs_total", "Changes the gateway made to keep a stream or history well formed.", "agent", "kind")
	m.rejected = counter("aguigate_rejected_total", "Requests refused, by code.", "code")
	m.ignored = counter("aguigate_tools_ignored_total", "Advertised tools left out because the name is taken or denied.", "agent")
	m.unclaimed = counter("aguigate_calls_unclaimed_total", "Client tool calls whose tool nobody connected had advertised.", "agent")
	sockets := prometheus.NewGauge(prometheus.GaugeOpts{Name: "aguigate_ws_connections", Help: "Open WebSockets. This version serves none."})
	m.registry.MustRegister(sockets, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// known makes an agent's series appear at zero before anything happened.
func (m *metrics) known(agent string) {
	m.activeRuns.WithLabelValues(agent)
	m.open.WithLabelValues(agent)
	m.ignored.WithLabelValues(agent)
	m.unclaimed.WithLabelValues(agent)
}

func (m *metrics) openCalls(agent string, delta int) {
	if delta != 0 {
		m.open.WithLabelValues(agent).Add(float64(delta))
	}
}

func (m *metrics) ended(agent, outcome string, waited time.Duration) {
	m.calls.WithLabelValues(agent, outcome).Inc()
	if waited > 0 {
		m.wait.WithLabelValues(agent).Observe(waited.Seconds())
	}
}

// traffic counts the events of one agent in one direction, and the bytes of their
// JSON. It is found once, not for every batch.
type traffic struct{ events, bytes prometheus.Counter }

func (m *metrics) traffic(agent, direction string) traffic {
	return traffic{m.events.WithLabelValues(agent, direction), m.bytes.WithLabelValues(agent, direction)}
}

func (t traffic) moved(events, bytes int) {
	if events > 0 {
		t.events.Add(float64(events))
		t.bytes.Add(float64(bytes))
	}
}

// run counts a run's end.
func (m *metrics) run(r *liveRun, outcome string) {
	a := r.agent.name
	m.activeRuns.WithLabelValues(a).Dec()
	m.runs.WithLabelValues(a, r.turn.Frontend, r.agent.conf.Upstream.Kind, outcome).Inc()
	m.duration.WithLabelValues(a).Observe(r.g.now().Sub(r.begun).Seconds())
	m.ignored.WithLabelValues(a).Add(float64(len(r.offer.Ignored)))
	if r.machine == nil {
		return
	}
	for kind, n := range r.machine.Repairs() {
		m.repairs.WithLabelValues(a, kind).Add(float64(n))
	}
	if r.chain != nil {
		for kind, n := range r.chain.Counts() {
			m.repairs.WithLabelValues(a, kind).Add(float64(n))
		}
	}
	if r.reshaped > 0 {
		m.repairs.WithLabelValues(a, "profile").Add(float64(r.reshaped))
	}
}

// reject counts a refusal; an unknown code would be a client's text and is not
// taken as a label.
func (m *metrics) reject(code fault.Code) {
	if !code.Known() {
		code = fault.Internal
	}
	m.rejected.WithLabelValues(string(code)).Inc()
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
