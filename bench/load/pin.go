package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mockserver/internal/list"
)

// Placement contains the CPUs reserved for the server and those reserved for the generator. If both
// are empty, both run where the system puts them.
type Placement struct {
	Server    []int  `json:"server_cpus"`
	Generator []int  `json:"generator_cpus"`
	Why       string `json:"why"` // in words; also why it is not as good as it could be
}

// divide gives half of the CPUs to the server, and the other half to the generator. cores contains
// the CPUs that this process may use, grouped by core.
func divide(cores [][]int) Placement {
	all := slices.Concat(cores...)
	if len(all) < 2 {
		return Placement{Why: "server and generator share one CPU: nothing is pinned, and the generator takes from the server"}
	}
	server := len(all) / 2
	p := Placement{Server: all[:server], Generator: all[server:]}
	p.Why = fmt.Sprintf("server on CPU %s, generator on CPU %s", numbers(p.Server), numbers(p.Generator))
	for _, core := range cores {
		if slices.Contains(core, all[server-1]) && slices.Contains(core, all[server]) {
			p.Why += fmt.Sprintf("; CPU %s are one core, which the two share", numbers(core))
		}
	}
	return p
}

// ServersOnOne gives servers only the first of their CPUs.
func (p *Placement) ServersOnOne() {
	if len(p.Server) > 1 {
		p.Server = p.Server[:1]
		p.Why = fmt.Sprintf("servers on CPU %d, generator on CPU %s", p.Server[0], numbers(p.Generator))
	}
}

func numbers(cpus []int) string {
	return strings.Join(list.Map(cpus, strconv.Itoa), ",")
}
