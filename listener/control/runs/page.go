package runs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"math"
	"strconv"
	"sync"

	"mockserver/internal/list"
	"mockserver/internal/statistics"
	"mockserver/internal/wording"
	"mockserver/listener/observe/verdict"
)

// reportFiles contains the templates of reports, and their styles and script, which are inserted into
// them.
//
//go:embed report
var reportFiles embed.FS

// Shared returns a file that the admin page has in common with reports: base.css or reading.js.
func Shared(name string) []byte {
	content, _ := reportFiles.ReadFile("report/" + name) // the file is embedded, so it exists
	return content
}

// PagePolicy is the Content-Security-Policy of a page; such a page loads nothing, and runs only its
// own script.
func PagePolicy() string {
	return "default-src 'none'; style-src 'unsafe-inline'; script-src '" + Hash(string(Script())) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// Hash returns the source expression of a policy that allows an inline style or script.
func Hash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// reportTemplates parses the templates the first time they are needed.
var reportTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"count": wording.Thousands[uint64], "rate": rateText, "clock": clockText, "round": math.Round, "moment": momentText, "share": shareText, "ms": msText, "short": verdict.Short,
		"part": partText, "stacked": stacked, "shortened": shortened, "failed": failedTexts, "legible": legible, "path": breakable, "rows": rows,
		"seconds": func(s float64) string { return "for " + verdict.Short(s) + " s" },
		"figure":  func(f statistics.Figure) string { return intervalText(&f, msText) },
		"add1":    func(i int) int { return i + 1 },
		"signed":  func(n int64) string { return wording.Thousands(uint64(max(n, 0))) },
		"cores":   func(figure *float64) string { return figureText(figure, verdict.Short) },
		"style":   Style, "script": Script, "shaded": (*Report).shaded, "grouped": grouped,
		"main": func(r *Report) []view { return r.curves("main", mainPlans(), true) },
		"more": func(r *Report) []view { return r.curves("more", plans(), false) },
		"bars": (*Report).distributions, "findings": (*Comparison).findings, "charts": (*Comparison).charts,
	}).ParseFS(reportFiles, "report/*.html"))
})

// rendered executes a template.
func rendered(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := reportTemplates().ExecuteTemplate(&b, name, data)
	return b.Bytes(), err
}

// Style returns the style that each page contains.
func Style() template.CSS {
	return template.CSS(string(Shared("base.css")) + string(Shared("report.css")))
}

// Script returns the script that each page contains: it shows the values of charts.
func Script() template.JS { return template.JS(Shared("reading.js")) }

// Page returns the report as a page that loads nothing.
func (r *Report) Page() ([]byte, error) { return rendered("report.html", r) }

// unmatchedGroup are unmatched requests with the same nearest endpoint, or all without one. The most
// frequent is its UnmatchedReport, with the number of all.
type unmatchedGroup struct {
	UnmatchedReport
	Others int
}

// grouped groups unmatched requests by the nearest endpoint, or by the status of the response if none
// is similar, in the order in which the groups appear.
func grouped(all []UnmatchedReport) []unmatchedGroup {
	return list.Merge(list.Map(all, func(u UnmatchedReport) unmatchedGroup { return unmatchedGroup{UnmatchedReport: u} }),
		func(u *unmatchedGroup) string { return cmp.Or(u.Nearest, strconv.Itoa(u.Status)) },
		func(group, u *unmatchedGroup) { group.Count, group.Others = group.Count+u.Count, group.Others+1 })
}
