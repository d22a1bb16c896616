// Record measures what the gateway's record costs as conversations grow: writes,
// reads and bytes of the store, processor time, memory and disk, by the length of
// the thread. See bench/README.md.
//
//	go run ./bench/record [-threads 100] [-messages 200] [-only text,client,resolve] [-program FILE] [-quiet]
//
// Every run posts the whole list, as AG-UI clients do. It ends with an error if one
// run did not get the whole answer, or the agent not the whole list.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

type options struct {
	size
	only    string
	pass    string
	program string
	out     io.Writer // tables
	news    io.Writer // how far it is
}

func main() {
	o := options{out: os.Stdout, news: os.Stderr}
	quiet := flag.Bool("quiet", false, "tables only")
	flag.IntVar(&o.threads, "threads", 100, "threads")
	flag.IntVar(&o.messages, "messages", 200, "messages of each thread at the end")
	flag.StringVar(&o.only, "only", "", "kinds, comma separated (default all)")
	flag.StringVar(&o.pass, "pass", "", "count or cost (default both)")
	flag.StringVar(&o.program, "program", "", "an aguigate that is built already")
	flag.Parse()
	if *quiet {
		o.news = io.Discard
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := o.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "aguigate-record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.program == "" {
		if o.program, err = build(ctx, dir); err != nil {
			return err
		}
	}
	if o.program, err = filepath.Abs(o.program); err != nil {
		return err
	}
	for _, k := range kinds {
		if o.only == "" || slices.Contains(strings.Split(o.only, ","), k.name) {
			if err := o.measure(ctx, dir, k); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	return nil
}

// measure is both passes of one kind: counting slows a store down, so that what it
// costs is measured by itself.
func (o options) measure(ctx context.Context, dir string, k kind) error {
	fmt.Fprintf(o.out, "\n%s: %s\n%d threads of %d messages, %d runs\n", k.name, k.what,
		o.threads, o.messages, o.threads*o.messages/k.messages*k.runs)
	var count []step
	if o.pass != "cost" {
		sub, err := os.MkdirTemp(dir, "count-")
		if err != nil {
			return err
		}
		if count, err = counted(ctx, o.program, sub, k, o.size, o.tell(k, "count")); err != nil {
			return err
		}
		printCounts(o.out, count, o.messages)
	}
	if o.pass == "count" {
		return nil
	}
	sub, err := os.MkdirTemp(dir, "cost-")
	if err != nil {
		return err
	}
	c, err := costs(ctx, o.program, sub, k, o.size, o.tell(k, "cost"))
	if err != nil {
		return err
	}
	printCosts(o.out, c, count, o.messages)
	return nil
}

// tell writes how far a pass is.
func (o options) tell(k kind, pass string) func(step) {
	return func(s step) {
		if s.messages%40 == 0 {
			fmt.Fprintf(o.news, "%s %s: %d messages\n", k.name, pass, s.messages)
		}
	}
}
