package bench

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// machine is what the figures were measured on.
type machine struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPU        string `json:"cpu"` // its model; "" is not known
	CPUs       int    `json:"cpus"`
	Kernel     string `json:"kernel"`
	Go         string `json:"go"`
	Fasthttp   string `json:"fasthttp"`
	Mockserver string `json:"mockserver"`
}

// thisMachine describes this machine, as far as the system knows it.
func thisMachine(version string) machine {
	m := machine{Mockserver: version, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		m.CPU = cpuModel(bufio.NewScanner(f))
		_ = f.Close() // it was read
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/valyala/fasthttp" {
				m.Fasthttp = dep.Version
			}
		}
	}
	return m
}

func cpuModel(lines *bufio.Scanner) string {
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
