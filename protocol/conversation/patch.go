package conversation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Bounds of what patches may cost: units of about a nanosecond, spent on members
// that are copied or searched and on bytes that are read.
const (
	activityWork = 1 << 24
	stateWork    = 1 << 28
)

var (
	errPath  = errors.New("the path leads nowhere")
	errTest  = errors.New("the test fails")
	errLimit = errors.New("the result is larger than the limit")
	errWork  = errors.New("the operations cost more than the limit")
	errDepth = errors.New("the result is nested too deep")
	errOp    = errors.New("the operation is malformed")
)

// patcher applies JSON Patches (RFC 6902) as fast-json-patch does for the
// client: paths that must exist and do not are errors, an index behind the end
// too, and the root can be replaced.
type patcher struct {
	limit int // bytes of the result
	work  int
	turn  *byte
}

// apply gives doc after the checked patch, all of it or an error; doc itself
// stays as it is.
func (p *patcher) apply(doc *node, patch []byte) (*node, error) {
	p.turn = new(byte)
	return p.more(doc, patch)
}

// more is apply in the turn before: doc is used up, also by an error.
func (p *patcher) more(doc *node, patch []byte) (*node, error) {
	if strictjson.KindOf(patch) != strictjson.Array {
		return nil, errOp
	}
	n := 0
	for it := strictjson.Walk(patch); ; n++ {
		_, raw, _, ok := it.Next()
		if !ok {
			return doc, nil
		}
		var err error
		if doc, err = p.operate(doc, operationOf(raw)); err != nil {
			return nil, fmt.Errorf("operation %d: %w", n, err)
		}
		switch {
		case doc.size > p.limit:
			return nil, fmt.Errorf("operation %d: %w", n, errLimit)
		case doc.depth() > maxDepth:
			return nil, fmt.Errorf("operation %d: %w", n, errDepth)
		}
	}
}

// operation is one of a patch. Of a member that stands twice the last one counts.
type operation struct {
	op                string
	path, from, value []byte
	size              int
}

func operationOf(raw []byte) (o operation) {
	o.size = len(raw)
	for it := strictjson.Walk(raw); ; {
		key, value, escaped, ok := it.Next()
		if !ok {
			return o
		}
		if escaped {
			key = []byte(decode(quoted(key)))
		}
		switch string(key) {
		case "op":
			o.op = decode(value)
		case "path":
			o.path = value
		case "from":
			o.from = value
		case "value":
			o.value = value
		}
	}
}

func (p *patcher) operate(doc *node, op operation) (*node, error) {
	if p.work -= op.size + 64; p.work < 0 {
		return nil, errWork
	}
	path, err := pointer(op.path)
	if err != nil {
		return nil, err
	}
	value, doc, err := p.operand(doc, op, len(path) == 0)
	if err != nil {
		return nil, err
	}
	switch op.op {
	case "add":
		return p.change(doc, path, value, add)
	case "move", "copy":
		return p.change(doc, path, value, insert)
	case "replace":
		return p.change(doc, path, value, replace)
	case "remove":
		return p.change(doc, path, nil, remove)
	}
	return doc, p.test(doc, path, value)
}

// operand gives the value an operation works with; a move has taken it out of
// the document already, unless it is to become the document.
func (p *patcher) operand(doc *node, op operation, root bool) (value, rest *node, err error) {
	switch op.op {
	case "remove":
		return nil, doc, nil
	case "add", "replace", "test":
		if op.value == nil {
			return nil, nil, errOp
		}
		return leaf(slices.Clone(op.value)), doc, nil
	case "move", "copy":
	default:
		return nil, nil, errOp
	}
	from, err := pointer(op.from)
	if err != nil {
		return nil, nil, err
	}
	if value, err = p.get(doc, from); err != nil {
		return nil, nil, err
	}
	if op.op == "copy" || root {
		p.turn = new(byte) // value is in two places from here on
		return value, doc, nil
	}
	rest, err = p.change(doc, from, nil, remove)
	return value, rest, err
}

func (p *patcher) test(doc *node, path []string, value *node) error {
	at, err := p.get(doc, path)
	if err != nil {
		return errTest
	}
	if p.work -= min(at.size, value.size); p.work < 0 {
		return errWork
	}
	if !at.equal(value) {
		return errTest
	}
	return nil
}

func (p *patcher) get(doc *node, path []string) (*node, error) {
	for _, token := range path {
		p.work -= p.cost(doc)
		if doc, _ = doc.find(token); doc == nil {
			return nil, errPath
		}
	}
	if p.work < 0 {
		return nil, errWork
	}
	return doc, nil
}

// cost is what looking into n takes.
func (p *patcher) cost(n *node) int {
	if !n.open {
		return n.size
	}
	return 1 + len(n.names)
}

// edit is what change does at the end of a path.
type edit int

const (
	add    edit = iota
	insert      // add that puts what lies behind an array's end at the end, as the client's move and copy do
	replace
	remove
)

// change gives n with the edit done at path.
func (p *patcher) change(n *node, path []string, value *node, do edit) (*node, error) {
	if len(path) == 0 {
		if do == remove {
			return leaf([]byte("null")), nil
		}
		return value, nil
	}
	if p.work -= p.cost(n); p.work < 0 {
		return nil, errWork
	}
	kid, i := n.find(path[0])
	if len(path) > 1 {
		if kid == nil {
			return nil, errPath
		}
		changed, err := p.change(kid, path[1:], value, do)
		if err != nil {
			return nil, err
		}
		n = p.own(n)
		n.set(i, changed)
		return n, nil
	}
	return p.edit(n, path[0], i, value, do)
}

func (p *patcher) edit(n *node, token string, i int, value *node, do edit) (*node, error) {
	if do == add || do == insert {
		switch n.is {
		case strictjson.Array:
			at, err := n.slot(token, do)
			if err != nil {
				return nil, err
			}
			n = p.own(n)
			p.work -= (len(n.kids) - at) / 8
			n.kids = slices.Insert(n.kids, at, value)
			n.grow(value, 1)
			return n, nil
		case strictjson.Object:
			if i >= 0 {
				break
			}
			n = p.own(n)
			quotedKey := strictjson.Quote(token)
			n.names, n.keys = append(n.names, token), append(n.keys, quotedKey[1:len(quotedKey)-1])
			n.kids = append(n.kids, value)
			n.grow(value, len(quotedKey)+2)
			return n, nil
		}
	}
	if i < 0 || n.is == strictjson.Array && (do == add || do == insert) {
		return nil, errPath
	}
	n = p.own(n)
	if do != remove {
		n.set(i, value)
		return n, nil
	}
	n.size -= n.kids[i].size + 1
	n.kids = slices.Delete(n.kids, i, i+1)
	if n.is == strictjson.Object {
		n.size -= len(n.keys[i]) + 3
		n.names, n.keys = slices.Delete(n.names, i, i+1), slices.Delete(n.keys, i, i+1)
	}
	return n, nil
}

// slot is where an array takes a new element.
func (n *node) slot(token string, do edit) (int, error) {
	if token == "-" {
		return len(n.kids), nil
	}
	at, ok := place(token)
	if !ok || do == add && at > len(n.kids) {
		return 0, errPath
	}
	return min(at, len(n.kids)), nil
}

func (n *node) set(i int, kid *node) {
	was := n.kids[i].size
	n.kids[i] = kid
	n.grow(kid, -was)
}

func (n *node) grow(kid *node, more int) {
	n.size += kid.size + more
	n.deep = max(n.deep, kid.depth()+1)
}

// own gives a node that this turn may change.
func (p *patcher) own(n *node) *node {
	if n.turn == p.turn {
		return n
	}
	p.work -= len(n.kids)
	return &node{is: n.is, open: true, size: n.size, deep: n.depth(), turn: p.turn,
		names: slices.Clone(n.names), keys: slices.Clone(n.keys), kids: slices.Clone(n.kids)}
}

// pointer splits a JSON Pointer (RFC 6901).
func pointer(raw []byte) ([]string, error) {
	if !isString(raw) {
		return nil, errOp
	}
	s := decode(raw)
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, errOp
	}
	tokens := strings.Split(s[1:], "/")
	if len(tokens) > maxDepth {
		return nil, errPath
	}
	for i, t := range tokens {
		if strings.Contains(t, "~") {
			tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
		}
		if tokens[i] == "__proto__" || tokens[i] == "prototype" && i > 0 && tokens[i-1] == "constructor" {
			return nil, errPath // the client refuses to touch these
		}
	}
	return tokens, nil
}

// ApplyState gives the state after deltas, JSON Patches (RFC 6902) in the order
// they came. state nil is null. What no operation touches keeps its bytes. state
// and deltas must have been checked as parts of frames.
//
// limit bounds the bytes of the result at each step; the work is bounded as
// well. The error says which delta, from 0, and which of its operations could
// not be applied. A client goes on without such a delta.
func ApplyState(state []byte, deltas [][]byte, limit int) ([]byte, error) {
	if len(state) == 0 {
		state = []byte("null")
	}
	if len(state) > limit {
		return nil, fmt.Errorf("the state: %w", errLimit)
	}
	doc := leaf(state)
	p := patcher{limit: limit, work: stateWork, turn: new(byte)}
	for i, delta := range deltas {
		var err error
		if doc, err = p.more(doc, delta); err != nil {
			return nil, fmt.Errorf("delta %d: %w", i, err)
		}
	}
	return doc.append(nil), nil
}
