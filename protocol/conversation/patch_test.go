package conversation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

func TestApplyState(t *testing.T) {
	for _, c := range []struct {
		name, state string
		deltas      []string
		want, err   string
	}{
		{"nothing", `{"b" : 1.0, "a":2e3}`, nil, `{"b" : 1.0, "a":2e3}`, ""},
		{"no state is null", ``, nil, `null`, ""},
		{"bytes stay", `{"n":1.0,"big":12345678901234567890,"s":"\u00e9","o":{"z":1,"a": [1.50]}}`,
			[]string{`[{"op":"add","path":"/o/k","value":{"x" : 2.0}}]`},
			`{"n":1.0,"big":12345678901234567890,"s":"\u00e9","o":{"z":1,"a":[1.50],"k":{"x" : 2.0}}}`, ""},
		{"in order", `{"a":[1]}`, []string{`[{"op":"add","path":"/a/-","value":2}]`, `[{"op":"remove","path":"/a/0"}]`}, `{"a":[2]}`, ""},
		{"an escaped key", `{"\u0061":1}`, []string{`[{"op":"replace","path":"/a","value":2}]`}, `{"\u0061":2}`, ""},
		{"the last of two keys", `{"a":1,"b":0,"a":2}`, []string{`[{"op":"test","path":"/a","value":2},{"op":"add","path":"/c","value":3}]`}, `{"a":2,"b":0,"c":3}`, ""},
		{"the root", `{"a":1}`, []string{`[{"op":"replace","path":"","value":[1]}]`, `[{"op":"add","path":"/0","value":0}]`}, `[0,1]`, ""},
		{"the root is removed", `{"a":1}`, []string{`[{"op":"remove","path":""}]`}, `null`, ""},
		{"the root is copied from", `{"a":{"b":1}}`, []string{`[{"op":"copy","path":"","from":"/a"}]`}, `{"b":1}`, ""},
		{"a copy is its own", `{"a":{"b":1}}`, []string{`[{"op":"copy","path":"/c","from":"/a"},{"op":"replace","path":"/c/b","value":2},{"op":"add","path":"/a/d","value":3}]`}, `{"a":{"b":1,"d":3},"c":{"b":2}}`, ""},
		{"a move", `{"a":{"b":1},"l":[0]}`, []string{`[{"op":"move","path":"/l/9","from":"/a"}]`}, `{"l":[0,{"b":1}]}`, ""},
		{"numbers by value, keys in any order", `{"a":{"x":1.0,"y":"\u0041"}}`, []string{`[{"op":"test","path":"/a","value":{"y":"A","x":1}}]`}, `{"a":{"x":1.0,"y":"A"}}`, "*"},
		{"into itself", `{"a":{"b":1}}`, []string{`[{"op":"move","path":"/a/b","from":"/a"}]`}, "", "delta 0: operation 0: the path leads nowhere"},
		{"which delta", `{}`, []string{`[]`, `[{"op":"add","path":"/a","value":1},{"op":"remove","path":"/b"}]`}, "", "delta 1: operation 1: the path leads nowhere"},
		{"a test that fails", `{"a":1}`, []string{`[{"op":"test","path":"/a","value":"1"}]`}, "", "delta 0: operation 0: the test fails"},
		{"a test of nothing", `{}`, []string{`[{"op":"test","path":"/a","value":null}]`}, "", "delta 0: operation 0: the test fails"},
		{"behind the end", `[1]`, []string{`[{"op":"add","path":"/2","value":1}]`}, "", "delta 0: operation 0: the path leads nowhere"},
		{"negative", `[1]`, []string{`[{"op":"replace","path":"/-1","value":1}]`}, "", "delta 0: operation 0: the path leads nowhere"},
		{"into a scalar", `{"a":1}`, []string{`[{"op":"add","path":"/a/b","value":1}]`}, "", "delta 0: operation 0: the path leads nowhere"},
		{"the prototype", `{}`, []string{`[{"op":"add","path":"/__proto__","value":1}]`}, "", "delta 0: operation 0: the path leads nowhere"},
		{"no operation", `{}`, []string{`[{"op":"merge","path":"/a"}]`}, "", "delta 0: operation 0: the operation is malformed"},
		{"no pointer", `{}`, []string{`[{"op":"remove","path":"a"}]`}, "", "delta 0: operation 0: the operation is malformed"},
		{"no value", `{}`, []string{`[{"op":"add","path":"/a"}]`}, "", "delta 0: operation 0: the operation is malformed"},
		{"no list", `{}`, []string{`{}`}, "", "delta 0: the operation is malformed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var deltas [][]byte
			for _, d := range c.deltas {
				deltas = append(deltas, []byte(d))
			}
			got, err := ApplyState([]byte(c.state), deltas, 1<<16)
			switch {
			case c.err == "*":
				if err != nil || !cmp.Equal(plain(t, got), plain(t, []byte(c.want))) {
					t.Errorf("got %s, %v; want the value of %s", got, err, c.want)
				}
			case c.err != "" && (err == nil || err.Error() != c.err):
				t.Errorf("got %s, error %v; want %s", got, err, c.err)
			case c.err == "" && (err != nil || string(got) != c.want):
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

// TestPatchBombs: what grows fast, costs much or nests deep is refused while it
// is small.
func TestPatchBombs(t *testing.T) {
	doubling := `{"op":"add","path":"/a","value":"` + strings.Repeat("x", 100) + `"}`
	for i := range 40 {
		doubling += fmt.Sprintf(`,{"op":"copy","from":"","path":"/k%d"}`, i)
	}
	deeper := `{"op":"add","path":"","value":{}}`
	for range 200 {
		deeper += `,{"op":"copy","from":"","path":"/d"}`
	}
	wide := make([]string, 30_000)
	for i := range wide {
		wide[i] = fmt.Sprintf(`"k%d":0`, i)
	}
	searches := strings.Repeat(`,{"op":"replace","path":"/k29999","value":1}`, 30_000)
	long := `"` + strings.Repeat("y", 1<<19) + `"`
	tests := strings.Repeat(`,{"op":"test","path":"","value":`+long+`}`, 2)
	for _, c := range []struct {
		name, state, ops string
		limit            int
		want             error
	}{
		{"copies double", `{}`, doubling, 1 << 20, errLimit},
		{"copies nest", `{}`, deeper, 1 << 30, errDepth},
		{"too large", `{}`, `{"op":"add","path":"/a","value":` + long + `}`, 1 << 10, errLimit},
		{"many searches", "{" + strings.Join(wide, ",") + "}", searches[1:], 1 << 22, errWork},
		{"long tests", long, tests[1:], 1 << 20, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ApplyState([]byte(c.state), [][]byte{[]byte("[" + c.ops + "]")}, c.limit)
			if c.want == nil && err != nil || c.want != nil && (err == nil || !strings.Contains(err.Error(), c.want.Error())) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// FuzzPatch: where another implementation of RFC 6902 and this one both take a
// patch, they agree; the result is JSON no larger than allowed; and the document
// stays as it was.
func FuzzPatch(f *testing.F) {
	jsonpatch.SupportNegativeIndices = false
	f.Add([]byte(`{"a":[1,{"b":2}],"c":"d"}`), []byte(`[{"op":"move","from":"/a/1","path":"/e"},{"op":"copy","from":"/c","path":"/a/-"}]`))
	f.Add([]byte(`[1,2,3]`), []byte(`[{"op":"add","path":"/1","value":{}},{"op":"remove","path":"/0"},{"op":"test","path":"/0","value":{}}]`))
	f.Add([]byte(`{"":{"~":1,"/":2}}`), []byte(`[{"op":"replace","path":"//~0","value":"x"},{"op":"remove","path":"//~1"}]`))
	f.Add([]byte(`{"a":null}`), []byte(`[{"op":"add","path":"/a","value":[[[]]]},{"op":"add","path":"/a/0/0/-","value":1}]`))
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		if !strictjson.Valid(doc) || !strictjson.Valid(patch) || strictjson.KindOf(patch) != strictjson.Array || nesting(doc) > 50 {
			return
		}
		before := leaf(doc)
		p := patcher{limit: 1 << 16, work: activityWork}
		after, err := p.apply(before, patch)
		if string(doc) != string(before.append(nil)) && !cmp.Equal(plain(t, doc), plain(t, before.append(nil))) {
			t.Fatalf("the document became %s", before.append(nil))
		}
		if err != nil {
			return
		}
		got := after.append(nil)
		if !strictjson.Valid(got) || len(got) > after.size {
			t.Fatalf("%d bytes, said to be %d: %s", len(got), after.size, got)
		}
		other, err := jsonpatch.DecodePatch(patch)
		if err != nil || strings.Contains(string(doc)+string(patch), `\`) {
			return
		}
		want, err := other.ApplyWithOptions(doc, &jsonpatch.ApplyOptions{AccumulatedCopySizeLimit: 1 << 16})
		if err != nil || !json.Valid(want) {
			return
		}
		if diff := cmp.Diff(plain(t, want), plain(t, got)); diff != "" {
			t.Fatalf("%s patched by %s:\n%s", doc, patch, diff)
		}
	})
}
