package repair

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Bounds of what another protocol's error may show.
const (
	maxErrorText = 500 // bytes
	maxErrorCode = 64
)

// noErrorText stands for a text that is missing or is a page.
const noErrorText = "the agent reported an error without a text"

// Foreign says what a data payload means that is no AG-UI event. skip is true for
// [DONE], null and blanks, which mean nothing. The error objects of other
// protocols become RUN_ERROR with their text on one line, at most 500 bytes, and
// their code:
//
//	{"error":{"message":…,"code":…}}  {"error":"…"}      OpenAI, Google, many
//	{"type":"error","error":{…}}      {"type":"error","message":…}   Anthropic, Vercel
//	{"error":"ValueError","message":…}  {"event":"error","data":…}   LangGraph
//	{"detail":…}                                         FastAPI
//	{"object":"error","message":…}                       vLLM, Mistral
//	{"errors":[{"message":…}]}                           GraphQL
//
// Anything else is a *fault.Error with code upstream_protocol_error.
func Foreign(data []byte) (f agui.Frame, skip bool, err error) {
	word := bytes.TrimSpace(data)
	if len(word) == 0 || string(word) == "[DONE]" || string(word) == "null" {
		return agui.Frame{}, true, nil
	}
	if bad := strictjson.Check(word); bad != nil {
		return agui.Frame{}, false, fault.New(fault.UpstreamProtocolError, "the agent sent something that is no event: %v", bad)
	}
	text, code, ok := foreignError(word)
	if !ok {
		return agui.Frame{}, false, fault.New(fault.UpstreamProtocolError, "the agent sent JSON that is no event")
	}
	if code == "" {
		code = string(fault.UpstreamError)
	}
	return agui.NewRunError(text, code, nil), false, nil
}

// errorFrames is Foreign for {"type":"error",…}, which is an event of a type that
// nobody knows; a client would skip it and wait.
func (c *Chain) errorFrames(e *event) bool {
	if !strings.EqualFold(string(e.f.Type), "error") {
		return true
	}
	f, _, err := Foreign(e.f.Raw)
	if err != nil {
		return true
	}
	c.did(rowErrorFrames)
	e.load(f)
	return true
}

// foreignError finds text and code of an error object; ok is false when raw is
// none.
func foreignError(raw []byte) (text, code string, ok bool) {
	obj := agui.Frame{Raw: raw}
	if strictjson.KindOf(raw) != strictjson.Object {
		return "", "", false
	}
	named := strings.EqualFold(obj.Text("type"), "error") || obj.Text("object") == "error"
	if obj.Field("type") != nil && !named {
		return "", "", false
	}
	if strings.EqualFold(obj.Text("event"), "error") {
		return foreignData(obj.Field("data"))
	}
	switch inner := obj.Field("error"); strictjson.KindOf(inner) {
	case strictjson.Object:
		text, code = said(inner)
		return text, code, true
	case strictjson.Str:
		if obj.Text("message") != "" { // the error is a class
			return oneLine(obj.Text("message")), clip(obj.Text("error")), true
		}
		return oneLine(obj.Text("error")), codeOf(raw), true
	}
	if list := first(obj.Field("errors")); list != nil {
		text, code = said(list)
		return text, code, true
	}
	if obj.Field("detail") != nil && obj.Field("detail")[0] != 'n' || named {
		text, code = said(raw)
		return text, code, true
	}
	return "", "", false
}

// foreignData is what stands under "data" of {"event":"error"}.
func foreignData(raw []byte) (text, code string, ok bool) {
	if text, code, ok = foreignError(raw); ok {
		return text, code, true
	}
	text, code = said(raw)
	return text, code, true
}

// said finds the sentence and the code in an error's own object, or takes raw
// for the sentence when it is a string.
func said(raw []byte) (text, code string) {
	if s := plain(raw); s != nil {
		return oneLine(string(s)), ""
	}
	for _, k := range []string{"message", "errorText", "detail", "msg", "error", "content"} {
		v := agui.Frame{Raw: raw}.Field(k)
		if one := first(v); one != nil { // FastAPI lists what is wrong with a request
			text, _ := said(one)
			return text, codeOf(raw)
		}
		if s := plain(v); len(s) > 0 {
			return oneLine(string(s)), codeOf(raw)
		}
	}
	return noErrorText, codeOf(raw)
}

// first is the first element of an array, nil when there is none.
func first(raw []byte) []byte {
	if strictjson.KindOf(raw) != strictjson.Array {
		return nil
	}
	it := strictjson.Walk(raw)
	_, v, _, _ := it.Next()
	return v
}

// codeOf is the code of an error object: a word or a number.
func codeOf(raw []byte) string {
	for _, k := range []string{"code", "status", "type"} {
		v := agui.Frame{Raw: raw}.Field(k)
		switch strictjson.KindOf(v) {
		case strictjson.Number:
			return clip(string(v))
		case strictjson.Str:
			if s := string(plain(v)); s != "" && !strings.EqualFold(s, "error") {
				return clip(s)
			}
		}
	}
	return ""
}

// oneLine keeps a foreign sentence short and on one line. A page is no sentence
// (F058).
func oneLine(s string) string {
	if len(s) > 8*maxErrorText {
		s = s[:8*maxErrorText]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if s == "" || s[0] == '<' {
		return noErrorText
	}
	return cutText(s, maxErrorText)
}

func clip(s string) string { return cutText(s, maxErrorCode) }

// cutText shortens s to limit bytes of whole characters.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
