// Package store keeps what must outlive a run: records, such as threads and
// rounds, and the log of each thread's events. It is NATS JetStream, embedded in
// this process or an existing cluster, behind one code path [OPS-4]: only the
// connection and the number of copies differ.
//
// Records are whole values with a revision; every change is a compare-and-set.
// Values carry the id of their writer, so two equal values come from one write:
// that is what lets a write whose answer was lost be recognised as ours.
//
// A log only grows at its end and is forgotten from its beginning: what is kept
// of a key is always its newest entries without a hole.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// Embedded as Options.NATS runs the server inside this process.
	Embedded = "embedded"
	// Memory as Options.Dir keeps nothing once the process ends.
	Memory = "memory"

	defaultPrefix    = "aguigate"
	defaultOpTimeout = 2 * time.Second
	defaultEventAge  = 24 * time.Hour
	openPatience     = 30 * time.Second // a young cluster elects in 4–9 s
)

// Options say where the store is (contract §2, store.*).
type Options struct {
	NATS                   string        // "embedded" (also "") or nats:// URLs separated by commas
	Dir                    string        // embedded: the data directory; "memory" keeps nothing
	SyncAlways             bool          // embedded: fsync before every acknowledgement, not once within a second
	Creds                  string        // cluster: path of a credentials file; "" none
	TLSCA, TLSCert, TLSKey string        // cluster: PEM paths; "" none
	Replicas               int           // cluster: copies of every record, 1, 3 or 5; 0 = 3. Embedded always has one
	Prefix                 string        // of bucket and subject names: letters, digits, _ and -; "" = "aguigate"
	Log                    *slog.Logger  // nil = silent
	OpTimeout              time.Duration // the longest one call may take, its repetitions included; 0 = 2 s
	EventAge               time.Duration // how long the log keeps an entry, at least 1 s; 0 = 24 h. Of several gateways the last one opened decides
}

// Store is an open store, safe for use by many goroutines.
type Store struct {
	logger    *slog.Logger
	prefix    string
	exclusive bool
	opTimeout time.Duration
	attempt   time.Duration // the first try's share of opTimeout

	home    *home // the embedded server and its directory; nil for a cluster
	records *link
	wake    *link // its own connection, so that a slow wake-up never holds up a read
	events  *link // and one for the log, whose bytes are most of all
	kv      [buckets]jetstream.KeyValue
	streams [buckets]jetstream.Stream // under the buckets
	log     *eventLog
	probe   probe

	closing  sync.Once
	closeErr error
}

// Open connects to the store and makes sure its buckets exist, waiting for a
// cluster that is still electing until ctx ends, at most 30 s without a
// deadline. It fails when another process uses the directory.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, openPatience)
		defer cancel()
	}
	s := &Store{logger: o.Log, prefix: o.Prefix, opTimeout: o.OpTimeout, attempt: o.OpTimeout / 4, log: newEventLog()}
	s.probe.turn = make(chan struct{}, 1)
	if err := s.open(ctx, o); err != nil {
		_ = s.Close(ctx) // err says more than what closing half a store says
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, o Options) (err error) {
	sh := shape{replicas: o.Replicas, storage: jetstream.FileStorage, eventAge: o.EventAge}
	if o.NATS == Embedded {
		if s.home, err = startServer(o); err != nil {
			return err
		}
		s.exclusive, sh.direct = true, true
		if o.Dir == Memory {
			sh.storage = jetstream.MemoryStorage
		}
	}
	if s.records, err = dial(o, s.server(), "records", nil); err != nil {
		return err
	}
	if s.wake, err = dial(o, s.server(), "wake", nil); err != nil {
		return err
	}
	if s.events, err = dial(o, s.server(), "events", s.log.missed); err != nil {
		return err
	}
	if err := s.openBuckets(ctx, sh); err != nil {
		return err
	}
	return s.openLog(ctx, sh)
}

// Exclusive reports whether no other process can hold this store, which is so
// when it is embedded.
func (s *Store) Exclusive() bool { return s.exclusive }

// Close ends the subscriptions and followers, lets what is under way finish
// while ctx lasts, that which appenders have taken included, stops the embedded
// server and frees its directory. Calls after it fail. A second Close gives the
// first one's result.
func (s *Store) Close(ctx context.Context) error {
	s.closing.Do(func() {
		s.closeErr = errors.Join(s.log.close(ctx), s.events.close(ctx), s.wake.close(ctx), s.records.close(ctx), s.home.close())
	})
	return s.closeErr
}

func (s *Store) server() *server.Server {
	if s.home == nil {
		return nil
	}
	return s.home.server
}

func (o *Options) complete() error {
	if o.NATS == "" {
		o.NATS = Embedded
	}
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	if !validToken(o.Prefix) {
		return fmt.Errorf("store prefix %q: only letters, digits, _ and - are allowed", o.Prefix)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OpTimeout <= 0 {
		o.OpTimeout = defaultOpTimeout
	}
	if o.EventAge == 0 {
		o.EventAge = defaultEventAge
	}
	if o.EventAge < time.Second {
		return fmt.Errorf("store event age %s: at least 1s", o.EventAge)
	}
	if o.NATS == Embedded {
		o.Replicas = 1
		if o.Dir == "" {
			return errors.New(`the embedded store needs a directory, or "memory"`)
		}
		return nil
	}
	if o.Replicas == 0 {
		o.Replicas = 3
	}
	if o.Replicas != 1 && o.Replicas != 3 && o.Replicas != 5 {
		return fmt.Errorf("store replicas %d: 1, 3 or 5 are allowed", o.Replicas)
	}
	return nil
}
