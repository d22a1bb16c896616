package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// samples are the events of testdata/events.json, by type.
func samples(t testing.TB) map[agui.Type][]json.RawMessage {
	t.Helper()
	var all map[agui.Type][]json.RawMessage
	load(t, "events.json", &all)
	return all
}

func load(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// published is what the packages made of one sample; e2e/clients/proto.mjs
// writes it.
type published struct {
	V1, V0, V1Old json.RawMessage
}

// failed tells an error of the package from an event.
func failed(raw json.RawMessage) string {
	var e struct{ Error string }
	_ = json.Unmarshal(raw, &e)
	return e.Error
}

func frame(t testing.TB, raw []byte) agui.Frame {
	t.Helper()
	f, err := agui.ParseFrame(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return f
}

func canonical(t testing.TB, raw []byte) string {
	t.Helper()
	b, err := strictjson.Canonical(nil, raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return string(b)
}

// cutStream takes a golden stream apart.
func cutStream(t testing.TB, name string) (messages [][]byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		n := prefixSize + int(binary.BigEndian.Uint32(b))
		messages, b = append(messages, b[:n]), b[n:]
	}
	return messages
}

// decodeAll feeds chunks to a new decoder, and keeps copies of what it gives.
func decodeAll(limit int, chunks ...[]byte) (out []agui.Frame, d *Decoder, err error) {
	d = NewDecoder(limit)
	for _, c := range chunks {
		err = d.Feed(c, func(f agui.Frame) error {
			out = append(out, agui.Frame{Type: f.Type, Raw: bytes.Clone(f.Raw)})
			return nil
		})
		if err != nil {
			break
		}
	}
	return out, d, err
}

func mustAppend(t testing.TB, raw []byte) []byte {
	t.Helper()
	out, ok, err := Append(nil, frame(t, raw))
	if err != nil || !ok {
		t.Fatalf("%s: %v %v", raw, ok, err)
	}
	return out
}

// codeOf is the code of a fault, with the place it names.
func codeOf(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return ""
	}
	if f.Param == "" {
		return string(f.Code)
	}
	return string(f.Code) + " " + f.Param
}
