package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aguigate/aguigate/protocol/fault"
)

// What the log keeps at most [OPS-5]; beyond it the oldest entries go: of the
// key, or of all keys together. Age is Options.EventAge.
const (
	logPerKey      = 32768
	logBytes       = 1 << 30
	logBytesMemory = 256 << 20 // for Options.Dir "memory"
	logBytesLeast  = 16 << 20  // what a small disk must have
)

const (
	// appendPatience is how long an appender sends one entry again: longer than
	// a cluster elects after a lost node, 4–9 s.
	appendPatience = 15 * time.Second
	// sameEntry is how long the store knows an entry that is sent again. It
	// takes some 150 bytes of the server's memory for each entry of that time.
	sameEntry = 2 * appendPatience
)

// ErrClosed is what a follower or an appender says after its Close or the store's.
var ErrClosed = errors.New("store: closed")

// Entry is one appended piece.
type Entry struct {
	Seq  uint64    // grows with every entry of any key, so within one key it has holes; never 0
	Time time.Time // when it was kept, by the store's clock
	Data []byte    // the receiver's to keep
}

// place is where an operation failed, for the error's text.
type place string

func (p place) String() string { return string(p) }

const inLog = place("log")

// eventLog is the one stream that holds the logs of all keys, and who works on it.
type eventLog struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	writer string // of this store; with count it names an entry
	count  atomic.Uint64
	reads  chan struct{} // bounds the reads of all followers, who may all start at once

	patience time.Duration // an appender's for one entry

	mu        sync.Mutex
	closed    atomic.Bool // set under mu
	followers map[*Follower]struct{}
	appending sync.WaitGroup     // the appenders that have something to send
	ctx       context.Context    // ends when they have to give up
	giveUp    context.CancelFunc // ends it
}

func newEventLog() *eventLog {
	l := &eventLog{writer: rand.Text()[:16], reads: make(chan struct{}, 64), patience: appendPatience, followers: map[*Follower]struct{}{}}
	l.ctx, l.giveUp = context.WithCancel(context.Background())
	return l
}

// openLog makes sure that the log's stream is there.
func (s *Store) openLog(ctx context.Context, sh shape) (err error) {
	l := s.log
	if l.js, err = jetstream.New(s.events.Conn, jetstream.WithDefaultTimeout(s.opTimeout)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	want := s.logConfig(sh)
	return s.untilOpen(ctx, "log "+want.Name, func(ctx context.Context) error {
		for {
			l.stream, err = openStream(ctx, l.js, want, adaptedLog)
			// The server sets the bytes aside, which a small disk has not.
			if !noRoom(err) || want.MaxBytes/2 < logBytesLeast {
				return err
			}
			want.MaxBytes /= 2
		}
	})
}

// logConfig is the log's stream. Beside keeping an entry the server sends it on,
// once it is kept, with its number and that of the entry before it under the
// same key: so a follower costs the server no more than a subscription, and
// still knows what it missed.
func (s *Store) logConfig(sh shape) jetstream.StreamConfig {
	cfg := jetstream.StreamConfig{
		Name:              s.logName(),
		Subjects:          []string{s.entrySubject("*")},
		Storage:           sh.storage,
		Replicas:          sh.replicas,
		MaxAge:            sh.eventAge,
		MaxMsgsPerSubject: logPerKey,
		MaxBytes:          logBytes,
		MaxMsgs:           -1,
		MaxMsgSize:        -1,
		MaxConsumers:      -1,
		Discard:           jetstream.DiscardOld,
		Duplicates:        min(sameEntry, sh.eventAge),
		DenyDelete:        true, // only from the beginning, or everything of a key
		// Any copy may answer a page: a late one has the same entries but the
		// last, and the leader is asked whether that was all.
		AllowDirect: true,
		RePublish:   &jetstream.RePublish{Source: s.entrySubject("*"), Destination: s.keptSubject("{{wildcard(1)}}")},
	}
	if sh.storage == jetstream.MemoryStorage {
		cfg.MaxBytes = logBytesMemory
	}
	return cfg
}

// adaptedLog is the log's cfg as this package needs it, and whether it was so
// already. A bound of bytes that is there stays: an operator's, or what the disk
// could give.
func adaptedLog(cfg, want jetstream.StreamConfig) (jetstream.StreamConfig, bool) {
	same := cfg.Replicas == want.Replicas && cfg.MaxAge == want.MaxAge && cfg.Duplicates == want.Duplicates &&
		cfg.MaxMsgsPerSubject == want.MaxMsgsPerSubject && cfg.MaxBytes > 0 && cfg.Discard == want.Discard &&
		cfg.AllowDirect && cfg.RePublish != nil && *cfg.RePublish == *want.RePublish
	cfg.Replicas, cfg.MaxAge, cfg.Duplicates = want.Replicas, want.MaxAge, want.Duplicates
	cfg.MaxMsgsPerSubject, cfg.Discard = want.MaxMsgsPerSubject, want.Discard
	cfg.AllowDirect, cfg.RePublish = true, want.RePublish
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = want.MaxBytes
	}
	return cfg, same
}

// noRoom tells that a server or an account has less than was asked for. A
// cluster that lacks a node says something else.
func noRoom(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == 10028 || api.ErrorCode == 10047) // memory, disk
}

func (s *Store) logName() string                { return s.prefix + "-events" }
func (s *Store) entrySubject(key string) string { return s.prefix + ".events." + key }
func (s *Store) keptSubject(key string) string  { return s.prefix + ".kept." + key }

// Append adds data behind what the key's log has and gives its number, once it
// is kept. A ctx that ends on the way leaves open whether it was. key: one token
// of letters, digits, _ and -, as from Key.
func (s *Store) Append(ctx context.Context, key string, data []byte) (uint64, error) {
	seq, err := s.keep(ctx, s.opTimeout, key, data)
	return seq, s.outward(err, "append", inLog, key)
}

// keep sends an entry until it is kept. Sending it again is safe: the store
// knows it by its name.
func (s *Store) keep(ctx context.Context, patience time.Duration, key string, data []byte) (seq uint64, err error) {
	if !validToken(key) {
		return 0, jetstream.ErrInvalidKey
	}
	name := s.log.writer + strconv.FormatUint(s.log.count.Add(1), 36)
	err = s.tryFor(ctx, patience, func(ctx context.Context, each time.Duration) (bool, error) {
		one, stop := context.WithTimeout(ctx, each)
		defer stop()
		m := &nats.Msg{Subject: s.entrySubject(key), Data: data, Header: nats.Header{jetstream.MsgIDHeader: {name}}}
		ack, err := s.log.js.PublishMsg(one, m, jetstream.WithRetryAttempts(0))
		if err != nil {
			return false, err
		}
		seq = ack.Sequence
		return true, nil
	})
	return seq, err
}

// Last gives the newest entry of key, or ErrNotFound.
func (s *Store) Last(ctx context.Context, key string) (Entry, error) {
	e, err := s.entry(ctx, key, getRequest{LastFor: s.entrySubject(key)})
	return e, s.outward(err, "read", inLog, key)
}

// At gives the entry of key with that number; ErrNotFound when it is not kept, or never
// was one of key.
func (s *Store) At(ctx context.Context, key string, seq uint64) (Entry, error) {
	e, err := s.entry(ctx, key, getRequest{Seq: seq})
	return e, s.outward(err, "read", inLog, key)
}

// DropLog removes every entry of key, also those of writers that append at the
// same time and come before it. A key without entries is no error.
func (s *Store) DropLog(ctx context.Context, key string) error {
	if !validToken(key) {
		return badPlace(inLog, key)
	}
	return s.outward(s.purge(ctx, s.log.stream, s.entrySubject(key)), "drop", inLog, key)
}

// Purge removes every record below prefix (prefix.>) whatever its revision, for
// good and without a marker, and not the record prefix itself [DATA-2]. Writers
// that are under way may write again behind it. No record there is no error.
// prefix: tokens of letters, digits, _ and -, joined by ".".
//
// As with Delete and DropLog nobody can read what is removed; its bytes stay in
// the server's files until the server writes that block anew.
func (s *Store) Purge(ctx context.Context, b Bucket, prefix string) error {
	if !validTopic(prefix) {
		return badPlace(b, prefix) // "" or a wildcard would take what is another's
	}
	subject := "$KV." + s.prefix + "-" + b.String() + "." + prefix + ".>"
	return s.outward(s.purge(ctx, s.streams[b], subject), "purge", b, prefix)
}

// purge removes what the subject matches: one request, whatever there is.
func (s *Store) purge(ctx context.Context, st jetstream.Stream, subject string) error {
	return s.try(ctx, func(ctx context.Context, each time.Duration) (bool, error) {
		one, stop := context.WithTimeout(ctx, each)
		defer stop()
		err := st.Purge(one, jetstream.WithPurgeSubject(subject))
		return err == nil, err
	})
}

func badPlace(where fmt.Stringer, key string) error {
	return fault.New(fault.Internal, "the gateway could not find this record").Because(fmt.Errorf("store: %s %q", where, key))
}

// close ends the followers and waits for the appenders while ctx lasts.
func (l *eventLog) close(ctx context.Context) error {
	l.mu.Lock()
	l.closed.Store(true)
	var all []*Follower
	for f := range l.followers {
		all = append(all, f)
	}
	l.mu.Unlock()
	for _, f := range all {
		f.Close()
	}
	done := make(chan struct{})
	go func() { l.appending.Wait(); close(done) }()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		l.giveUp()
		<-done
		err = fmt.Errorf("store: entries given up before they were kept: %w", ctx.Err())
	}
	l.giveUp()
	return err
}
