package conversation

import (
	"bytes"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// object is metadata that events fold into: key by key, the last one wins and
// takes the place of the first, values are never merged.
type object struct {
	keys    []string
	raw     [][]byte // the keys as they were written
	values  [][]byte
	at      map[string]int
	changed bool // since it was read
	touched bool // since a client that joins knows it
}

// of starts from a checked object, whose bytes it shares; nil is none.
func (o *object) of(checked []byte) { o.fold(checked, false) }

// merge takes over the members of incoming, in copies, and gives the bytes it
// holds more.
func (o *object) merge(incoming []byte) int {
	o.changed, o.touched = true, true
	return o.fold(incoming, true)
}

func (o *object) fold(checked []byte, copies bool) (grown int) {
	if strictjson.KindOf(checked) != strictjson.Object {
		return 0
	}
	for it := strictjson.Walk(checked); ; {
		key, value, escaped, ok := it.Next()
		if !ok {
			return grown
		}
		name := string(key)
		if escaped {
			name = decode(quoted(key))
		}
		if copies {
			value = bytes.Clone(value)
		}
		if i, ok := o.at[name]; ok {
			grown += len(value) - len(o.values[i])
			o.values[i] = value
			continue
		}
		if o.at == nil {
			o.at = map[string]int{}
		}
		o.at[name] = len(o.keys)
		o.keys, o.raw, o.values = append(o.keys, name), append(o.raw, bytes.Clone(key)), append(o.values, value)
		grown += 2*len(key) + len(value) + overhead
	}
}

func (o *object) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i := range o.keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), o.raw[i]...), '"', ':')
		dst = append(dst, o.values[i]...)
	}
	return append(dst, '}')
}

// value gives the object as one value, nil when there never was one.
func (o *object) value() []byte {
	if o.at == nil && !o.changed {
		return nil
	}
	return o.append(nil)
}
