package strictjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheck(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		name, text string
		kind       error
		at         int
	}{
		{name: "object", text: `{"a":[1,-0.5e+3,"\u00e9\n",true,false,null],"b":{}}`},
		{name: "blanks around", text: " \t\r\n[ ] \n"},
		{name: "a bare number", text: `0`},
		{name: "largest depth", text: deep(MaxDepth)},
		{name: "one too deep", text: deep(MaxDepth + 1), kind: ErrDepth, at: MaxDepth},
		{name: "brackets that would fill a stack", text: strings.Repeat("[", 1<<20), kind: ErrDepth, at: MaxDepth},
		{name: "deep objects", text: strings.Repeat(`{"a":`, MaxDepth+1) + "1" + strings.Repeat("}", MaxDepth+1), kind: ErrDepth, at: 5 * MaxDepth},
		{name: "nothing", text: ``, kind: ErrSyntax},
		{name: "blanks only", text: `  `, kind: ErrSyntax, at: 2},
		{name: "two values", text: `1 2`, kind: ErrSyntax, at: 2},
		{name: "trailing comma in a list", text: `[1,]`, kind: ErrSyntax, at: 3},
		{name: "trailing comma in an object", text: `{"a":1,}`, kind: ErrSyntax, at: 7},
		{name: "no colon", text: `{"a" 1}`, kind: ErrSyntax, at: 5},
		{name: "key without quotes", text: `{a:1}`, kind: ErrSyntax, at: 1},
		{name: "single quotes", text: `{'a':1}`, kind: ErrSyntax, at: 1},
		{name: "leading zero", text: `01`, kind: ErrSyntax, at: 1},
		{name: "plus sign", text: `+1`, kind: ErrSyntax},
		{name: "no digit after the point", text: `1.`, kind: ErrSyntax, at: 2},
		{name: "no digit before the point", text: `.5`, kind: ErrSyntax},
		{name: "no digit in the exponent", text: `1e`, kind: ErrSyntax, at: 2},
		{name: "a minus alone", text: `-`, kind: ErrSyntax, at: 1},
		{name: "NaN", text: `NaN`, kind: ErrSyntax},
		{name: "word cut short", text: `tru`, kind: ErrSyntax},
		{name: "word in capitals", text: `True`, kind: ErrSyntax},
		{name: "line end in a string", text: "\"a\nb\"", kind: ErrSyntax, at: 2},
		{name: "string without end", text: `"abc`, kind: ErrSyntax, at: 4},
		{name: "unknown escape", text: `"\x41"`, kind: ErrSyntax, at: 2},
		{name: "short escape", text: `"\u12"`, kind: ErrSyntax, at: 2},
		{name: "lone surrogate is valid JSON", text: `"\ud800"`},
		{name: "invalid UTF-8 in a string", text: "\"a\xffb\"", kind: ErrUTF8, at: 2},
		{name: "UTF-8 of a surrogate", text: "\"\xed\xa0\x80\"", kind: ErrUTF8, at: 1},
		{name: "byte order mark", text: "\xef\xbb\xbf1", kind: ErrSyntax},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Check([]byte(c.text))
			if !errors.Is(err, c.kind) {
				t.Fatalf("Check gives %v, want %v", err, c.kind)
			}
			var bad *SyntaxError
			if errors.As(err, &bad) && bad.Offset != c.at {
				t.Errorf("the fault is at byte %d, want %d", bad.Offset, c.at)
			}
			if Valid([]byte(c.text)) != (err == nil) {
				t.Error("Valid and Check disagree")
			}
		})
	}
}

func TestSyntaxErrorText(t *testing.T) {
	if got, want := Check([]byte(`[1,]`)).Error(), "not valid JSON at byte 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// depth counts brackets outside strings; it is only asked about valid JSON.
func depth(b []byte) (most int) {
	now, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch {
		case inString && b[i] == '\\':
			i++
		case b[i] == '"':
			inString = !inString
		case inString:
		case b[i] == '[' || b[i] == '{':
			now++
			most = max(most, now)
		case b[i] == ']' || b[i] == '}':
			now--
		}
	}
	return most
}

func seeds(f *testing.F) {
	for _, s := range []string{
		``, ` `, `{}`, `[]`, `null`, `true`, `-0`, `1e5`, `1.50E-3`, `"a\u00e9\ud83d\ude00\ud800"`,
		`{"b":1,"a":[2,{"c":null}],"":""}`, `{"a":1,"a":2}`, `{"\ud800":1,"\ud801":2}`, `[1,]`, `{"a":1,}`, `01`, "\"\xff\"",
		`1e999999999999999999999`, `10e-999999999999999999999`, `[[[[[[[[]]]]]]]]`, `"\/\b\f\n\r\t\"\\"`, " [ 1 , 2 ] ",
	} {
		f.Add([]byte(s))
	}
}

// FuzzStrict holds Check against the standard library's scanner.
func FuzzStrict(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		want := json.Valid(b) && utf8.Valid(b) && depth(b) <= MaxDepth
		if got := Valid(b); got != want {
			t.Fatalf("Valid(%q) = %v, want %v", b, got, want)
		}
		if !want {
			return
		}
		var any any
		if err := json.Unmarshal(b, &any); err != nil {
			return // a number too large for a float
		}
		if k := KindOf(b); k != kindOfDecoded(any) {
			t.Errorf("KindOf(%q) = %v, decoded as %T", b, k, any)
		}
		if s, ok := any.(string); ok {
			if got, err := StringOf(b); got != s || err != nil {
				t.Errorf("StringOf(%q) = %q, %v; want %q", b, got, err, s)
			}
		}
	})
}

func kindOfDecoded(v any) Kind {
	switch v.(type) {
	case nil:
		return Null
	case bool:
		return Bool
	case float64:
		return Number
	case string:
		return Str
	case []any:
		return Array
	case map[string]any:
		return Object
	}
	return Invalid
}

// document builds one JSON text of about n bytes, of the kind tools exchange.
func document(n int) []byte {
	b := []byte(`{"items":[`)
	for i := 0; len(b) < n-60; i++ {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"id":"c-1042","name":"Zoë \"Zo\" Martin","price":12.50,"tags":["a","b"],"in_stock":true,"note":null}`...)
	}
	return append(b, `],"next":17}`...)
}

func BenchmarkCanonical16K(b *testing.B) {
	doc := document(16 << 10)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	var out []byte
	for b.Loop() {
		out, _ = Canonical(out[:0], doc)
	}
}
