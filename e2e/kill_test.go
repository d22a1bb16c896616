package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// crash is one row of the table in docs/continuation.md: a moment, and who
// continues the round.
type crash struct {
	when, by string
	agent    string // whose upstream can be held at that moment
	script   script
	answer   func(k *killing, th *crashed) // brings the thread to the moment
}

// Who continues, as the table says it.
const (
	nobodyYet = "nobody yet"
	byClient  = "client"
	byGateway = "gateway"
	leftTo    = "left to the client"
)

var crashes = []crash{
	{when: "the call is recorded, its run still streams", by: nobodyYet, agent: "plain", script: script{opening: actHold}},
	{when: "the call waits for its client", by: nobodyYet, agent: "plain"},
	{when: "answered while its run still streams", by: byGateway, agent: "plain", script: script{opening: actHold}, answer: (*killing).resolved},
	{when: "answered while its run still streams", by: byClient, agent: "plain", script: script{opening: actHold}, answer: (*killing).carried},
	{when: "answered, the agent not asked yet", by: byGateway, agent: "gated", answer: (*killing).resolvedAtGate},
	{when: "answered, the agent not asked yet", by: byClient, agent: "gated", answer: (*killing).carriedToGate},
	{when: "answered, the agent not asked yet", by: leftTo, agent: "plain", answer: (*killing).left},
	{when: "answered, the agent is down", by: byGateway, agent: "down", answer: (*killing).resolvedDown},
	{when: "answered, the agent is down", by: byClient, agent: "down", answer: (*killing).carriedDown},
	{when: "sent, the agent has answered nothing", by: byGateway, agent: "plain", script: script{reply: actSilent}, answer: (*killing).resolvedAsked},
	{when: "sent, the agent has answered nothing", by: byClient, agent: "plain", script: script{reply: actSilent}, answer: (*killing).carriedAsked},
	{when: "in the middle of the reply", by: byGateway, agent: "plain", script: script{reply: actHalf}, answer: (*killing).resolvedHalf},
	{when: "in the middle of the reply", by: byClient, agent: "plain", script: script{reply: actHalf}, answer: (*killing).carriedHalf},
}

// crashed is a thread at one of the moments. Each moment has two: one on which the
// client then sends its run again, one on which an operator asks to continue.
type crashed struct {
	*crash
	id    string
	inv   string // public id of its call
	body  []byte // of the client's run: the one that carried the answer, where there was one
	asked int    // how often the agent had been asked with the answer before the kill
	total int    // how often it had been when the thread's own test was over
	found finding
}

// finding is a row of the table, as the test finds it.
type finding struct {
	when, by   string
	call       string // state of the call after the restart, and its delivery
	thread     string // status, and what it shows of the conversation
	asked      string // how often the agent got the answer: before the kill, after it by itself
	equal      string // what the client's run gets when it is sent again
	continuing string // what POST …/continue does
}

// killing is one gateway that is killed and started again on its directory.
type killing struct {
	*testing.T
	gateway *gateway
	agents  map[string]*scripted
	threads []*crashed
}

const killConfiguration = `
listen: 127.0.0.1:0
admin: {listen: 127.0.0.1:0}
store: {nats: embedded, dir: %q}
agents:
  plain: {upstream: {kind: agui, url: %q}}
  gated: {upstream: {kind: agui, url: %q, timeouts: {connect: 5m}}}
  down: {upstream: {kind: agui, url: %q}}
`

// TestKill kills a gateway while threads are at every moment of a call's life,
// starts another on the same directory, and finds out what became of each. The
// table in docs/continuation.md is what it finds [INV-11, INV-12]: nothing that was
// accepted is lost, nothing that went out is sent again by itself.
func TestKill(t *testing.T) {
	k := &killing{T: t, agents: map[string]*scripted{"plain": newScripted(), "gated": behindGate(), "down": newScripted()}}
	k.agents["plain"].Start()
	k.agents["down"].listen(t)
	for _, a := range k.agents {
		t.Cleanup(func() { a.Close() })
	}
	t.Cleanup(k.agents["gated"].gate.lift)
	t.Setenv("SSL_CERT_FILE", k.agents["gated"].trusted(t))
	dir := t.TempDir()
	file := filepath.Join(dir, "aguigate.yaml")
	text := fmt.Sprintf(killConfiguration, filepath.Join(dir, "data"), k.agents["plain"].URL, k.agents["gated"].URL, k.agents["down"].URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k.start(file)
	k.reach()
	k.gateway.kill()
	for _, a := range k.agents {
		a.secondLife()
	}
	k.agents["gated"].gate.lift()
	k.start(file)
	k.settleDown()
	for _, th := range k.threads {
		k.look(th)
	}
	for _, th := range k.threads {
		t.Run(strings.ReplaceAll(th.id, "_", "/"), func(t *testing.T) { k.goOn(t, th) })
	}
	k.compare()
	for _, th := range k.threads { // nothing more came of it
		if list, _ := k.agents[th.agent].asked(th.id); withResult(list) != th.total {
			t.Errorf("%s: the agent got the answer %d times in the end, it was %d", th.id, withResult(list), th.total)
		}
	}
}

func (k *killing) start(file string) {
	k.Helper()
	g, err := runGateway("serve", "--config", file)
	if err != nil {
		k.Fatal(err)
	}
	k.gateway = g
	k.Cleanup(func() {
		g.kill()
		if err := g.clean(); err != nil {
			k.Error(err)
		}
	})
	g.logsOnFailure(k.T)
}

// reach brings two threads to every moment. Each stays there until the kill.
func (k *killing) reach() {
	k.Helper()
	for n := range crashes {
		c := &crashes[n]
		for _, then := range []string{"equal", "continue"} {
			th := &crashed{crash: c, id: fmt.Sprintf("%02d_%s", n, then)}
			k.threads = append(k.threads, th)
			k.agents[c.agent].play(th.id, c.script)
			k.ask(th)
		}
	}
	k.agents["gated"].gate.shut()
	k.agents["down"].Close()
	for _, th := range k.threads {
		if th.answer != nil {
			th.answer(k, th)
		}
		list, _ := k.agents[th.agent].asked(th.id)
		th.asked = withResult(list)
	}
}

// ask opens the thread's call and holds until its client has been shown it: then it
// is recorded [INV-1].
func (k *killing) ask(th *crashed) {
	k.Helper()
	th.body = turn(th.id, "r1-"+th.id, "")
	s := openStream(k.T, "POST", k.gateway.run(th.agent), th.body)
	if th.script.opening == actHold {
		s.until("TOOL_CALL_END")
	} else {
		s.until("RUN_FINISHED")
	}
	list := k.gateway.invocations(k.T, th.agent, th.id, "open")
	if len(list) != 1 || list[0].Released != (th.script.opening == actEnd) {
		k.Fatalf("%s: the open calls are %+v", th.id, list)
	}
	th.inv = list[0].ID
}

// settleDown waits until the second gateway has done by itself what it does. The
// agent that is down comes up once the first look at what waits has tried it in
// vain, so it is the second look that finds it: whatever a look would send has been
// sent by then.
func (k *killing) settleDown() {
	k.Helper()
	var down []*crashed
	for _, th := range k.threads {
		if th.agent == "down" {
			down = append(down, th)
		}
	}
	for _, th := range down {
		become(k.T, "the first look finds the agent down", func() bool { return k.unreachable(th) > 0 })
	}
	k.agents["down"].listen(k.T)
	for _, th := range down {
		become(k.T, "the second look finds it up again", func() bool {
			return k.gateway.invocation(k.T, th.inv, "").Delivery == "delivered"
		})
	}
	for _, th := range k.threads {
		become(k.T, "nothing runs on "+th.id, func() bool { return k.gateway.thread(k.T, th.id).Status != "running" })
	}
}

// unreachable counts this gateway's runs of a thread that could not reach the agent.
func (k *killing) unreachable(th *crashed) (n int) {
	for text := range strings.Lines(k.gateway.errors.String()) {
		if strings.Contains(text, "thread="+th.id+" ") && strings.Contains(text, "code=upstream_unreachable") {
			n++
		}
	}
	return n
}

// withResult counts the requests that brought the agent an answer.
func withResult(list []asked) (n int) {
	for _, a := range list {
		if len(a.results) > 0 {
			n++
		}
	}
	return n
}

// look writes down what the restart has left of a thread.
func (k *killing) look(th *crashed) {
	k.Helper()
	inv, state := k.gateway.invocation(k.T, th.inv, ""), k.gateway.thread(k.T, th.id)
	if len(state.Invocations) != 1 || state.Invocations[0].ID != inv.ID || state.Invocations[0].Delivery != inv.Delivery {
		k.Errorf("%s: the thread shows the calls %+v, the call is %+v", th.id, state.Invocations, inv)
	}
	list, _ := k.agents[th.agent].asked(th.id)
	th.found = finding{when: th.when, by: th.by, call: inv.State, thread: state.Status + ": " + told(state.Messages),
		asked: "never"}
	if inv.State == "settled" {
		if inv.Outcome != "ok" {
			k.Errorf("%s: the call is %+v", th.id, inv)
		}
		th.found.call += ", " + inv.Delivery
		if len(list) > 1 {
			th.found.asked = fmt.Sprintf("%s before, %s after", times(th.asked), times(withResult(list)-th.asked))
		}
	}
	if last := list[len(list)-1]; withResult(list) > th.asked && (last.parent != "r1-"+th.id || last.run == "r2-"+th.id) {
		k.Errorf("[INV-11] the gateway's own run is %s, its parent %q", last.run, last.parent)
	}
}

func times(n int) string {
	if n < 3 {
		return []string{"never", "once", "twice"}[n]
	}
	return fmt.Sprint(n, " times")
}

// told names what a thread shows of the conversation.
func told(list []threadMessage) string {
	var out []string
	for _, m := range list {
		var text string
		_ = json.Unmarshal(m.Content, &text)
		switch {
		case m.Role == "user":
			out = append(out, "question")
		case m.Role == "tool":
			out = append(out, "result")
		case len(m.ToolCalls) > 0:
			out = append(out, "call")
		case text == halfReply:
			out = append(out, "half a reply")
		case text == wholeReply:
			out = append(out, "reply")
		default:
			out = append(out, m.Role+" "+string(m.Content))
		}
	}
	return strings.Join(out, ", ")
}

// compare holds what was found against the page.
func (k *killing) compare() {
	k.Helper()
	var rows []finding
	for i := 0; i+1 < len(k.threads); i += 2 {
		one, other := k.threads[i].found, k.threads[i+1].found
		row := one
		row.continuing = other.continuing
		other.equal, one.continuing = one.equal, other.continuing
		if one != other {
			k.Errorf("two threads at one moment differ: %+v, %+v", one, other)
		}
		rows = append(rows, row)
	}
	if page := documented(k.T); !slices.Equal(page, rows) {
		k.Errorf("docs/continuation.md does not say what was found, which is\n\n%s", table(rows))
	}
}
