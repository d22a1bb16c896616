package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/aguigate/aguigate/gateway"
	"github.com/aguigate/aguigate/gateway/config"
)

func serveCommand(args []string, out, errOut io.Writer) error {
	f := newFlags("serve")
	file := f.String("config", "", "configuration file")
	log, err := f.parseWithLog(args, errOut)
	if err != nil {
		return err
	}
	c, err := load(*file)
	if err != nil {
		return err
	}
	return serve(c, log, out)
}

// load reads a configuration, or says every fault in it, a line each.
func load(file string) (*config.Config, error) {
	if file == "" {
		return nil, fmt.Errorf("%w: --config FILE is needed", errUsage)
	}
	return config.Load(file, os.LookupEnv)
}

func demoCommand(args []string, out, errOut io.Writer) error {
	f := newFlags("demo")
	listen := f.String("listen", "127.0.0.1:8080", "public listener")
	admin := f.String("admin-listen", "127.0.0.1:9090", "metrics and health")
	log, err := f.parseWithLog(args, errOut)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "aguigate-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return serve(config.Demo(*listen, *admin, dir), log, out)
}

func checkCommand(args []string, out, _ io.Writer) error {
	f := newFlags("check")
	file := f.String("config", "", "configuration file")
	probe := f.Bool("probe", false, "dial each upstream")
	if err := f.parse(args); err != nil {
		return err
	}
	c, err := load(*file)
	var faults config.Faults
	if errors.As(err, &faults) { // they are what was asked for
		fmt.Fprintln(out, faults)
		return errFaults
	}
	if err != nil || !*probe {
		return err
	}
	return probeAll(c, out)
}

// probeTime bounds the dialling of one upstream.
const probeTime = 10 * time.Second

var (
	errProbe  = errors.New("not every upstream answered")
	errFaults = errors.New("the configuration has faults")
)

func probeAll(c *config.Config, out io.Writer) error {
	g, err := gateway.New(gateway.Options{Config: c, Upstreams: upstreams, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime*time.Duration(len(c.Agents)))
	defer cancel()
	var failed error
	g.Probe(ctx, func(agent, answer string, err error) {
		if err != nil {
			answer, failed = err.Error(), errProbe
		}
		fmt.Fprintf(out, "agents.%s.upstream: %s\n", agent, answer)
	})
	return failed
}
