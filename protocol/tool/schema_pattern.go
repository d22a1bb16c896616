package tool

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxPattern bounds the size of a compiled pattern in instructions, about.
const maxPattern = 2_000

// pattern is a regular expression of a schema. JSON Schema means those of
// ECMAScript; Go runs RE2, which takes time linear in the text. What RE2 cannot
// do (look-ahead, back references, repeats above 1,000) or what is too large is
// not checked: such a pattern matches everything, since a schema that browsers
// accept, such as that of an e-mail address in common generators, is no reason to
// refuse its tool.
type pattern struct {
	source string
	re     *regexp.Regexp // nil matches everything
	size   int            // steps for each byte of a text, at most
}

func (p *pattern) String() string { return p.source }

// MatchString reports whether s contains a match.
func (p *pattern) MatchString(s string) bool { return p.re == nil || p.re.MatchString(s) }

// compilePattern is the schema compiler's engine. An error is a pattern that
// ECMAScript would refuse as well.
func compilePattern(source string) (jsonschema.Regexp, error) {
	p := &pattern{source: source}
	tree, err := syntax.Parse(goPattern(source), syntax.Perl)
	if err != nil {
		if beyondRE2(err) {
			return p, nil
		}
		return nil, err
	}
	if p.size = instructions(tree); p.size > maxPattern {
		p.size = 0
		return p, nil
	}
	if p.re, err = regexp.Compile(goPattern(source)); err != nil {
		return nil, err
	}
	return p, nil
}

// beyondRE2 tells a pattern that only RE2 refuses from one that is none.
func beyondRE2(err error) bool {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return false
	}
	switch bad.Code {
	case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidCharRange, syntax.ErrInvalidCharClass,
		syntax.ErrInvalidRepeatSize, syntax.ErrInvalidRepeatOp, syntax.ErrInvalidNamedCapture,
		syntax.ErrLarge, syntax.ErrNestingDepth:
		return true
	}
	return false
}

// goPattern spells ECMAScript's \uXXXX and \u{…} as RE2 does.
func goPattern(source string) string {
	if !strings.Contains(source, `\u`) {
		return source
	}
	var b strings.Builder
	for i := 0; i < len(source); i++ {
		if source[i] != '\\' || i+1 == len(source) {
			b.WriteByte(source[i])
			continue
		}
		rest := source[i+2:]
		hex := ""
		if source[i+1] == 'u' {
			if inner, ok := strings.CutPrefix(rest, "{"); ok {
				hex, _, _ = strings.Cut(inner, "}")
				rest = "{" + hex + "}"
			} else if len(rest) >= 4 {
				hex, rest = rest[:4], rest[:4]
			}
		}
		if _, err := strconv.ParseUint(hex, 16, 32); err != nil {
			b.WriteString(source[i : i+2])
			i++
			continue
		}
		b.WriteString(`\x{` + hex + `}`)
		i += 1 + len(rest)
	}
	return b.String()
}

// instructions estimates the compiled size of a pattern without compiling it, so
// that (a{1000}){1000} costs nothing to refuse.
func instructions(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		if n += instructions(sub); n > maxPattern {
			return n
		}
	}
	switch re.Op {
	case syntax.OpRepeat:
		n *= max(re.Max, re.Min, 1)
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 8
	}
	return n
}
