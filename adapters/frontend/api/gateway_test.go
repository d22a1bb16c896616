package api

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/goleak"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
	"github.com/aguigate/aguigate/protocol/tool"
)

// What the carrier's engine keeps cannot be ended, see package carrier's tests.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

var (
	day  = time.Date(2026, 5, 4, 3, 2, 1, 987_654_321, time.UTC)
	open = &tool.Invocation{ID: "inv_a", ShownID: "c1", Tool: "pick", Arguments: `{"a": 1.0}`, State: tool.Open, Created: day}
)

// book is a gateway that knows the thread "t1" of agent "shop", says what it was
// asked, and answers the same each time.
type book struct {
	frontend.Gateway
	mu     sync.Mutex
	asked  []string
	stream *stream // what Events gives
}

func (b *book) note(p principal.Principal, format string, args ...any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, p.Subject+" "+fmt.Sprintf(format, args...))
	return nil
}

// seen gives what was asked since the last time.
func (b *book) seen() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := strings.Join(b.asked, "; ")
	b.asked = nil
	return s
}

func known(ref frontend.ThreadRef) error {
	if ref.Thread == "t/1" || ref.Thread == "t1" {
		return nil
	}
	return fault.New(fault.ThreadNotFound, "there is no such thread")
}

func (b *book) Threads(_ context.Context, p principal.Principal, agent string, page frontend.Page) ([]frontend.Thread, frontend.Cursor, error) {
	_ = b.note(p, "threads %q %d %q", agent, page.Limit, page.Cursor)
	switch page.Cursor {
	case "bad":
		return nil, "", fault.New(fault.InvalidRequest, "this is no cursor of this list").At("cursor")
	case "end":
		return nil, "", nil
	}
	return []frontend.Thread{
		{ID: `t"2`, Agent: "shop", Status: frontend.Running, Run: "r9", Created: day, Active: day.Add(time.Minute)},
		{ID: "t1", Agent: "shop", Status: frontend.Idle, Created: day},
	}, "next\"1", nil
}

func (b *book) Thread(_ context.Context, p principal.Principal, ref frontend.ThreadRef) (*frontend.Thread, error) {
	_ = b.note(p, "thread %q %q", ref.Thread, ref.Agent)
	if ref.Thread == "empty" {
		return &frontend.Thread{ID: "empty", Agent: "shop", Status: frontend.Idle, Created: day, Active: day}, nil
	}
	return &frontend.Thread{
		ID: ref.Thread, Agent: "shop", Status: frontend.Waiting, Created: day, Active: day,
		Messages: []agui.Message{
			{Raw: []byte(`{"id":"u1","role":"user","content":"hi","x":1.0}`)},
			{Raw: []byte(`{"id":"a1", "role":"assistant"}`)},
		},
		Invocations: []*tool.Invocation{open},
	}, known(ref)
}

func (b *book) DeleteThread(_ context.Context, p principal.Principal, ref frontend.ThreadRef) error {
	_ = b.note(p, "delete %q %q", ref.Thread, ref.Agent)
	return known(ref)
}

func (b *book) Continue(_ context.Context, p principal.Principal, ref frontend.ThreadRef) (string, error) {
	_ = b.note(p, "continue %q %q", ref.Thread, ref.Agent)
	return `r"2`, known(ref)
}

func (b *book) Stop(_ context.Context, p principal.Principal, ref frontend.ThreadRef, run string) (bool, error) {
	_ = b.note(p, "stop %q %q %q", ref.Thread, ref.Agent, run)
	return run != "gone", known(ref)
}

func (b *book) Invocations(_ context.Context, p principal.Principal, ref frontend.ThreadRef, state tool.State) ([]*tool.Invocation, error) {
	_ = b.note(p, "invocations %q %q %q", ref.Thread, ref.Agent, state)
	return []*tool.Invocation{open}, known(ref)
}

func (b *book) AllInvocations(_ context.Context, p principal.Principal, q frontend.InvocationQuery) ([]*tool.Invocation, frontend.Cursor, error) {
	_ = b.note(p, "all %q %q %d %q", q.State, q.Tool, q.Limit, q.Cursor)
	if q.Cursor == "end" {
		return nil, "", nil
	}
	return []*tool.Invocation{open, open}, "c2", nil
}

func (b *book) Resolve(_ context.Context, p principal.Principal, id string, a frontend.Answer) (frontend.Resolved, error) {
	_ = b.note(p, "resolve %s leave=%v", id, a.Leave)
	return frontend.Resolved{Invocation: open}, nil
}

func (b *book) ResolveAll(_ context.Context, p principal.Principal, ref frontend.ThreadRef, answers []frontend.Answer) ([]frontend.Resolved, error) {
	for _, a := range answers {
		_ = b.note(p, "resolve %q %q %s leave=%v", ref.Thread, ref.Agent, a.ID, a.Leave)
	}
	return []frontend.Resolved{{Invocation: open, Replayed: true}}, known(ref)
}

func (b *book) Events(_ context.Context, p principal.Principal, ref frontend.ThreadRef, last string) (frontend.Events, error) {
	_ = b.note(p, "events %q %q %q", ref.Thread, ref.Agent, last)
	return b.stream, known(ref)
}

// site is the frontend of a book on a loopback port; the key "k" is ann's.
type site struct {
	t    *testing.T
	addr string
	*book
	client *http.Client
}

func serve(t *testing.T, o carrier.Options) *site {
	t.Helper()
	b := &book{}
	o.Authenticate = func(h *fasthttp.RequestHeader) (principal.Principal, error) {
		if secret, _ := carrier.Credential(h); secret != "k" {
			return principal.Principal{}, fault.New(fault.Unauthenticated, "send a key")
		}
		return principal.Principal{Tenant: "acme", Subject: "ann", Key: "ann"}, nil
	}
	s, err := carrier.New(o, New(b).Routes())
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	client := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		_ = s.Shutdown(ctx)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &site{t: t, addr: ln.Addr().String(), book: b, client: client}
}

// ask sends one request as ann and gives status and body; of a refusal the code
// and the param.
func (s *site) ask(method, path, body string) string {
	s.t.Helper()
	req, err := http.NewRequest(method, "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode < 400 {
		return strings.TrimSpace(fmt.Sprintf("%d %s", res.StatusCode, b))
	}
	_, rest, _ := strings.Cut(string(b), `"param":"`)
	param, _, _ := strings.Cut(rest, `"`)
	return fmt.Sprintf("%d %s %q", res.StatusCode, res.Header.Get("X-Aguigate-Code"), param)
}
