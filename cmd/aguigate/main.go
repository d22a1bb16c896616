// Command aguigate is the gateway between user interfaces and AI agents.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
)

// version is set at build time: -ldflags "-X main.version=…".
var version = "dev"

// Exit codes [CLI-4].
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `aguigate stands between user interfaces and AI agents.

  aguigate demo                    the scripted demo agent: no file, key or network
      --listen ADDR                public listener, 127.0.0.1:8080; port 0 picks a free one
      --admin-listen ADDR          metrics and health, 127.0.0.1:9090
  aguigate serve --config FILE     the gateway
  aguigate check --config FILE     says what is wrong with a configuration, a line a fault
      --probe                      also dials each upstream
  aguigate resolve INV             answers an invocation at a running gateway and prints it
      --result JSON | --error TEXT what the client's tool gave, or why it gave nothing
      --type CLASS, --retryable    of an error: its class; another attempt may go well
      --attempt N                  only if this attempt is the current one
      --no-continue                leaves going on with the run to the client
  aguigate tail THREAD             prints a thread's events as they come, until it has been idle
      --format json|text           an event's JSON a line, or short lines for people
      --agent NAME                 where several agents use the thread's id
      --since ID                   begins behind this event
  aguigate version

  serve and demo also take --log-format text|json and --log-level debug|info|warn|error.
  resolve and tail also take --gateway URL (or AGUIGATE_URL; http://127.0.0.1:8080), --key SECRET
  (or AGUIGATE_KEY, which process lists do not show) and, for a machine's key, --identity SUBJECT.
`

// errUsage marks a command line that could not be understood.
var errUsage = errors.New("usage")

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errOut io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(errOut, usage)
		return exitUsage
	}
	var err error
	switch name, rest := args[0], args[1:]; name {
	case "serve":
		err = serveCommand(rest, out, errOut)
	case "demo":
		err = demoCommand(rest, out, errOut)
	case "check":
		err = checkCommand(rest, out, errOut)
	case "resolve":
		err = resolveCommand(rest, out)
	case "tail":
		err = tailCommand(rest, out, errOut)
	case "version":
		fmt.Fprintf(out, "aguigate %s %s\n", version, runtime.Version())
	case "help", "-h", "-help", "--help":
		fmt.Fprint(out, usage)
	default:
		err = fmt.Errorf("%w: there is no command %q", errUsage, name)
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, usage)
		return exitDone
	case errors.Is(err, errUsage):
		fmt.Fprintf(errOut, "aguigate: %s\n\n%s", strings.TrimPrefix(err.Error(), "usage: "), usage)
		return exitUsage
	}
	fmt.Fprintln(errOut, err)
	return exitFailed
}

// flags are one command's, with errors as errUsage.
type flags struct{ *flag.FlagSet }

func newFlags(name string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(io.Discard)
	f.Usage = func() {} // run says it: to whom depends on why
	return f
}

func (f *flags) parse(args []string) error {
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return fmt.Errorf("%w: %s: %s", errUsage, f.Name(), err)
	case f.NArg() > 0:
		return fmt.Errorf("%w: %s takes no argument %q", errUsage, f.Name(), f.Arg(0))
	}
	return nil
}

// parseWithLog parses a command that logs: it has --log-format and --log-level
// too, and writes to w [CLI-2].
func (f *flags) parseWithLog(args []string, w io.Writer) (*slog.Logger, error) {
	format := f.String("log-format", "text", "text or json")
	text := f.String("log-level", "info", "debug, info, warn or error")
	if err := f.parse(args); err != nil {
		return nil, err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(*text)); err != nil {
		return nil, fmt.Errorf("%w: --log-level is debug, info, warn or error", errUsage)
	}
	o := &slog.HandlerOptions{Level: level}
	switch *format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, fmt.Errorf("%w: --log-format is text or json", errUsage)
}
