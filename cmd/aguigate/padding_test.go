package main

import (
	"bufio"
	"strings"
	"testing"
)

// The comment that fills silence is as long as the configuration says, in a line of
// its own [RUN-9].
func TestKeepAlivePadding(t *testing.T) {
	up, more := slowly(t)
	w := begin(t, patient(up.URL, "    keepalive: 20ms\n    keepalive_padding: 2KiB\n"))
	res, err := w.open(call{method: "POST", path: "/agents/a/run", body: input("th1", "r1", "", user("u1", "x"))})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), ":") {
	}
	if got := lines.Text(); !strings.HasPrefix(got, ": keep-alive ") || len(got) < 2048 {
		t.Errorf("the comment is %d bytes: %.40s", len(got), got)
	}
	if lines.Scan(); lines.Text() != "" {
		t.Errorf("behind it comes %q", lines.Text())
	}
	more <- struct{}{}
}
