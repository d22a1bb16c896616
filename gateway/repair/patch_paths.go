package repair

import (
	"strings"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// patchPaths writes path and from of each operation as JSON Pointers: "a/b" and
// "#/a/b" are read as /a/b. That is a guess, since "a.b" might be meant.
func (c *Chain) patchPaths(e *event) bool {
	name := patchKey(e.kind)
	ops, err := strictjson.ArrayOf(e.f.Field(name))
	if err != nil {
		return true
	}
	changed := false
	out := []byte{'['}
	for i, op := range ops {
		f := agui.Frame{Raw: op}
		for _, k := range [2]string{"path", "from"} {
			p := f.Text(k)
			if p == "" || p[0] == '/' {
				continue
			}
			f = f.WithText(k, "/"+strings.TrimPrefix(strings.TrimPrefix(p, "#"), "/"))
			changed = true
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, f.Raw...)
	}
	if changed {
		c.did(rowPatchPaths)
		e.replace(e.f.With(name, append(out, ']')))
	}
	return true
}
