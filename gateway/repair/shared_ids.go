package repair

import (
	"strconv"

	"github.com/aguigate/aguigate/protocol/agui"
)

// Renamed is a message id that shared_ids has replaced: a message that comes
// back under Shown is the upstream's Upstream.
type Renamed struct{ Upstream, Shown string }

// sort is what a message is: ids that two sorts share are told apart by it.
type sort uint8

const (
	spoken  sort = iota + 1 // a text, or the message that holds calls
	thought                 // a reasoning message
	result
	activity
)

// shared remembers which message has which id.
type shared struct {
	used    map[string]use
	names   map[named]string // ids in use under another name
	renamed []Renamed
	turn    int // results and texts that have begun
	bytes   int
}

type named struct {
	sort sort
	id   string
}

type use struct {
	sort  sort
	open  bool
	turn  int    // when it ended
	call  string // of a result
	names int    // other names given for the id
}

// sharedIDs: a client appends to the message that has the id, whatever it is, so
// an answer under the id of the reasoning becomes reasoning, and one under the id
// of an earlier text stands before the tool results it speaks of. The later
// message gets its own id, "<id>-2" and so on.
//
// A text that ends and goes on under its id with no result or other text between
// is one message, and a call's parentMessageId may name any text.
func (c *Chain) sharedIDs(e *event) bool {
	s := &c.shared
	changed := false
	switch e.kind {
	case textStart, thoughtStart:
		changed = s.show(e, messageID, s.begin(sortOf(e.kind), e.bytes(messageID)))
	case textContent, thoughtContent:
		changed = s.goOn(e)
	case textEnd, thoughtEnd:
		changed = s.show(e, messageID, s.name(sortOf(e.kind), e.bytes(messageID)))
		s.end(sortOf(e.kind), e.bytes(messageID))
	case textChunk, thoughtChunk:
		if e.opens {
			changed = s.show(e, messageID, s.begin(sortOf(e.kind), e.bytes(messageID)))
		} else {
			changed = s.show(e, messageID, s.name(sortOf(e.kind), e.bytes(messageID)))
		}
	case callStart, callChunk:
		changed = s.show(e, parentID, s.name(spoken, e.bytes(parentID)))
		s.holdsCall(e)
	case callResult:
		changed = s.show(e, messageID, s.result(e))
	case encrypted:
		changed = s.entity(e)
	case subagentStarted:
		changed = s.show(e, parentID, s.name(spoken, e.bytes(parentID)))
	case activitySnapshot:
		if id := e.bytes(messageID); len(id) > 0 {
			if _, ok := s.used[string(id)]; !ok {
				s.set(string(id), use{sort: activity})
			}
		}
	case messagesSnapshot:
		changed = s.snapshot(e)
	}
	if changed {
		c.did(rowSharedIDs)
	}
	return true
}

// Renamed lists the ids that shared_ids has replaced in this run, so that they
// can be told apart again when a client sends the messages back.
func (c *Chain) Renamed() []Renamed { return c.shared.renamed }

func sortOf(k kind) sort {
	switch k {
	case textStart, textContent, textEnd, textChunk:
		return spoken
	}
	return thought
}

// show puts another name in the event's member; "" leaves it.
func (s *shared) show(e *event, k key, name string) bool {
	if name == "" {
		return false
	}
	e.putText(k, name)
	return true
}

// name is the name under which a message of that sort is shown, "" for its own.
func (s *shared) name(of sort, id []byte) string {
	if len(s.names) == 0 || len(id) == 0 {
		return ""
	}
	return s.names[named{of, string(id)}]
}

// goOn is for events that continue a message; one that nobody began begins here.
func (s *shared) goOn(e *event) bool {
	id := e.bytes(messageID)
	of := sortOf(e.kind)
	if len(s.names) == 0 {
		if u, ok := s.used[string(id)]; ok && u.sort == of && u.open {
			return false
		}
	} else if name := s.name(of, id); name != "" && s.used[name].open {
		return s.show(e, messageID, name)
	} else if u := s.used[string(id)]; name == "" && u.sort == of && u.open {
		return false
	}
	return s.show(e, messageID, s.begin(of, id))
}

// begin enters a message that begins and gives the name it is shown under.
func (s *shared) begin(of sort, id []byte) string {
	if len(id) == 0 {
		return ""
	}
	shown := s.name(of, id)
	at := shown
	if at == "" {
		at = string(id)
	}
	u, ok := s.used[at]
	if ok && u.sort == of && (u.open || u.turn == s.turn) {
		u.open = true
		s.used[at] = u
		return shown
	}
	if ok {
		shown = s.free(string(id))
		at = shown
	}
	if of == spoken {
		s.turn++
	}
	if !s.set(at, use{sort: of, open: true}) {
		return ""
	}
	if ok {
		s.rename(named{of, string(id)}, shown)
	}
	return shown
}

func (s *shared) rename(from named, shown string) {
	if s.names == nil {
		s.names = map[named]string{}
	}
	if from.sort != result { // nothing refers to a result's message
		s.names[from] = shown
	}
	s.renamed = append(s.renamed, Renamed{from.id, shown})
}

// free finds the first name of id that no message has.
func (s *shared) free(id string) string {
	u := s.used[id]
	for {
		u.names++
		name := id + "-" + strconv.Itoa(u.names+1)
		if _, ok := s.used[name]; !ok {
			s.used[id] = u // found once: an upstream may have thousands of one id
			return name
		}
	}
}

// set remembers an id, while there is room.
func (s *shared) set(id string, u use) bool {
	if _, ok := s.used[id]; !ok {
		cost := 2*len(id) + 128
		if len(id) > maxID || s.bytes+cost > maxBytes {
			return false
		}
		s.bytes += cost
	}
	if s.used == nil {
		s.used = map[string]use{}
	}
	s.used[id] = u
	return true
}

// end notes that the message shown as id has ended.
func (s *shared) end(of sort, id []byte) {
	if u := s.used[string(id)]; u.open && u.sort == of { // a stray END ends nothing
		u.open, u.turn = false, s.turn
		s.used[string(id)] = u
	}
}

// ended is end for a lane of chunks, by the upstream's id.
func (s *shared) ended(k kind, id string) {
	if k == callChunk {
		return
	}
	if name := s.name(sortOf(k), []byte(id)); name != "" {
		id = name
	}
	s.end(sortOf(k), []byte(id))
}

// holdsCall: a client makes a message for a call that has none, under the
// parent's id or the call's own.
func (s *shared) holdsCall(e *event) {
	id := e.bytes(parentID)
	if len(id) == 0 {
		id = e.bytes(toolCallID)
	}
	if len(id) == 0 {
		return
	}
	if _, ok := s.used[string(id)]; !ok {
		s.set(string(id), use{sort: spoken, turn: s.turn})
	}
}

// result gives the name of a result's message. The same result once more keeps
// its id.
func (s *shared) result(e *event) string {
	id, call := e.text(messageID), e.text(toolCallID)
	if id == "" || len(call) > maxID {
		return ""
	}
	s.turn++
	u, ok := s.used[id]
	if ok && u.sort == result && u.call == call {
		return ""
	}
	shown, at := "", id
	if ok {
		shown = s.free(id)
		at = shown
	}
	if !s.set(at, use{sort: result, call: call, turn: s.turn}) {
		return ""
	}
	if ok {
		s.rename(named{result, id}, shown)
	}
	return shown
}

// entity: an encrypted value of a message belongs to reasoning first.
func (s *shared) entity(e *event) bool {
	if len(s.names) == 0 || e.f.Text("subtype") != "message" {
		return false
	}
	id := e.f.Text("entityId")
	name := s.names[named{thought, id}]
	if name == "" && s.used[id].sort != thought {
		name = s.names[named{spoken, id}]
	}
	if name == "" {
		return false
	}
	e.replace(e.f.WithText("entityId", name))
	return true
}

// snapshot gives the messages of a snapshot the names they have been shown
// under. Where one id stands for several messages of a sort, the last ones of the
// list are the newest.
func (s *shared) snapshot(e *event) bool {
	if len(s.renamed) == 0 {
		return false
	}
	list, err := agui.ReadMessages(e.f.Field("messages"))
	if err != nil {
		return false // the machine judges it
	}
	seen := map[string]bool{}
	changed := false
	for i := range list {
		m := &list[i]
		if !seen[m.ID] {
			seen[m.ID] = true
			if s.used[m.ID].sort == sortOfRole(m.Role) || s.used[m.ID].sort == 0 {
				continue
			}
		}
		if name := s.nameIn(m); name != "" && !seen[name] {
			list[i] = m.With("id", quoted([]byte(name)))
			seen[name], changed = true, true
		}
	}
	if changed {
		e.replace(e.f.With("messages", agui.AppendMessages(nil, list)))
	}
	return changed
}

func (s *shared) nameIn(m *agui.Message) string {
	of := sortOfRole(m.Role)
	for _, r := range s.renamed {
		if u := s.used[r.Shown]; r.Upstream == m.ID && u.sort == of && (of != result || u.call == m.ToolCallID) {
			return r.Shown
		}
	}
	return ""
}

func sortOfRole(r agui.Role) sort {
	switch r {
	case agui.RoleTool:
		return result
	case agui.RoleReasoning:
		return thought
	case agui.RoleActivity:
		return activity
	}
	return spoken
}
