package tool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
	"github.com/aguigate/aguigate/protocol/tool"
)

func text(s string) *tool.Settlement { return ok(tool.FormText, s) }
func js(s string) *tool.Settlement   { return ok(tool.FormJSON, s) }
func parts(s string) *tool.Settlement {
	return ok(tool.FormParts, s)
}

func ok(form tool.Form, content string) *tool.Settlement {
	s, err := tool.NewResult(form, []byte(content), tool.Limits{})
	if err != nil {
		panic(err)
	}
	return s
}

// INV-14, F037.
func TestParseArguments(t *testing.T) {
	for in, want := range map[string]string{
		"": `{}`, " \n\t": `{}`, `{"a": 1.0}`: `{"a": 1.0}`, ` [1] `: ` [1] `, `null`: `null`, `"x"`: `"x"`,
		`{"a":1`: "", `{}{}`: "", `{'a':1}`: "", "\u00a0": "", "{\"a\":\"\xff\"}": "",
	} {
		got, err := tool.ParseArguments(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", in, got, err, want)
		}
		if want == "" && fault.CodeOf(err) != fault.MalformedToolArgs {
			t.Errorf("%q gives %v", in, err)
		}
	}
}

// SEC-5: each of the 130 bits shows in the id.
func TestNewInvocationID(t *testing.T) {
	var zero [17]byte
	base := tool.NewInvocationID(zero)
	if want := "inv_" + strings.Repeat("a", 26); base != want {
		t.Fatalf("got %q, want %q", base, want)
	}
	seen := map[string]bool{base: true}
	for bit := range 130 {
		random := zero
		random[bit/8] |= 0x80 >> (bit % 8)
		id := tool.NewInvocationID(random)
		if seen[id] || !tool.ValidInvocationID(id) {
			t.Errorf("bit %d gives %q again, or it is not valid", bit, id)
		}
		seen[id] = true
	}
	for _, id := range []string{"", "inv_", base + "a", base[:29], "Inv_" + base[4:], base[4:], "inv_" + strings.Repeat("A", 26),
		"inv_aaaaaaaaaaaa1aaaaaaaaaaaaa", "inv_aaaaaaaaaaaa aaaaaaaaaaaaa", "inv_aaaaaaaaaaaaa\naaaaaaaaaaaa"} {
		if tool.ValidInvocationID(id) {
			t.Errorf("%q is valid", id)
		}
	}
}

// TestPublicInvocation writes out what is shown of a call in each state.
func TestPublicInvocation(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("", 3600))
	base := tool.Invocation{
		ID: "inv_a", CallID: "upstream", ShownID: "c-2", Agent: "shop", Thread: "t", Run: "r", Tool: "pick", Arguments: `{"a": 1.0}`,
		Valid: true, Attempt: 1, Attempts: 2, IdempotencyKey: "k", Initiator: "model", Created: at, State: tool.Open, Delivery: tool.Held,
	}
	const head = `"tool":"pick","arguments":{"a": 1.0},"valid":true,"call_id":"c-2","agent":"shop","thread":"t","run":"r",` +
		`"attempt":1,"idempotency_key":"k","initiator":"model","created_at":"2026-01-02T02:04:05.678Z",`
	settled := func(s *tool.Settlement) func(*tool.Invocation) {
		return func(i *tool.Invocation) {
			i.State, i.Outcome, i.Settlement, i.Ended, i.Delivery = tool.Settled, s.Outcome, s, at.Add(time.Second), tool.Sent
		}
	}
	const ended = `"released_at":null,"ended_at":"2026-01-02T02:04:06.678Z","deadline":null,`
	answer := func(outcome, rest string) string {
		return `{"id":"inv_a","state":"settled","released":false,"outcome":"` + outcome + `","delivery":"sent",` + head + ended + rest + `}`
	}
	for _, c := range []struct {
		name   string
		change func(*tool.Invocation)
		want   string
	}{
		{"open", func(*tool.Invocation) {}, `{"id":"inv_a","state":"open","released":false,"outcome":null,"delivery":null,` + head + `"released_at":null,"ended_at":null,"deadline":null}`},
		{"released", func(i *tool.Invocation) { i.Released, i.ReleasedAt, i.Deadline = true, at, at.Add(time.Hour) },
			`{"id":"inv_a","state":"open","released":true,"outcome":null,"delivery":null,` + head + `"released_at":"2026-01-02T02:04:05.678Z","ended_at":null,"deadline":"2026-01-02T03:04:05.678Z"}`},
		{"cancelled", func(i *tool.Invocation) {
			i.State, i.Reason, i.Ended = tool.Cancelled, "upstream_lost", at.Add(time.Second)
		},
			`{"id":"inv_a","state":"cancelled","released":false,"outcome":null,"delivery":null,` + head + ended + `"reason":"upstream_lost"}`},
		{"expired", func(i *tool.Invocation) { i.State, i.Reason, i.Ended = tool.Expired, "deadline", at.Add(time.Second) },
			`{"id":"inv_a","state":"expired","released":false,"outcome":null,"delivery":null,` + head + ended + `"reason":"deadline"}`},
		{"text", settled(text(`a"b`)), answer("ok", `"result":"a\"b"`)},
		{"JSON as written", settled(js(`{"a": 1.0}`)), answer("ok", `"result":{"a": 1.0}`)},
		{"null", settled(js(``)), answer("ok", `"result":null`)},
		{"parts", settled(parts(`[{"type":"text","text":"a"}]`)), answer("ok", `"content":[{"type":"text","text":"a"}]`)},
		{"failed, without its private text", settled(tool.NewFailure("no", "timeout", "secret", true, tool.Limits{})), answer("failed", `"error":{"message":"no","type":"timeout","retryable":true}`)},
		{"denied", settled(tool.NewDenied("", tool.Limits{})), answer("denied", `"error":{"message":"The user refused this tool call.","type":"denied","retryable":false}`)},
		{"in doubt", settled(&tool.Settlement{Outcome: tool.InDoubt}), answer("in_doubt", `"error":{"message":"It is not known whether this tool ran. Check before trying again.","retryable":false}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			inv := base
			c.change(&inv)
			got := string(inv.AppendPublic([]byte("x")))
			if got != "x"+c.want {
				t.Errorf("got\n%s\nwant\nx%s", got, c.want)
			}
			if !json.Valid([]byte(got[1:])) {
				t.Error("it is no JSON")
			}
		})
	}
}

func TestPublicInvocationOfInvalidArguments(t *testing.T) {
	inv := tool.Invocation{State: tool.Open, Arguments: `{"a":`, ArgumentsError: `/a: "x"`}
	got := string(inv.AppendPublic(nil))
	if want := `"arguments":"{\"a\":","valid":false,"arguments_error":"/a: \"x\"",`; !strings.Contains(got, want) || !json.Valid([]byte(got)) {
		t.Errorf("got %s, want %s in it", got, want)
	}
}

// FuzzPartsText: no text of parts makes it panic; what comes out of valid input is
// text, and holds every text part.
func FuzzPartsText(f *testing.F) {
	for _, s := range []string{
		``, `null`, `[]`, `[{"type":"text","text":"a\u0000"}]`, `[{"type":"image","source":{"type":"data","value":"x","mimeType":"y"}}]`,
		`[{"source":{"type":"data"}}]`, `[{"type":"binary","data":"x","mimeType":"y"}]`, `[1,[],{"type":1},{"a":1,"a":1}]`, `{"type":"text"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := tool.PartsText(b)
		var list []struct{ Type, Text any }
		if !strictjson.Valid(b) || json.Unmarshal(b, &list) != nil {
			return
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q is read as %q", b, got)
		}
		raw, _ := strictjson.ArrayOf(b)
		for _, part := range raw {
			m, err := strictjson.ParseObject(part)
			if err != nil {
				continue
			}
			kind, _ := strictjson.StringOf(m.Get("type"))
			if text, _ := strictjson.StringOf(m.Get("text")); kind == "text" && !strings.Contains(got, text) {
				t.Fatalf("%q is read as %q, without %q", b, got, text)
			}
		}
		if len(raw) == 1 && strictjson.KindOf(raw[0]) == strictjson.Object {
			if m, err := strictjson.ParseObject(raw[0]); err == nil {
				if kind, _ := strictjson.StringOf(m.Get("type")); kind != "text" && !strictjson.Valid([]byte(got)) {
					t.Fatalf("the reference of %q is %q, no JSON", b, got)
				}
			}
		}
	})
}
