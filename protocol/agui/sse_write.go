package agui

import "bytes"

// KeepAlive fills silence between frames [RUN-9]. It is a comment, which every
// AG-UI client ignores; an `event: ping` with empty data breaks @ag-ui/client
// (field case F052).
const KeepAlive = ": keep-alive\n\n"

// AppendSSE writes one event as Server-Sent Events text: `data: <json>` LF LF
// [RUN-1]. Blanks between tokens may hold line ends: an LF becomes a further
// data line, which readers join with LF again; a CR, which no data line can
// carry, becomes a space.
func AppendSSE(dst []byte, f Frame) []byte {
	dst = append(dst, "data: "...)
	if bytes.IndexByte(f.Raw, '\n') < 0 && bytes.IndexByte(f.Raw, '\r') < 0 {
		return append(append(dst, f.Raw...), "\n\n"...)
	}
	for _, c := range f.Raw {
		switch c {
		case '\n':
			dst = append(dst, "\ndata: "...)
		case '\r':
			dst = append(dst, ' ')
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, "\n\n"...)
}
