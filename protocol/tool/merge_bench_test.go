package tool

import (
	"fmt"
	"testing"
)

// The cost of an offer of ten ordinary tools, with schemas compiled each time and
// with a caller that remembers them.
func BenchmarkMerge(b *testing.B) {
	in := MergeInput{Policy: anybody, Limits: Limits{Tools: 128, ToolSchema: 32 << 10, ToolDescription: 4 << 10}}
	for i := range 10 {
		in.Advertised = append(in.Advertised, Tool{Name: fmt.Sprint("tool", i), Description: "Shows a choice of colours",
			Parameters: []byte(`{"type":"object","properties":{"colours":{"type":"array","items":{"type":"string","maxLength":40}},"title":{"type":"string"}},"required":["colours"]}`)})
	}
	remember := func([]byte) error { return nil }
	for name, check := range map[string]func([]byte) error{"compiled": nil, "remembered": remember} {
		b.Run(name, func(b *testing.B) {
			in.CheckSchema = check
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Merge(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
