package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A page is what one read of the log brings at most; an entry larger than
// pageBytes is a page of its own.
const (
	pageEntries = 256
	pageBytes   = 256 << 10
)

const timeStampHeader = "Nats-Time-Stamp" // the client's own word for it is misspelt

// getRequest asks a stream for messages (NATS ADR-8, ADR-31).
type getRequest struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// getResponse is the leader's answer.
type getResponse struct {
	Error   *jetstream.APIError `json:"error"`
	Message struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Time    time.Time `json:"time"`
		Data    []byte    `json:"data"`
	} `json:"message"`
}

// entry asks for one entry of key who knows everything acknowledged: the log's
// leader, or the only copy, which answers in half the time. ErrNotFound when
// there is none or it is another key's.
func (s *Store) entry(ctx context.Context, key string, req getRequest) (e Entry, err error) {
	if !validToken(key) {
		return Entry{}, jetstream.ErrInvalidKey
	}
	body, err := json.Marshal(req)
	if err != nil {
		return Entry{}, err
	}
	subject, read := "$JS.API.STREAM.MSG.GET."+s.logName(), leaderEntry
	if s.exclusive {
		subject, read = "$JS.API.DIRECT.GET."+s.logName(), copyEntry
	}
	err = s.try(ctx, func(ctx context.Context, each time.Duration) (bool, error) {
		one, stop := context.WithTimeout(ctx, each)
		defer stop()
		m, err := s.events.RequestWithContext(one, subject, body)
		if err != nil {
			return false, err
		}
		var of string
		of, e, err = read(m)
		if err == nil && of != s.entrySubject(key) {
			e, err = Entry{}, ErrNotFound
		}
		return err == nil || errors.Is(err, ErrNotFound), err
	})
	return e, err
}

// leaderEntry is the entry in a leader's answer, and its subject.
func leaderEntry(m *nats.Msg) (subject string, e Entry, err error) {
	var r getResponse
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return "", Entry{}, err
	}
	if r.Error != nil {
		if r.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return "", Entry{}, ErrNotFound
		}
		return "", Entry{}, r.Error
	}
	return r.Message.Subject, Entry{Seq: r.Message.Seq, Time: r.Message.Time, Data: r.Message.Data}, nil
}

// copyEntry is the entry in the answer of a direct read, and its subject.
// ErrNotFound is also the end of a page.
func copyEntry(m *nats.Msg) (subject string, e Entry, err error) {
	switch status := m.Header.Get("Status"); status {
	case "":
		e, err = headedEntry(m)
		return m.Header.Get(jetstream.SubjectHeader), e, err
	case "204", "404":
		return "", Entry{}, ErrNotFound
	case "503":
		return "", Entry{}, nats.ErrNoResponders
	default:
		return "", Entry{}, fmt.Errorf("direct read: %s %s", status, m.Header.Get("Description"))
	}
}

// page reads entries of key from the number on, by any copy: its end need not be
// the log's. More says that this copy has some behind it.
func (s *Store) page(ctx context.Context, key string, from uint64) (entries []Entry, more bool, err error) {
	body, err := json.Marshal(getRequest{Seq: from, NextFor: s.entrySubject(key), Batch: pageEntries, MaxBytes: pageBytes})
	if err != nil {
		return nil, false, err
	}
	err = s.try(ctx, func(ctx context.Context, each time.Duration) (bool, error) {
		one, stop := context.WithTimeout(ctx, each)
		defer stop()
		var err error
		entries, more, err = s.pageOnce(one, body)
		return err == nil, err
	})
	return entries, more, err
}

func (s *Store) pageOnce(ctx context.Context, request []byte) (entries []Entry, more bool, err error) {
	answers := make(chan *nats.Msg, pageEntries+1) // with the end's own message: none can be dropped
	inbox := s.events.NewInbox()
	sub, err := s.events.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only when the connection is closed, and the subscription with it
	if err := s.events.PublishRequest("$JS.API.DIRECT.GET."+s.logName(), inbox, request); err != nil {
		return nil, false, err
	}
	for {
		select {
		case m := <-answers:
			switch _, e, err := copyEntry(m); {
			case errors.Is(err, ErrNotFound):
				pending := m.Header.Get("Nats-Num-Pending")
				return entries, pending != "" && pending != "0", nil
			case err != nil:
				return nil, false, err
			default:
				entries = append(entries, e)
			}
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// headedEntry is an entry whose number and time are in the message's head.
func headedEntry(m *nats.Msg) (Entry, error) {
	seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	at, terr := time.Parse(time.RFC3339Nano, m.Header.Get(timeStampHeader))
	if err = errors.Join(err, terr); err != nil {
		return Entry{}, fmt.Errorf("an entry without number or time: %w", err)
	}
	return Entry{Seq: seq, Time: at, Data: m.Data}, nil
}
