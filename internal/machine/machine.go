// Package machine names what the program runs on.
package machine

import (
	"os"
	"strings"
)

// Kernel is the version of the kernel; "" where the system does not tell.
func Kernel() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease") // what cannot be read is not known
	return strings.TrimSpace(string(text))
}

// CPU is the model of the CPU; "" where the system does not tell.
func CPU() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
