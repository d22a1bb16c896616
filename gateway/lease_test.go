package gateway

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/adapters/upstream/demo"
	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/principal"
)

// collect is a sink that keeps event types.
type collect struct{ types []agui.Type }

func (c *collect) Send(frames []agui.Frame) error {
	for _, f := range frames {
		c.types = append(c.types, f.Type)
	}
	return nil
}

func replica(t *testing.T, nats string) *Gateway {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{NATS: nats, Replicas: 1, Prefix: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	g, err := New(Options{Config: config.Demo("", "", ""), Store: s, Upstreams: map[string]upstream.Factory{"demo": demo.New}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func turn(run, text string) *frontend.Turn {
	return &frontend.Turn{
		Principal: principal.Anonymous, Frontend: "test", Agent: "demo", Header: func(string) string { return "" },
		Input: &agui.Input{ThreadID: "th1", RunID: run, Messages: []agui.Message{agui.NewUserMessage("u-"+run, []byte(`"`+text+`"`))}},
	}
}

// A run that lives longer than its lease keeps its thread against another replica;
// one whose replica died loses it when the lease is over.
func TestLease(t *testing.T) {
	old := lease
	lease = 300 * time.Millisecond
	defer func() { lease = old }()
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("the store's server does not come up")
	}
	a, b := replica(t, ns.ClientURL()), replica(t, ns.ClientURL())
	ctx, leave := context.WithCancel(context.Background())
	r, err := a.Begin(ctx, turn("r1", "silent"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.Stream(ctx, &collect{})
	}()
	for range 4 {
		time.Sleep(lease / 2)
		if _, err := b.Begin(context.Background(), turn("r2", "hi")); fault.CodeOf(err) != fault.ThreadBusy {
			t.Fatalf("the other replica got the thread: %v", err)
		}
	}
	leave()
	<-ended
	next, err := b.Begin(context.Background(), turn("r2", "hi"))
	if err != nil {
		t.Fatalf("after the run's end: %v", err)
	}
	// b dies holding the thread: nobody moves its run, nobody renews.
	if _, err := a.Begin(context.Background(), turn("r3", "hi")); fault.CodeOf(err) != fault.ThreadBusy {
		t.Fatalf("a fresh lease was not respected: %v", err)
	}
	time.Sleep(2 * lease)
	third, err := a.Begin(context.Background(), turn("r3", "hi"))
	if err != nil {
		t.Fatalf("the dead replica's lease does not end: %v", err)
	}
	// b was not dead after all: it sees that the thread is another's now.
	sink := &collect{}
	b.agents[0].up = silentAgent{}
	_ = next.Stream(context.Background(), sink)
	if n := len(sink.types); n == 0 || sink.types[n-1] != agui.RunError {
		t.Errorf("the run that lost its thread ended with %v", sink.types)
	}
	third.Abort()
}

// silentAgent says nothing until it is cancelled.
type silentAgent struct{}

func (silentAgent) Run(ctx context.Context, _ *upstream.RunRequest) (upstream.Stream, error) {
	<-ctx.Done()
	return nil, fault.New(fault.UpstreamClosed, "cancelled")
}
