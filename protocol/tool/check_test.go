package tool

import (
	"errors"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/fault"
)

// refused checks a fault's code and param.
func refused(t *testing.T, err error, code fault.Code, param string) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	if f := fault.From(err); param != "" && f.Param != param {
		t.Errorf("the param is %q, want %q (%v)", f.Param, param, err)
	}
}

// MERGE-4.
func TestCheckName(t *testing.T) {
	for name, want := range map[string]string{
		"get_location":                       "get_location",
		"a.b-c_9":                            "a.b-c_9",
		"9":                                  "9",
		strings.Repeat("x", 128):             strings.Repeat("x", 128),
		"\uff47\uff45\uff54":                 "get", // full-width letters are NFKC get
		"ﬁnd":                                "find",
		"":                                   "",
		strings.Repeat("x", 129):             "",
		"two words":                          "",
		"naïve":                              "",
		"g\u0435t":                           "", // a Cyrillic e
		"get\u200b":                          "",
		"get\n":                              "",
		"a/b":                                "",
		"a\xff":                              "",
		strings.Repeat("\ufdfa", 20):         "", // 18 characters each after NFKC
		strings.Repeat("\uff47", 128):        strings.Repeat("g", 128),
		strings.Repeat("e\u0301x", 1_000_00): "",
	} {
		got, err := CheckName(name)
		if got != want {
			t.Errorf("CheckName(%.40q) = %q, %v; want %q", name, got, err, want)
		}
		if want == "" {
			refused(t, err, fault.InvalidTool, "")
			if p := fault.From(err).Param; len(p) > 140 {
				t.Errorf("the param has %d bytes", len(p))
			}
		}
	}
}

func TestCheckNarrowName(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "Get-it_9": "Get-it_9", strings.Repeat("x", 64): strings.Repeat("x", 64), "\uff47et": "get",
		"9a": "", "_a": "", "a.b": "", strings.Repeat("x", 65): "", "": "", "a b": "",
	} {
		got, err := CheckNarrowName(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("CheckNarrowName(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
}

// SEC-6: control and invisible characters.
func TestHiddenCharacters(t *testing.T) {
	for text, bad := range map[string]rune{
		"Get the city.":                        0,
		"Line one\nline two\r\n\tindented":     0,
		"Ville où l’on est — 東京, Ελλάδα, 😀":    0,
		"\u0627\u0644\u0645\u062f\u064a\u0646": 0, // Arabic letters are no marks of direction
		"\u0600":                               0, // the Arabic number sign is drawn
		"\uFFFD":                               0,
		"a\x00b":                               0x00,
		"a\x1b[2Jb":                            0x1B,
		"a\x7fb":                               0x7F,
		"a\u0085b":                             0x85,
		"a\rb":                                 '\r', // hides what stands before it
		"a\u00adb":                             0xAD,
		"a\u200bb":                             0x200B,
		"a\u200db":                             0x200D,
		"a\u2060b":                             0x2060,
		"\ufeffa":                              0xFEFF,
		"a\u202eb":                             0x202E,
		"a\u2066b":                             0x2066,
		"a\u200fb":                             0x200F,
		"a\u2028b":                             0x2028,
		"a\ufe0fb":                             0xFE0F,
		"\u26a0\ufe0f careful":                 0, // the emoji form of a symbol
		"\u26a0\ufe0f\ufe0f":                   0xFE0F,
		"\u26a0\ufe0eb":                        0xFE0E,
		"a\U000e0101b":                         0xE0101,
		"a\U000e0041b":                         0xE0041,
		"a\u3164b":                             0x3164,
		"a\u115fb":                             0x115F,
		"a\u2800b":                             0x2800,
		"a\ue000b":                             0xE000,
		"a\xffb":                               0xFFFD,
	} {
		_, err := CheckTool(Tool{Name: "t", Description: text}, Limits{})
		if bad == 0 && !strings.ContainsRune(text, 0) {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		refused(t, err, fault.InvalidTool, "t")
		if r, _ := hidden(text); r != bad {
			t.Errorf("%q: found U+%04X, want U+%04X", text, r, bad)
		}
	}
}

// A model reads all of a schema, so its texts are held to the same rule.
func TestHiddenInSchema(t *testing.T) {
	for schema, ok := range map[string]bool{
		`{"type":"object","description":"plain"}`:                                     true,
		`{"properties":{"a":{"enum":["\n","\r\n","\t"]}}}`:                            true,
		`{"properties":{"a":{"pattern":"^[^\\u0000-\\u001f\\u200b]*$"}}}`:             true, // written as escapes of the pattern
		`{"description":"a\u200bb"}`:                                                  false,
		"{\"description\":\"a\u200bb\"}":                                              false,
		`{"properties":{"a":{"properties":{"b":{"title":"\u202e"}}}}}`:                false,
		`{"properties":{"a\u200b":{}}}`:                                               false,
		"{\"properties\":{\"a\u200b\":{}}}":                                           false,
		`{"enum":["x","\u0000"]}`:                                                     false,
		`{"x-note":["\udb40\udc41"]}`:                                                 false, // a tag character
		`{"properties":{"a":{"default":{"deep":["\u2066"]}}},"required":["a"]}`:       false,
		`{"properties":{"a":{"description":"\u200b","type":"string"}},"title":"ok"} `: false,
	} {
		_, err := CheckTool(Tool{Name: "t", Parameters: []byte(schema)}, Limits{})
		if ok && err != nil {
			t.Errorf("%s: %v", schema, err)
		}
		if !ok {
			refused(t, err, fault.InvalidTool, "t")
		}
	}
}

func TestCheckToolLimits(t *testing.T) {
	lim := Limits{ToolDescription: 10, ToolSchema: 17}
	for _, c := range []struct {
		name string
		tool Tool
		says string
	}{
		{"fits", Tool{Name: "a", Description: "ten bytes!", Parameters: []byte(`{"type":"object"}`)}, ""},
		{"no schema", Tool{Name: "a"}, ""},
		{"description in bytes", Tool{Name: "a", Description: "éééééé"}, "the description of tool a has 12 bytes, at most 10 are allowed"},
		{"schema in bytes", Tool{Name: "a", Parameters: []byte(`{"type": "object"}`)}, "the schema of tool a has 18 bytes, at most 17 are allowed"},
		{"schema is none", Tool{Name: "a", Parameters: []byte(`[]`)}, "the schema is an object or a boolean, not an array"},
		{"name", Tool{Name: "a b"}, "a tool name is 1 to 128 letters, digits, _, . and -"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := CheckTool(c.tool, lim)
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refused(t, err, fault.InvalidTool, c.tool.Name)
			if f := fault.From(err); f.Message != c.says {
				t.Errorf("it says %q, want %q", f.Message, c.says)
			}
		})
	}
}

func TestCheckToolGives(t *testing.T) {
	got, err := CheckTool(Tool{Name: "\uff47et", Parameters: []byte(` null`)}, Limits{})
	if err != nil || got.Name != "get" || got.Parameters != nil {
		t.Errorf("got %+v, %v; want the name get and no schema", got, err)
	}
	if !errors.Is(fault.New(fault.InvalidTool, "x"), &fault.Error{Code: fault.InvalidTool}) {
		t.Error("a fault is not found by its code")
	}
}
