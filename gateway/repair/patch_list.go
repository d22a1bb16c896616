package repair

import (
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// patchKey is the member that holds the patch.
func patchKey(k kind) string {
	if k == activityDelta {
		return "patch"
	}
	return "delta"
}

// patchList makes a list of a patch that is one operation, or the text of a
// list. An object without op may be the new state or a part of it: it stays.
func (c *Chain) patchList(e *event) bool {
	name := patchKey(e.kind)
	was := e.f.Field(name)
	is := was
	if s := plain(is); len(s) > 0 && strictjson.Valid(s) {
		is = s
	}
	switch strictjson.KindOf(is) {
	case strictjson.Object:
		f := agui.Frame{Raw: is}
		if f.Text("op") == "" || strictjson.KindOf(f.Field("path")) != strictjson.Str {
			return true
		}
		is = append(append([]byte{'['}, is...), ']')
	case strictjson.Array:
		if was[0] == '[' {
			return true
		}
	default:
		return true
	}
	c.did(rowPatchList)
	e.replace(e.f.With(name, is))
	return true
}
