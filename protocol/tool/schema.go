package tool

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Bounds of a schema from outside [SEC-2].
const (
	schemaDepth = 32
	subschemas  = 2000
	// validationWork bounds size of value times size of schema. A validator visits
	// each part of a value once for each keyword that applies to it, and its regular
	// expressions take linear time, so the product bounds the 50 ms of [SEC-2]
	// without a clock.
	validationWork = 1 << 28
)

// drafts are the $schema values that need no loading.
var drafts = map[string]bool{
	"http://json-schema.org/draft-04/schema": true, "http://json-schema.org/draft-06/schema": true,
	"http://json-schema.org/draft-07/schema": true, "https://json-schema.org/draft/2019-09/schema": true,
	"https://json-schema.org/draft/2020-12/schema": true,
}

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	size     int
}

// PointerError is a value that does not match: where, and why.
type PointerError struct {
	Pointer string // JSON Pointer of the first fault, "" for the whole value
	Reason  string
}

func (e *PointerError) Error() string {
	if e.Pointer == "" {
		return e.Reason
	}
	return e.Pointer + ": " + e.Reason
}

// Pointer gives the place of a validation fault.
func Pointer(err error) (string, bool) {
	var p *PointerError
	if errors.As(err, &p) {
		return p.Pointer, true
	}
	return "", false
}

// CheckSchema refuses as invalid_tool what is no JSON Schema, resolves outside
// itself, or is too deep or too large [SEC-2]. It compiles the schema, so one
// that passes can be used.
func CheckSchema(raw []byte) error {
	_, err := CompileSchema(raw)
	return err
}

// CompileSchema checks and compiles a schema.
func CompileSchema(raw []byte) (*Schema, error) {
	if err := strictjson.Check(raw); err != nil {
		return nil, badSchema("is %v", err)
	}
	switch strictjson.KindOf(raw) {
	case strictjson.Object, strictjson.Bool:
	default:
		return nil, badSchema("is an object or a boolean, not %v", strictjson.KindOf(raw))
	}
	count := 0
	if err := inside(raw, 0, &count, "schema"); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, badSchema("cannot be read").Because(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refuseAll{})
	const here = "schema:tool"
	if err := c.AddResource(here, doc); err != nil {
		return nil, badSchema("cannot be used").Because(err)
	}
	s, err := c.Compile(here)
	if err != nil {
		return nil, badSchema("does not hold together: a reference leads nowhere, or a keyword has the wrong form").Because(err)
	}
	return &Schema{compiled: s, size: len(raw)}, nil
}

func badSchema(format string, args ...any) *fault.Error {
	return fault.New(fault.InvalidTool, "the schema "+format, args...)
}

// refuseAll is the loader: nothing is loaded [SEC-2, SEC-4].
type refuseAll struct{}

func (refuseAll) Load(string) (any, error) { return nil, errors.New("schemas are not loaded") }

// data are the keywords whose value is not a schema, so that a "$ref" in an
// example is no reference.
var data = map[string]bool{"const": true, "enum": true, "default": true, "examples": true, "example": true}

// names are the keywords whose members are names, not keywords.
var names = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "definitions": true,
	"dependentSchemas": true, "dependencies": true,
}

// inside walks a schema and refuses references that leave it.
func inside(raw []byte, depth int, count *int, parent string) error {
	if depth > schemaDepth {
		return badSchema("is nested deeper than %d", schemaDepth)
	}
	switch strictjson.KindOf(raw) {
	case strictjson.Array:
		list, _ := strictjson.ArrayOf(raw)
		for _, v := range list {
			if err := inside(v, depth+1, count, parent); err != nil {
				return err
			}
		}
		return nil
	case strictjson.Object:
	default:
		return nil
	}
	m, err := strictjson.ObjectOf(raw)
	if err != nil {
		return badSchema("has a %v", err)
	}
	if *count++; *count > subschemas {
		return badSchema("has more than %d parts", subschemas)
	}
	for _, kv := range m {
		if !names[parent] {
			if err := reference1(kv); err != nil {
				return err
			}
			if data[kv.Key] {
				continue
			}
		}
		next := kv.Key
		if names[parent] {
			next = "schema"
		}
		if err := inside(kv.Raw, depth+1, count, next); err != nil {
			return err
		}
	}
	return nil
}

// reference1 checks one keyword that may point elsewhere.
func reference1(kv strictjson.Member) error {
	switch kv.Key {
	case "$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id", "id":
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
	switch {
	case kv.Key == "$schema":
		if drafts[strings.TrimSuffix(to, "#")] {
			return nil
		}
	case strings.HasPrefix(to, "#"):
		return nil
	case kv.Key == "id" && !strings.ContainsAny(to, ":/"):
		return nil
	}
	return badSchema("may only point into itself (#…); its %s leads elsewhere", kv.Key)
}

// Validate checks one JSON value. A mismatch is a *PointerError.
func (s *Schema) Validate(value []byte) error {
	if err := strictjson.Check(value); err != nil {
		return &PointerError{Reason: fmt.Sprint("the value is ", err)}
	}
	if (len(value)+1)*(s.size+1) > validationWork {
		return &PointerError{Reason: "the value and its schema together are too large to check"}
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return &PointerError{Reason: "the value cannot be read"}
	}
	err = s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	var bad *jsonschema.ValidationError
	if !errors.As(err, &bad) {
		return &PointerError{Reason: "the value does not match"}
	}
	for len(bad.Causes) > 0 {
		bad = bad.Causes[0]
	}
	at := ""
	for _, part := range bad.InstanceLocation {
		at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
	}
	return &PointerError{Pointer: at, Reason: fmt.Sprintf("does not match %s", strings.Join(bad.ErrorKind.KeywordPath(), "/"))}
}
