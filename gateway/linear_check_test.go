package gateway

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/aguigate/aguigate/adapters/frontend"
	"github.com/aguigate/aguigate/gateway/store"
)

const (
	linOps      = 50 // on one thread, looks not counted
	linAtOnce   = 12 // threads
	linPatience = 20 * time.Second
	shownWrongs = 5
)

// A gateway under a crowd does what one after the other could have done: 100,000
// concurrent settlements, stops and continuations, and reads beside them. Under the
// race detector it is a tenth.
func TestLinearizable(t *testing.T) {
	s, err := store.Open(context.Background(), store.Options{Dir: store.Memory, OpTimeout: linPatience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	newLinWorld(t, s).check(linThreads, 1)
}

// Two gateways over one store do together what one after the other could have done.
func TestLinearizableReplicas(t *testing.T) {
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("the store's server does not come up")
	}
	var stores []*store.Store
	for range 2 {
		s, err := store.Open(context.Background(), store.Options{NATS: ns.ClientURL(), Replicas: 1, Prefix: "test", OpTimeout: linPatience})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close(context.Background()) })
		stores = append(stores, s)
	}
	newLinWorld(t, stores...).check(linReplicaThreads, 2)
}

// check runs so many threads and holds each history against the model.
func (w *linWorld) check(threads int, seed uint64) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a store in memory is walked too often else
	begun := time.Now()
	turns := make(chan int)
	cases := make([]*linCase, threads)
	var wg sync.WaitGroup
	for range linAtOnce {
		wg.Go(func() {
			for i := range turns {
				cases[i] = w.history(i, seed)
			}
		})
	}
	for i := range threads {
		turns <- i
	}
	close(turns)
	wg.Wait()
	for _, g := range w.gateways {
		g.Close() // behind it no run of the gateway's own comes any more
	}
	acted := time.Since(begun)
	total, kinds := w.kinds()
	seen, asked := 0, 0
	var mu sync.Mutex
	each(cases, func(c *linCase) {
		n := c.judge()
		mu.Lock()
		defer mu.Unlock()
		seen, asked = seen+n, asked+c.h.asked
	})
	w.t.Logf("%d operations on %d threads in %.1f s: %s; the agent was asked %d times; %d operations with those of the runs, judged in %.1f s",
		total, threads, acted.Seconds(), kinds, asked, seen, (time.Since(begun) - acted).Seconds())
	if n := w.failed.Load(); n > 0 {
		w.t.Errorf("%d things are wrong; at the fifth the judging ends", n)
	}
	if want := int64(threads * linOps); total < want {
		w.t.Errorf("%d operations, want %d", total, want)
	}
}

// kinds is the counts in words, and how many operations were more than a look.
func (w *linWorld) kinds() (total int64, words string) {
	var out []string
	w.counts.Range(func(k, v any) bool {
		n := v.(*atomic.Int64).Load()
		if k != actLook {
			total += n
		}
		out = append(out, fmt.Sprintf("%d %s", n, k))
		return true
	})
	return total, strings.Join(out, ", ")
}

func each(cases []*linCase, f func(*linCase)) {
	work := make(chan *linCase)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for c := range work {
				f(c)
			}
		})
	}
	for _, c := range cases {
		if c != nil {
			work <- c
		}
	}
	close(work)
	wg.Wait()
}

// newCase makes one thread, whose agent behaves in one way or another.
func (w *linWorld) newCase(i int, seed uint64) *linCase {
	rng := rand.New(rand.NewPCG(seed, uint64(i)))
	c := &linCase{w: w, ref: frontend.ThreadRef{Thread: fmt.Sprintf("th%d", i), Agent: []string{"queue", "reject"}[i%2]}}
	open := linManner{opens: true, pause: time.Duration(2+rng.IntN(8)) * time.Millisecond}
	c.h = &linHistory{runs: map[string]*linRun{}, asks: []linManner{open}}
	for range 8 {
		m := linManner{refuse: rng.IntN(8) == 0}
		if rng.IntN(2) == 0 {
			m.pause = time.Duration(rng.IntN(5)) * time.Millisecond
		}
		if rng.IntN(3) == 0 {
			m.fail = []string{"first", "later", "cut"}[rng.IntN(3)]
		}
		c.h.asks = append(c.h.asks, m)
	}
	w.take.threads.Store(c.ref.Thread, c.h)
	return c
}

// history lets a crowd at one thread.
func (w *linWorld) history(i int, seed uint64) *linCase {
	rng := rand.New(rand.NewPCG(seed, uint64(i)+1<<32))
	c := w.newCase(i, seed)
	wait := c.begin(rng, rng.IntN(5) < 2)
	if wait == nil {
		return nil
	}
	c.act(seed<<32+uint64(i), linOps, 16+rng.IntN(17))
	wait()
	c.settleDown()
	return c
}

// judge lets porcupine say whether the history can be had one after the other, and
// gives its length.
func (c *linCase) judge() int {
	if c.w.failed.Load() >= shownWrongs {
		return 0 // to find that a history cannot be had takes long, and it is known by now
	}
	for id, r := range c.h.runs {
		if (r.by == bySelf || r.by == byRequest) && (r.accepted == 0 || r.ended == 0) {
			c.w.wrong("%s: run %s has no beginning or no end", c.ref.Thread, id)
			return 0
		}
	}
	ops := c.h.done()
	model := linModel(c.first, linStep)
	result := porcupine.Illegal
	for _, doubt := range c.doubts() {
		if result = porcupine.CheckOperationsTimeout(model, c.thin(append(slices.Clone(ops), doubt...)), linPatience); result == porcupine.Ok {
			return len(ops)
		}
	}
	c.w.wrong("%s (%s): %s\nbegins with %+v\n%s", c.ref.Thread, c.ref.Agent, result, c.first, smallest(model, c.thin(ops)))
	return len(ops)
}

// smallest leaves out of an illegal history what it is illegal without: first its
// end, then whatever only looks at the state.
func smallest(model porcupine.Model, ops []porcupine.Operation) string {
	bad := func(ops []porcupine.Operation) bool {
		return porcupine.CheckOperationsTimeout(model, ops, 2*time.Second) == porcupine.Illegal
	}
	ops = firstBad(ops, bad)
	for i := len(ops) - 1; i >= 0; i-- {
		if less := slices.Delete(slices.Clone(ops), i, i+1); looks(ops[i]) && bad(less) {
			ops = less
		}
	}
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var out strings.Builder
	for _, o := range ops {
		fmt.Fprintf(&out, "%9d–%9d µs  %s\n", o.Call/1000, o.Return/1000, model.DescribeOperation(o.Input, o.Output))
	}
	return out.String()
}

// firstBad gives the shortest beginning of an illegal history that is illegal: what
// has ended by then, whatever of the rest that has begun may have happened.
func firstBad(ops []porcupine.Operation, bad func([]porcupine.Operation) bool) []porcupine.Operation {
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	for n := range ops {
		ended, begun := slices.Clone(ops[:n+1]), []porcupine.Operation(nil)
		for _, o := range ops[n+1:] {
			if o.Call <= ops[n].Return && !looks(o) {
				begun = append(begun, o)
			}
		}
		legal := false
		for some := 0; some < 1<<min(len(begun), 8) && !legal; some++ {
			legal = !bad(slices.Concat(ended, chosen(begun, some)))
		}
		if !legal {
			return slices.Concat(ended, begun)
		}
	}
	return ops
}

// chosen gives those of ops whose bit is set in some.
func chosen(ops []porcupine.Operation, some int) (out []porcupine.Operation) {
	for n, o := range ops {
		if some>>n&1 == 1 {
			out = append(out, o)
		}
	}
	return out
}

// looks reports an operation that has changed nothing, whatever it waited for.
func looks(o porcupine.Operation) bool {
	in, out := o.Input.(linIn), o.Output.(linOut)
	return in.act == actTurnPends || in.act != actTurnSettles && onlyLooks(in, out)
}
