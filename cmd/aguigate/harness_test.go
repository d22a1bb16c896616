package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/protocol/agui"
)

// world is a whole gateway over loopback, made by the same start as serve's.
type world struct {
	t     *testing.T
	url   string
	admin string
	in    *instance
	logs  *safeBuffer
}

// safeBuffer takes the log of a running gateway.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

const testKeys = `
auth:
  mode: keys
  keys:
    - {id: alice, secret: alice-secret-0123456789, tenant: acme}
    - {id: bob, secret: bob-secret-0123456789ab, tenant: acme}
    - {id: carol, secret: carol-secret-0123456789, tenant: other}
    - {id: backend, secret: backend-secret-0123456, tenant: acme, roles: [machine]}
    - {id: oncall, secret: oncall-secret-01234567, tenant: acme, roles: [operator]}
`

var secrets = map[string]string{
	"alice": "alice-secret-0123456789", "bob": "bob-secret-0123456789ab", "carol": "carol-secret-0123456789",
	"backend": "backend-secret-0123456", "oncall": "oncall-secret-01234567",
}

// begin starts a gateway from a configuration without its listeners and store.
func begin(t *testing.T, yaml string) *world {
	t.Helper()
	return beginIn(t, "memory", yaml)
}

func beginIn(t *testing.T, dir, yaml string) *world {
	t.Helper()
	return beginOn(t, "dir: "+dir, yaml)
}

// beginOn starts a gateway on a store of any kind.
func beginOn(t *testing.T, store, yaml string) *world {
	t.Helper()
	text := "listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\nstore: {" + store + "}\ndrain: 1s\n" + yaml
	c, err := config.Parse("test.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("configuration: %v", err)
	}
	w := &world{t: t, logs: &safeBuffer{}}
	var out bytes.Buffer
	w.in, err = start(context.Background(), c, slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), &out)
	if err != nil {
		t.Fatal(err)
	}
	var host, admin string
	if _, err := fmt.Sscanf(out.String(), "aguigate ready listen=%s admin=%s\n", &host, &admin); err != nil {
		t.Fatalf("ready line %q: %v", out.String(), err)
	}
	w.url, w.admin = "http://"+host, "http://"+admin
	t.Cleanup(w.end)
	return w
}

func (w *world) end() {
	if w.in == nil {
		return
	}
	if err := w.in.stop(); err != nil {
		w.t.Errorf("stop: %v", err)
	}
	w.in = nil
	if w.t.Failed() {
		w.t.Logf("gateway log:\n%s", w.logs)
	}
}

// reply is one answer, read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) code() string { return r.header.Get("X-Aguigate-Code") }

// field reads a dotted path of the JSON body.
func (r reply) field(path string) any {
	var v any
	if json.Unmarshal([]byte(r.body), &v) != nil {
		return nil
	}
	for key := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

type call struct {
	method, path, body string
	as                 string // key id, "" for nobody
	header             map[string]string
}

func (w *world) do(c call) reply {
	w.t.Helper()
	r, err := w.try(c)
	if err != nil {
		w.t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	return r
}

func (w *world) try(c call) (reply, error) {
	res, err := w.open(c)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: string(b)}, err
}

var testClient = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func (w *world) open(c call) (*http.Response, error) {
	req, err := http.NewRequest(c.method, w.url+c.path, strings.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	if c.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.as != "" {
		req.Header.Set("Authorization", "Bearer "+secrets[c.as])
	}
	for k, v := range c.header {
		req.Header.Set(k, v)
		if k == "Host" {
			req.Host = v
		}
		if v == "" {
			req.Header.Del(k)
		}
	}
	return testClient.Do(req)
}

// locate is the tool the demo agent calls.
const locate = `{"name":"get_location","description":"the city","parameters":{"type":"object"}}`

// input writes a RunAgentInput.
func input(thread, run, tools string, messages ...string) string {
	return fmt.Sprintf(`{"threadId":%q,"runId":%q,"protocolVersion":"1.0","state":{},"context":[],"forwardedProps":{},"tools":[%s],"messages":[%s]}`,
		thread, run, tools, strings.Join(messages, ","))
}

func user(id, text string) string {
	return fmt.Sprintf(`{"id":%q,"role":"user","content":%q}`, id, text)
}

func assistant(id string, calls ...string) string {
	return fmt.Sprintf(`{"id":%q,"role":"assistant","toolCalls":[%s]}`, id, strings.Join(calls, ","))
}

func toolCall(id, name string) string {
	return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":"{}"}}`, id, name)
}

func result(id, call, content string) string {
	return fmt.Sprintf(`{"id":%q,"role":"tool","toolCallId":%q,"content":%q}`, id, call, content)
}

// events reads a stream's frames and holds them against the order rules.
func (w *world) events(body string) []agui.Frame {
	w.t.Helper()
	var frames []agui.Frame
	var order agui.Sequence
	d := agui.NewSSEDecoder(1 << 20)
	err := d.Feed([]byte(body), func(data []byte) error {
		f, err := agui.ParseFrame(append([]byte(nil), data...))
		if err != nil {
			return err
		}
		frames = append(frames, f)
		return order.Push(f)
	})
	if err == nil {
		err = order.End()
	}
	if err != nil {
		w.t.Errorf("the stream is not well formed: %v\n%s", err, body)
	}
	return frames
}

// run posts an input and gives the frames of its stream.
func (w *world) run(as, agent, body string) []agui.Frame {
	w.t.Helper()
	r := w.do(call{method: "POST", path: "/agents/" + agent + "/run", body: body, as: as})
	if r.status != 200 {
		w.t.Fatalf("run: %d %s", r.status, r.body)
	}
	return w.events(r.body)
}

// text joins what a run said.
func text(frames []agui.Frame) string {
	out := ""
	for _, f := range frames {
		if f.Type == agui.TextMessageContent {
			out += f.Text("delta")
		}
	}
	return out
}

func last(frames []agui.Frame) agui.Frame { return frames[len(frames)-1] }

// waiting opens a call on a thread by the demo agent and gives its ids.
func (w *world) waiting(as, agent, thread string) (public, shown, message string) {
	w.t.Helper()
	frames := w.run(as, agent, input(thread, "run-"+thread, locate, user("u-"+thread, "where am I")))
	for _, f := range frames {
		if f.Type == agui.ToolCallStart {
			shown, message = f.Text("toolCallId"), f.Text("parentMessageId")
		}
	}
	r := w.do(call{method: "GET", path: "/v1/threads/" + thread + "/invocations?state=open&agent=" + agent, as: as})
	var list struct{ Invocations []struct{ ID string } }
	if err := json.Unmarshal([]byte(r.body), &list); err != nil || len(list.Invocations) != 1 {
		w.t.Fatalf("one open invocation expected: %v %s", err, r.body)
	}
	return list.Invocations[0].ID, shown, message
}

// backend is an AG-UI server of the test's own, for what no real peer does on
// purpose. It records every request's body.
type backend struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	heads  []http.Header
}

func serveBackend(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, body string)) *backend {
	b := &backend{}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.bodies = append(b.bodies, string(body))
		b.heads = append(b.heads, r.Header.Clone())
		b.mu.Unlock()
		answer(w, r, string(body))
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *backend) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.bodies...)
}

func (b *backend) head(i int) http.Header {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.heads[i]
}

// say writes raw SSE and flushes.
func say(w http.ResponseWriter, frames ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, f := range frames {
		_, _ = io.WriteString(w, "data: "+f+"\n\n")
	}
	w.(http.Flusher).Flush()
}

func agent(name, url, more string) string {
	return "agents:\n  " + name + ":\n    upstream: {kind: agui, url: " + url + ", timeouts: {connect: 1s, first_byte: 1s, idle: 1s}}\n" + more
}
