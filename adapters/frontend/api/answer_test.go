package api

import (
	"strings"
	"testing"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/tool"
)

func TestDecodeAnswer(t *testing.T) {
	for body, want := range map[string]string{ // "form content" or "fault param"
		`{"result":{"a":1.0}}`:                        `json {"a":1.0}`,
		`{"result":"x"}`:                              `json "x"`,
		`{"result":null}`:                             `json null`,
		`{"content":[{"type":"text","text":"hi"}]}`:   `parts [{"type":"text","text":"hi"}]`,
		`{"error":{"message":"no"}}`:                  `failed no`,
		`{"result":1,"attempt":3,"continue":false}`:   `json 1`,
		`{"result":1,"unknown":{"result":2}}`:         `json 1`,
		`{}`:                                          `fault `,
		`[]`:                                          `fault `,
		`{"result":1`:                                 `fault `,
		`{"result":1,"result":2}`:                     `fault /result`,
		`{"result":1,"a/b~":1,"a/b~":2}`:              `fault /a~1b~0`,
		`{"result":1,"Result":2}`:                     `fault /Result`,
		`{"result":1,"content":[]}`:                   `fault `,
		`{"content":{}}`:                              `fault /content`,
		`{"content":[{"type":"text"}]}`:               `fault /content/0/text`,
		`{"error":"no"}`:                              `fault /error`,
		`{"error":{}}`:                                `fault /error/message`,
		`{"error":{"message":""}}`:                    `fault /error/message`,
		`{"error":{"message":"m","retryable":"yes"}}`: `fault /error/retryable`,
		`{"error":{"message":"m","type":1}}`:          `fault /error/type`,
		`{"result":1,"attempt":0}`:                    `fault /attempt`,
		`{"result":1,"attempt":1.5}`:                  `fault /attempt`,
		`{"result":1,"attempt":"1"}`:                  `fault /attempt`,
		`{"result":1,"continue":1}`:                   `fault /continue`,
	} {
		a, err := decodeAnswer([]byte(body), "", false)
		var got string
		switch {
		case err != nil:
			f := fault.From(err)
			if f.Code != fault.InvalidRequest {
				t.Errorf("%s: code %s", body, f.Code)
			}
			got = "fault " + f.Param
		case a.Failure != nil:
			got = "failed " + a.Failure.Model
		default:
			got = string(a.Form) + " " + string(a.Content)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

// Of an error only its known members are kept: no stack [INV-6].
func TestFailureKeepsKnownMembersOnly(t *testing.T) {
	a, err := decodeAnswer([]byte(`{"error":{"message":"m","type":"gps","private":"p","retryable":true,"stack":"at x","cause":{}}}`), "", false)
	if err != nil {
		t.Fatal(err)
	}
	f := *a.Failure
	if f.Model != "m" || f.Class != "gps" || f.Private != "p" || !f.Retryable {
		t.Errorf("%+v", f)
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	for _, seed := range []string{`{"result":1}`, `{"error":{"message":"m"}}`, `{"content":[{"type":"text","text":""}]}`, `{"id":"x","result":{}}`, `{"`, `{"attempt":99999999999999999999,"result":0}`} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, body string, named bool) {
		a, err := decodeAnswer([]byte(body), "/results/0", named)
		if err != nil {
			if fault.From(err).Code == fault.Internal {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if a.Failure == nil && a.Form != tool.FormJSON && a.Form != tool.FormParts {
			t.Fatalf("%q has no form", body)
		}
		if named && a.ID == "" {
			t.Fatalf("%q has no id", body)
		}
		if !strings.Contains(body, string(a.Content)) {
			t.Fatalf("%q: the content is not the bytes that came: %q", body, a.Content)
		}
	})
}
