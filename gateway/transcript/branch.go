package transcript

import (
	"slices"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

// maxViews bounds the clients of one thread that are told apart; the one that was
// silent longest is forgotten, and is a new client when it comes back.
const maxViews = 8

// viewRanges bounds one view's text: a list full of holes is taken to have had what is
// in the older of them.
const viewRanges = 256

// View is what one client of a thread has, as far as is known: clients do not say
// who they are, but a list that goes on from what one of them was sent is that
// one's.
type View struct {
	ID  string    `json:"id"` // key of the run it was noted by
	Has Set       `json:"has"`
	At  time.Time `json:"at"`
}

// Branch is what a client's list means against the record [HIST-2].
type Branch struct {
	Known  []int // for each message of the list its place, -1 for a new one
	Hidden Set   // places that are not part of the conversation now
	Unseen []int // places the client was never sent, in order
	View   int   // which view the list goes on from, -1 for a new client
}

// Read compares a client's whole list with the record. Messages are compared by
// id, a tool message also by its call. What the client had and leaves out is
// hidden; what it never had is unseen; what it shows again is hidden no more.
func Read(x *Index, hidden Set, views []View, list []agui.Message) Branch {
	b := Branch{Known: make([]int, len(list)), View: -1, Hidden: hidden}
	var places []int
	for i, m := range list {
		b.Known[i] = place(x, m)
		if b.Known[i] >= 0 {
			places = append(places, b.Known[i])
		}
	}
	shown := SetOf(places)
	b.Hidden = b.Hidden.Minus(shown)
	if b.View = pick(x, views, shown); b.View >= 0 {
		b.Hidden = b.Hidden.Union(views[b.View].Has.Minus(shown))
	}
	for at := range x.Len() {
		if !shown.Has(at) && !b.Hidden.Has(at) {
			b.Unseen = append(b.Unseen, at)
		}
	}
	return b
}

func place(x *Index, m agui.Message) int {
	if at, ok := x.Find(m.ID); ok {
		return at
	}
	if m.Role == agui.RoleTool {
		if at, ok := x.Answer(m.ToolCallID); ok {
			return at
		}
	}
	return -1
}

// pick finds the view a list goes on from: the newest of which it leaves nothing
// out; else the newest of which it is a beginning, as after an edit or a
// regeneration; else the one it shares most with.
func pick(x *Index, views []View, shown Set) int {
	best, bestRank, bestShare := -1, 0, 0
	for i := range views {
		rank, share := match(x, views[i].Has, shown)
		if share == 0 {
			continue
		}
		newer := best >= 0 && views[i].At.After(views[best].At)
		switch {
		case rank > bestRank,
			rank == bestRank && rank == fits && share > bestShare,
			rank == bestRank && rank == fits && share == bestShare && newer,
			rank == bestRank && rank == begins && newer,
			rank == bestRank && rank == overlaps && (share > bestShare || share == bestShare && newer):
			best, bestRank, bestShare = i, rank, share
		}
	}
	return best
}

// How a list stands to a view, weakest first.
const (
	overlaps = 1 + iota
	begins
	fits
)

// match compares by what people and agents said: reasoning, activities and system
// messages are left out by many clients.
func match(x *Index, has, shown Set) (rank, share int) {
	rank = fits
	gap, other := false, false
	for at := range shown.All {
		switch x.At(at).Role {
		case agui.RoleUser, agui.RoleAssistant:
			other = other || !has.Has(at)
		}
	}
	for at := range has.All {
		if at >= x.Len() {
			break
		}
		if shown.Has(at) {
			share++
		}
		switch x.At(at).Role {
		case agui.RoleUser, agui.RoleAssistant, agui.RoleTool:
		default:
			continue
		}
		if !shown.Has(at) {
			gap, rank = true, min(rank, begins)
		} else if gap {
			rank = overlaps
		}
	}
	if other && rank == fits {
		rank = overlaps
	}
	return rank, share
}

// Keep enters what a client now has under id. The view it went on from, at from or
// under the same id, is replaced.
func Keep(views []View, from int, id string, has Set, now time.Time) []View {
	out := slices.Clone(views)
	if i := slices.IndexFunc(out, func(v View) bool { return v.ID == id }); i >= 0 {
		from = i
	}
	if from >= 0 && from < len(out) {
		out = slices.Delete(out, from, from+1)
	}
	if len(out) >= maxViews {
		oldest := 0
		for i := range out {
			if out[i].At.Before(out[oldest].At) {
				oldest = i
			}
		}
		out = slices.Delete(out, oldest, oldest+1)
	}
	return append(out, View{ID: id, Has: has.Coarse(viewRanges), At: now})
}

// Slot is one message of a merged list: the client's, or one it was never sent.
type Slot struct {
	List int // index in the client's list, -1 for a message of the record
	At   int // place in the record, -1 for a new message
}

// Merge puts the unseen messages where they belong: each before the first message
// of the list that is younger than it, new ones being youngest.
func (b Branch) Merge() []Slot {
	out := make([]Slot, 0, len(b.Known)+len(b.Unseen))
	unseen := b.Unseen
	for i, at := range b.Known {
		for len(unseen) > 0 && (at < 0 || unseen[0] < at) {
			out = append(out, Slot{List: -1, At: unseen[0]})
			unseen = unseen[1:]
		}
		out = append(out, Slot{List: i, At: at})
	}
	for _, at := range unseen {
		out = append(out, Slot{List: -1, At: at})
	}
	return out
}
