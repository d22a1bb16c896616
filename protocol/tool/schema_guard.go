package tool

import (
	"strings"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Bounds of a schema from outside [SEC-2].
const (
	MaxSchemaDepth = 32    // subschemas inside each other, the root being the first
	MaxSubschemas  = 2_000 // in all
)

// drafts are the $schema values that need no loading, without their empty
// fragment. Generators write both schemes.
var drafts = map[string]bool{
	"json-schema.org/draft-04/schema": true, "json-schema.org/draft-06/schema": true,
	"json-schema.org/draft-07/schema": true, "json-schema.org/draft/2019-09/schema": true,
	"json-schema.org/draft/2020-12/schema": true, "json-schema.org/schema": true,
}

// data are the keywords whose value is not a schema, so that a "$ref" in an
// example is no reference.
var data = map[string]bool{"const": true, "enum": true, "default": true, "examples": true, "example": true}

// names are the keywords whose members are names, not keywords.
var names = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "definitions": true,
	"dependentSchemas": true, "dependencies": true, "dependentRequired": true,
}

// guard walks a schema before it is compiled.
type guard struct {
	count   int
	nested  bool // a subschema has a name of its own ($id)
	dynamic bool // there is a reference that is resolved while validating
}

// guardSchema refuses a schema that is too large, points outside itself or holds
// numbers nobody can compute with. What has the wrong form but harms nobody is
// left to the compiler.
func guardSchema(raw []byte) error {
	if err := strictjson.Check(raw); err != nil {
		return badSchema("is %v", err)
	}
	switch k := strictjson.KindOf(raw); k {
	case strictjson.Object, strictjson.Bool:
	default:
		return badSchema("is an object or a boolean, not %v", k)
	}
	if !numbersFit(raw) {
		return badSchema("holds a number too large to compute with")
	}
	g := guard{}
	if err := g.schema(raw, 1); err != nil {
		return err
	}
	if g.nested && g.dynamic {
		return badSchema("has both an $id inside it and a $dynamicRef or $recursiveRef")
	}
	return nil
}

// schema walks what stands where a schema may stand: a schema, or a list of them.
// Unknown keywords are walked too, since a reference can lead into them.
func (g *guard) schema(raw []byte, depth int) error {
	switch strictjson.KindOf(raw) {
	case strictjson.Array:
		list, _ := strictjson.ArrayOf(raw)
		for _, v := range list {
			if err := g.schema(v, depth); err != nil {
				return err
			}
		}
		return nil
	case strictjson.Object:
	default:
		return nil
	}
	if depth > MaxSchemaDepth {
		return badSchema("is nested deeper than %d", MaxSchemaDepth)
	}
	if g.count++; g.count > MaxSubschemas {
		return badSchema("has more than %d subschemas", MaxSubschemas)
	}
	m, err := strictjson.ObjectOf(raw)
	if err != nil {
		return badSchema("has a %v", err)
	}
	for _, kv := range m {
		if err := g.keyword(kv, depth); err != nil {
			return err
		}
	}
	return nil
}

func (g *guard) keyword(kv strictjson.Member, depth int) error {
	if err := g.points(kv, depth); err != nil || data[kv.Key] {
		return err
	}
	if !names[kv.Key] || strictjson.KindOf(kv.Raw) != strictjson.Object {
		return g.schema(kv.Raw, depth+1)
	}
	m, err := strictjson.ObjectOf(kv.Raw)
	if err != nil {
		return badSchema("has a %v", err)
	}
	if g.count += len(m); g.count > MaxSubschemas {
		return badSchema("has more than %d subschemas", MaxSubschemas)
	}
	for _, named := range m {
		if strictjson.KindOf(named.Raw) == strictjson.Object {
			g.count-- // it is counted where it is walked
		}
		if err := g.schema(named.Raw, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// points checks one keyword that may lead elsewhere. References go to a place or
// an anchor in the schema itself (#…), or to a plain name that an $id of the same
// schema gives. A plain name has no scheme and no path: there is nothing to load
// it from, here or in an agent that reads the schema again. An $id that is an
// address would be the base of references for such a reader, so it is refused
// whatever it is used for.
func (g *guard) points(kv strictjson.Member, depth int) error {
	switch kv.Key {
	case "$dynamicRef", "$recursiveRef":
		g.dynamic = true
	case "$ref", "$schema", "$id", "id":
	default:
		return nil
	}
	to, err := strictjson.StringOf(kv.Raw)
	if err != nil {
		if kv.Key == "id" {
			return nil // draft 4's id is a string; anything else is no id
		}
		return badSchema("has a %s that is no string", kv.Key)
	}
	if kv.Key == "$schema" {
		if bare, ok := cutScheme(to); ok && drafts[strings.TrimSuffix(bare, "#")] {
			return nil
		}
		return badSchema("names a $schema that is no published draft of JSON Schema")
	}
	name, _, _ := strings.Cut(to, "#")
	if (kv.Key == "$id" || kv.Key == "id") && depth > 1 && name != "" {
		g.nested = true
	}
	if strings.ContainsAny(name, `:/\?%`) {
		return badSchema("may only point into itself (#…); its %s leads elsewhere", kv.Key)
	}
	return nil
}

func cutScheme(address string) (string, bool) {
	if bare, ok := strings.CutPrefix(address, "http://"); ok {
		return bare, true
	}
	return strings.CutPrefix(address, "https://")
}

// Numbers that are computed with exactly take room and time by their exponent.
const (
	maxDigits   = 100
	maxExponent = 400
)

// numbersFit reports whether every number of a checked text can be computed with.
func numbersFit(checked []byte) bool {
	for i := 0; i < len(checked); i++ {
		switch c := checked[i]; {
		case c == '"':
			for i++; checked[i] != '"'; i++ {
				if checked[i] == '\\' {
					i++
				}
			}
		case c >= '0' && c <= '9':
			start := i
			for i < len(checked) && strings.IndexByte("0123456789.eE+-", checked[i]) >= 0 {
				i++
			}
			if !fits(checked[start:i]) {
				return false
			}
			i--
		}
	}
	return true
}

func fits(number []byte) bool {
	if len(number) > maxDigits {
		return false
	}
	at := strings.IndexAny(string(number), "eE")
	if at < 0 {
		return true
	}
	exponent := 0
	for _, c := range number[at+1:] {
		if c < '0' {
			continue // its sign
		}
		if exponent = exponent*10 + int(c-'0'); exponent > maxExponent {
			return false
		}
	}
	return true
}
