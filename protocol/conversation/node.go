package conversation

import (
	"strconv"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// maxDepth is how deep what is kept may be nested. It leaves room for what a
// message, a list and an event put around it below strictjson.MaxDepth.
const maxDepth = 100

// node is one JSON value that patches work on. It stays the bytes it was written
// as until a path leads into it. A node belongs to the patcher turn that made
// it; another turn copies it before it changes it, so that what a failed patch
// did is simply let go.
type node struct {
	raw   []byte // of a leaf: what no path has led into
	is    strictjson.Kind
	names []string // of an object: decoded
	keys  [][]byte // and as written, without quotes
	kids  []*node
	open  bool // names and kids are valid, raw is not
	size  int  // bytes when written
	deep  int  // nesting, or more; -1 while nobody has looked
	turn  *byte
}

func leaf(checked []byte) *node {
	return &node{raw: checked, is: strictjson.KindOf(checked), size: len(checked), deep: -1}
}

func (n *node) kind() strictjson.Kind { return n.is }

// expand reads a container's members. Of a key that stands twice the last value
// counts.
func (n *node) expand() {
	if n.open || n.is != strictjson.Object && n.is != strictjson.Array {
		return
	}
	var at map[string]int
	n.size = 2
	for it := strictjson.Walk(n.raw); ; {
		key, value, escaped, ok := it.Next()
		if !ok {
			break
		}
		kid := leaf(value)
		if n.is == strictjson.Array {
			n.kids = append(n.kids, kid)
			n.size += kid.size + 1
			continue
		}
		name := string(key)
		if escaped {
			name = decode(quoted(key))
		}
		if at == nil {
			at = map[string]int{}
		}
		if i, ok := at[name]; ok {
			n.size += kid.size - n.kids[i].size
			n.kids[i] = kid
			continue
		}
		at[name] = len(n.kids)
		n.names, n.keys, n.kids = append(n.names, name), append(n.keys, key), append(n.kids, kid)
		n.size += len(key) + kid.size + 4
	}
	n.open, n.raw = true, nil
}

// depth is how deep n is nested, 0 for a scalar; after something was taken out it
// may be what it was before.
func (n *node) depth() int {
	if n.deep >= 0 {
		return n.deep
	}
	n.deep = 0
	if !n.open {
		n.deep = nesting(n.raw)
		return n.deep
	}
	for _, kid := range n.kids {
		n.deep = max(n.deep, kid.depth())
	}
	n.deep++
	return n.deep
}

// index finds a member's place, -1 for none.
func (n *node) index(name string) int {
	for i := range n.names {
		if n.names[i] == name {
			return i
		}
	}
	return -1
}

// find gives the kid under a token of a pointer, and its place.
func (n *node) find(token string) (*node, int) {
	n.expand()
	i := -1
	switch n.is {
	case strictjson.Object:
		i = n.index(token)
	case strictjson.Array:
		if at, ok := place(token); ok && at < len(n.kids) && strconv.Itoa(at) == token {
			i = at
		}
	}
	if i < 0 {
		return nil, -1
	}
	return n.kids[i], i
}

// place reads an array index: digits, as the client does.
func place(token string) (int, bool) {
	if len(token) > 9 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

func (n *node) append(dst []byte) []byte {
	if !n.open {
		return append(dst, n.raw...)
	}
	from, to := byte('['), byte(']')
	if n.is == strictjson.Object {
		from, to = '{', '}'
	}
	dst = append(dst, from)
	for i, kid := range n.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.is == strictjson.Object {
			dst = append(append(append(dst, '"'), n.keys[i]...), '"', ':')
		}
		dst = kid.append(dst)
	}
	return append(dst, to)
}

// equal compares as JavaScript does after parsing: numbers by their double, keys
// in any order.
func (n *node) equal(o *node) bool {
	if n.is != o.is {
		return false
	}
	switch n.is {
	case strictjson.Str:
		return decode(n.raw) == decode(o.raw)
	case strictjson.Number:
		a, _ := strconv.ParseFloat(string(n.raw), 64)
		b, _ := strconv.ParseFloat(string(o.raw), 64)
		return a == b
	case strictjson.Object, strictjson.Array:
		return n.sameKids(o)
	case strictjson.Bool:
		return string(n.raw) == string(o.raw)
	}
	return true
}

func (n *node) sameKids(o *node) bool {
	n.expand()
	o.expand()
	if len(n.kids) != len(o.kids) {
		return false
	}
	var at map[string]int
	if n.is == strictjson.Object {
		at = make(map[string]int, len(o.names))
		for i, name := range o.names {
			at[name] = i
		}
	}
	for i := range n.kids {
		j := i
		if at != nil {
			var ok bool
			if j, ok = at[n.names[i]]; !ok {
				return false
			}
		}
		if !n.kids[i].equal(o.kids[j]) {
			return false
		}
	}
	return true
}

// nesting is how deep checked JSON is nested.
func nesting(checked []byte) int {
	most, depth, quoted := 0, 0, false
	for i := 0; i < len(checked); i++ {
		switch c := checked[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

func deep(checked []byte) bool { return len(checked) > 2*maxDepth && nesting(checked) > maxDepth }
