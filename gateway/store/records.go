package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aguigate/aguigate/protocol/fault"
)

// The answers a caller decides on. Anything else is a *fault.Error.
var (
	ErrNotFound = errors.New("store: no such record")
	ErrExists   = errors.New("store: the record exists")
	// ErrConflict: the record has another revision than the one given, or is
	// gone. Whoever gets it must read again: after an outage the newer value may
	// even have been built on the caller's own.
	ErrConflict = errors.New("store: the record was changed by another writer")
)

// markerTTL bounds the memory deleted keys take [OPS-5]. Only a reader that
// watches a bucket ever sees the marker, and none does.
const markerTTL = time.Minute

// Record is one value as it was read.
type Record struct {
	Value    []byte // the caller's to keep
	Revision uint64 // grows with every write to the bucket; never 0
}

// Get reads the newest acknowledged value of key, or ErrNotFound.
func (s *Store) Get(ctx context.Context, b Bucket, key string) (Record, error) {
	var rec Record
	err := s.try(ctx, func(ctx context.Context, each time.Duration) (bool, error) {
		var err error
		rec, err = s.read(ctx, each, b, key)
		return err == nil || errors.Is(err, ErrNotFound), err
	})
	return rec, s.outward(err, "read", b, key)
}

// Create writes key if there is no such record, else ErrExists. A ctx that ends
// on the way leaves open whether the record was written, so a caller that must
// know gives one that outlives its client.
func (s *Store) Create(ctx context.Context, b Bucket, key string, value []byte) (uint64, error) {
	rev, err := s.write(ctx, write{bucket: b, key: key, value: value, lost: ErrExists,
		send: func(ctx context.Context) (uint64, error) { return s.kv[b].Create(ctx, key, value) }})
	return rev, s.outward(err, "create", b, key)
}

// Update replaces key if its revision still is the given one, else ErrConflict.
// It gives the new revision. For ctx see Create.
func (s *Store) Update(ctx context.Context, b Bucket, key string, value []byte, revision uint64) (uint64, error) {
	if revision == 0 {
		return 0, ErrConflict // NATS would create the key
	}
	rev, err := s.write(ctx, write{bucket: b, key: key, value: value, expect: revision, lost: ErrConflict,
		send: func(ctx context.Context) (uint64, error) { return s.kv[b].Update(ctx, key, value, revision) }})
	return rev, s.outward(err, "update", b, key)
}

// Delete removes key if its revision still is the given one, else ErrConflict;
// a record that is gone already is no error.
func (s *Store) Delete(ctx context.Context, b Bucket, key string, revision uint64) error {
	if revision == 0 {
		return ErrConflict // NATS would delete whatever is there
	}
	_, err := s.write(ctx, write{bucket: b, key: key, expect: revision, lost: ErrConflict, gone: true,
		send: func(ctx context.Context) (uint64, error) {
			return 0, s.kv[b].Purge(ctx, key, jetstream.LastRevision(revision), jetstream.PurgeTTL(markerTTL))
		}})
	return s.outward(err, "delete", b, key)
}

// write is one compare-and-set that may take several tries.
type write struct {
	bucket Bucket
	key    string
	value  []byte
	expect uint64 // the revision it builds on; 0 = no record
	gone   bool   // it wants the record gone
	lost   error  // what to tell who lost
	send   func(ctx context.Context) (uint64, error)
}

// write sends w until its fate is known. Sending it again is safe: of all tries
// the compare lets at most one through.
func (s *Store) write(ctx context.Context, w write) (rev uint64, err error) {
	doubt := false // an earlier try may have been applied although its answer was lost
	err = s.try(ctx, func(ctx context.Context, each time.Duration) (bool, error) {
		one, stop := context.WithTimeout(ctx, each)
		var err error
		rev, err = w.send(one)
		stop()
		if err == nil || hopeless(err) {
			return true, err
		}
		refused := mismatch(err)
		if refused && !doubt && w.expect != 0 && !w.gone {
			return true, w.lost
		}
		doubt = doubt || !refused
		settled, r, judged := s.judge(ctx, each, w, doubt)
		if !settled {
			return false, err
		}
		rev = r
		return true, judged
	})
	if err != nil && doubt && !errors.Is(err, w.lost) {
		err = fmt.Errorf("it may or may not have been written: %w", err)
	}
	return rev, err
}

// judge reads the record to learn what became of w: whether that is settled
// and, if so, the revision written or the error.
func (s *Store) judge(ctx context.Context, each time.Duration, w write, doubt bool) (settled bool, rev uint64, err error) {
	cur, err := s.read(ctx, each, w.bucket, w.key)
	switch {
	case errors.Is(err, ErrNotFound) && w.gone:
		return true, 0, nil
	case errors.Is(err, ErrNotFound) && w.expect != 0:
		return true, 0, w.lost // deleted meanwhile
	case err != nil:
		return false, 0, nil // no record yet, or no answer
	case cur.Revision == w.expect:
		return false, 0, nil // nobody has written, we neither
	case doubt && !w.gone && cur.Revision > w.expect && bytes.Equal(cur.Value, w.value):
		return true, cur.Revision, nil
	}
	return true, 0, w.lost
}

// read asks once, for at most each.
func (s *Store) read(ctx context.Context, each time.Duration, b Bucket, key string) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	e, err := s.kv[b].Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Record{}, ErrNotFound
	}
	if err != nil {
		return Record{}, err
	}
	return Record{Value: e.Value(), Revision: e.Revision()}, nil
}

// oneTry is one try of an operation: whether its answer is final, and the
// answer. Each is how long it may wait for it.
type oneTry func(ctx context.Context, each time.Duration) (final bool, err error)

// try calls fn until its answer is final or the operation's time is spent.
func (s *Store) try(ctx context.Context, fn oneTry) error { return s.tryFor(ctx, s.opTimeout, fn) }

// tryFor is try with another patience: a cluster that elects a leader answers
// some tries with silence and others with "no responders". Each doubles, for
// records so large that the first was too short.
func (s *Store) tryFor(ctx context.Context, patience time.Duration, fn oneTry) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var first error // says more than the end of the time that follows it
	for each := s.attempt; ; each = min(2*each, s.opTimeout) {
		final, err := fn(ctx, each)
		if final || hopeless(err) {
			return err
		}
		if first == nil {
			first = err
		}
		if !sleep(ctx, time.Duration(10+rand.IntN(40))*time.Millisecond) {
			return fmt.Errorf("%w after %w", context.Cause(ctx), first)
		}
	}
}

// mismatch tells a refused compare. It comes before any question for
// ErrKeyExists, which a lost Update matches as well; R1 and R3 streams answer
// with different codes.
func mismatch(err error) bool {
	return errors.Is(err, jetstream.ErrKeyRevisionMismatch) || errors.Is(err, jetstream.ErrKeyExists)
}

// misuse are the caller's mistakes, which no waiting mends.
func misuse(err error) bool {
	return errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, jetstream.ErrInvalidKey)
}

func hopeless(err error) bool {
	return misuse(err) || errors.Is(err, nats.ErrConnectionClosed)
}

// outward turns err into what the package promises: a sentinel or a fault.
func (s *Store) outward(err error, verb string, place fmt.Stringer, key string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrExists), errors.Is(err, ErrConflict):
		return err
	}
	cause := fmt.Errorf("store: %s %s %q: %w", verb, place, key, err)
	if misuse(err) {
		return fault.New(fault.Internal, "the gateway could not keep this record").Because(cause)
	}
	return unavailable(cause)
}

func unavailable(cause error) error {
	f := fault.New(fault.StoreUnavailable, "the gateway's store does not answer; try again").Because(cause)
	f.RetryAfter = time.Second
	return f
}
