package wire

import "testing"

func TestPrefers(t *testing.T) {
	const proto = MediaType
	for _, c := range []struct {
		accept string
		want   bool
	}{
		{"", false},
		{"*/*", false},
		{"text/event-stream", false},
		{"application/json", false},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false},

		{proto, true},
		{"Application/Vnd.AG-UI.Event+Proto", true},
		{" " + proto + " ; q=0.1 ", true},
		{proto + ";q=0", false},
		{proto + ";Q=0.000", false},
		{proto + ";q=1.000", true},
		{proto + ", application/json", true},

		{proto + ", text/event-stream", false}, // equal weights: order says nothing (RFC 9110 §12.5.1)
		{"text/event-stream, " + proto, false},
		{proto + ";q=1, text/event-stream;q=0.5", true},
		{"text/event-stream;q=0.5," + proto, true},
		{proto + ";q=0.5, text/event-stream;q=0.501", false},
		{proto + ";q=0.501, text/event-stream;q=0.5", true},
		{proto + ";q=0.1, text/event-stream;q=0", true},
		{proto + ";q=0, text/event-stream;q=0", false},

		{proto + ", */*", false}, // SSE is as welcome
		{proto + ", */*;q=0.1", true},
		{proto + ";q=0.2, */*;q=0.8", false},
		{proto + ";q=0.2, */*;q=0.8, text/event-stream;q=0.1", true}, // the closer range counts
		{"*/*;q=0.5, text/event-stream;q=0.1", false},                // */* asks for no protobuf
		{"application/*", true},
		{"application/*, text/*", false},
		{"application/*;q=0.5, text/*;q=0.4", true},
		{"application/*, " + proto + ";q=0", false},
		{"application/*;q=0.1, " + proto + ";q=0.9, text/event-stream;q=0.5", true},
		{"text/*, " + proto + ";q=0.9", false},
		{proto + ";q=0.3, " + proto + ";q=0.9, text/event-stream;q=0.5", true},

		{proto + ";version=2", false}, // asks for something else than we have
		{proto + `;x="a,b;q=1", text/event-stream`, false},
		{`text/plain;x="a\",` + proto + `", text/event-stream;q=0.5`, false},
		{`text/plain;x="a,b", ` + proto, true},
		{"text/event-stream;charset=UTF-8, " + proto + ";q=0.5", false},
		{"text/event-stream;charset=latin1, " + proto + ";q=0.5", true},
		{proto + ";q=0.5;ext=1", true},

		{proto + ";q=2", false},
		{proto + ";q=1.001", false},
		{proto + ";q=", false},
		{proto + ";q=.5", false},
		{proto + ";q=0.1234", false},
		{proto + ";q=-1", false},
		{proto + ";q=0.5x", false},
		{",, ;q=1,;," + proto, true},
		{";", false},
		{"/", false},
		{`"`, false},
	} {
		if got := Prefers(c.accept); got != c.want {
			t.Errorf("%q: %v", c.accept, got)
		}
	}
}
