package strictjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// documents are the three sizes the gateway meets: a text delta, a state delta
// and a long tool result.
func documents() map[string][]byte {
	long := []byte(`{"rows":[`)
	for i := 0; len(long) < 16<<10; i++ {
		if i > 0 {
			long = append(long, ',')
		}
		long = fmt.Appendf(long, `{"id":%d,"name":"row number %d of the table","ok":true,"price":%d.25,"note":"%s"}`, i, i, i, strings.Repeat("plain text ", i%8))
	}
	return map[string][]byte{
		"97B":     []byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_0123456789abcdef","delta":" and a few more wds"}`),
		"200B":    []byte(`{"type":"TOOL_CALL_ARGS","toolCallId":"call_0123456789","delta":"{\"city\":\"Porto\",\"days\":3,\"with\":[\"sea\",\"wine\"]}","timestamp":1767225600123,"rawEvent":{"kind":"chunk","index":42,"final":false,"x":1}}`),
		"16KiB":   append(long, "]}"...),
		"16KiBé":  append(append([]byte(`{"delta":"`), strings.Repeat("déjà vu, größer, 東京 ", 600)...), `"}`...),
		"16KiB_s": append(append([]byte(`{"delta":"`), strings.Repeat("plain text only ", 1024)...), `"}`...),
	}
}

func BenchmarkCheck(b *testing.B) {
	for name, doc := range documents() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if Check(doc) != nil {
					b.Fatal("not valid")
				}
			}
		})
	}
}

func BenchmarkStandardValid(b *testing.B) {
	for name, doc := range documents() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if !json.Valid(doc) {
					b.Fatal("not valid")
				}
			}
		})
	}
}

func BenchmarkWalk(b *testing.B) {
	for name, doc := range documents() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				it := Walk(doc)
				for {
					if _, _, _, ok := it.Next(); !ok {
						break
					}
				}
			}
		})
	}
}

func BenchmarkStringOf(b *testing.B) {
	plain := Quote(strings.Repeat("plain text only ", 12))
	escaped := Quote(strings.Repeat("a line\n", 28))
	for name, doc := range map[string][]byte{"plain": plain, "escaped": escaped} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if _, err := StringOf(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
