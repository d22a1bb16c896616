package tool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/fault"
)

var limits = Limits{Result: 1 << 16, ErrorChars: 1000}

func text(s string) *Settlement   { return made(FormText, s) }
func jsonOf(s string) *Settlement { return made(FormJSON, s) }

func made(form Form, content string) *Settlement {
	s, err := NewResult(form, []byte(content), limits)
	if err != nil {
		panic(err)
	}
	return s
}

func failure(model string) *Settlement { return NewFailure(model, "", "", false, limits) }

// INV-3, across doors.
func TestSame(t *testing.T) {
	const picture = `[{"type":"text","text":"see"},{"type":"image","source":{"type":"url","value":"https://x/y.png"}}]`
	for _, c := range []struct {
		name string
		a, b *Settlement
		want bool
	}{
		{"the same text", text("blue"), text("blue"), true},
		{"another text", text("blue"), text("green"), false},
		{"text with a blank more", text("blue"), text("blue "), false},
		{"JSON in other blanks, order and numbers", jsonOf(`{"a":1.0,"b":[true]}`), jsonOf(` { "b":[true], "\u0061":10e-1 }`), true},
		{"JSON of another value", jsonOf(`{"a":1}`), jsonOf(`{"a":2}`), false},
		{"JSON lists in another order", jsonOf(`[1,2]`), jsonOf(`[2,1]`), false},
		{"numbers past what a float holds", jsonOf(`1152921504606846976`), jsonOf(`1152921504606846977`), false},
		{"1 and \"1\" by REST", jsonOf(`1`), jsonOf(`"1"`), false},
		{"null and the empty string by REST", jsonOf(`null`), jsonOf(`""`), false},
		{"null and nothing by REST", jsonOf(`null`), jsonOf(``), true},
		{"a JSON string and the text", jsonOf(`"x"`), text("x"), true},
		{"a JSON string in escapes and the text", jsonOf(`"\u00e9"`), text("é"), true},
		{"a JSON string and the text with quotes", jsonOf(`"x"`), text(`"x"`), false},
		{"JSON and the text that is this JSON", jsonOf(`{"a":1}`), text(`{"a": 1.0}`), true},
		{"JSON and the text that is another", jsonOf(`{"a":1}`), text(`{"a":2}`), false},
		{"a number and the text", jsonOf(`42`), text("42"), true},
		{"true and the text", jsonOf(`true`), text("true"), true},
		{"null and the empty text", jsonOf(`null`), text(""), true},
		{"null and the text null", jsonOf(`null`), text("null"), true},
		{"two texts that are JSON", text(`{"a":1,"b":2}`), text(`{"b":2,"a":1}`), true},
		{"two texts that begin like JSON", text(`{"a":1`), text(`{"a": 1`), false},
		{"the same parts", made(FormParts, picture), made(FormParts, " "+strings.ReplaceAll(picture, ",", " , ")), true},
		{"other parts", made(FormParts, picture), made(FormParts, `[]`), false},
		{"parts and what a client without parts was shown", made(FormParts, picture), text("see\n" + `{"type":"image","source":{"type":"url","value":"https://x/y.png"}}`), true},
		{"parts and another text", made(FormParts, picture), text("see"), false},
		{"a JSON list and parts", jsonOf(picture), made(FormParts, picture), false},
		{"a success and a failure", text("no"), failure("no"), false},
		{"the same failure by another door", NewFailure("no", "tool_error", "stack", false, limits), failure("no"), true},
		{"another failure", failure("no"), failure("never"), false},
		{"a failure and a refusal", failure("no"), NewDenied("no", limits), false},
		{"a refusal and no answer", NewDenied("no", limits), NewInDoubt("no", "", limits), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.a.Same(c.b); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if got := c.a.Digest == c.b.Digest; c.want && !got && c.a.Form == c.b.Form {
				t.Errorf("the digests differ: %s and %s", c.a.Digest, c.b.Digest)
			}
			if !c.a.Same(c.a) || !c.b.Same(c.b) {
				t.Error("an answer is not the same as itself")
			}
		})
	}
}

func TestDigest(t *testing.T) {
	s := text("blue")
	if s.Digest != s.SumDigest() || len(s.Digest) != 64 || s.Digest != DigestText("blue") {
		t.Errorf("digest %q, sum %q, of the text %q", s.Digest, s.SumDigest(), DigestText("blue"))
	}
	s.By, s.Door = "ann", "rest"
	if s.SumDigest() != s.Digest {
		t.Error("who gave it, and where, is part of the digest")
	}
}

// INV-7.
func TestStringWire(t *testing.T) {
	data := strings.Repeat("iVBO", 1000)
	for _, c := range []struct {
		name string
		s    *Settlement
		want string
	}{
		{"text", text("Oslo\n\u00a0é"), "Oslo\n\u00a0é"},
		{"text that is JSON", text(`{ "city" : "Oslo" }`), `{ "city" : "Oslo" }`},
		{"text of a JSON string keeps its quotes", text(`"x"`), `"x"`},
		{"no text", text(""), ""},
		{"JSON as written", jsonOf(`{ "n": 1.0, "big":1152921504606846976, "e":"\u00e9" }`), `{ "n": 1.0, "big":1152921504606846976, "e":"\u00e9" }`},
		{"a JSON string", jsonOf(` "a\"b\u00e9" `), `a"bé`},
		{"a number", jsonOf(`1.0`), `1.0`},
		{"false", jsonOf(`false`), `false`},
		{"null", jsonOf(`null`), ``},
		{"null in blanks", jsonOf(" null\n"), ``},
		{"nothing", jsonOf(``), ``},
		{"text parts", made(FormParts, `[{"type":"text","text":"a"},{"type":"text","text":"\u00e9"}]`), "a\né"},
		{"no parts", made(FormParts, `[]`), ""},
		{"a medium by address", made(FormParts, `[{"type":"text","text":"see"}, {"type":"image","source":{"type":"url", "value":"https://x/y.png"}}]`),
			"see\n" + `{"type":"image","source":{"type":"url", "value":"https://x/y.png"}}`},
		{"a medium with its data", made(FormParts, `[{"type":"image","id":"p1","source":{"type":"data","value":"`+data+`","mimeType":"image/png"},"metadata":{"x":1}}]`),
			`{"type":"image","id":"p1","source":{"type":"data","mimeType":"image/png","omitted":true}}`},
		{"a medium that is nothing but data", made(FormParts, `[{"source":{"type":"data","value":"`+data+`"}}]`), `{"source":{"type":"data","omitted":true}}`},
		{"the older binary part", made(FormParts, `[{"type":"binary","mimeType":"image/png","filename":"a\"b","data":"`+data+`"}]`),
			`{"type":"binary","mimeType":"image/png","filename":"a\"b","omitted":true}`},
		{"a binary part by address", made(FormParts, `[{"type":"binary","mimeType":"image/png","url":"https://x/"}]`), `{"type":"binary","mimeType":"image/png","url":"https://x/"}`},
		{"something else", made(FormParts, `["a",{"type":"note"}]`), "\"a\"\n" + `{"type":"note"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.s.StringWire(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for _, other := range []string{``, `{"a":1}`, `[1`, `plain`} {
		if got := PartsText([]byte(other)); got != other {
			t.Errorf("%q, which is no list of parts, becomes %q", other, got)
		}
	}
}

func TestNewResult(t *testing.T) {
	for _, c := range []struct {
		name    string
		form    Form
		content string
		code    fault.Code
	}{
		{"text of the largest size", FormText, strings.Repeat("x", 1<<16), ""},
		{"text too large", FormText, strings.Repeat("x", 1<<16+1), fault.ResultTooLarge},
		{"JSON too large", FormJSON, `"` + strings.Repeat("x", 1<<16) + `"`, fault.ResultTooLarge},
		{"parts too large", FormParts, `["` + strings.Repeat("x", 1<<16) + `"]`, fault.ResultTooLarge},
		{"JSON that is none", FormJSON, `{"a":`, fault.InvalidResult},
		{"two JSON values", FormJSON, `1 2`, fault.InvalidResult},
		{"undefined", FormJSON, ``, ""},
		{"parts that are none", FormParts, `[`, fault.InvalidResult},
		{"parts that are no list", FormParts, `{"type":"text","text":"x"}`, fault.InvalidResult},
		{"no parts at all", FormParts, ``, fault.InvalidResult},
		{"another form", "xml", `<a/>`, fault.InvalidResult},
		{"no form", "", `x`, fault.InvalidResult},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := NewResult(c.form, []byte(c.content), limits)
			if c.code != "" {
				refused(t, err, c.code, "")
				return
			}
			if err != nil || s.Outcome != OK || s.Content != c.content || s.Form != c.form {
				t.Errorf("got %+v, %v", s, err)
			}
		})
	}
	if s, err := NewResult(FormText, []byte("a\xffb"), Limits{}); err != nil || s.Content != "a\uFFFDb" {
		t.Errorf("bytes that are no text become %q, %v", s.Content, err)
	}
	big := []byte(strings.Repeat("x", 1<<20))
	if _, err := NewResult(FormText, big, Limits{}); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

// INV-6, INV-8, APPR-1.
func TestErrorText(t *testing.T) {
	long := strings.Repeat("é", 1500)
	f := NewFailure(long, strings.Repeat("c", 200), strings.Repeat("p", 5000), true, limits)
	for what, n := range map[string]int{f.ErrorText(): 1000, f.Error.Private: 4000, f.Error.Class: 100} {
		if got := len([]rune(what)); got != n {
			t.Errorf("%.10s… has %d code points, want %d", what, got, n)
		}
	}
	for _, c := range []struct {
		s    *Settlement
		want string
	}{
		{failure("no such file"), "no such file"},
		{failure(""), "The tool failed."},
		{failure("a\xffb"), "a\uFFFDb"},
		{NewDenied("", limits), "The user refused this tool call."},
		{NewDenied("not today", limits), "not today"},
		{NewInDoubt("", "", limits), "It is not known whether this tool ran. Check before trying again."},
		{&Settlement{Outcome: Failed}, "The tool failed."},
		{&Settlement{Outcome: Denied}, "The user refused this tool call."},
		{&Settlement{Outcome: InDoubt}, "It is not known whether this tool ran. Check before trying again."},
	} {
		if got := c.s.ErrorText(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.s.Outcome, got, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 0, "abc"}, {"abc", 3, "abc"}, {"abc", 2, "ab"}, {"éàü", 2, "éà"}, {"éàü", 3, "éàü"}, {"éàü", 5, "éàü"}, {"", 1, ""}, {"😀😀", 1, "😀"}} {
		if got := cut(c.s, c.n); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

// FuzzSame looks for two spellings of an answer that are two, or a record that is
// not the answer any more after it was stored.
func FuzzSame(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `"x"`, ``, `null`, `[{"type":"text","text":"x"}]`, `[{"source":{"type":"data"}}]`, `1e400`, "a\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, form := range []Form{FormText, FormJSON, FormParts} {
			s, err := NewResult(form, content, Limits{})
			if err != nil {
				continue
			}
			if !s.Same(s) || s.Digest != s.SumDigest() {
				t.Fatalf("%s %q is not itself", form, content)
			}
			wire, err := NewResult(FormText, []byte(s.StringWire()), Limits{})
			if err != nil || !s.Same(wire) {
				t.Fatalf("%s %q is shown as %q, which is another answer (%v)", form, content, s.StringWire(), err)
			}
			if form == FormText && s.StringWire() != strings.ToValidUTF8(string(content), "\uFFFD") {
				t.Fatalf("the text %q is shown as %q", content, s.StringWire())
			}
		}
	})
}

func Example() {
	var r Round
	_ = r.Open(Invocation{ID: "inv_1", CallID: "c1", ShownID: "c1", Tool: "pick", Arguments: "{}"}, at(0))
	first, _ := NewResult(FormJSON, []byte(`{"colour":"blue"}`), Limits{})
	v, _ := r.Settle("c1", 0, first, at(1))
	fmt.Println(v.Invocation.State, v.Complete)
	again, _ := NewResult(FormText, []byte(`{ "colour": "blue" }`), Limits{})
	v, _ = r.Settle("inv_1", 0, again, at(2))
	fmt.Println(v.Replayed)
	other, _ := NewResult(FormText, []byte(`red`), Limits{})
	_, err := r.Settle("inv_1", 0, other, at(3))
	fmt.Println(fault.CodeOf(err))
	// Output:
	// settled true
	// true
	// action_result_conflict
}
