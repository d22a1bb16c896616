package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the processor time of a process, user and system, by its CPU clock
// (clock_getcpuclockid(3)).
func cpuTime(pid int) (time.Duration, error) {
	var ts unix.Timespec
	const schedClock = 2 // CPUCLOCK_SCHED in the kernel's posix-timers.h
	err := unix.ClockGettime(int32(^pid<<3|schedClock), &ts)
	return time.Duration(ts.Nano()), err
}

// diskWrites are the bytes a process has caused to be written to disk (proc(5),
// io, write_bytes).
func diskWrites(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "\nwrite_bytes: ")
	if !found {
		return 0, fmt.Errorf("/proc/%d/io has no write_bytes", pid)
	}
	var n int64
	_, err = fmt.Sscan(rest, &n)
	return n, err
}

// resident is the resident memory of a process in bytes.
func resident(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, pages int64
	_, err = fmt.Sscan(string(text), &size, &pages)
	return pages * int64(os.Getpagesize()), err
}

// onDisk is what the files below dir take.
func onDisk(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			total += st.Blocks * 512
		}
		return nil
	})
	return total, err
}
