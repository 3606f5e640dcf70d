package runs

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	"html/template"
	"maps"
	"math"
	"mockserver/listener/verdict"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// reportFiles are the templates of reports, and their style, which is written into them:
// a report needs nothing but itself.
//
//go:embed report
var reportFiles embed.FS

// PagePolicy lets a page be shown, and nothing be run or loaded by it.
const PagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// reportTemplates reads the templates, when they are needed first.
var reportTemplates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"count": countText, "rate": rateText, "clock": clockText, "moment": momentText, "statuses": statusesText, "faults": faultsText,
		"legible": legible, "path": breakable,
		"seconds": func(s float64) string { return "for " + verdict.Short(s) + " s" },
		"p50":     func(s verdict.Spread) string { return quantileText(s, s.P50) },
		"p90":     func(s verdict.Spread) string { return quantileText(s, s.P90) },
		"p99":     func(s verdict.Spread) string { return quantileText(s, s.P99) },
		"p999":    func(s verdict.Spread) string { return quantileText(s, s.P999) },
		"add1":    func(i int) int { return i + 1 },
		"rows":    Differences.rows,
		"whole":   TotalDifferences.whole,
	}).ParseFS(reportFiles, "report/*.html")
})

// rendered is a page of a template.
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

// Style is the style that is in each page.
func Style() template.CSS {
	text, _ := reportFiles.ReadFile("report/report.css") // it is embedded
	return template.CSS(text)
}

// none stands for a figure that there is not.
const none = "–"

// quantileText is a quantile of a distribution, if there is any.
func quantileText(s verdict.Spread, ms float64) string {
	if s.Count == 0 {
		return none
	}
	return msText(ms)
}

func momentText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// statusesText is "200: 12, 404: 1".
func statusesText(statuses map[int]uint64) string {
	var all []string
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		all = append(all, fmt.Sprintf("%d: %s", status, countText(statuses[status])))
	}
	return strings.Join(all, ", ")
}

// encodedLetters are bytes beyond ASCII as a path has them.
var encodedLetters = regexp.MustCompile("(?:%[89A-Fa-f][0-9A-Fa-f])+")

// legible is a text with the letters that a path has as percent-encoded bytes written as
// themselves, as address bars do. What is no letter, mark, number or sign stays: it might
// hide or turn what is around it. The page does the same.
func legible(text string) string {
	return encodedLetters.ReplaceAllStringFunc(text, func(encoded string) string {
		letters, err := url.PathUnescape(encoded)
		odd := func(r rune) bool {
			return !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) && r != '\u200d'
		}
		if err != nil || !utf8.ValidString(letters) || strings.ContainsFunc(letters, odd) {
			return encoded
		}
		return letters
	})
}

// breakable is a path whose lines are broken after slashes rather than within words.
func breakable(path string) template.HTML {
	return template.HTML(strings.ReplaceAll(html.EscapeString(path), "/", "/<wbr>"))
}

// faultsText is what went wrong: what the server could not answer, and what was declared.
func faultsText(e EndpointReport) string {
	var all []string
	if e.OwnErrors > 0 {
		all = append(all, "the server's own errors: "+countText(e.OwnErrors))
	}
	if e.DeclaredErrors > 0 {
		all = append(all, "declared errors: "+countText(e.DeclaredErrors))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Faults)) {
		all = append(all, name+": "+countText(e.Faults[name]))
	}
	if e.Limited > 0 {
		all = append(all, "rate limit: "+countText(e.Limited))
	}
	if e.Refused > 0 {
		all = append(all, "capacity: "+countText(e.Refused))
	}
	return strings.Join(all, ", ")
}

// reportPage is what the template of a report shows.
type reportPage struct {
	Report             *Report
	Style              template.CSS
	Begin, End, Length string
	Shaded             bool
	Figures, Setting   [][2]string
	Curves, Bars       []chartView
}

// chartView is a chart with its table.
type chartView struct {
	Title, About string
	Legend       []string
	SVG          template.HTML
	Columns      []string
	Rows         [][]string
}

// Page is a report as a page that needs nothing else.
func (r *Report) Page() ([]byte, error) {
	page := reportPage{
		Report: r, Style: Style(), Begin: momentText(r.Begin), End: "now, it has not ended", Length: clockText(math.Round(r.Total.Seconds)),
		Figures: r.figures(), Setting: r.setting(), Curves: r.curves(), Bars: r.bars(),
	}
	if r.End != nil {
		page.End = momentText(*r.End)
	}
	page.Shaded = slices.ContainsFunc(r.Timeline, func(p Point) bool { return !p.Trusted })
	return rendered("report.html", page)
}

// figures are those of the whole run.
func (r *Report) figures() [][2]string {
	t := &r.Total
	return [][2]string{
		{"requests", countText(t.Requests)}, {"requests a second", rateText(t.Rate)},
		{"errors, declared", countText(t.DeclaredErrors)}, {"errors, injected", countText(t.InjectedErrors)}, {"errors, the server's own", countText(t.OwnErrors)}, {"unmatched", countText(t.Unmatched)}, {"faults", countText(t.Faults)},
		{"refused by limits", countText(t.Limited + t.Refused)},
		{"own time p50", quantileText(t.Own, t.Own.P50)}, {"own time p99", quantileText(t.Own, t.Own.P99)}, {"own time p99.9", quantileText(t.Own, t.Own.P999)},
		{"injected p50", quantileText(t.Injected, t.Injected.P50)}, {"injected p99", quantileText(t.Injected, t.Injected.P99)},
		{"injection error p99", quantileText(t.InjectionError, t.InjectionError.P99)},
		{"webhooks sent", countText(uint64(max(t.WebhooksSent, 0)))}, {"webhooks failed", countText(uint64(max(t.WebhooksDead, 0)))},
		{"webhook lag p99", quantileText(t.WebhookLag, t.WebhookLag.P99)},
		{"longest pause of the collector", quantileText(t.Pauses, t.Pauses.Max)}, {"scheduler latency p99", quantileText(t.Scheduler, t.Scheduler.P99)},
		{"CPU used, in cores", figureText(t.CPU, verdict.Short)}, {"machine busy", figureText(t.MachineCPU, shareText)},
		{"kept from running by the quota", figureText(t.Throttled, msText)},
		{"bytes received", countText(t.In)}, {"bytes sent", countText(t.Out)},
	}
}

func figureText(figure *float64, text func(float64) string) string {
	if figure == nil {
		return none
	}
	return text(*figure)
}

func shareText(share float64) string { return verdict.Short(share*100) + " %" }

// setting is what the run ran with.
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

func cmpText(text string) string {
	if text == "" {
		return none
	}
	return text
}

// column is one figure of a chart over time.
type column struct {
	name string
	of   func(*Point) float64 // NaN for none
}

// maybe is a figure that a point may not have.
func maybe(of func(*Point) *float64) func(*Point) float64 {
	return func(p *Point) float64 {
		if v := of(p); v != nil {
			return *v
		}
		return math.NaN()
	}
}

// chartPlan is a chart over time.
type chartPlan struct {
	title   string
	unit    func(float64) string
	columns []column
}

// chartPlans are the charts of a report.
func chartPlans() []chartPlan {
	return []chartPlan{
		{"Requests a second", rateText, []column{
			{"all", func(p *Point) float64 { return p.Rate }},
			{"unmatched", func(p *Point) float64 { return p.Unmatched }}}},
		{"Errors a second", rateText, []column{
			{"declared", func(p *Point) float64 { return p.DeclaredErrors }},
			{"injected", func(p *Point) float64 { return p.InjectedErrors }},
			{"the server's own", func(p *Point) float64 { return p.OwnErrors }}}},
		{"Own time", msText, []column{
			{"p99", maybe(func(p *Point) *float64 { return p.OwnP99 })},
			{"p50", maybe(func(p *Point) *float64 { return p.OwnP50 })}}},
		{"Injected latency", msText, []column{
			{"p99", maybe(func(p *Point) *float64 { return p.InjectedP99 })},
			{"p50", maybe(func(p *Point) *float64 { return p.InjectedP50 })}}},
		{"Injection error", msText, []column{{"p99", maybe(func(p *Point) *float64 { return p.InjectionErrorP99 })}}},
		{"Faults and limits a second", rateText, []column{
			{"faults", func(p *Point) float64 { return p.Faults }},
			{"refused by limits", func(p *Point) float64 { return p.Limited }}}},
		{"Webhook lag", msText, []column{{"p99", maybe(func(p *Point) *float64 { return p.WebhookLagP99 })}}},
		{"In flight and pending", rateText, []column{
			{"requests in flight", func(p *Point) float64 { return p.InFlight }},
			{"webhooks pending", func(p *Point) float64 { return p.WebhooksPending }}}},
		{"Pauses", msText, []column{
			{"collector, longest", maybe(func(p *Point) *float64 { return p.PauseMax })},
			{"scheduler p99", maybe(func(p *Point) *float64 { return p.SchedulerP99 })},
			{"quota", maybe(func(p *Point) *float64 { return p.Throttled })}}},
		{"Processor", shareText, []column{
			{"process, of its limit", maybe(func(p *Point) *float64 { return p.CPU })},
			{"machine", maybe(func(p *Point) *float64 { return p.MachineCPU })},
			{"stolen", maybe(func(p *Point) *float64 { return p.Steal })}}},
	}
}

// rowsShown is of how many rows the table of a chart is made.
const rowsShown = 60

// curves are the charts over time of which there is any figure.
func (r *Report) curves() []chartView {
	var views []chartView
	shaded := r.shaded()
	rows := thinned(slices.Clone(r.Timeline), rowsShown)
	for i, plan := range chartPlans() {
		chart := curves{
			id: fmt.Sprintf("curves-%d", i+1), title: plan.title, length: r.Total.Seconds, unit: plan.unit, shaded: shaded,
		}
		view := chartView{Title: plan.title, Columns: []string{"At"}}
		shown := false
		for _, c := range plan.columns {
			line := curve{name: c.name}
			for j := range r.Timeline {
				p := &r.Timeline[j]
				value := c.of(p)
				shown = shown || value > 0
				line.x, line.y = append(line.x, p.At-p.Seconds/2), append(line.y, value)
			}
			chart.lines = append(chart.lines, line)
			view.Legend, view.Columns = append(view.Legend, c.name), append(view.Columns, c.name)
		}
		if !shown {
			continue
		}
		chart.about = plan.title + " over the run: " + strings.Join(view.Legend, ", ") + ". The figures are in the table below."
		view.About = plan.title + ", the most of each stretch; of counts the average"
		view.SVG = chart.svg()
		for j := range rows {
			row := []string{clockText(rows[j].At)}
			for _, c := range plan.columns {
				text := none
				if value := c.of(&rows[j]); !math.IsNaN(value) {
					text = plan.unit(value)
				}
				row = append(row, text)
			}
			view.Rows = append(view.Rows, row)
		}
		views = append(views, view)
	}
	return views
}

// shaded are the stretches in which the timing was not trusted.
func (r *Report) shaded() []span {
	var spans []span
	for _, p := range r.Timeline {
		if p.Trusted {
			continue
		}
		from := max(p.At-p.Seconds, 0)
		if n := len(spans); n > 0 && from-spans[n-1].to < 0.01 {
			spans[n-1].to = p.At
			continue
		}
		spans = append(spans, span{from, p.At})
	}
	return spans
}

// bars are the distributions that hold anything, each with its curve by percentile.
func (r *Report) bars() []chartView {
	var views []chartView
	for i, h := range []struct {
		title   string
		buckets []Bucket
		points  []Percentile
	}{
		{"Own time", r.Histograms.Own, r.Percentiles.Own}, {"Injected latency", r.Histograms.Injected, r.Percentiles.Injected},
		{"Injection error", r.Histograms.InjectionError, r.Percentiles.InjectionError}, {"Webhook lag", r.Histograms.WebhookLag, r.Percentiles.WebhookLag},
	} {
		buckets := filled(h.buckets)
		if len(buckets) == 0 {
			continue
		}
		chart := bars{id: fmt.Sprintf("bars-%d", i+1), title: h.title, buckets: buckets}
		chart.about = "Which share of all was in each range of lengths. The figures are in the table below."
		view := chartView{Title: h.title, About: "How many were in each range, and what share of all", SVG: chart.svg(), Columns: []string{"Length", "Count", "Share"}}
		var all uint64
		for _, bucket := range buckets {
			all += bucket.Count
		}
		for _, bucket := range buckets {
			view.Rows = append(view.Rows, []string{bucket.text(), countText(bucket.Count), shareText(float64(bucket.Count) / float64(all))})
		}
		views = append(views, view)
		if len(h.points) > 0 {
			views = append(views, percentileChart(fmt.Sprintf("percentiles-%d", i+1), h.title, all, h.points))
		}
	}
	return views
}
