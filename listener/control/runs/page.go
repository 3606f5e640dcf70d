package runs

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"math"
	"reflect"
	"slices"
	"sync"

	"mockserver/internal/statistics"
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
		"count": countText, "rate": rateText, "clock": clockText, "moment": momentText, "statuses": statusesText, "failed": func(r *Report) []string { return failedTexts(r.Total.Failed, r.Total.Requests) }, "faults": faultsText,
		"legible": legible, "path": breakable,
		"seconds": func(s float64) string { return "for " + verdict.Short(s) + " s" },
		"p50":     func(q Quantiles) string { return quantileText(q.Count, q.P50) },
		"p99":     func(q Quantiles) string { return quantileText(q.Count, q.P99) },
		"figure":  func(f statistics.Figure) string { return intervalText(&f, msText) },
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
	add := func(name string, q Quantiles) {
		if q.Count == 0 {
			return
		}
		row := timesRow{Name: name}
		for i, f := range q.figures() {
			row.Texts[i] = intervalText(f, msText)
		}
		row.Texts[len(row.Texts)-1] = msText(q.Max)
		rows = append(rows, row)
	}
	if d := e.Declared; d != nil {
		row := timesRow{Name: "declared"}
		for i, ms := range [...]float64{d.P50, d.P90, d.P95, d.P99, d.P999} {
			if row.Texts[i] = msText(ms); slices.Contains(d.Outside, percentiles[i].name) {
				row.Texts[i] += ", outside"
			}
		}
		row.Texts[len(row.Texts)-1] = none
		rows = append(rows, row)
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

// moreFigures are shown in addition to those that are compared: name, field and unit.
var moreFigures = [...][3]string{
	{"Requests by HTTP/2", "Protocols.H2", "count"}, {"Requests by HTTP/1.0", "Protocols.HTTP10", "count"},
	{"Probe p99", "Probe.P99", "ms"}, {"Echo p99", "Echo.P99", "ms"},
	{"Bytes received", "In", "count"}, {"Bytes sent", "Out", "count"},
}

// figures returns the figures of the whole run.
func (r *Report) figures() (list [][2]string) {
	total := r.source()
	add := func(name, path, unit, json string) {
		list = append(list, [2]string{name, intervalText(total.figure(path, json), units[unit])})
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[TotalDifferences]()) {
		if name := f.Tag.Get("row"); name != "" {
			add(name, f.Tag.Get("of"), f.Tag.Get("unit"), f.Tag.Get("json"))
		}
	}
	for _, f := range moreFigures {
		add(f[0], f[1], f[2], "")
	}
	return list
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
		{"version", r.Program.Version}, {"commit", cmp.Or(r.Program.Commit, none)}, {"Go", r.Program.Go},
		{"configuration, SHA-256", r.Configuration.Hash}, {"configuration changed", changed},
		{"endpoints declared", fmt.Sprint(r.Configuration.Endpoints)},
		{"system", m.OS + "/" + m.Arch + " " + m.Kernel}, {"processor", cmp.Or(m.CPU, none)},
		{"CPUs", fmt.Sprint(m.CPUs)}, {"GOMAXPROCS", fmt.Sprint(m.Procs)}, {"CPU limit, in cores", verdict.Short(m.CPULimit)}, {"memory limit", limit},
	}
}
