package tool

import (
	"bytes"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
}

// here is the base that a schema's own names are resolved against. Nothing can be
// loaded from it, or from anywhere.
const here = "schema:///tool"

// CheckSchema refuses as invalid_tool what is no JSON Schema, resolves outside
// itself, or is too deep or too large [SEC-2]. It compiles the schema, so one
// that passes can be used.
func CheckSchema(raw []byte) error {
	_, err := CompileSchema(raw)
	return err
}

// CompileSchema checks a schema as CheckSchema does and compiles it. Compiling
// costs 0.1 to 50 ms by size: callers keep the result.
func CompileSchema(raw []byte) (*Schema, error) {
	if err := guardSchema(raw); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, badSchema("cannot be read")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refuseAll{})
	c.UseRegexpEngine(compilePattern)
	if err := c.AddResource(here, doc); err != nil {
		return nil, badSchema("cannot be used")
	}
	s, err := c.Compile(here)
	if err != nil {
		return nil, notCompiled(err, raw)
	}
	if endless(s) {
		return nil, badSchema("leads back to itself without going into the value")
	}
	return &Schema{compiled: s}, nil
}

// notCompiled turns the compiler's error into a sentence. It holds places and
// keywords of the schema the caller has sent, and no address.
func notCompiled(err error, raw []byte) *fault.Error {
	var (
		meta    *jsonschema.SchemaValidationError
		verr    *jsonschema.ValidationError
		pattern *jsonschema.InvalidRegexError
	)
	switch {
	case errors.As(err, &meta) && errors.As(meta.Err, &verr):
		p := firstFault(verr, raw)
		at := p.Pointer
		if at == "" {
			at = "its root"
		}
		return badSchema("is no JSON Schema: at %s, %s", at, p.Reason)
	case errors.As(err, &pattern):
		return badSchema("has a pattern that is no regular expression")
	}
	return badSchema("has a reference that leads nowhere inside it")
}

func badSchema(format string, args ...any) *fault.Error {
	return fault.New(fault.InvalidTool, "the schema "+format, args...)
}

// refuseAll is the loader: nothing is loaded [SEC-2, SEC-4].
type refuseAll struct{}

func (refuseAll) Load(string) (any, error) { return nil, errors.New("schemas are not loaded") }

// ErrUnchecked is wrapped by a PointerError when a value was not checked at all,
// since it would take more than the bounded work.
var ErrUnchecked = errors.New("not checked")

// Validate checks one JSON value; numbers are compared exactly. A mismatch is a
// *PointerError. The work is bounded [SEC-2]: a value of more than MaxValue
// bytes, with a number of more than 100 characters or beyond 1e±400, or one that
// this schema would have to visit too often, is a *PointerError that wraps ErrUnchecked.
func (s *Schema) Validate(value []byte) error {
	if len(value) > MaxValue {
		return unchecked("the value is too large to check against its schema")
	}
	if err := strictjson.Check(value); err != nil {
		return &PointerError{Reason: "the value is " + err.Error()}
	}
	if !numbersFit(value) {
		return unchecked("the value holds a number too large to check")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return &PointerError{Reason: "the value cannot be read"}
	}
	if !affordable(s.compiled, v, len(value)) {
		return unchecked("checking the value against its schema takes too long")
	}
	err = s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	var bad *jsonschema.ValidationError
	if !errors.As(err, &bad) {
		return &PointerError{Reason: "the value does not match"}
	}
	return firstFault(bad, value)
}

func unchecked(why string) *PointerError { return &PointerError{Reason: why, cause: ErrUnchecked} }
