package config

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"

	"github.com/aguigate/aguigate/gateway/repair"
)

// The sources that declare the keys, so that the reference cannot drift from
// them.
var (
	//go:embed config.go
	configSource string
	//go:embed agent.go
	agentSource string
)

// Example is the complete file the reference begins with.
const Example = `listen: 127.0.0.1:8080
store: {nats: embedded, dir: ./data}
auth:
  mode: keys
  keys:
    - {id: app, secret: "${APP_KEY}", tenant: acme}
cors: {origins: ["https://app.example"]}
agents:
  shop:
    description: Helps customers of the shop
    upstream:
      url: http://127.0.0.1:8000/agent
      headers: {Authorization: "Bearer ${SHOP_TOKEN}"}
    tools:
      - name: get_location
        description: Get the city the user is in
        parameters: {type: object, properties: {}}
        output: {type: string}
`

const introduction = `<!-- Generated from gateway/config by go test ./gateway/config -run TestReference -update. Do not edit. -->

# Configuration

The gateway reads one YAML file. This list of keys is complete: a key that is not here is a fault. A small file:

` + "```yaml\n" + Example + "```" + `

` + "`aguigate check --config FILE`" + ` prints a line for each fault, ` + "`FILE:LINE:COL: path.to.key: what is wrong`" + `, and nothing for a valid file.

- ` + "`${NAME}`" + ` inside any value is the environment variable of that name; a missing one is a fault, and ` + "`$${`" + ` writes the
  characters themselves. Keys are never expanded. Inside braces and brackets YAML wants quotes around it.
- A size is a number of bytes, or a whole number of ` + "`KiB`, `MiB` or `GiB`" + `; the most is 1GiB.
- A duration is written such as ` + "`500ms`, `30s`, `5m`, `1h30m`" + `; ` + "`0`" + ` is none.
- The file is UTF-8 and at most 1 MiB, 60000 words and marks, 64 levels deep. Anchors, aliases, merge keys, tags and
  directives are faults. So is a key without a value: leave the key out to get its default.
`

// Reference is the documentation of every key, in Markdown, made from the
// sources of the types.
func Reference() string {
	r := &reference{types: map[string]*ast.StructType{}, docs: map[string]string{}}
	r.read("config.go", configSource)
	r.read("agent.go", agentSource)
	r.WriteString(introduction)
	r.section("", "Config", "The whole file.")
	r.repairs()
	r.reserved()
	return r.String()
}

type reference struct {
	strings.Builder
	types map[string]*ast.StructType
	docs  map[string]string
	later []string // keys and words of a later version, with their place
}

func (r *reference) read(name, source string) {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
	if err != nil {
		panic(err) // it compiled
	}
	for _, decl := range file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				if s, ok := t.Type.(*ast.StructType); ok {
					r.types[t.Name.Name] = s
				}
			}
		}
	}
}

// section writes one type's keys as a table, then the types below it.
func (r *reference) section(path, typ, about string) {
	title := "Top level"
	if path != "" {
		title = "`" + path + "`"
	}
	fmt.Fprintf(r, "\n## %s\n\n%s\n\n| key | type | default | what it does | at the bound |\n|---|---|---|---|---|\n", title, about)
	type below struct{ path, typ, about string }
	var inner []below
	for _, f := range r.types[typ].Fields.List {
		tag := tagOf(f)
		if f.Names[0].Name == "_" {
			for key := range strings.FieldsSeq(tag.Get("later")) {
				r.later = append(r.later, join(path, key))
			}
			continue
		}
		key := tag.Get("yaml")
		if key == "-" {
			continue
		}
		for word := range strings.FieldsSeq(tag.Get("later")) {
			r.later = append(r.later, join(path, key)+": "+word)
		}
		what, bound, _ := strings.Cut(strings.Join(strings.Fields(f.Doc.Text()), " "), "At the bound: ")
		what, bound = strings.TrimSpace(what), capital(bound)
		name, list := typeName(f.Type)
		place := join(path, key) + list
		if _, ok := r.types[name]; ok && r.hasKeys(name) {
			inner = append(inner, below{place, name, what})
		}
		fmt.Fprintf(r, "| `%s` | %s | %s | %s | %s |\n",
			key, cell(describe(name, list, tag, place)), defaultOf(name, list, tag), cell(what), cell(bound))
	}
	for _, b := range inner {
		r.section(b.path, b.typ, b.about)
	}
}

// hasKeys tells a section from a value type.
func (r *reference) hasKeys(name string) bool {
	for _, f := range r.types[name].Fields.List {
		if key := tagOf(f).Get("yaml"); key != "" && key != "-" {
			return true
		}
	}
	return false
}

// repairs lists what agents.NAME.repairs switches.
func (r *reference) repairs() {
	r.WriteString("\n## Repairs\n\nWhat `agents.NAME.repairs` switches. Each counts what it does in `aguigate_repairs_total{agent,kind}` and leaves a valid stream byte for byte as it came.\n\n| name | default | what it does | for |\n|---|---|---|---|\n")
	for _, i := range repair.Steps() {
		state := "off"
		if i.On {
			state = "on"
		}
		fmt.Fprintf(r, "| `%s` | %s | %s | %s |\n", i.Name, state, cell(i.Does), i.Source)
	}
}

func (r *reference) reserved() {
	r.WriteString("\n## Kept for a later version\n\nThese keys and values are faults that say so.\n\n")
	for _, l := range r.later {
		fmt.Fprintf(r, "- `%s`\n", l)
	}
}

func tagOf(f *ast.Field) reflect.StructTag {
	if f.Tag == nil {
		return ""
	}
	return reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
}

// typeName gives a field's type and, for lists and the agents, what the path of
// an element adds.
func typeName(e ast.Expr) (name, list string) {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name, ""
	case *ast.SelectorExpr:
		return e.Sel.Name, ""
	case *ast.ArrayType:
		name, _ = typeName(e.Elt)
		if name == "Agent" {
			return name, ".NAME"
		}
		return name, "[]"
	}
	panic(fmt.Sprintf("config: a field of type %T has no name in the reference", e))
}

var typeWords = map[string]string{
	"string": "text", "Secret": "text", "bool": "`true` or `false`", "int": "number", "Size": "size", "Duration": "duration",
	"Schema": "mapping", "Headers": "mapping of names to values", "Repairs": "mapping of names to `on` or `off`", "Props": "word or list", "AllowRule": "text or mapping",
}

func describe(name, list string, tag reflect.StructTag, place string) string {
	out, ok := typeWords[name]
	if !ok {
		out = "mapping, see `" + place + "`"
	}
	if words := strings.Fields(tag.Get("oneof")); len(words) > 0 {
		out = "`" + strings.Join(words, "` \\| `") + "`"
	}
	if list == "[]" {
		out = "list of " + out
	}
	low, bounded := tag.Lookup("min")
	if high, ok := tag.Lookup("max"); ok {
		return out + ", " + low + " to " + high
	}
	if bounded && low != "0s" {
		out += ", at least " + low
	}
	return out
}

func defaultOf(name, list string, tag reflect.StructTag) string {
	text, ok := tag.Lookup("default")
	switch {
	case ok && list == "[]":
		return "`[" + strings.ReplaceAll(quoteStars(text), ",", ", ") + "]`"
	case ok:
		return "`" + text + "`"
	case list == "[]":
		return "`[]`"
	case name == "Headers":
		return "`{}`"
	}
	return ""
}

// quoteStars quotes a lone star, which would be an alias in YAML.
func quoteStars(text string) string {
	if text == "*" {
		return `"*"`
	}
	return text
}

// capital begins a sentence that was the second half of one.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// cell keeps a text inside its table cell.
func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\\|", "|"), "|", "\\|")
}
