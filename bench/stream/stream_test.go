package stream

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

var run = Input{ThreadID: "t \"1\"", RunID: "r1"}

func whole(s Spec, stamp int64) []byte {
	b := AppendOpening(nil, run)
	for i := range s.Events {
		b = AppendContent(b, i, stamp, s.Delta)
	}
	return AppendClosing(b, run)
}

func check(s Spec, body []byte, piece int) (*Checker, error) {
	c := NewChecker(s)
	for len(body) > 0 {
		n := min(piece, len(body))
		if err := c.Feed(body[:n], time.Unix(0, 2000)); err != nil {
			return c, err
		}
		body = body[n:]
	}
	return c, c.Close()
}

func TestCheckerTakesTheStreamInAnyPieces(t *testing.T) {
	s := Spec{Events: 20, Delta: 40}
	body := whole(s, 1500)
	for _, piece := range []int{1, 2, 3, 7, 100, len(body)} {
		c, err := check(s, body, piece)
		if err != nil {
			t.Fatalf("pieces of %d: %v", piece, err)
		}
		if c.Events() != 24 || len(c.Delays()) != 20 || c.Delays()[19] != 500 {
			t.Fatalf("pieces of %d: %d events, delays %v", piece, c.Events(), c.Delays())
		}
	}
}

func TestCheckerRefusesWhatIsNotTheStream(t *testing.T) {
	s := Spec{Events: 3, Delta: 32}
	good := string(whole(s, 0))
	second := string(AppendContent(nil, 1, 0, s.Delta))
	for name, body := range map[string]string{
		"lost frame":     strings.Replace(good, second, "", 1),
		"frame twice":    strings.Replace(good, second, second+second, 1),
		"changed byte":   strings.Replace(good, "00000002", "00000009", 1),
		"changed filler": strings.Replace(good, "d", "D", 200),
		"no end":         strings.TrimSuffix(good, string(AppendClosing(nil, run))),
		"cut frame":      good[:len(good)-1],
		"more after end": good + messageEnd,
		"empty":          "",
		"error":          "data: {\"type\":\"RUN_ERROR\",\"message\":\"no\"}\n\n",
	} {
		if _, err := check(s, []byte(body), len(body)+1); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestCheckerSkipsKeepalive(t *testing.T) {
	s := Spec{Events: 2, Delta: 32}
	body := bytes.ReplaceAll(whole(s, 0), []byte("\n\n"), []byte("\n\n: keep-alive\n\n"))
	if _, err := check(s, body, 5); err != nil {
		t.Fatal(err)
	}
}

func TestParse(t *testing.T) {
	want := Spec{Events: 7, Delta: 32, Group: 1, Pause: 10 * time.Millisecond, Hold: time.Second}
	if got, err := Parse(want.Query()); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := Parse(""); err != nil || got != (Spec{Delta: MinDelta}) {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, query := range []string{"events=-1", "events=x", "events=10000001", "delta=5", "group=-1", "pause=x", "pause=-1s", "hold=2m", "%"} {
		if s, err := Parse(query); err == nil {
			t.Errorf("%q is %+v", query, s)
		}
	}
}

func TestAppendChunk(t *testing.T) {
	if got := string(AppendChunk(nil, []byte("hello, chunked world"))); got != "14\r\nhello, chunked world\r\n" {
		t.Fatalf("%q", got)
	}
}
