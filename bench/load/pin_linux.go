package load

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Place divides the CPUs that this process may use between the server and the generator.
func Place() Placement { return divide(coresOf(allowedCPUs())) }

// maxCPUs is the largest number of CPUs that Linux can be built for.
const maxCPUs = 8192

// allowedCPUs returns the CPUs that this process may use: those of the calling thread, since the
// first thread of the process may be pinned.
func allowedCPUs() []int {
	set := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(0, set); err != nil {
		return nil
	}
	var cpus []int
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// coresOf groups CPUs by the core to which they belong. A CPU whose core is unknown counts as its
// own core.
func coresOf(cpus []int) [][]int {
	var cores [][]int
	known := map[string]int{}
	for _, cpu := range cpus {
		text, err := os.ReadFile("/sys/devices/system/cpu/cpu" + strconv.Itoa(cpu) + "/topology/thread_siblings_list")
		siblings := string(bytes.TrimSpace(text))
		if at, ok := known[siblings]; ok && err == nil {
			cores[at] = append(cores[at], cpu)
			continue
		}
		known[siblings] = len(cores)
		cores = append(cores, []int{cpu})
	}
	return cores
}

// StartOn starts a program that may use only these CPUs, so that its Go runtime counts only these.
// If cpus is empty, it may use all CPUs that this process may use. The program is in a process group
// of its own, so that Ctrl-C in a terminal does not reach it.
func StartOn(cmd *exec.Cmd, cpus []int) error {
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if len(cpus) == 0 {
		return cmd.Start()
	}
	// A child inherits the CPUs of the thread that starts it. While this thread is locked, Go
	// starts new threads from another thread, so they do not inherit its CPUs.
	runtime.LockOSThread()
	before := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(0, before); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("start on CPU %s: %w", numbers(cpus), err)
	}
	if err := pinThread(cpus...); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("start: %w", err)
	}
	err := cmd.Start()
	if unix.SchedSetaffinityDynamic(0, before) == nil {
		runtime.UnlockOSThread() // otherwise it stays locked, and ends with its goroutine
	}
	return err
}

// Kill kills a program that StartOn has started, and the processes that it has started.
func Kill(p *os.Process) { _ = unix.Kill(-p.Pid, unix.SIGKILL) } // they may be gone

// pinThread restricts the calling thread, which must be locked, to these CPUs.
func pinThread(cpus ...int) error {
	set := unix.NewCPUSet(maxCPUs)
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return fmt.Errorf("pin to CPU %s: %w", numbers(cpus), err)
	}
	return nil
}
