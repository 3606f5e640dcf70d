//go:build !linux

package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// cpuOf reads the processor time of a process, user and system.
func cpuOf(pid int) (time.Duration, error) {
	p, err := find(pid)
	if err != nil {
		return 0, err
	}
	return cpuTime(p)
}

func cpuTime(p *process.Process) (time.Duration, error) {
	times, err := p.Times()
	if err != nil {
		return 0, fmt.Errorf("process %d: processor time: %w", p.Pid, err)
	}
	return time.Duration((times.User + times.System) * float64(time.Second)), nil
}

func find(pid int) (*process.Process, error) {
	p, err := process.NewProcess(int32(pid))
	if errors.Is(err, process.ErrorProcessNotRunning) {
		return nil, gone(pid)
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return p, nil
}

// usageOf reads what a process has used.
func usageOf(pid int) (usage, error) {
	u := usage{descriptors: -1}
	p, err := find(pid)
	if err != nil {
		return u, err
	}
	if u.cpu, err = cpuTime(p); err != nil {
		return u, err
	}
	memory, err := p.MemoryInfo()
	if err != nil {
		return u, fmt.Errorf("process %d: memory: %w", pid, err)
	}
	u.resident, u.peak = memory.RSS, memory.HWM
	if n, err := p.NumThreads(); err == nil {
		u.threads = int(n)
	}
	if n, err := p.NumFDs(); err == nil {
		u.descriptors = int(n)
	}
	return u, nil
}
