package repair

import (
	"strconv"

	"github.com/aguigate/aguigate/protocol/agui"
)

// Setup is what the repairs of one run know from its beginning.
type Setup struct {
	// Thread and Run are the client's. Ids that a repair makes are derived from Run
	// and a count, so the same stream is always repaired to the same bytes.
	Thread, Run string
	// Modern says that the client speaks AG-UI 1.0.
	Modern bool
	// On switches repairs by name; a repair it does not name has its default.
	// Names that Steps does not list are ignored: the configuration refuses them.
	On map[string]bool
	// Client tells whether a tool name was offered as a client tool in this run
	// [MERGE-6]; nil is none.
	Client func(tool string) bool
}

// Chain is the repairs of one upstream response. It belongs to one goroutine and
// remembers at most some MiB, whatever the upstream sends. Make it with New.
type Chain struct {
	set    Setup
	on     uint64 // bit per row of table
	counts [64]int
	made   int  // ids
	expand bool // expand_chunks is on
	client bool // client_call_chunks is on
	over   bool // the run has its terminal event
	top    event

	before []byte // see goesOn
	kind   agui.Type

	books  books
	lanes  lanes
	shared shared
	twice  doubled
	lead   leading
	asked  map[string]struct{} // client calls, for placeholder_results
}

// New makes the chain of one upstream response.
func New(s Setup) *Chain {
	c := &Chain{set: s}
	for i := range table {
		on := table[i].On
		if v, ok := s.On[table[i].Name]; ok {
			on = v
		}
		if on {
			c.on |= 1 << i
		}
	}
	c.expand = c.active(rowChunks)
	c.client = c.active(rowClientChunks) && s.Client != nil
	c.on &^= 1 << rowClientChunks // the row before does its work
	c.on |= 1 << rowChunks        // keeps the lanes for the others
	return c
}

// Step takes the next frame of the upstream, which ParseFrame or Read gave, and
// appends what it becomes: mostly the same frame, or none, or some. Frames given
// out share f's bytes unless a step made them; what the chain holds back is
// copied.
func (c *Chain) Step(f agui.Frame, out []agui.Frame) []agui.Frame {
	if c.over {
		if f.Type != agui.RunStarted {
			return append(out, f) // nobody will see it
		}
		c.nextRun()
	} else if c.goesOn(f) {
		return append(out, f)
	}
	c.top.load(f)
	n := len(out)
	out = c.run(0, &c.top, out)
	c.remember(f, out[n:])
	return out
}

// End appends what steps still hold back when the upstream's stream is over.
func (c *Chain) End(out []agui.Frame) []agui.Frame {
	var e event
	c.releaseDoubled(&e)
	for _, f := range e.before {
		out = c.again(f, rowDoubled+1, out)
	}
	e.before = nil
	c.releaseLeading(&e)
	for _, f := range e.before {
		out = c.again(f, rowLeading+1, out)
	}
	return out
}

// Counts tells how often each repair was made, by name; those never made are
// left out.
func (c *Chain) Counts() map[string]int {
	var m map[string]int
	for i := range table {
		if n := c.counts[i]; n > 0 {
			if m == nil {
				m = map[string]int{}
			}
			m[table[i].Name] = n
		}
	}
	return m
}

// run takes e through the rows of its kind from the given one on.
func (c *Chain) run(from int, e *event, out []agui.Frame) []agui.Frame {
	k := e.kind
	for _, i := range rowsOf[k] {
		if i < from || c.on&(1<<i) == 0 {
			continue
		}
		keep := table[i].take(c, e)
		if e.before != nil {
			before := e.before
			e.before = nil
			for _, f := range before {
				out = c.again(f, i+1, out)
			}
		}
		if !keep {
			return out
		}
		if e.kind != k {
			return c.run(i+1, e, out)
		}
	}
	c.note(e)
	return append(out, e.f)
}

// again takes a frame that a step made through the steps behind it.
func (c *Chain) again(f agui.Frame, from int, out []agui.Frame) []agui.Frame {
	var e event
	e.load(f)
	return c.run(from, &e, out)
}

// did counts a repair.
func (c *Chain) did(row int) { c.counts[row]++ }

func (c *Chain) active(row int) bool { return c.on&(1<<row) != 0 }

// newID makes an id that the upstream forgot.
func (c *Chain) newID(what string) string {
	c.made++
	return c.set.Run + "-" + what + "-" + strconv.Itoa(c.made)
}

// nextRun begins another run in the same response. The machine joins it into the
// client's and gives ids that come again their own names [RUN-2]; steps, which
// have none, are still open.
func (c *Chain) nextRun() {
	c.over = false
	c.books = books{steps: c.books.steps, full: c.books.full}
	c.lanes, c.shared, c.twice, c.lead = lanes{}, shared{}, doubled{}, leading{}
}
