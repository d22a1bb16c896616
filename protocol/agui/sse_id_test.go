package agui

import (
	"math"
	"testing"
)

func TestAppendSSEWithID(t *testing.T) {
	for _, c := range []struct {
		id        uint64
		raw, want string
	}{
		{0, `{"type":"RAW"}`, "id: 0\ndata: {\"type\":\"RAW\"}\n\n"},
		{7, "{\n\"type\":\"RAW\"}", "id: 7\ndata: {\ndata: \"type\":\"RAW\"}\n\n"},
		{math.MaxUint64, `{}`, "id: 18446744073709551615\ndata: {}\n\n"},
	} {
		got := string(AppendSSEWithID([]byte("x"), c.id, Frame{Raw: []byte(c.raw)}))
		if got != "x"+c.want {
			t.Errorf("%d %s: %q, want %q", c.id, c.raw, got, c.want)
		}
		events, d, err := feed(0, got[1:])
		if err != nil || len(events) != 1 || events[0] != c.raw || d.Pending() {
			t.Errorf("%d %s is read as %q %v", c.id, c.raw, events, err)
		}
	}
}
