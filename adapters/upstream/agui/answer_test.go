package agui

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aguigate/aguigate/adapters/upstream"
	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// What of a backend's error reaches a client: a JSON error's own sentence, cut,
// on one line; nothing of HTML [ERR-3].
func TestRefusal(t *testing.T) {
	for _, c := range []struct{ kind, body, retry, want string }{
		{"application/json", `{"error":"busy"}`, "", "the agent answered with HTTP status 503: busy"},
		{"application/json; charset=utf-8", `{"error":{"message":"a\nb"}}`, "7", "the agent answered with HTTP status 503: a b (retry after 7)"},
		{"application/problem+json", `{"detail":"d"}`, "", "the agent answered with HTTP status 503: d"},
		{"application/json", `{"message":`, "", "the agent answered with HTTP status 503"},
		{"application/json", `{"error":[1]}`, "", "the agent answered with HTTP status 503"},
		{"text/html", `<h1>boom</h1>`, "", "the agent answered with HTTP status 503"},
		{"", `boom`, "\x7f", "the agent answered with HTTP status 503"},
	} {
		res := &http.Response{StatusCode: 503, Header: http.Header{"Content-Type": {c.kind}, "Retry-After": {c.retry}}, Body: io.NopCloser(strings.NewReader(c.body))}
		err := refusal(res)
		if f := fault.From(err); f.Code != "upstream_http_503" || f.Message != c.want {
			t.Errorf("%s %s: %s %q, want %q", c.kind, c.body, f.Code, f.Message, c.want)
		}
	}
	long := &http.Response{StatusCode: 500, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"error":"` + strings.Repeat("é", 800) + `"}`))}
	if m := fault.From(refusal(long)).Message; len(m) > 600 || strings.Contains(m, "\ufffd") {
		t.Errorf("a long message was not cut cleanly: %d bytes", len(m))
	}
}

func ask(t *testing.T, o upstream.Options, handler http.HandlerFunc) ([]agui.Frame, error) {
	t.Helper()
	s := httptest.NewServer(handler)
	defer s.Close()
	o.URL, o.EventLimit = s.URL, 1<<20
	u, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	st, err := u.Run(context.Background(), &upstream.RunRequest{Input: &agui.Input{ThreadID: "t", RunID: "r"}})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	var all, frames []agui.Frame
	for {
		if frames, err = st.Next(frames[:0]); len(frames) > 0 {
			for _, f := range frames {
				all = append(all, agui.Frame{Type: f.Type, Raw: bytes.Clone(f.Raw)})
			}
		}
		if err != nil {
			return all, err
		}
	}
}

// A backend that compresses although identity was asked for is read as it comes
// (F068).
func TestGzip(t *testing.T) {
	first := make(chan struct{})
	frames, err := ask(t, upstream.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}`+"\n\n")
		_ = z.Flush()
		w.(http.Flusher).Flush()
		close(first)
		_, _ = io.WriteString(z, `data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}`+"\n\n")
		_ = z.Close()
	})
	<-first
	if err != io.EOF || len(frames) != 2 {
		t.Errorf("%d frames, %v", len(frames), err)
	}
	_, err = ask(t, upstream.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "br")
	})
	if fault.CodeOf(err) != fault.UpstreamProtocolError {
		t.Errorf("an unknown compression: %v", err)
	}
}

// A burst far larger than a read buffer arrives whole, in order, each frame as it
// was.
func TestLargeBurst(t *testing.T) {
	const n = 5000
	frames, err := ask(t, upstream.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range n {
			_, _ = io.WriteString(w, `data: {"type":"CUSTOM","name":"n","value":"`+strings.Repeat(string(rune('a'+i%26)), i%300)+`"}`+"\n\n")
		}
	})
	if err != io.EOF || len(frames) != n {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	for i, f := range frames {
		if want := `{"type":"CUSTOM","name":"n","value":"` + strings.Repeat(string(rune('a'+i%26)), i%300) + `"}`; string(f.Raw) != want {
			t.Fatalf("frame %d is %s, want %s", i, f.Raw, want)
		}
	}
}

// Parts go to a 0.0 server as text [INV-7, F084]; to a 1.0 server as they are.
func TestPartsPerProtocol(t *testing.T) {
	const parts = `[{"type":"text","text":"see"},{"type":"image","source":{"type":"url","value":"https://x/y.png"}}]`
	for protocol, want := range map[string]string{
		"0.0": `"content":"see\n{\"type\":\"image\",\"source\":{\"type\":\"url\",\"value\":\"https://x/y.png\"}}"`,
		"1.0": `"content":` + parts,
	} {
		var got string
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got = string(b)
		}))
		u, _ := New(upstream.Options{URL: s.URL, Protocol: protocol, EventLimit: 1 << 20})
		in := &agui.Input{ThreadID: "t", RunID: "r", Messages: []agui.Message{agui.NewToolMessage("m", "c", []byte(parts), "")}}
		_, _ = u.Run(context.Background(), &upstream.RunRequest{Input: in})
		s.Close()
		if !strings.Contains(got, want) {
			t.Errorf("%s got %s, want %s", protocol, got, want)
		}
	}
}

// Sent is told once, before the body goes out; its error stops the request.
func TestSent(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer s.Close()
	u, _ := New(upstream.Options{URL: s.URL, EventLimit: 1 << 20})
	told := 0
	no := fault.New(fault.StoreUnavailable, "no")
	_, err := u.Run(context.Background(), &upstream.RunRequest{Input: &agui.Input{ThreadID: "t", RunID: "r"}, Sent: func(context.Context) error { told++; return no }})
	if !errors.Is(err, no) || told != 1 {
		t.Errorf("told %d times, %v", told, err)
	}
	time.Sleep(20 * time.Millisecond)
	if asked != 0 {
		t.Error("the request went out although it must not")
	}
}
