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
	Threads Bucket = iota // one record a thread
	Rounds                // one record a round, with its invocations
	Index                 // from a public id to the record that holds it
	buckets
)

var bucketNames = [buckets]string{"threads", "rounds", "index"}

// String is the bucket's word in logs and in the store.
func (b Bucket) String() string {
	if b < 0 || b >= buckets {
		return fmt.Sprintf("bucket(%d)", int(b))
	}
	return bucketNames[b]
}

const (
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
	direct bool
}

// openBuckets repeats until every bucket is there: a cluster without a meta
// leader refuses for some seconds.
func (s *Store) openBuckets(ctx context.Context, sh shape) error {
	js, err := jetstream.New(s.records.Conn, jetstream.WithDefaultTimeout(s.opTimeout))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for b := range buckets {
		name := s.prefix + "-" + b.String()
		for {
			kv, err := openBucket(ctx, js, name, sh)
			if err == nil {
				s.kv[b] = kv
				break
			}
			if neverMind(err) || !sleep(ctx, bucketPause) {
				return fmt.Errorf("store bucket %s: %w%s", name, err, s.records.trouble())
			}
		}
	}
	return nil
}

// openBucket makes the bucket or brings it to what this package needs, leaving
// alone what an operator may have set on it, such as placement or limits.
func openBucket(ctx context.Context, js jetstream.JetStream, name string, sh shape) (jetstream.KeyValue, error) {
	ctx, cancel := context.WithTimeout(ctx, bucketPatience)
	defer cancel()
	st, err := js.Stream(ctx, "KV_"+name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		_, err = js.CreateStream(ctx, bucketConfig(name, sh))
	case err == nil:
		if cfg, same := adapted(st.CachedInfo().Config, sh); !same {
			_, err = js.UpdateStream(ctx, cfg)
		}
	}
	if err != nil {
		return nil, err
	}
	return js.KeyValue(ctx, name)
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

// adapted is cfg as this package needs it, and whether it was so already.
func adapted(cfg jetstream.StreamConfig, sh shape) (jetstream.StreamConfig, bool) {
	same := cfg.Replicas == sh.replicas && cfg.MaxMsgsPerSubject == 1 && cfg.AllowDirect == sh.direct &&
		cfg.AllowMsgTTL && cfg.AllowRollup
	cfg.Replicas, cfg.MaxMsgsPerSubject, cfg.AllowDirect = sh.replicas, 1, sh.direct
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
