package tool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/tool"
)

// TestValidateRefusesWork has schemas and values inside the limits that took the
// validator from 60 ms to 25 s each [SEC-2]: they are not begun. Beside each
// stands a small value that the same schema is checked with.
func TestValidateRefusesWork(t *testing.T) {
	rep := strings.Repeat
	list := func(n int, format string) string {
		out := make([]string, n)
		for i := range out {
			out[i] = strings.ReplaceAll(format, "#n", fmt.Sprint(i))
		}
		return strings.Join(out, ",")
	}
	deep := func(n int, open, end string) string { return rep(open, n) + "1" + rep(end, n) }
	var chain strings.Builder
	for i := range 700 {
		fmt.Fprintf(&chain, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	for _, c := range []struct{ name, schema, heavy, light string }{
		{"many items in many alternatives", `{"items":{"anyOf":[` + list(1500, `{"const":#n}`) + `]}}`, `[` + list(10_000, `-1`) + `]`, `[7]`},
		{"many items that lack something", `{"items":{"anyOf":[` + list(1000, `{"required":["a"]}`) + `]}}`, `[` + list(20_000, `{}`) + `]`, `[{"a":1}]`},
		{"branches that differ in a constant", `{"anyOf":[{"properties":{"a":{"$ref":"#"},"k":{"const":1}}},{"properties":{"a":{"$ref":"#"},"k":{"const":2}}}]}`,
			deep(16, `{"a":`, `}`), deep(6, `{"a":`, `}`)},
		{"lists that differ in their last item", `{"uniqueItems":true}`, `[` + list(20, `[`+rep("0,", 1600)+`#n]`) + `]`, `[` + list(20, `[0,#n]`) + `]`},
		{"lists of numbers with large exponents", `{"uniqueItems":true}`, `[` + list(20, `[`+rep("1e399,", 90)+`#n]`) + `]`, `[` + list(20, `[1e399,#n]`) + `]`},
		{"many names in many patterns", `{"patternProperties":{` + list(1000, `"x#n.*y":{"minimum":3}`) + `}}`, `{` + list(4000, `"x#n":1`) + `}`, `{"x1y":3}`},
		{"a large pattern on a long text", `{"pattern":"(a?){90}b"}`, `"` + rep("a", 60_000) + `"`, `"aab"`},
		{"a chain of references", `{"items":{"$ref":"#/$defs/d0"},"$defs":{` + chain.String() + `"d700":{"minimum":1}}}`, `[` + list(50, `1`) + `]`, `[1]`},
		{"many faults at the end of long ways", `{"additionalProperties":{"$ref":"#"},"not":{"type":"object","minProperties":5000}}`,
			rep(`{"`+rep("k", 150)+`":`, 100) + `{` + list(1000, `"k#n":1`) + `}` + rep(`}`, 100), rep(`{"`+rep("k", 150)+`":`, 20) + `1` + rep(`}`, 20)},
		{"many items of the wrong type", `{"items":{"type":"string"}}`, `[` + list(47_000, `1`) + `]`, `["a"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := tool.CompileSchema([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			if len(c.schema) > 32<<10 {
				t.Errorf("the schema has %d bytes: it is past its limit anyway", len(c.schema))
			}
			if err := s.Validate([]byte(c.heavy)); !errors.Is(err, tool.ErrUnchecked) {
				t.Errorf("the heavy value gives %v, want ErrUnchecked", err)
			}
			if err := s.Validate([]byte(c.light)); err != nil {
				t.Errorf("the light value gives %v", err)
			}
		})
	}
}
