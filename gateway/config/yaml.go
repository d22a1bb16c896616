package config

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file. The parser takes stack for each level and time for the
// square of the keys, so both are counted on the tokens before it runs.
const (
	maxFile   = 1 << 20 // bytes
	maxTokens = 60_000
	maxDepth  = 64 // brackets, or list and key marks in a row
)

// tree parses a file into its one node; nil means that a fault was added, or
// that there is nothing in it.
func (d *decoder) tree(text []byte) (root ast.Node) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	d.lines = strings.Split(string(text), "\n")
	if !d.readable(text) {
		return nil
	}
	// The library has had panics on malformed input; to the operator that is one
	// more file that is no YAML.
	defer func() {
		if recover() != nil {
			d.fault(position{}, "", "this is not YAML")
			root = nil
		}
	}()
	tokens := lexer.Tokenize(string(text))
	if !d.bounded(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // we name every duplicate ourselves
	if err != nil {
		d.syntax(err)
		return nil
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case root != nil:
			d.fault(nodeAt(doc.Body), "", "a second document; the configuration is one")
			return nil
		default:
			root = doc.Body
		}
	}
	return root
}

// readable refuses what is too long or not text.
func (d *decoder) readable(text []byte) bool {
	if len(text) > maxFile {
		d.fault(position{}, "", "the file is longer than 1 MiB")
		return false
	}
	for i, line := range d.lines {
		col := 0
		for at := 0; at < len(line); col++ {
			r, n := utf8.DecodeRuneInString(line[at:])
			if r == utf8.RuneError && n == 1 {
				d.fault(position{i + 1, col + 1}, "", "this byte is not UTF-8")
				return false
			}
			if r < ' ' && r != '\t' && (r != '\r' || at != len(line)-1) {
				d.fault(position{i + 1, col + 1}, "", "control characters are not allowed; write them escaped in double quotes")
				return false
			}
			at += n
		}
	}
	return true
}

// bounded refuses what makes a small file a large configuration, and what the
// parser cannot be trusted with.
func (d *decoder) bounded(tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		d.fault(position{}, "", "the file has more than %d words and marks", maxTokens)
		return false
	}
	brackets, marks, line := 0, 0, 0
	ok := true
	for _, t := range tokens {
		if brackets == 0 && t.Position.Line != line {
			marks, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			d.fault(tokenAt(t), "", "anchors, aliases and merge keys are not supported; write the value out")
			ok = false
		case token.TagType, token.DirectiveType:
			d.fault(tokenAt(t), "", "tags and directives are not supported")
			ok = false
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.CollectEntryType:
			marks = 0
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			marks++
		}
		if brackets > maxDepth || marks > maxDepth {
			d.fault(tokenAt(t), "", "nested deeper than %d", maxDepth)
			return false
		}
	}
	return ok
}

// syntax turns the library's error into a fault.
func (d *decoder) syntax(err error) {
	var at yaml.Error
	if !errors.As(err, &at) {
		d.fault(position{}, "", "this is not YAML")
		return
	}
	where := tokenAt(at.GetToken())
	hint := ""
	if n := where.line; n > 0 && n <= len(d.lines) && strings.Contains(d.lines[n-1], "${") {
		hint = `; inside braces and brackets write "${NAME}" with quotes`
	}
	d.fault(where, "", "this is not YAML: %s%s", at.GetMessage(), hint)
}

func tokenAt(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{t.Position.Line, t.Position.Column}
}

// nodeAt is where a node begins: a block mapping at its first key, a block text
// at its mark.
func nodeAt(n ast.Node) position {
	switch n := n.(type) {
	case nil:
		return position{}
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return nodeAt(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return nodeAt(n.Key)
	}
	return tokenAt(n.GetToken())
}

func isNull(n ast.Node) bool {
	if n == nil {
		return true
	}
	_, ok := n.(*ast.NullNode)
	return ok
}

func isScalar(n ast.Node) bool {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return true
	}
	return false
}

// written is a scalar's text: what stands in the file, without quotes.
func written(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	return n.GetToken().Value
}

// keyText is a mapping key's text. Keys are never expanded.
func keyText(k ast.MapKeyNode) (string, bool) {
	if n, ok := k.(ast.Node); ok && isScalar(n) {
		return written(n), true
	}
	return "", false
}

func shape(n ast.Node) string {
	switch n.(type) {
	case *ast.SequenceNode:
		return "list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "mapping"
	}
	return "structure"
}
