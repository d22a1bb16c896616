package main

import (
	"time"

	"github.com/aguigate/aguigate/bench/stream"
)

// scenario is one kind of traffic. Its name is also the agent's name.
type scenario struct {
	name, what    string
	clients, runs int
	spec          stream.Spec
}

// path is where clients post runs, with nginx and aguigate alike.
func (s scenario) path() string { return "/agents/" + s.name + "/run" }

// generatorPath is the same stream at the generator.
func (s scenario) generatorPath() string { return "/run?" + s.spec.Query() }

// scenarios are the streams that are timed. quick shortens them to what shows
// that everything works; its numbers mean little.
func scenarios(quick bool) []scenario {
	all := []scenario{
		{name: "burst", what: "32 KiB of events a write, as fast as they go", clients: 4, runs: 30,
			spec: stream.Spec{Events: 20_000, Delta: 32}},
		{name: "flush", what: "one event a write, as fast as they go", clients: 8, runs: 4,
			spec: stream.Spec{Events: 5_000, Delta: 32, Group: 1}},
		{name: "paced", what: "one event a write, a write every 10 ms", clients: 64, runs: 1,
			spec: stream.Spec{Events: 300, Delta: 32, Group: 1, Pause: 10 * time.Millisecond}},
		{name: "grouped", what: "four events a write, a write every 10 ms", clients: 64, runs: 1,
			spec: stream.Spec{Events: 1_200, Delta: 32, Group: 4, Pause: 10 * time.Millisecond}},
		{name: "short", what: "runs of 20 events, one after the other", clients: 8, runs: 200,
			spec: stream.Spec{Events: 16, Delta: 32}},
	}
	if !quick {
		return all
	}
	for i := range all {
		s := &all[i]
		s.clients, s.runs = min(s.clients, 4), min(s.runs, 2)
		s.spec.Events = min(s.spec.Events, 100)
	}
	return all
}

// idle is the scenario whose memory is measured: streams that have begun and
// are silent.
func idle(quick bool) scenario {
	s := scenario{name: "idle", what: "streams that have begun and are silent", clients: 500, runs: 1,
		spec: stream.Spec{Delta: stream.MinDelta, Hold: 8 * time.Second}}
	if quick {
		s.clients, s.spec.Hold = 20, 1500*time.Millisecond
	}
	return s
}
