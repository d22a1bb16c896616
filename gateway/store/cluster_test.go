package store

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// freePorts are free now; another process could take one before the servers do.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

type cluster struct {
	nodes [3]*server.Server
	urls  []string
}

// startCluster runs three servers in this process.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c, dir, ports := &cluster{}, t.TempDir(), freePorts(t, 6)
	var routes []*url.URL
	for _, p := range ports[3:] {
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	for i := range c.nodes {
		ns, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: ports[i],
			Cluster:   server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[3+i]},
			Routes:    routes,
			JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint(i)), MaxPayload: maxPayload,
			NoSigs: true, NoLog: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		c.nodes[i] = ns
		c.urls = append(c.urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
		go ns.Start()
		t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	}
	return c
}

func TestCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	var stores []*Store
	for i := range 2 { // two gateways; the first makes the buckets while there is no leader yet
		stores = append(stores, open(t, Options{NATS: strings.Join(c.urls, ", "), Replicas: 3, Prefix: "gw", OpTimeout: 8 * time.Second}))
		if stores[i].Exclusive() {
			t.Error("a cluster is shared")
		}
	}
	a, b, ctx := stores[0], stores[1], t.Context()
	testOneWinner(t, stores, 3)

	js, err := jetstream.New(a.records.Conn)
	if err != nil {
		t.Fatal(err)
	}
	st, err := js.Stream(ctx, "KV_gw-rounds")
	if err != nil {
		t.Fatal(err)
	}
	if cfg := st.CachedInfo().Config; cfg.Replicas != 3 || cfg.AllowDirect {
		t.Fatalf("bucket %+v", cfg)
	}

	ch := make(chan string, 10)
	stop, err := b.Subscribe("inv.x", func(data []byte) { ch <- string(data) })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	crossWake(t, a, ch)

	rev, err := a.Create(ctx, Rounds, "before", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	leader := st.CachedInfo().Cluster.Leader
	finish := useLog(t, stores, leader)
	t0 := time.Now()
	for _, ns := range c.nodes {
		if ns.Name() == leader {
			ns.Shutdown()
			ns.WaitForShutdown()
		}
	}
	for {
		if _, err = b.Update(ctx, Rounds, "before", []byte("2"), rev); err == nil {
			break
		}
		if time.Since(t0) > 20*time.Second {
			t.Fatalf("no write %s after a node left: %v", time.Since(t0), err)
		}
	}
	t.Logf("written %s after the leader %s went", time.Since(t0).Round(time.Millisecond), leader)
	if rec, err := a.Get(ctx, Rounds, "before"); err != nil || string(rec.Value) != "2" {
		t.Fatalf("%q %v", rec.Value, err)
	}
	crossWake(t, a, ch)
	finish()
	for _, s := range stores {
		for s.Ready(ctx) != nil {
			if time.Since(t0) > 20*time.Second {
				t.Fatal("not ready again")
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// useLog appends on both gateways what the second one follows, with the leader
// at the node given, which may then leave. Finish reads what came.
func useLog(t *testing.T, stores []*Store, leader string) (finish func()) {
	t.Helper()
	a, b, ctx := stores[0], stores[1], t.Context()
	seqs := add(t, a, "a", "1", "2")
	f := follow(t, b, "a", seqs[0])
	wantNext(t, f, "2")
	add(t, a, "a", "3")
	wantNext(t, f, "3")
	if err := a.DropLog(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Last(ctx, "a"); err != ErrNotFound {
		t.Fatal(err)
	}
	if _, err := a.Create(ctx, Messages, "t.1", nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Purge(ctx, Messages, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Get(ctx, Messages, "t.1"); err != ErrNotFound {
		t.Fatal(err)
	}

	for range 100 {
		if info, err := a.log.stream.Info(ctx); err == nil && info.Cluster.Leader == leader {
			break
		}
		to := fmt.Sprintf(`{"placement":{"preferred":%q}}`, leader)
		_, _ = a.records.Request("$JS.API.STREAM.LEADER.STEPDOWN."+a.logName(), []byte(to), time.Second)
		time.Sleep(50 * time.Millisecond)
	}
	const each = 500
	x, y := follow(t, b, "x", 0), follow(t, a, "y", 0)
	wait := appendAll(t, stores, []string{"x", "y"}, each)
	next(t, y) // it runs
	return func() {
		wait()
		readAll(t, x, "x", each)
		readAll(t, follow(t, b, "y", 0), "y", each)
		for _, f := range []*Follower{x, y} {
			f.Close()
		}
	}
}

// crossWake publishes on a until it arrives at the other gateway: a wake-up is
// lost while a connection or a route is being made.
func crossWake(t *testing.T, a *Store, ch <-chan string) {
	t.Helper()
	for range 100 {
		if err := a.Publish(t.Context(), "inv.x", []byte("changed")); err == nil {
			select {
			case got := <-ch:
				if got != "changed" {
					t.Fatalf("wake-up %q", got)
				}
				return
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("no wake-up from the other gateway")
}

// One server without a cluster cannot hold three copies; Open says so at once.
func TestThreeCopiesNeedACluster(t *testing.T) {
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("no server")
	}
	_, err = Open(t.Context(), Options{NATS: ns.ClientURL()})
	if err == nil || !strings.Contains(err.Error(), "replicas > 1 not supported") {
		t.Fatalf("Open: %v", err)
	}
	s := open(t, Options{NATS: ns.ClientURL(), Replicas: 1})
	if _, err := s.Create(t.Context(), Threads, "a", nil); err != nil {
		t.Fatal(err)
	}

	// What an operator set stays; what the store needs is set right.
	js, err := jetstream.New(s.records.Conn)
	if err != nil {
		t.Fatal(err)
	}
	st, err := js.Stream(t.Context(), "KV_aguigate-threads")
	if err != nil {
		t.Fatal(err)
	}
	cfg := st.CachedInfo().Config
	cfg.MaxBytes, cfg.AllowDirect = 1<<30, true
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	open(t, Options{NATS: ns.ClientURL(), Replicas: 1})
	info, err := st.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Config.MaxBytes != 1<<30 || info.Config.AllowDirect {
		t.Fatalf("%+v", info.Config)
	}
}

func TestRefusedUser(t *testing.T) {
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, Username: "u", Password: "p", JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("no server")
	}
	host := strings.TrimPrefix(ns.ClientURL(), "nats://")
	_, err = Open(t.Context(), Options{NATS: "nats://u:secret@" + host, Replicas: 1})
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "authorization violation") || strings.Contains(err.Error(), "secret") {
		t.Fatalf("Open: %v", err)
	}
	open(t, Options{NATS: "nats://u:p@" + host, Replicas: 1})
}
