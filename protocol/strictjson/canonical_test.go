package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"blanks go", " { \"a\" : [ 1 , 2 ] }\n", `{"a":[1,2]}`},
		{"keys by code point", `{"b":1,"a":2,"":3,"B":4}`, `{"":3,"B":4,"a":2,"b":1}`},
		{"keys by code point, not by UTF-16", `{"\ud83d\ude00":1,"\uff5e":2}`, "{\"\uff5e\":2,\"\U0001f600\":1}"},
		{"keys by what they say", `{"\u0062":1,"a":2}`, `{"a":2,"b":1}`},
		{"a key twice keeps its order", `{"b":0,"a":2,"\u0061":1}`, `{"a":2,"a":1,"b":0}`},
		{"keys that decode to the same", `{"\ud801":1,"\ud800":2}`, `{"\ud800":2,"\ud801":1}`},
		{"nested", `{"z":{"y":1,"x":[{"b":1,"a":2}]},"a":{}}`, `{"a":{},"z":{"x":[{"a":2,"b":1}],"y":1}}`},
		{"lists keep their order", `[3,1,2]`, `[3,1,2]`},
		{"escapes that need none", `"\u0041\/\u00e9"`, `"A/é"`},
		{"escapes that have to be", `"\u0000\u001f\n\t\r\b\f\"\\"`, `"\u0000\u001f\n\t\r\u0008\u000c\"\\"`},
		{"surrogate pair", `"\uD83D\uDE00"`, `"😀"`},
		{"lone surrogates stay", `"\uD83Dx\uDE00\uD83D"`, `"\ud83dx\ude00\ud83d"`},
		{"words", `[true,false,null]`, `[true,false,null]`},
		{"one", `[1,1.0,10e-1,0.1E1,1e0,100e-2,0.00001e+5]`, `[1,1,1,1,1,1,1]`},
		{"zero", `[0,-0,0.0,-0e7,0e999999999999999999999999]`, `[0,0,0,0,0]`},
		{"powers of ten", `[120,1200e-1,-0.50,-5e-1]`, `[12e1,12e1,-5e-1,-5e-1]`},
		{"past what a float holds", `[1152921504606846976,1152921504606846977]`, `[1152921504606846976,1152921504606846977]`},
		{"0.1 is exact", `[0.1,0.10000000000000001]`, `[1e-1,10000000000000001e-17]`},
		{"huge exponent", `[1e1000000000000000000000,10e999999999999999999999,0.1E+1000000000000000000001]`,
			`[1e1000000000000000000000,1e1000000000000000000000,1e1000000000000000000000]`},
		{"huge negative exponent", `[1e-1000000000000000000000,0.1e-999999999999999999999,10e-1000000000000000000001]`,
			`[1e-1000000000000000000000,1e-1000000000000000000000,1e-1000000000000000000000]`},
		{"exponents where the arithmetic changes", `[1e99999999999999999,10e99999999999999999,0.1e100000000000000000]`,
			`[1e99999999999999999,1e100000000000000000,1e99999999999999999]`},
		{"exponent with zeros in front", `1e-00000000000000000000000000000001`, `1e-1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Canonical([]byte("x"), []byte(c.text))
			if err != nil || string(got) != "x"+c.want {
				t.Errorf("Canonical(%s) = %s, %v; want x%s", c.text, got, err, c.want)
			}
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	got, err := Canonical([]byte("x"), []byte(`{"a":}`))
	if err == nil || string(got) != "x" {
		t.Errorf("got %q, %v; want the destination untouched and an error", got, err)
	}
}

// speller writes a checked value in another way that says the same.
type speller struct{ choice []byte }

func (s *speller) next(n int) int {
	if len(s.choice) == 0 {
		return 0
	}
	c := s.choice[0]
	s.choice = s.choice[1:]
	return int(c) % n
}

func (s *speller) blank() string { return []string{"", " ", "\n\t", "\r\n "}[s.next(4)] }

func (s *speller) value(raw []byte) string {
	var out string
	switch KindOf(raw) {
	case Object:
		m, it := []string{}, Walk(raw)
		names := map[string]bool{}
		for {
			key, value, _, ok := it.Next()
			if !ok {
				break
			}
			names[unescape(key)] = true
			m = append(m, s.text(key)+s.blank()+":"+s.value(value))
		}
		if len(names) == len(m) && s.next(2) == 1 { // a key twice has an order
			slices.Reverse(m)
		}
		out = "{" + s.blank() + strings.Join(m, ",") + "}"
	case Array:
		list, _ := ArrayOf(raw)
		parts := []string{}
		for _, v := range list {
			parts = append(parts, s.value(v))
		}
		out = "[" + s.blank() + strings.Join(parts, ",") + "]"
	case Str:
		trimmed := bytes.TrimSpace(raw)
		out = s.text(trimmed[1 : len(trimmed)-1])
	case Number:
		out = s.number(string(bytes.TrimSpace(raw)))
	default:
		out = string(raw)
	}
	return s.blank() + out + s.blank()
}

// text escapes some characters of the inside of a string that are not.
func (s *speller) text(in []byte) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range string(in) {
		escaped := i > 0 && in[i-1] == '\\' || inEscape(in, i)
		if r < 0x10000 && r != '\\' && !escaped && s.next(3) == 1 {
			fmt.Fprintf(&b, `\u%04X`, r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// inEscape reports whether byte i belongs to an escape.
func inEscape(in []byte, i int) bool {
	for j := 0; j <= i; j++ {
		if in[j] != '\\' {
			continue
		}
		n := 2
		if in[j+1] == 'u' {
			n = 6
		}
		if i < j+n {
			return true
		}
		j += n - 1
	}
	return false
}

// number moves the point and the exponent.
func (s *speller) number(n string) string {
	mantissa, exponent := n, "0"
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		mantissa, exponent = n[:i], n[i+1:]
	}
	exp, _ := new(big.Int).SetString(strings.TrimPrefix(exponent, "+"), 10)
	if !strings.Contains(mantissa, ".") {
		mantissa += "."
	}
	for range s.next(4) {
		mantissa += "0"
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	for range s.next(3) { // 1.23 is 12.3e-1
		if frac == "" {
			break
		}
		whole, frac = strings.TrimPrefix(whole+frac[:1], "+"), frac[1:]
		exp.Sub(exp, big.NewInt(1))
	}
	neg := strings.HasPrefix(whole, "-")
	if whole = strings.TrimLeft(strings.TrimPrefix(whole, "-"), "0"); whole == "" {
		whole = "0"
	}
	if neg {
		whole = "-" + whole
	}
	if frac != "" {
		whole += "." + frac
	}
	return whole + []string{"e", "E"}[s.next(2)] + exp.String()
}

func FuzzCanonical(f *testing.F) {
	seedPairs(f)
	f.Add([]byte("100000000000E0000000000000000000"), []byte("100"))
	f.Fuzz(func(t *testing.T, b, choice []byte) {
		form, err := Canonical(nil, b)
		if err != nil {
			if Valid(b) {
				t.Fatalf("Canonical(%q) fails: %v", b, err)
			}
			return
		}
		again, err := Canonical(nil, form)
		if err != nil || !bytes.Equal(again, form) {
			t.Fatalf("the form of %q is %s, and its form is %s, %v", b, form, again, err)
		}
		other := (&speller{choice: choice}).value(b)
		same, err := Canonical(nil, []byte(other))
		if err != nil || !bytes.Equal(same, form) {
			t.Fatalf("%q and %q say the same; their forms are %s and %s, %v", b, other, form, same, err)
		}
		// The standard library reads all lone surrogates as one character, and so
		// two names as one.
		if !bytes.Contains(form, []byte(`\ud`)) && !sameValue(b, form) {
			t.Fatalf("the form of %q says something else: %s", b, form)
		}
	})
}

func seedPairs(f *testing.F) {
	for i, s := range []string{
		`{"b":1,"a":[2,{"c":null}],"":""}`, `{"a":1,"a":2}`, `{"\ud800":1,"\ud801":2}`, `{"\ud8B0":1,"\ud801":2}`, `[1.50,-0,120,1e999999999999999999999,-0.001e-7]`,
		`"a\u00e9\ud83d\ude00\ud800\/\n\\\""`, `[true,false,null]`, `12345678901234567890.5e-30`, "\" \u2028\U0001f600\"", `0`,
	} {
		f.Add([]byte(s), []byte(strings.Repeat(strconv.Itoa(i)+"aZ1", 20)))
	}
}

// sameValue compares what the standard library decodes, numbers exactly. Of a key
// that stands twice it sees the last.
func sameValue(a, b []byte) bool {
	decode := func(raw []byte) any {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var v any
		_ = d.Decode(&v)
		return v
	}
	return reflect.DeepEqual(exact(decode(a)), exact(decode(b)))
}

// exact turns numbers into an integer and a power of ten.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		mantissa, exponent, _ := strings.Cut(strings.ToLower(string(v)), "e")
		whole, frac, _ := strings.Cut(mantissa, ".")
		n, _ := new(big.Int).SetString(whole+frac, 10)
		exp, ok := new(big.Int).SetString(exponent, 10)
		if !ok {
			exp = new(big.Int)
		}
		exp.Sub(exp, big.NewInt(int64(len(frac))))
		ten, rest := big.NewInt(10), new(big.Int)
		for n.Sign() != 0 {
			var tenth big.Int
			if tenth.QuoRem(n, ten, rest); rest.Sign() != 0 {
				return n.String() + "e" + exp.String()
			}
			n.Set(&tenth)
			exp.Add(exp, big.NewInt(1))
		}
		return "0"
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	}
	return v
}
