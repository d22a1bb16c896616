package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/bench/stream"
)

// serving gives the address of a generator that the test's end stops.
func serving(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- newServer().serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

func TestStreams(t *testing.T) {
	host := serving(t)
	for _, spec := range []stream.Spec{
		{Delta: 32},
		{Events: 1000, Delta: 100},
		{Events: 10, Delta: 32, Group: 3},
		{Events: 10, Delta: 32, Group: 3, Pause: time.Millisecond},
		{Events: 5, Delta: 32, Group: 1, Pause: time.Millisecond, Hold: time.Millisecond},
	} {
		for range 2 { // the second run comes ready made, over the same connection
			in := stream.Input{ThreadID: "t\"1", RunID: "r1"}
			resp, err := http.Post(host+"/run?"+spec.Query(), "application/json", strings.NewReader(string(in.Request())))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.Header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("%+v: %v, %v", spec, err, resp.Header)
			}
			c := stream.NewChecker(spec)
			if err := c.Feed(body, time.Now()); err != nil {
				t.Fatalf("%+v: %v", spec, err)
			}
			if err := c.Close(); err != nil {
				t.Fatalf("%+v: %v", spec, err)
			}
			if stamped := len(c.Delays()); (stamped > 0) != (spec.Pause > 0) {
				t.Errorf("%+v: %d frames carry a time", spec, stamped)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	host := serving(t)
	for _, c := range []struct{ method, query, body string }{
		{"GET", "", ""},
		{"POST", "events=x", "{}"},
		{"POST", "events=3", "no JSON"},
	} {
		req, err := http.NewRequest(c.method, host+"/run?"+c.query, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: %s", c, resp.Status)
		}
	}
}

// The end of the server ends a stream that is silent.
func TestStopEndsOpenStreams(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- newServer().serve(ctx, ln) }()
	resp, err := http.Post("http://"+ln.Addr().String()+"/?hold=1m", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Fatal("the stream ended as if it were whole")
	}
}
