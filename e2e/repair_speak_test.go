package e2e

import (
	"encoding/json"
	"testing"
)

// speak runs a client whose agent says data, on a thread of its own unless the order
// names one.
func speak(t *testing.T, url string, data []string, order reading) readout {
	t.Helper()
	order.URL, order.Run = url, "r1"
	if order.Thread == "" {
		order.Thread = threadID(t)
	}
	theFaultyAgent().play(order.Thread, answerScript{data: onThread(data, order.Thread)})
	if order.Messages == nil {
		order.Messages = []map[string]any{{"id": "asked", "role": "user", "content": "go"}}
	}
	order.Tools = fixture{client: []string{"pick_date"}}.tools()
	return must(t, theReader).read(t, order)
}

// says checks the content of one message.
func says(t *testing.T, r readout, id, want string) {
	t.Helper()
	for _, m := range r.Messages {
		if m.ID != id {
			continue
		}
		if len(m.Content) == 0 || sameJSON(t, m.Content) != sameJSON(t, []byte(want)) {
			t.Errorf("message %s is %s, want %s", id, m.Content, want)
		}
		return
	}
	t.Errorf("there is no message %s", id)
}

// endsIn checks the outcome on the wire; "" is none.
func endsIn(t *testing.T, r readout, want string) {
	t.Helper()
	var end struct {
		Type    string          `json:"type"`
		Outcome json.RawMessage `json:"outcome"`
	}
	if err := json.Unmarshal([]byte(r.Wire[len(r.Wire)-1]), &end); err != nil || end.Type != "RUN_FINISHED" {
		t.Errorf("the run ends in %s (%v)", end.Type, err)
		return
	}
	switch {
	case want == "" && end.Outcome == nil:
	case want == "" || end.Outcome == nil || sameJSON(t, end.Outcome) != sameJSON(t, []byte(want)):
		t.Errorf("the outcome is %s, want %s", end.Outcome, want)
	}
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
