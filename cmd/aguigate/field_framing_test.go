package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/agui"
)

// inPieces answers with an event stream cut into these writes, a flush between.
func inPieces(pieces ...string) act {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			_, _ = io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}
}

// Group G: how an event stream may be written.
func beginFraming(t *testing.T) (*stage, *world) {
	t.Helper()
	s := newStage(t)
	return s, begin(t, "limits: {event: 1MiB}\n"+patient(s.URL, "    keepalive: 20ms\n"))
}

// F044, F045, F046, F048: line ends, spaces and a byte order mark change nothing.
func TestF044ToF048Framing(t *testing.T) {
	s, w := beginFraming(t)
	start, end := started("th1"), finished("th1")
	want := "data: " + start + "\n\ndata: " + end + "\n\n"
	for i, c := range []struct {
		name   string
		pieces []string
	}{
		{"F044 CRLF line ends", []string{"data: " + start + "\r\n\r\ndata: " + end + "\r\n\r\n"}},
		{"F044 CR line ends", []string{"data: " + start + "\r\rdata: " + end + "\r\r"}},
		{"F045 CR and LF in two chunks", []string{"data: " + start + "\r", "\n\r", "\ndata: " + end + "\r", "\n\r", "\n"}},
		{"F045 a CRLF cut in front of data", []string{"data: " + start + "\r\n\r", "\ndata: " + end + "\r\n\r\n"}},
		{"F046 data without a space", []string{"data:" + start + "\n\ndata:" + end + "\n\n"}},
		{"F048 a byte order mark", []string{"\ufeffdata: " + start + "\n\ndata: " + end + "\n\n"}},
		{"F048 a byte order mark in pieces", []string{"\xef", "\xbb", "\xbfda", "ta: " + start + "\n\ndata: " + end + "\n\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			thread := fmt.Sprint("th44-", i)
			own := strings.NewReplacer("th1", thread)
			for k := range c.pieces {
				c.pieces[k] = own.Replace(c.pieces[k])
			}
			s.plays(thread, inPieces(c.pieces...))
			got := w.post("a", input(thread, "r1", "", user("u1", "hi")))
			if body := strings.ReplaceAll(got.body, agui.KeepAlive, ""); body != own.Replace(want) {
				t.Errorf("got\n%q\nwant\n%q", body, own.Replace(want))
			}
		})
	}
}

// F045: a CRLF in two chunks is one line end.
func TestF045CRLFInTwoChunks(t *testing.T) {
	s, w := beginFraming(t)
	s.plays("th45c", inPieces("data: "+started("th45c")+"\r", "\n\r", "\n", "data: {\"type\":\"CUSTOM\",\r", "\ndata: \"name\":\"n\",\r\n", "data: \"value\":1}\r", "\n\r", "\ndata: "+finished("th45c")+"\r", "\n\r", "\n"))
	got := w.events(strings.ReplaceAll(w.post("a", input("th45c", "r1", "", user("u1", "hi"))).body, agui.KeepAlive, ""))
	if kinds(got) != "RUN_STARTED CUSTOM RUN_FINISHED" || string(got[1].Field("value")) != "1" {
		t.Errorf("got %s", kinds(got))
	}
}

// F045: a lone CR does not wait for what follows.
func TestF045LoneCR(t *testing.T) {
	s, w := beginFraming(t)
	seen := make(chan struct{})
	s.plays("th45", func(w http.ResponseWriter, r *http.Request, _ string) {
		inPieces("data: "+started("th45")+"\r\r")(w, r, "")
		select {
		case <-seen:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "data: "+finished("th45")+"\r\r")
	})
	got := w.reading(call{method: "POST", path: "/agents/a/run", body: input("th45", "r1", "", user("u1", "hi"))})
	got.has(`"RUN_STARTED"`)
	close(seen)
	got.whole()
	w.events(strings.ReplaceAll(got.String(), agui.KeepAlive, ""))
}

// F048: only one mark is dropped, and only at the start.
func TestF048OnlyOneMark(t *testing.T) {
	s, w := beginFraming(t)
	s.plays("th48", inPieces("data: "+started("th48")+"\n\n\ufeffdata: {\"type\":\"CUSTOM\",\"name\":\"lost\",\"value\":1}\n\ndata: {\"type\":\"CUSTOM\",\"name\":\"\ufeffkept\",\"value\":1}\n\ndata: "+finished("th48")+"\n\n"))
	got := w.post("a", input("th48", "r1", "", user("u1", "hi"))).body
	if strings.Contains(got, "lost") || !strings.Contains(got, "\"\ufeffkept\"") {
		t.Errorf("got %q", got)
	}
}

// F049: a line of 200 KiB, and one over the limit.
func TestF049LongLine(t *testing.T) {
	s, w := beginFraming(t)
	long := strings.Repeat("0123456789abcdef", 200<<10/16)
	event := `{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"c1","content":"` + long + `","role":"tool"}`
	s.plays("th49", frames("r1", append(calling("m2", "search", "c1"), event)...))
	if got := w.post("a", input("th49", "r1", "", user("u1", "hi"))).body; !strings.Contains(got, "\n\ndata: "+event+"\n\n") || !strings.Contains(got, "RUN_FINISHED") {
		t.Errorf("the event did not pass whole: %d bytes came", len(got))
	}
	gone := make(chan struct{})
	s.plays("th49b", func(w http.ResponseWriter, r *http.Request, _ string) {
		say(w, `{"type":"RUN_STARTED","threadId":"th49b","runId":"r1"}`, `{"type":"CUSTOM","name":"n","value":"`+strings.Repeat(long, 6)+`"}`)
		wait(r)
		close(gone)
	})
	if end := last(w.run("", "a", input("th49b", "r1", "", user("u1", "hi")))); end.Text("code") != "event_too_large" {
		t.Errorf("ended in %s", end.Raw)
	}
	soon(t, gone, "the upstream is cancelled")
}

// F050: a line without an end is bounded.
func TestF050LineWithoutEnd(t *testing.T) {
	s, w := beginFraming(t)
	sent, gone := 0, make(chan struct{})
	s.plays("th50", func(w http.ResponseWriter, r *http.Request, _ string) {
		defer close(gone)
		say(w, `{"type":"RUN_STARTED","threadId":"th50","runId":"r1"}`)
		_, _ = io.WriteString(w, "data: ")
		for chunk := strings.Repeat("a", 64<<10); r.Context().Err() == nil; sent += len(chunk) {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	})
	if end := last(w.run("", "a", input("th50", "r1", "", user("u1", "hi")))); end.Text("code") != "event_too_large" {
		t.Errorf("ended in %s", end.Raw)
	}
	soon(t, gone, "the upstream is cancelled")
	if sent > 64<<20 {
		t.Errorf("%d bytes were taken of an event of at most 1 MiB", sent)
	}
}

// F050: a snapshot over the limit is refused by name.
func TestF050SnapshotOverLimit(t *testing.T) {
	s, w := beginFraming(t)
	var all []string
	for i := range 12 {
		all = append(all, user(fmt.Sprint("m", i), strings.Repeat("x", 100<<10)))
	}
	s.plays("th50b", frames("r1", `{"type":"MESSAGES_SNAPSHOT","messages":[`+strings.Join(all, ",")+`]}`))
	got := w.post("a", input("th50b", "r1", "", user("u1", "hi")))
	if end := last(w.events(got.body)); end.Text("code") != "event_too_large" || strings.Contains(got.body, "xxxx") {
		t.Errorf("ended in %s", end.Raw)
	}
}

// F052: keepalives stand between whole frames.
func TestF052Keepalives(t *testing.T) {
	s, w := beginFraming(t)
	goOn := make(chan struct{})
	s.plays("th52", func(w http.ResponseWriter, r *http.Request, _ string) {
		say(w, `{"type":"RUN_STARTED","threadId":"th52","runId":"r1"}`)
		_, _ = io.WriteString(w, `data: {"type":"CUSTOM","name":"half`) // half an event, and silence
		w.(http.Flusher).Flush()
		<-goOn
		_, _ = io.WriteString(w, "\",\"value\":1}\n\nid: 7\n: ping\n\nevent: ping\ndata:\n\n")
		say(w, `{"type":"RUN_FINISHED","threadId":"th52","runId":"r1"}`)
	})
	// Of a reader with ids, who comes in the middle, too.
	plain := w.reading(call{method: "POST", path: "/agents/a/run", body: input("th52", "r1", "", user("u1", "hi"))})
	plain.has("RUN_STARTED")
	marked := w.reading(call{method: "POST", path: "/agents/a/connect", body: input("th52", "c1", "")})
	eventually(t, "silence is filled", func() bool {
		return strings.Count(plain.String(), agui.KeepAlive) > 1 && strings.Count(marked.String(), agui.KeepAlive) > 1
	})
	close(goOn)
	for i, r := range []*reading{plain, marked} {
		r.whole()
		body := r.String()
		w.events(body)
		pings := 0
		for b := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
			switch ls := strings.Split(b, "\n"); {
			case b == ": keep-alive":
				pings++
			case i == 0 && len(ls) == 1 && strings.HasPrefix(b, "data: {"):
			case i == 1 && len(ls) == 2 && strings.HasPrefix(ls[0], "id: ") && strings.HasPrefix(ls[1], "data: {"):
			default:
				t.Errorf("reader %d: a frame is %q", i, b)
			}
		}
		if pings == 0 {
			t.Errorf("reader %d: no silence was filled in %q", i, body)
		}
	}
}
