package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// family is a process and all its children, as nginx is a master and a worker.
func family(pid int) ([]int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, err
	}
	all := []int{pid}
	for _, field := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		below, err := family(child)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// cpuTime is the processor time a process and its children have used, user and
// system. It asks each process's CPU clock (clock_getcpuclockid(3)): the same
// sum that /proc/PID/stat rounds to 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	n, err := sum(pid, func(pid int) (int64, error) {
		var ts unix.Timespec
		const schedClock = 2 // CPUCLOCK_SCHED in the kernel's posix-timers.h
		err := unix.ClockGettime(int32(^pid<<3|schedClock), &ts)
		return ts.Nano(), err
	})
	return time.Duration(n), err
}

// resident is the resident memory of a process and its children in bytes.
func resident(pid int) (int64, error) {
	return sum(pid, func(pid int) (int64, error) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			return 0, err
		}
		var size, pages int64
		_, err = fmt.Sscan(string(text), &size, &pages)
		return pages * int64(os.Getpagesize()), err
	})
}

func sum(pid int, of func(pid int) (int64, error)) (int64, error) {
	pids, err := family(pid)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, one := range pids {
		n, err := of(one)
		if err != nil {
			return 0, fmt.Errorf("process %d: %w", one, err)
		}
		total += n
	}
	return total, nil
}

// twoCores gives two processors this process may use.
func twoCores() (proxy, rest int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0, 0, err
	}
	if set.Count() < 2 {
		return 0, 0, fmt.Errorf("the benchmark wants two processors, there is %d", set.Count())
	}
	var found []int
	for cpu := 0; len(found) < 2; cpu++ {
		if set.IsSet(cpu) {
			found = append(found, cpu)
		}
	}
	return found[0], found[1], nil
}
