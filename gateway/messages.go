package gateway

import "github.com/aguigate/aguigate/protocol/agui"

// messages is a client's list with its calls and results found once, so that
// judging a list takes time linear in its length.
type messages struct {
	list    []agui.Message
	holders map[string][]int // tool call id → assistant messages that hold it
	results map[string][]int // tool call id → tool messages that answer it
}

func read(list []agui.Message) *messages {
	m := &messages{list: list, holders: map[string][]int{}, results: map[string][]int{}}
	for i, msg := range list {
		for _, c := range msg.ToolCalls {
			m.holders[c.ID] = append(m.holders[c.ID], i)
		}
		if msg.Role == agui.RoleTool {
			m.results[msg.ToolCallID] = append(m.results[msg.ToolCallID], i)
		}
	}
	return m
}

// stands reports whether an assistant message of the list holds the call.
func (m *messages) stands(call string) bool { return len(m.holders[call]) > 0 }

// calledAfter reports whether the call is made again behind position i.
func (m *messages) calledAfter(i int, call string) bool {
	h := m.holders[call]
	return len(h) > 0 && h[len(h)-1] > i
}

// trailing is the index of the first of the tool messages at the end.
func (m *messages) trailing() int {
	i := len(m.list)
	for i > 0 && m.list[i-1].Role == agui.RoleTool {
		i--
	}
	return i
}

// answerOf finds the tool message that belongs to a call of message i: the next
// one of that id, up to where the same id is called again (F015); -1 if there is
// none.
func (m *messages) answerOf(i int, call string) int {
	limit := len(m.list)
	for _, h := range m.holders[call] {
		if h > i {
			limit = h
			break
		}
	}
	for _, r := range m.results[call] {
		if r > i && r < limit {
			return r
		}
	}
	return -1
}

// goesOn reports a user message that was written after the call: it stands after
// the call's assistant message or, where that is missing, is new to the thread
// [RUN-6].
func (m *messages) goesOn(call string, known func(id string) bool) bool {
	from, there := 0, false
	if h := m.holders[call]; len(h) > 0 {
		from, there = h[0]+1, true
	}
	for _, msg := range m.list[from:] {
		if msg.Role == agui.RoleUser && (there || !known(msg.ID)) {
			return true
		}
	}
	return false
}
