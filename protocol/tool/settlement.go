package tool

import (
	"crypto/sha256"
	"encoding/hex"
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
	FormJSON  Form = "json"  // Content is JSON as written
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
// null) or the parts; over lim.Result bytes it is result_too_large.
func NewResult(form Form, content []byte, lim Limits) (*Settlement, error) {
	if lim.Result > 0 && len(content) > lim.Result {
		return nil, fault.New(fault.ResultTooLarge, "the result has %d bytes, at most %d are allowed", len(content), lim.Result)
	}
	if form != FormText && len(content) > 0 {
		if err := strictjson.Check(content); err != nil {
			return nil, fault.New(fault.InvalidResult, "the result is %v", err)
		}
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
// said.
func NewDenied(model string, lim Limits) *Settlement {
	if model == "" {
		model = "The user refused this tool call."
	}
	return sealed(&Settlement{Outcome: Denied, Error: &SettledError{Model: cut(model, lim.ErrorChars), Class: "denied"}})
}

func sealed(s *Settlement) *Settlement {
	s.Digest = s.sum()
	return s
}

// cut keeps the first n code points; 0 keeps all.
func cut(s string, n int) string {
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

// StringWire is what an agent reads of a success on a string wire [INV-7]: text
// as it is, a JSON string as the text it says, other JSON as written, null and
// nothing as the empty string, parts as their text and one JSON reference a
// medium.
func (s *Settlement) StringWire() string {
	switch s.Form {
	case FormParts:
		return PartsText([]byte(s.Content))
	case FormJSON:
		switch raw := []byte(s.Content); strictjson.KindOf(raw) {
		case strictjson.Null, strictjson.Invalid:
			return ""
		case strictjson.Str:
			text, _ := strictjson.StringOf(trim(raw))
			return text
		}
	}
	return s.Content
}

func trim(raw []byte) []byte {
	for len(raw) > 0 && (raw[0] == ' ' || raw[0] == '\n' || raw[0] == '\t' || raw[0] == '\r') {
		raw = raw[1:]
	}
	for len(raw) > 0 && (raw[len(raw)-1] == ' ' || raw[len(raw)-1] == '\n' || raw[len(raw)-1] == '\t' || raw[len(raw)-1] == '\r') {
		raw = raw[:len(raw)-1]
	}
	return raw
}

// ErrorText is what the model reads of an answer that is no success, never empty.
func (s *Settlement) ErrorText() string {
	text := ""
	if s.Error != nil {
		text = s.Error.Model
	}
	switch {
	case s.Outcome == InDoubt && text == "":
		return "It is not known whether this tool ran. Check before trying again."
	case text == "":
		return "The tool failed."
	}
	return text
}

// sum digests what the agent is told, so that the same answer has the same digest
// whatever door it came by [INV-3]: the JSON result {"a":1.0} by REST and the
// tool message "{\"a\": 1}" are one answer, and so are the JSON string "x" and the
// text x. A failure is its outcome and its text for the model.
func (s *Settlement) sum() string {
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
// form, any other as it is.
func canonicalText(dst []byte, text string) []byte {
	switch strictjson.KindOf([]byte(text)) {
	case strictjson.Invalid, strictjson.Str:
	default:
		if out, err := strictjson.Canonical(append(dst, "json\x00"...), []byte(text)); err == nil {
			return out
		}
	}
	return append(append(dst, "text\x00"...), text...)
}

// DigestText is the digest of a success given as text.
func DigestText(text string) string {
	return sealed(&Settlement{Outcome: OK, Form: FormText, Content: text}).Digest
}

// PartsText flattens content parts for a string wire: texts joined by line ends,
// every other part as one line of JSON that says what it is and where.
func PartsText(parts []byte) string {
	if !strictjson.Valid(parts) {
		return string(parts)
	}
	list, err := strictjson.ArrayOf(parts)
	if err != nil {
		return string(parts)
	}
	var out []byte
	for i, raw := range list {
		if i > 0 {
			out = append(out, '\n')
		}
		m, err := strictjson.ObjectOf(raw)
		if err != nil {
			out = append(out, raw...)
			continue
		}
		if kind, _ := strictjson.StringOf(m.Get("type")); kind == "text" {
			text, _ := strictjson.StringOf(m.Get("text"))
			out = append(out, text...)
			continue
		}
		out = append(out, reference(m, raw)...)
	}
	return string(out)
}

// reference names a medium: its own bytes, unless it carries the data itself,
// which a model cannot read as text.
func reference(m strictjson.Members, raw []byte) []byte {
	src, err := strictjson.ObjectOf(m.Get("source"))
	if err != nil {
		return raw
	}
	if kind, _ := strictjson.StringOf(src.Get("type")); kind != "data" {
		return raw
	}
	b := append([]byte(`{"type":`), m.Get("type")...)
	b = append(b, `,"source":{"type":"data","mimeType":`...)
	if mime := src.Get("mimeType"); mime != nil {
		b = append(b, mime...)
	} else {
		b = append(b, "null"...)
	}
	return append(b, `,"omitted":true}}`...)
}
