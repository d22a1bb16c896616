package config

import (
	"fmt"
	"math"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// schema writes a YAML mapping as the JSON object it stands for, its keys in
// file order.
func (d *decoder) schema(n ast.Node, path string, into *Schema) {
	if _, ok := n.(*ast.MappingNode); !ok {
		d.fault(nodeAt(n), path, "a JSON Schema is written as a mapping, such as {type: object}")
		return
	}
	before := len(d.faults)
	out := d.appendJSON(nil, n, path)
	if len(d.faults) == before {
		*into = out
	}
}

func (d *decoder) appendJSON(dst []byte, n ast.Node, path string) []byte {
	switch n := n.(type) {
	case *ast.MappingNode:
		return d.appendObject(dst, n, path)
	case *ast.SequenceNode:
		dst = append(dst, '[')
		for i, v := range n.Values {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = d.appendJSON(dst, v, fmt.Sprintf("%s[%d]", path, i))
		}
		return append(dst, ']')
	case *ast.NullNode, nil:
		return append(dst, "null"...)
	case *ast.BoolNode:
		return strconv.AppendBool(dst, n.Value)
	case *ast.IntegerNode:
		return appendNumber(dst, n, n.Value)
	case *ast.FloatNode:
		return appendNumber(dst, n, n.Value)
	case *ast.StringNode, *ast.LiteralNode:
		if isPlainNumber(n) {
			return append(dst, written(n)...)
		}
		text, _ := d.expand(n, path)
		return strictjson.AppendString(dst, text)
	}
	d.fault(nodeAt(n), path, "JSON has no such value")
	return append(dst, "null"...)
}

func (d *decoder) appendObject(dst []byte, n *ast.MappingNode, path string) []byte {
	dst = append(dst, '{')
	first := map[string]position{}
	for _, pair := range n.Values {
		at := nodeAt(pair.Key)
		key, ok := keyText(pair.Key)
		inner := join(path, key)
		if !ok {
			d.fault(at, path, "a key must be a plain text")
			continue
		}
		if before, twice := first[key]; twice {
			d.fault(at, inner, "is there twice; the first is on line %d", before.line)
			continue
		}
		first[key] = at
		if len(first) > 1 {
			dst = append(dst, ',')
		}
		dst = append(strictjson.AppendString(dst, key), ':')
		dst = d.appendJSON(dst, pair.Value, inner)
	}
	return append(dst, '}')
}

// isPlainNumber finds the numbers of YAML 1.2 that the library takes for text,
// such as 1e3.
func isPlainNumber(n ast.Node) bool {
	text := []byte(written(n))
	return n.GetToken().Type == token.StringType && strictjson.KindOf(text) == strictjson.Number && strictjson.Valid(text)
}

// appendNumber keeps a number's own spelling where JSON has it, so that 1.0 and
// 2^60 stay what they are.
func appendNumber(dst []byte, n ast.Node, value any) []byte {
	if text := n.GetToken().Value; strictjson.Valid([]byte(text)) {
		return append(dst, text...)
	}
	switch v := value.(type) {
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case float64:
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			return strconv.AppendFloat(dst, v, 'g', -1, 64)
		}
	}
	return strictjson.AppendString(dst, n.GetToken().Value)
}
