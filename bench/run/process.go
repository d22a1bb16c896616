package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	readyLimit = 20 * time.Second
	stopLimit  = 10 * time.Second
)

// process is a program we started, tied to one core.
type process struct {
	name   string
	cmd    *exec.Cmd
	cancel context.CancelFunc
	out    *bufio.Scanner
	log    *os.File
}

// launch starts a program on the given core; its standard error goes to a file
// in dir. taskset replaces itself by the program, so the process id is the program's.
func launch(ctx context.Context, core int, dir, name string, args ...string) (*process, error) {
	log, err := os.CreateTemp(dir, "stderr-*.log")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "taskset", append([]string{"-c", fmt.Sprint(core), name}, args...)...)
	cmd.Dir, cmd.Stderr = dir, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopLimit
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), log.Close())
	}
	return &process{name: name, cmd: cmd, cancel: cancel, out: bufio.NewScanner(out), log: log}, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// line waits for a line of standard output that begins with prefix and gives
// what follows; what the program said on standard error explains why there is none.
func (p *process) line(prefix string) (string, error) {
	late := time.AfterFunc(readyLimit, p.cancel)
	defer late.Stop()
	for p.out.Scan() {
		if rest, ok := strings.CutPrefix(p.out.Text(), prefix); ok {
			return strings.TrimSpace(rest), nil
		}
	}
	return "", fmt.Errorf("%s ended without a line %q: %s", p.name, prefix, p.said())
}

// said is the end of its standard error.
func (p *process) said() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-2000):]))
}

// stop ends it with SIGTERM, after stopLimit with SIGKILL, and waits.
func (p *process) stop() {
	p.cancel()
	_ = p.cmd.Wait() // its end by our own signal is no news
	_ = p.log.Close()
}

// wait waits for its own end; any exit code but 0 is an error.
func (p *process) wait() error {
	defer p.log.Close()
	defer p.cancel()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", p.name, err, p.said())
	}
	return nil
}
