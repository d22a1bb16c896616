package fault

import (
	"strconv"

	"github.com/aguigate/aguigate/protocol/strictjson"
)

// Body writes the error object of contract §3:
//
//	{"error":{"type":…,"code":…,"message":…,"param":…,"request_id":…}}
//
// requestID "" leaves request_id out; so does an empty Param.
func (e *Error) Body(requestID string) []byte {
	b := append([]byte(nil), `{"error":{"type":`...)
	b = strictjson.AppendString(b, e.Code.Type())
	b = append(b, `,"code":`...)
	b = strictjson.AppendString(b, string(e.Code))
	b = append(b, `,"message":`...)
	b = strictjson.AppendString(b, e.Message)
	if e.Param != "" {
		b = append(b, `,"param":`...)
		b = strictjson.AppendString(b, e.Param)
	}
	for _, m := range e.Detail {
		b = append(b, ',')
		b = strictjson.AppendString(b, m.Key)
		b = append(b, ':')
		b = append(b, m.Raw...)
	}
	if requestID != "" {
		b = append(b, `,"request_id":`...)
		b = strictjson.AppendString(b, requestID)
	}
	return append(b, "}}"...)
}

// RetryAfterSeconds is the value of the Retry-After header, "" when none.
func (e *Error) RetryAfterSeconds() string {
	if e.RetryAfter <= 0 {
		return ""
	}
	return strconv.FormatInt(int64((e.RetryAfter+999_999_999)/1_000_000_000), 10)
}
