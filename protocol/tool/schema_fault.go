package tool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// PointerError is a value that does not match its schema: where, and why. It
// names keys of the schema and of the value and never a value's text [DATA-3].
type PointerError struct {
	Pointer string // JSON Pointer (RFC 6901) of the first fault in the value as written, "" for the whole value
	Reason  string
	cause   error
}

func (e *PointerError) Error() string {
	if e.Pointer == "" {
		return e.Reason
	}
	return e.Pointer + ": " + e.Reason
}

// Unwrap gives ErrUnchecked where the value was not checked.
func (e *PointerError) Unwrap() error { return e.cause }

// Pointer gives the place of a validation fault; ok is false for another error.
func Pointer(err error) (at string, ok bool) {
	var p *PointerError
	if errors.As(err, &p) {
		return p.Pointer, true
	}
	return "", false
}

// firstFault picks, of all faults the validator found, the one that comes first
// in the value as it was written: the validator itself goes through objects in
// any order.
func firstFault(err *jsonschema.ValidationError, raw []byte) *PointerError {
	found := map[string]string{}
	faults(err, func(at []string, reason string) {
		p := pointerOf(at)
		if old, dup := found[p]; !dup || reason < old {
			found[p] = reason
		}
	})
	at, ok := firstOf(found, raw, "")
	if !ok { // of a part that the value does not show
		at = ""
		found[at] = "the value does not match"
	}
	return &PointerError{Pointer: at, Reason: found[at]}
}

// faults gives the places where a value fails. Of alternatives that failed, one
// is looked into if it is the only one whose type fits; else the alternatives
// have failed together.
func faults(err *jsonschema.ValidationError, add func(at []string, reason string)) {
	switch k := err.ErrorKind.(type) {
	case *kind.Group, *kind.Schema, *kind.Reference, *kind.AllOf:
		for _, cause := range err.Causes {
			faults(cause, add)
		}
	case *kind.AnyOf:
		alternatives(err, "matches none of the alternatives", add)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			add(err.InstanceLocation, "matches more than one alternative")
			return
		}
		alternatives(err, "matches none of the alternatives", add)
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add(append(err.InstanceLocation[:len(err.InstanceLocation):len(err.InstanceLocation)], name), "is not allowed here")
		}
	default:
		add(err.InstanceLocation, reason(err.ErrorKind))
	}
}

func alternatives(err *jsonschema.ValidationError, all string, add func([]string, string)) {
	var near *jsonschema.ValidationError
	fit := 0
	for _, cause := range err.Causes {
		if !wrongType(cause, len(err.InstanceLocation)) {
			near = cause
			fit++
		}
	}
	if fit == 1 {
		faults(near, add)
		return
	}
	add(err.InstanceLocation, all)
}

// wrongType reports an alternative whose type is not that of the value itself.
func wrongType(err *jsonschema.ValidationError, depth int) bool {
	switch err.ErrorKind.(type) {
	case *kind.Type, *kind.Const, *kind.Enum:
		return len(err.InstanceLocation) == depth
	case *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range err.Causes {
			if wrongType(cause, depth) {
				return true
			}
		}
	}
	return false
}

func reason(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("is of type %s where %s is needed", k.Got, strings.Join(k.Want, " or "))
	case *kind.Required:
		return "lacks " + quoted(k.Missing)
	case *kind.DependentRequired:
		return "lacks " + quoted(k.Missing)
	case *kind.Dependency:
		return "lacks " + quoted(k.Missing)
	case *kind.Enum:
		return "is none of the allowed values"
	case *kind.Const:
		return "is not the one allowed value"
	case *kind.FalseSchema:
		return "is not allowed here"
	case *kind.UniqueItems:
		return "holds an item twice"
	case *kind.Format:
		if k.Want == "regex" {
			return "is no regular expression"
		}
		return "is no " + k.Want
	case *kind.Not:
		return "is what the schema excludes"
	case *kind.MinLength:
		return fmt.Sprintf("is shorter than %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("is longer than %d characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has fewer than %d items", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has more than %d items", k.Want)
	case nil:
		return "does not match"
	}
	return "does not match " + strings.Join(k.KeywordPath(), "/")
}

func quoted(list []string) string {
	const most = 5
	out := make([]string, 0, most)
	for i, name := range list {
		if i == most {
			return strings.Join(out, ", ") + " and more"
		}
		out = append(out, strconv.Quote(clip(name)))
	}
	return strings.Join(out, ", ")
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func pointerOf(at []string) string {
	var b strings.Builder
	for _, part := range at {
		b.WriteByte('/')
		_, _ = pointerEscapes.WriteString(&b, part) // a Builder does not fail
	}
	return b.String()
}

// firstOf walks a value in the order it was written for the first place that was
// found, a whole before its parts.
func firstOf(found map[string]string, raw []byte, at string) (string, bool) {
	if _, ok := found[at]; ok {
		return at, true
	}
	it := strictjson.Walk(raw)
	for i := 0; ; i++ {
		key, value, escaped, ok := it.Next()
		if !ok {
			return "", false
		}
		name := string(key)
		if key == nil {
			name = strconv.Itoa(i)
		} else if escaped {
			name, _ = strictjson.StringOf([]byte(`"` + name + `"`))
		}
		if p, ok := firstOf(found, value, at+"/"+pointerEscapes.Replace(name)); ok {
			return p, true
		}
	}
}
