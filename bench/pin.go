package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// placement says which CPUs the server has to itself, and which the generator. Without
// any, both run where the system puts them, and why says so.
type placement struct {
	server, generator []int
	why               string // in words; also of a placement that is not as good as it could be
}

// divide gives so many CPUs to the server and the others to the generator; 0 is half of
// them. cores has the CPUs that this process may use, those of one core side by side.
func divide(cores [][]int, server int) placement {
	all := slices.Concat(cores...)
	if len(all) < 2 {
		return placement{why: "server and generator share one CPU: nothing is pinned, and the generator takes from the server"}
	}
	if server < 1 {
		server = len(all) / 2
	}
	server = min(server, len(all)-1)
	p := placement{server: all[:server], generator: all[server:]}
	p.why = fmt.Sprintf("server on CPU %s, generator on CPU %s", numbers(p.server), numbers(p.generator))
	for _, core := range cores {
		if slices.Contains(core, all[server-1]) && slices.Contains(core, all[server]) {
			p.why += fmt.Sprintf("; CPU %s are one core, which the two share", numbers(core))
		}
	}
	return p
}

func numbers(cpus []int) string {
	texts := make([]string, len(cpus))
	for i, cpu := range cpus {
		texts[i] = strconv.Itoa(cpu)
	}
	return strings.Join(texts, ",")
}
