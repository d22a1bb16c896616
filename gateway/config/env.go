package config

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// maxExpandFaults is how many faults one value can have, so that a long value
// full of them stays one fault's worth of work.
const maxExpandFaults = 64

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand puts the environment into a scalar: ${NAME} is the variable's value,
// which is not looked into again, and $${ is a literal ${. It gives false after
// a fault.
func (d *decoder) expand(n ast.Node, path string) (string, bool) {
	text := written(n)
	if !strings.Contains(text, "${") {
		return text, true
	}
	var out strings.Builder
	faults := 0
	wrong := func(seen int, format string, args ...any) {
		faults++
		d.fault(d.find(n, seen), path, format, args...)
	}
	for seen := 0; faults < maxExpandFaults; {
		i := strings.Index(text, "${")
		if i < 0 {
			out.WriteString(text)
			return out.String(), faults == 0
		}
		if i > 0 && text[i-1] == '$' {
			out.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			seen++
			continue
		}
		out.WriteString(text[:i])
		name, rest, closed := strings.Cut(text[i+2:], "}")
		switch value, found := d.lookup(name); {
		case !closed:
			wrong(seen, "${ without }; write $${ for the characters themselves")
			return "", false
		case !envName.MatchString(name):
			wrong(seen, "${…} takes the name of an environment variable: letters, digits and _; write $${ for the characters themselves")
		case !found:
			wrong(seen, "the environment has no variable %s", name)
		case !utf8.ValidString(value):
			wrong(seen, "the environment variable %s is not UTF-8", name)
		default:
			out.WriteString(value)
		}
		text = rest
		seen++
	}
	return "", false
}

func (d *decoder) lookup(name string) (string, bool) {
	if d.env == nil {
		return "", false
	}
	return d.env(name)
}

// find gives the place of the scalar's "${" number skip, from 0. Where escapes
// hide it, the scalar's own.
func (d *decoder) find(n ast.Node, skip int) position {
	start := nodeAt(n)
	for line, from := start.line, start.col; line >= 1 && line <= len(d.lines); line, from = line+1, 1 {
		runes := []rune(d.lines[line-1])
		for col := max(from, 1); col < len(runes); col++ {
			if runes[col-1] != '$' || runes[col] != '{' {
				continue
			}
			if skip == 0 {
				return position{line, col}
			}
			skip--
		}
	}
	return start
}
