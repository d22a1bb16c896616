package agui

import (
	"bytes"
	"strings"
	"testing"
)

var benchFrames = map[string][]byte{
	"delta": []byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_01HZX8","delta":"Hello there, this is one token"}`),
	"16KiB": []byte(`{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"c1","content":"` + strings.Repeat("lorem ipsum \\n ", 1170) + `"}`),
}

func BenchmarkParseFrame(b *testing.B) {
	for name, raw := range benchFrames {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseFrame(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	for name, raw := range benchFrames {
		f, err := ParseFrame(raw)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f.Validate(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSSE(b *testing.B) {
	one := append(append([]byte("data: "), benchFrames["delta"]...), "\n\n"...)
	chunk := bytes.Repeat(one, 32)
	d := NewSSEDecoder(0)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Feed(chunk, func([]byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeInput(b *testing.B) {
	body := []byte(fullInput)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeInput(body); err != nil {
			b.Fatal(err)
		}
	}
}
