package main

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Two gateways on one store: a call opened through one is answered through the
// other, a waiter at either sees it, and a thread has one run over both.
func TestTwoGateways(t *testing.T) {
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("the store's server does not come up")
	}
	silent := make(chan struct{})
	up := serveBackend(t, func(w http.ResponseWriter, r *http.Request, body string) {
		if bytes.Contains([]byte(body), []byte(`"threadId":"long"`)) {
			say(w, `{"type":"RUN_STARTED","threadId":"long","runId":"r1"}`)
			close(silent)
			<-r.Context().Done()
			return
		}
		talks(w, r, body)
	})
	yaml := testKeys + agent("a", up.URL, "")
	store := "nats: '" + ns.ClientURL() + "', replicas: 1"
	a, b := beginOn(t, store, yaml), beginOn(t, store, yaml)

	id, shown, parent := a.waiting("alice", "a", "th1")
	if r := b.do(call{method: "GET", path: "/v1/invocations/" + id, as: "bob"}); r.code() != "invocation_not_found" {
		t.Errorf("bob at the other gateway: %d %s", r.status, r.body)
	}
	poll := make(chan reply, 1)
	go func() {
		r, err := a.try(call{method: "GET", path: "/v1/invocations/" + id + "?wait=20s", as: "alice"})
		if err != nil {
			t.Error(err)
		}
		poll <- r
	}()
	time.Sleep(100 * time.Millisecond) // the poll most likely waits by now; it has to end either way
	if r := b.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", as: "alice", body: `{"result":"Porto"}`}); r.status != 200 {
		t.Fatalf("resolve at the other gateway: %d %s", r.status, r.body)
	}
	if r := <-poll; r.field("invocation.state") != "settled" {
		t.Errorf("the waiter at the first gateway got %s", r.body)
	}
	if r := a.do(call{method: "POST", path: "/v1/invocations/" + id + "/resolve", as: "alice", body: `{"result":"Oslo"}`}); r.code() != "action_result_conflict" {
		t.Errorf("another answer at the first gateway: %d %s", r.status, r.body)
	}
	frames := b.run("alice", "a", input("th1", "r2", locate, user("u-th1", "where am I"), assistant(parent, toolCall(shown, "get_location")), result("t1", shown, "Porto")))
	if text(frames) != "thanks" {
		t.Errorf("the next run at the other gateway said %q", text(frames))
	}

	res, err := a.open(call{method: "POST", path: "/agents/a/run", as: "alice", body: input("long", "r1", "", user("u1", "x"))})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	<-silent
	if r := b.do(call{method: "POST", path: "/agents/a/run", as: "alice", body: input("long", "r2", "", user("u1", "x"))}); r.code() != "thread_busy" {
		t.Errorf("a second run at the other gateway: %d %s", r.status, r.body)
	}
}
