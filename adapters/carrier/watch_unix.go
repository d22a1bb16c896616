//go:build unix && !linux

package carrier

import (
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sweepEvery is how late a leave is noticed at worst.
const sweepEvery = 250 * time.Millisecond

// watcher tells when the peers of connections leave, for systems without epoll: one
// goroutine peeks at every watched socket four times a second. A peer that leaves
// with bytes pending, as TLS does, is noticed by the next write only.
type watcher struct {
	stopped chan struct{}
	done    chan struct{}
	once    sync.Once

	mu   sync.Mutex
	last uint64
	gone map[uint64]watched
}

type watched struct {
	rc   syscall.RawConn
	gone func()
}

func newWatcher() (*watcher, error) {
	w := &watcher{stopped: make(chan struct{}), done: make(chan struct{}), gone: map[uint64]watched{}}
	go w.loop()
	return w, nil
}

func (w *watcher) loop() {
	defer close(w.done)
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		select {
		case <-w.stopped:
			return
		case <-t.C:
			w.sweep()
		}
	}
}

func (w *watcher) sweep() {
	w.mu.Lock()
	var left []func()
	for id, k := range w.gone {
		if hungUp(k.rc) {
			delete(w.gone, id)
			left = append(left, k.gone)
		}
	}
	w.mu.Unlock()
	for _, f := range left {
		f()
	}
}

func hungUp(rc syscall.RawConn) bool {
	up := false
	err := rc.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		up = n == 0 && err == nil || err != nil && err != unix.EAGAIN && err != unix.EINTR
	})
	return err != nil || up
}

// watch calls gone once when the peer of c has left; stop ends the watch.
func (w *watcher) watch(c net.Conn, gone func()) (stop func(), err error) {
	rc, err := socketOf(c)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.last++
	id := w.last
	w.gone[id] = watched{rc, gone}
	w.mu.Unlock()
	return func() {
		w.mu.Lock()
		delete(w.gone, id)
		w.mu.Unlock()
	}, nil
}

func (w *watcher) close() {
	w.once.Do(func() { close(w.stopped) })
	<-w.done
}
