package carrier

import (
	"encoding/binary"
	"net"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// userTimeoutMillis ends a connection whose peer acknowledges nothing for that
// long (RFC 5482): a phone that went out of reach sends neither FIN nor RST.
const userTimeoutMillis = 60_000

// watcher tells when the peers of connections leave. One epoll instance and one
// goroutine serve all of them. It asks for EPOLLRDHUP only, so it neither reads nor
// minds pipelined bytes, and works under TLS, where an orderly end leaves bytes
// pending that would fool a peek.
type watcher struct {
	epoll int
	wake  int // eventfd, ends the loop
	done  chan struct{}

	mu     sync.Mutex
	closed bool
	last   uint64
	gone   map[uint64]func() // by id: fd numbers are used again
}

func newWatcher() (*watcher, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(ep)
		return nil, err
	}
	w := &watcher{epoll: ep, wake: wake, done: make(chan struct{}), gone: map[uint64]func(){}}
	ev := event(unix.EPOLLIN, 0) // id 0 is the wake-up
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, wake, &ev); err != nil {
		_ = unix.Close(ep)
		_ = unix.Close(wake)
		return nil, err
	}
	go w.loop()
	return w, nil
}

// event packs an id into the epoll data, of which the package shows two halves.
func event(events uint32, id uint64) unix.EpollEvent {
	ev := unix.EpollEvent{Events: events}
	binary.NativeEndian.PutUint64((*[8]byte)(unsafe.Pointer(&ev.Fd))[:], id)
	return ev
}

func eventID(ev *unix.EpollEvent) uint64 {
	return binary.NativeEndian.Uint64((*[8]byte)(unsafe.Pointer(&ev.Fd))[:])
}

func (w *watcher) loop() {
	defer close(w.done)
	evs := make([]unix.EpollEvent, 64)
	for {
		n, err := unix.EpollWait(w.epoll, evs, -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		for i := range evs[:n] {
			id := eventID(&evs[i])
			if id == 0 {
				return
			}
			if f := w.take(id); f != nil {
				f()
			}
		}
	}
}

func (w *watcher) take(id uint64) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.gone[id]
	delete(w.gone, id)
	return f
}

// watch calls gone once, from the watcher's goroutine, when the peer of c has
// closed its side or reset. It must not block. stop ends the watch; gone may still
// be running when it returns.
func (w *watcher) watch(c net.Conn, gone func()) (stop func(), err error) {
	rc, err := socketOf(c)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.last++
	id := w.last
	w.gone[id] = gone
	w.mu.Unlock()
	ev := event(unix.EPOLLRDHUP|unix.EPOLLONESHOT, id)
	err = w.control(rc.Control, func(fd int) error {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, userTimeoutMillis)
		return unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &ev)
	})
	if err != nil {
		w.take(id)
		return nil, err
	}
	return func() {
		w.take(id)
		_ = w.control(rc.Control, func(fd int) error { return unix.EpollCtl(w.epoll, unix.EPOLL_CTL_DEL, fd, nil) })
	}, nil
}

// control runs f on the socket, unless the watcher is closed: its own descriptor
// may belong to somebody else by then.
func (w *watcher) control(on func(func(uintptr)) error, f func(fd int) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return net.ErrClosed
	}
	var ferr error
	if err := on(func(fd uintptr) { ferr = f(int(fd)) }); err != nil {
		return err
	}
	return ferr
}

// close ends the loop and waits for it.
func (w *watcher) close() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	w.mu.Unlock()
	one := [8]byte{}
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(w.wake, one[:])
	<-w.done
	_ = unix.Close(w.epoll)
	_ = unix.Close(w.wake)
}
