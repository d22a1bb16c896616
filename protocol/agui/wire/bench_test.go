package wire

import (
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

var benchFrames = map[string]string{
	"delta":   `{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_01HZX8","delta":"Hello there, this is one token"}`,
	"escapes": `{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_01HZX8","delta":"\"one\": 1,\n"}`,
	"16KiB":   `{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"c1","content":"` + strings.Repeat("lorem ipsum \\n ", 1170) + `"}`,
	"state":   `{"type":"STATE_SNAPSHOT","snapshot":{"rows":[{"id":1,"name":"a","on":true}` + strings.Repeat(`,{"id":2,"name":"row","on":false}`, 500) + `]}}`,
}

func BenchmarkAppend(b *testing.B) {
	for name, raw := range benchFrames {
		b.Run(name, func(b *testing.B) {
			f := frame(b, []byte(raw))
			var buf []byte
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, _, err = Append(buf[:0], f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecoder(b *testing.B) {
	for name, raw := range benchFrames {
		b.Run(name, func(b *testing.B) {
			message := mustAppend(b, []byte(raw))
			d := NewDecoder(0)
			n := 0
			count := func(agui.Frame) error { n++; return nil }
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Feed(message, count); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
