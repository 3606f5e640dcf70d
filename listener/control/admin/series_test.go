package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/internal/harness"
	"mockserver/listener/observe/record"
)

// exposed returns the values that a collector writes for endpoints, by metric and labels.
func exposed(c *collector, counts record.Counts) map[string]float64 {
	to := make(chan prometheus.Metric, 1000)
	out := output{to: to, rising: c.rising}
	for in, counted := range c.series(counts) {
		out.series(in, counted)
	}
	close(to)
	all := map[string]float64{}
	for m := range to {
		var d dto.Metric
		if err := m.Write(&d); err != nil {
			panic(err)
		}
		labels := []string{m.Desc().String()}
		for _, l := range d.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		name := strings.Join(labels, " ")
		if h := d.GetHistogram(); h == nil {
			all[name] = d.GetCounter().GetValue()
		} else {
			all[name+" count"], all[name+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
			for _, b := range h.GetBucket() {
				all[name+" le "+time.Duration(b.GetUpperBound()*float64(time.Second)).String()] = float64(b.GetCumulativeCount())
			}
		}
	}
	return all
}

// countedAs returns the counts of an endpoint that had n requests.
func countedAs(id, endpoint string, n int) record.EndpointCounts {
	took := slices.Repeat([]time.Duration{time.Millisecond}, n)
	return record.EndpointCounts{
		ID: id, Endpoint: endpoint, Requests: uint64(n), Statuses: map[int]uint64{200: uint64(n)}, Faults: map[string]uint64{"reset": uint64(n)},
		In: uint64(n), Out: uint64(n), Service: harness.Histogram(took...), Injected: harness.Histogram(took...), InjectionError: harness.Histogram(took...),
	}
}

// If a reload removes an endpoint, the series that it shared continues from its value, and no other
// series increases by the endpoint's counts.
func TestMetrics_CountersNeitherFallNorJumpAcrossReloads(t *testing.T) {
	c := collector{named: map[string]bool{"o1": false, "o2": false}}
	counts := record.Counts{Endpoints: []record.EndpointCounts{
		countedAs("a1", "GET /twin", 70), countedAs("a2", "GET /twin", 30), countedAs("o1", "GET /o1", 50), countedAs("o2", "GET /o2", 20), countedAs("alone", "GET /alone", 9),
	}}
	before := exposed(&c, counts)
	gone := record.EndpointCounts{Requests: 129, Statuses: map[int]uint64{200: 129}}
	counts = record.Counts{Endpoints: []record.EndpointCounts{countedAs("a2", "GET /twin", 30), countedAs("o2", "GET /o2", 20)}, Gone: gone}
	after := exposed(&c, counts)
	for name, n := range after {
		if was, known := before[name]; !known || n != was {
			t.Errorf("%s: %v after a reload, and %v before", name, n, was)
		}
	}
	counts.Endpoints = []record.EndpointCounts{countedAs("a2", "GET /twin", 35), countedAs("o2", "GET /o2", 24)}
	later := exposed(&c, counts)
	for name, n := range later {
		more := 5.0
		if strings.Contains(name, otherEndpoints) {
			more = 4
		}
		if strings.HasSuffix(name, " sum") {
			more /= 1000
		}
		if got := n - after[name]; got < more*0.99-1e-9 || got > more*1.01 {
			if !strings.Contains(name, " le ") || got != 0 {
				t.Errorf("%s rose by %v, want %v", name, got, more)
			}
		}
	}
	counts.Endpoints = counts.Endpoints[:0]
	for name, n := range exposed(&c, counts) {
		if !strings.Contains(name, otherEndpoints) || n < later[name] {
			t.Errorf("%s is %v when no endpoint is left, but was %v", name, n, later[name])
		}
	}
}

// Names, units and help texts follow the conventions of Prometheus.
func TestMetrics_AreAsPrometheusWantsThem(t *testing.T) {
	a := counting(t)
	a.sampler = distrusting()
	registry := prometheus.NewRegistry()
	registry.MustRegister(&everything{collector{admin: a}})
	families, err := registry.Gather()
	if err != nil || len(families) < 30 {
		t.Fatalf("%d metrics, %v", len(families), err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestMetrics_AreOpenMetricsForWhoAsks(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
	w := httptest.NewRecorder()
	a := counting(t)
	a.metrics = a.exposition()
	a.metrics.ServeHTTP(w, r)
	kind := w.Header().Get("Content-Type")
	if !strings.HasPrefix(kind, "application/openmetrics-text") || !strings.HasSuffix(w.Body.String(), "# EOF\n") {
		t.Errorf("%d %s", w.Code, kind)
	}
	if media, _, _ := strings.Cut(kind, ";"); !slices.ContainsFunc(a.table(), func(row route) bool {
		return row.path == "/metrics" && slices.Contains(row.responses[http.StatusOK], any(media))
	}) {
		t.Errorf("the document does not have %s for /metrics", media)
	}
}

// If the endpoints of a series are repeatedly removed and added, the requests to all of them count,
// and no bucket exceeds a wider one or the total.
func TestMetrics_HistogramsStayWholeAcrossReloads(t *testing.T) {
	c := collector{named: map[string]bool{}}
	for n := range 6 {
		id := fmt.Sprint("o", n)
		c.named = map[string]bool{id: false}
		took := []time.Duration{20 * time.Microsecond, 10 * time.Second}[n%2] // in the second-narrowest bucket, and in none
		l := c.series(record.Counts{Endpoints: []record.EndpointCounts{{ID: id, Service: harness.Histogram(slices.Repeat([]time.Duration{took}, 10)...)}}})
		h := l[others].Service
		buckets := h.Buckets(serviceBuckets)
		quick := uint64(10 * (n/2 + 1))
		if h.Count != uint64(10*(n+1)) || buckets[0] != 0 || buckets[1] != quick || buckets[len(buckets)-1] != quick {
			t.Errorf("after %d: %d in total, buckets %d; want %d, of which %d are fast", n, h.Count, buckets, 10*(n+1), quick)
		}
	}
}

// If scrapes overlap while requests arrive, no scrape mistakes an older reading for counters that
// decreased.
func TestMetrics_ScrapesAtOnceCountNothingTwice(t *testing.T) {
	a := counting(t, config.Endpoint{Path: "/a"})
	c := &collector{admin: a}
	requests := a.server.URL() + "/a"
	stop, all := make(chan struct{}), sync.WaitGroup{}
	for range scrapesAtOnce {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					c.read()
				}
			}
		})
	}
	for range 300 {
		if status, _, err := fasthttp.Get(nil, requests); err != nil || status != 200 {
			t.Fatalf("%d, %v", status, err)
		}
	}
	close(stop)
	all.Wait()
	counts, lines := c.read()
	for in, l := range lines {
		if got, want := l.Statuses[200], counts.Endpoints[0].Requests; got != 300 || want != 300 || l.Service.Count != 300 {
			t.Errorf("%v: %d requests and %d times are exposed, %d were counted, want 300", in, got, l.Service.Count, want)
		}
	}
}

// The cause of a failure may be counted a moment before its status. What was counted until then is not
// taken back, neither to a lower value nor by leaving it out.
func TestSeries_FailedRequestsDoNotFall(t *testing.T) {
	c := &collector{}
	counts := record.EndpointCounts{ID: "1", Endpoint: "GET /a", Requests: 1, Statuses: map[int]uint64{500: 1}}
	read := func() map[string]float64 {
		return exposed(c, record.Counts{Endpoints: []record.EndpointCounts{counts}})
	}
	before := read()
	counts.Faults = map[string]uint64{"failure": 1}
	after := read()
	for name, n := range before {
		if after[name] < n {
			t.Errorf("%s fell from %v to %v", name, n, after[name])
		}
	}
	// Once the endpoint is removed, its series ends, and begins anew if it is added again.
	if exposed(c, record.Counts{}); len(c.failed) > 0 {
		t.Errorf("%v is kept of a series that ended", c.failed)
	}
	counts.Statuses, counts.Faults = map[int]uint64{200: 1}, nil
	for name, n := range read() {
		if strings.Contains(name, "failed_requests") && n > 0 {
			t.Errorf("%s is %v in a series that begins anew", name, n)
		}
	}
}
