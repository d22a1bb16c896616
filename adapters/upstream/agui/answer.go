package agui

import (
	"bufio"
	"compress/gzip"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aguigate/aguigate/protocol/agui/wire"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// errorBody is how much of a backend's error body is read and may be shown
// [ERR-3].
const errorBody = 2 << 10

// events gives the body of an answer that is an event stream, or the fault that
// it is not one.
func (u *Upstream) events(res *http.Response) (io.Reader, error) {
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, refusal(res)
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || kind != "text/event-stream" && (kind != wire.MediaType || u.opts.Encoding != "protobuf") {
		return nil, fault.New(fault.UpstreamProtocolError, "the agent answered with %s instead of an event stream", shortType(kind))
	}
	return decoded(res)
}

// packed reports an answer in protobuf.
func packed(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind == wire.MediaType
}

func shortType(kind string) string {
	if kind == "" || len(kind) > 64 {
		return "no known content type"
	}
	return kind
}

// decoded unpacks a body that was compressed although identity was asked for
// (F068). gzip can be read as it comes.
func decoded(res *http.Response) (io.Reader, error) {
	switch enc := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); enc {
	case "", "identity":
		return res.Body, nil
	case "gzip", "x-gzip":
		return &lazyGzip{src: res.Body}, nil
	}
	return nil, fault.New(fault.UpstreamProtocolError, "the agent compresses its events in a way that was not asked for")
}

// lazyGzip does not wait for the first compressed byte before it is needed.
type lazyGzip struct {
	src io.Reader
	zip *gzip.Reader
}

func (l *lazyGzip) Read(p []byte) (int, error) {
	if l.zip == nil {
		z, err := gzip.NewReader(bufio.NewReader(l.src))
		if err != nil {
			return 0, err
		}
		l.zip = z
	}
	return l.zip.Read(p)
}

// refusal is the fault of an answer with an error status. HTML is never passed
// on; a JSON error's own message is, cut short.
func refusal(res *http.Response) error {
	f := fault.New(fault.UpstreamHTTP(res.StatusCode), "the agent answered with HTTP status %d", res.StatusCode)
	body, _ := io.ReadAll(io.LimitReader(res.Body, errorBody))
	if said := message(res.Header.Get("Content-Type"), body); said != "" {
		f.Message += ": " + said
	}
	if after := res.Header.Get("Retry-After"); after != "" && len(after) <= 32 && !strings.ContainsFunc(after, notPlain) {
		f.Message += " (retry after " + after + ")"
	}
	return f
}

func notPlain(r rune) bool { return r < ' ' || r > '~' }

// message finds the sentence in a backend's error body: {"error":…},
// {"error":{"message":…}}, {"message":…} and {"detail":…} are common.
func message(contentType string, body []byte) string {
	kind, _, _ := mime.ParseMediaType(contentType)
	if !strings.HasSuffix(kind, "json") {
		return ""
	}
	obj, err := strictjson.ParseObject(body)
	if err != nil {
		return ""
	}
	for _, key := range []string{"error", "message", "detail"} {
		switch raw := obj.Get(key); strictjson.KindOf(raw) {
		case strictjson.Str:
			s, _ := strictjson.StringOf(raw)
			return oneLine(s)
		case strictjson.Object:
			if in, err := strictjson.ObjectOf(raw); err == nil {
				s, _ := strictjson.StringOf(in.Get("message"))
				return oneLine(s)
			}
		}
	}
	return ""
}

// oneLine keeps a foreign sentence short and on one line.
func oneLine(s string) string {
	const limit = 500
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= limit {
		return s
	}
	s = s[:limit]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
