// Package machine identifies the kernel and the CPU that the program runs on.
package machine

import (
	"os"
	"strings"
)

// Kernel returns the version of the kernel; "" if the system does not report it.
func Kernel() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease") // unknown if the file cannot be read
	return strings.TrimSpace(string(text))
}

// CPU returns the model of the CPU; "" if the system does not report it.
func CPU() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
