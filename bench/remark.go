package bench

import (
	"fmt"
	"strings"
	"time"

	"mockserver/internal/wording"
)

// remarks writes the remarks below the table.
func (r *run) remarks(b *strings.Builder) {
	lines := append([]string{}, r.notes...)
	if len(r.results) > 0 && len(r.placed.Server) == 0 {
		lines = append(lines, r.placed.Why)
	}
	if noisy := r.noisy(); len(noisy) > 0 {
		lines = append(lines, "the machine was noisy: ratios of the same thing lie far apart ("+strings.Join(noisy, ", ")+
			"); more or longer rounds say more (--rounds, --duration)")
	}
	for _, res := range r.results {
		for _, line := range r.remarksOn(res) {
			lines = append(lines, res.name+": "+line)
		}
	}
	for _, u := range r.listed {
		lines = append(lines, u.endpoint+": not measured: "+u.why)
	}
	if len(lines) > 0 {
		b.WriteString("\n")
	}
	for _, line := range lines {
		b.WriteString("- " + line + "\n")
	}
}

// noisy names the results whose rounds differ too much, and by how much of their median.
func (r *run) noisy() []string {
	var names []string
	for _, res := range r.results {
		if spread := res.of((*pair).ratio).spread(); res.wrong == "" && spread > noisySpread {
			names = append(names, fmt.Sprintf("%s %.0f %%", res.name, 100*spread))
		}
	}
	return names
}

// remarksOn are the remarks on one result.
func (r *run) remarksOn(res *result) []string {
	var lines []string
	if res.wrong != "" {
		lines = append(lines, "no result: "+res.wrong)
	}
	busy := res.of(func(p *pair) float64 { return max(p.candidate.busy, p.baseline.busy) })
	if len(res.curve) == 0 && busy.median > busyGenerator {
		lines = append(lines, fmt.Sprintf("the generator was the bottleneck: it used %.0f %% of its processors; requests/s is what it can send, CPU time a request holds", 100*busy.median))
	}
	if res.statusOnly {
		lines = append(lines, "of the answers only the status was checked")
	}
	if res.rate > 0 && !r.opts.Rate.given() {
		lines = append(lines, fmt.Sprintf("sent at %.0f requests a second; latency counts from when a request was due", res.rate))
	}
	if w := res.webhooks; w != nil {
		lines = append(lines, fmt.Sprintf("%s arrived, %d lost; behind their time p50 %s, p99 %s, at most %s", wording.Count(w.received, "webhook"), w.lost(), short(w.LagP50), short(w.LagP99), short(w.LagMax)))
	}
	if res.reloaded {
		lines = append(lines, fmt.Sprintf("%s under load; p99 %s ms with them, %s ms without",
			wording.Count(res.reloads, "reload"), number(at(latency(res.rounds, candidateOf), 99), 2), number(at(latency(res.rounds, quietOf), 99), 2)))
	}
	if len(res.costs) > 0 {
		lines = append(lines, "costly: "+strings.Join(res.costs, "; "))
	}
	return lines
}

// short rounds a duration of the log.
func short(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil {
		return "unknown"
	}
	return d.Round(10 * time.Microsecond).String()
}
