package gateway

import (
	"context"
	"testing"

	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/adapters/upstream/demo"
	"github.com/aguigate/aguigate/gateway/config"
	"github.com/aguigate/aguigate/gateway/store"
	"github.com/aguigate/aguigate/protocol/tool"
)

// The round of a run that died is read once, although the thread's record, the
// call's index and the dead run itself all lead to it.
func TestDeadRunIsReadOnce(t *testing.T) {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{NATS: store.Embedded, Dir: store.Memory})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(ctx) }()
	g, err := New(Options{Config: config.Demo("", "", ""), Store: s, Upstreams: map[string]upstream.Factory{"demo": demo.New}})
	if err != nil {
		t.Fatal(err)
	}
	th := &thread{key: store.Key("th"), threadRecord: threadRecord{Trimmed: true, Run: &activeRun{ID: "r1", Round: "dead", Holder: "gone"}}}
	inv := tool.Invocation{ID: tool.NewInvocationID([17]byte{1}), CallID: "c1", ShownID: "c1", Agent: "demo"}
	if err := g.openCall(ctx, th.key, tool.Round{Key: "dead", Agent: "demo"}, inv); err != nil {
		t.Fatal(err)
	}
	led, err := g.ledgerFor(ctx, th, read(list(t, "u a(c1) t(c1=x)")))
	if err != nil || len(led.rounds) != 1 {
		t.Fatalf("%d rounds, %v", len(led.rounds), err)
	}
	refs, err := g.adopt(ctx, th.Run, nil)
	if err != nil || len(refs) != 1 || !refs[0].Open {
		t.Errorf("adopted %+v, %v", refs, err)
	}
}
