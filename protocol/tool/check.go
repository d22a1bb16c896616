package tool

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// The rules for tool names [MERGE-4].
var (
	namePattern   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	narrowPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
)

// CheckName gives the name after NFKC, or invalid_tool: letters, digits, _ . and
// -, 1 to 128 of them (AG-UI's own rule).
func CheckName(name string) (string, error) {
	if utf8.ValidString(name) && len(name) <= 1024 {
		if n := norm.NFKC.String(name); namePattern.MatchString(n) {
			return n, nil
		}
	}
	return "", fault.New(fault.InvalidTool, "a tool name is 1 to 128 letters, digits, _, . and -").At(clip(name))
}

// CheckNarrowName gives the name after NFKC, or invalid_tool, by the narrower rule
// for configured tools and REST: a letter, then up to 63 letters, digits, _ and -.
func CheckNarrowName(name string) (string, error) {
	n, err := CheckName(name)
	if err == nil && !narrowPattern.MatchString(n) {
		err = fault.New(fault.InvalidTool, "here a tool name is a letter and up to 63 letters, digits, _ and -").At(n)
	}
	if err != nil {
		return "", err
	}
	return n, nil
}

// clip keeps a foreign text short, and in whole characters.
func clip(s string) string {
	const most = 128
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// CheckTool checks what a client advertises [SEC-2, SEC-6]: name, description,
// schema, their sizes and their characters. It gives the tool with its name
// normalised and without a schema that is null. The fault's Param is the name.
func CheckTool(t Tool, lim Limits) (Tool, error) { return checkTool(t, lim, CheckSchema) }

func checkTool(t Tool, lim Limits, schema func([]byte) error) (Tool, error) {
	name, err := CheckName(t.Name)
	if err != nil {
		return t, err
	}
	t.Name = name
	if n := lim.ToolDescription; n > 0 && len(t.Description) > n {
		return t, fault.New(fault.InvalidTool, "the description of tool %s has %d bytes, at most %d are allowed", name, len(t.Description), n).At(name)
	}
	if r, bad := hidden(t.Description); bad {
		return t, hiddenFault("description", name, r)
	}
	if strictjson.KindOf(t.Parameters) == strictjson.Null {
		t.Parameters = nil
	}
	if t.Parameters == nil {
		return t, nil
	}
	if n := lim.ToolSchema; n > 0 && len(t.Parameters) > n {
		return t, fault.New(fault.InvalidTool, "the schema of tool %s has %d bytes, at most %d are allowed", name, len(t.Parameters), n).At(name)
	}
	if err := schema(t.Parameters); err != nil {
		return t, fault.From(err).At(name)
	}
	if r, bad := hiddenInJSON(t.Parameters); bad {
		return t, hiddenFault("schema", name, r)
	}
	return t, nil
}

func hiddenFault(what, name string, r rune) *fault.Error {
	return fault.New(fault.InvalidTool, "the %s of tool %s holds the invisible or control character U+%04X", what, name, r).At(name)
}

// hidden finds the first character that a person who reviews a text would not
// see, and that a model reads all the same: controls, except tabs and line ends,
// format characters such as zero-width and bidirectional ones, tags, variation
// selectors, fillers, private use. Of an emoji's invisible parts only the selector
// of its coloured form passes, behind a symbol; a joiner is one of the others:
// descriptions can do without.
func hidden(s string) (rune, bool) {
	before := rune(0)
	for i, r := range s {
		last := before
		before = r
		switch {
		case r == 0xFE0F && unicode.In(last, unicode.So, unicode.Sm): // the emoji form of a symbol
		case r == '\n' || r == '\t' || r >= ' ' && r < 0x7F:
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
		case r == utf8.RuneError && !utf8.ValidString(s):
			return r, true
		case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // of format kind, but drawn
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp,
			unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point),
			r == 0x2800: // the empty Braille cell
			return r, true
		}
	}
	return 0, false
}

// hiddenInJSON looks through every text of a checked value, names included: a
// model reads the whole schema.
func hiddenInJSON(raw []byte) (rune, bool) {
	switch strictjson.KindOf(raw) {
	case strictjson.Str:
		s, _ := strictjson.StringOf(trim(raw))
		return hidden(s)
	case strictjson.Array, strictjson.Object:
	default:
		return 0, false
	}
	it := strictjson.Walk(raw)
	for {
		key, value, escaped, ok := it.Next()
		if !ok {
			return 0, false
		}
		name := string(key)
		if escaped {
			name, _ = strictjson.StringOf([]byte(`"` + name + `"`))
		}
		if r, bad := hidden(name); bad {
			return r, true
		}
		if r, bad := hiddenInJSON(value); bad {
			return r, true
		}
	}
}
