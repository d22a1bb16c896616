package agui

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/fault"
)

// feed gives the data of all events of the chunks, and the error.
func feed(limit int, chunks ...string) (out []string, d *SSEDecoder, err error) {
	d = NewSSEDecoder(limit)
	for _, c := range chunks {
		chunk := []byte(c)
		err = d.Feed(chunk, func(data []byte) error {
			out = append(out, string(data))
			return nil
		})
		for i := range chunk { // the chunk belongs to the caller again
			chunk[i] = '#'
		}
		if err != nil {
			return out, d, err
		}
	}
	return out, d, d.Close()
}

func bytewise(s string) []string {
	out := make([]string, len(s))
	for i := range len(s) {
		out[i] = s[i : i+1]
	}
	return out
}

var sseCases = []struct {
	name, in string
	want     []string
	pending  bool
}{
	{"LF", "data: {\"a\":1}\n\ndata: 2\n\n", []string{`{"a":1}`, "2"}, false},
	{"CRLF", "data: 1\r\n\r\ndata: 2\r\n\r\n", []string{"1", "2"}, false},
	{"CR", "data: 1\r\rdata: 2\r\r", []string{"1", "2"}, false},
	{"a lone CR dispatches at once", "data: 1\r\r", []string{"1"}, false},
	{"CRLF, its last LF has not come", "data: 1\r\n\r", []string{"1"}, false},
	{"mixed line ends", "data: 1\n\r\ndata: 2\r\rdata: 3\r\n\n", []string{"1", "2", "3"}, false},
	{"CR LF is one line end, LF CR two", "data: 1\n\rdata: 2\n\r", []string{"1", "2"}, false},
	{"no space", "data:1\n\ndata:  2\n\n", []string{"1", " 2"}, false},
	{"byte order mark", "\xEF\xBB\xBFdata: 1\n\n\xEF\xBB\xBFdata: 2\n\n", []string{"1"}, false},
	{"half a byte order mark is a field name", "\xEF\xBBdata: 1\n\ndata: 2\n\n", []string{"2"}, false},
	{"comments and other fields", ": hi\n\nevent: x\nid: 7\nretry: 1\n: c\ndata: 1\ndat: 0\ndataset: 0\n\n", []string{"1"}, false},
	{"several data lines", "data: {\ndata: \"a\":\ndata:\ndata: 1}\n\n", []string{"{\n\"a\":\n\n1}"}, false},
	{"an empty first data line", "data:\ndata: 1\n\n", []string{"\n1"}, false},
	{"data without a colon", "data\ndata: 1\n\n", []string{"\n1"}, false},
	{"empty data, [DONE], keepalive", "data:\n\ndata: \n\ndata\n\nevent: ping\ndata:\n\ndata: [DONE]\n\n: keep-alive\n\n\n\n", nil, false},
	{"an unfinished event is dropped", "data: 1\n\ndata: 2\n", []string{"1"}, true},
	{"an unfinished line is dropped", "data: 1\n\ndata: 2", []string{"1"}, true},
	{"only an id is left", "data: 1\n\nid: 4", []string{"1"}, true},
	{"UTF-8", "data: ä€😀\u2028\n\n", []string{"ä€😀\u2028"}, false},
	{"nothing", "", nil, false},
}

func TestSSEEveryCut(t *testing.T) {
	for _, c := range sseCases {
		check := func(how string, chunks ...string) {
			got, d, err := feed(64, chunks...)
			if err != nil || !slices.Equal(got, c.want) || d.Pending() != c.pending {
				t.Errorf("%s, %s: %q pending %v %v, want %q pending %v", c.name, how, got, d.Pending(), err, c.want, c.pending)
			}
		}
		check("whole", c.in)
		for i := range len(c.in) {
			check(fmt.Sprintf("cut at %d", i), c.in[:i], c.in[i:])
			check(fmt.Sprintf("cut at %d around an empty chunk", i), c.in[:i], "", c.in[i:])
		}
		check("byte by byte", bytewise(c.in)...)
	}
}

func TestSSELimit(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
		ok       bool
	}{
		{"exactly the limit", "data: 12345678\n\n", []string{"12345678"}, true},
		{"over in one line", "data: 1\n\ndata: 123456789\n\n", []string{"1"}, false},
		{"over without a space", "data:123456789\n\n", nil, false},
		{"over in several lines", "data: 1\n\ndata: 12345\ndata: 6789\n\n", []string{"1"}, false},
		{"endless line", "data: 1\n\ndata: aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", []string{"1"}, false},
		{"endless comment line", ":aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", nil, false},
		{"endless empty data lines", strings.Repeat("data:\n", 20), nil, false},
		{"comments do not add up", strings.Repeat(": ping\n", 50) + "data: 1\n\n", []string{"1"}, true},
		{"each event is counted alone", strings.Repeat("data: 12345678\n\n", 3), []string{"12345678", "12345678", "12345678"}, true},
	} {
		for how, chunks := range map[string][]string{"whole": {c.in}, "byte by byte": bytewise(c.in)} {
			got, d, err := feed(8, chunks...)
			if !slices.Equal(got, c.want) || (err == nil) != c.ok {
				t.Errorf("%s, %s: %q %v, want %q", c.name, how, got, err, c.want)
			}
			if !c.ok {
				again := d.Feed([]byte("data: 1\n\n"), func([]byte) error { return nil })
				if fault.CodeOf(err) != fault.EventTooLarge || again != err || d.Close() != err {
					t.Errorf("%s: error %v, then %v; want event_too_large for ever", c.name, err, again)
				}
			}
		}
	}
}

func TestSSEEmitError(t *testing.T) {
	stop := errors.New("stop")
	d := NewSSEDecoder(0)
	n := 0
	err := d.Feed([]byte("data: 1\n\ndata: 2\n\n"), func([]byte) error { n++; return stop })
	if err != stop || n != 1 {
		t.Errorf("got %v after %d events, want stop after 1", err, n)
	}
}

func TestSSEWholeEventIsNotCopied(t *testing.T) {
	chunk := []byte(": hello\n\ndata: {\"type\":\"RAW\"}\r\n\r\nid: 1\ndata: x\n\n")
	d := NewSSEDecoder(0)
	inside := 0
	n := testing.AllocsPerRun(20, func() {
		if err := d.Feed(chunk, func(data []byte) error {
			if i := bytes.Index(chunk, data); &chunk[i] == &data[0] {
				inside++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 || inside != 2*21 {
		t.Errorf("%v allocations, %d events inside the chunk; want 0 and 42", n, inside)
	}
}

func TestSSETail(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"data: 1\n\n", ""},
		{"data: 1\n\ndata: {\"type\":\"RAW\"}\n", `{"type":"RAW"}`},
		{"data: 1\n\ndata: {\"type\":\"RAW\"}", `{"type":"RAW"}`},
		{"data: {\ndata:}", "{\n}"},
		{"data: 1\nid: 4", "1"},
		{"id: 4", ""},
		{"data: [DONE]\n", ""},
	} {
		_, d, err := feed(64, c.in[:1], c.in[1:])
		if got := d.Tail(); err != nil || string(got) != c.want {
			t.Errorf("%q: tail %q %v, want %q", c.in, got, err, c.want)
		}
	}
	d := NewSSEDecoder(0)
	for range 2 {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if d.Feed([]byte("data: 1\n\n"), nil) == nil {
		t.Error("a closed decoder must refuse to be fed")
	}
}

func TestAppendSSE(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"type":"RAW","event":"a\nb"}`, "data: {\"type\":\"RAW\",\"event\":\"a\\nb\"}\n\n"},
		{"{\n\"type\":\r\n\"RAW\"}", "data: {\ndata: \"type\": \ndata: \"RAW\"}\n\n"},
		{" {}\n\n", "data:  {}\ndata: \ndata: \n\n"},
	} {
		got := AppendSSE([]byte("id: 1\n"), Frame{Raw: []byte(c.raw)})
		if string(got) != "id: 1\n"+c.want {
			t.Errorf("%q: %q, want %q", c.raw, got, c.want)
		}
	}
	events, _, err := feed(0, KeepAlive)
	if err != nil || len(events) != 0 {
		t.Errorf("the keepalive is read as %q %v", events, err)
	}
}

// FuzzSSE: how the text is cut makes no difference; what AppendSSE writes comes
// back as one event.
func FuzzSSE(f *testing.F) {
	for _, c := range sseCases {
		f.Add([]byte(c.in), uint16(3))
	}
	f.Add([]byte("data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\n"), uint16(1))
	f.Fuzz(func(t *testing.T, in []byte, cuts uint16) {
		whole, dw, errWhole := feed(16, string(in))
		var chunks []string
		for rest := string(in); rest != ""; {
			n := min(len(rest), 1+int(cuts%7))
			cuts = cuts>>3 | cuts<<13
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		got, dg, err := feed(16, chunks...)
		if !slices.Equal(whole, got) || (err == nil) != (errWhole == nil) || dw.Pending() != dg.Pending() || !bytes.Equal(dw.Tail(), dg.Tail()) {
			t.Fatalf("%q: whole %q %v, cut %q %q %v", in, whole, errWhole, chunks, got, err)
		}
		if frame, err := ParseFrame(in); err == nil {
			events, d, err := feed(0, string(AppendSSE(nil, frame)))
			want := strings.ReplaceAll(string(in), "\r", " ")
			if err != nil || len(events) != 1 || events[0] != want || d.Pending() {
				t.Fatalf("%q came back as %q %v", in, events, err)
			}
		}
	})
}
