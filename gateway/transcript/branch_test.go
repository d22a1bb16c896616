package transcript

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

// message makes one of a word: u1 a user's, a1 an assistant's, a1(c1,c2) one with
// calls, t1(c1) a result, s1 a system message, r1 reasoning, x1 an activity.
func message(word string) agui.Message {
	id, calls, _ := strings.Cut(strings.TrimSuffix(word, ")"), "(")
	switch id[0] {
	case 't':
		return agui.NewToolMessage(id, calls, []byte(`"done"`), "")
	case 'a':
		var made []agui.ToolCall
		for c := range strings.SplitSeq(calls, ",") {
			if c != "" {
				made = append(made, agui.ToolCall{ID: c, Name: "x", Arguments: "{}"})
			}
		}
		return agui.NewAssistantMessage(id, "says", made)
	}
	role := map[byte]agui.Role{'u': agui.RoleUser, 's': agui.RoleSystem, 'r': agui.RoleReasoning, 'x': agui.RoleActivity}[id[0]]
	return agui.NewUserMessage(id, []byte(`"hi"`)).With("role", []byte(`"`+string(role)+`"`))
}

// talk is a thread as the gateway keeps it, told in words.
type talk struct {
	x      *Index
	hidden Set
	views  []View
	now    time.Time
}

func newTalk(record string) *talk {
	k := &talk{x: NewIndex(nil), now: time.Unix(1000, 0)}
	k.enter(record)
	return k
}

func (k *talk) enter(words string) {
	for word := range strings.FieldsSeq(words) {
		e := Entry{Raw: message(word).Raw}
		k.x.Add(&e, Place{})
	}
}

func (k *talk) set(ids string) (s Set) {
	for id := range strings.FieldsSeq(ids) {
		at, ok := k.x.Find(id)
		if !ok {
			panic(id)
		}
		s = s.Add(at)
	}
	return s
}

func (k *talk) view(ids string) {
	k.now = k.now.Add(time.Minute)
	k.views = append(k.views, View{Has: k.set(ids), At: k.now})
}

func (k *talk) names(s Set) string {
	var out []string
	for at := range s.All {
		out = append(out, k.x.At(at).ID)
	}
	return strings.Join(out, " ")
}

func messagesOf(words string) (out []agui.Message) {
	for word := range strings.FieldsSeq(words) {
		out = append(out, message(word))
	}
	return out
}

// merged tells a merged list: a known message by its id, a new one with * behind it,
// one the client was never sent with + before it.
func (k *talk) merged(b Branch, list []agui.Message) string {
	var out []string
	for _, s := range b.Merge() {
		switch {
		case s.List < 0:
			out = append(out, "+"+k.x.At(s.At).ID)
		case s.At < 0:
			out = append(out, list[s.List].ID+"*")
		default:
			out = append(out, list[s.List].ID)
		}
	}
	return strings.Join(out, " ")
}

// What a client's list means [HIST-2]. views are what clients have, oldest first,
// separated by |.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, record, hidden, views, list string
		merged, nowHidden                 string
		view                              int
	}{
		{name: "the first turn of a thread", list: "u1", merged: "u1*", view: -1},
		{name: "one client goes on", record: "u1 a1", views: "u1 a1", list: "u1 a1 u2", merged: "u1 a1 u2*", view: 0},
		{name: "it sends the same again", record: "u1 a1", views: "u1 a1", list: "u1 a1", merged: "u1 a1", view: 0},
		{name: "with a system message of its own", record: "u1 a1", views: "u1 a1", list: "s1 u1 a1 u2", merged: "s1* u1 a1 u2*", view: 0},
		{name: "it answers a call", record: "u1 a1(c1)", views: "u1 a1", list: "u1 a1(c1) t1(c1)", merged: "u1 a1 t1*", view: 0},
		{name: "it regenerates", record: "u1 a1 u2 a2", views: "u1 a1 u2 a2", list: "u1 a1 u2", merged: "u1 a1 u2", nowHidden: "a2", view: 0},
		{name: "it regenerates the first answer", record: "u1 a1", views: "u1 a1", list: "u1", merged: "u1", nowHidden: "a1", view: 0},
		{name: "it edits the last user message, with a new id", record: "u1 a1 u2 a2", views: "u1 a1 u2 a2", list: "u1 a1 u3", merged: "u1 a1 u3*", nowHidden: "u2 a2", view: 0},
		{name: "it edits the last user message, with its id", record: "u1 a1 u2 a2", views: "u1 a1 u2 a2", list: "u1 a1 u2", merged: "u1 a1 u2", nowHidden: "a2", view: 0},
		{name: "it edits an earlier user message", record: "u1 a1 u2 a2 u3 a3", views: "u1 a1 u2 a2 u3 a3", list: "u1 a1 u4", merged: "u1 a1 u4*", nowHidden: "u2 a2 u3 a3", view: 0},
		{name: "it edits the first, with its id", record: "u1 a1 u2 a2", views: "u1 a1 u2 a2", list: "u1", merged: "u1", nowHidden: "a1 u2 a2", view: 0},
		{name: "back to the old branch", record: "u1 a1 u2 a2 u3 a3", hidden: "u2 a2", views: "u1 a1 u3 a3", list: "u1 a1 u2 a2 u4", merged: "u1 a1 u2 a2 u4*", nowHidden: "u3 a3", view: 0},
		{name: "and forth again", record: "u1 a1 u2 a2 u3 a3 u4 a4", hidden: "u3 a3", views: "u1 a1 u2 a2 u4 a4", list: "u1 a1 u3 a3", merged: "u1 a1 u3 a3", nowHidden: "u2 a2 u4 a4", view: 0},
		{name: "it reloads and has nothing", record: "u1 a1 u2 a2", views: "u1 a1 u2 a2", list: "u3", merged: "+u1 +a1 +u2 +a2 u3*", view: -1},
		{name: "hidden messages do not come back with it", record: "u1 a1 u2 a2", hidden: "u1 a1", views: "u2 a2", list: "u3", merged: "+u2 +a2 u3*", nowHidden: "u1 a1", view: -1},
		{name: "an empty list", record: "u1 a1", views: "u1 a1", list: "", merged: "+u1 +a1", view: -1},
		{name: "a second client goes on from what it was sent", record: "u1 a1 u2 a2 u3 a3", views: "u1 a1 u2 a2 u3 a3|u1 a1", list: "u1 a1 u4", merged: "u1 a1 +u2 +a2 +u3 +a3 u4*", view: 1},
		{name: "the first one meanwhile", record: "u1 a1 u2 a2 u3 a3", views: "u1 a1|u1 a1 u2 a2 u3 a3", list: "u1 a1 u2 a2 u3 a3 u4", merged: "u1 a1 u2 a2 u3 a3 u4*", view: 1},
		{name: "the first one does not know the second's", record: "u1 a1 u2 a2", views: "u1 a1|u1 a1 u2 a2", list: "u1 a1 u3", merged: "u1 a1 +u2 +a2 u3*", view: 0},
		{name: "one of two regenerates", record: "u1 a1 u2 a2", views: "u1 a1 u2|u1 a1 u2 a2", list: "u1 a1 u2", merged: "u1 a1 u2 +a2", view: 0},
		{name: "two have the same, the newer is meant", record: "u1 a1", views: "u1 a1|u1 a1", list: "u1 a1 u2", merged: "u1 a1 u2*", view: 1},
		{name: "a list that leaves out reasoning", record: "u1 r1 a1", views: "u1 r1 a1", list: "u1 a1 u2", merged: "u1 a1 u2*", nowHidden: "r1", view: 0},
		{name: "a list that leaves out activities and system messages", record: "s1 u1 x1 a1", views: "s1 u1 x1 a1", list: "u1 a1 u2", merged: "u1 a1 u2*", nowHidden: "s1 x1", view: 0},
		{name: "leaving them out makes it no other client", record: "u1 r1 a1 u2 r2 a2", views: "u1 a1|u1 r1 a1 u2 r2 a2", list: "u1 a1 u2 a2 u3", merged: "u1 a1 u2 a2 u3*", nowHidden: "r1 r2", view: 1},
		{name: "the gateway's result, under the client's id", record: "u1 a1(c1) g1 t9(c1) a2", views: "u1 a1", list: "u1 a1(c1) t1(c1)", merged: "u1 a1 +g1 t1 +a2", view: 0},
		{name: "a result for a call nobody knows", record: "u1 a1", views: "u1 a1", list: "u1 a1 t1(c9)", merged: "u1 a1 t1*", view: 0},
		{name: "a run of the gateway's was never sent", record: "u1 a1(c1) t1(c1) a2", views: "u1 a1", list: "u1 a1(c1) u2", merged: "u1 a1 +t1 +a2 u2*", view: 0},
		{name: "what it was never sent in between", record: "u1 a1 u9 a9 u2 a2", views: "u1 a1 u2 a2", list: "u1 a1 u2 a2 u3", merged: "u1 a1 +u9 +a9 u2 a2 u3*", view: 0},
		{name: "duplicates", record: "u1 a1", views: "u1 a1", list: "u1 u1 a1 u2 u2", merged: "u1 u1 a1 u2* u2*", view: 0},
		{name: "an order of its own", record: "u1 a1 u2 a2", views: "u1 a1 u2 a2", list: "u2 a2 u1 a1 u3", merged: "u2 a2 u1 a1 u3*", view: 0},
		{name: "the middle is left out", record: "u1 a1 u2 a2 u3 a3", views: "u1 a1 u2 a2 u3 a3", list: "u1 a1 u3 a3 u4", merged: "u1 a1 u3 a3 u4*", nowHidden: "u2 a2", view: 0},
		{name: "the beginning is left out, to save space", record: "u1 a1 u2 a2", views: "u1 a1 u2 a2", list: "u2 a2 u3", merged: "u2 a2 u3*", nowHidden: "u1 a1", view: 0},
		{name: "what others have hidden stays so", record: "u1 a1 u2 a2", hidden: "a2", views: "u1 a1 u2", list: "u1 a1 u2 u3", merged: "u1 a1 u2 u3*", nowHidden: "a2", view: 0},
	} {
		k := newTalk(strings.ReplaceAll(c.record, "g1", "a8"))
		k.hidden = k.set(c.hidden)
		if c.views != "" {
			for v := range strings.SplitSeq(c.views, "|") {
				k.view(v)
			}
		}
		list := messagesOf(c.list)
		b := Read(k.x, k.hidden, k.views, list)
		if got := strings.ReplaceAll(k.merged(b, list), "a8", "g1"); got != c.merged {
			t.Errorf("%s: merged is %q, want %q", c.name, got, c.merged)
		}
		if got := k.names(b.Hidden); got != c.nowHidden {
			t.Errorf("%s: hidden is %q, want %q", c.name, got, c.nowHidden)
		}
		if b.View != c.view {
			t.Errorf("%s: view %d, want %d", c.name, b.View, c.view)
		}
		k.partition(t, c.name, b, list)
	}
}

// partition holds that every message of the record is in the list, unseen or hidden,
// and in one of them only; and that Merge keeps both orders.
func (k *talk) partition(t *testing.T, name string, b Branch, list []agui.Message) {
	t.Helper()
	where := make([]int, k.x.Len())
	for at := range b.Hidden.All {
		where[at]++
	}
	for _, at := range b.Unseen {
		where[at]++
	}
	var shown Set
	for i, at := range b.Known {
		if at >= 0 && !shown.Has(at) {
			shown, where[at] = shown.Add(at), where[at]+1
		}
		if at >= 0 && list[i].Role != agui.RoleTool && k.x.At(at).ID != list[i].ID {
			t.Errorf("%s: %s is taken for %s", name, list[i].ID, k.x.At(at).ID)
		}
	}
	for at, n := range where {
		if n != 1 {
			t.Errorf("%s: %s is in %d places", name, k.x.At(at).ID, n)
		}
	}
	var fromList, fromRecord []int
	for _, s := range b.Merge() {
		if s.List >= 0 {
			fromList = append(fromList, s.List)
			if s.At != b.Known[s.List] {
				t.Errorf("%s: message %d of the list is at %d and %d", name, s.List, s.At, b.Known[s.List])
			}
		} else {
			fromRecord = append(fromRecord, s.At)
		}
	}
	if len(fromList) != len(list) || !slices.IsSorted(fromList) {
		t.Errorf("%s: of the list came %v", name, fromList)
	}
	if !slices.Equal(fromRecord, b.Unseen) || !slices.IsSorted(fromRecord) {
		t.Errorf("%s: of the record came %v, want %v", name, fromRecord, b.Unseen)
	}
}

// A client is told apart among eight; a ninth takes the place of the one that was
// silent longest, which is a new client when it comes back.
func TestKeep(t *testing.T) {
	k := newTalk("")
	for i := range maxViews + 1 {
		k.enter(fmt.Sprintf("u%d a%d", i, i))
		has := k.set(fmt.Sprintf("u%d a%d", i, i))
		k.now = k.now.Add(time.Minute)
		before := slices.Clone(k.views)
		next := Keep(k.views, -1, fmt.Sprint(i), has, k.now)
		if !slices.EqualFunc(before, k.views, func(a, b View) bool { return a.At.Equal(b.At) }) {
			t.Fatal("the views were changed in place")
		}
		if k.views = next; len(k.views) != min(i+1, maxViews) {
			t.Fatalf("%d views after %d clients", len(k.views), i+1)
		}
	}
	if b := Read(k.x, nil, k.views, messagesOf("u0 a0 u20")); b.View != -1 || len(b.Unseen) != 2*maxViews {
		t.Errorf("the one that was forgotten is %+v", b)
	}
	b := Read(k.x, nil, k.views, messagesOf("u1 a1 u20"))
	if b.View < 0 || k.names(k.views[b.View].Has) != "u1 a1" {
		t.Fatalf("the second client is %+v", b)
	}
	k.now = k.now.Add(time.Minute)
	k.views = Keep(k.views, b.View, "later", k.set("u1 a1 u2"), k.now)
	if len(k.views) != maxViews {
		t.Errorf("%d views after one was replaced", len(k.views))
	}
	k.views = Keep(k.views, -1, "later", k.set("u1 a1 u2 a2"), k.now)
	k.views = Keep(k.views, -1, "later", k.set("u1 a1 u2"), k.now)
	if len(k.views) != maxViews {
		t.Errorf("%d views after one was noted again by its run", len(k.views))
	}
	var texts []string
	for _, v := range k.views {
		texts = append(texts, k.names(v.Has))
	}
	if slices.Contains(texts, "u1 a1") || texts[len(texts)-1] != "u1 a1 u2" {
		t.Errorf("the views are %q", texts)
	}
}

// Two clients alternate on one thread, the second of which began with nothing: what
// each is brought is what the other made, once, and nothing is hidden.
func TestAlternate(t *testing.T) {
	k := newTalk("")
	has := [2]string{}
	for n := range 10 {
		who := n % 2
		words := strings.TrimSpace(has[who] + fmt.Sprintf(" u%d", n))
		list := messagesOf(words)
		b := Read(k.x, k.hidden, k.views, list)
		k.partition(t, words, b, list)
		if b.Hidden.String() != "" {
			t.Fatalf("turn %d: %s is hidden", n, k.names(b.Hidden))
		}
		want := map[bool]int{true: 0, false: 2}[n == 0]
		if len(b.Unseen) != want {
			t.Fatalf("turn %d: %d are brought, want %d: %s", n, len(b.Unseen), want, k.merged(b, list))
		}
		merged := strings.NewReplacer("+", "", "*", "").Replace(k.merged(b, list))
		k.enter(fmt.Sprintf("u%d a%d", n, n))
		has[who] = merged + fmt.Sprintf(" a%d", n)
		k.now = k.now.Add(time.Minute)
		k.views = Keep(k.views, b.View, fmt.Sprint(n), k.set(has[who]), k.now)
	}
	if len(k.views) != 2 {
		t.Errorf("%d views of two clients", len(k.views))
	}
}

// Whatever clients do: every message is in one place, both orders are kept, and a
// client that has taken what it was brought is brought nothing more and hides nothing.
func TestBranchModel(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 11))
		k := newTalk("")
		clients := make([][]string, 1+rng.IntN(4))
		for n := range 12 {
			who := rng.IntN(len(clients))
			words := someList(rng, clients[who], n)
			name := fmt.Sprintf("seed %d, turn %d, %v", seed, n, words)
			list := messagesOf(strings.Join(words, " "))
			b := Read(k.x, k.hidden, k.views, list)
			k.partition(t, name, b, list)
			clients[who] = k.turn(b, list, n)
			again := messagesOf(strings.Join(clients[who], " "))
			c := Read(k.x, k.hidden, k.views, again)
			k.partition(t, name+", again", c, again)
			if len(c.Unseen) > 0 || c.Hidden.String() != k.hidden.String() {
				t.Errorf("%s: its own list again leaves %v unseen and hides %s, before %s", name, c.Unseen, k.names(c.Hidden), k.names(k.hidden))
			}
			if rng.IntN(8) == 0 { // the gateway's own run
				k.enter(fmt.Sprintf("a%d", 500+n))
			}
			if t.Failed() {
				return
			}
		}
	}
}

// turn enters the list and an answer, as the gateway does, and gives what the client
// then has.
func (k *talk) turn(b Branch, list []agui.Message, n int) (has []string) {
	var places Set
	for _, s := range b.Merge() {
		switch {
		case s.List < 0:
			has = append(has, word(k.x.At(s.At)))
		case s.At < 0:
			if _, there := k.x.Find(list[s.List].ID); !there {
				e := Entry{Raw: list[s.List].Raw}
				k.x.Add(&e, Place{})
			}
			s.At, _ = k.x.Find(list[s.List].ID)
			has = append(has, word(k.x.At(s.At)))
		default:
			has = append(has, word(k.x.At(s.At)))
		}
		if at, ok := k.x.Find(strings.Split(has[len(has)-1], "(")[0]); ok {
			places = places.Add(at)
		}
	}
	answer := []string{"a" + strconv.Itoa(n)}
	if n%3 == 0 {
		answer = []string{fmt.Sprintf("r%d", n), fmt.Sprintf("a%d(c%d)", n, n), fmt.Sprintf("t%d(c%d)", n, n)}
	}
	for _, w := range answer {
		places = places.Add(k.x.Len())
		k.enter(w)
	}
	k.hidden, k.now = b.Hidden, k.now.Add(time.Minute)
	k.views = Keep(k.views, b.View, fmt.Sprint(n), places, k.now)
	return append(has, answer...)
}

// word is the word a message was made of.
func word(it *Item) string {
	switch {
	case it.Role == agui.RoleTool:
		return it.ID + "(" + it.Call + ")"
	case len(it.Calls) > 0:
		return it.ID + "(" + strings.Join(it.Calls, ",") + ")"
	}
	return it.ID
}

// someList is what a client that has some words sends next: it goes on, regenerates,
// edits, leaves things out, repeats itself, or has forgotten everything.
func someList(rng *rand.Rand, has []string, n int) []string {
	out, next := slices.Clone(has), "u"+strconv.Itoa(100+n)
	cut := 0
	if len(has) > 0 {
		cut = rng.IntN(len(has) + 1)
	}
	switch rng.IntN(8) {
	case 0:
		return out[:cut]
	case 1:
		return append(out[:cut], next)
	case 2:
		return []string{next}
	case 3:
		out = slices.DeleteFunc(out, func(w string) bool { return w[0] == 'r' })
	case 4:
		if len(out) > 0 {
			out = append(out, out[rng.IntN(len(out))])
		}
	case 5:
		if len(out) > 0 {
			out = slices.Delete(out, rng.IntN(len(out)), len(out))
		}
	}
	return append(out, next)
}
