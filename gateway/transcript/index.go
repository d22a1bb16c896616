package transcript

import (
	"hash/maphash"

	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/protocol/agui"
)

// Item is what the index knows of a message without its content.
type Item struct {
	ID    string
	Role  agui.Role
	Call  string   // toolCallId of a tool message
	Calls []string // calls of an assistant message
	Run   string   // key of the run that made or brought it
	Made  bool     // the agent made it in that run
	Round string   // of its client calls, "" when it has none
	Hash  uint64   // of the content; comparable inside one process
	Where Place
}

// Place is where the newest content of an item is.
type Place struct {
	Page string // key of the page, "" for the tail
	Slot int    // entry inside it
}

// Index finds messages by id. An index can stand on a base, which it leaves
// unchanged, so that a thread's closed pages are indexed once and shared.
type Index struct {
	base    *Index
	items   []Item
	over    map[int]Item   // newer versions of the base's items
	byID    map[string]int // message id → place
	answers map[string]int // toolCallId → place of the tool message
	holders map[string]int // call id → place of the newest assistant message with it
	renames []run.Rename
}

// NewIndex makes an empty index on base, which may be nil.
func NewIndex(base *Index) *Index { return &Index{base: base} }

var seed = maphash.MakeSeed()

// HashOf is how content is compared.
func HashOf(raw []byte) uint64 { return maphash.Bytes(seed, raw) }

func (x *Index) start() int {
	if x.base == nil {
		return 0
	}
	return x.base.Len()
}

// Len is how many messages there are.
func (x *Index) Len() int { return x.start() + len(x.items) }

// At gives the message at place i.
func (x *Index) At(i int) *Item {
	if n := x.start(); i >= n {
		return &x.items[i-n]
	}
	if it, ok := x.over[i]; ok {
		return &it
	}
	return x.base.At(i)
}

// Find gives the place of a message.
func (x *Index) Find(id string) (int, bool) {
	return x.lookup(id, func(x *Index) map[string]int { return x.byID })
}

// Answer gives the place of the tool message that answers a call.
func (x *Index) Answer(call string) (int, bool) {
	return x.lookup(call, func(x *Index) map[string]int { return x.answers })
}

// Holder gives the place of the message that made a call.
func (x *Index) Holder(call string) (int, bool) {
	return x.lookup(call, func(x *Index) map[string]int { return x.holders })
}

func (x *Index) lookup(key string, in func(*Index) map[string]int) (int, bool) {
	for ; x != nil; x = x.base {
		if i, ok := in(x)[key]; ok {
			return i, true
		}
	}
	return 0, false
}

// Known reports an id the thread has used, of a message or a call.
func (x *Index) Known(id string) bool {
	if _, ok := x.Find(id); ok {
		return true
	}
	_, ok := x.Holder(id)
	return ok
}

// Renames gives all renames, oldest first.
func (x *Index) Renames() []run.Rename {
	if x.base == nil {
		return x.renames
	}
	old := x.base.Renames()
	return append(old[:len(old):len(old)], x.renames...)
}

// Add enters an entry that stands at where.
func (x *Index) Add(e *Entry, where Place) {
	x.renames = append(x.renames, e.Renames...)
	if e.Raw == nil {
		return
	}
	m, err := agui.ReadMessage(e.Raw)
	if err != nil {
		return // a damaged record: the message is lost, the thread is not
	}
	it := Item{ID: m.ID, Role: m.Role, Call: m.ToolCallID, Run: e.Run, Made: e.Made, Round: e.Round, Hash: HashOf(m.Content), Where: where}
	for _, c := range m.ToolCalls {
		it.Calls = append(it.Calls, c.ID)
	}
	at := x.Len()
	if e.Over > 0 && e.Over <= at {
		at = e.Over - 1
		x.replace(at, it)
	} else {
		x.items = append(x.items, it)
	}
	x.enter(at, it)
}

func (x *Index) replace(at int, it Item) {
	if it.Round == "" {
		it.Round = x.At(at).Round
	}
	if n := x.start(); at >= n {
		x.items[at-n] = it
		return
	}
	if x.over == nil {
		x.over = map[int]Item{}
	}
	x.over[at] = it
}

func (x *Index) enter(at int, it Item) {
	if x.byID == nil {
		x.byID, x.answers, x.holders = map[string]int{}, map[string]int{}, map[string]int{}
	}
	x.byID[it.ID] = at
	if it.Role == agui.RoleTool {
		x.answers[it.Call] = at
	}
	for _, c := range it.Calls {
		x.holders[c] = at
	}
}

// Flat gives a copy of the index without its base, for keeping.
func (x *Index) Flat() *Index {
	out := NewIndex(nil)
	for i := range x.Len() {
		it := *x.At(i)
		out.items = append(out.items, it)
		out.enter(i, it)
	}
	out.renames = append([]run.Rename(nil), x.Renames()...)
	return out
}

// Moved says that the first n entries of the tail became a page.
func (x *Index) Moved(page string, n int) {
	move := func(it *Item) {
		switch {
		case it.Where.Page != "":
		case it.Where.Slot < n:
			it.Where.Page = page
		default:
			it.Where.Slot -= n
		}
	}
	for i := range x.items {
		move(&x.items[i])
	}
	for at, it := range x.over {
		move(&it)
		x.over[at] = it
	}
}
