package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/dispatcher"
	"mockserver/internal/harness"
	"mockserver/listener/observe/verdict"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"gopkg.in/yaml.v3"

	"mockserver/config"
	"mockserver/config/settings"
	"mockserver/listener"
	"mockserver/listener/control/runs"
	"mockserver/listener/observe/record"
)

// counting returns an admin address that is not open, attached to a server that records.
func counting(t *testing.T, endpoints ...config.Endpoint) *Admin {
	t.Helper()
	server, err := listener.Start(config.New(endpoints...), listener.Options{Record: &record.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	a := &Admin{log: slog.New(slog.DiscardHandler), server: server, sampler: verdict.Of(server, nil, slog.New(slog.DiscardHandler))}
	a.runs = runs.New(a.sampler, server, settings.Build{})
	a.attached.Store(true)
	return a
}

// everything is a collector that has a value for each metric.
type everything struct{ collector }

func (e *everything) Collect(to chan<- prometheus.Metric) {
	e.collector.Collect(to)
	one := harness.Histogram(1)
	out := output{to: to}
	out.series(labels{"GET /all", "", ""}, &record.EndpointCounts{
		Statuses: map[int]uint64{200: 1}, Faults: map[string]uint64{"reset": 1}, Limited: 1, Refused: 1, Broken: 1, Received: 1, Sent: 1,
		Service: one, Injected: one, InjectionError: one,
		StreamCounts: record.StreamCounts{Opened: 1, Ends: map[string]uint64{record.EndFault: 1}, Factor: 1, First: one, Gap: one, GapError: one, Blocked: one},
	})
	for _, d := range []*prometheus.Desc{unmatchedTotal, malformedTotal, optionsTotal} {
		out.statuses(d, record.EndpointCounts{Statuses: map[int]uint64{404: 1}})
	}
	out.histogram(webhookLag, one, lagBuckets)
}

// Every metric that the dashboard and the alert rules name exists, with the labels that they use
// for selection and sums.
func TestMetrics_DashboardAndAlertsNameWhatThereIs(t *testing.T) {
	a := counting(t)
	if _, err := a.runs.Begin(runs.Beginning{Name: "checkout"}); err != nil {
		t.Fatal(err)
	}
	a.sampler = distrusting()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &everything{collector{admin: a}})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{} // by metric
	for _, f := range families {
		names := []string{"instance"}
		for _, l := range f.GetMetric()[0].GetLabel() {
			names = append(names, l.GetName())
		}
		labels[f.GetName()] = names
		if f.GetType().String() == "HISTOGRAM" {
			labels[f.GetName()+"_bucket"] = append(names, "le")
		}
	}
	for file, least := range map[string]int{"grafana.json": 30, "alerts.yml": 9} {
		expressions := expressionsOf(t, "../../../deploy/"+file)
		if len(expressions) < least {
			t.Fatalf("%s: found only %d expressions", file, len(expressions))
		}
		for _, e := range expressions {
			named := regexp.MustCompile(`\b(mockserver|process|go)_[a-z_]+`).FindAllString(e, -1)
			if len(named) == 0 {
				t.Errorf("%s: %s names no metric", file, e)
			}
			for _, name := range named {
				if labels[name] == nil {
					t.Errorf("%s: the metric %s does not exist", file, name)
				}
				for _, by := range regexp.MustCompile(`by \(([a-z, ]+)\)|\{([a-z]+)=|label_values\([a-z_]+, ([a-z]+)\)`).FindAllStringSubmatch(e, -1) {
					for label := range strings.SplitSeq(by[1]+by[2]+by[3], ", ") {
						if !slices.Contains(labels[name], label) {
							t.Errorf("%s: %s has no label %s in %s", file, name, label, e)
						}
					}
				}
			}
		}
	}
}

// expressionsOf returns the texts of all keys expr, query and definition of a file.
func expressionsOf(t *testing.T, file string) (found []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var root any
	if strings.HasSuffix(file, ".json") {
		err = json.Unmarshal(data, &root)
	} else {
		err = yaml.Unmarshal(data, &root)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if text, ok := value.(string); ok && (key == "expr" || key == "definition") {
					found = append(found, text)
				}
				walk(value)
			}
		case []any:
			for _, value := range v {
				walk(value)
			}
		}
	}
	walk(root)
	return found
}

// However many endpoints there are, only a limited number have their own series: the first ones to
// be requested. No endpoint moves from one series to another, since its requests would then be
// counted twice.
func TestMetrics_TheNumberOfSeriesIsBounded(t *testing.T) {
	c := collector{}
	var counts record.Counts
	for i := range 3 * endpointsInMetrics {
		counts.Endpoints = append(counts.Endpoints, record.EndpointCounts{ID: fmt.Sprint(i), Endpoint: fmt.Sprintf("GET /%d", i), Statuses: map[int]uint64{}})
	}
	ask := func(i int) {
		e := &counts.Endpoints[i]
		e.Requests++
		e.Statuses = map[int]uint64{200: e.Statuses[200] + 1} // earlier readings do not change
	}
	read := func() map[labels]*record.EndpointCounts {
		now := counts
		now.Endpoints = slices.Clone(counts.Endpoints)
		return c.series(now)
	}
	total := func(series map[labels]*record.EndpointCounts) (n uint64) {
		for _, s := range series {
			n += s.Statuses[200]
		}
		return n
	}
	if series := read(); len(series) != 0 {
		t.Errorf("%d series of endpoints without requests", len(series))
	}
	for i := range endpointsInMetrics - 1 {
		ask(3*endpointsInMetrics - 1 - i) // the last endpoints are requested first
	}
	first := read()
	for i := range counts.Endpoints {
		ask(i)
	}
	second := read()
	if len(first) != endpointsInMetrics-1 || len(second) != endpointsInMetrics+1 {
		t.Errorf("got %d, then %d series, want %d and %d", len(first), len(second), endpointsInMetrics-1, endpointsInMetrics+1)
	}
	for in, s := range first {
		if second[in] == nil || second[in].Statuses[200] != s.Statuses[200]+1 {
			t.Errorf("%v, want one more than before", in)
		}
	}
	if total(second) != uint64(4*endpointsInMetrics-1) {
		t.Errorf("the sum is %d requests, want %d", total(second), 4*endpointsInMetrics-1)
	}
	counts.Endpoints = counts.Endpoints[:endpointsInMetrics] // the others are removed: their series become free, and no endpoint moves into them
	third := read()
	if other := third[others]; other == nil || other.Statuses[200] == 0 || len(third) > endpointsInMetrics {
		t.Errorf("after a reload: %v", slices.Collect(maps.Keys(third)))
	}
	if len(c.named) != endpointsInMetrics {
		t.Errorf("%d endpoints are remembered, of %d", len(c.named), endpointsInMetrics)
	}
}

// Endpoints with the same declaration share a series, and texts of any length and content become
// labels that Prometheus accepts.
func TestMetrics_LabelsAreAcceptable(t *testing.T) {
	c := collector{}
	odd := record.EndpointCounts{Endpoint: "GET /\xff" + strings.Repeat("é", 1000), If: strings.Repeat("x", 5000), Statuses: map[int]uint64{200: 1}, Requests: 1}
	twin := odd
	odd.ID, twin.ID = "1", "2"
	series := c.series(record.Counts{Endpoints: []record.EndpointCounts{odd, twin}})
	if len(series) != 1 {
		t.Fatalf("%d series", len(series))
	}
	to := make(chan prometheus.Metric, 100)
	for in, l := range series {
		if l.Statuses[200] != 2 || len(in[0]) > labelLength+10 || len(in[2]) > labelLength+10 {
			t.Errorf("got %d requests of %q", l.Statuses[200], in)
		}
		out := output{to: to}
		out.series(in, l)
	}
	close(to)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collected(slices.Collect(func(yield func(prometheus.Metric) bool) {
		for m := range to {
			yield(m)
		}
	})))
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}

type collected []prometheus.Metric

func (collected) Describe(chan<- *prometheus.Desc) {}

func (c collected) Collect(to chan<- prometheus.Metric) {
	for _, m := range c {
		to <- m
	}
}

// distrusting returns a sampler that has a reason not to trust the timing.
func distrusting() *verdict.Sampler {
	at := time.Now()
	s := verdict.New(still{at}, nil, slog.New(slog.DiscardHandler))
	counts := record.Counts{Unmatched: record.EndpointCounts{Requests: 10, Service: harness.Histogram(slices.Repeat([]time.Duration{time.Second}, 10)...)}}
	s.Take(verdict.NewReading(at.Add(time.Second), counts, dispatcher.Stats{}))
	return s
}

// still is a source of empty readings with a given time.
type still struct{ at time.Time }

// Read returns an empty reading.
func (s still) Read() verdict.Reading {
	return verdict.NewReading(s.at, record.Counts{}, dispatcher.Stats{})
}
