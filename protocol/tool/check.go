package tool

import (
	"regexp"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/aguigate/aguigate/protocol/fault"
)

// namePattern is AG-UI's own rule for tool names [MERGE-4].
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// CheckName gives the name after NFKC, or invalid_tool: letters, digits, _ . and
// -, 1 to 128 of them.
func CheckName(name string) (string, error) {
	if !utf8.ValidString(name) || len(name) > 1024 {
		return "", badName(name)
	}
	if n := norm.NFKC.String(name); namePattern.MatchString(n) {
		return n, nil
	}
	return "", badName(name)
}

func badName(name string) *fault.Error {
	return fault.New(fault.InvalidTool, "a tool name is 1 to 128 letters, digits, _, . and -").At(clip(name))
}

func clip(s string) string {
	if len(s) > 128 {
		return s[:128]
	}
	return s
}

// CheckTool checks what a client advertises [SEC-2, SEC-6]: name, description,
// schema and their sizes. It gives the tool with its name normalised.
func CheckTool(t Tool, lim Limits) (Tool, error) {
	name, err := CheckName(t.Name)
	if err != nil {
		return t, err
	}
	t.Name = name
	if lim.ToolDescription > 0 && len(t.Description) > lim.ToolDescription {
		return t, fault.New(fault.InvalidTool, "the description of tool %s has %d bytes, at most %d are allowed", name, len(t.Description), lim.ToolDescription).At(name)
	}
	if r, bad := hidden(t.Description); bad {
		return t, fault.New(fault.InvalidTool, "the description of tool %s holds the invisible or control character U+%04X", name, r).At(name)
	}
	if lim.ToolSchema > 0 && len(t.Parameters) > lim.ToolSchema {
		return t, fault.New(fault.InvalidTool, "the schema of tool %s has %d bytes, at most %d are allowed", name, len(t.Parameters), lim.ToolSchema).At(name)
	}
	if t.Parameters != nil {
		if err := CheckSchema(t.Parameters); err != nil {
			return t, fault.From(err).At(name)
		}
	}
	return t, nil
}

// hidden finds the first character that a person reviewing a description would
// not see: controls other than line ends and tabs, format characters such as
// zero-width and bidirectional ones, tags, variation selectors, fillers. A joiner
// between two visible characters of a script that needs it, or of an emoji, is
// one of them all the same: descriptions can do without.
func hidden(s string) (rune, bool) {
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
		case r == utf8.RuneError:
			return r, true
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r),
			unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r),
			r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x034F, r == 0x17B4, r == 0x17B5:
			return r, true
		}
	}
	return 0, false
}
