package e2e_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// kindsOfErrors contains some of the numbers of failed requests, as in the JSON.
type kindsOfErrors struct {
	Declared float64 `json:"declared_5xx"`
	Injected float64 `json:"injected"`
	Own      float64 `json:"own"`
}

// figuresOfRuns contains the fields of a comparison that these tests examine.
type figuresOfRuns struct {
	A, B               *struct{ Value *float64 }
	Difference, Change *float64
}

func TestRun_DeclaredErrorsAreApartFromTheServersOwn(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, fmt.Sprintf(`
- endpoint: {path: /declared, response: {status: 503, body: down}}
- endpoint: {path: /outcome, responses: [{status: 500, body: outcome}]}
- endpoint: {path: /injected, latency: {failure-rate: 1}, response: {status: 500}}
- endpoint: {path: /own, response: {external-body: {provider: json, path: "http://%s/"}}}
- endpoint: {path: /fine, response: {}}
`, Free(t)))
	if got := a.Do("POST", "/__admin/runs", ""); got.Status != 201 {
		t.Fatal(got)
	}
	for path, times := range map[string]int{"/declared": 4, "/outcome": 3, "/injected": 2, "/own": 1, "/fine": 5, "/none": 6} {
		for range times {
			p.Get(path)
		}
	}
	var report struct {
		Total     struct{ Failed kindsOfErrors }
		Endpoints []struct {
			Endpoint string
			Failed   kindsOfErrors
		}
	}
	a.Do("POST", "/__admin/runs/1/stop", "").Into(t, 200, &report)
	if want := (kindsOfErrors{7, 2, 1}); report.Total.Failed != want {
		t.Errorf("total %+v, want %+v", report.Total, want)
	}
	var counts struct {
		Endpoints []struct {
			Endpoint string
			Failed   kindsOfErrors
		}
	}
	a.Get("/__admin/counts").Into(t, 200, &counts)
	want := map[string]kindsOfErrors{
		"GET /declared": {Declared: 4}, "GET /outcome": {Declared: 3}, "GET /injected": {Injected: 2}, "GET /own": {Own: 1}, "GET /fine": {},
	}
	for i, all := range [][]struct {
		Endpoint string
		Failed   kindsOfErrors
	}{report.Endpoints, counts.Endpoints} {
		if len(all) != len(want) {
			t.Errorf("%d: %d endpoints, want %d", i, len(all), len(want))
		}
		for _, e := range all {
			if e.Failed != want[e.Endpoint] {
				t.Errorf("%d: %s has %+v, want %+v", i, e.Endpoint, e.Failed, want[e.Endpoint])
			}
		}
	}
	if got := Value(t, Scrape(t, a), "mockserver_own_errors_total", "endpoint", "GET /own"); got != 1 {
		t.Errorf("the metric has %v own errors, want 1", got)
	}
}

// A client counts what it sees as an error: statuses from 400 on, and broken responses. The report, the
// counters and the metrics have the same number, each request once.
func TestRun_EachFailedRequestIsCountedOnce(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, fmt.Sprintf(`
- endpoint: {path: /404, response: {status: 404}}
- endpoint: {path: /503, response: {status: 503}}
- endpoint: {path: /injected, latency: {failure-rate: 1}, response: {}}
- endpoint: {path: /timeout, latency: {timeout-rate: 1, timeout-ms: 1}, response: {}}
- endpoint: {path: /broken, fault: {type: empty}, response: {}}
- endpoint: {path: /broken-503, fault: {type: empty}, response: {status: 503}}
- endpoint: {path: /slow, fault: {type: slow-body}, response: {body: x}}
- endpoint: {path: /limited, rate-limit: {max-requests: 1, window: 1h}, response: {}}
- endpoint: {path: /own, response: {external-body: {provider: json, path: "http://%s/"}}}
- endpoint: {path: /fine, response: {}}
- resource: {path: /rows, new-key: int}
`, Free(t)))
	if got := a.Do("POST", "/__admin/runs", ""); got.Status != 201 {
		t.Fatal(got)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // it does not repeat a request
	failed := 0
	for path, times := range map[string]int{
		"/404": 3, "/503": 2, "/injected": 4, "/timeout": 1, "/broken": 5, "/broken-503": 2, "/slow": 2, "/limited": 3, "/own": 1, "/fine": 9, "/rows/7": 3, "/none": 6,
	} {
		for range times {
			response, err := client.Get(p.URL + path)
			if err != nil || response.StatusCode >= 400 {
				failed++
			}
			if err == nil {
				response.Body.Close()
			}
		}
	}
	type kinds struct {
		All, Rejected, Injected, Faults, Limited, Own, Unmatched int
		Declared4xx                                              int `json:"declared_4xx"`
		Declared5xx                                              int `json:"declared_5xx"`
	}
	var report struct {
		Total struct {
			Requests, Faults int
			Failed           kinds
		}
	}
	a.Do("POST", "/__admin/runs/1/stop", "").Into(t, 200, &report)
	want := kinds{All: failed, Declared4xx: 3, Declared5xx: 4, Rejected: 3, Injected: 5, Faults: 5, Limited: 2, Own: 1, Unmatched: 6}
	if report.Total.Failed != want || report.Total.Faults != 9 {
		t.Errorf("got %+v and %d faults, want %+v and 9", report.Total.Failed, report.Total.Faults, want)
	}
	metrics := Scrape(t, a)
	if got := Value(t, metrics, "mockserver_failed_requests_total", "endpoint", "GET /broken-503", "kind", "declared 5xx"); got != 2 {
		t.Errorf("the metric has %v declared errors of /broken-503, want 2", got)
	}
	page := a.Get("/__admin/runs/1/report").Body
	if want := fmt.Sprintf("%d of %d requests, each counted once", failed, report.Total.Requests); !strings.Contains(page, want) || !strings.Contains(page, "injected: 5, ") {
		t.Errorf("the page does not say %q", want)
	}
}

func TestRun_ItsPercentilesAreFinerTowardsTheLongest(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, One("x"))
	if got := a.Do("POST", "/__admin/runs", ""); got.Status != 201 {
		t.Fatal(got)
	}
	for range 200 {
		p.Get("/a")
	}
	var report struct {
		Total struct {
			Own struct {
				P50, P99 struct{ Value *float64 }
				Max      float64
			}
		}
		Percentiles map[string][]struct{ Percentile, MS float64 }
	}
	a.Do("POST", "/__admin/runs/1/stop", "").Into(t, 200, &report)
	own := report.Percentiles["own"]
	at := map[float64]float64{}
	for i, point := range own {
		at[point.Percentile] = point.MS
		if i > 0 && (point.Percentile <= own[i-1].Percentile || point.MS < own[i-1].MS) {
			t.Errorf("%v follows %v: the curve falls", point, own[i-1])
		}
	}
	if report.Total.Own.P50.Value == nil || report.Total.Own.P99.Value != nil {
		t.Fatalf("of 200 requests, p50 is determined and p99 is not; got %+v", report.Total.Own)
	}
	for percentile, want := range map[float64]float64{50: *report.Total.Own.P50.Value, 100: report.Total.Own.Max} {
		if got, ok := at[percentile]; !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("percentile %v is %v, want %v", percentile, got, want)
		}
	}
	if _, ok := at[99.9]; ok {
		t.Error("200 requests have no 99.9th percentile")
	}
	for _, name := range []string{"injected", "injection_error", "webhook_lag"} {
		if list, ok := report.Percentiles[name]; !ok || len(list) > 0 {
			t.Errorf("%s: %v, want none", name, list)
		}
	}
}

func TestRun_AComparisonHasDifferencesWebhooksAndCPU(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, `
- endpoint: {path: /a, response: {}}
- endpoint: {method: POST, path: /hooked, response: {status: 503}, webhook: {on: any, sleep-time: 0, method: POST, url: "http://`+Free(t)+`/", body: "{}"}}
`, "--verdict", "own-p99=0ms")
	for i, requests := range []int{0, 12} {
		if got := a.Do("POST", "/__admin/runs", ""); got.Status != 201 {
			t.Fatal(got)
		}
		for range requests {
			p.Get("/a")
			p.Do("POST", "/hooked", "")
		}
		if requests > 0 { // the verdict is updated once a second, and the lag is known once a webhook has been sent
			harness.Until(t, "a reason", func() bool {
				var report struct {
					Verdict struct{ Reasons []any }
					Total   struct {
						Lag  struct{ Count int } `json:"webhook_lag"`
						Dead int                 `json:"webhooks_dead"`
					}
				}
				a.Get("/__admin/runs/2").Into(t, 200, &report)
				return len(report.Verdict.Reasons) > 0 && report.Total.Lag.Count > 0 && report.Total.Dead == requests
			})
		}
		if got := a.Do("POST", fmt.Sprintf("/__admin/runs/%d/stop", i+1), ""); got.Status != 200 {
			t.Fatal(got)
		}
	}
	var c struct {
		Total map[string]figuresOfRuns
	}
	a.Get("/__admin/runs/compare?a=1&b=2").Into(t, 200, &c)
	if d := c.Total["requests"]; d.Difference == nil || *d.Difference != 24 || d.Change != nil {
		t.Errorf("requests %+v, want 24 more, and no percentage of 0", d)
	}
	if d := c.Total["failed"]; d.A != nil || d.B == nil || *d.B.Value != 0.5 || d.Difference != nil {
		t.Errorf("failed requests %+v, want null, and half of the requests", d)
	}
	for _, name := range []string{"webhooks_sent", "webhooks_dead", "webhooks_refused", "webhook_lag_p99", "cpu", "cpu_share", "machine_cpu", "throttled", "memory"} {
		if _, ok := c.Total[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	if d := c.Total["webhook_lag_p99"]; d.B == nil {
		t.Errorf("the lag of webhooks %+v, want that of B", d)
	}
	page := a.Get("/__admin/runs/compare?a=1&b=2&format=html")
	for _, want := range []string{"the timing cannot be trusted", "Difference", "+12", "Webhooks sent", "Webhook lag p99", "CPU used, in cores"} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// Webhooks belong to the run of their request, whenever they are sent. Runs follow each other without
// a pause, so most webhooks of a run are sent during later ones. With MOCKSERVER_VOLUME_TESTS=1, they
// are sent up to 10 s after their request, of many more.
func TestRun_WebhooksBelongToTheRunOfTheirRequest(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/dead") {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	endpoint := func(name, sleep, to string) string {
		return fmt.Sprintf("- endpoint: {method: POST, path: /%s/:run, response: {status: 201}, webhook: {sleep-time: %s, method: POST, url: %q, body: x}}\n",
			name, sleep, target.URL+"/{{path-params.run}}"+to)
	}
	inSoon, inLater, many := "300ms", "900ms", 1
	if volume.Full() {
		inSoon, inLater, many = "4s", "10s", 50
	}
	p, a := Administered(t, endpoint("now", "0", "/sent")+endpoint("soon", inSoon, "/sent")+endpoint("later", inLater, "/dead")+endpoint("never", "1h", "/sent"))
	const runs = 20
	begin := func(body string) string {
		var entry struct{ ID string }
		a.Do("POST", "/__admin/runs", body).Into(t, 201, &entry)
		return entry.ID
	}
	want := func(run int) (now, soon, later int) {
		return many * (run%4 + 1), many * (run%3 + 1), many * (run%2 + 1)
	}
	var statuses [runs]map[string]int // as the client has seen them, but for requests that no endpoint answered
	for run := range runs {
		statuses[run] = map[string]int{}
		id := begin("")
		now, soon, later := want(run)
		for path, times := range map[string]int{"/now/": now, "/soon/": soon, "/later/": later, "/none/": 2} {
			for range times {
				if status := p.Do("POST", path+id, "").Status; status != 404 {
					statuses[run][strconv.Itoa(status)]++
				}
			}
		}
		a.Do("POST", "/__admin/runs/"+id+"/stop", "")
	}
	type report struct {
		Final     bool
		Endpoints []struct{ Statuses map[string]int }
		Total     struct {
			Requests, Unmatched int
			Started             int                 `json:"webhooks_started"`
			Sent                int                 `json:"webhooks_sent"`
			Dead                int                 `json:"webhooks_dead"`
			Pending             int                 `json:"webhooks_pending"`
			Lag                 struct{ Count int } `json:"webhook_lag"`
		}
	}
	of := func(id string) (r report) {
		a.Get("/__admin/runs/"+id).Into(t, 200, &r)
		return r
	}
	for run := range runs {
		id := strconv.Itoa(run + 1)
		harness.Until(t, "the report of run "+id+" is final", func() bool { return of(id).Final })
		now, soon, later := want(run)
		all := now + soon + later
		if got := of(id).Total; got.Requests != all+2 || got.Unmatched != 2 || got.Started != all || got.Sent != now+soon || got.Dead != later || got.Pending != 0 || got.Lag.Count != all {
			t.Errorf("run %s: %+v, want %d requests with %d+%d webhooks that were sent and %d that were not", id, got, all+2, now, soon, later)
		}
		counted := map[string]int{}
		for _, e := range of(id).Endpoints {
			for status, n := range e.Statuses {
				counted[status] += n
			}
		}
		if !maps.Equal(counted, statuses[run]) {
			t.Errorf("run %s: statuses %v, want %v", id, counted, statuses[run])
		}
	}
	id := begin(`{"settle": "0s"}`)
	p.Do("POST", "/never/"+id, "")
	var last report
	if a.Do("POST", "/__admin/runs/"+id+"/stop", "").Into(t, 200, &last); !last.Final || last.Total.Started != 1 || last.Total.Pending != 1 {
		t.Errorf("a run that does not settle: %+v, want a final report with a pending webhook", last)
	}
	if got := a.Do("POST", "/__admin/runs", `{"settle": "soon"}`); got.Status != 400 || !strings.Contains(got.Body, `settle is \"soon\"; expected a duration`) {
		t.Errorf("settle that is not a duration: %d %s", got.Status, got.Body)
	}
}
