package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/agui/wire"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// codec is clients/proto.mjs: the published packages on request.
type codec struct {
	in  io.Writer
	out *bufio.Scanner
}

type codecRequest struct {
	Version string          `json:"version"`
	Event   json.RawMessage `json:"event,omitempty"`
	Bytes   []byte          `json:"bytes,omitempty"` // base64 in JSON
}

type codecAnswer struct {
	Bytes  string            `json:"bytes"`
	Events []json.RawMessage `json:"events"`
	Error  string            `json:"error"`
}

func startCodec(t *testing.T) *codec {
	t.Helper()
	cmd := exec.Command(must(t, node), filepath.Join("clients", "proto.mjs"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("proto.mjs: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &codec{in, lines}
}

func (c *codec) ask(t *testing.T, r codecRequest) codecAnswer {
	t.Helper()
	line, err := json.Marshal(r)
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err != nil {
		t.Fatal(err)
	}
	var a codecAnswer
	if !c.out.Scan() {
		t.Fatalf("proto.mjs ended: %v", c.out.Err())
	}
	if err := json.Unmarshal(c.out.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// encode gives the bytes of a package, or nil where it throws.
func (c *codec) encode(t *testing.T, version string, event []byte) []byte {
	t.Helper()
	a := c.ask(t, codecRequest{Version: version, Event: event})
	if a.Error != "" {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(a.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decode gives what a package reads of one message in its canonical form, and
// "" where it throws.
func (c *codec) decode(t *testing.T, version string, bytes []byte) string {
	t.Helper()
	a := c.ask(t, codecRequest{Version: version, Bytes: bytes})
	if a.Error != "" || len(a.Events) != 1 {
		return ""
	}
	return sameJSON(t, a.Events[0])
}

func sameJSON(t *testing.T, raw []byte) string {
	t.Helper()
	b, err := strictjson.Canonical(nil, raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return string(b)
}

// goDecode gives what the gateway reads, and "" where it refuses or leaves out.
func goDecode(t *testing.T, bytes []byte) (got string) {
	t.Helper()
	err := wire.NewDecoder(0).Feed(bytes, func(f agui.Frame) error {
		got += sameJSON(t, f.Raw)
		return nil
	})
	if err != nil {
		return ""
	}
	return got
}

func goEncode(t *testing.T, event []byte) []byte {
	t.Helper()
	f, err := agui.ParseFrame(event)
	if err != nil {
		t.Fatal(err)
	}
	b, ok, err := wire.Append(nil, f)
	if err != nil || !ok {
		t.Fatalf("%s: %v %v", event, ok, err)
	}
	return b
}

// in0059 are the types 0.0.59 can say in protobuf. It has a place for the two
// CHUNK types too, but fails on them both ways.
var in0059 = []string{
	"CUSTOM", "MESSAGES_SNAPSHOT", "RAW", "RUN_ERROR", "RUN_FINISHED", "RUN_STARTED", "STATE_DELTA", "STATE_SNAPSHOT",
	"STEP_FINISHED", "STEP_STARTED", "SUBAGENT_ERROR", "SUBAGENT_FINISHED", "SUBAGENT_STARTED",
	"TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_START",
}

// The gateway and the published packages read each other [RUN-1, UP-1]. What a
// client makes of the gateway's bytes is what it makes of its own package's;
// what the gateway makes of a package's bytes is what the 1.0.0 client makes of
// them.
func TestProtobufBothWays(t *testing.T) {
	c := startCodec(t)
	var all map[string][]json.RawMessage
	b, err := os.ReadFile(filepath.Join("..", "protocol", "agui", "wire", "testdata", "events.json"))
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 31 {
		t.Errorf("events of %d types, 1.0 has 31", len(all))
	}
	for kind, events := range all {
		t.Run(kind, func(t *testing.T) {
			read := map[string]int{} // what a version could read of ours
			for _, event := range events {
				ours := goEncode(t, event)
				theirs := c.encode(t, "1.0.0", event)
				for _, version := range versions {
					got, want := c.decode(t, version, ours), c.decode(t, version, theirs)
					if got != want {
						t.Errorf("%s\n %s reads %s\nof 1.0.0 it reads %s", event, version, got, want)
					}
					if got != "" {
						read[version]++
					}
				}
				for _, version := range versions {
					bytes := c.encode(t, version, event)
					if got, want := goDecode(t, bytes), c.decode(t, "1.0.0", bytes); got != want {
						t.Errorf("%s from %s:\nthe gateway reads %s\n   1.0.0 reads    %s", event, version, got, want)
					}
				}
			}
			if read["1.0.0"] != len(events) {
				t.Errorf("1.0.0 reads %d of %d events", read["1.0.0"], len(events))
			}
			if old := slices.Contains(in0059, kind); old != (read["0.0.59"] > 0) {
				t.Errorf("0.0.59 reads %d of %d events, knows the type: %v", read["0.0.59"], len(events), old)
			}
		})
	}
}

// Bytes no encoder of ours writes, as the Event message alone; the gateway reads
// of them what 1.0.0 reads.
var oddMessages = map[string]string{
	"an event of a later protocol":        "\x82\x02\x02\x08\x01",
	"broken bytes of a later protocol":    "\x82\x02\x01\xff",
	"only a number of a later protocol":   "\x80\x02\x01",
	"a later field beside an event":       "\x1a\x07\x0a\x02\x08\x02\x12\x01m\x82\x02\x00",
	"two events":                          "\x1a\x07\x0a\x02\x08\x02\x12\x01m\x12\x00",
	"one event in two pieces":             "\x1a\x04\x0a\x02\x08\x02\x1a\x03\x12\x01m",
	"no base":                             "\x1a\x03\x12\x01m",
	"another type in the base":            "\x1a\x07\x0a\x02\x08\x03\x12\x01m",
	"the base twice":                      "\x1a\x0b\x0a\x02\x10\x05\x12\x01m\x0a\x02\x08\x02",
	"a string twice":                      "\x1a\x0a\x0a\x02\x08\x02\x12\x01m\x12\x01n",
	"a string as a number":                "\x1a\x06\x0a\x02\x08\x02\x10\x01",
	"an unknown field":                    "\x1a\x09\x0a\x02\x08\x02\x12\x01m\x78\x01",
	"a group":                             "\x1a\x09\x0a\x02\x08\x02\x12\x01m\x7b\x7c",
	"a group with a field in it":          "\x1a\x0b\x0a\x02\x08\x02\x12\x01m\x7b\x08\x01\x7c",
	"a group that does not end":           "\x1a\x08\x0a\x02\x08\x02\x12\x01m\x7b",
	"field 0":                             "\x1a\x08\x0a\x02\x08\x02\x12\x01m\x00",
	"a length beyond the end":             "\x1a\x09\x0a\x02\x08\x02",
	"a varint that does not end":          "\x1a\x04\x0a\x02\x08\xff",
	"a timestamp beyond 2^53":             "\x1a\x0d\x0a\x0b\x08\x02\x10\x80\x80\x80\x80\x80\x80\x80\x10",
	"a negative timestamp":                "\x1a\x0f\x0a\x0d\x08\x02\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	"a value that holds nothing":          "\x3a\x06\x0a\x02\x08\x06\x12\x00",
	"a value of two kinds":                "\x3a\x0a\x0a\x02\x08\x06\x12\x04\x08\x00\x20\x01",
	"a list with a value of nothing":      "\x3a\x0a\x0a\x02\x08\x06\x12\x04\x32\x02\x0a\x00",
	"a list in two pieces":                "\x3a\x14\x0a\x02\x08\x06\x12\x0e\x32\x05\x0a\x03\x1a\x01a\x32\x05\x0a\x03\x1a\x01b",
	"a list, a string, a list":            "\x3a\x17\x0a\x02\x08\x06\x12\x11\x32\x05\x0a\x03\x1a\x01a\x1a\x01s\x32\x05\x0a\x03\x1a\x01b",
	"a struct with an entry of nothing":   "\x3a\x0d\x0a\x02\x08\x06\x12\x07\x2a\x05\x0a\x03\x0a\x01k",
	"a struct with a key twice":           "\x3a\x1a\x0a\x02\x08\x06\x12\x14\x2a\x12\x0a\x07\x0a\x01k\x12\x02\x20\x00\x0a\x07\x0a\x01k\x12\x02\x20\x01",
	"a patch of an unknown operation":     "\x42\x0b\x0a\x02\x08\x07\x12\x05\x08\x2a\x12\x01/",
	"a patch of operation -1":             "\x42\x14\x0a\x02\x08\x07\x12\x0e\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x01/",
	"a patch of nothing":                  "\x42\x06\x0a\x02\x08\x07\x12\x00",
	"a message of nothing":                "\x4a\x06\x0a\x02\x08\x08\x12\x00",
	"a user without content":              "\x4a\x0c\x0a\x02\x08\x08\x12\x06\x12\x04user",
	"a user with a part of nothing":       "\x4a\x0e\x0a\x02\x08\x08\x12\x08\x12\x04user\x42\x00",
	"a user with a part of two kinds":     "\x4a\x12\x0a\x02\x08\x08\x12\x0c\x12\x04user\x42\x04\x0a\x00\x12\x00",
	"an image without a source":           "\x4a\x10\x0a\x02\x08\x08\x12\x0a\x12\x04user\x42\x02\x12\x00",
	"an image with a later source":        "\x4a\x15\x0a\x02\x08\x08\x12\x0f\x12\x04user\x42\x07\x12\x05\x0a\x03\x7a\x01x",
	"an image with a source of two kinds": "\x4a\x17\x0a\x02\x08\x08\x12\x11\x12\x04user\x42\x09\x12\x07\x0a\x04\x0a\x00\x12\x00\x1a\x00",
	"a user with text and parts":          "\x4a\x13\x0a\x02\x08\x08\x12\x0d\x12\x04user\x1a\x01x\x42\x02\x0a\x00",
	"a system with parts":                 "\x4a\x12\x0a\x02\x08\x08\x12\x0c\x12\x06system\x42\x02\x0a\x00",
	"an activity with text":               "\x4a\x13\x0a\x02\x08\x08\x12\x0d\x12\x08activity\x1a\x01x",
	"a user with an activity's content":   "\x4a\x0e\x0a\x02\x08\x08\x12\x08\x12\x04user\x6a\x00",
	"an unknown role with text":           "\x4a\x0c\x0a\x02\x08\x08\x12\x06\x12\x01x\x1a\x01y",
	"an unknown role with parts":          "\x4a\x0d\x0a\x02\x08\x08\x12\x07\x12\x01x\x42\x02\x0a\x00",
	"an unknown role with an object":      "\x4a\x0b\x0a\x02\x08\x08\x12\x05\x12\x01x\x6a\x00",
	"an unknown role with two contents":   "\x4a\x0e\x0a\x02\x08\x08\x12\x08\x12\x01x\x1a\x01y\x6a\x00",
	"a tool call without a function":      "\x4a\x0a\x0a\x02\x08\x08\x12\x04\x2a\x02\x0a\x00",
	"no outcome with interrupts":          "\x6a\x0b\x0a\x02\x08\x0c\x32\x00\x42\x01c\x3a\x00",
	"a success with interrupts":           "\x6a\x12\x0a\x02\x08\x0c\x2a\x07success\x32\x00\x42\x01c",
	"an interrupt without interrupts":     "\x6a\x0f\x0a\x02\x08\x0c\x2a\x09interrupt",
	"a subagent without outcome":          "\xa2\x01\x07\x0a\x02\x08\x11\x2a\x01i",
	"a result with two contents":          "\xb2\x01\x0b\x0a\x02\x08\x15\x2a\x01x\x3a\x02\x0a\x00",
	"an input of nothing":                 "\x62\x06\x0a\x02\x08\x0b\x2a\x00",
	"a null result":                       "\x6a\x08\x0a\x02\x08\x0c\x22\x02\x08\x00",
}

func TestProtobufOddBytes(t *testing.T) {
	c := startCodec(t)
	refused := 0
	for _, name := range slices.Sorted(maps.Keys(oddMessages)) {
		message := oddMessages[name]
		bytes := append([]byte{0, 0, 0, byte(len(message))}, message...)
		got, want := goDecode(t, bytes), c.decode(t, "1.0.0", bytes)
		if got != want {
			t.Errorf("%s:\nthe gateway reads %q\n   1.0.0 reads    %q", name, got, want)
		}
		if got == "" {
			refused++
		}
	}
	if refused == 0 || refused > len(oddMessages)/2 {
		t.Errorf("%d of %d were refused; these bytes are not what they say", refused, len(oddMessages))
	}
}
