//go:build unix

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lockFile takes the file at path for as long as the result stays open. The
// kernel frees it when the process dies in any way, so a kill -9 leaves nothing
// to clean up.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		holder := holderOf(f)
		_ = f.Close()
		return nil, fmt.Errorf("in use by %s; an embedded store serves one process, several gateways need a NATS cluster", holder)
	case err != nil:
		_ = f.Close()
		return nil, fmt.Errorf("cannot be locked: %w", err)
	}
	if err := writePID(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holderOf reads who wrote the file last; only for the message.
func holderOf(f *os.File) string {
	b, _ := io.ReadAll(io.LimitReader(f, 32))
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return "another process"
	}
	return "process " + strconv.Itoa(pid)
}
