package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/bench/stream"
)

func TestDrive(t *testing.T) {
	spec := stream.Spec{Events: 3, Delta: 40}
	in := stream.Input{ThreadID: "t", RunID: "r"}
	frames := func(seqs ...int) string {
		b := stream.AppendOpening(nil, in)
		for _, seq := range seqs {
			b = stream.AppendContent(b, seq, 0, spec.Delta)
		}
		return string(stream.AppendClosing(b, in))
	}
	for _, c := range []struct {
		name, body string
		status     int
		close      bool
		fault      string
	}{
		{name: "whole", body: frames(0, 1, 2), status: 200},
		{name: "whole, a connection each", body: frames(0, 1, 2), status: 200, close: true},
		{name: "one lost", body: frames(0, 2), status: 200, fault: "event 3 of 7"},
		{name: "cut", body: frames(0, 1, 2)[:300], status: 200, fault: "ends inside a frame"},
		{name: "refused", body: `{"error":{"code":"overloaded"}}`, status: 503, fault: "overloaded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.close {
					w.Header().Set("Connection", "close")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer srv.Close()
			p := plan{host: strings.TrimPrefix(srv.URL, "http://"), path: "/run", clients: 2, runs: 3, spec: spec}
			opened := 0
			res, err := p.drive(func() { opened++ })
			if opened != 1 {
				t.Errorf("opened %d times", opened)
			}
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Fatalf("%v, want %q", err, c.fault)
				}
				return
			}
			if err != nil || res.Events != 2*3*7 || res.Runs != 6 || res.Bytes != int64(6*len(c.body)) {
				t.Fatalf("%+v, %v", res, err)
			}
		})
	}
}

func TestDriveWithoutServer(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	p := plan{host: strings.TrimPrefix(srv.URL, "http://"), path: "/", clients: 1, runs: 1}
	if _, err := p.drive(func() {}); err == nil {
		t.Fatal("nobody listens and nothing was wrong")
	}
}
