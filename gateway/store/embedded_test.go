package store

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// child runs this binary in a mode of TestMain and gives its output once the
// first line is there.
func child(t *testing.T, mode, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+mode, "STORE_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd, r
}

func acknowledged(t *testing.T, line string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "ack ")))
	if err != nil {
		t.Fatalf("child said %q", line)
	}
	return n
}

func TestKillLosesNothing(t *testing.T) { // [OPS-4]
	dir := t.TempDir()
	for kill := range 5 {
		cmd, out := child(t, "write", dir)
		acked := 0
		for range 20 + 37*kill {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			acked = acknowledged(t, line)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(out)
		_ = cmd.Wait() // "signal: killed"
		lines := strings.Split(string(rest), "\n")
		for _, line := range lines[:len(lines)-1] { // the last one may be half a line
			acked = acknowledged(t, line)
		}
		s, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatalf("reopened after kill %d: %v", kill, err)
		}
		rec, err := s.Get(t.Context(), Rounds, "counter")
		if err != nil {
			t.Fatal(err)
		}
		if have := number(rec.Value); have < acked || acked == 0 {
			t.Fatalf("kill %d: %d was acknowledged, %d is there", kill, acked, have)
		}
		shut(t, s)
	}
}

func TestOneProcessHoldsTheDirectory(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := child(t, "hold", dir)
	_, err := Open(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "in use by process "+strconv.Itoa(cmd.Process.Pid)) {
		t.Fatalf("second opener: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // "signal: killed"
	s := open(t, Options{Dir: dir})
	if !s.Exclusive() {
		t.Error("an embedded store is exclusive")
	}
	if _, err := Open(t.Context(), Options{Dir: dir}); err == nil {
		t.Error("second opener in the same process")
	}
	shut(t, s)
	open(t, Options{Dir: dir})
}

func TestSyncAlwaysKeepsRecords(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, SyncAlways: true})
	rev, err := s.Create(t.Context(), Index, "a", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	s = open(t, Options{Dir: dir})
	if rec, err := s.Get(t.Context(), Index, "a"); err != nil || string(rec.Value) != "x" || rec.Revision != rev {
		t.Fatalf("%+v %v", rec, err)
	}
}

func TestMemoryLeavesNoFiles(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	s := open(t, Options{Dir: Memory})
	secret := "a value that stays in memory"
	if _, err := s.Create(t.Context(), Rounds, "a", []byte(secret)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(tmp, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), secret) {
			t.Errorf("%s holds the value", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Fatalf("left: %v %v", left, err)
	}
}

func TestCloseEndsGoroutines(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := open(t, Options{Dir: t.TempDir()})
	if _, err := s.Subscribe("a", func([]byte) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), Rounds, "a.b", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keys(t.Context(), Rounds, "a"); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	if err := goleak.Find(before); err != nil {
		t.Fatal(err)
	}
	shut(t, s) // a second time does nothing
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir() // the server cannot make its own directory in it
	if err := os.WriteFile(filepath.Join(broken, "jetstream"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, says string
		o          Options
	}{
		{"no directory", "needs a directory", Options{}},
		{"a file", "store directory", Options{Dir: file}},
		{"a server that cannot start", "embedded store in", Options{Dir: broken}},
		{"bad prefix", "store prefix", Options{Dir: Memory, Prefix: "a.b"}},
		{"bad replicas", "store replicas", Options{NATS: "nats://127.0.0.1:1", Replicas: 2}},
		{"nobody there", "connection refused", Options{NATS: "nats://127.0.0.1:1, nats://127.0.0.1:2"}},
		{"no credentials file", "absent.creds", Options{NATS: "nats://127.0.0.1:1", Creds: "absent.creds"}},
		{"no CA file", "absent.pem", Options{NATS: "nats://127.0.0.1:1", TLSCA: "absent.pem"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := Open(ctx, c.o)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want %q", err, c.says)
			}
			t.Log(err)
		})
	}
}
