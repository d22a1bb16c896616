package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestSkipPlain puts each kind of byte at each place of a text longer than the
// words the scan takes at a time, behind and before bytes that look like it.
func TestSkipPlain(t *testing.T) {
	for c := range 256 {
		stops := c < 0x20 || c == '"' || c == '\\'
		for at := range 20 {
			for _, around := range []byte{' ', '!', '#', '[', ']', 0x7F, 0x80, 0xA2, 0xDC, 0xFF} {
				text := bytes.Repeat([]byte{around}, 21)
				text[at] = byte(c)
				want := len(text)
				if stops {
					want = at
				}
				if got := skipPlain(text, 0); got != want {
					t.Fatalf("%q stops at %d, want %d", text, got, want)
				}
			}
		}
	}
}

func TestSkipPlainFindsTheFirst(t *testing.T) {
	marks := []byte{0, 0x1F, '"', '\\', '\n'}
	for first := range 16 {
		for second := first + 1; second < 17; second++ {
			for _, a := range marks {
				for _, b := range marks {
					text := []byte(strings.Repeat("x", 17))
					text[first], text[second] = a, b
					if got := skipPlain(text, 0); got != first {
						t.Fatalf("%q stops at %d, want %d", text, got, first)
					}
				}
			}
		}
	}
}

// TestStringsOfAnyLength has the closing quote, an escape and a fault at each
// distance from the end of the text.
func TestStringsOfAnyLength(t *testing.T) {
	for n := range 40 {
		in := strings.Repeat("a", n)
		for text, want := range map[string]error{
			`"` + in + `"`:                     nil,
			`["` + in + `\n` + in + `"]`:       nil,
			`"` + in + `\u00e9"`:               nil,
			`"` + in:                           ErrSyntax,
			`"` + in + `\`:                     ErrSyntax,
			`"` + in + `\"`:                    ErrSyntax,
			`"` + in + `\u00e`:                 ErrSyntax,
			`"` + in + `\u00eg"`:               ErrSyntax,
			`"` + in + "\x1f" + in + `"`:       ErrSyntax,
			`"` + in + `" "`:                   ErrSyntax,
			`{"` + in + `":1,"b` + in + `":2}`: nil,
		} {
			if err := Check([]byte(text)); !errors.Is(err, want) {
				t.Errorf("Check(%q) gives %v, want %v", text, err, want)
			}
			if got := json.Valid([]byte(text)); got != (want == nil) {
				t.Errorf("the standard library finds %q valid: %v", text, got)
			}
		}
	}
}

// TestStringOfUnchecked gives StringOf what Check would have refused.
func TestStringOfUnchecked(t *testing.T) {
	for _, text := range []string{`"\"`, `"`, `"\`, `"\u`, `"\u12"`, `"\u123`, `"\ud83d\u"`, `"\x"`, `"a" 1`, `"a""b"`, "\"a\nb\""} {
		if got, err := StringOf([]byte(text)); !errors.Is(err, ErrSyntax) || got != "" {
			t.Errorf("StringOf(%s) = %q, %v; want a syntax error", text, got, err)
		}
	}
	for _, text := range []string{``, ` `, `1`, `null`, `{}`, `'a'`} {
		if got, err := StringOf([]byte(text)); !errors.Is(err, ErrType) || got != "" {
			t.Errorf("StringOf(%s) = %q, %v; want a type error", text, got, err)
		}
	}
}

func TestWalk(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{`{}`, ``}, {`[]`, ``}, {` { } `, ``}, {`1`, ``}, {`"a"`, ``}, {``, ``},
		{`{"a":1}`, `a=1;`},
		{` { "a" : { "b" : [ 1 ] } , "c\n" : "}" } `, `a={ "b" : [ 1 ] };c\n!="}";`},
		{`{"\u0061":null,"":""}`, `\u0061!=null;="";`},
		{"[\n1 ,\t[2,3] , {} ]", `1;[2,3];{};`},
		// Unchecked text ends the walk where it stops being JSON.
		{`{"a":1,`, `a=1;`}, {`{"a":1 "b":2}`, `a=1;b=2;`}, {`{"a"}`, ``}, {`{a:1}`, ``}, {`{"a`, ``}, {`[1,]`, `1;`}, {`[1`, `1;`},
	} {
		var got strings.Builder
		it := Walk([]byte(c.text))
		for {
			key, value, escaped, ok := it.Next()
			if !ok {
				break
			}
			got.Write(key)
			if escaped {
				got.WriteByte('!')
			}
			if key != nil {
				got.WriteByte('=')
			}
			fmt.Fprintf(&got, "%s;", value)
		}
		if got.String() != c.want {
			t.Errorf("Walk(%s) gives %s, want %s", c.text, got.String(), c.want)
		}
		if _, _, _, ok := it.Next(); ok {
			t.Errorf("Walk(%s) goes on after its end", c.text)
		}
	}
}

// FuzzObject walks whatever it is given, checked or not: it never panics, it
// ends, and what it gives of a checked text is checked as well.
func FuzzObject(f *testing.F) {
	seeds(f)
	f.Add([]byte(`{"a\u0062":{"c":[1,"\ud800"]},"d" : 2 }`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = StringOf(b)
		valid := Valid(b)
		it, n := Walk(b), 0
		for {
			key, value, escaped, ok := it.Next()
			if !ok {
				break
			}
			if n++; n > len(b) {
				t.Fatalf("the walk of %q does not end", b)
			}
			if !valid {
				continue
			}
			if !Valid(value) {
				t.Fatalf("%q holds the value %q", b, value)
			}
			if quoted := append(append([]byte{'"'}, key...), '"'); key != nil && (!Valid(quoted) || escaped != bytes.Contains(key, []byte{'\\'})) {
				t.Fatalf("%q holds the key %q, escaped %v", b, key, escaped)
			}
		}
		switch m, err := ParseObject(b); {
		case err == nil && (len(m) != n || !valid || KindOf(b) != Object):
			t.Fatalf("ParseObject(%q) gives %d members, the walk %d", b, len(m), n)
		case err != nil && valid && KindOf(b) == Object && !errors.Is(err, ErrDuplicate):
			t.Fatalf("ParseObject(%q) gives %v", b, err)
		}
		if !valid || KindOf(b) != Object {
			return
		}
		var decoded map[string]json.RawMessage
		if json.Unmarshal(b, &decoded) != nil {
			t.Fatalf("the standard library does not read %q", b)
		}
		if m, err := ParseObject(b); err == nil {
			for _, kv := range m {
				if !bytes.Equal(bytes.TrimSpace(decoded[kv.Key]), kv.Raw) {
					t.Fatalf("%q has %s for %q, want %s", b, kv.Raw, kv.Key, decoded[kv.Key])
				}
			}
		}
	})
}
