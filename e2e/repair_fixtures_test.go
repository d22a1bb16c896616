package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fixture is one case of gateway/repair/testdata; that package's golden test says
// what the lines are.
type fixture struct {
	name     string
	modern   bool // the .out file is what a 1.0 client is to get
	client   []string
	switches []repairSwitch
	data     []string // payloads of the upstream
	out      []string // frames of the repaired stream
	refused  string   // "code: message" where a payload ends the run
}

type repairSwitch struct{ name, value string }

var fixtureFolder = filepath.Join("..", "gateway", "repair", "testdata")

func fixtures() (all []fixture, err error) {
	files, err := filepath.Glob(filepath.Join(fixtureFolder, "*.in"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no fixtures in %s: %w", fixtureFolder, err)
	}
	for _, file := range files {
		f := fixture{name: strings.TrimSuffix(filepath.Base(file), ".in")}
		in, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		out, err := os.ReadFile(strings.TrimSuffix(file, ".in") + ".out")
		if err != nil {
			return nil, err
		}
		for _, line := range lines(in) {
			f.setup(line)
		}
		for _, line := range lines(out) {
			switch word, rest, _ := strings.Cut(line, " "); word {
			case "<":
				f.out = append(f.out, rest)
			case "!":
				f.refused, _, _ = strings.Cut(rest, " (/") // behind it is the place in the event
			}
		}
		all = append(all, f)
	}
	return all, nil
}

func lines(text []byte) []string { return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") }

func (f *fixture) setup(line string) {
	switch word, rest, _ := strings.Cut(line, " "); word {
	case "modern":
		f.modern = true
	case "client":
		f.client = strings.Fields(rest)
	case "on", "off":
		for _, name := range strings.Fields(rest) {
			f.switches = append(f.switches, repairSwitch{name, word})
		}
	case ">":
		f.data = append(f.data, rest)
	}
}

// agent names the agent that has the fixture's switches; a name is at most 64 bytes.
func (f fixture) agent(protocol string) string {
	name := "repair-" + strings.ReplaceAll(protocol, ".", "-")
	for _, s := range f.switches {
		word, _, _ := strings.Cut(s.name, "_")
		name += "." + s.value + "." + word
	}
	return name
}

func (f fixture) tools() (list []tool) {
	for _, name := range f.client {
		list = append(list, tool{Name: name, Description: name, Parameters: map[string]any{"type": "object"}})
	}
	return list
}
