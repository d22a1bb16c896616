package agui

import "strconv"

// AppendSSEWithID is AppendSSE with the event's id before its data: `id: <n>` LF
// `data: <json>` LF LF. The id comes first so that nothing can come between it and
// the blank line: a reader remembers an id only with the event it stands in
// (WHATWG HTML §9.2.6) [RUN-1].
func AppendSSEWithID(dst []byte, id uint64, f Frame) []byte {
	dst = strconv.AppendUint(append(dst, "id: "...), id, 10)
	return AppendSSE(append(dst, '\n'), f)
}
