package bench

import (
	"runtime"
	"runtime/debug"

	host "mockserver/internal/machine"
)

// machine describes the machine that the figures were measured on.
type machine struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPU        string `json:"cpu"` // its model; "" if unknown
	CPUs       int    `json:"cpus"`
	Kernel     string `json:"kernel"`
	Go         string `json:"go"`
	Fasthttp   string `json:"fasthttp"`
	Mockserver string `json:"mockserver"`
}

// thisMachine describes this machine, as far as the system knows it.
func thisMachine(version string) machine {
	m := machine{Mockserver: version, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), CPU: host.CPU(), Kernel: host.Kernel(), Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/valyala/fasthttp" {
				m.Fasthttp = dep.Version
			}
		}
	}
	return m
}
