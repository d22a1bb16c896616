package agui

import (
	"bytes"
	"errors"

	"github.com/aguigate/aguigate/protocol/fault"
)

// keepBuffer is how much an idle decoder holds on to.
const keepBuffer = 64 << 10

var (
	byteOrderMark = []byte{0xEF, 0xBB, 0xBF}
	dataField     = []byte("data")
	done          = []byte("[DONE]")
	errSSEClosed  = errors.New("agui: the SSE decoder is closed")
)

// SSEDecoder takes Server-Sent Events apart (WHATWG HTML §9.2.6) however they
// are cut into chunks: LF, CRLF and CR, one byte order mark at the start,
// comments, several data lines, data: with and without a space [RUN-8]. It does
// no I/O. Only data is given out; event, id and retry are ignored, as the AG-UI
// clients do.
//
// Memory is bounded by twice the limit, and what an event needed beyond 64 KiB
// is given back after it.
type SSEDecoder struct {
	limit   int
	mark    int    // bytes of a byte order mark seen; -1 when the start is over
	line    []byte // begin of a line whose end has not come
	data    []byte // data of the event so far; may alias the chunk during Feed
	store   []byte // the own buffer behind data
	hasData bool
	afterCR bool // an LF that comes next ends nothing
	err     error
}

// NewSSEDecoder makes a decoder that refuses an event of more than limit bytes
// of data, or a line that much longer than its field name. limit ≤ 0 is 8 MiB.
func NewSSEDecoder(limit int) *SSEDecoder {
	if limit <= 0 {
		limit = 8 << 20
	}
	return &SSEDecoder{limit: limit}
}

// Feed reads the next chunk and calls emit with the data of each event that is
// complete. data is valid during emit only. Empty data and [DONE] are not given
// out. A lone CR ends a line at once, without waiting for what follows it.
//
// The error is emit's, or a *fault.Error with code event_too_large; after it the
// decoder gives the same error for ever.
func (d *SSEDecoder) Feed(chunk []byte, emit func(data []byte) error) error {
	if d.err != nil {
		return d.err
	}
	chunk = d.start(chunk)
	lf := -1 // the next LF in chunk, so that text with CR only is searched once
	for i := 0; i < len(chunk); {
		if d.afterCR {
			d.afterCR = false
			if chunk[i] == '\n' {
				i++
				continue
			}
		}
		if lf < i {
			if lf = bytes.IndexByte(chunk[i:], '\n'); lf < 0 {
				lf = len(chunk)
			} else {
				lf += i
			}
		}
		end := lf
		if cr := bytes.IndexByte(chunk[i:lf], '\r'); cr >= 0 {
			end = i + cr
			d.afterCR = true
		}
		if d.err = d.take(chunk[i:end], end < len(chunk), emit); d.err != nil {
			d.line, d.data, d.store, d.hasData = nil, nil, nil, false
			return d.err
		}
		i = end + 1
	}
	d.own() // the chunk is the caller's again
	return nil
}

// start drops one byte order mark at the start of the stream, also a cut one.
func (d *SSEDecoder) start(chunk []byte) []byte {
	for d.mark >= 0 && len(chunk) > 0 {
		if chunk[0] != byteOrderMark[d.mark] {
			d.line = append(d.line, byteOrderMark[:d.mark]...)
			d.mark = -1
			break
		}
		chunk = chunk[1:]
		if d.mark++; d.mark == len(byteOrderMark) {
			d.mark = -1
		}
	}
	return chunk
}

// take adds part to the line that is open and, when its end has come, reads it.
func (d *SSEDecoder) take(part []byte, ended bool, emit func([]byte) error) error {
	if len(d.line)+len(part) > d.limit+len("data: ") {
		return d.tooLarge()
	}
	if !ended {
		d.line = append(d.line, part...)
		return nil
	}
	if len(d.line) == 0 {
		return d.read(part, emit)
	}
	d.line = append(d.line, part...)
	err := d.read(d.line, emit)
	d.own() // the next line will be put where this one is
	d.line = shrink(d.line)
	return err
}

// read takes one line without its end.
func (d *SSEDecoder) read(line []byte, emit func([]byte) error) error {
	if len(line) == 0 {
		return d.dispatch(emit)
	}
	name, value, colon := bytes.Cut(line, []byte{':'})
	if !bytes.Equal(name, dataField) {
		return nil // a comment, or a field we do not use
	}
	if colon && len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	if len(d.data)+len(value) > d.limit {
		return d.tooLarge()
	}
	if !d.hasData {
		d.data, d.hasData = value, true
		return nil
	}
	d.own()
	d.store = append(append(d.store, '\n'), value...)
	d.data = d.store
	return nil
}

// dispatch gives the event out that a blank line has ended.
func (d *SSEDecoder) dispatch(emit func([]byte) error) error {
	data := d.data
	d.data, d.hasData = nil, false
	d.store = shrink(d.store)
	if word := bytes.TrimSpace(data); len(word) == 0 || bytes.Equal(word, done) {
		return nil
	}
	return emit(data)
}

// own copies data into the decoder's buffer unless it is there.
func (d *SSEDecoder) own() {
	if d.hasData && (len(d.store) == 0 || len(d.data) == 0 || &d.data[0] != &d.store[0]) {
		d.store = append(d.store[:0], d.data...)
		d.data = d.store
	}
}

// shrink empties a buffer, and lets go of one that a large event has grown.
func shrink(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

func (d *SSEDecoder) tooLarge() error {
	return fault.New(fault.EventTooLarge, "the agent sent an event of more than %d bytes", d.limit)
}

// Close ends the stream: an event without its blank line is dropped, as the
// WHATWG rules say. It gives the error that Feed gave, if any.
func (d *SSEDecoder) Close() error {
	err := d.err
	if d.err == nil {
		d.err = errSSEClosed
	}
	if err == errSSEClosed {
		return nil
	}
	return err
}

// Pending reports whether an event was begun and not ended; also after Close.
func (d *SSEDecoder) Pending() bool { return d.mark > 0 || d.hasData || len(d.line) > 0 }

// Tail gives the data of the event that was begun and not ended, with its last
// line even if that has no end, or nil. @ag-ui/client reads such a tail as an
// event when the connection closes; a caller that wants to do so too may, where
// ParseFrame takes it: an object that is whole has lost nothing.
func (d *SSEDecoder) Tail() []byte {
	tail, has := append([]byte(nil), d.data...), d.hasData
	if name, value, colon := bytes.Cut(d.line, []byte{':'}); colon && bytes.Equal(name, dataField) {
		if has {
			tail = append(tail, '\n')
		}
		tail, has = append(tail, bytes.TrimPrefix(value, []byte{' '})...), true
	}
	if !has || bytes.Equal(bytes.TrimSpace(tail), done) {
		return nil
	}
	return tail
}
