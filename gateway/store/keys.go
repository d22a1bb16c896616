package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// maxKeys bounds one listing: about 64 MB of names.
const maxKeys = 1 << 20

// ErrTooMany comes with the first 1,048,576 keys of a longer listing.
var ErrTooMany = errors.New("store: more keys than one listing gives")

var tokenEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Key turns strings of any content and length into one key token of 32
// characters a–z and 2–7. Each part is hashed behind its length, so other parts
// are another key however they are cut: 160 bits of SHA-256. Keys of several
// levels are tokens joined by ".".
func Key(parts ...string) string {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return tokenEncoding.EncodeToString(h.Sum(nil)[:20])
}

// Keys lists the keys below prefix (prefix.>), all of them for "", sorted. In a
// cluster a key written a moment ago may be missing and one deleted a moment
// ago present: it is for sweeping, not for deciding. A listing that was cut off
// is an error, never a short list; past 1,048,576 keys see ErrTooMany.
func (s *Store) Keys(ctx context.Context, b Bucket, prefix string) ([]string, error) {
	filter := ">"
	if prefix != "" {
		filter = prefix + ".>"
	}
	deadline := time.Now().Add(s.opTimeout)
	for {
		keys, err := s.list(ctx, b, filter, maxKeys)
		if err == nil || errors.Is(err, ErrTooMany) {
			return keys, err
		}
		if hopeless(err) || time.Now().After(deadline) || !sleep(ctx, 50*time.Millisecond) {
			return nil, s.outward(err, "list", b, filter)
		}
	}
}

// list reads the keys in one go. It gives up when nothing came for opTimeout:
// a long listing may take longer than that as long as it moves.
func (s *Store) list(ctx context.Context, b Bucket, filter string, limit int) (keys []string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(s.opTimeout, func() { cancel(context.DeadlineExceeded) })
	defer idle.Stop()
	w, err := s.kv[b].Watch(ctx, filter, jetstream.IgnoreDeletes(), jetstream.MetaOnly())
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = w.Stop()
		for range w.Updates() { // the watcher's goroutine may be waiting to hand over one more
		}
	}()
	for {
		select {
		case e, open := <-w.Updates():
			switch {
			case !open:
				return nil, fmt.Errorf("the listing was cut off: %w", cmp.Or(context.Cause(ctx), s.records.LastError(), nats.ErrConnectionClosed))
			case e == nil:
				slices.Sort(keys)
				return slices.Compact(keys), nil // a key written meanwhile comes twice
			case len(keys) == limit:
				return keys, ErrTooMany
			}
			keys = append(keys, e.Key())
			idle.Reset(s.opTimeout)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
