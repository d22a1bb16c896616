package stream

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// A content frame is prefix, sequence number, blank, time, blank, filler,
// suffix. Numbers have fixed widths, so all frames of a run are equally long.
const (
	prefix = `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"`
	suffix = "\"}\n\n"

	seqDigits   = 8
	stampDigits = 19 // Unix time in ns
	headDelta   = seqDigits + 1 + stampDigits + 1

	messageStart = "data: {\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m1\",\"role\":\"assistant\"}\n\n"
	messageEnd   = "data: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m1\"}\n\n"
)

// Input is what the benchmark needs of a RunAgentInput.
type Input struct {
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"`
}

// Request is the body of one run: a RunAgentInput of AG-UI 1.0 with one user message.
func (in Input) Request() []byte {
	return fmt.Appendf(nil, `{"threadId":%s,"runId":%s,"protocolVersion":"1.0","state":{},`+
		`"messages":[{"id":"u1","role":"user","content":"go"}],"tools":[],"context":[],"forwardedProps":{}}`,
		quote(in.ThreadID), quote(in.RunID))
}

// AppendOpening adds the frames a run begins with.
func AppendOpening(dst []byte, in Input) []byte {
	dst = fmt.Appendf(dst, "data: {\"type\":\"RUN_STARTED\",\"threadId\":%s,\"runId\":%s,\"protocolVersion\":\"1.0\"}\n\n",
		quote(in.ThreadID), quote(in.RunID))
	return append(dst, messageStart...)
}

// AppendContent adds content frame number seq, counted from 0. stamp is the Unix
// time in ns or 0; delta is the length of the delta, at least MinDelta.
func AppendContent(dst []byte, seq int, stamp int64, delta int) []byte {
	dst = append(dst, prefix...)
	dst = appendPadded(dst, int64(seq), seqDigits)
	dst = append(dst, ' ')
	dst = appendPadded(dst, stamp, stampDigits)
	dst = append(dst, ' ')
	for i := headDelta; i < delta; i++ {
		dst = append(dst, byte('a'+i%26))
	}
	return append(dst, suffix...)
}

// AppendClosing adds the frames a run ends with.
func AppendClosing(dst []byte, in Input) []byte {
	dst = append(dst, messageEnd...)
	return fmt.Appendf(dst, "data: {\"type\":\"RUN_FINISHED\",\"threadId\":%s,\"runId\":%s,\"outcome\":{\"type\":\"success\"}}\n\n",
		quote(in.ThreadID), quote(in.RunID))
}

// AppendChunk adds payload as one chunk of HTTP/1.1 chunked coding (RFC 9112 §7.1).
func AppendChunk(dst, payload []byte) []byte {
	dst = strconv.AppendInt(dst, int64(len(payload)), 16)
	dst = append(dst, "\r\n"...)
	dst = append(dst, payload...)
	return append(dst, "\r\n"...)
}

func appendPadded(dst []byte, n int64, width int) []byte {
	var digits [stampDigits]byte
	for i := width - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, digits[:width]...)
}

func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return b
}
