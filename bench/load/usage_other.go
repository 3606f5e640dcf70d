//go:build !linux

package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// CPUOf reads the processor time of a process, user and system.
func CPUOf(pid int) (time.Duration, error) {
	p, err := find(pid)
	if err != nil {
		return 0, err
	}
	times, err := p.Times()
	if err != nil {
		return 0, fmt.Errorf("process %d: processor time: %w", pid, err)
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

// FamilyOf returns a process and its descendants.
func FamilyOf(pid int) []int {
	family := []int{pid}
	p, err := find(pid)
	if err != nil {
		return family
	}
	children, _ := p.Children() // none after an error
	for _, child := range children {
		family = append(family, FamilyOf(int(child.Pid))...)
	}
	return family
}

// UsageOf returns the resources that a process has used.
func UsageOf(pid int) (Usage, error) {
	cpu, err := CPUOf(pid)
	if err != nil {
		return Usage{}, err
	}
	p, err := find(pid)
	if err != nil {
		return Usage{}, err
	}
	memory, err := p.MemoryInfo()
	if err != nil {
		return Usage{}, fmt.Errorf("process %d: memory: %w", pid, err)
	}
	return Usage{cpu, memory.RSS}, nil
}
