package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/aguigate/aguigate/gateway/repair"
)

// decoder walks a YAML tree along the configuration's types. Its faults do not
// stop it, so that one reading finds all of them [CLI-3].
type decoder struct {
	report
	lines []string
	env   func(string) (string, bool)
	at    map[string]position // of every path that the file has
	bad   map[string]bool     // paths that already have a fault
}

func (d *decoder) fault(at position, path, format string, args ...any) {
	d.bad[path] = true
	d.add(at, path, format, args...)
}

// decode puts one node into the field of that path.
func (d *decoder) decode(n ast.Node, path string, into reflect.Value, tag reflect.StructTag) {
	d.at[path] = nodeAt(n)
	switch p := into.Addr().Interface().(type) {
	case *[]Agent:
		d.agents(n, path, p)
		return
	case *Headers:
		d.headers(n, path, p)
		return
	case *Repairs:
		d.repairs(n, path, p)
		return
	case *Schema:
		d.schema(n, path, p)
		return
	case *Props:
		d.props(n, path, p)
		return
	case *AllowRule:
		if isScalar(n) {
			d.scalar(n, path, reflect.ValueOf(&p.Name).Elem(), tag)
			return
		}
	}
	switch into.Kind() {
	case reflect.Struct:
		d.object(n, path, into)
	case reflect.Slice:
		d.list(n, path, into, tag)
	default:
		d.scalar(n, path, into, tag)
	}
}

// object reads a mapping with a fixed set of keys.
func (d *decoder) object(n ast.Node, path string, into reflect.Value) {
	known, later := fields(into.Type())
	d.pairs(n, path, func(key string, at position, value ast.Node) {
		inner := join(path, key)
		i, ok := known[key]
		switch {
		case ok:
			d.decode(value, inner, into.Field(i), into.Type().Field(i).Tag)
		case slices.Contains(later, key):
			d.fault(at, inner, "not supported by this version")
		default:
			d.fault(at, inner, "unknown key; the keys here are %s", keyList(into.Type()))
		}
	})
}

// pairs calls visit for each key of a mapping that is there once and has a
// value.
func (d *decoder) pairs(n ast.Node, path string, visit func(key string, at position, value ast.Node)) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		d.fault(nodeAt(n), path, "must be a mapping of keys to values")
		return
	}
	first := map[string]position{}
	for _, pair := range m.Values {
		at := nodeAt(pair.Key)
		key, ok := keyText(pair.Key)
		if !ok {
			d.fault(at, path, "a key must be a plain text")
			continue
		}
		inner := join(path, key)
		if before, twice := first[key]; twice {
			d.add(at, inner, "is there twice; the first is on line %d", before.line)
			continue
		}
		first[key] = at
		if isNull(pair.Value) {
			d.fault(at, inner, "has no value; leave the key out to get its default")
			continue
		}
		visit(key, at, pair.Value)
	}
}

// list reads a sequence into a slice.
func (d *decoder) list(n ast.Node, path string, into reflect.Value, tag reflect.StructTag) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fault(nodeAt(n), path, "must be a list")
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), 0, len(s.Values)))
	for i, value := range s.Values {
		elem := reflect.New(into.Type().Elem()).Elem()
		if elem.Kind() == reflect.Struct {
			setDefaults(elem)
		}
		d.element(value, fmt.Sprintf("%s[%d]", path, i), elem, tag)
		into.Set(reflect.Append(into, elem))
	}
}

func (d *decoder) element(n ast.Node, path string, into reflect.Value, tag reflect.StructTag) {
	if isNull(n) {
		d.fault(nodeAt(n), path, "has no value")
		return
	}
	d.decode(n, path, into, tag)
}

// scalar reads one value.
func (d *decoder) scalar(n ast.Node, path string, into reflect.Value, tag reflect.StructTag) {
	text, ok := d.text(n, path)
	if !ok {
		return
	}
	if err := setScalar(into, text, tag); err != nil {
		d.fault(nodeAt(n), path, "%v", err)
	}
}

// text gives a scalar as it is written, with the environment put in.
func (d *decoder) text(n ast.Node, path string) (string, bool) {
	if !isScalar(n) {
		d.fault(nodeAt(n), path, "must be a single value, not a %s", shape(n))
		return "", false
	}
	return d.expand(n, path)
}

// agents reads the mapping of names to agents, in file order.
func (d *decoder) agents(n ast.Node, path string, into *[]Agent) {
	d.pairs(n, path, func(name string, at position, value ast.Node) {
		inner := join(path, name)
		if !agentName.MatchString(name) {
			d.fault(at, inner, "an agent's name must match %s", agentName)
		}
		v := reflect.New(reflect.TypeFor[Agent]()).Elem()
		setDefaults(v)
		d.decode(value, inner, v, "")
		a := v.Interface().(Agent)
		a.Name = name
		*into = append(*into, a)
	})
}

// headers reads a mapping of header names to values.
func (d *decoder) headers(n ast.Node, path string, into *Headers) {
	d.pairs(n, path, func(name string, at position, value ast.Node) {
		inner := join(path, name)
		d.at[inner] = at
		if text, ok := d.text(value, inner); ok {
			*into = append(*into, Header{Name: name, Value: text})
		}
	})
}

// repairs reads a mapping of repairs to on or off.
func (d *decoder) repairs(n ast.Node, path string, into *Repairs) {
	known := repair.Steps()
	d.pairs(n, path, func(name string, at position, value ast.Node) {
		inner := join(path, name)
		d.at[inner] = at
		if !slices.ContainsFunc(known, func(i repair.Info) bool { return i.Name == name }) {
			var names []string
			for _, i := range known {
				names = append(names, i.Name)
			}
			d.fault(at, inner, "there is no such repair; there are %s", strings.Join(names, ", "))
			return
		}
		text, ok := d.text(value, inner)
		if !ok {
			return
		}
		if err := checkWord(text, `oneof:"on off"`); err != nil {
			d.fault(nodeAt(value), inner, "%v", err)
			return
		}
		*into = append(*into, Header{Name: name, Value: text})
	})
}

// props reads pass, drop, or a list of keys.
func (d *decoder) props(n ast.Node, path string, into *Props) {
	if !isScalar(n) {
		*into = Props{}
		d.list(n, path, reflect.ValueOf(&into.Keys).Elem(), "")
		return
	}
	text, ok := d.text(n, path)
	if !ok {
		return
	}
	if err := checkWord(text, `oneof:"pass drop"`); err != nil {
		d.fault(nodeAt(n), path, "%v, or a list of keys", err)
		return
	}
	into.All = text == "pass"
}

// fields gives a struct's keys and the keys kept for a later version.
func fields(t reflect.Type) (known map[string]int, later []string) {
	known = map[string]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		switch key := f.Tag.Get("yaml"); {
		case key != "" && key != "-":
			known[key] = i
		case f.Name == "_":
			later = strings.Fields(f.Tag.Get("later"))
		}
	}
	return known, later
}

// keyList names a struct's keys in the order of its fields.
func keyList(t reflect.Type) string {
	var keys []string
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" && key != "-" {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, ", ")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
