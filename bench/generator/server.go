package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/aguigate/aguigate/bench/stream"
)

const (
	groupBytes = 32 << 10
	bodyLimit  = 1 << 20
	runLimit   = 5 * time.Minute

	head    = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
	lastEnd = "0\r\n\r\n"
)

type server struct {
	mu sync.Mutex
	// ready holds the content of unpaced runs as finished chunks: making them
	// anew each time would cost the core the load client needs.
	ready map[stream.Spec][][]byte
}

func newServer() *server { return &server{ready: map[stream.Spec][][]byte{}} }

// serve answers until ctx ends; then it closes all connections and waits for them.
func (s *server) serve(ctx context.Context, ln net.Listener) error {
	var open sync.WaitGroup
	defer open.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	for {
		conn, err := ln.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		open.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			s.connection(ctx, conn)
		})
	}
}

// connection answers request after request. A broken one ends it silently: the
// peer that broke it is the one being measured and reports it.
func (s *server) connection(ctx context.Context, conn net.Conn) {
	br := bufio.NewReaderSize(conn, 8<<10)
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if err := conn.SetDeadline(time.Now().Add(runLimit)); err != nil {
			return
		}
		spec, in, err := decode(req)
		if err != nil {
			fmt.Fprintf(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(err.Error()), err)
			return
		}
		if err := s.answer(ctx, conn, spec, in); err != nil || req.Close {
			return
		}
		if err := conn.SetDeadline(time.Time{}); err != nil {
			return
		}
	}
}

func decode(req *http.Request) (spec stream.Spec, in stream.Input, err error) {
	if req.Method != http.MethodPost {
		return spec, in, errors.New("only POST is answered")
	}
	if spec, err = stream.Parse(req.URL.RawQuery); err != nil {
		return spec, in, err
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, bodyLimit))
	if err != nil {
		return spec, in, err
	}
	return spec, in, json.Unmarshal(body, &in)
}

func (s *server) answer(ctx context.Context, w io.Writer, spec stream.Spec, in stream.Input) error {
	if _, err := w.Write(stream.AppendChunk([]byte(head), stream.AppendOpening(nil, in))); err != nil {
		return err
	}
	content := s.unpaced
	if spec.Pause > 0 {
		content = paced
	}
	if err := content(ctx, w, spec); err != nil {
		return err
	}
	if err := sleep(ctx, spec.Hold); err != nil {
		return err
	}
	_, err := w.Write(append(stream.AppendChunk(nil, stream.AppendClosing(nil, in)), lastEnd...))
	return err
}

func (s *server) unpaced(_ context.Context, w io.Writer, spec stream.Spec) error {
	for _, chunk := range s.chunks(spec) {
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) chunks(spec stream.Spec) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	chunks, ok := s.ready[spec]
	if ok {
		return chunks
	}
	var group []byte
	flush := func() {
		if len(group) > 0 {
			chunks, group = append(chunks, stream.AppendChunk(nil, group)), group[:0]
		}
	}
	for i := range spec.Events {
		group = stream.AppendContent(group, i, 0, spec.Delta)
		if full(spec, i+1, len(group)) {
			flush()
		}
	}
	flush()
	s.ready[spec] = chunks
	return chunks
}

// full says whether a write ends after event number n, counted from 1.
func full(spec stream.Spec, n, size int) bool {
	if spec.Group == 0 {
		return size >= groupBytes
	}
	return n%spec.Group == 0
}

// paced keeps to a fixed beat: a late write does not move the ones after it.
func paced(ctx context.Context, w io.Writer, spec stream.Spec) error {
	group, chunk := []byte(nil), []byte(nil)
	size := max(spec.Group, 1)
	// Streams that started together shall not beat together.
	beat := time.Now().Add(rand.N(spec.Pause))
	for i := 0; i < spec.Events; i += size {
		if err := sleep(ctx, time.Until(beat)); err != nil {
			return err
		}
		beat = beat.Add(spec.Pause)
		group = group[:0]
		now := time.Now().UnixNano()
		for n := i; n < min(i+size, spec.Events); n++ {
			group = stream.AppendContent(group, n, now, spec.Delta)
		}
		chunk = stream.AppendChunk(chunk[:0], group)
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
