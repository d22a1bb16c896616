package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bucket is one of the store's key spaces.
type Bucket int

// The buckets.
const (
	Threads  Bucket = iota // one record a thread
	Rounds                 // one record a round, with its invocations
	Index                  // from a public id to the record that holds it
	Messages               // pages of a thread's transcript
	State                  // a thread's state
	Basis                  // what a round's run was asked with
	Due                    // rounds whose answers nobody has told the agent yet
	buckets
)

var bucketNames = [buckets]string{"threads", "rounds", "index", "messages", "state", "basis", "due"}

// String is the bucket's word in logs and in the store.
func (b Bucket) String() string {
	if b < 0 || b >= buckets {
		return fmt.Sprintf("bucket(%d)", int(b))
	}
	return bucketNames[b]
}

const (
	lookPatience   = time.Second     // for the question what is there; nobody answers it while a cluster elects
	bucketPatience = 5 * time.Second // for one try; a replicated stream takes a second or two to place
	bucketPause    = 100 * time.Millisecond
)

// shape is what differs between an embedded store and a cluster's.
type shape struct {
	replicas int
	storage  jetstream.StorageType
	// direct lets any copy answer a read: half the time of asking the leader, but
	// with several copies up to 16 % of the answers are stale under load. So only
	// the embedded store has it, which has one copy and can never get more.
	direct   bool
	eventAge time.Duration
}

// openBuckets makes sure that every bucket is there.
func (s *Store) openBuckets(ctx context.Context, sh shape) error {
	js, err := jetstream.New(s.records.Conn, jetstream.WithDefaultTimeout(s.opTimeout))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for b := range buckets {
		name := s.prefix + "-" + b.String()
		err := s.untilOpen(ctx, "bucket "+name, func(ctx context.Context) (err error) {
			if s.streams[b], err = openStream(ctx, js, bucketConfig(name, sh), adapted); err == nil {
				s.kv[b], err = js.KeyValue(ctx, name)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// untilOpen repeats open: a cluster without a meta leader refuses for some
// seconds.
func (s *Store) untilOpen(ctx context.Context, what string, open func(context.Context) error) error {
	for {
		one, cancel := context.WithTimeout(ctx, bucketPatience)
		err := open(one)
		cancel()
		if err == nil {
			return nil
		}
		if neverMind(err) || !sleep(ctx, bucketPause) {
			return fmt.Errorf("store %s: %w%s", what, err, s.records.trouble())
		}
	}
}

// openStream makes the stream or brings it to what this package needs, leaving
// alone what an operator may have set on it, such as placement or limits.
// Adapted gives the stream's own configuration with the needs of want, and
// whether it met them before.
func openStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig,
	adapted func(have, want jetstream.StreamConfig) (jetstream.StreamConfig, bool)) (jetstream.Stream, error) {
	look, cancel := context.WithTimeout(ctx, lookPatience)
	st, err := js.Stream(look, want.Name)
	cancel()
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return js.CreateStream(ctx, want)
	}
	if err != nil {
		return nil, err
	}
	if cfg, same := adapted(st.CachedInfo().Config, want); !same {
		return js.UpdateStream(ctx, cfg)
	}
	return st, nil
}

// bucketConfig is the stream of a key-value bucket (NATS ADR-8). It is made
// directly, not through CreateKeyValue, which cannot say AllowDirect=false: a
// gateway that starts would open a window of stale reads for all others.
func bucketConfig(name string, sh shape) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              "KV_" + name,
		Subjects:          []string{"$KV." + name + ".>"},
		Storage:           sh.storage,
		Replicas:          sh.replicas,
		MaxMsgsPerSubject: 1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgSize:        -1,
		MaxConsumers:      -1,
		Discard:           jetstream.DiscardNew,
		DenyDelete:        true,
		AllowRollup:       true, // a delete is a rollup
		AllowMsgTTL:       true, // so that a delete's marker goes away in the end
		AllowDirect:       sh.direct,
	}
}

// adapted is a bucket's cfg as this package needs it, and whether it was so
// already.
func adapted(cfg, want jetstream.StreamConfig) (jetstream.StreamConfig, bool) {
	same := cfg.Replicas == want.Replicas && cfg.MaxMsgsPerSubject == 1 && cfg.AllowDirect == want.AllowDirect &&
		cfg.AllowMsgTTL && cfg.AllowRollup
	cfg.Replicas, cfg.MaxMsgsPerSubject, cfg.AllowDirect = want.Replicas, 1, want.AllowDirect
	cfg.AllowMsgTTL, cfg.AllowRollup = true, true
	return cfg, same
}

// neverMind tells the errors that waiting cannot mend.
func neverMind(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case 10074, // replicas > 1 not supported in non-clustered mode
			jetstream.JSErrCodeJetStreamNotEnabled,
			jetstream.JSErrCodeJetStreamNotEnabledForAccount:
			return true
		}
	}
	return errors.Is(err, nats.ErrConnectionClosed)
}

// sleep waits for d; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
