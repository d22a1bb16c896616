package main

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// prefix begins the names of everything the gateway keeps.
const prefix = "aguigate"

// inboxes are where answers go. What a stream delivers there keeps the subject it
// was written under.
const inboxes = "_INBOX.>"

// tap is a NATS server with JetStream that listens on loopback, and a subscriber
// that sees every write and every read a gateway sends to it. The embedded server of
// a gateway lets nobody in, but gets the same writes: it is the same code.
type tap struct {
	server *server.Server
	conn   *nats.Conn
	msgs   chan *nats.Msg
	done   chan struct{}

	mu     sync.Mutex
	seen   counts
	asked  map[string]string // answer's subject → bucket, of reads under way
	early  map[string]int64  // answer's subject → its bytes, of answers whose question was not seen yet
	marks  map[string]chan struct{}
	failed error
}

// traffic is what went one way.
type traffic struct{ n, bytes int64 }

// counts are all writes and reads so far, by bucket. Bytes are those of values:
// neither subjects nor headers.
type counts struct{ writes, reads map[string]traffic }

func (c counts) clone() counts { return counts{maps.Clone(c.writes), maps.Clone(c.reads)} }

func startTap(dir string) (*tap, error) {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, MaxPayload: 8 << 20,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	t := &tap{server: s, msgs: make(chan *nats.Msg, 1<<17), done: make(chan struct{}), asked: map[string]string{}, early: map[string]int64{},
		marks: map[string]chan struct{}{}, seen: counts{map[string]traffic{}, map[string]traffic{}}}
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, fmt.Errorf("the NATS server did not start")
	}
	t.conn, err = nats.Connect(s.ClientURL(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { t.fail(err) }))
	if err != nil {
		s.Shutdown()
		return nil, err
	}
	go t.count()
	for _, subject := range []string{"$KV.>", prefix + ".events.>", "$JS.API.>", inboxes, "mark.>"} {
		if _, err := t.conn.ChanSubscribe(subject, t.msgs); err != nil {
			t.stop()
			return nil, err
		}
	}
	return t, t.conn.Flush()
}

func (t *tap) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = err
	}
}

func (t *tap) stop() {
	t.conn.Close()
	close(t.msgs) // the connection is closed: nobody sends any more
	<-t.done
	t.server.Shutdown()
	t.server.WaitForShutdown()
}

// total is what was counted when everything sent before had been seen.
func (t *tap) total() (counts, error) {
	subject, seen := "mark."+nats.NewInbox(), make(chan struct{})
	t.mu.Lock()
	t.marks[subject] = seen
	t.mu.Unlock()
	if err := t.conn.Publish(subject, nil); err != nil {
		return counts{}, err
	}
	select {
	case <-seen:
	case <-time.After(20 * time.Second):
		return counts{}, fmt.Errorf("the tap does not follow")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen.clone(), t.failed
}

// count is the subscriber. All subscriptions share a channel, so what is written
// before a mark is seen before it.
func (t *tap) count() {
	defer close(t.done)
	for m := range t.msgs {
		t.mu.Lock()
		t.one(m)
		t.mu.Unlock()
	}
}

func (t *tap) one(m *nats.Msg) {
	if seen := t.marks[m.Subject]; seen != nil {
		close(seen)
		delete(t.marks, m.Subject)
		return
	}
	words := strings.SplitN(m.Subject, ".", 6)
	switch {
	case m.Sub.Subject == inboxes:
		t.answer(m.Subject, int64(len(m.Data)))
	case words[0] == "$KV":
		add(t.seen.writes, strings.TrimPrefix(words[1], prefix+"-"), int64(len(m.Data)))
	case words[0] == prefix:
		add(t.seen.writes, "events", int64(len(m.Data)))
	case words[0] == "$JS" && m.Reply != "":
		if stream := readOf(words); stream != "" {
			t.ask(m.Reply, bucketOf(stream))
		}
	}
}

// maxEarly bounds the answers that are kept for a question to come: nearly all are
// acknowledgements, and entries of the sweep's lists, which nobody asks for.
const maxEarly = 4096

// answer may come to the tap before its question: the server tells both from
// different goroutines.
func (t *tap) answer(subject string, bytes int64) {
	if bucket, ok := t.asked[subject]; ok {
		delete(t.asked, subject)
		add(t.seen.reads, bucket, bytes)
		return
	}
	if len(t.early) >= maxEarly {
		clear(t.early)
	}
	t.early[subject] = bytes
}

func (t *tap) ask(reply, bucket string) {
	if bytes, ok := t.early[reply]; ok {
		delete(t.early, reply)
		add(t.seen.reads, bucket, bytes)
		return
	}
	t.asked[reply] = bucket
}

// readOf gives the stream of a request that reads one value, else "".
func readOf(words []string) string {
	switch {
	case len(words) >= 5 && words[2] == "STREAM" && words[3] == "MSG" && words[4] == "GET":
		return words[5]
	case len(words) >= 5 && words[2] == "DIRECT" && words[3] == "GET":
		return words[4]
	}
	return ""
}

func add(to map[string]traffic, bucket string, bytes int64) {
	at := to[bucket]
	at.n, at.bytes = at.n+1, at.bytes+bytes
	to[bucket] = at
}
