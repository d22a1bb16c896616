package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// workDir holds the built programs and the shared gateway's store.
var workDir string

func TestMain(m *testing.M) {
	os.Exit(withPeers(m))
}

func withPeers(m *testing.M) int {
	var err error
	if workDir, err = os.MkdirTemp("", "aguigate-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(workDir) }()
	code := m.Run()
	for _, err := range endShared() {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		code = 1
	}
	return code
}

// shared are the processes that serve the whole package, ended in reverse.
var shared struct {
	mu   sync.Mutex
	list []sharedProcess
}

type sharedProcess struct {
	*process
	check func() error // asked once it has ended, may be nil
}

func keepShared(p *process, check func() error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.list = append(shared.list, sharedProcess{p, check})
}

// endShared ends them and gives what was wrong with the checked ones.
func endShared() (faults []error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	for _, p := range slices.Backward(shared.list) {
		err := p.stop()
		if p.check == nil {
			continue // a peer's way to end is its own
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("[CLI-4] after SIGTERM: %w", err))
		}
		if err := p.check(); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

// must gives the value of a shared peer or fails the test that asked first and
// every later one with the same words.
func must[T any](t *testing.T, get func() (T, error)) T {
	t.Helper()
	value, err := get()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

var node = sync.OnceValues(func() (string, error) {
	if _, err := os.Stat(filepath.Join("node_modules", "@ag-ui", "client", "package.json")); err != nil {
		return "", fmt.Errorf("the published clients are not installed: run make test, or npm ci in e2e/ (%w)", err)
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("node is missing: install Node 20 or later (Debian package nodejs): %w", err)
	}
	return path, nil
})

// build compiles a package of the module in dir into workDir.
func build(dir, pkg, name string, flags ...string) (string, error) {
	out := filepath.Join(workDir, name)
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, flags...), pkg)...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s in %s: %w\n%s", pkg, dir, err, said)
	}
	return out, nil
}

var (
	gatewayBinary = sync.OnceValues(func() (string, error) { return build("..", "./cmd/aguigate", "aguigate", "-race") })
	goAgentBinary = sync.OnceValues(func() (string, error) { return build("goserver", "./agent", "goagent") })
	goClient      = sync.OnceValues(func() (string, error) { return build("goserver", "./client", "goclient") })
)

// copilotURL is the run route of CopilotKit's agent, goAgentURL that of the one
// made of the Go community SDK.
var (
	copilotURL = sync.OnceValues(func() (string, error) {
		path, err := node()
		if err != nil {
			return "", err
		}
		return startShared("ready ", path, filepath.Join("upstreams", "copilot.mjs"))
	})
	goAgentURL = sync.OnceValues(func() (string, error) {
		path, err := goAgentBinary()
		if err != nil {
			return "", err
		}
		return startShared("ready ", path)
	})
)

func startShared(prefix, name string, args ...string) (string, error) {
	p, err := start(name, args...)
	if err != nil {
		return "", err
	}
	keepShared(p, nil)
	rest, err := p.ready(prefix)
	return strings.TrimSpace(rest), err
}
