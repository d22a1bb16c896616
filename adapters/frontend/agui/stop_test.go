package agui

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/adapters/carrier"
	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
)

// stopper is a gateway with one agent, that only stops.
type stopper struct {
	frontend.Gateway
	asked []string // "agent/thread/run"
}

func (s *stopper) Agent(_ principal.Principal, name string) (frontend.Agent, error) {
	if name != "shop" {
		return frontend.Agent{}, fault.New(fault.AgentNotFound, "there is no such agent")
	}
	return frontend.Agent{Name: name}, nil
}

func (s *stopper) Stop(_ context.Context, p principal.Principal, ref frontend.ThreadRef, run string) (bool, error) {
	s.asked = append(s.asked, ref.Agent+"/"+ref.Thread+"/"+run)
	if ref.Thread == "none" {
		return false, fault.New(fault.ThreadNotFound, "there is no such thread")
	}
	return run != "gone" && p.Known(), nil
}

func TestStop(t *testing.T) {
	g := &stopper{}
	s, err := carrier.New(carrier.Options{}, New(g).Routes())
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		_ = s.Shutdown(ctx)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct{ agent, body, want, asked string }{
		{"shop", `{"threadId":"t1"}`, `200 {"stopped":true}`, "shop/t1/"},
		{"shop", `{"threadId":"t1","runId":null,"more":1}`, `200 {"stopped":true}`, "shop/t1/"},
		{"shop", ` {"runId":"r\u0031","threadId":"t/1"} `, `200 {"stopped":true}`, "shop/t/1/r1"},
		{"shop", `{"threadId":"t1","runId":"gone"}`, `200 {"stopped":false}`, "shop/t1/gone"},
		{"shop", `{"threadId":"none"}`, `404 thread_not_found ""`, "shop/none/"},
		{"none", `{"threadId":"t1"}`, `404 agent_not_found ""`, ""},
		{"none", `{`, `404 agent_not_found ""`, ""},
		{"shop", ``, `400 invalid_request ""`, ""},
		{"shop", `{"threadId":`, `400 invalid_request ""`, ""},
		{"shop", `["t1"]`, `400 invalid_request ""`, ""},
		{"shop", `{}`, `400 invalid_request "/threadId"`, ""},
		{"shop", `{"threadId":""}`, `400 invalid_request "/threadId"`, ""},
		{"shop", `{"threadId":1}`, `400 invalid_request "/threadId"`, ""},
		{"shop", `{"threadId":"t1","runId":""}`, `400 invalid_request "/runId"`, ""},
		{"shop", `{"threadId":"t1","runId":["r"]}`, `400 invalid_request "/runId"`, ""},
		{"shop", `{"threadId":"t1","threadId":"t2"}`, `400 invalid_request "/threadId"`, ""},
		{"shop", `{"threadId":"t1","run\u0049d":"a","runId":"b"}`, `400 invalid_request "/runId"`, ""},
		{"shop", `{"thread_id":"t1"}`, `400 invalid_request "/thread_id"`, ""},
		{"shop", `{"threadId":"t1","RunID":"r"}`, `400 invalid_request "/RunID"`, ""},
	} {
		g.asked = nil
		res, err := client.Post("http://"+ln.Addr().String()+"/agents/"+c.agent+"/stop", "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := res.Status[:4] + string(b)
		if res.StatusCode != 200 {
			got = res.Status[:4] + res.Header.Get("X-Aguigate-Code") + ` "` + param(string(b)) + `"`
		}
		if got != c.want || strings.Join(g.asked, " ") != c.asked {
			t.Errorf("%s %s: %s, asked %q; want %s, %q", c.agent, c.body, got, g.asked, c.want, c.asked)
		}
	}
}

func param(body string) string {
	_, rest, _ := strings.Cut(body, `"param":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func FuzzDecodeStop(f *testing.F) {
	for _, seed := range []string{`{"threadId":"t","runId":"r"}`, `{"threadId":"t","threadId":"t"}`, `{"thread_id":""}`, `{"`, `{"threadId":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		thread, _, err := decodeStop([]byte(body))
		switch {
		case err != nil && fault.From(err).Code != fault.InvalidRequest:
			t.Fatalf("%q: %v", body, err)
		case err == nil && thread == "":
			t.Fatalf("%q names no thread", body)
		case err != nil && len(fault.From(err).Param) > 200:
			t.Fatalf("%q: the pointer is %d bytes long", body, len(fault.From(err).Param))
		}
	})
}
