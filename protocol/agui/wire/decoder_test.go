package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

func framed(message string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// field writes a length-delimited field with a number below 16.
func lengthField(number int, content string) string {
	b := binary.AppendUvarint([]byte{byte(number<<3 | bytesType)}, uint64(len(content)))
	return string(b) + content
}

const stepEnd = "\x82\x01\x0a\x0a\x02\x08\x0f\x12\x04plan"

func TestDecoderRefuses(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"a length only":            {"\x00\x00\x00\x0c", "incomplete_stream"},
		"half a length":            {"\x00\x00", "incomplete_stream"},
		"half an event":            {"\x00\x00\x00\x0d" + stepEnd[:5], "incomplete_stream"},
		"a length beyond all":      {"\x7f\xff\xff\xff", "event_too_large"},
		"the largest length":       {"\xff\xff\xff\xff", "event_too_large"},
		"SSE":                      {"data: {}\n\n", "event_too_large"},
		"nothing but a number":     {string(framed("\x80\x02\x01")), "upstream_protocol_error"},
		"two events in one":        {string(framed("\x1a\x07\x0a\x02\x08\x02\x12\x01m\x12\x00")), "upstream_protocol_error"},
		"another type in base":     {string(framed("\x1a\x07\x0a\x02\x08\x03\x12\x01m")), "upstream_protocol_error"},
		"a string that is no text": {string(framed("\x1a\x07\x0a\x02\x08\x02\x12\x01\xff")), "upstream_protocol_error /messageId"},
		"a key that is no text":    {string(framed("\x3a\x0f\x0a\x02\x08\x06\x12\x09\x2a\x07\x0a\x05\x0a\x01\xff\x12\x00")), "upstream_protocol_error /snapshot"},
		"a timestamp beyond 2^53":  {string(framed("\x1a\x0d\x0a\x0b\x08\x02\x10\x80\x80\x80\x80\x80\x80\x80\x10")), "upstream_protocol_error /timestamp"},
		"two forms of content":     {string(framed("\xb2\x01\x0b\x0a\x02\x08\x15\x2a\x01x\x3a\x02\x0a\x00")), "upstream_protocol_error /content"},
	} {
		_, d, err := decodeAll(0, []byte(c.in))
		if closed := d.Close(); err == nil {
			err = closed
		}
		if got := codeOf(err); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
		if d.Close() != nil || d.Feed([]byte("x"), nil) == nil {
			t.Errorf("%s: a closed decoder goes on", name)
		}
	}
}

func TestDecoderDrops(t *testing.T) {
	stream := append(framed(""), framed("\x82\x02\x02\x08\x01")...)
	stream = append(append(stream, framed(stepEnd)...), framed("")...)
	got, d, err := decodeAll(0, stream)
	if err != nil || len(got) != 1 || string(got[0].Raw) != `{"type":"STEP_FINISHED","stepName":"plan"}` || d.Dropped() != 3 {
		t.Errorf("%v %v, %d dropped", got, err, d.Dropped())
	}
}

func TestDecoderCallbackError(t *testing.T) {
	stop := errors.New("stop")
	d := NewDecoder(0)
	seen := 0
	each := func(agui.Frame) error { seen++; return stop }
	stream := append(framed(stepEnd), framed(stepEnd)...)
	for range 2 {
		if err := d.Feed(stream, each); !errors.Is(err, stop) {
			t.Errorf("Feed gave %v", err)
		}
	}
	if seen != 1 {
		t.Errorf("each was called %d times", seen)
	}
}

// The limit holds for the message and for its JSON.
func TestDecoderLimit(t *testing.T) {
	message := framed(stepEnd)
	want := len(`{"type":"STEP_FINISHED","stepName":"plan"}`)
	for limit, code := range map[int]string{want: "", want - 1: "event_too_large", len(stepEnd) - 1: "event_too_large"} {
		if _, _, err := decodeAll(limit, message); codeOf(err) != code {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	// Messages of nothing are a dozen times longer in JSON.
	empty := "\x0a\x02\x08\x08" + strings.Repeat("\x12\x00", 100_000)
	big := binary.AppendUvarint([]byte{9<<3 | bytesType}, uint64(len(empty)))
	if _, _, err := decodeAll(1<<20, framed(string(big)+empty)); codeOf(err) != "event_too_large" {
		t.Errorf("100,000 messages of nothing: %v", err)
	}
}

// What a length promises takes no memory before it has come.
func TestDecoderTakesNoMemoryForPromises(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		if _, _, err := decodeAll(1<<30, []byte("\x3f\xff\xff\xff"), []byte("ab")); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("100 promises of 1 GiB took %d bytes", took)
	}
}

// deepValue nests a google.protobuf.Value in that many lists.
func deepValue(lists int) string {
	v := "\x08\x00"
	for range lists {
		v = lengthField(6, lengthField(1, v))
	}
	return v
}

// JSON may be nested MaxDepth deep; the event itself is the first level.
func TestDepth(t *testing.T) {
	for lists, code := range map[int]string{strictjson.MaxDepth - 1: "", strictjson.MaxDepth: "upstream_protocol_error", 5000: "upstream_protocol_error"} {
		event := "\x0a\x02\x08\x06" + lengthField(2, deepValue(lists))
		got, _, err := decodeAll(0, framed(lengthField(7, event)))
		if have, _, _ := strings.Cut(codeOf(err), " "); have != code {
			t.Errorf("%d lists: %v", lists, err)
		}
		for _, f := range got {
			if again := round(t, string(f.Raw)); again != string(f.Raw) {
				t.Errorf("%d lists came back as %s", lists, again)
			}
		}
	}
	groups := "\x82\x01\x0a\x0a\x02\x08\x0f\x12\x04plan" + strings.Repeat("\x9b\x06", 5000)
	if _, _, err := decodeAll(0, framed(groups)); codeOf(err) != "upstream_protocol_error" {
		t.Errorf("5,000 groups: %v", err)
	}
}

// A map's key that stands twice is one member, with the last value.
func TestDecoderMapKeys(t *testing.T) {
	entry := func(key string, v bool) string {
		value := "\x20\x00"
		if v {
			value = "\x20\x01"
		}
		return lengthField(1, lengthField(1, key)+lengthField(2, value))
	}
	var many, json []string
	for i := range 40 {
		many = append(many, entry(fmt.Sprint("k", i), i%2 == 0))
		json = append(json, fmt.Sprintf(`"k%d":%v`, i, i%2 == 0))
	}
	for name, c := range map[string]struct{ in, want string }{
		"few":            {entry("a", true) + entry("b", true) + entry("a", false), `{"b":true,"a":false}`},
		"twice the same": {entry("a", true) + entry("a", true), `{"a":true}`},
		"no value last":  {entry("a", true) + lengthField(1, lengthField(1, "a")), `{"a":true}`},
		"no value first": {lengthField(1, lengthField(1, "a")) + entry("a", true), `{"a":true}`},
		"many":           {strings.Join(many, ""), `{` + strings.Join(json, ",") + `}`},
		"many and again": {entry("k39", true) + strings.Join(many, ""), `{` + strings.Join(json, ",") + `}`},
	} {
		event := "\x0a\x02\x08\x06" + lengthField(2, lengthField(5, c.in))
		got, _, err := decodeAll(0, framed(lengthField(7, event)))
		if want := `{"type":"STATE_SNAPSHOT","snapshot":` + c.want + `}`; err != nil || string(got[0].Raw) != want {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// Merging many pieces of one message must not take their square.
func TestDecoderManyPieces(t *testing.T) {
	piece := lengthField(3, "\x12\x01m")
	stream := framed(lengthField(3, "\x0a\x02\x08\x02") + strings.Repeat(piece, 400_000))
	got, _, err := decodeAll(0, stream)
	if err != nil || len(got) != 1 || string(got[0].Raw) != `{"type":"TEXT_MESSAGE_END","messageId":"m"}` {
		t.Errorf("%v %v", got, err)
	}
}
