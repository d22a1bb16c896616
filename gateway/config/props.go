package config

import (
	"slices"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Filter gives the members of raw, the checked JSON of a client's
// forwardedProps, that pass: raw itself where all do, else a new object. What is
// not an object passes only where all does.
func (p Props) Filter(raw []byte) []byte {
	if p.All || raw == nil {
		return raw
	}
	members, err := strictjson.ObjectOf(raw)
	if err != nil {
		return []byte("{}")
	}
	out := []byte{'{'}
	for _, m := range members {
		if !slices.Contains(p.Keys, m.Key) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = strictjson.AppendString(out, m.Key)
		out = append(append(out, ':'), m.Raw...)
	}
	return append(out, '}')
}
