package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Fault is one thing wrong with a configuration file.
type Fault struct {
	File      string
	Line, Col int    // from 1; columns count characters
	Path      string // keys joined by dots, list places in brackets: agents.shop.tools[0].name; "" is the file itself
	Message   string // what is wrong and what is allowed; never a value that came from the environment
}

// String is the line that check prints [CLI-3].
func (f Fault) String() string {
	if f.Path == "" {
		return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Col, f.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Col, f.Path, f.Message)
}

// Faults is everything wrong with one file, in file order. It is an error.
type Faults []Fault

// Error gives one line a fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// position is a place in the file. The zero value is its beginning.
type position struct{ line, col int }

// report collects the faults of one file.
type report struct {
	file   string
	faults Faults
}

func (r *report) add(at position, path, format string, args ...any) {
	r.faults = append(r.faults, Fault{
		File: r.file, Line: max(at.line, 1), Col: max(at.col, 1),
		Path: oneLine(path), Message: oneLine(fmt.Sprintf(format, args...)),
	})
}

// oneLine keeps a key of the file from breaking the line it is shown in.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}

// err gives the faults in file order, nil when there are none.
func (r *report) err() error {
	if len(r.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(r.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return r.faults
}
