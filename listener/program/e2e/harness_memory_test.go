package e2e_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Usage contains the system resources that a process uses.
type Usage struct{ RSS, Threads, Descriptors int } // RSS is in KiB

// Usage returns the current resource usage of the program.
func (p *Process) Usage() Usage {
	p.T.Helper()
	proc := fmt.Sprintf("/proc/%d/", p.pid())
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		p.T.Skip("the memory of a process is not known on this system")
	}
	open, err := os.ReadDir(proc + "fd")
	if err != nil {
		p.T.Fatal(err)
	}
	u := Usage{Descriptors: len(open)}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		switch fields[0] {
		case "VmRSS:":
			u.RSS, err = strconv.Atoi(fields[1])
		case "Threads:":
			u.Threads, err = strconv.Atoi(fields[1])
		}
		if err != nil {
			p.T.Fatal(err)
		}
	}
	return u
}
