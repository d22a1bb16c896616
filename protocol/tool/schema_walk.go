package tool

import "github.com/santhosh-tekuri/jsonschema/v6"

// sameValue gives the subschemas that are applied to the value itself.
func sameValue(s *jsonschema.Schema, each func(*jsonschema.Schema)) {
	for _, sub := range []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else} {
		if sub != nil {
			each(sub)
		}
	}
	if s.DynamicRef != nil && s.DynamicRef.Ref != nil {
		each(s.DynamicRef.Ref)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range list {
			each(sub)
		}
	}
	for _, sub := range s.DependentSchemas {
		each(sub)
	}
	for _, dep := range s.Dependencies {
		if sub, ok := dep.(*jsonschema.Schema); ok {
			each(sub)
		}
	}
}

// endless reports a schema that is applied to the same value for ever: its
// meaning is undefined (JSON Schema core §9.4.1).
func endless(root *jsonschema.Schema) bool {
	const inside, done = 1, 2
	state := map[*jsonschema.Schema]int{}
	var found bool
	var follow func(s *jsonschema.Schema)
	follow = func(s *jsonschema.Schema) {
		switch state[s] {
		case inside:
			found = true
			return
		case done:
			return
		}
		state[s] = inside
		sameValue(s, follow)
		state[s] = done
	}
	var walk func(s *jsonschema.Schema)
	seen := map[*jsonschema.Schema]bool{}
	walk = func(s *jsonschema.Schema) {
		if s == nil || seen[s] || found {
			return
		}
		seen[s] = true
		follow(s)
		sameValue(s, walk)
		parts(s, walk)
	}
	walk(root)
	return found
}

// parts gives the subschemas that are applied to parts of the value; nil among
// them.
func parts(s *jsonschema.Schema, each func(*jsonschema.Schema)) {
	for _, sub := range s.Properties {
		each(sub)
	}
	for _, sub := range s.PatternProperties {
		each(sub)
	}
	for _, sub := range s.PrefixItems {
		each(sub)
	}
	for _, v := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch v := v.(type) {
		case *jsonschema.Schema:
			each(v)
		case []*jsonschema.Schema:
			for _, sub := range v {
				each(sub)
			}
		}
	}
	for _, sub := range []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Items2020, s.Contains, s.UnevaluatedItems} {
		each(sub)
	}
}
