package load

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func gone(pid int) error { return fmt.Errorf("process %d: gone", pid) }

// Kinds of clocks that count processor time. They are the low bits of the number of a clock (the
// kernel's posix-timers.h).
const (
	clockOfProcess = 2
	clockOfThread  = 6
)

// CPUOf reads the processor time of a process, user and system, to the nanosecond. It is the sum
// over all its threads, including threads that have ended, which /proc/PID/task does not list.
// Unlike utime and stime, it is not counted in ticks.
func CPUOf(pid int) (time.Duration, error) { return clockTime(pid, clockOfProcess) }

func clockTime(id, kind int) (time.Duration, error) {
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^id)<<3|int32(kind), &at); err != nil {
		if errors.Is(err, unix.EINVAL) {
			return 0, gone(id)
		}
		return 0, fmt.Errorf("process %d: processor time: %w", id, err)
	}
	return time.Duration(at.Nano()), nil
}

// queuedOfThread returns how long a thread of this process has waited for a processor that was in
// use; 0 if it is unknown.
func queuedOfThread(tid int) time.Duration {
	text, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(tid) + "/schedstat")
	if fields := bytes.Fields(text); err == nil && len(fields) > 1 {
		if n, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
			return time.Duration(n)
		}
	}
	return 0
}

// FamilyOf returns a process and its descendants, without those that have exited.
func FamilyOf(pid int) []int {
	if state, _, err := statOf(pid); err != nil || state == 'Z' || state == 'X' {
		return nil
	}
	family := []int{pid}
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children") // the pattern is valid
	for _, thread := range threads {
		text, _ := os.ReadFile(thread) // a process that has exited has none
		for _, field := range bytes.Fields(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				family = append(family, FamilyOf(child)...)
			}
		}
	}
	return family
}

// UsageOf returns the resources that a process has used.
func UsageOf(pid int) (Usage, error) {
	var u Usage
	var err error
	if u.CPU, err = CPUOf(pid); err != nil {
		return u, err
	}
	state, pages, err := statOf(pid)
	if err == nil && (state == 'Z' || state == 'X') {
		err = gone(pid) // it has exited and was not waited for
	}
	u.Resident = pages * uint64(os.Getpagesize())
	return u, err
}

// statOf reads the state of a process and its number of memory pages, which is 0 for a kernel
// thread.
func statOf(pid int) (state byte, pages uint64, err error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			return 0, 0, gone(pid)
		}
		return 0, 0, fmt.Errorf("process %d: %w", pid, err)
	}
	// The name of the program, which may contain any character, is followed by the state, and 21
	// fields later by the pages in memory.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 22 {
		return 0, 0, gone(pid)
	}
	pages, _ = strconv.ParseUint(string(fields[21]), 10, 64)
	return fields[0][0], pages, nil
}
