package wire

import (
	"bytes"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

// Every type of 1.0 has samples, and Append's bytes are those of the published
// 1.0.0 encoder.
func TestAppendGolden(t *testing.T) {
	all := samples(t)
	if len(all) != len(events) {
		t.Errorf("samples of %d types, the envelope has %d", len(all), len(events))
	}
	for kind, raws := range all {
		t.Run(string(kind), func(t *testing.T) {
			want := cutStream(t, string(kind)+".v1.bin")
			if len(raws) != len(want) {
				t.Fatalf("%d samples, %d published", len(raws), len(want))
			}
			prefix := []byte("before")
			for i, raw := range raws {
				got, ok, err := Append(prefix, frame(t, raw))
				if err != nil || !ok || !bytes.Equal(got, append(prefix[:len(prefix):len(prefix)], want[i]...)) {
					t.Errorf("%s\n got %q %v %v\nwant %q", raw, got[min(len(prefix), len(got)):], ok, err, want[i])
				}
			}
		})
	}
}

// What the published encoders write is read as the published 1.0.0 decoder
// reads it; what that refuses or leaves out, so do we, with one exception: the
// messages without bytes that 0.0.59 writes end no stream.
func TestDecoderGolden(t *testing.T) {
	for kind, raws := range samples(t) {
		t.Run(string(kind), func(t *testing.T) {
			var rows []published
			load(t, string(kind)+".json", &rows)
			if len(rows) != len(raws) {
				t.Fatalf("%d samples, %d rows", len(raws), len(rows))
			}
			v1, v0 := cutStream(t, string(kind)+".v1.bin"), cutStream(t, string(kind)+".v0.bin")
			for _, row := range rows {
				same(t, kind, v1[0], row.V1)
				v1 = v1[1:]
				if why := failed(row.V0); len(why) > 8 && why[:8] == "encode: " {
					continue // it wrote nothing
				}
				same(t, kind, v0[0], row.V0)
				v0 = v0[1:]
			}
		})
	}
}

func same(t *testing.T, kind agui.Type, message []byte, want []byte) {
	t.Helper()
	got, d, err := decodeAll(0, message)
	switch {
	case len(message) == prefixSize:
		if err != nil || len(got) != 0 || d.Dropped() != 1 {
			t.Errorf("a message of no bytes gave %v %v, %d dropped", got, err, d.Dropped())
		}
	case failed(want) != "":
		if code := codeOf(err); code == "" || len(got) != 0 {
			t.Errorf("%q gave %v %v, the package says %s", message, got, err, want)
		}
	case err != nil || len(got) != 1 || got[0].Type != kind || d.Pending():
		t.Errorf("%q gave %v %v", message, got, err)
	case canonical(t, got[0].Raw) != canonical(t, want):
		t.Errorf("\n got %s\nwant %s", got[0].Raw, want)
	default:
		if parsed := frame(t, got[0].Raw); parsed.Type != kind {
			t.Errorf("ParseFrame reads %s of %s", parsed.Type, got[0].Raw)
		}
	}
}

// A whole stream, cut anywhere, gives the same events.
func TestDecoderChunks(t *testing.T) {
	var stream []byte
	want := 0
	for kind := range samples(t) {
		for _, m := range cutStream(t, string(kind)+".v1.bin") {
			stream = append(stream, m...)
			want++
		}
	}
	whole, _, err := decodeAll(0, stream)
	if err != nil || len(whole) != want {
		t.Fatalf("%d of %d events, %v", len(whole), want, err)
	}
	for _, size := range []int{1, 2, 3, 5, 7, 64, 1000} {
		var chunks [][]byte
		for rest := bytes.Clone(stream); len(rest) > 0; {
			n := min(size, len(rest))
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		got, d, err := decodeAll(0, chunks...)
		if err != nil || len(got) != want || d.Pending() || d.Close() != nil {
			t.Fatalf("chunks of %d: %d of %d events, %v", size, len(got), want, err)
		}
		for i := range got {
			if !bytes.Equal(got[i].Raw, whole[i].Raw) {
				t.Fatalf("chunks of %d: event %d is %s, not %s", size, i, got[i].Raw, whole[i].Raw)
			}
		}
	}
}
