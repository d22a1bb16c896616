package transcript

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aguigate/aguigate/gateway/run"
	"github.com/aguigate/aguigate/protocol/agui"
)

// entries makes the entries of a thread, and beside them the naive list that an index
// over them has to be equal to.
type entries struct {
	rng     *rand.Rand
	list    []Item
	renames []run.Rename
}

// next makes one more: a message, a newer version of an earlier one, or renames only.
func (e *entries) next(where Place) Entry {
	n := len(e.list)
	out := Entry{Run: fmt.Sprintf("r%d", e.rng.IntN(4)), Made: e.rng.IntN(2) == 0}
	if e.rng.IntN(4) == 0 {
		out.Renames = []run.Rename{{Upstream: fmt.Sprintf("up%d", len(e.renames)), Shown: fmt.Sprintf("shown%d", len(e.renames))}}
		e.renames = append(e.renames, out.Renames...)
	}
	if e.rng.IntN(10) == 0 {
		return out
	}
	at := n
	if n > 0 && e.rng.IntN(4) == 0 {
		at = e.rng.IntN(n)
		out.Over = at + 1
	}
	item := Item{ID: fmt.Sprintf("m%d", at), Run: out.Run, Made: out.Made, Where: where}
	text := fmt.Sprintf(`"text %d"`, e.rng.IntN(1000))
	switch at % 3 {
	case 0:
		m := agui.NewUserMessage(item.ID, []byte(text))
		item.Role, out.Raw, item.Hash = agui.RoleUser, m.Raw, HashOf(m.Content)
	case 1:
		var calls []agui.ToolCall
		for i := range 1 + e.rng.IntN(2) {
			id := fmt.Sprintf("c%d-%d", at%6, i) // call ids come again [INV-2]
			calls, item.Calls = append(calls, agui.ToolCall{ID: id, Name: "x", Arguments: "{}"}), append(item.Calls, id)
		}
		if e.rng.IntN(2) == 0 || out.Over == 0 {
			out.Round = fmt.Sprintf("k%d", e.rng.IntN(9))
		}
		m := agui.NewAssistantMessage(item.ID, fmt.Sprintf("text %d", e.rng.IntN(1000)), calls)
		item.Role, out.Raw, item.Hash, item.Round = agui.RoleAssistant, m.Raw, HashOf(m.Content), out.Round
	case 2:
		item.Call = fmt.Sprintf("c%d-0", (at-1)%6)
		m := agui.NewToolMessage(item.ID, item.Call, []byte(text), "")
		item.Role, out.Raw, item.Hash = agui.RoleTool, m.Raw, HashOf(m.Content)
	}
	if out.Over > 0 {
		if item.Round == "" {
			item.Round = e.list[at].Round
		}
		e.list[at] = item
	} else {
		e.list = append(e.list, item)
	}
	return out
}

// equal holds the index against the list.
func (e *entries) equal(t *testing.T, name string, x *Index) {
	t.Helper()
	if x.Len() != len(e.list) {
		t.Fatalf("%s: %d messages, want %d", name, x.Len(), len(e.list))
	}
	for i, want := range e.list {
		got := *x.At(i)
		if got.ID != want.ID || got.Role != want.Role || got.Call != want.Call || !slices.Equal(got.Calls, want.Calls) ||
			got.Run != want.Run || got.Made != want.Made || got.Round != want.Round || got.Hash != want.Hash || got.Where != want.Where {
			t.Fatalf("%s: message %d is\n%+v, want\n%+v", name, i, got, want)
		}
		if at, ok := x.Find(want.ID); !ok || at != i || !x.Known(want.ID) {
			t.Fatalf("%s: %s is found at %d %v, want %d", name, want.ID, at, ok, i)
		}
	}
	for _, id := range []string{"m999", ""} {
		if _, ok := x.Find(id); ok || x.Known(id) {
			t.Fatalf("%s: %q is found", name, id)
		}
	}
	if got := x.Renames(); !slices.Equal(got, e.renames) {
		t.Fatalf("%s: renames %v, want %v", name, got, e.renames)
	}
}

// An index on bases, one flattened, and one whose tail has become a page are all
// equal to the list of what was entered.
func TestIndexModel(t *testing.T) {
	for seed := range uint64(300) {
		e := &entries{rng: rand.New(rand.NewPCG(seed, 5))}
		x, slot := NewIndex(nil), 0
		for range 5 + e.rng.IntN(40) {
			entry := e.next(Place{Slot: slot})
			x.Add(&entry, Place{Slot: slot})
			slot++
			switch e.rng.IntN(12) {
			case 0: // the tail, or its beginning, is closed
				n, page := 1+e.rng.IntN(slot), fmt.Sprintf("p%d", len(e.list))
				x.Moved(page, n)
				for i := range e.list {
					switch w := &e.list[i].Where; {
					case w.Page != "":
					case w.Slot < n:
						w.Page = page
					default:
						w.Slot -= n
					}
				}
				slot -= n
			case 1: // what is closed whole becomes the base
				if slot == 0 {
					x = NewIndex(x)
				}
			case 2:
				if slot == 0 {
					x = NewIndex(x.Flat())
				}
			}
			e.equal(t, fmt.Sprintf("seed %d", seed), x)
		}
		before := x.Len()
		flat := x.Flat()
		e.equal(t, fmt.Sprintf("seed %d, flat", seed), flat)
		over := NewIndex(flat)
		entry := Entry{Run: "late", Over: 1, Raw: agui.NewUserMessage("m0", []byte(`"edited"`)).Raw}
		over.Add(&entry, Place{Page: "late"})
		if over.Len() != before || over.At(0).Run != "late" || flat.At(0).Run == "late" {
			t.Fatalf("seed %d: an overlay changed its base, or nothing", seed)
		}
	}
}

// Calls whose ids come again belong to the newest that made or answered them.
func TestIndexCalls(t *testing.T) {
	x := NewIndex(nil)
	add := func(m agui.Message) {
		e := Entry{Raw: m.Raw}
		x.Add(&e, Place{})
	}
	call := []agui.ToolCall{{ID: "call_0", Name: "x", Arguments: "{}"}}
	add(agui.NewAssistantMessage("a1", "", call))
	add(agui.NewToolMessage("t1", "call_0", []byte(`"Paris"`), ""))
	x = NewIndex(x)
	if at, ok := x.Holder("call_0"); !ok || at != 0 {
		t.Errorf("held at %d %v, want 0", at, ok)
	}
	add(agui.NewAssistantMessage("a2", "", call))
	add(agui.NewToolMessage("t2", "call_0", []byte(`"Rome"`), ""))
	if at, ok := x.Holder("call_0"); !ok || at != 2 {
		t.Errorf("held at %d %v, want 2", at, ok)
	}
	if at, ok := x.Answer("call_0"); !ok || at != 3 {
		t.Errorf("answered at %d %v, want 3", at, ok)
	}
	if !x.Known("call_0") || x.Known("call_1") {
		t.Error("which ids are known is wrong")
	}
}

// What cannot be read is left out, and the rest is there [ERR-2].
func TestIndexDamaged(t *testing.T) {
	x := NewIndex(nil)
	for _, raw := range []string{`{`, `[]`, `{"id":"m0","role":"user","content":"x"}`} {
		e := Entry{Raw: []byte(raw), Renames: []run.Rename{{Upstream: raw, Shown: "s"}}}
		x.Add(&e, Place{})
	}
	if x.Len() != 1 || x.At(0).ID != "m0" || len(x.Renames()) != 3 {
		t.Errorf("%d messages, %d renames", x.Len(), len(x.Renames()))
	}
	e := Entry{Over: 9, Raw: []byte(`{"id":"m9","role":"user","content":"y"}`)} // over one that is not there
	x.Add(&e, Place{})
	if x.Len() != 2 {
		t.Errorf("%d messages, want 2", x.Len())
	}
}
