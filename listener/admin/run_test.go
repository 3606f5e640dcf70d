package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"mockserver/config"
	"mockserver/internal/histogram"
	"mockserver/listener"
	"mockserver/listener/record"
)

// withSpec is what a report needs beside its run.
func withSpec(spec string, misses ...record.Miss) func() made {
	return func() made { return made{program: Program{Version: "v1"}, spec: spec, misses: misses} }
}

func TestRun_ItsReportIsWhatHappenedInIt(t *testing.T) {
	s := newScene("GET /a", "GET /b")
	sampler := s.sampler(slog.New(slog.DiscardHandler))
	sampler.read = func() reading { return s.after(100 * time.Millisecond) }
	s.serve("GET /a", 200, 500, 9*time.Millisecond) // before the run
	sampler.take(s.after(time.Second))
	entry, err := sampler.begin("one", []record.Miss{{Method: "GET", Path: "/x", Count: 5}}, "h1")
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		s.serve("GET /a", 200, 20, 50*time.Microsecond)
		sampler.take(s.after(time.Second))
	}
	s.serve("GET /b", 500, 10, 50*time.Microsecond)
	report, found := sampler.end(entry.ID, withSpec("h2", record.Miss{Method: "GET", Path: "/x", Count: 7, Reason: "why"}, record.Miss{Method: "GET", Path: "/y", Count: 1}))
	if !found || report == nil {
		t.Fatal("no report")
	}
	if report.Total.Requests != 210 || report.Total.Errors != 10 || report.Total.Own.Max > 0.06 {
		t.Errorf("total %+v, want the 210 requests of the run, none of them slow", report.Total)
	}
	if !report.Verdict.Trusted || report.Verdict.Untrusted != 0 || report.Running || report.End == nil {
		t.Errorf("verdict %+v: what was slow came before the run", report.Verdict)
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
	if !report.Configuration.Changed || report.Configuration.Hash != "h1" {
		t.Errorf("configuration %+v, want changed since h1", report.Configuration)
	}
	if total := sumBuckets(report.Histograms.Own); total != 210 {
		t.Errorf("the histogram of own time holds %d, want 210", total)
	}
	if again, found := sampler.end(entry.ID, withSpec("h2")); again != nil || !found {
		t.Error("a run ends once")
	}
}

func sumBuckets(buckets []Bucket) (n uint64) {
	for _, b := range buckets {
		n += b.Count
	}
	return n
}

func TestRun_IsNotTrustedWhenMoreThanAHundredthOfItWasNot(t *testing.T) {
	for slow, trusted := range map[int]bool{0: true, 1: true, 2: false} {
		s := newScene("GET /a")
		sampler := s.sampler(slog.New(slog.DiscardHandler))
		entry, err := sampler.begin("", nil, "")
		if err != nil || entry.Name != "run 1" {
			t.Fatal(entry, err)
		}
		// Each slow second is looked at for ten: of 1500 seconds 10 are less than a
		// hundredth, 20 more.
		for i := range 1500 {
			v := Verdict{Trusted: true}
			if i >= 100 && i < 100+100*slow && i%100 < 10 {
				v = Verdict{Reasons: []Reason{{Code: "own-p99", Text: "slow", Number: 5, Threshold: 1, Unit: "ms"}}}
			}
			sampler.runs.sampled(Sample{Time: sampledFrom.Add(time.Duration(i+1) * time.Second), Seconds: 1, Requests: 1}, v)
		}
		report, _ := sampler.end(entry.ID, withSpec(""))
		if v := report.Verdict; v.Trusted != trusted || v.Untrusted != float64(10*slow) || len(v.Changes) != 2*slow {
			t.Errorf("%d slow seconds: %+v, want trusted to be %v", slow, v, trusted)
		}
		if slow > 0 && (len(report.Verdict.Reasons) != 1 || report.Verdict.Reasons[0].Seconds != float64(10*slow) || report.Verdict.Reasons[0].Number != 5) {
			t.Errorf("reasons %+v", report.Verdict.Reasons)
		}
		if len(report.Timeline) > pointsKept {
			t.Errorf("%d points, want %d at most", len(report.Timeline), pointsKept)
		}
	}
}

func TestRuns_OneAtATimeAndABoundedNumberKept(t *testing.T) {
	s := newScene("GET /a")
	sampler := s.sampler(slog.New(slog.DiscardHandler))
	for range runsKept + 5 {
		entry, err := sampler.begin("", nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sampler.begin("", nil, ""); err == nil {
			t.Fatal("a second run began beside the first")
		}
		if _, err := sampler.remove(entry.ID); err == nil {
			t.Fatal("a run that is under way was removed")
		}
		sampler.end(entry.ID, withSpec(""))
	}
	if n := len(sampler.runs.all); n != runsKept || sampler.runs.all[0].id != "6" {
		t.Errorf("%d runs are kept from ID %s on, want %d from 6 on", n, sampler.runs.all[0].id, runsKept)
	}
	if found, err := sampler.remove("6"); !found || err != nil || sampler.runs.find("6") != nil {
		t.Error("a run that ended was not removed")
	}
	if found, _ := sampler.remove("6"); found {
		t.Error("it was removed twice")
	}
}

func TestThinned_CountsOnAverageTimesAtTheirMost(t *testing.T) {
	points := []Point{
		{At: 1, Seconds: 1, Trusted: true, Rate: 10, OwnP99: figure(2)}, {At: 2, Seconds: 1, Trusted: true, Rate: 20},
		{At: 3, Seconds: 1, Rate: 30, OwnP99: figure(1), Throttled: figure(3)}, {At: 3.5, Seconds: 0.5, Trusted: true, Rate: 90, OwnP99: figure(4), Throttled: figure(4)},
	}
	got := thinned(points, 2)
	if len(got) != 2 || got[0].Rate != 15 || got[1].Rate != 50 || *got[0].OwnP99 != 2 || *got[1].OwnP99 != 4 || got[1].At != 3.5 ||
		!got[0].Trusted || got[1].Trusted || got[0].Throttled != nil || *got[1].Throttled != 7 {
		t.Errorf("points %+v", got)
	}
}

// Of a run of days each part is as fine as the others, and it takes no more room.
func TestRuns_ThePointsOfALongRunAreEvenlySpread(t *testing.T) {
	r := newRuns()
	one := r.begin("", &reading{time: sampledFrom}, nil, "")
	seconds := 3 * 24 * 3600
	for i := range seconds {
		at := sampledFrom.Add(time.Duration(i+1) * (time.Second + time.Millisecond))
		r.sampled(Sample{Time: at, Seconds: 1.001, Rate: 10}, Verdict{Trusted: true})
		if len(one.points) > 2*pointsKept {
			t.Fatalf("%d points", len(one.points))
		}
	}
	shown := thinned(one.points, pointsKept)
	if len(shown) < pointsKept/2 {
		t.Errorf("%d points, want half of %d at least", len(shown), pointsKept)
	}
	var covered float64
	for i, p := range shown {
		covered += p.Seconds
		if i < len(shown)-1 && math.Abs(p.Seconds-shown[0].Seconds) > 2.1 {
			t.Fatalf("point %d is of %v seconds, the first of %v", i, p.Seconds, shown[0].Seconds)
		}
		if math.Abs(p.At-covered) > 1e-3 || math.Abs(p.Rate-10) > 1e-9 {
			t.Fatalf("point %d ends at %v with a rate of %v; those up to it are of %v seconds", i, p.At, p.Rate, covered)
		}
	}
}

func TestRun_OfNothingSaysSo(t *testing.T) {
	s := newScene("GET /a")
	sampler := s.sampler(slog.New(slog.DiscardHandler))
	entry, err := sampler.begin("", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	sampler.take(s.after(time.Second))
	if report, _ := sampler.end(entry.ID, withSpec("")); !strings.Contains(report.Verdict.Text, "Nothing was timed") || !report.Verdict.Idle {
		t.Errorf("%+v", report.Verdict)
	}
}

func TestFingerprint_IsOfWhatIsDeclaredAndNotOfWhereItStands(t *testing.T) {
	parse := func(name, text string) string { return fingerprint(config.Loader{}.Parse(name, []byte(text))) }
	one := parse("a.yml", "- endpoint: {method: GET, path: /a, response: {status: 200, headers: {X: y}}}\n")
	if same := parse("b.yml", "\n\n- endpoint:\n    method: GET\n    path: /a\n    response:\n      headers:\n        X: y\n      status: 200\n"); same != one {
		t.Error("the same, written in another way, has another hash")
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
	petstore := config.Load("../../examples/petstore.yml")
	if len(petstore.Endpoints) == 0 || fingerprint(petstore) != fingerprint(config.Load("../../examples/petstore.yml")) {
		t.Error("an OpenAPI document has another hash each time")
	}
}

// hostileReport is a report whose texts try to be more.
func hostileReport() *Report {
	evil := `<script>alert("1")</script>'&{{.}}`
	p := func(at float64, trusted bool) Point {
		return Point{At: at, Seconds: 1, Trusted: trusted, Rate: 100 * at, OwnP50: figure(0.1), OwnP99: figure(0.4), CPU: figure(0.5), PauseMax: figure(0.2), Faults: 2}
	}
	end := sampledFrom.Add(3 * time.Second)
	buckets := bucketsOf(histogram.Snapshot{})
	buckets[5].Count, buckets[len(buckets)-1].Count = 10, 20
	return &Report{
		Form: 1, ID: "1", Name: evil, Begin: sampledFrom, End: &end,
		Verdict: RunVerdict{Text: "not trusted", Reasons: []RunCause{{Code: "own-p99", Text: evil}}, Changes: []Change{{At: 1, Reasons: []string{"own-p99"}}}, Unknown: []string{"steal"}},
		Total:   Sample{Seconds: 3, Requests: 30, Rate: 10},
		Endpoints: []EndpointReport{{
			Endpoint: "GET /" + evil, Host: evil, If: evil, Requests: 30, Statuses: map[int]uint64{200: 29, 500: 1}, Faults: map[string]uint64{"reset": 1},
			Own: Spread{Count: 30, P50: 0.1, P99: 1500},
		}},
		OtherEndpoints: 3, Unmatched: []UnmatchedReport{{Method: "GET", Host: evil, Path: "/" + evil, Status: 404, Count: 2, Reason: evil}}, OtherUnmatched: 4,
		Histograms: Histograms{Own: buckets}, Timeline: []Point{p(1, true), p(2, false), p(3, true)},
		Program: Program{Version: evil}, Machine: Machine{OS: "linux", CPU: evil}, Configuration: Configuration{Hash: "abc"},
	}
}

// page is what a browser makes of a page: its elements, and what a reader reads.
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
		case n.Data == "wbr": // no more than a place where a line may end
			p.text = strings.TrimSuffix(p.text, " ")
		case n.Type == html.ElementNode:
			p.elements[n.Data] = append(p.elements[n.Data], n)
		case n.Type == html.TextNode && n.Parent.Data != "style":
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

// standsAlone checks that a page loads and runs nothing, and that what it shows can be
// read without eyes.
func standsAlone(t *testing.T, text []byte) page {
	t.Helper()
	p := pageOf(t, text)
	for _, name := range []string{"script", "link", "img", "iframe", "object", "embed", "base", "form"} {
		if n := len(p.elements[name]); n > 0 {
			t.Errorf("%d elements %s", n, name)
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
					t.Errorf("the ID %q is there twice", id)
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
		t.Error("a page has a language, a heading and a main part")
	}
	for _, table := range p.elements["table"] {
		if !slices.ContainsFunc(slices.Collect(table.ChildNodes()), func(n *html.Node) bool { return n.Data == "caption" }) {
			t.Error("a table without a caption")
		}
	}
	style := p.elements["style"][0].FirstChild.Data
	for _, query := range []string{"prefers-color-scheme: dark", "@media print"} {
		if !strings.Contains(style, query) {
			t.Errorf("the style has no %s", query)
		}
	}
	return p
}

func TestReport_HTMLStandsAloneAndEscapesWhatCameFromRequests(t *testing.T) {
	report := hostileReport()
	report.Total.Seconds = 53.7
	text, err := report.html()
	if err != nil {
		t.Fatal(err)
	}
	p := standsAlone(t, text)
	if !strings.Contains(p.text, "· 54 s") { // as the verdict rounds it
		t.Error("the length of the run is not rounded")
	}
	evil := report.Name
	for _, shows := range []string{evil, "/" + evil, "GET /" + evil, "if " + evil, "own-p99", "1.5 s", "200: 29, 500: 1", "reset: 1", "And 3 with fewer", "And 4 other", "not trusted"} {
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
	// Rate, own time, faults, pauses, processor over time; the distribution of own time.
	if figures := len(p.elements["figure"]); charts != 6 || figures != 6 {
		t.Errorf("%d charts in %d figures, want 6: no chart of what there is nothing of", charts, figures)
	}
	if !strings.Contains(p.text, "shaded") || !bytes.Contains(text, []byte(`class="bad"`)) {
		t.Error("the second that cannot be trusted is not marked")
	}
}

func TestReport_OfARunWithoutRequestsHasAPage(t *testing.T) {
	report := &Report{Name: "empty", Begin: sampledFrom, Verdict: RunVerdict{Trusted: true, Text: "fine"}}
	text, err := report.html()
	if err != nil {
		t.Fatal(err)
	}
	if p := standsAlone(t, text); !strings.Contains(p.text, "Nothing was timed.") || !strings.Contains(p.text, "it has not ended") {
		t.Error("it does not say that there was nothing")
	}
}

func TestCompare_DifferencesAndWhatKeepsTwoFromBeingCompared(t *testing.T) {
	side := func(id string, rate float64, p99 float64) *Report {
		return &Report{
			ID: id, Name: "run " + id, Verdict: RunVerdict{Trusted: true}, Configuration: Configuration{Hash: "h"},
			Total: Sample{Requests: 5000, Rate: rate, Errors: 50, Own: Spread{Count: 5000, P99: p99}},
			Endpoints: []EndpointReport{
				{ID: "a", Endpoint: "GET /a", Requests: 4000, Rate: rate * 0.8, Statuses: map[int]uint64{200: 3950, 500: 50}, Own: Spread{Count: 4000, P50: 0.1, P99: p99}},
				{ID: id, Endpoint: "GET /" + id, Requests: 1000, Rate: rate * 0.2, Statuses: map[int]uint64{200: 1000}},
			},
		}
	}
	a, b := side("1", 100, 0.2), side("2", 110, 0.1)
	c := compare(a, b)
	if len(c.Remarks) != 0 {
		t.Errorf("remarks %v, want none", c.Remarks)
	}
	if remarks := compare(a, a).Remarks; len(remarks) != 1 || !strings.Contains(remarks[0], "the same run") {
		t.Errorf("a run beside itself: %q", remarks)
	}
	near := func(p *float64, want float64) bool { return p != nil && *p > want-1e-9 && *p < want+1e-9 }
	if !near(c.Total.Rate.Change, 0.1) || !near(c.Total.OwnP99.Change, -0.5) || !near(c.Total.Errors.A, 0.01) || c.Total.InjectedP50.A != nil {
		t.Errorf("total %+v", c.Total)
	}
	if len(c.Endpoints) != 3 || c.Endpoints[0].Endpoint != "GET /a" || !near(c.Endpoints[0].OwnP99.Change, -0.5) || !near(c.Endpoints[0].OwnP50.Change, 0) {
		t.Fatalf("endpoints %+v", c.Endpoints)
	}
	if one := c.Endpoints[1]; one.Endpoint != "GET /1" || one.Rate.B != nil || one.Rate.Change != nil || !near(one.Rate.A, 20) {
		t.Errorf("the endpoint of one run alone: %+v", one)
	}
	if one := c.Endpoints[2]; one.Endpoint != "GET /2" || one.Rate.A != nil || !near(one.Rate.B, 22) {
		t.Errorf("the endpoint of the other: %+v", one)
	}
	text, err := c.html()
	if err != nil {
		t.Fatal(err)
	}
	if p := standsAlone(t, text); !strings.Contains(p.text, "+10 %") || !strings.Contains(p.text, "\u221250 %") || !strings.Contains(p.text, "±0 %") {
		t.Error("the page does not show the changes")
	}
	b.Verdict.Trusted, b.Configuration.Hash, b.Machine.CPUs, b.Program.Version, b.Running, a.Configuration.Changed, b.Total.Requests = false, "i", 3, "v2", true, true, 10
	if remarks := compare(a, b).Remarks; len(remarks) != 7 {
		t.Errorf("remarks %q, want 7", remarks)
	}
	hostile, err := compare(hostileReport(), hostileReport()).html()
	if err != nil {
		t.Fatal(err)
	}
	standsAlone(t, hostile)
}

// Over HTTP, with a server that serves.
func TestRuns_OverHTTP(t *testing.T) {
	server, err := listener.Start(config.New(config.Endpoint{Method: "GET", Path: config.Plain("/hello"), Response: config.Response{Body: config.Plain("hi")}}), listener.Options{Record: &record.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Start(server, Options{Address: "127.0.0.1:0", Build: config.Build{Version: "v9"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	call := func(method, path, body string, status int, into any) []byte {
		t.Helper()
		req, _ := http.NewRequest(method, path, strings.NewReader(body))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != status {
			t.Fatalf("%s %s: %d %s, want %d", method, path, resp.StatusCode, text, status)
		}
		if into != nil {
			if err := json.Unmarshal(text, into); err != nil {
				t.Fatalf("%s %s: %v in %s", method, path, err, text)
			}
		}
		if resp.Header.Get("Content-Security-Policy") == "" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s %s has the policy %q", method, path, resp.Header.Get("Content-Security-Policy"))
		}
		return text
	}
	base := a.URL() + "/__admin/"
	for body, status := range map[string]int{`{"name":"` + strings.Repeat("é", 101) + `"}`: 400, `{"name":"a\u0007"}`: 400, `{"nam":"a"}`: 400, `[]`: 400} {
		call("POST", base+"runs", body, status, nil)
	}
	var run RunEntry
	call("POST", base+"runs", `{"name":"`+strings.Repeat("é", 100)+`"}`, 201, &run)
	call("POST", base+"runs", ``, 409, nil)
	for range 25 {
		resp, err := http.Get(server.URL() + "/hello")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	resp, err := http.Get(server.URL() + "/hallo")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	var interim, report Report
	call("GET", base+"runs/"+run.ID, "", 200, &interim)
	if !interim.Running || interim.Total.Requests != 26 {
		t.Errorf("the report of a run that is under way: %+v, want 26 requests", interim.Total)
	}
	call("DELETE", base+"runs/"+run.ID, "", 409, nil)
	call("POST", base+"runs/"+run.ID+"/stop", "", 200, &report)
	call("POST", base+"runs/"+run.ID+"/stop", "", 409, nil)
	if report.Total.Requests != 26 || report.Total.Unmatched != 1 || report.Program.Version != "v9" || len(report.Configuration.Hash) != 64 ||
		len(report.Endpoints) != 1 || report.Endpoints[0].Requests != 25 || len(report.Unmatched) != 1 || !strings.Contains(report.Unmatched[0].Reason, "/hello") {
		t.Errorf("report %+v", report)
	}
	standsAlone(t, call("GET", base+"runs/"+run.ID+"/report", "", 200, nil))
	var second RunEntry
	call("POST", base+"runs", "", 201, &second)
	call("POST", base+"runs/"+second.ID+"/stop", "", 200, nil)
	var c Comparison
	call("GET", fmt.Sprintf("%sruns/compare?a=%s&b=%s", base, run.ID, second.ID), "", 200, &c)
	if c.A.Requests != 26 || c.B.Requests != 0 || len(c.Endpoints) != 1 {
		t.Errorf("comparison %+v", c)
	}
	standsAlone(t, call("GET", fmt.Sprintf("%sruns/compare?a=%s&b=%s&format=html", base, run.ID, second.ID), "", 200, nil))
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"runs/compare?a=1": {400, "bad_query"}, "runs/compare?a=1&b=77": {404, "run_not_found"}, "runs/compare?a=1&b=1&format=xml": {400, "bad_query"},
		"runs/77": {404, "run_not_found"}, "runs/77/report": {404, "run_not_found"}, "samples?last=0": {400, "bad_query"}, "runs?limit=0": {400, "bad_query"}, "runs?limit=51": {400, "bad_query"}, "runs?limit=x": {400, "bad_query"}, "runs?limit=1": {200, ""}, "samples?last=x": {400, "bad_query"},
		"samples?after=yesterday": {400, "bad_query"}, "samples?last=5&after=2026-01-02T03:04:05.123Z": {200, ""},
	} {
		var got failure
		if call("GET", base+path, "", want.status, &got); got.Code != want.code {
			t.Errorf("%s: the code is %q, want %q", path, got.Code, want.code)
		}
	}
	call("POST", base+"runs/77/stop", "", 404, nil)
	call("DELETE", base+"runs/77", "", 404, nil)
	var list struct{ Runs []RunEntry }
	call("GET", base+"runs", "", 200, &list)
	if len(list.Runs) != 2 || list.Runs[0].ID != second.ID || list.Runs[1].Verdict == nil || list.Runs[1].Requests != 26 {
		t.Errorf("runs %+v, want two, the newest first", list.Runs)
	}
	var v Verdict
	call("GET", base+"verdict", "", 200, &v)
	if v.Since.IsZero() {
		t.Errorf("verdict %+v", v)
	}
}
