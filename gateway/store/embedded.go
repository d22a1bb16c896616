package store

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	maxPayload = 8 << 20 // the server warns above 8 MiB
	lockName   = "aguigate.lock"

	// The server starts its next interval after a sync has ended, so the
	// contract's second (store.sync: interval) has to hold both.
	syncInterval = 750 * time.Millisecond
)

// home is the embedded server with what it holds on disk.
type home struct {
	server *server.Server
	lock   *os.File
	dir    string
	remove bool // dir is ours alone and goes with us
}

// startServer takes the directory and starts a server that listens nowhere.
func startServer(o Options) (*home, error) {
	h := &home{dir: o.Dir}
	var err error
	if o.Dir == Memory {
		// The server wants a directory although it keeps no record there.
		h.remove = true
		h.dir, err = os.MkdirTemp("", "aguigate-memory-")
	} else {
		err = os.MkdirAll(o.Dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("store directory: %w", err)
	}
	if err := h.start(o); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (h *home) start(o Options) (err error) {
	if h.lock, err = lockFile(filepath.Join(h.dir, lockName)); err != nil {
		return fmt.Errorf("store directory %s: %w", h.dir, err)
	}
	opts := &server.Options{
		ServerName: "aguigate", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: h.dir, MaxPayload: maxPayload,
		SyncAlways: o.SyncAlways, SyncInterval: syncInterval,
		DisableJetStreamBanner: true,
	}
	if h.server, err = server.NewServer(opts); err != nil {
		return fmt.Errorf("embedded store: %w", err)
	}
	log := &serverLog{log: o.Log}
	h.server.SetLoggerV2(log, false, false, false)
	h.server.Start() // returns once everything is recovered, since it does not listen
	if cause := log.fatal.Load(); cause != nil {
		return fmt.Errorf("embedded store in %s: %s", h.dir, *cause)
	}
	if !h.server.ReadyForConnections(o.OpTimeout) {
		return fmt.Errorf("embedded store in %s did not start within %s", h.dir, o.OpTimeout)
	}
	return nil
}

func (h *home) close() error {
	if h == nil {
		return nil
	}
	if h.server != nil {
		h.server.Shutdown()
		h.server.WaitForShutdown()
	}
	var err error
	if h.lock != nil {
		err = h.lock.Close() // the lock goes with its descriptor; the file stays, or two could lock two files
	}
	if h.remove {
		err = errors.Join(err, os.RemoveAll(h.dir))
	}
	return err
}

// serverLog passes on what an operator must see and keeps the reason of a
// failed start, which the server tells nobody but its log.
type serverLog struct {
	log   *slog.Logger
	fatal atomic.Pointer[string]
}

func (l *serverLog) Noticef(format string, v ...any) {
	l.log.Debug("nats: " + fmt.Sprintf(format, v...))
}
func (l *serverLog) Warnf(format string, v ...any) { l.log.Warn("nats: " + fmt.Sprintf(format, v...)) }
func (l *serverLog) Errorf(format string, v ...any) {
	l.log.Error("nats: " + fmt.Sprintf(format, v...))
}
func (l *serverLog) Debugf(string, ...any) {}
func (l *serverLog) Tracef(string, ...any) {}

// Fatalf must not end the process: the gateway drains first.
func (l *serverLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.fatal.CompareAndSwap(nil, &text)
	l.log.Error("nats: " + text)
}
