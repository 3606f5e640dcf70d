package runs

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"sync"

	"mockserver/listener/observe/verdict"
)

// reportFiles contains the templates of reports, and their style, which is inserted into them.
//
//go:embed report
var reportFiles embed.FS

// PagePolicy is the Content-Security-Policy of a page; such a page runs no scripts and loads
// nothing.
const PagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// reportTemplates parses the templates the first time they are needed.
var reportTemplates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"count": countText, "rate": rateText, "clock": clockText, "moment": momentText, "statuses": statusesText, "faults": faultsText,
		"legible": legible, "path": breakable,
		"seconds": func(s float64) string { return "for " + verdict.Short(s) + " s" },
		"p50":     func(s verdict.Spread) string { return quantileText(s, s.P50) },
		"p99":     func(s verdict.Spread) string { return quantileText(s, s.P99) },
		"add1":    func(i int) int { return i + 1 },
		"rows":    rows,
		"signed":  func(n int64) string { return countText(uint64(max(n, 0))) },

		"operations": operationsText, "share": shareText, "ms": msText, "short": verdict.Short,
		"cores": func(figure *float64) string { return figureText(figure, verdict.Short) },
		"times": times,
	}).ParseFS(reportFiles, "report/*.html")
})

// timesRow is one table row of times, by percentile.
type timesRow struct {
	Name  string
	Texts [6]string
}

// times returns how the requests to an endpoint spent their time. It omits empty distributions.
func times(e EndpointReport) []timesRow {
	var rows []timesRow
	add := func(name string, s verdict.Spread) {
		if s.Count > 0 {
			rows = append(rows, timesRow{name, [...]string{msText(s.P50), msText(s.P90), msText(s.P95), msText(s.P99), msText(s.P999), msText(s.Max)}})
		}
	}
	if d := e.Declared; d != nil {
		rows = append(rows, timesRow{"declared", [...]string{msText(d.P50), msText(d.P90), msText(d.P95), msText(d.P99), msText(d.P999), none}})
	}
	add("response time", e.Total)
	add("injected", e.Injected)
	add("late", e.InjectionError)
	add("upstream", e.Upstream)
	add("own time", e.Own)
	return rows
}

// rendered executes a template.
func rendered(name string, data any) ([]byte, error) {
	t, err := reportTemplates()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Style returns the style that each page contains.
func Style() template.CSS {
	text, _ := reportFiles.ReadFile("report/report.css") // the file is embedded, so it exists
	return template.CSS(text)
}

// reportPage is the data of the template of a report.
type reportPage struct {
	Report             *Report
	Style              template.CSS
	Begin, End, Length string
	Shaded             bool
	Figures, Setting   [][2]string
	Curves, Bars       []view
}

// Page returns the report as a page that loads nothing.
func (r *Report) Page() ([]byte, error) {
	page := reportPage{
		Report: r, Style: Style(), Begin: momentText(r.Begin), End: "now, it has not ended", Length: clockText(math.Round(r.Total.Seconds)),
		Figures: r.figures(), Setting: r.setting(), Curves: r.curves(), Bars: r.distributions(),
	}
	if r.End != nil {
		page.End = momentText(*r.End)
	}
	page.Shaded = slices.ContainsFunc(r.Timeline, func(p Point) bool { return !p.Trusted })
	return rendered("report.html", page)
}

// figures returns the figures of the whole run.
func (r *Report) figures() [][2]string {
	t := &r.Total
	return [][2]string{
		{"requests", countText(t.Requests)}, {"requests a second", rateText(t.Rate)},
		{"requests by HTTP/2", countText(t.Protocols.H2)}, {"requests by HTTP/1.0", countText(t.Protocols.HTTP10)},
		{"errors, declared", countText(t.DeclaredErrors)}, {"errors, injected", countText(t.InjectedErrors)}, {"errors, the server's own", countText(t.OwnErrors)}, {"unmatched", countText(t.Unmatched)}, {"faults", countText(t.Faults)},
		{"refused by limits", countText(t.Limited + t.Refused)},
		{"response time p50", quantileText(t.Total, t.Total.P50)}, {"response time p99", quantileText(t.Total, t.Total.P99)},
		{"response time p99.9", quantileText(t.Total, t.Total.P999)}, {"response time, longest", quantileText(t.Total, t.Total.Max)},
		{"probe p99", quantileText(t.Probe, t.Probe.P99)}, {"echo p99", quantileText(t.Echo, t.Echo.P99)},
		{"own time p50", quantileText(t.Own, t.Own.P50)}, {"own time p99", quantileText(t.Own, t.Own.P99)}, {"own time p99.9", quantileText(t.Own, t.Own.P999)},
		{"upstream p50", quantileText(t.Upstream, t.Upstream.P50)}, {"upstream p99", quantileText(t.Upstream, t.Upstream.P99)},
		{"injected p50", quantileText(t.Injected, t.Injected.P50)}, {"injected p99", quantileText(t.Injected, t.Injected.P99)},
		{"injection error p99", quantileText(t.InjectionError, t.InjectionError.P99)},
		{"webhooks sent", countText(uint64(max(t.WebhooksSent, 0)))}, {"webhooks failed", countText(uint64(max(t.WebhooksDead, 0)))},
		{"webhook lag p99", quantileText(t.WebhookLag, t.WebhookLag.P99)},
		{"longest garbage collector pause", quantileText(t.Pauses, t.Pauses.Max)}, {"scheduler latency p99", quantileText(t.Scheduler, t.Scheduler.P99)},
		{"CPU used, in cores", figureText(t.CPU, verdict.Short)}, {"machine busy", figureText(t.MachineCPU, shareText)},
		{"throttled by the quota", figureText(t.Throttled, msText)},
		{"bytes received", countText(t.In)}, {"bytes sent", countText(t.Out)},
	}
}

// setting returns what was served, and by which program on which machine.
func (r *Report) setting() [][2]string {
	m := &r.Machine
	limit := none
	if m.MemoryLimit > 0 {
		limit = countText(uint64(m.MemoryLimit)) + " bytes"
	}
	changed := "no"
	if r.Configuration.Changed {
		changed = "yes, during the run"
	}
	return [][2]string{
		{"version", r.Program.Version}, {"commit", cmpText(r.Program.Commit)}, {"Go", r.Program.Go},
		{"configuration, SHA-256", r.Configuration.Hash}, {"configuration changed", changed},
		{"endpoints declared", fmt.Sprint(r.Configuration.Endpoints)},
		{"system", m.OS + "/" + m.Arch + " " + m.Kernel}, {"processor", cmpText(m.CPU)},
		{"CPUs", fmt.Sprint(m.CPUs)}, {"GOMAXPROCS", fmt.Sprint(m.Procs)}, {"CPU limit, in cores", verdict.Short(m.CPULimit)}, {"memory limit", limit},
	}
}
