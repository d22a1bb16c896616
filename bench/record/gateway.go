package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	readyLimit = 30 * time.Second
	stopLimit  = 20 * time.Second
)

// gateway is one aguigate, a process of its own.
type gateway struct {
	url, admin string
	cmd        *exec.Cmd
	said       *os.File // its standard error
}

// build makes the program in dir.
func build(ctx context.Context, dir string) (string, error) {
	gomod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "aguigate")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "./cmd/aguigate")
	cmd.Dir = filepath.Dir(strings.TrimSpace(string(gomod)))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
}

// startGateway runs the program in dir with the given store and an agent for each
// kind. Everything else is as it is by default.
func startGateway(program, dir, store, agent string) (*gateway, error) {
	conf := "listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\nstore: {" + store + "}\nagents:\n"
	for _, k := range kinds {
		conf += "  " + k.name + ":\n    upstream: {kind: agui, url: " + agent + k.path + "}\n"
	}
	file := filepath.Join(dir, "aguigate.yaml")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	said, err := os.Create(filepath.Join(dir, "stderr.log"))
	if err != nil {
		return nil, err
	}
	g := &gateway{cmd: exec.Command(program, "serve", "--config", file, "--log-level", "warn"), said: said}
	g.cmd.Dir, g.cmd.Stderr = dir, said
	out, err := g.cmd.StdoutPipe()
	if err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, said.Close())
	}
	if err := g.ready(out); err != nil {
		return nil, errors.Join(err, g.stop())
	}
	return g, nil
}

func (g *gateway) ready(out io.Reader) error {
	late := time.AfterFunc(readyLimit, func() { _ = g.cmd.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	var host, admin string
	if _, scan := fmt.Sscanf(line, "aguigate ready listen=%s admin=%s\n", &host, &admin); scan != nil {
		text, _ := os.ReadFile(g.said.Name())
		return fmt.Errorf("aguigate said %q (%w): %s", line, err, text)
	}
	g.url, g.admin = "http://"+host, "http://"+admin
	return nil
}

// stop drains and waits.
func (g *gateway) stop() error {
	defer g.said.Close()
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(stopLimit, func() { _ = g.cmd.Process.Kill() })
	defer late.Stop()
	return g.cmd.Wait()
}

// settle waits until the gateway has ended that many runs and none is active. A
// run is counted when it has given its thread back, which is its last write.
func (g *gateway) settle(ended int) error {
	for until := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		page, err := g.metrics()
		if err != nil {
			return err
		}
		done, active := sumOf(page, "aguigate_runs_total"), sumOf(page, "aguigate_active_runs")
		if done == ended && active == 0 {
			return nil
		}
		if done > ended || time.Now().After(until) {
			return fmt.Errorf("the gateway ended %d runs of %d, %d are active", done, ended, active)
		}
	}
}

func (g *gateway) metrics() ([]byte, error) {
	res, err := http.Get(g.admin + "/metrics")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// sumOf adds up all series of a metric.
func sumOf(page []byte, name string) (total int) {
	for line := range bytes.Lines(page) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+"{")); ok {
			fields := strings.Fields(string(rest))
			n, _ := strconv.ParseFloat(fields[len(fields)-1], 64) // our own page
			total += int(n)
		}
	}
	return total
}
