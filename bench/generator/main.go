// Generator is the agent of the benchmark: an AG-UI server that answers every
// POST with the stream its query describes (stream.Spec). It speaks HTTP/1.1 by
// hand, one write a group of frames, so that it costs little and the wire looks
// the same in every round.
//
//	generator [-listen 127.0.0.1:0]
//
// It prints "generator ready HOST:PORT" and ends with SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	flag.Parse()
	if err := start(*listen); err != nil {
		fmt.Fprintln(os.Stderr, "generator:", err)
		os.Exit(1)
	}
}

func start(listen string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println("generator ready", ln.Addr())
	return newServer().serve(ctx, ln)
}
