package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/adapters/upstream"
	upagui "github.com/aguigate/aguigate/adapters/upstream/agui"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// cutRun is a run of every kind of event that cutting could harm.
var cutRun = []string{
	`{"type":"RUN_STARTED","threadId":"th1","runId":"r1"}`,
	`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`,
	"{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m1\",\"delta\":\"h\u00e9 \U0001F600 \\\"\u202f\\n\\ud83d\\ude00\"}",
	`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`,
	`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"search"}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"a\":1}"}`,
	`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
	`{"type":"STATE_SNAPSHOT","snapshot":{"n":1.0}}`,
	`{"type":"RUN_FINISHED","threadId":"th1","runId":"r1"}`,
}

// written is the run as an event stream: one of its events in two data lines, one with
// a comment, an id and a name before it, one without the space.
func written(eol, mark string) string {
	var b strings.Builder
	b.WriteString(mark)
	for i, f := range cutRun {
		switch i {
		case 2:
			b.WriteString(": hi" + eol + "id: 7" + eol + "event: x" + eol)
		case 6:
			b.WriteString("data:" + f + eol + eol)
			continue
		case 7:
			f = strings.Replace(f, `{"n"`, `{`+eol+`data: "n"`, 1)
		}
		b.WriteString("data: " + f + eol + eol)
	}
	return b.String()
}

// whole counts the events that the first part of a stream completes.
func whole(part, eol string) int {
	blank := eol + eol[:1] // the first byte of a blank line's end is enough
	return strings.Count(part, blank)
}

// sameRun compares events with the run's.
func sameRun(got []string) error {
	for i, want := range cutRun {
		if i == 7 {
			want = strings.Replace(want, `{"n"`, "{\n\"n\"", 1)
		}
		if i >= len(got) || got[i] != want {
			return fmt.Errorf("event %d of %q is not %s", i, got, want)
		}
	}
	if len(got) != len(cutRun) {
		return fmt.Errorf("%d events, want %d", len(got), len(cutRun))
	}
	return nil
}

// A run that the upstream cuts at any byte into two writes is the same run (F044 to
// F048, RUN-8).
func TestEveryCut(t *testing.T) {
	type piece struct{ first, rest, eol string }
	pieces := make(chan piece, 1)
	more := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		p := <-pieces
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, p.first)
		w.(http.Flusher).Flush()
		<-more
		_, _ = io.WriteString(w, p.rest)
	}))
	defer server.Close()
	up, err := upagui.New(upstream.Options{Agent: "a", URL: server.URL, Protocol: "1.0", EventLimit: 1 << 20,
		Timeouts: upstream.Timeouts{Connect: time.Second, FirstByte: time.Minute, Idle: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	in, err := agui.DecodeInput([]byte(input("th1", "r1", "", user("u1", "hi"))))
	if err != nil {
		t.Fatal(err)
	}
	// The second write comes when the events that the first one completes are read, and
	// with them what is behind the last of them: so the cut is where it was made.
	read := func(p piece) (got []string, err error) {
		pieces <- p
		s, err := up.Run(context.Background(), &upstream.RunRequest{Input: in})
		if err != nil {
			return nil, err
		}
		defer func() { _ = s.Close() }()
		waits, sent := whole(p.first, p.eol), false
		for {
			if !sent && len(got) >= waits {
				sent = true
				more <- struct{}{}
			}
			list, err := s.Next(nil)
			for _, f := range list {
				got = append(got, string(f.Raw))
			}
			if errors.Is(err, io.EOF) {
				return got, nil
			}
			if err != nil {
				return got, err
			}
		}
	}
	for name, eol := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
		for _, mark := range []string{"", "\ufeff"} {
			stream := written(eol, mark)
			for cut := range len(stream) + 1 {
				// The decoder gets the very two pieces, wherever in the first event they are.
				var got []string
				d := agui.NewSSEDecoder(1 << 20)
				each := func(data []byte) error { got = append(got, string(data)); return nil }
				err := errors.Join(d.Feed([]byte(stream[:cut]), each), d.Feed([]byte(stream[cut:]), each), d.Close())
				if err = errors.Join(err, sameRun(got)); err != nil {
					t.Fatalf("%s, mark %q, cut at %d of the decoder's: %v", name, mark, cut, err)
				}
				if got, err = read(piece{stream[:cut], stream[cut:], eol}); err == nil {
					err = sameRun(got)
				}
				if err != nil {
					t.Fatalf("%s, mark %q, cut at %d (code %q): %v", name, mark, cut, fault.CodeOf(err), err)
				}
			}
		}
	}
}

// The same through the whole gateway, for some of the cuts.
func TestCutsThroughGateway(t *testing.T) {
	s := newStage(t)
	w := begin(t, patient(s.URL, ""))
	want := ""
	for i, eol := range []string{"\n", "\r\n", "\r"} {
		for k, mark := range []string{"", "\ufeff"} {
			stream := written(eol, mark)
			for cut := (3*i + k) % 7; cut <= len(stream); cut += 41 {
				thread := fmt.Sprintf("cut-%d-%d-%d", i, k, cut)
				own := strings.NewReplacer("th1", thread)
				s.plays(thread, inPieces(own.Replace(stream[:cut]), own.Replace(stream[cut:])))
				// What a cut inside the id makes of it goes back to what the client sent.
				got := strings.ReplaceAll(w.post("a", input(thread, "r1", "", user("u1", "hi"))).body, thread, "th1")
				if want == "" {
					want = got
					if f := w.events(got); kinds(f) != "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END STATE_SNAPSHOT RUN_FINISHED" {
						t.Fatalf("the run is %s", kinds(f))
					}
				}
				if got != want {
					t.Errorf("line ends %q, mark %q, cut at %d: got\n%q\nwant\n%q", eol, mark, cut, got, want)
				}
			}
		}
	}
}
