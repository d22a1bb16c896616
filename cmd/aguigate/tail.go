package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/aguigate/aguigate/protocol/agui"
)

const (
	firstPause = 500 * time.Millisecond // before a lost stream is opened again
	longPause  = 15 * time.Second
)

// tailCommand prints a thread's events as they come, until the stream ends by
// itself or a signal comes.
func tailCommand(args []string, out, errOut io.Writer) error {
	f := newFlags("tail")
	to := f.client()
	agent := f.String("agent", "", "the agent, where several use the id")
	format := f.String("format", "json", "json or text")
	since := f.String("since", "", "id of the last event seen")
	thread, err := f.parseOne(args, "THREAD")
	if err != nil {
		return err
	}
	if *since != "" && !isID(*since) {
		return fmt.Errorf("%w: --since is the id of an event, a number", errUsage)
	}
	if *format != "json" && *format != "text" {
		return fmt.Errorf("%w: --format is json or text", errUsage)
	}
	c, err := to.open()
	if err != nil {
		return err
	}
	path := "/v1/threads/" + url.PathEscape(thread) + "/events"
	if *agent != "" {
		path += "?agent=" + url.QueryEscape(*agent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	t := &tail{client: c, path: path, last: *since, printer: newPrinter(*format, out), notes: errOut, pause: pause}
	return t.run(ctx)
}

func isID(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil
}

// printer shows events, each as a line or a part of one.
type printer interface {
	show(agui.Frame) error
	// end ends a line that is open.
	end() error
}

func newPrinter(format string, out io.Writer) printer {
	if format == "text" {
		return &textPrinter{out: out}
	}
	return jsonPrinter{out}
}

// jsonPrinter writes an event's JSON as it came, on one line.
type jsonPrinter struct{ out io.Writer }

func (p jsonPrinter) show(f agui.Frame) error {
	_, err := p.out.Write(append(oneLine(f.Raw), '\n'))
	return err
}

func (jsonPrinter) end() error { return nil }

// tail follows one event stream over lost connections.
type tail struct {
	client  *client
	path    string
	last    string // id of the last event shown, "" for none
	printer printer
	notes   io.Writer
	pause   func(ctx context.Context, d time.Duration) // waits, at most until ctx ends
}

// run gives nil when the stream has ended or ctx has. What fails before the stream
// was once open is final: then the URL, the key or the thread is wrong. So is a
// refusal that will not pass.
func (t *tail) run(ctx context.Context) error {
	opened, wait := false, firstPause
	for {
		got, err := t.follow(ctx)
		if endErr := t.printer.end(); err == nil || endErr != nil {
			return endErr
		}
		if ctx.Err() != nil {
			return nil
		}
		opened = opened || got.opened
		if got.heard {
			wait = firstPause
		}
		after, again := worthAnother(err)
		if !opened || !again {
			return err
		}
		d := max(after, wait/2+rand.N(wait/2)) // many that lost one gateway do not come back at one time
		fmt.Fprintf(t.notes, "aguigate: %v; trying again in %v\n", err, d.Round(100*time.Millisecond))
		t.pause(ctx, d)
		wait = min(2*wait, longPause)
	}
}

// worthAnother tells a lost connection and a passing refusal from what would fail
// again.
func worthAnother(err error) (after time.Duration, again bool) {
	var lost *unreached
	var no *refusal
	switch {
	case errors.As(err, &lost):
		return 0, true
	case errors.As(err, &no):
		return no.after, no.temporary()
	}
	return 0, false
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// got says how far one connection came.
type got struct{ opened, heard bool }

// follow opens the stream once and shows what comes; nil when it ended by itself.
func (t *tail) follow(ctx context.Context) (got, error) {
	header := map[string]string{"Accept": "text/event-stream"}
	if t.last != "" {
		header["Last-Event-ID"] = t.last
	}
	res, err := t.client.do(ctx, http.MethodGet, t.path, header, nil)
	if err != nil {
		return got{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return got{}, refused(res)
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media != "text/event-stream" {
		return got{}, fmt.Errorf("%s answers with no event stream", t.client.base)
	}
	return t.read(res.Body)
}

func (t *tail) read(body io.Reader) (got, error) {
	g := got{opened: true}
	r := newEventReader(body)
	for {
		e, err := r.next()
		g.heard = r.heard
		switch {
		case err == io.EOF:
			return g, nil
		case errors.Is(err, errEventForm):
			return g, err
		case err != nil:
			return g, &unreached{what: "the stream was cut", cause: err}
		}
		if e.data != nil {
			f, err := agui.ParseFrame(e.data)
			if err != nil {
				return g, fmt.Errorf("%w: it is no AG-UI event", errEventForm)
			}
			if err := t.printer.show(f); err != nil {
				return g, err
			}
		}
		if e.id != "" {
			t.last = e.id
		}
	}
}
