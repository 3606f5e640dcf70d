package bench

import (
	"fmt"
	"strings"
)

// Thresholds of remarks.
const (
	busyGenerator = 0.95 // of its processors' time: above it the generator is the bottleneck
	noisySpread   = 0.15 // of the ratio: if the rounds differ more, the result is unreliable
)

// remarks writes the remarks below the table.
func (r *run) remarks(b *strings.Builder) {
	lines := append([]string{}, r.notes...)
	if len(r.results) > 0 && len(r.placed.Server) == 0 {
		lines = append(lines, r.placed.Why)
	}
	var noisy []string
	for _, res := range r.results {
		if spread := res.sound().ratio().spread(); spread > noisySpread {
			noisy = append(noisy, fmt.Sprintf("%s %.0f %%", res.Name, 100*spread))
		}
	}
	if len(noisy) > 0 {
		lines = append(lines, "the machine was noisy: ratios of the same thing differ widely ("+strings.Join(noisy, ", ")+
			"); use more or longer rounds (--rounds, --duration)")
	}
	for _, res := range r.results {
		for _, line := range r.remarksOn(res) {
			lines = append(lines, res.Name+": "+line)
		}
	}
	for _, u := range r.listed {
		lines = append(lines, u.Endpoint+": not measured: "+u.Why)
	}
	if len(lines) > 0 {
		b.WriteString("\n")
	}
	for _, line := range lines {
		b.WriteString("- " + line + "\n")
	}
}

// remarksOn returns the remarks on one result.
func (r *run) remarksOn(res *result) []string {
	var lines []string
	if res.Void != "" {
		lines = append(lines, "no result: "+res.Void)
	}
	if l := res.medians().Latency; res.streamed && res.Void == "" {
		lines = append(lines, fmt.Sprintf("figures of items, not of requests: they came %s ms later than due at p50, %s at p99, %s at most; the bare handler was loaded before it, with requests",
			l.at(50).text(3), l.at(99).text(3), l.at(100).text(3)))
	}
	busy := res.Rounds.median(res.Rounds.loaded(), func(f *figures) figure { return figure(f.Busy) })
	if busy > busyGenerator {
		lines = append(lines, fmt.Sprintf("the generator was the bottleneck: it used %.0f %% of its processors; requests/s is what it can send; CPU time per request is still valid", 100*busy))
	}
	return lines
}
