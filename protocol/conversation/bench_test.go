package conversation

import (
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

func BenchmarkApplyContent(b *testing.B) {
	const sixty = "Hello there, this is one delta of sixty bytes of plain text."
	for _, c := range []struct {
		name   string
		frames []agui.Frame
		start  agui.Frame
	}{
		{"text", []agui.Frame{agui.NewTextContent("msg_01HZX8", sixty)}, agui.NewTextStart("msg_01HZX8")},
		{"args", []agui.Frame{agui.NewToolCallArgs("call_01HZX8", sixty)}, agui.NewToolCallStart("call_01HZX8", "f", "")},
		{"others-between", []agui.Frame{agui.NewTextContent("m1", sixty), agui.NewToolCallArgs("c1", sixty)}, agui.NewToolCallStart("c1", "f", "m1")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			build := NewBuilder(Base{}, 1<<30)
			build.Apply(c.start)
			for i := 0; b.Loop(); i++ {
				if i%1024 == 0 { // a message of 60 KB; its growth costs what it costs
					build = NewBuilder(Base{}, 1<<30)
					build.Apply(c.start)
				}
				build.Apply(c.frames[i%len(c.frames)])
			}
		})
	}
}
