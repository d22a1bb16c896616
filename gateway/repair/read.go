package repair

import (
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Read is agui.ParseFrame for one data payload of the upstream, with the repairs
// of what ParseFrame refuses: field_names and error_frames. skip tells that the
// payload means nothing. The frame shares data's bytes where it can; Step takes
// it next. It allocates nothing for an event that ParseFrame takes.
//
// The error is a *fault.Error with code upstream_protocol_error.
func (c *Chain) Read(data []byte) (f agui.Frame, skip bool, err error) {
	if f, err = agui.ParseFrame(data); err == nil {
		return f, false, nil
	}
	if c.active(rowFieldNames) {
		if f, ok := readRespelt(data); ok {
			c.did(rowFieldNames)
			return f, false, nil
		}
	}
	g, skip, bad := Foreign(data)
	switch {
	case skip:
		return agui.Frame{}, true, nil
	case bad == nil && c.active(rowErrorFrames):
		c.did(rowErrorFrames)
		return g, false, nil
	}
	return agui.Frame{}, false, err
}

// readRespelt reads an event of a known type whose keys, "type" among them, are
// written in another way.
func readRespelt(data []byte) (agui.Frame, bool) {
	if !strictjson.Valid(data) {
		return agui.Frame{}, false
	}
	raw, _ := rename(data, baseFields, nil)
	name := agui.Frame{Raw: raw}.Text("type")
	if len(name) > longestType {
		return agui.Frame{}, false
	}
	t, ok := bareTypes[bare(name)]
	if !ok || !sounds(t, agui.Frame{Raw: raw}) {
		return agui.Frame{}, false
	}
	raw, _ = respelt(raw, kindOf(t))
	f, err := agui.ParseFrame(raw) // a type in another spelling is left to type_names
	return f, err == nil
}
