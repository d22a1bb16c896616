package wire

import (
	"encoding/binary"
	"errors"

	"github.com/aguigate/aguigate/protocol/agui"
	"github.com/aguigate/aguigate/protocol/fault"
)

// keepBuffer is how much an idle decoder holds on to.
const keepBuffer = 64 << 10

var errClosed = errors.New("wire: the decoder is closed")

// Decoder takes a protobuf stream apart however it is cut into chunks [UP-1].
// It does no I/O.
//
// A message of another event than this envelope knows is left out, as a 1.0
// client does, and so is one of no bytes, which is what 0.0.59 writes for a type
// that its envelope does not have; Dropped counts both.
type Decoder struct {
	limit   int
	part    []byte // begin of an event whose end has not come, with its length
	out     emitter
	dropped int
	err     error
}

// NewDecoder makes a decoder that refuses an event whose message or whose JSON
// has more than limit bytes. limit ≤ 0 is 8 MiB. Memory grows with what has
// come, never with what a length promises, and what an event needed beyond
// 64 KiB is given back after it.
func NewDecoder(limit int) *Decoder {
	if limit <= 0 {
		limit = 8 << 20
	}
	return &Decoder{limit: limit, out: emitter{limit: limit}}
}

// Feed reads the next chunk and calls each with every event that is complete:
// JSON with the members, names and values that decode of @ag-ui/proto 1.0.0
// gives, in a form ParseFrame takes. The frame's Raw is valid during each only.
// Whether required fields are there is asked of Validate, as with JSON; protobuf
// itself cannot tell an empty string from a missing one.
//
// The error is each's, or a *fault.Error: event_too_large, or
// upstream_protocol_error for bytes that are no event. Strings that are not
// UTF-8 are refused, where the package would put U+FFFD, since JSON of an agent
// is refused for them too. After an error the decoder gives the same for ever.
func (d *Decoder) Feed(chunk []byte, each func(agui.Frame) error) error {
	for d.err == nil && len(chunk) > 0 {
		if len(d.part) == 0 && len(chunk) >= prefixSize {
			var n int
			if n, d.err = d.length(chunk); d.err != nil {
				break
			}
			if len(chunk)-prefixSize >= n {
				d.err = d.take(chunk[prefixSize:prefixSize+n], each)
				chunk = chunk[prefixSize+n:]
				continue
			}
		}
		chunk, d.err = d.collect(chunk, each)
	}
	if d.err != nil {
		d.part, d.out.json = nil, nil
	}
	return d.err
}

// collect adds to the event that is begun, and gives the rest of chunk.
func (d *Decoder) collect(chunk []byte, each func(agui.Frame) error) ([]byte, error) {
	if missing := prefixSize - len(d.part); missing > 0 {
		n := min(missing, len(chunk))
		d.part, chunk = append(d.part, chunk[:n]...), chunk[n:]
		if n < missing {
			return chunk, nil
		}
	}
	size, err := d.length(d.part)
	if err != nil {
		return nil, err
	}
	n := min(prefixSize+size-len(d.part), len(chunk))
	d.part, chunk = append(d.part, chunk[:n]...), chunk[n:]
	if len(d.part) < prefixSize+size {
		return chunk, nil
	}
	err = d.take(d.part[prefixSize:], each)
	d.part = shrink(d.part)
	return chunk, err
}

func (d *Decoder) length(b []byte) (int, error) {
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(d.limit) {
		return 0, (&problem{tooLarge: true}).ofMessage(d.limit)
	}
	return int(n), nil
}

// take reads one message.
func (d *Decoder) take(b []byte, each func(agui.Frame) error) error {
	if len(b) == 0 {
		d.dropped++
		return nil
	}
	t, p := d.out.event(b)
	switch {
	case p == dropped:
		d.dropped++
		return nil
	case p != nil:
		return p.ofMessage(d.limit)
	}
	err := each(agui.Frame{Type: t, Raw: d.out.json})
	d.out.json = shrink(d.out.json)
	return err
}

// shrink empties a buffer, and lets go of one that a large event has grown.
func shrink(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// Dropped is how many messages so far had no event in them that we know.
func (d *Decoder) Dropped() int { return d.dropped }

// Pending reports whether an event was begun and not ended.
func (d *Decoder) Pending() bool { return len(d.part) > 0 }

// Close ends the stream. It gives the error that Feed gave, if any, else a
// *fault.Error with code incomplete_stream when an event was begun and not
// ended: unlike in SSE, half a message says nothing.
func (d *Decoder) Close() error {
	if errors.Is(d.err, errClosed) {
		return nil
	}
	err := d.err
	if err == nil && d.Pending() {
		err = fault.New(fault.IncompleteStream, "the agent's stream was cut within an event")
	}
	d.err = errClosed
	return err
}
