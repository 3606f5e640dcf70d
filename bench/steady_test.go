package bench

import (
	"strings"
	"testing"

	"mockserver/config"
)

func TestUnsteady(t *testing.T) {
	for _, c := range []struct{ keys, want, leftOut string }{ // "" for nothing
		{"response: {}", "", ""},
		{"response: {}, rate-limit: {}", "answers 429 to more than 100 requests in 15m0s", ""},
		{"response: {}, rate-limit: {max-requests: 5, window: 1s}", "more than 5 requests in 1s", ""},
		{"response: {}, capacity: {concurrent: 2, queue: 1}", "room for 3 requests, and answers 503 to others of 4 connections; use --connections 3 or fewer", ""},
		{"response: {}, capacity: {concurrent: 1, queue: 3}", "", "1 of its requests are served at once"},
		{"response: {}, fault: {type: reset, rate: 1%}", "", "measured without its faults"},
		{"response: {}, latency: {failure-rate: 1%, timeout-rate: 1%}", "", "its statuses are 200 500 504"},
		{"response: {}, latency: {min: 2s}", "", "measured without waiting for its latency"},
		{"responses: [{status: 201}, {status: 201, body: x}]", "", ""},
		{"responses: [{}, {status: 200}, {status: 404}]", "", "its statuses are 200 404: the figures cover all of them"},
		{"responses: [{}, {status: 404, weight: 0}]", "", ""},
		{"responses: [{}, {status: 404}], select: sequence", "", "200 404"},
		{"responses: [{}, {fault: {type: empty}}]", "", "without its faults"},
		{"responses: [{}, {latency: {max: 0}}], latency: {min: 1s}", "", "latency"},
		{"responses: [{status: 503}, {status: 200, latency: {min: 1s}}], fault: {type: reset}", "", "latency: with it, the number of connections limits requests/s; measured without its faults; its statuses are 503 200"},
	} {
		spec := config.Parse("f.yml", []byte("- endpoint: {path: /x, "+c.keys+"}"))
		if spec.Problems.Err() != nil {
			t.Fatalf("%s: %v", c.keys, spec.Problems)
		}
		e := &spec.Endpoints[0]
		if got := e.Varies(4); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q; want %q", c.keys, got, c.want)
		}
		if got := leftOut(e); c.want == "" && (c.leftOut == "" && got != "" || !strings.Contains(got, c.leftOut)) {
			t.Errorf("%s: left out %q; want %q", c.keys, got, c.leftOut)
		}
	}
}
