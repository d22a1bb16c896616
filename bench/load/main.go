// Load is the client of the benchmark: a number of clients, each with one
// connection, each running one run after the other and checking every byte of
// it (stream.Checker).
//
//	load -url http://HOST:PORT/PATH -clients 8 -runs 10 -spec 'events=1000&delta=32'
//
// It prints "open" once every client has its first bytes, and a stream.Result in
// JSON at the end. A lost, doubled or changed event is exit code 1.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"

	"github.com/aguigate/aguigate/bench/stream"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run() error {
	target := flag.String("url", "", "where runs are posted")
	query := flag.String("spec", "", "shape of a run")
	p := plan{}
	flag.IntVar(&p.clients, "clients", 1, "clients at once, at most 2000")
	flag.IntVar(&p.runs, "runs", 1, "runs of each client, one after the other")
	flag.Parse()
	u, err := url.Parse(*target)
	if err != nil {
		return err
	}
	if u.Scheme != "http" || u.Port() == "" {
		return errors.New("-url wants http://HOST:PORT/…")
	}
	if p.clients < 1 || p.clients > 2000 || p.runs < 1 {
		return errors.New("-clients wants 1..2000 and -runs at least 1")
	}
	if p.spec, err = stream.Parse(*query); err != nil {
		return fmt.Errorf("-spec: %w", err)
	}
	p.host, p.path = u.Host, u.RequestURI()
	res, err := p.drive(func() { fmt.Println(stream.OpenLine) })
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(res)
}
