package tool

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/fault"
)

const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#"`

// nest puts n schemas inside each other by a keyword.
func nest(n int, open, end string) string {
	return strings.Repeat(open, n-1) + "{}" + strings.Repeat(end, n-1)
}

// SEC-2.
func TestCheckSchema(t *testing.T) {
	for _, c := range schemaCases() {
		t.Run(c.name, func(t *testing.T) {
			err := CheckSchema([]byte(c.schema))
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refused(t, err, fault.InvalidTool, "")
			if m := fault.From(err).Message; !strings.Contains(m, c.says) {
				t.Errorf("it says %q, want %q in it", m, c.says)
			}
			if m := fault.From(err).Message; strings.Contains(m, "127.0.0.1") || strings.Contains(m, "schema:///") {
				t.Errorf("the message names an address: %q", m)
			}
		})
	}
}

type schemaCase struct {
	name, schema string
	says         string // "" is accepted
}

// schemaCases are the schemas of TestCheckSchema.
func schemaCases() []schemaCase {
	return append(deeperSchemas(), []schemaCase{
		{"empty", `{}`, ""},
		{"true", `true`, ""},
		{"false", ` false `, ""},
		{"an ordinary one", `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`, ""},
		{"no JSON", `{"type":}`, "not valid JSON"},
		{"nothing", ``, "not valid JSON"},
		{"null", `null`, "not null"},
		{"a string", `"object"`, "not a string"},
		{"a key twice", `{"type":"object","type":"string"}`, "duplicate key"},
		{"a property twice", `{"properties":{"a":{},"\u0061":{}}}`, "duplicate key"},
		{"a type that is none", `{"properties":{"a":{"type":"date"}}}`, "is no JSON Schema: at /properties/a/type"},
		{"a keyword of the wrong form", `{"required":true}`, "is no JSON Schema: at /required"},

		{"a place in itself", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, ""},
		{"itself", `{"properties":{"next":{"$ref":"#"}}}`, ""},
		{"an anchor in itself", `{"$ref":"#x","$defs":{"y":{"$anchor":"x"}}}`, ""},
		{"a dynamic anchor", `{"properties":{"a":{"$dynamicRef":"#x"}},"$defs":{"y":{"$dynamicAnchor":"x","type":"string"}}}`, ""},
		{"draft 7 anchor", `{` + draft7 + `,"properties":{"a":{"$ref":"#x"}},"definitions":{"y":{"$id":"#x"}}}`, ""},
		{"a name in itself", `{"$id":"T0","type":"object","properties":{"nodes":{"type":"array","items":{"$ref":"T0"}}}}`, ""},
		{"a name inside itself", `{"properties":{"tree":{"$id":"T0","properties":{"kids":{"items":{"$ref":"T0"}}}}}}`, ""},
		{"a name nobody has", `{"properties":{"a":{"$ref":"T0"}}}`, "has a reference that leads nowhere inside it"},
		{"a place that is not there", `{"$ref":"#/$defs/x"}`, "has a reference that leads nowhere inside it"},
		{"an anchor that is not there", `{"$ref":"#x"}`, "has a reference that leads nowhere inside it"},
		{"http", `{"$ref":"http://127.0.0.1/x.json"}`, "its $ref leads elsewhere"},
		{"https with a place", `{"properties":{"a":{"items":[{"$ref":"https://example.com/x#/a"}]}}}`, "its $ref leads elsewhere"},
		{"file", `{"$ref":"file:///etc/passwd"}`, "its $ref leads elsewhere"},
		{"a path", `{"$ref":"/etc/passwd"}`, "its $ref leads elsewhere"},
		{"a relative path", `{"$ref":"../x.json"}`, "its $ref leads elsewhere"},
		{"a path in escapes", `{"$ref":"..%2fx.json"}`, "its $ref leads elsewhere"},
		{"a host", `{"$ref":"//example.com"}`, "its $ref leads elsewhere"},
		{"key in escapes", `{"\u0024ref":"http://127.0.0.1/"}`, "its $ref leads elsewhere"},
		{"a published draft", `{"$ref":"http://json-schema.org/draft-07/schema#"}`, "its $ref leads elsewhere"},
		{"dynamic to elsewhere", `{"$dynamicRef":"http://127.0.0.1/#x"}`, "its $dynamicRef leads elsewhere"},
		{"recursive to elsewhere", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"x/y"}`, "its $recursiveRef leads elsewhere"},
		{"not a string", `{"$ref":{"a":1}}`, "has a $ref that is no string"},
		{"id with an address", `{"$id":"http://127.0.0.1/base.json","properties":{"a":{"$ref":"#/b"}}}`, "its $id leads elsewhere"},
		{"id with an address inside", `{"properties":{"a":{"$id":"https://example.com/"}}}`, "its $id leads elsewhere"},
		{"draft 4 id with an address", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://127.0.0.1/"}`, "its id leads elsewhere"},
		{"id inside with dynamic", `{"properties":{"a":{"$id":"x"},"b":{"$dynamicRef":"#"}}}`, "has both an $id inside it and a $dynamicRef"},
		{"in an unknown keyword", `{"x-more":{"$ref":"http://127.0.0.1/"}}`, "its $ref leads elsewhere"},

		{"a property called $ref", `{"properties":{"$ref":{"type":"string"},"$id":{"type":"string"},"id":{"type":"integer"},"$schema":{}}}`, ""},
		{"an example that holds a $ref", `{"examples":[{"$ref":"http://127.0.0.1/"}],"default":{"$ref":"http://x/"},"const":{"$ref":"file:///"},"enum":[{"$ref":"/x"}]}`, ""},
	}...)
}

// deeperSchemas are the second half of them.
func deeperSchemas() []schemaCase {
	many := func(n int, format string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(format, i))
		}
		return strings.Join(list, ",")
	}
	return []schemaCase{
		{"a way into an example that leaves", `{"$ref":"#/default","default":{"$ref":"http://127.0.0.1/"}}`, "has a reference that leads nowhere inside it"},

		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#"}`, ""},
		{"draft 6", `{"$schema":"http://json-schema.org/draft-06/schema#"}`, ""},
		{"draft 7", `{` + draft7 + `}`, ""},
		{"draft 7 by https", `{"$schema":"https://json-schema.org/draft-07/schema"}`, ""},
		{"draft 2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema"}`, ""},
		{"draft 2020-12", `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, ""},
		{"no draft", `{"$schema":"http://127.0.0.1/meta.json"}`, "names a $schema that is no published draft"},
		{"a file", `{"$schema":"file:///etc/passwd"}`, "names a $schema that is no published draft"},
		{"a draft with a place", `{"$schema":"http://json-schema.org/draft-07/schema#/definitions/x"}`, "names a $schema that is no published draft"},
		{"no draft inside", `{"properties":{"a":{"$schema":"http://127.0.0.1/"}}}`, "names a $schema that is no published draft"},

		{"32 deep", nest(32, `{"not":`, `}`), ""},
		{"33 deep", nest(33, `{"not":`, `}`), "is nested deeper than 32"},
		{"32 deep by properties", nest(32, `{"properties":{"a":`, `}}`), ""},
		{"33 deep by properties", nest(33, `{"properties":{"a":`, `}}`), "is nested deeper than 32"},
		{"33 deep by lists", nest(33, `{"anyOf":[`, `]}`), "is nested deeper than 32"},
		{"1,000 deep", nest(1000, `{"not":`, `}`), "nested too deep"},
		{"2,000 subschemas", `{"properties":{` + many(1999, `"a%d":{}`) + `}}`, ""},
		{"2,001 subschemas", `{"properties":{` + many(2000, `"a%d":{}`) + `}}`, "has more than 2000 subschemas"},
		{"2,001 booleans", `{"properties":{` + many(2000, `"a%d":true`) + `}}`, "has more than 2000 subschemas"},
		{"2,001 alternatives", `{"anyOf":[` + many(2000, `{"const":%d}`) + `]}`, "has more than 2000 subschemas"},

		{"a number too large", `{"minimum":1e999999}`, "holds a number too large"},
		{"a number too long", `{"enum":[` + strings.Repeat("9", 101) + `]}`, "holds a number too large"},
		{"digits in a text", `{"description":"1e999999 ` + strings.Repeat("9", 101) + `"}`, ""},
		{"applied to itself", `{"$ref":"#"}`, "leads back to itself"},
		{"applied to itself in a circle", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"allOf":[{"$ref":"#/$defs/y"}]},"y":{"if":{"$ref":"#/$defs/x"}}}}`, "leads back to itself"},

		{"a pattern", `{"pattern":"^[a-z]+$"}`, ""},
		{"a pattern with look-ahead", `{"pattern":"^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z]+$"}`, ""},
		{"a pattern with a reference back", `{"pattern":"(a)\\1"}`, ""},
		{"a pattern with many repeats", `{"pattern":"^.{1,5000}$"}`, ""},
		{"a pattern that would be huge", `{"pattern":"((a{1,100}){1,100}){1,100}"}`, ""},
		{"a pattern that is none", `{"pattern":"a(b"}`, "at /pattern, is no regular expression"},
		{"a pattern of names that is none", `{"patternProperties":{"[":{}}}`, "at /patternProperties, does not match propertyNames"},
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name, schema, value string
		at, why             string // both "" is valid
	}{
		{"matches", `{"type":"object","required":["a"]}`, `{"a":1}`, "", ""},
		{"no JSON", `{}`, `{"a":`, "", "the value is not valid JSON at byte 5"},
		{"type", `{"type":"object"}`, `[]`, "", "is of type array where object is needed"},
		{"types", `{"type":["string","null"]}`, `1`, "", "is of type number where null or string is needed"},
		{"missing", `{"properties":{"x":{"required":["a","b"]}}}`, `{"x":{"b":1}}`, "/x", `lacks "a"`},
		{"additional", `{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"z":1,"b":1}`, "/z", "is not allowed here"},
		{"in a list", `{"items":{"type":"integer"}}`, `[1,2.0,2.5,"x"]`, "/2", "is of type number where integer is needed"},
		{"first as written", `{"properties":{"b":{"type":"string"},"a":{"type":"string"}}}`, `{"b":1,"a":1}`, "/b", "is of type number where string is needed"},
		{"first as written, the other way", `{"properties":{"b":{"type":"string"},"a":{"type":"string"}}}`, `{"a":1,"b":1}`, "/a", "is of type number where string is needed"},
		{"a whole before its parts", `{"required":["z"],"properties":{"a":{"type":"string"}}}`, `{"a":1}`, "", `lacks "z"`},
		{"a name with / and ~", `{"properties":{"a/b~c":{"type":"string"}}}`, `{"a/b~c":1}`, "/a~1b~0c", "is of type number where string is needed"},
		{"a name in escapes", `{"properties":{"é":{"type":"string"}}}`, `{"\u00e9":1}`, "/é", "is of type number where string is needed"},
		{"enum", `{"enum":["a","b"]}`, `"c"`, "", "is none of the allowed values"},
		{"const", `{"const":1}`, `2`, "", "is not the one allowed value"},
		{"short", `{"minLength":2}`, `"é"`, "", "is shorter than 2 characters"},
		{"maximum", `{"maximum":5}`, `6`, "", "does not match maximum"},
		{"false", `{"properties":{"a":false}}`, `{"a":1}`, "/a", "is not allowed here"},
		{"twice", `{"uniqueItems":true}`, `[1,2,1.0]`, "", "holds an item twice"},
		{"not", `{"not":{"type":"string"}}`, `"a"`, "", "is what the schema excludes"},
		{"through a reference", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"properties":{"b":{"type":"null"}}}}}`, `{"a":{"b":0}}`, "/a/b", "is of type number where null is needed"},
		{"the alternative whose type fits", `{"properties":{"a":{"anyOf":[{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}},{"type":"null"}]}}}`, `{"a":{"x":1}}`, "/a/x", "is of type number where string is needed"},
		{"no alternative", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, "/a", "matches none of the alternatives"},
		{"two alternatives", `{"oneOf":[{"minimum":1},{"maximum":5}]}`, `3`, "", "matches more than one alternative"},
		{"numbers are exact", `{"const":1152921504606846977}`, `1152921504606846976`, "", "is not the one allowed value"},
		{"numbers are compared by value", `{"const":1.0}`, `10e-1`, "", ""},
		{"tenths are exact", `{"multipleOf":0.1}`, `0.3`, "", ""},
		{"a format is a note in 2020-12", `{"format":"date"}`, `"x"`, "", ""},
		{"a format is a rule in draft 7", `{` + draft7 + `,"format":"date"}`, `"x"`, "", "is no date"},
		{"pattern", `{"pattern":"^[a-z]+$"}`, `"A"`, "", "does not match pattern"},
		{"pattern in ECMAScript's spelling", `{"pattern":"^[\\u00e0-\\u00ff\\u{1F600}]+$"}`, `"é😀"`, "", ""},
		{"pattern in ECMAScript's spelling refuses", `{"pattern":"^[\\u00e0-\\u00ff]+$"}`, `"e"`, "", "does not match pattern"},
		{"pattern beyond RE2 is not checked", `{"pattern":"^(?!a)b"}`, `"a"`, "", ""},
		{"property names", `{"propertyNames":{"maxLength":1}}`, `{"a":1,"bb":1}`, "", "does not match propertyNames"},
		{"a name in the schema", `{"$id":"T","properties":{"k":{"items":{"$ref":"T"}},"n":{"type":"integer"}}}`, `{"k":[{"n":1},{"n":"x"}]}`, "/k/1/n", "is of type string where integer is needed"},
		{"recursion", `{"properties":{"next":{"$ref":"#"},"v":{"type":"string"}}}`, `{"next":{"next":{"v":1}}}`, "/next/next/v", "is of type number where string is needed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := CompileSchema([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			for range 10 { // the validator walks objects in any order
				err = s.Validate([]byte(c.value))
				if c.why == "" {
					if err != nil {
						t.Fatal(err)
					}
					continue
				}
				var p *PointerError
				if !errors.As(err, &p) {
					t.Fatalf("got %v, want a PointerError", err)
				}
				if at, ok := Pointer(err); !ok || at != c.at || p.Reason != c.why {
					t.Fatalf("got %q at %q, want %q at %q", p.Reason, at, c.why, c.at)
				}
				if errors.Is(err, ErrUnchecked) {
					t.Fatal("it says that the value was not checked")
				}
			}
		})
	}
}

func TestPointerErrorText(t *testing.T) {
	if got := (&PointerError{Pointer: "/a/0", Reason: "is no date"}).Error(); got != "/a/0: is no date" {
		t.Errorf("got %q", got)
	}
	if got := (&PointerError{Reason: "is no date"}).Error(); got != "is no date" {
		t.Errorf("got %q", got)
	}
	if _, ok := Pointer(errors.New("x")); ok {
		t.Error("another error has a pointer")
	}
}

// SEC-2: what would take too long is not begun. None of these ends by itself in
// any reasonable time, or they kill the process.
func TestValidateBounds(t *testing.T) {
	rep := strings.Repeat
	var twice, chain strings.Builder
	for i := range 400 {
		fmt.Fprintf(&twice, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
		fmt.Fprintf(&chain, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	for _, c := range []struct{ name, schema, value string }{
		{"doubling without going into the value", `{"$ref":"#/$defs/d0","$defs":{` + twice.String() + `"d400":{}}}`, `1`},
		{"doubling with each level", `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, rep(`{"a":`, 100) + "1" + rep("}", 100)},
		{"doubling by a dynamic reference", `{"$dynamicAnchor":"x","allOf":[{"items":{"$dynamicRef":"#x"}},{"items":{"$dynamicRef":"#x"}}]}`, rep(`[`, 100) + rep("]", 100)},
		{"doubling by a recursive reference", `{"$schema":"https://json-schema.org/draft/2019-09/schema","allOf":[{"items":{"$recursiveRef":"#"}},{"items":{"$recursiveRef":"#"}}]}`, rep(`[`, 100) + rep("]", 100)},
		{"deep calls", `{"items":{"$ref":"#/$defs/d0"},"$defs":{` + chain.String() + `"d400":{"$ref":"#"}}}`, rep(`[`, 120) + rep("]", 120)},
		{"many items in many alternatives", `{"items":{"anyOf":[` + rep(`{"const":-1},`, 1000) + `{"const":-2}]}}`, `[` + rep("1,", 1000) + `1]`},
		{"long lists in a list without equals", `{"uniqueItems":true}`, `[` + rep(`[1,2,3,4,5,6,7,8],`, 1000) + `[]]`},
		{"long texts with a large pattern", `{"items":{"pattern":"(a?){200}b"}}`, `["` + rep("a", 60_000) + `"]`},
		{"pattern as a value", `{` + draft7 + `,"format":"regex"}`, `"` + rep("(a?){10}", 10_000) + `"`},
		{"a huge exponent", `{"type":"integer"}`, `[1e999999]`},
		{"an exponent no machine holds", `{"minimum":0}`, `1e99999999999999999999`},
		{"an exponent in a set", `{"uniqueItems":true}`, `[` + rep("0,", 30) + `1e9999999]`},
		{"many digits", `{"multipleOf":0.3}`, rep("9", 101)},
		{"a large value", `{}`, `"` + rep("a", MaxValue) + `"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := CompileSchema([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			err = s.Validate([]byte(c.value))
			if !errors.Is(err, ErrUnchecked) {
				t.Fatalf("got %v, want ErrUnchecked", err)
			}
			if at, ok := Pointer(err); !ok || at != "" {
				t.Errorf("it is of %q, %v; want the whole value", at, ok)
			}
		})
	}
}

// What people really send stays below the bounds.
func TestValidateOrdinaryWork(t *testing.T) {
	var rows []string
	for i := range 600 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"row %d","price":%d.25,"tags":["a","b"],"state":"open","parent":null}`, i, i, i))
	}
	row := `{"type":"object","properties":{"id":{"type":"integer","minimum":0},"name":{"type":"string","minLength":1,"pattern":"^[a-z0-9 ]+$"},
		"price":{"type":"number","multipleOf":0.01},"tags":{"type":"array","items":{"type":"string"},"uniqueItems":true},
		"state":{"enum":["open","closed"]},"parent":{"anyOf":[{"$ref":"#/$defs/row"},{"type":"null"}]}},
		"required":["id","name"],"additionalProperties":false}`
	for _, c := range []struct{ name, schema, value string }{
		{"600 rows", `{"type":"array","items":{"$ref":"#/$defs/row"},"$defs":{"row":` + row + `}}`, `[` + strings.Join(rows, ",") + `]`},
		{"10,000 numbers", `{"items":{"type":"number","minimum":0}}`, `[` + strings.Repeat("1.5,", 9_999) + `2]`},
		{"64 KiB of text", `{"properties":{"text":{"type":"string","maxLength":70000,"pattern":"^[^<]*$"}}}`, `{"text":"` + strings.Repeat("x", 64<<10) + `"}`},
		{"a picture in base64", `{"properties":{"data":{"type":"string"}}}`, `{"data":"` + strings.Repeat("iVBO", 100<<10) + `"}`},
		{"a list 60 deep", `{"items":{"$ref":"#"}}`, strings.Repeat("[", 60) + strings.Repeat("]", 60)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := CompileSchema([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate([]byte(c.value)); err != nil {
				t.Error(err)
			}
		})
	}
}

// FuzzCheckSchema looks for a schema that passes and then harms: one that panics,
// or that takes long with a value of its own making.
func FuzzCheckSchema(f *testing.F) {
	for _, s := range []string{
		`{}`, `true`, `{"type":"object","properties":{"a":{"type":"integer","minimum":1e3}},"required":["a"]}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#"}}}}`, `{"$id":"T","properties":{"a":{"$ref":"T"}}}`,
		`{` + draft7 + `,"dependencies":{"a":["b"],"c":{"not":{}}},"format":"email","if":{},"then":false}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true,"id":"#x"}`,
		`{"patternProperties":{"^(a|b)*$":{"uniqueItems":true}},"unevaluatedProperties":false,"propertyNames":{"maxLength":2}}`,
		`{"anyOf":[{"const":1},{"enum":[[],{}]}],"pattern":"(?=a)\\u0041"}`, `{"$dynamicAnchor":"x","items":{"$dynamicRef":"#x"}}`,
		`{"$ref":"http://127.0.0.1/"}`, `{"pattern":"((a{1,100}){1,100}){1,100}"}`, `{"minimum":1e400}`,
	} {
		f.Add([]byte(s), []byte(`{"a":[1,2.5e3,"x",null,{"b":true}]}`))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := CompileSchema(schema)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidTool {
				t.Fatalf("%q gives %v", schema, err)
			}
			return
		}
		for _, v := range [][]byte{value, schema} {
			first := s.Validate(v)
			if first == nil {
				continue
			}
			at, ok := Pointer(first)
			if !ok {
				t.Fatalf("%q of %q gives %v, want a PointerError", v, schema, first)
			}
			if again, _ := Pointer(s.Validate(v)); again != at {
				t.Fatalf("%q of %q is at %q and then at %q", v, schema, at, again)
			}
		}
	})
}
