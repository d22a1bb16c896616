package wire

import (
	"bytes"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// FuzzDecoder: bytes of any kind, cut anywhere, give the same events however
// they are cut, each one that ParseFrame takes and Append writes, or a fault.
func FuzzDecoder(f *testing.F) {
	for kind := range samples(f) {
		for _, version := range []string{".v1.bin", ".v0.bin"} {
			for i, m := range cutStream(f, string(kind)+version) {
				f.Add(m, uint8(i))
			}
		}
	}
	f.Add(framed("\x82\x02\x02\x08\x01"), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, cut uint8) {
		const limit = 4 << 10
		whole, dw, errWhole := decodeAll(limit, in)
		var chunks [][]byte
		for rest := bytes.Clone(in); len(rest) > 0; {
			n := min(len(rest), 1+int(cut%11))
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		got, dg, err := decodeAll(limit, chunks...)
		if len(got) != len(whole) || codeOf(err) != codeOf(errWhole) || dw.Dropped() != dg.Dropped() || dw.Pending() != dg.Pending() {
			t.Fatalf("%q: whole %v %v, cut %v %v", in, whole, errWhole, got, err)
		}
		if err != nil && codeOf(err) == "" {
			t.Fatalf("%q gave %v, which is no fault", in, err)
		}
		for i, f := range got {
			if !bytes.Equal(f.Raw, whole[i].Raw) || len(f.Raw) > limit {
				t.Fatalf("%q gave %s cut and %s whole", in, f.Raw, whole[i].Raw)
			}
			if parsed := frame(t, f.Raw); parsed.Type != f.Type {
				t.Fatalf("%s is %s", f.Raw, parsed.Type)
			}
			again(t, f)
		}
	})
}

// again checks that an event a reader gave is written and read as the same.
func again(t *testing.T, f agui.Frame) {
	t.Helper()
	b, ok, err := Append(nil, f)
	if err != nil { // what was missing on the wire can have no form in JSON
		if code := codeOf(err); len(code) < len(fault.UpstreamProtocolError) {
			t.Fatalf("%s: %v", f.Raw, err)
		}
		return
	}
	got, _, err := decodeAll(0, b)
	if !ok || err != nil || len(got) != 1 {
		t.Fatalf("%s came back as %v %v", f.Raw, got, err)
	}
	second, _, err := Append(nil, got[0])
	if err != nil || !bytes.Equal(second, b) {
		t.Fatalf("%s\nis written as %q\nthen as       %q, %v", f.Raw, b, second, err)
	}
}

// FuzzRoundTrip: a frame that ParseFrame takes is written, refused with a fault
// or left out; what is written is read as one event, and that one is written to
// the same bytes, but for numbers beyond float64 and keys that stand twice.
func FuzzRoundTrip(f *testing.F) {
	for _, raws := range samples(f) {
		for _, raw := range raws {
			f.Add([]byte(raw))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		frame, err := agui.ParseFrame(raw)
		if err != nil {
			for i := range events { // must not panic either
				_, _, _ = Append(nil, agui.Frame{Type: events[i].kind, Raw: raw})
			}
			return
		}
		b, ok, err := Append(nil, frame)
		if err != nil && codeOf(err) == "" || ok && err != nil || !ok && len(b) > 0 {
			t.Fatalf("%s: %q %v %v", raw, b, ok, err)
		}
		if !ok {
			if numbers[frame.Type] != 0 && err == nil {
				t.Fatalf("%s was left out", raw)
			}
			return
		}
		got, d, err := decodeAll(64<<20, b)
		if err != nil || len(got) != 1 || got[0].Type != frame.Type || d.Dropped() != 0 {
			t.Fatalf("%s came back as %v %v", raw, got, err)
		}
		again(t, got[0])
	})
}
