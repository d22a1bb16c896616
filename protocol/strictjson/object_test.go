package strictjson

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseObject(t *testing.T) {
	got, err := ParseObject([]byte(` {"b": {"x":1} , "\u0061" :[1, 2],"c":"d"} `))
	want := Members{{"b", []byte(`{"x":1}`)}, {"a", []byte(`[1, 2]`)}, {"c", []byte(`"d"`)}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if v := got.Get("a"); string(v) != `[1, 2]` {
		t.Errorf("a is %s", v)
	}
	if v := got.Get("x"); v != nil {
		t.Errorf("x is %s, want nothing", v)
	}
}

func TestParseObjectRefuses(t *testing.T) {
	many := func(last string) string {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return "{" + b.String() + `"` + last + `":0}`
	}
	for _, c := range []struct {
		text string
		want error
	}{
		{`{"a":1,"a":2}`, ErrDuplicate},
		{`{"a":1,"\u0061":2}`, ErrDuplicate},
		{many("k7"), ErrDuplicate},
		{many(`\u006b7`), ErrDuplicate},
		{many("k40"), nil},
		{`{"a":{"x":1,"x":2}}`, nil}, // not looked into
		{`[1]`, ErrType}, {`"a"`, ErrType}, {`null`, ErrType},
		{`{"a":1`, ErrSyntax}, {``, ErrSyntax},
	} {
		if _, err := ParseObject([]byte(c.text)); !errors.Is(err, c.want) {
			t.Errorf("ParseObject(%.40s…) gives %v, want %v", c.text, err, c.want)
		}
	}
	_, err := ParseObject([]byte(`{"` + strings.Repeat("é", 60) + `":1,"` + strings.Repeat("é", 60) + `":1}`))
	if want := `duplicate key "` + strings.Repeat("é", 32) + `…"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestArrayOf(t *testing.T) {
	got, err := ArrayOf([]byte(` [ 1 , "a,]" , [2,[3]] ] `))
	if diff := cmp.Diff([][]byte{[]byte(`1`), []byte(`"a,]"`), []byte(`[2,[3]]`)}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := ArrayOf([]byte(`[]`)); len(got) != 0 || err != nil {
		t.Errorf("an empty list gives %q, %v", got, err)
	}
	if _, err := ArrayOf([]byte(`{}`)); !errors.Is(err, ErrType) {
		t.Errorf("an object gives %v", err)
	}
}

func TestStringOf(t *testing.T) {
	for text, want := range map[string]string{
		`"a"`: "a", ` "a\"b" `: `a"b`, `"\ud83d\ude00"`: "😀", `"\ud83dx"`: "\uFFFDx", `"\u0041\/\b\f\n\r\t\\"`: "A/\b\f\n\r\t\\", `""`: "",
	} {
		if got, err := StringOf([]byte(text)); got != want || err != nil {
			t.Errorf("StringOf(%s) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{``, `1`, `null`, `["a"]`, `"a`} {
		if got, err := StringOf([]byte(text)); err == nil {
			t.Errorf("StringOf(%s) = %q, want an error", text, got)
		}
	}
}

func TestAppendString(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `""`,
		"plain é 😀":            `"plain é 😀"`,
		"\"\\/":                `"\"\\/"`,
		"\x00\x1f\n\r\t\b":     `"\u0000\u001f\n\r\t\u0008"`,
		"a\u2028b\u2029c":      `"a\u2028b\u2029c"`,
		"a\xffb\xed\xa0\x80":   `"a` + "\uFFFDb\uFFFD\uFFFD\uFFFD" + `"`,
		"</script>\x7f&'":      "\"</script>\x7f&'\"",
		strings.Repeat("x", 3): `"xxx"`,
	} {
		if got := string(Quote(text)); got != want {
			t.Errorf("Quote(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestMisspelt(t *testing.T) {
	protocol := []string{"threadId", "tool_calls", "id"}
	for key, want := range map[string]string{
		"threadId": "", "ThreadID": "threadId", "thread_id": "threadId", "thread-Id": "threadId", "thread.id": "threadId",
		"tool_calls": "", "toolCalls": "tool_calls", "tool calls": "tool_calls", "ID": "id", "idea": "", "x": "",
		"tool_call\u017f": "tool_calls", // the long s folds to s
	} {
		got, right, found := Misspelt(Members{{Key: "other"}, {Key: key}}, protocol)
		if right != want || found != (want != "") || found && got != key {
			t.Errorf("Misspelt(%q) = %q, %q, %v; want %q", key, got, right, found, want)
		}
	}
}

func TestKindString(t *testing.T) {
	for k, want := range map[Kind]string{Invalid: "nothing", Null: "null", Bool: "a boolean", Number: "a number", Str: "a string", Array: "an array", Object: "an object"} {
		if k.String() != want {
			t.Errorf("%d is %q, want %q", k, k, want)
		}
	}
}

// FuzzQuote holds AppendString against StringOf: what is written reads back.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a\"\\\n", "\u2028", "\xff", "😀\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := StringOf(Quote(s))
		want := strings.Map(func(r rune) rune { return r }, s) // invalid bytes become U+FFFD
		if got != want || err != nil || !Valid(Quote(s)) {
			t.Errorf("%q comes back as %q, %v", s, got, err)
		}
	})
}
