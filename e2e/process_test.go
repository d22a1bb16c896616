package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startLimit is how long a process may take to say that it is ready. Node loads
// hundreds of modules first, so it is generous.
const startLimit = 60 * time.Second

// logPart is how many bytes of a log's beginning, and of its end, a failed test
// shows; logKept is how many are kept at all.
const (
	logPart = 4 << 10
	logKept = 4 << 20
)

// process is one program under test or one peer.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  *bufio.Reader
	errors safeBuffer
	ended  chan struct{}
	failed error // how it ended, valid once ended is closed
}

// safeBuffer keeps the beginning of what a process wrote to standard error.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf.Len() < logKept {
		b.buf.Write(p)
	}
	return len(p), nil
}

// written is how much has been kept so far, a place for since.
func (b *safeBuffer) written() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Len()
}

func (b *safeBuffer) since(place int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.buf.Bytes()[place:])
}

func (b *safeBuffer) String() string { return b.since(0) }

// start runs a program; its standard output is read by the caller line by line.
func start(name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), ended: make(chan struct{})}
	p.cmd.Stderr = &p.errors
	// A pipe of our own: exec's closes as soon as the program ends, maybe
	// before its last line was read.
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = write
	p.lines = bufio.NewReaderSize(read, 1<<20)
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	_ = write.Close()
	go func() {
		p.failed = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// line gives the next line of standard output.
func (p *process) line(limit time.Duration) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := p.lines.ReadString('\n')
		got <- answer{strings.TrimSuffix(text, "\n"), err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return "", fmt.Errorf("%s said nothing more (%w); standard error:\n%s", p.cmd.Path, a.err, p.errors.String())
		}
		return a.text, nil
	case <-time.After(limit):
		return "", fmt.Errorf("%s said nothing for %v; standard error:\n%s", p.cmd.Path, limit, p.errors.String())
	}
}

// ready waits for the line with that beginning and gives the rest of it.
func (p *process) ready(prefix string) (string, error) {
	for deadline := time.Now().Add(startLimit); ; {
		text, err := p.line(time.Until(deadline))
		if err != nil {
			return "", err
		}
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			return rest, nil
		}
	}
}

// kill ends the process at once, as a crash does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop asks the process to end and insists after a while. It gives how the
// process ended; nil is exit code 0.
func (p *process) stop() error {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		p.kill()
		return fmt.Errorf("%s did not end within 10 s of SIGTERM", p.cmd.Path)
	}
	return p.failed
}

// logsOnFailure shows what the process wrote to standard error since now, when
// the test fails; of much, the beginning and the end.
func (p *process) logsOnFailure(t *testing.T) {
	t.Helper()
	from := p.errors.written()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		text := p.errors.since(from)
		if len(text) > 2*logPart {
			text = text[:logPart] + "\n…\n" + text[len(text)-logPart:]
		}
		t.Logf("standard error of %s:\n%s", p.cmd.Path, text)
	})
}
