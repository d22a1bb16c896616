package config

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

const referenceFile = "../../docs/configuration.md"

func TestReference(t *testing.T) {
	want := Reference()
	if *update {
		if err := os.WriteFile(referenceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/configuration.md is stale; run go test ./gateway/config -run TestReference -update\n%s", diff)
	}
}

// Every key of the types is in the reference, with a sentence, and every tag of
// the reference's rows is one the decoder knows.
func TestReferenceIsWhole(t *testing.T) {
	text := Reference()
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		title := "\n## `" + path + "`\n"
		if path == "" {
			title = "\n## Top level\n"
		}
		_, section, found := strings.Cut(text, title)
		if !found {
			t.Errorf("no section %q", path)
			return
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for i := range typ.NumField() {
			f := typ.Field(i)
			key := f.Tag.Get("yaml")
			if key == "" || key == "-" {
				continue
			}
			if !rowOf(section, key) {
				t.Errorf("%s has no row with five full cells and a sentence", join(path, key))
			}
			inner, list := f.Type, ""
			if inner.Kind() == reflect.Slice {
				inner, list = inner.Elem(), "[]"
			}
			if inner == reflect.TypeFor[Agent]() {
				list = ".NAME"
			}
			if known := 0; inner.Kind() == reflect.Struct {
				keys, _ := fields(inner)
				if known = len(keys); known > 0 {
					walk(inner, join(path, key)+list)
				}
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
}

// rowOf reports whether the section describes key.
func rowOf(section, key string) bool {
	for line := range strings.Lines(section) {
		rest, ok := strings.CutPrefix(line, "| `"+key+"` | ")
		if !ok {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(rest, `\|`, ""), "|")
		return len(cells) == 5 && strings.TrimSpace(cells[0]) != "" && len(strings.TrimSpace(cells[2])) > 10
	}
	return false
}

func TestReferenceExample(t *testing.T) {
	env := map[string]string{"APP_KEY": "0123456789abcdef", "SHOP_TOKEN": "t"}
	c, err := Parse("example", []byte(Example), func(n string) (string, bool) { v, ok := env[n]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Agents) != 1 || c.Agents[0].Name != "shop" || len(c.Agents[0].Tools) != 1 {
		t.Errorf("the example's agents: %+v", c.Agents)
	}
}

func TestExampleFile(t *testing.T) {
	env := map[string]string{
		"AGUIGATE_BROWSER_KEY": "browser-0123456789", "AGUIGATE_BACKEND_KEY": "backend-0123456789",
		"AGUIGATE_OPERATOR_KEY": "operator-0123456789", "AGENT_TOKEN": "t0ken",
	}
	lookup := func(n string) (string, bool) { v, ok := env[n]; return v, ok }
	c, err := Load("../../examples/aguigate.yaml", lookup)
	if err != nil {
		t.Fatal(err)
	}
	if c.Auth.Mode != "keys" || len(c.Auth.Keys) != 3 || c.Agents[0].Upstream.Kind != "agui" {
		t.Errorf("the example: %+v", c)
	}
	for name := range env {
		without := func(n string) (string, bool) {
			if n == name {
				return "", false
			}
			return lookup(n)
		}
		if _, err := Load("../../examples/aguigate.yaml", without); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
