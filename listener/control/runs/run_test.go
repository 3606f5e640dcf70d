package runs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"mockserver/config"
	"mockserver/config/settings"
	"mockserver/dispatcher"
	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
	"mockserver/internal/statistics"
	"mockserver/listener/observe/arrivals"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

var sampledFrom = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// scene is a server that is controlled by the test, and the source of its readings.
type scene struct {
	at     time.Time
	each   time.Duration // time that passes with each reading
	counts record.Counts
	own    map[string][]time.Duration
	spec   *config.Spec
	misses []record.Miss
}

func newScene(endpoints ...string) *scene {
	s := &scene{at: sampledFrom, own: map[string][]time.Duration{}, spec: config.New()}
	for _, name := range endpoints {
		s.counts.Endpoints = append(s.counts.Endpoints, record.EndpointCounts{ID: name, Endpoint: name})
	}
	return s
}

// serve makes an endpoint serve requests with a status; the server takes the given time for each.
func (s *scene) serve(name string, status, requests int, took time.Duration) {
	for i := range s.counts.Endpoints {
		c := &s.counts.Endpoints[i]
		if c.Endpoint != name {
			continue
		}
		c.Requests += uint64(requests)
		statuses := map[int]uint64{status: uint64(requests)}
		for other, n := range c.Statuses {
			statuses[other] += n
		}
		c.Statuses = statuses
		for range requests {
			s.own[name] = append(s.own[name], took)
		}
		c.Service = harness.Histogram(s.own[name]...)
	}
}

func (s *scene) after(d time.Duration) verdict.Reading {
	s.at = s.at.Add(d)
	counts := s.counts
	counts.Endpoints = slices.Clone(s.counts.Endpoints)
	return verdict.NewReading(s.at, counts, dispatcher.Stats{})
}

func (s *scene) Read() verdict.Reading               { return s.after(s.each) }
func (s *scene) CountWebhooks() *dispatcher.Counters { return new(dispatcher.Counters) }

func (s *scene) TrackArrivals(*arrivals.Schedule) {}
func (s *scene) Spec() *config.Spec               { return s.spec }
func (s *scene) Unmatched() []record.Miss         { return s.misses }

// runs returns the runs of the scene, and its sampler.
func (s *scene) runs() (*Runs, *verdict.Sampler) {
	sampler := verdict.New(s, nil, slog.New(slog.DiscardHandler))
	return New(sampler, s, settings.Build{Version: "v1"}), sampler
}

// bare returns the runs of a server that does nothing.
func bare() (*Runs, *verdict.Sampler) { return newScene("GET /a").runs() }

func TestRun_ItsReportIsWhatHappenedInIt(t *testing.T) {
	s := newScene("GET /a", "GET /b")
	s.each, s.misses = 100*time.Millisecond, []record.Miss{{Method: "GET", Path: "/x", Count: 5}}
	runs, sampler := s.runs()
	s.serve("GET /a", 200, 500, 9*time.Millisecond) // served before the run
	sampler.Take(s.after(time.Second))
	entry, err := runs.Begin(Beginning{Name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		s.serve("GET /a", 200, 20, 50*time.Microsecond)
		sampler.Take(s.after(time.Second))
	}
	s.serve("GET /b", 500, 10, 50*time.Microsecond)
	before := s.spec.Fingerprint()
	s.spec, s.misses = config.New(config.Endpoint{Path: "/changed"}), []record.Miss{{Method: "GET", Path: "/x", Count: 7, Reason: "why"}, {Method: "GET", Path: "/y", Count: 1}}
	report, found := runs.End(entry.ID)
	if !found || report == nil {
		t.Fatal("no report")
	}
	if report.Total.Requests != 210 || report.Total.Failed.All != 10 || report.Total.Own.Max > 0.06 {
		t.Errorf("total %+v, want the 210 requests of the run, none of them slow", report.Total)
	}
	if !report.Verdict.Trusted || report.Verdict.Untrusted != 0 || report.Running || report.End == nil {
		t.Errorf("verdict %+v: the slow requests came before the run", report.Verdict)
	}
	if len(report.Timeline) != 11 || report.Timeline[0].Rate != 20 || report.Timeline[10].Rate != 100 {
		t.Errorf("timeline %+v, want ten seconds and the rest", report.Timeline)
	}
	if e := report.Endpoints; len(e) != 2 || e[0].Endpoint != "GET /a" || e[0].Requests != 200 || e[1].Statuses[500] != 10 {
		t.Errorf("endpoints %+v", e)
	}
	if u := report.Unmatched; len(u) != 2 || u[0].Path != "/x" || u[0].Count != 2 || u[0].Reason != "why" || u[1].Path != "/y" {
		t.Errorf("unmatched %+v, want /x twice and /y", u)
	}
	if !report.Configuration.Changed || report.Configuration.Hash != before {
		t.Errorf("configuration %+v, want changed since %s", report.Configuration, before)
	}
	if p := report.Percentiles.Own; len(p) == 0 || p[len(p)-1] != (Percentile{100, report.Total.Own.Max}) {
		t.Errorf("the percentiles of own time are %v, want them to end with the longest, %v ms", p, report.Total.Own.Max)
	}
	if again, found := runs.End(entry.ID); again != nil || !found {
		t.Error("a run ended twice")
	}
}

// A specification that was served only for a while counts as a change too.
func TestRun_SeesAChangeThatWasTakenBack(t *testing.T) {
	s := newScene("GET /a")
	runs, sampler := s.runs()
	entry, err := runs.Begin(Beginning{})
	if err != nil {
		t.Fatal(err)
	}
	before := s.spec
	for i, spec := range []*config.Spec{before, config.New(config.Endpoint{Path: "/changed"}), before} {
		s.spec = spec
		sampler.Take(s.after(time.Second))
		if got := runs.Totals(entry.ID, 0).Configuration.Changed; got != (i > 0) {
			t.Errorf("after %d samples: changed is %v", i+1, got)
		}
	}
}

// The weight of a bad second depends on the requests that it delayed: if these are less than 1 % of
// all requests, they do not affect the p99. The reason for distrust is found for two more seconds,
// and remains in effect for seven seconds after that.
func TestRun_IsJudgedAsAWhole(t *testing.T) {
	for slow, want := range map[int]struct {
		trusted bool
		text    string
	}{
		0: {true, "The timing of this run can be trusted."},
		1: {true, "The timing of this run can be trusted as a whole, but not in 10 of its 300 seconds."},
		5: {false, "The timing of this run cannot be trusted: see own-p99. There was a reason not to trust it in 14 of its 300 seconds."},
	} {
		s := newScene("GET /a")
		runs, sampler := s.runs()
		entry, err := runs.Begin(Beginning{Name: ""})
		if err != nil || entry.Name != "run 1" {
			t.Fatal(entry, err)
		}
		for i := range 300 {
			took := 50 * time.Microsecond
			if i >= 100 && i < 100+slow {
				took = 5 * time.Millisecond
			}
			s.serve("GET /a", 200, 100, took)
			sampler.Take(s.after(time.Second))
		}
		report, _ := runs.End(entry.ID)
		if v := report.Verdict; v.Trusted != want.trusted || v.Text != want.text || len(v.Decisive) > 0 == want.trusted {
			t.Errorf("%d slow seconds: %+v, want trusted to be %v", slow, v, want.trusted)
		}
		if slow > 0 && (len(report.Verdict.Reasons) != 1 || math.Abs(report.Verdict.Reasons[0].Number-5) > 0.02) {
			t.Errorf("reasons %+v", report.Verdict.Reasons)
		}
		if slow > 0 && len(report.Verdict.Changes) != 2 {
			t.Errorf("changes %+v, want two", report.Verdict.Changes)
		}
	}
}

// A counted problem makes a run untrusted unless it is rare. Only the seconds in which it happened
// count, not those in which its reason was held.
func TestRun_WhatIsRareDoesNotDecide(t *testing.T) {
	for _, c := range []struct {
		seconds, failures int // one failure in this many seconds
		trusted           bool
	}{{60, 1, false}, {150, 1, true}, {300, 4, false}, {300, 3, true}} {
		s := newScene("GET /a")
		runs, sampler := s.runs()
		entry, err := runs.Begin(Beginning{Name: ""})
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.seconds {
			s.serve("GET /a", 200, 1, 50*time.Microsecond)
			if i%10 == 9 && i < 10*c.failures {
				s.counts.AcceptFailures++
			}
			sampler.Take(s.after(time.Second))
		}
		report, _ := runs.End(entry.ID)
		v := report.Verdict
		if v.Trusted != c.trusted || len(v.Reasons) != 1 || v.Reasons[0].Code != "accept" || v.Reasons[0].Seconds != float64(c.failures) {
			t.Errorf("%+v: %+v, want trusted to be %v", c, v, c.trusted)
		}
	}
}

// A report contains possible explanations of a reason, for the time when the reason held.
func TestRun_SaysWhatMayExplainAReason(t *testing.T) {
	runs, _ := bare()
	entry, err := runs.Begin(Beginning{Name: ""})
	if err != nil {
		t.Fatal(err)
	}
	why := []verdict.Reason{{Code: "machine", Text: "the CPUs were busy", Number: 0.97, Threshold: 0.95, Unit: "share"}}
	for i, v := range []verdict.Verdict{
		{Trusted: true, Explanations: why},
		{Reasons: []verdict.Reason{{Code: "probe-p99", Text: "the probe was late", Number: 5, Threshold: 2, Unit: "ms"}}, Explanations: why},
	} {
		runs.Sampled(verdict.Sample{Time: sampledFrom.Add(time.Duration(i+1) * time.Second), Seconds: 1, Requests: 1}, v)
	}
	report, _ := runs.End(entry.ID)
	if e := report.Verdict.Explanations; len(e) != 1 || e[0].Code != "machine" || e[0].Seconds != 1 || e[0].Number != 0.97 {
		t.Errorf("explanations %+v, want machine for one second", e)
	}
	if text, err := report.Page(); err != nil || !bytes.Contains(text, []byte("the CPUs were busy")) || !bytes.Contains(text, []byte("Possible causes")) {
		t.Errorf("the page of the report does not show it (%v)", err)
	}
}

func TestRun_KeepsABoundedTimeline(t *testing.T) {
	runs, _ := bare()
	entry, err := runs.Begin(Beginning{Name: ""})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pointsKept + 300 {
		runs.Sampled(verdict.Sample{Time: sampledFrom.Add(time.Duration(i+1) * time.Second), Seconds: 1, Requests: 1}, verdict.Verdict{Trusted: true})
	}
	if report, _ := runs.End(entry.ID); len(report.Timeline) > pointsKept {
		t.Errorf("%d points, want at most %d", len(report.Timeline), pointsKept)
	}
}

func TestRuns_OneAtATimeAndABoundedNumberKept(t *testing.T) {
	runs, _ := bare()
	for range Kept + 5 {
		entry, err := runs.Begin(Beginning{Name: ""})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := runs.Begin(Beginning{Name: ""}); err == nil {
			t.Fatal("a second run began during the first")
		}
		if _, err := runs.Remove(entry.ID); err == nil {
			t.Fatal("a run that is under way was removed")
		}
		runs.End(entry.ID)
	}
	if n := len(runs.all); n != Kept || runs.all[0].id != "6" {
		t.Errorf("%d runs are kept from ID %s on, want %d from 6 on", n, runs.all[0].id, Kept)
	}
	if found, err := runs.Remove("6"); !found || err != nil || runs.Report("6") != nil {
		t.Error("a run that ended was not removed")
	}
	if found, _ := runs.Remove("6"); found {
		t.Error("a run was removed twice")
	}
}

func TestThinned_CountsOnAverageTimesAtTheirMost(t *testing.T) {
	points := []Point{
		{At: 1, Seconds: 1, Trusted: true, Rate: 10, OwnP99: new(2.0)}, {At: 2, Seconds: 1, Trusted: true, Rate: 20},
		{At: 3, Seconds: 1, Rate: 30, OwnP99: new(1.0), Throttled: new(3.0)}, {At: 3.5, Seconds: 0.5, Trusted: true, Rate: 90, OwnP99: new(4.0), Throttled: new(4.0)},
	}
	got := thinned(points, 2)
	if len(got) != 2 || got[0].Rate != 15 || got[1].Rate != 50 || *got[0].OwnP99 != 2 || *got[1].OwnP99 != 4 || got[1].At != 3.5 ||
		!got[0].Trusted || got[1].Trusted || got[0].Throttled != nil || *got[1].Throttled != 7 {
		t.Errorf("points %+v", got)
	}
}

// All parts of a run of several days have the same resolution, and the run takes no more memory.
func TestRuns_ThePointsOfALongRunAreEvenlySpread(t *testing.T) {
	r, _ := bare()
	if _, err := r.Begin(Beginning{Name: ""}); err != nil {
		t.Fatal(err)
	}
	one := r.active
	seconds := 8 * 3600
	if volume.Full() {
		seconds *= 9
	}
	for i := range seconds {
		at := sampledFrom.Add(time.Duration(i+1) * (time.Second + time.Millisecond))
		r.Sampled(verdict.Sample{Time: at, Seconds: 1.001, Rate: 10}, verdict.Verdict{Trusted: true})
		if len(one.points) > 2*pointsKept {
			t.Fatalf("%d points", len(one.points))
		}
	}
	shown := thinned(one.points, pointsKept)
	if len(shown) < pointsKept/2 {
		t.Errorf("%d points, want at least half of %d", len(shown), pointsKept)
	}
	var covered float64
	for i, p := range shown {
		covered += p.Seconds
		if i < len(shown)-1 && math.Abs(p.Seconds-shown[0].Seconds) > 2.1 {
			t.Fatalf("point %d covers %v seconds, the first %v", i, p.Seconds, shown[0].Seconds)
		}
		if math.Abs(p.At-covered) > 1e-3 || math.Abs(p.Rate-10) > 1e-9 {
			t.Fatalf("point %d ends at %v with a rate of %v; the points up to it cover %v seconds", i, p.At, p.Rate, covered)
		}
	}
}

func TestRun_OfNothingSaysSo(t *testing.T) {
	s := newScene("GET /a")
	runs, sampler := s.runs()
	entry, err := runs.Begin(Beginning{Name: ""})
	if err != nil {
		t.Fatal(err)
	}
	sampler.Take(s.after(time.Second))
	if report, _ := runs.End(entry.ID); !strings.Contains(report.Verdict.Text, "Nothing was timed") || !report.Verdict.Idle {
		t.Errorf("%+v", report.Verdict)
	}
}

func TestFingerprint_IsOfWhatIsDeclaredAndNotOfWhereItStands(t *testing.T) {
	parse := func(name, text string) string { return config.Loader{}.Parse(name, []byte(text)).Fingerprint() }
	one := parse("a.yml", "- endpoint: {method: GET, path: /a, response: {status: 200, headers: {X: y}}}\n")
	if same := parse("b.yml", "\n\n- endpoint:\n    method: GET\n    path: /a\n    response:\n      headers:\n        X: y\n      status: 200\n"); same != one {
		t.Error("the same configuration, written in another way, has a different hash")
	}
	for _, text := range []string{
		"- endpoint: {method: GET, path: /a, response: {status: 201, headers: {X: y}}}\n",
		"- endpoint: {method: GET, path: /a, response: {status: 200, headers: {X: z}}}\n",
		"- endpoint: {method: GET, path: /a, latency: {min-ms: 1, max-ms: 2}, response: {status: 200, headers: {X: y}}}\n",
		"- endpoint: {method: GET, path: /a, response: {status: 200, headers: {X: y}}}\n- endpoint: {method: GET, path: /b, response: {status: 200}}\n",
		"[]",
	} {
		if parse("a.yml", text) == one {
			t.Errorf("the same hash for %s", text)
		}
	}
	petstore := config.Load("../../../examples/petstore.yml")
	if len(petstore.Endpoints) == 0 || petstore.Fingerprint() != config.Load("../../../examples/petstore.yml").Fingerprint() {
		t.Error("an OpenAPI document has a different hash each time")
	}
}

// figure returns a figure whose interval reaches from a tenth below it to a tenth above it.
func figure(value float64) statistics.Figure {
	return statistics.Figure{Value: new(value), Low: new(value * 0.9), High: new(value * 1.1), Samples: 1000}
}

// hostileReport returns a report with texts that try to inject code.
func hostileReport() *Report {
	evil := `<script>alert("1")</script>'&{{.}}`
	p := func(at float64, trusted bool) Point {
		return Point{At: at, Seconds: 1, Trusted: trusted, Rate: 100 * at, OwnP50: new(0.1), OwnP99: new(0.4), CPU: new(0.5), PauseMax: new(0.2), Faults: 2}
	}
	end := sampledFrom.Add(3 * time.Second)
	return &Report{
		Form: 1, ID: "1", Name: evil, Begin: sampledFrom, End: &end,
		Verdict: RunVerdict{Text: "not trusted", Reasons: []RunCause{{Code: "own-p99", Text: evil}}, Changes: []Change{{At: 1, Reasons: []string{"own-p99"}}}, Unknown: []string{"steal"}},
		Total:   Whole{Sample: verdict.Sample{Seconds: 3, Requests: 30, Rate: 10}},
		Endpoints: []EndpointReport{{
			Endpoint: "GET /" + evil, Host: evil, If: evil, Requests: 30, Statuses: map[int]uint64{200: 29, 500: 1}, Faults: map[string]uint64{"reset": 1},
			Own: Quantiles{Count: 30, P50: figure(0.1), P99: figure(1500)},
		}},
		State: []record.SetCounts{{Name: evil}}, Replicas: []ReplicaReport{{Address: evil}},
		OtherEndpoints: 3, Unmatched: []UnmatchedReport{{Method: "GET", Host: evil, Path: "/" + evil, Status: 404, Count: 2, Reason: evil}}, OtherUnmatched: 4,
		Percentiles: Percentiles{verdict.Times[[]Percentile]{Own: percentilesOf(harness.Histogram(time.Millisecond, 3*time.Second))}}, Timeline: []Point{p(1, true), p(2, false), p(3, true)},
		Program: Program{Version: evil}, Machine: Machine{OS: "linux", CPU: evil}, Configuration: Configuration{Hash: "abc"},
	}
}

// page is a page as a browser parses it: its elements, and the text that a reader sees.
type page struct {
	elements map[string][]*html.Node
	text     string
}

func pageOf(t *testing.T, text []byte) page {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p := page{elements: map[string][]*html.Node{}}
	for n := range root.Descendants() {
		switch {
		case n.Data == "wbr": // only a possible line break
			p.text = strings.TrimSuffix(p.text, " ")
		case n.Type == html.ElementNode:
			p.elements[n.Data] = append(p.elements[n.Data], n)
		case n.Type == html.TextNode && n.Parent.Data != "style" && n.Parent.Data != "script":
			p.text += n.Data + " "
		}
	}
	return p
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// standsAlone checks that a page loads nothing and runs only the script that its policy allows, and that
// its content is accessible to screen readers.
func standsAlone(t *testing.T, text []byte) page {
	t.Helper()
	p := pageOf(t, text)
	if scripts := p.elements["script"]; len(scripts) != 1 || !strings.Contains(PagePolicy(), Hash(scripts[0].FirstChild.Data)) {
		t.Errorf("the policy %s does not allow the scripts", PagePolicy())
	}
	for _, name := range []string{"link", "img", "iframe", "object", "embed", "base", "form"} {
		if n := len(p.elements[name]); n > 0 {
			t.Errorf("%d %s elements", n, name)
		}
	}
	if regexp.MustCompile(`(?i)url\(|@import|\bhttps?://`).Match(text) {
		t.Error("the page refers to something outside")
	}
	ids := map[string]int{}
	for name, all := range p.elements {
		for _, n := range all {
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style" {
					t.Errorf("%s has the attribute %s", name, a.Key)
				}
			}
			if id := attribute(n, "id"); id != "" {
				if ids[id]++; ids[id] > 1 {
					t.Errorf("the ID %q occurs twice", id)
				}
			}
		}
	}
	for _, svg := range p.elements["svg"] {
		if attribute(svg, "aria-hidden") == "true" {
			continue
		}
		names := strings.Fields(attribute(svg, "aria-labelledby"))
		if attribute(svg, "role") != "img" || len(names) != 2 || ids[names[0]] != 1 || ids[names[1]] != 1 {
			t.Errorf("a chart without a title and a description: %v", svg.Attr)
		}
	}
	if len(p.elements["html"]) != 1 || attribute(p.elements["html"][0], "lang") != "en" || len(p.elements["h1"]) != 1 || len(p.elements["main"]) != 1 {
		t.Error("the page lacks a language, a heading or a main part")
	}
	linked := 0
	for _, a := range p.elements["a"] {
		if to, ok := strings.CutPrefix(attribute(a, "href"), "#"); ok {
			linked++
			if ids[to] != 1 {
				t.Errorf("the contents name %q, which is not there", to)
			}
		}
	}
	if parts := len(p.elements["h2"]); linked != parts {
		t.Errorf("the contents name %d of %d parts", linked, parts)
	}
	for _, table := range p.elements["table"] {
		if !slices.ContainsFunc(slices.Collect(table.ChildNodes()), func(n *html.Node) bool { return n.Data == "caption" }) {
			t.Error("a table without a caption")
		}
	}
	style := p.elements["style"][0].FirstChild.Data
	for _, query := range []string{"light-dark(", "@media print"} {
		if !strings.Contains(style, query) {
			t.Errorf("the style has no %s", query)
		}
	}
	return p
}

func TestReport_HTMLStandsAloneAndEscapesWhatCameFromRequests(t *testing.T) {
	report := hostileReport()
	report.Total.Seconds = 53.7
	text, err := report.Page()
	if err != nil {
		t.Fatal(err)
	}
	p := standsAlone(t, text)
	if !strings.Contains(p.text, "· 54 s") { // as the verdict rounds it
		t.Error("the length of the run is not rounded")
	}
	evil := report.Name
	for _, shows := range []string{evil, "/" + evil, "GET /" + evil, "if " + evil, "own-p99", "1.5 s", "200: 29 (96.7\u00a0%)", "500: 1 (3.33\u00a0%)", "reset: 1", "And 3 with fewer", "And 4 other", "not trusted"} {
		if !strings.Contains(p.text, shows) {
			t.Errorf("the page does not show %q", shows)
		}
	}
	charts := 0
	for _, svg := range p.elements["svg"] {
		if attribute(svg, "role") == "img" {
			charts++
		}
	}
	// What clients get; own time, faults, pauses, processor over time; the distribution of own time.
	if figures := len(p.elements["figure"]); charts != 8 || figures != 8 {
		t.Errorf("%d charts in %d figures, want 8: no other chart without data", charts, figures)
	}
	if !strings.Contains(p.text, "shaded") || !bytes.Contains(text, []byte(`class="bad"`)) {
		t.Error("the second that cannot be trusted is not marked")
	}
}

// A scanner requests many paths that resemble no endpoint: they are one row.
func TestReport_GroupsUnmatchedRequests(t *testing.T) {
	var all []UnmatchedReport
	for i := range 90 {
		near := []string{"", "GET /wp/:id|int", "GET /wq/:id"}[i%3]
		all = append(all, UnmatchedReport{Method: "GET", Path: fmt.Sprintf("/wp/%d", i), Status: 404, Count: 2, Reason: fmt.Sprintf("%s (%d)", near, i), Nearest: near})
	}
	for _, status := range []int{405, 426} {
		all = append(all, UnmatchedReport{Method: "GET", Path: "/", Status: status, Count: 2, Reason: "why"})
	}
	var got []string
	for _, g := range grouped(all) {
		got = append(got, fmt.Sprintf("%s %d %d", g.Path, g.Count, g.Others))
	}
	if want := []string{"/wp/0 60 29", "/wp/1 60 29", "/wp/2 60 29", "/ 2 0", "/ 2 0"}; !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
}

// A line does not break between a number and its sign.
func TestReport_SharesDoNotBreak(t *testing.T) {
	for text, want := range map[string]template.HTML{
		"injected: 6, 4.05 % (1.71 to 8.16 %)": "injected: 6, 4.05\u00a0% <small>(1.71 to 8.16 %)</small>",
		"other: 6, 4.05 %":                     "other: 6, 4.05\u00a0%",
	} {
		if got := stacked(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestReport_OfARunWithoutRequestsHasAPage(t *testing.T) {
	report := &Report{Name: "empty", Begin: sampledFrom, Verdict: RunVerdict{Trusted: true, Text: "fine"}}
	text, err := report.Page()
	if err != nil {
		t.Fatal(err)
	}
	if p := standsAlone(t, text); !strings.Contains(p.text, "Nothing was timed.") || !strings.Contains(p.text, "it has not ended") {
		t.Error("the page does not say that nothing was timed")
	}
}

func TestCompare_DifferencesAndWhatKeepsTwoFromBeingCompared(t *testing.T) {
	side := func(id string, rate float64, p99 float64) *Report {
		return &Report{
			ID: id, Name: "run " + id, Final: true, Verdict: RunVerdict{Trusted: true}, Configuration: Configuration{Hash: "h"},
			Total: Whole{Sample: verdict.Sample{Seconds: 5000 / rate, Requests: 5000, Rate: rate, Failed: verdict.Failed{All: 50}}, Times: verdict.Times[Quantiles]{Own: Quantiles{Count: 5000, P99: figure(p99)}}},
			Endpoints: []EndpointReport{
				{ID: "a", Endpoint: "GET /a", Requests: 4000, Rate: rate * 0.8, Statuses: map[int]uint64{200: 3950, 500: 50}, Own: Quantiles{Count: 4000, P50: figure(0.1), P99: figure(p99)}},
				{ID: id, Endpoint: "GET /" + id, Requests: 1000, Rate: rate * 0.2, Statuses: map[int]uint64{200: 1000}},
			},
		}
	}
	a, b := side("1", 100, 0.2), side("2", 110, 0.1)
	c := Compare(a, b)
	if len(c.Remarks) != 0 {
		t.Errorf("remarks %v, want none", c.Remarks)
	}
	settling := *a
	settling.Final = false
	if remarks := Compare(&settling, b).Remarks; len(remarks) != 1 || remarks[0] != "run 1: webhooks of the run are pending" {
		t.Errorf("a run whose webhooks are pending: %q", remarks)
	}
	again := settling
	again.ID, again.Name = "1b", b.Name
	if remarks := Compare(&again, b).Remarks; len(remarks) != 1 || remarks[0] != b.Name+" (1b): webhooks of the run are pending" {
		t.Errorf("remarks %q, want the ID of the one of two runs with a name", remarks)
	}
	if remarks := Compare(a, a).Remarks; len(remarks) != 1 || !strings.Contains(remarks[0], "the same run") {
		t.Errorf("a run compared with itself: %q", remarks)
	}
	near := func(p *float64, want float64) bool { return p != nil && *p > want-1e-9 && *p < want+1e-9 }
	if !near(c.Total.Rate.Change, 0.1) || !near(c.Total.OwnP99.Change, -0.5) || !near(c.Total.Failed.A.Value, 0.01) || c.Total.InjectedP50.A != nil {
		t.Errorf("total %+v", c.Total)
	}
	if len(c.Endpoints) != 3 || c.Endpoints[0].Endpoint != "GET /a" || !near(c.Endpoints[0].OwnP99.Change, -0.5) || !near(c.Endpoints[0].OwnP50.Change, 0) {
		t.Fatalf("endpoints %+v", c.Endpoints)
	}
	if one := c.Endpoints[1]; one.Endpoint != "GET /1" || one.Rate.B != nil || one.Rate.Change != nil || !near(one.Rate.A.Value, 20) {
		t.Errorf("the endpoint in only one run: %+v", one)
	}
	if one := c.Endpoints[2]; one.Endpoint != "GET /2" || one.Rate.A != nil || !near(one.Rate.B.Value, 22) {
		t.Errorf("the endpoint in only the other run: %+v", one)
	}
	for name, got := range map[string]struct{ finding, want string }{
		"rate": {c.Total.Rate.Finding, "higher"}, "p99": {c.Total.OwnP99.Finding, "better"}, "p50": {c.Endpoints[0].OwnP50.Finding, notDistinguishable},
		"requests": {c.Total.Requests.Finding, ""}, "errors": {c.Total.OwnErrors.Finding, notDistinguishable},
	} {
		if got.finding != got.want {
			t.Errorf("%s: %q, want %q", name, got.finding, got.want)
		}
	}
	if p := c.Total.OwnP99; p.Low == nil || !near(p.Difference, -0.1) || *p.Low >= -0.1 || *p.High <= -0.1 {
		t.Errorf("p99 %+v, want an interval of the difference", p)
	}
	if !strings.HasPrefix(c.Text, "Own time p99 is better by \u2212100 µs (") || !strings.Contains(c.Text, "; Requests a second are higher by +10 (") || !strings.Contains(c.Text, "; Requests a second of GET /a are higher by +8 (") {
		t.Errorf("headline %q", c.Text)
	}
	changed := func(name, unit, finding string, a, b float64) tested {
		return tested{name: name, unit: unit, Pair: &Pair{A: new(figure(a)), B: new(figure(b)), Difference: new(b - a), Low: new(b - a), High: new(b - a), Finding: finding}}
	}
	rate, own := changed("Requests a second", "rate", "higher", 1, 9), changed("Own time p99", "ms", "worse", 4, 5)
	same := own
	same.name += " of GET /a" // the only endpoint
	found := []tested{rate, changed("Injected p50", "ms", "worse", 8, 9), changed("Injected p99", "ms", "worse", 8, 9), own, same}
	if text := headline(found, 9); !strings.HasPrefix(text, "Own time p99 is worse by ") || strings.Contains(text, "GET /a") || !strings.HasSuffix(text, "; and 1 other figure changed.") {
		t.Errorf("headline %q, want once what is worse, before what is only higher", text)
	}
	if got := testedIn(&Differences{InjectedP50: Pair{Finding: notDistinguishable}}, " of GET /a")[0].name; got != "Injected p50 of GET /a" {
		t.Errorf("the headline names %q", got)
	}
	if same := Compare(a, side("3", 100, 0.2)); same.Text != "No figure changed by more than chance explains." {
		t.Errorf("of equal runs: %q", same.Text)
	}
	text, err := c.Page()
	if err != nil {
		t.Fatal(err)
	}
	if p := standsAlone(t, text); !strings.Contains(p.text, "Own time p99 is better") || !strings.Contains(p.text, "+10 %") || !strings.Contains(p.text, "\u221250 %") || !strings.Contains(p.text, "±0 %") {
		t.Error("the page does not show the changes")
	}
	b.Verdict.Trusted, b.Configuration.Hash, b.Machine.CPUs, b.Program.Version, b.Running, a.Configuration.Changed, b.Total.Requests = false, "i", 3, "v2", true, true, 10
	if remarks := Compare(a, b).Remarks; len(remarks) != 6 {
		t.Errorf("remarks %q, want 6", remarks)
	}
	b.Endpoints[0].Declaration = "another"
	if remarks := strings.Join(Compare(a, b).Remarks, "\n"); !strings.Contains(remarks, "the configurations differ: GET /a is declared differently, GET /1 had requests only in a, GET /2 had requests only in b") {
		t.Errorf("remarks %q", remarks)
	}
	hostile, err := Compare(hostileReport(), hostileReport()).Page()
	if err != nil {
		t.Fatal(err)
	}
	standsAlone(t, hostile)
}

// A row of a comparison's chart has figures of the same time, however long the runs and their points are.
func TestCompare_RowsHaveFiguresOfTheSameTime(t *testing.T) {
	run := func(points, each int) *Report { // at each time, the rate is the second of the run
		r := &Report{Total: Whole{Sample: verdict.Sample{Seconds: float64(points * each)}}}
		for i := range points {
			r.Timeline = append(r.Timeline, Point{At: float64((i + 1) * each), Seconds: float64(each), Rate: (float64(i) + 0.5) * float64(each)})
		}
		return r
	}
	for _, c := range []struct{ a, b *Report }{{run(61, 1), run(31, 1)}, {run(31, 1), run(61, 1)}, {run(60, 1), run(60, 1)}, {run(700, 1), run(450, 2)}} {
		rows, pairs := Compare(c.a, c.b).charts()[2].Rows, 0
		for _, row := range rows {
			a, err := strconv.ParseFloat(row.Cells[1], 64)
			b, missing := strconv.ParseFloat(row.Cells[2], 64)
			if err != nil || missing != nil {
				continue // one of the runs is over
			}
			if pairs++; math.Abs(a-b) > max(c.a.Total.Seconds, c.b.Total.Seconds)/60 {
				t.Errorf("%v and %v seconds: the row %q", c.a.Total.Seconds, c.b.Total.Seconds, row.Cells)
			}
		}
		if pairs < 15 || len(rows) > 61 || !slices.IsSortedFunc(rows, func(a, b viewRow) int { return cmp.Compare(a.At, b.At) }) {
			t.Errorf("%v and %v seconds: %d of %d rows have both figures: %v", c.a.Total.Seconds, c.b.Total.Seconds, pairs, len(rows), rows)
		}
	}
}

// The curves of a report share all rows, also that of a short first or last second.
func TestReport_EachPointHasARow(t *testing.T) {
	r := &Report{Total: Whole{Sample: verdict.Sample{Seconds: 2.08}}}
	for _, p := range [][2]float64{{0.04, 0.04}, {1.04, 1}, {2.04, 1}, {2.08, 0.04}} {
		r.Timeline = append(r.Timeline, Point{At: p[0], Seconds: p[1], OwnP50: new(p[0]), OwnP99: new(p[0])})
	}
	rows := r.curves("x", plans()[:1], false)[0].Rows
	if len(rows) != len(r.Timeline) {
		t.Fatalf("%d rows, want %d", len(rows), len(r.Timeline))
	}
	for i, row := range rows {
		if text := msText(r.Timeline[i].At); row.Cells[1] != text || row.Cells[2] != text {
			t.Errorf("the row %q, want %s", row.Cells, text)
		}
	}
}

// Declared percentiles are compared with those of the latency that was injected.
func TestReport_SaysWhichDeclaredPercentilesWereNotDelivered(t *testing.T) {
	e := EndpointReport{Declared: &Declared{P50: 10, P90: 20, P95: 30, P99: 40, P999: 50}, Injected: Quantiles{P50: figure(10.9), P90: figure(30), P99: figure(40)}}
	e.compareDeclared()
	if got := e.Declared.Outside; !slices.Equal(got, []string{"p90"}) {
		t.Errorf("outside: %v, want p90", got)
	}
}

// If all requests of a second are slow together, percentiles are less certain than their number says.
func TestRun_WhatDependsOnEachOtherCountsAsLess(t *testing.T) {
	width := func(together bool) float64 {
		s := newScene("GET /a")
		runs, sampler := s.runs()
		entry, err := runs.Begin(Beginning{})
		if err != nil {
			t.Fatal(err)
		}
		for second := range 20 {
			for i := range 100 {
				took := time.Millisecond + time.Duration(i)*time.Microsecond
				if together && second%4 == 0 || !together && i%4 == 0 {
					took += time.Millisecond
				}
				s.serve("GET /a", 200, 1, took)
			}
			sampler.Take(s.after(time.Second))
		}
		report, _ := runs.End(entry.ID)
		if _, found := report.Endpoints[0].Dependences["own_p90"]; found != together {
			t.Errorf("slow together: %v; dependences %+v", together, report.Endpoints[0].Dependences)
		}
		p50 := report.Endpoints[0].Own.P50
		return *p50.High - *p50.Low
	}
	if alone, together := width(false), width(true); together < 2*alone {
		t.Errorf("the interval is %v ms wide for independent requests and %v for others", alone, together)
	}
}

// The verdict covers three seconds, and the window covers ten, no matter how often a client
// requests the run, or begins and ends a run.
func TestRuns_WhoLooksOftenDoesNotChangeWhatIsLookedAt(t *testing.T) {
	s := newScene("GET /a")
	s.each = 50 * time.Millisecond
	runs, sampler := s.runs()
	entry, err := runs.Begin(Beginning{Name: ""})
	if err != nil {
		t.Fatal(err)
	}
	for range 15 {
		for range 10 {
			runs.Report(entry.ID)
		}
		sampler.Take(s.after(500 * time.Millisecond))
	}
	if v := sampler.Current(); v.Seconds < 2.5 || v.Seconds > 3.6 {
		t.Errorf("the verdict is on %v seconds", v.Seconds)
	}
	if samples := sampler.Latest(verdict.SamplesKept, time.Time{}); len(samples) > 17 {
		t.Errorf("%d samples of 15 seconds", len(samples))
	}
	runs.End(entry.ID)
	for range 5 {
		sampler.Take(s.after(time.Second))
	}
	if v := sampler.Current(); v.Seconds < 2.5 || v.Seconds > 3.6 {
		t.Errorf("the verdict is on %v seconds after the run", v.Seconds)
	}
}

// Empty lists are lists in JSON too, not null.
func TestRun_NothingIsAList(t *testing.T) {
	runs, sampler := bare()
	samples := sampler.Latest(5, time.Time{})
	entry, err := runs.Begin(Beginning{Name: "none"})
	if err != nil {
		t.Fatal(err)
	}
	report := runs.Report(entry.ID)
	for name, list := range map[string]any{
		"samples": samples, "timeline": report.Timeline, "changes": report.Verdict.Changes, "reasons": report.Verdict.Reasons,
	} {
		if text, err := json.Marshal(list); string(text) != "[]" || err != nil {
			t.Errorf("%s: got %s, %v, want []", name, text, err)
		}
	}
}

// With more endpoints than a block has, each second lacks some. This does not make their rates depend
// on the second.
func TestRun_RatesOfManyEqualEndpointsDoNotDependOnTheSecond(t *testing.T) {
	s := newScene()
	for i := range endpointsInBlock + 10 {
		name := fmt.Sprintf("GET /%d", i)
		s.counts.Endpoints = append(s.counts.Endpoints, record.EndpointCounts{ID: name, Endpoint: name})
	}
	runs, sampler := s.runs()
	entry, err := runs.Begin(Beginning{})
	if err != nil {
		t.Fatal(err)
	}
	for second := range 20 {
		for i := range s.counts.Endpoints {
			s.counts.Endpoints[i].Requests += uint64(100 + (i+7*second)%3)
		}
		sampler.Take(s.after(time.Second))
	}
	report, _ := runs.End(entry.ID)
	for _, e := range report.Endpoints {
		if d, ok := e.Dependences["rate"]; ok {
			t.Fatalf("%s: %+v, want none: it had 100 to 102 requests in each second", e.Endpoint, d)
		}
	}
}

func TestReport_PathsAreLegible(t *testing.T) {
	for given, want := range map[string]string{
		"/%D9%85%D8%B1/%E6%97%A5/%F0%9F%8D%A3": "/مر/日/🍣",
		"/a%20b%2Fc%3Cb%3E":                    "/a%20b%2Fc%3Cb%3E", // ASCII characters
		"/%E2%80%AEtxt":                        "/%E2%80%AEtxt",     // reverses the text
		"/%E2%80%A8":                           "/%E2%80%A8",        // ends the line
		"/%FF%FE/%D9":                          "/%FF%FE/%D9",       // not UTF-8
		"/plain":                               "/plain",
	} {
		if got := legible(given); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}
