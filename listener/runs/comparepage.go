package runs

import (
	"html/template"
	"math"
	"mockserver/listener/verdict"
	"strings"
)

// comparisonPage is what the template of a comparison shows.
type comparisonPage struct {
	Comparison
	Style template.CSS
}

// Page is a comparison as a page that needs nothing else.
func (c *Comparison) Page() ([]byte, error) {
	return rendered("compare.html", comparisonPage{*c, Style()})
}

// pairRow is a figure of a comparison as texts.
type pairRow struct{ Name, A, B, Difference, Change string }

func rowOf(name string, p Pair, text func(float64) string) pairRow {
	return pairRow{name, figureText(p.A, text), figureText(p.B, text), differenceText(p.Difference, text), changeText(p.Change)}
}

func wholeText(n float64) string { return countText(uint64(n)) }

func memoryText(n float64) string { return verdict.Short(n/(1<<20)) + " MiB" }

// rows are the figures of a comparison in the order in which they are shown.
func (d Differences) rows() []pairRow {
	return []pairRow{
		rowOf("Requests", d.Requests, wholeText), rowOf("A second", d.Rate, rateText),
		rowOf("Declared errors", d.DeclaredErrors, shareText), rowOf("Injected errors", d.InjectedErrors, shareText), rowOf("Own errors", d.OwnErrors, shareText),
		rowOf("Own p50", d.OwnP50, msText), rowOf("Own p90", d.OwnP90, msText), rowOf("Own p99", d.OwnP99, msText), rowOf("Own p99.9", d.OwnP999, msText),
		rowOf("Injected p50", d.InjectedP50, msText), rowOf("Injected p99", d.InjectedP99, msText), rowOf("Late p99", d.InjectionErrorP99, msText),
	}
}

// whole are the rows of two whole runs.
func (d TotalDifferences) whole() []pairRow {
	return append(d.rows(),
		rowOf("Webhooks sent", d.WebhooksSent, wholeText), rowOf("Webhooks failed", d.WebhooksDead, wholeText), rowOf("Webhooks refused", d.WebhooksRefused, wholeText),
		rowOf("Webhook lag p50", d.WebhookLagP50, msText), rowOf("Webhook lag p99", d.WebhookLagP99, msText),
		rowOf("CPU used, in cores", d.CPU, verdict.Short), rowOf("CPU used, of what it may use", d.CPUShare, shareText),
		rowOf("Machine busy", d.MachineCPU, shareText), rowOf("Kept from running by the quota", d.Throttled, msText),
		rowOf("Scheduler latency p99", d.SchedulerP99, msText), rowOf("Longest pause of the collector", d.PauseMax, msText),
		rowOf("Memory at the end", d.Memory, memoryText),
	)
}

// differenceText is a difference in the unit of its figures; that of two percentages is
// in points, so that it is not read as a change in percent.
func differenceText(difference *float64, text func(float64) string) string {
	if difference == nil {
		return none
	}
	size := strings.Replace(text(math.Abs(*difference)), " %", " points", 1)
	if !strings.ContainsAny(size, "123456789") {
		size = "0"
	}
	return signed(*difference, size)
}

// changeText is a change in percent.
func changeText(change *float64) string {
	if change == nil {
		return none
	}
	size := math.Abs(*change)
	if size < 0.0005 {
		size = 0
	}
	return signed(*change, shareText(size))
}

// signed is the text of a figure's size with its sign. What is rounded to nothing has
// neither.
func signed(figure float64, size string) string {
	switch {
	case !strings.ContainsAny(size, "123456789"):
		return "±" + size
	case figure > 0:
		return "+" + size
	}
	return "\u2212" + size
}
