package run

import (
	"strconv"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// IDKind tells message ids from call ids.
type IDKind string

// The kinds.
const (
	MessageID IDKind = "m"
	CallID    IDKind = "c"
)

// Rename is one upstream id that clients see under another name.
type Rename struct {
	Upstream string `json:"up"`
	Shown    string `json:"shown"`
	Kind     IDKind `json:"kind,omitempty"`
}

// Names keeps ids unique towards the clients of a thread [INV-2]: an id the
// thread has used before is shown as "<id>-2" and so on; the first use passes
// unchanged.
type Names struct {
	known   func(id string) bool // of earlier runs
	seen    map[string]struct{}  // of this run and its request
	renames []Rename             // of earlier runs and this one, oldest first
	byID    map[string][]Rename  // the same by upstream id
	back    map[string]string    // shown → upstream
	run     map[string]string    // this run's ids → shown
	again   map[string]string    // the same of calls whose id has begun anew in this run
	kinds   map[string]bool      // renames of this run, by kind and id
	// holder gives the shown id of the message that holds a call of an earlier run, "" for
	// none: what tells two messages of one upstream id apart in a snapshot.
	holder func(shownCall string) string
	old    int // len(renames) at the start
}

// NewNames starts a run on what the thread has used before: known tells whether it
// has used an id, nil that it is new.
func NewNames(known func(id string) bool, renames []Rename) *Names {
	if known == nil {
		known = func(string) bool { return false }
	}
	n := &Names{
		known: known, seen: map[string]struct{}{}, old: len(renames),
		byID: map[string][]Rename{}, back: map[string]string{}, run: map[string]string{}, again: map[string]string{}, kinds: map[string]bool{},
	}
	for _, r := range renames {
		n.add(r)
	}
	return n
}

func (n *Names) add(r Rename) {
	n.renames = append(n.renames, r)
	n.byID[r.Upstream] = append(n.byID[r.Upstream], r)
	n.back[r.Shown] = r.Upstream
}

// Use marks an id as used, such as one in the client's own messages, and tells
// whether the thread had seen it before.
func (n *Names) Use(id string) (known bool) {
	if _, known = n.seen[id]; known {
		return true
	}
	n.seen[id] = struct{}{}
	return n.known(id)
}

// HeldBy sets what finds the message of an earlier run's call.
func (n *Names) HeldBy(holder func(shownCall string) string) { n.holder = holder }

// Added lists the renames of this run.
func (n *Names) Added() []Rename { return n.renames[n.old:] }

// NextRun begins another run of the upstream inside the client's: ids that come
// again are new ones [RUN-2].
func (n *Names) NextRun() {
	n.run, n.again, n.kinds = map[string]string{}, map[string]string{}, map[string]bool{}
}

// Again says that a call id of this run begins anew. A message of that id, which
// may be open, keeps its name.
func (n *Names) Again(id string) {
	n.again[id] = ""
	delete(n.kinds, string(CallID)+id)
}

// Alias notes that an id of the upstream's is shown under another name, which
// somebody else has given it.
func (n *Names) Alias(kind IDKind, upstream, shown string) {
	if upstream == shown || shown == "" || n.back[shown] != "" || len(upstream) > MaxID || len(shown) > MaxID {
		return
	}
	n.add(Rename{Upstream: upstream, Shown: shown, Kind: kind})
}

// Start gives the name under which an id that begins in this run is shown.
func (n *Names) Start(kind IDKind, id string) string {
	if id == "" || len(id) > MaxID { // what no record keeps is not renamed
		return id
	}
	names := n.run
	shown, ok := names[id]
	if next, anew := n.again[id]; anew && kind == CallID {
		names, shown, ok = n.again, next, next != ""
	}
	if !ok {
		shown = id
		for i := len(n.byID[id]) + 2; n.Use(shown); i++ {
			shown = id + "-" + strconv.Itoa(i)
		}
		names[id] = shown
	}
	if key := string(kind) + id; shown != id && !n.kinds[key] {
		n.kinds[key] = true
		n.add(Rename{Upstream: id, Shown: shown, Kind: kind})
	}
	return shown
}

// Show gives the shown name of an id that is only referred to: this run's own,
// else the newest the thread has.
func (n *Names) Show(kind IDKind, id string) string {
	if shown := n.again[id]; shown != "" && kind == CallID {
		return shown
	}
	if shown, ok := n.run[id]; ok {
		return shown
	}
	if list := n.byID[id]; len(list) > 0 {
		return list[len(list)-1].Shown
	}
	return id
}

// Upstream gives the upstream's own id for a shown one.
func (n *Names) Upstream(shown string) string {
	if up, ok := n.back[shown]; ok {
		return up
	}
	return shown
}

// Quiet reports that no id of this thread was ever renamed.
func (n *Names) Quiet() bool { return len(n.renames) == 0 }

// starts and refers say which members of an event name an id that begins there,
// and which refer to one. An activity's id is left alone: a later snapshot of
// the same id is meant to replace it.
func starts(t agui.Type) (string, string) {
	switch t {
	case agui.TextMessageStart, agui.TextMessageChunk, agui.ReasoningStart,
		agui.ReasoningMessageStart, agui.ReasoningMessageChunk, agui.ToolCallResult:
		return "messageId", ""
	case agui.ToolCallStart, agui.ToolCallChunk:
		return "toolCallId", "parentMessageId"
	}
	return "", ""
}

func refers(t agui.Type) (string, string) {
	switch t {
	case agui.TextMessageContent, agui.TextMessageEnd, agui.ReasoningMessageContent,
		agui.ReasoningMessageEnd, agui.ReasoningEnd:
		return "messageId", ""
	case agui.ToolCallArgs, agui.ToolCallEnd, agui.ToolCallResult:
		return "toolCallId", ""
	case agui.ReasoningEncryptedValue:
		return "entityId", ""
	case agui.SubagentStarted:
		return "parentToolCallId", "parentMessageId"
	}
	return "", ""
}

// names shows the frame's ids as this thread's clients know them. A frame whose
// ids stand is returned as it came.
func (m *Machine) names(f agui.Frame) agui.Frame {
	n := m.set.Names
	a, b := starts(f.Type)
	f = rename(f, a, func(id string) string { return n.Start(kindOf(a), id) })
	f = rename(f, b, func(id string) string { return n.Start(MessageID, id) })
	if n.Quiet() {
		return f
	}
	a, b = refers(f.Type)
	f = rename(f, a, func(id string) string { return n.Show(kindOf(a), id) })
	f = rename(f, b, func(id string) string { return n.Show(kindOf(b), id) })
	if f.Type == agui.MessagesSnapshot {
		return n.renameSnapshot(f)
	}
	return f
}

// kindOf tells what a member's ids are of.
func kindOf(key string) IDKind {
	if key == "toolCallId" || key == "parentToolCallId" {
		return CallID
	}
	return MessageID
}

func rename(f agui.Frame, key string, by func(string) string) agui.Frame {
	if key == "" {
		return f
	}
	id := f.Text(key)
	if id == "" {
		return f
	}
	if shown := by(id); shown != id {
		return f.With(key, quote(shown))
	}
	return f
}

func (n *Names) renameInterrupts(o *agui.Outcome) (changed bool) {
	if n.Quiet() {
		return false
	}
	for i := range o.Interrupts {
		id := o.Interrupts[i].ToolCallID
		if shown := n.Show(CallID, id); id != "" && shown != id {
			raw := agui.Frame{Raw: o.Interrupts[i].Raw}.With("toolCallId", quote(shown)).Raw
			o.Interrupts[i].ToolCallID, o.Interrupts[i].Raw = shown, raw
			changed = true
		}
	}
	return changed
}

// renameSnapshot gives the messages of a snapshot their shown ids. A snapshot that
// needs none of them is returned as it came [RUN-7].
func (n *Names) renameSnapshot(f agui.Frame) agui.Frame {
	msgs, err := agui.ReadMessages(f.Field("messages"))
	if err != nil {
		return f // malformed: the client judges it
	}
	total, count := map[string]int{}, map[string]int{}
	for _, msg := range msgs {
		total["m"+msg.ID]++
		for _, c := range msg.ToolCalls {
			total["c"+c.ID]++
		}
	}
	name := func(id string) string {
		count[id]++
		return n.nth(id, count[id], total[id])
	}
	changed := false
	current := map[string]string{}
	out := []byte{'['}
	for i, msg := range msgs {
		shown := name("m" + msg.ID)[1:]
		for _, c := range msg.ToolCalls {
			current[c.ID] = name("c" + c.ID)[1:]
			changed = changed || current[c.ID] != c.ID
			if n.holder == nil {
				continue
			}
			if id := n.holder(current[c.ID]); id != "" && n.Upstream(id) == msg.ID {
				shown = id
			}
		}
		if shown != msg.ID {
			msg, changed = msg.With("id", quote(shown)), true
		}
		changed = changed || current[msg.ToolCallID] != "" && current[msg.ToolCallID] != msg.ToolCallID
		msg = showCalls(msg, current)
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, msg.Raw...)
	}
	if !changed {
		return f
	}
	return f.With("messages", append(out, ']'))
}

// nth gives the shown name of the k-th of so many messages, or calls, of one id: a
// list that holds fewer than the thread has seen holds the newest. The id carries
// its kind in front.
func (n *Names) nth(tagged string, k, of int) string {
	kind, id := tagged[:1], tagged[1:]
	var shown []string
	for _, r := range n.byID[id] {
		if string(r.Kind) == kind {
			shown = append(shown, r.Shown)
		}
	}
	if of > len(shown) { // the first use kept its name
		shown = append([]string{id}, shown...)
	}
	at := len(shown) - of + k - 1
	return kind + shown[min(max(at, 0), len(shown)-1)]
}

func showCalls(msg agui.Message, shown map[string]string) agui.Message {
	if to := shown[msg.ToolCallID]; to != "" && to != msg.ToolCallID {
		msg = msg.With("toolCallId", quote(to))
	}
	changed := false
	calls := []byte{'['}
	for i, c := range msg.ToolCalls {
		raw := c.Raw
		if to := shown[c.ID]; to != "" && to != c.ID {
			raw, changed = setID(raw, to), true
		}
		if i > 0 {
			calls = append(calls, ',')
		}
		calls = append(calls, raw...)
	}
	if changed {
		msg = msg.With("toolCalls", append(calls, ']'))
	}
	return msg
}

// setID replaces the id member of a checked object.
func setID(raw []byte, id string) []byte {
	return agui.Frame{Raw: raw}.With("id", strictjson.Quote(id)).Raw
}

// ToUpstream maps a client's message back to the ids the upstream gave [INV-2].
func (n *Names) ToUpstream(msg agui.Message) agui.Message {
	if n.Quiet() {
		return msg
	}
	if up := n.back[msg.ID]; up != "" {
		msg = msg.With("id", quote(up))
	}
	return showCalls(msg, n.back)
}
