package bench

import (
	"strings"
	"testing"

	"mockserver/config"
)

func TestUnsteady(t *testing.T) {
	for _, c := range []struct{ keys, want, bounded string }{ // "" for nothing
		{"response: {}", "", ""},
		{"response: {}, rate-limit: {}", "answers 429 to what is above 100 requests in 15m0s", ""},
		{"response: {}, rate-limit: {max-requests: 5, window: 1s}", "above 5 requests in 1s", ""},
		{"response: {}, capacity: {concurrent: 2, queue: 1}", "room for 3 requests, and answers 503 to others of 4 connections; --connections 3", ""},
		{"response: {}, capacity: {concurrent: 1, queue: 3}", "", "1 of its requests are served at once"},
		{"response: {}, fault: {type: reset, rate: 1%}", "a fault (reset) happens", ""},
		{"response: {}, fault: {type: reset, rate: 0}", "", ""},
		{"response: {}, latency: {failure-rate: 1%}", "failure-rate answers 500", ""},
		{"response: {}, latency: {timeout-rate: 1%}", "timeout-rate answers 504", ""},
		{"response: {}, latency: {max: 20ms}", "", "wait up to 20ms"},
		{"response: {}, latency: {p50: 1ms, max: 21ms}", "its latency of up to 21ms", ""},
		{"response: {}, latency: {median: 2ms, sigma: 0.5}", "", "wait up to 12.84ms"}, // 2 ms × e^(3.719 × 0.5)
		{"response: {}, latency: {median: 2ms, sigma: 1}", "its latency of up to 82ms", ""},
		{"responses: [{status: 201}, {status: 201, body: x}]", "", ""},
		{"responses: [{}, {status: 200}, {status: 404}]", "different statuses (200 and 404)", ""},
		{"responses: [{}, {status: 404, weight: 0}]", "", ""},
		{"responses: [{}, {status: 404}], select: sequence", "different statuses", ""},
		{"responses: [{}, {fault: {type: empty}}]", "a fault (empty)", ""},
		{"responses: [{}, {latency: {max: 0}}], latency: {min: 1s}", "its latency of up to 1s", ""},
		{"responses: [{latency: {max: 0}}], latency: {min: 1s}", "", ""},
		{"responses: [{fault: {type: reset, rate: 0}}], fault: {type: reset}", "", ""},
		{"responses: [{}], fault: {type: reset}", "a fault (reset)", ""},
	} {
		spec := config.Parse("f.yml", []byte("- endpoint: {path: /x, "+c.keys+"}"))
		if spec.Problems.Err() != nil {
			t.Fatalf("%s: %v", c.keys, spec.Problems)
		}
		e := &spec.Endpoints[0]
		if got := unsteady(e, 4); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q; want %q", c.keys, got, c.want)
		}
		if got := bounded(e); c.want == "" && (c.bounded == "" && got != "" || !strings.Contains(got, c.bounded)) {
			t.Errorf("%s: bounded by %q; want %q", c.keys, got, c.bounded)
		}
	}
}
