package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

var (
	// errEventForm marks what a gateway does not send; asking again gives it again.
	errEventForm = errors.New("the gateway sent an event that is not understood")
	// errMidEvent: a stream never ends inside an event by itself.
	errMidEvent = errors.New("the stream ended inside an event")
)

// event is one SSE frame: data nil when it has none, id "" likewise.
type event struct {
	id   string
	data []byte
}

// eventReader takes a gateway's event stream apart (WHATWG HTML §9.2.6), with the
// ids that package agui's decoder leaves out. It knows the lines a gateway writes,
// also with CRLF: comments, id and data.
type eventReader struct {
	br    *bufio.Reader
	limit int  // bytes of an event
	heard bool // anything at all came
	err   error
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{br: bufio.NewReader(r), limit: answerLimit}
}

// next gives the next frame. io.EOF is an end between two; an end inside one is
// errMidEvent, and the id of a frame that is not whole is not given out. After an
// error it gives the same one for ever.
func (r *eventReader) next() (e event, err error) {
	if r.err == nil {
		e, r.err = r.frame()
	}
	return e, r.err
}

func (r *eventReader) frame() (event, error) {
	var e event
	for size, begun := 0, false; ; {
		line, err := r.line(r.limit - size)
		switch {
		case err == io.EOF && (begun || len(line) > 0):
			return event{}, errMidEvent
		case err != nil:
			return event{}, err
		case len(line) > 0:
			begun = begun || line[0] != ':'
			size += len(line)
			if err := e.take(line); err != nil {
				return event{}, err
			}
		case begun:
			return e, nil
		}
	}
}

// take reads one line of a frame.
func (e *event) take(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "id":
		if !isID(string(value)) {
			return fmt.Errorf("%w: its id is no number", errEventForm)
		}
		e.id = string(value)
	case "data":
		if e.data != nil {
			e.data = append(e.data, '\n')
		} else {
			e.data = []byte{}
		}
		e.data = append(e.data, value...)
	}
	return nil
}

// line reads one line without its end, at most limit bytes.
func (r *eventReader) line(limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.br.ReadSlice('\n')
		line = append(line, part...)
		r.heard = r.heard || len(part) > 0
		switch {
		case len(line) > limit:
			return nil, fmt.Errorf("%w: it has more than %d bytes", errEventForm, r.limit)
		case err == nil:
			return bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'}), nil
		case err != bufio.ErrBufferFull:
			return line, err
		}
	}
}
