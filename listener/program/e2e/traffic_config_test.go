package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// Mistakes in latencies, faults, outcomes and limits are reported with their position before
// anything is served.

// withTraffic returns an endpoint with further keys in its flow map.
func withTraffic(keys string) string {
	return "- endpoint: {path: '/a/:id', response: {}, " + keys + "}\n"
}

func TestTrafficConfig_ABadLatencyIsReported(t *testing.T) {
	t.Parallel()
	const at = "[0].endpoint.latency"
	testMistakes(t, []mistake{
		{name: "p99 below p50", config: withTraffic("latency: {p50: 20ms, p99: »10ms}"), key: at + ".p99", says: []string{"10ms", "p50", "20ms"}},
		{name: "max below min", config: withTraffic("latency: {min-ms: 80, max-ms: »20}"), key: at + ".max-ms", says: []string{"20ms", "min-ms", "80ms"}},
		{name: "a misspelt key", config: withTraffic("latency: {»max-sm: 20}"), key: at + ".max-sm", says: []string{`did you mean "max-ms"`, "docs/latency-and-limits.md"}},
		{name: "a percentile in capitals", config: withTraffic("latency: {»P99: 1s}"), key: at + ".P99", says: []string{`did you mean "p99"`}},
		{name: "an invalid percentile", config: withTraffic("latency: {p999: »1s}"), key: at + ".p999", says: []string{"not a percentile", "p100"}},
		{name: "a length without its unit", config: withTraffic("latency: {p50: »20}"), key: at + ".p50", says: []string{"20", "unit"}},
		{name: "two forms", config: withTraffic("latency: {min-ms: 1, max-ms: 2, median: »40ms, sigma: 1}"), key: at + ".median", says: []string{"different forms", "min-ms", "percentiles"}},
		{name: "a sigma below 0", config: withTraffic("latency: {median: 40ms, sigma: »-1}"), key: at + ".sigma", says: []string{"-1", "0 to 10"}},
		{name: "a rate above 1", config: withTraffic("latency: {failure-rate: »1.5}"), key: at + ".failure-rate", says: []string{"1.5", "0 to 1"}},
		{name: "rates above 1 together", config: withTraffic("latency: {failure-rate: 0.75, timeout-rate: »0.5}"), key: at + ".timeout-rate", says: []string{"1.25", "at most 1"}},
		{name: "a day and more", config: withTraffic("latency: {min: »25h}"), key: at + ".min", says: []string{"24h"}},
		{name: "in EDN", file: "mock.edn", config: "[{:endpoint {:path \"/a\"\n  :response {}\n  :latency {:p50 \"20ms\" :p99.9 \"»10ms\"}}}]", key: at + ".p99.9", says: []string{"10ms", "p50"}},
		{name: "in JSON", file: "mock.json", config: "[{\"endpoint\": {\"path\": \"/a\", \"response\": {},\n \"latency\": {\"p99\": \"»10ms\", \"p50\": \"20ms\"}}}]", key: at + ".p99", says: []string{"10ms", "p50"}},
	})
}

func TestTrafficConfig_BadOutcomesAreReported(t *testing.T) {
	t.Parallel()
	const at = "[0].endpoint.responses"
	outcomes := func(items string) string {
		return "- endpoint:\n    path: /a\n    responses:\n    - " + strings.ReplaceAll(items, "\n", "\n    ") + "\n"
	}
	testMistakes(t, []mistake{
		{name: "neither response nor responses", config: "- endpoint: »{path: /a}\n", key: "[0].endpoint", says: []string{"response is missing", "or responses"}},
		{name: "both", config: withTraffic("responses: »[{}]"), key: at, says: []string{"response and responses are both given"}},
		{name: "none", config: "- endpoint: {path: /a, responses: »[]}\n", key: at, says: []string{"an empty list"}},
		{name: "weights all zero", config: "- endpoint: {path: /a, responses: »[{weight: 0}, {weight: 0}]}\n", key: at, says: []string{"all weights are 0"}},
		{name: "a weight below 0", config: outcomes("weight: 1\n- weight: »-3"), key: at + "[1].weight", says: []string{"-3", "from 0"}},
		{name: "a status", config: outcomes("{}\n- status: »99"), key: at + "[1].status", says: []string{"99", "200 to 599"}},
		{name: "an unknown fault", config: outcomes("{}\n- {weight: 1, fault: {type: »rset}}"), key: at + "[1].fault.type", says: []string{`did you mean "reset"`, "slow-body"}},
		{name: "a latency", config: outcomes("latency: {min: 2s, max: »1s}"), key: at + "[0].latency.max", says: []string{"max (1s)", "min (2s)"}},
		{name: "a webhook", config: outcomes("webhook: {method: POST, url: »here}"), key: at + "[0].webhook.url", says: []string{"http"}},
		{name: "a sheet", config: outcomes("{}\n- external-body: »{provider: xlsx, path: book.xlsx}"), key: at + "[1].external-body.sheet-name", says: []string{"sheet-name is missing"}},
		{name: "a file that is not there", config: outcomes("{}\n- external-body: {provider: json, path: ›gone.json}"), key: at + "[1].external-body.path", says: []string{"gone.json"}},
		{name: "a template", config: outcomes("{}\n- body: a {{›nothing}}"), key: at + "[1].body", says: []string{"nothing"}},
		{name: "select without responses", config: withTraffic("select: »sequence"), key: "[0].endpoint.select", says: []string{"responses"}},
		{name: "an unknown select", config: outcomes("{}") + "    select: »random\n", key: "[0].endpoint.select", says: []string{"random", "sequence-hold"}},
	})
}

func TestTrafficConfig_BadFaultsAndLimitsAreReported(t *testing.T) {
	t.Parallel()
	testMistakes(t, []mistake{
		{name: "an unknown fault", config: withTraffic("fault: {type: »crash}"), key: "[0].endpoint.fault.type", says: []string{"crash", "reset, empty, malformed, truncate, slow-body"}},
		{name: "no type", config: withTraffic("fault: »{rate: 0.1}"), key: "[0].endpoint.fault", says: []string{"type is missing"}},
		{name: "bytes of another fault", config: withTraffic("fault: {type: reset, bytes-per-second: »10}"), key: "[0].endpoint.fault.bytes-per-second", says: []string{"slow-body", "reset"}},
		{name: "no bytes", config: withTraffic("fault: {type: slow-body, bytes-per-second: »0}"), key: "[0].endpoint.fault.bytes-per-second", says: []string{"1 to"}},
		{name: "a window of nothing", config: withTraffic("rate-limit: {window-ms: »0}"), key: "[0].endpoint.rate-limit.window-ms", says: []string{"above 0"}},
		{name: "no requests", config: withTraffic("rate-limit: {max-requests: »0}"), key: "[0].endpoint.rate-limit.max-requests", says: []string{"from 1"}},
		{name: "an unknown algorithm", config: withTraffic("rate-limit: {algorithm: »token-buket}"), key: "[0].endpoint.rate-limit.algorithm", says: []string{`did you mean "token-bucket"`}},
		{name: "an empty key", config: withTraffic("rate-limit: {key-fn: ›''}"), key: "[0].endpoint.rate-limit.key-fn", says: []string{"remote-addr", "path-params"}},
		{name: "a parameter that is not there", config: withTraffic("rate-limit: {key-fn: »path-params.user}"), key: "[0].endpoint.rate-limit.key-fn", says: []string{`"user"`, "it has id"}},
		{name: "none at once", config: withTraffic("capacity: {concurrent: »0, queue: 5}"), key: "[0].endpoint.capacity.concurrent", says: []string{"from 1"}},
		{name: "a queue below 0", config: withTraffic("capacity: {concurrent: 1, queue: »-1}"), key: "[0].endpoint.capacity.queue", says: []string{"from 0"}},
	})
}

func TestTrafficConfig_WhatHasNoEffectIsAWarning(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", `- endpoint:
    path: /a
    responses:
      - {weight: 2, status: 500, body: x, fault: {type: reset}}
      - {status: 204, body: y}
    select: sequence
    latency: {max: 1ms, timeout: 1s}
    rate-limit: {key-fn: remote-adr}
`)
	code, stdout, stderr := Refused(t, nil, "validate", "-c", file)
	if code != 0 {
		t.Fatalf("got exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, want := range []string{
		":4:18: [0].endpoint.responses[0].weight: ", ":4:29: [0].endpoint.responses[0].status: ", ":5:29: [0].endpoint.responses[1].body: ",
		":7:34: [0].endpoint.latency.timeout: ", ":8:26: [0].endpoint.rate-limit.key-fn: ",
	} {
		if strings.Count(stdout+stderr, want) != 1 {
			t.Errorf("no warning at %s\n%s%s", want, stdout, stderr)
		}
	}
	if n := strings.Count(stdout+stderr, "[0].endpoint"); n != 5 {
		t.Errorf("%d warnings\n%s%s", n, stdout, stderr)
	}
}

// A configuration that was refused because a file of one of its outcomes was missing is served
// once the file exists.
func TestTrafficConfig_AFileOfAnOutcomeThatComesIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "mock.yml", "- endpoint: {path: /a, response: {body: old}}\n")
	p := Start(t, "-c", file)
	harness.WriteFile(t, dir, "mock.yml", "- endpoint: {path: /a, responses: [{external-body: {provider: json, path: late.json}}]}\n")
	p.WaitLine(1, "late.json", "[0].endpoint.responses[0].external-body")
	p.Get("/a").Want(t, 200, "old")
	if err := os.WriteFile(filepath.Join(dir, "late.json"), []byte(`{"new": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.WaitLine(1, "INFO configuration reloaded")
	p.Get("/a").Want(t, 200, `{"new": true}`)
}
