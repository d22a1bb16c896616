package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// crashTable is the head of the table in docs/continuation.md.
var crashTable = []string{"killed when", "who continues", "the call", "the thread shows", "the agent gets the answer", "the client's run, sent again", "`continue`"}

func (f finding) cells() []string {
	return []string{f.when, f.by, f.call, f.thread, f.asked, f.equal, f.continuing}
}

// table writes findings as the page has them.
func table(rows []finding) string {
	lines := []string{line(crashTable), strings.Repeat("|---", len(crashTable)) + "|"}
	for _, row := range rows {
		lines = append(lines, line(row.cells()))
	}
	return strings.Join(lines, "\n") + "\n"
}

func line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// documented reads the table of the page.
func documented(t *testing.T) (rows []finding) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "docs", "continuation.md"))
	if err != nil {
		t.Error(err)
		return nil
	}
	_, rest, found := strings.Cut(string(page), line(crashTable)+"\n")
	if !found {
		t.Error("docs/continuation.md has no table of what a kill leaves")
		return nil
	}
	for text := range strings.Lines(rest) {
		if !strings.HasPrefix(text, "|") {
			break
		}
		if strings.HasPrefix(text, "|---") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(text), "| "), " | ")
		if len(cells) != len(crashTable) {
			t.Errorf("a row of docs/continuation.md has %d cells: %s", len(cells), text)
			continue
		}
		rows = append(rows, finding{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]})
	}
	return rows
}
