package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Outcome is how a settled call ended.
type Outcome string

// The outcomes.
const (
	OK      Outcome = "ok"
	Failed  Outcome = "failed"
	Denied  Outcome = "denied"   // a person refused
	InDoubt Outcome = "in_doubt" // it may have run [INV-8]
)

// Form says how a result was given, so that the way back is exact [INV-7].
type Form string

// The forms.
const (
	FormText  Form = "text"  // Content is the text itself
	FormJSON  Form = "json"  // Content is JSON as written, "" is null
	FormParts Form = "parts" // Content is an AG-UI content part array as written
)

// Settlement is the one accepted answer of a call.
type Settlement struct {
	Outcome Outcome       `json:"outcome"`
	Form    Form          `json:"form,omitempty"`
	Content string        `json:"content,omitempty"`
	Error   *SettledError `json:"error,omitempty"`
	By      string        `json:"by,omitempty"`   // subject that gave it
	Door    string        `json:"door,omitempty"` // frontend that carried it
	At      time.Time     `json:"at,omitzero"`
	Digest  string        `json:"digest"`
}

// SettledError is a failure's two texts and its class [INV-6].
type SettledError struct {
	Model     string `json:"model"`             // the model reads it
	Private   string `json:"private,omitempty"` // operators read it
	Class     string `json:"class,omitempty"`
	Retryable bool   `json:"retryable,omitempty"`
}

// NewResult makes a success. content is the text, the JSON as written (nil is
// null) or the array of parts. Over lim.Result bytes it is result_too_large; JSON
// that is none, or parts that are no array, are invalid_result.
func NewResult(form Form, content []byte, lim Limits) (*Settlement, error) {
	if lim.Result > 0 && len(content) > lim.Result {
		return nil, fault.New(fault.ResultTooLarge, "the result has %d bytes, at most %d are allowed", len(content), lim.Result)
	}
	switch form {
	case FormText:
		content = bytes.ToValidUTF8(content, []byte("\uFFFD"))
	case FormJSON:
		if len(content) == 0 {
			break
		}
		if err := strictjson.Check(content); err != nil {
			return nil, fault.New(fault.InvalidResult, "the result is %v", err)
		}
	case FormParts:
		if err := strictjson.Check(content); err != nil {
			return nil, fault.New(fault.InvalidResult, "the content is %v", err)
		}
		if k := strictjson.KindOf(content); k != strictjson.Array {
			return nil, fault.New(fault.InvalidResult, "the content is an array of parts, not %v", k)
		}
	default:
		return nil, fault.New(fault.InvalidResult, "a result is a text, JSON or parts")
	}
	return sealed(&Settlement{Outcome: OK, Form: form, Content: string(content)}), nil
}

// NewFailure makes a failure. The model's text is cut to lim.ErrorChars code
// points, the private one to four times as many.
func NewFailure(model, class, private string, retryable bool, lim Limits) *Settlement {
	return sealed(&Settlement{Outcome: Failed, Error: &SettledError{
		Model: cut(model, lim.ErrorChars), Private: cut(private, 4*lim.ErrorChars), Class: cut(class, 100), Retryable: retryable,
	}})
}

// NewDenied makes the refusal of a person; the model reads why, if anything was
// said [APPR-1].
func NewDenied(model string, lim Limits) *Settlement {
	if model == "" {
		model = "The user refused this tool call."
	}
	return sealed(&Settlement{Outcome: Denied, Error: &SettledError{Model: cut(model, lim.ErrorChars), Class: "denied"}})
}

// NewInDoubt makes the answer for a call that may have run [INV-8]; without a
// text of its own the model reads that it has to check.
func NewInDoubt(model, private string, lim Limits) *Settlement {
	return sealed(&Settlement{Outcome: InDoubt, Error: &SettledError{
		Model: cut(model, lim.ErrorChars), Private: cut(private, 4*lim.ErrorChars), Class: "in_doubt",
	}})
}

func sealed(s *Settlement) *Settlement {
	s.Digest = s.SumDigest()
	return s
}

// cut keeps the first n code points; 0 keeps all.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if n <= 0 || len(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count == n {
			return s[:i]
		}
		count++
	}
	return s
}

// ErrorText is what the model reads of an answer that is no success, never empty.
func (s *Settlement) ErrorText() string {
	switch {
	case s.Error != nil && s.Error.Model != "":
		return s.Error.Model
	case s.Outcome == InDoubt:
		return "It is not known whether this tool ran. Check before trying again."
	case s.Outcome == Denied:
		return "The user refused this tool call."
	}
	return "The tool failed."
}

// Same reports whether t, a later answer, is the accepted answer s again [INV-3].
// Two answers that both came as JSON are compared as JSON, so that 1 and "1" are
// two. Across forms it is what the agent reads that counts: the JSON result
// {"a":1.0} and the tool message {"a": 1} are one answer, and so are the JSON
// string "x" and the text x, or null, nothing and the empty text. Parts are
// themselves, or the text that a client without parts was shown for them. Two
// failures are the same if the model reads the same.
func (s *Settlement) Same(t *Settlement) bool {
	if s.Outcome != t.Outcome {
		return false
	}
	switch {
	case s.Outcome != OK:
	case s.Form == FormJSON && t.Form == FormJSON:
		return sameJSON(orNull(s.Content), orNull(t.Content))
	case s.Form == FormParts && t.Form == FormText:
		return t.Content == s.StringWire()
	}
	return s.SumDigest() == t.SumDigest()
}

func orNull(content string) []byte {
	if content == "" {
		return []byte("null")
	}
	return []byte(content)
}

// SumDigest is the SHA-256, in hex, of the outcome and what the agent reads: the
// answer's name across doors, where Same compares more closely. Text that is JSON
// counts as that JSON in canonical form, any other text by its bytes, parts as
// their canonical array, a failure by its text for the model.
func (s *Settlement) SumDigest() string {
	b := append([]byte(s.Outcome), 0)
	switch {
	case s.Outcome != OK:
		b = append(b, s.ErrorText()...)
	case s.Form == FormParts:
		b = append(b, "parts\x00"...)
		b, _ = strictjson.Canonical(b, []byte(s.Content))
	default:
		b = canonicalText(b, s.StringWire())
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// canonicalText writes a text that is JSON, other than a string, in its canonical
// form, any other as it is. The text null is nothing, as null itself is.
func canonicalText(dst []byte, text string) []byte {
	switch strictjson.KindOf([]byte(text)) {
	case strictjson.Invalid, strictjson.Str:
	default:
		out, err := strictjson.Canonical(nil, []byte(text))
		if err == nil && string(out) == "null" {
			text = ""
			break
		}
		if err == nil {
			return append(append(dst, "json\x00"...), out...)
		}
	}
	return append(append(dst, "text\x00"...), text...)
}

// DigestText is the digest of a success given as text.
func DigestText(text string) string {
	return (&Settlement{Outcome: OK, Form: FormText, Content: text}).SumDigest()
}
