package config

import (
	"math"
	"mockserver/config/item"
	"mockserver/config/policy"
	"testing"
	"time"
)

// An endpoint with several outcomes has the latencies of all of them, each with its weight.
func TestLengths_OfAnEndpointAreThoseOfItsOutcomes(t *testing.T) {
	const ms = time.Millisecond
	fixed := func(d time.Duration) *Latency { return &Latency{Min: d, Max: d} }
	of := func(l *Latency) policy.Group { return policy.Group{Latency: l} }
	for _, c := range []struct {
		name     string
		endpoint item.Endpoint
		want     map[float64]time.Duration // nil for none
	}{
		{"none", item.Endpoint{}, nil},
		{"only failures", item.Endpoint{Group: of(&Latency{FailureRate: 0.5})}, nil},
		{"of its own", item.Endpoint{Group: of(&Latency{Max: 100 * ms})}, map[float64]time.Duration{0.5: 50 * ms, 0.9: 90 * ms}},
		{"timeouts", item.Endpoint{Group: of(&Latency{Max: 100 * ms, TimeoutRate: 0.5, Timeout: 2 * time.Second})}, map[float64]time.Duration{0.25: 50 * ms, 0.45: 90 * ms, 0.51: 2 * time.Second, 0.99: 2 * time.Second}},
		{"only timeouts", item.Endpoint{Group: of(&Latency{TimeoutRate: 0.01})}, map[float64]time.Duration{0.01: policy.DefaultLatencyTimeout}},
		{"two outcomes", item.Endpoint{Responses: []item.Outcome{{Weight: 9, Group: of(fixed(10 * ms))}, {Group: of(fixed(2 * time.Second))}}}, map[float64]time.Duration{0.5: 10 * ms, 0.89: 10 * ms, 0.91: 2 * time.Second}},
		{"one without", item.Endpoint{Group: of(fixed(10 * ms)), Responses: []item.Outcome{{}, {Group: of(&Latency{})}, {Weight: 0, Weighted: true, Group: of(fixed(time.Hour))}}}, map[float64]time.Duration{0.01: 10 * ms, 0.99: 10 * ms}},
		{"in turn", item.Endpoint{Select: SelectSequence, Responses: []item.Outcome{{Weight: 9, Group: of(fixed(10 * ms))}, {Group: of(&Latency{Max: 20 * ms})}}}, map[float64]time.Duration{0.25: 10 * ms, 0.5: 10 * ms, 0.75: 10 * ms, 0.8: 12 * ms, 0.9: 16 * ms}},
		{"the last for ever", item.Endpoint{Select: SelectSequenceHold, Responses: []item.Outcome{{Group: of(fixed(10 * ms))}, {}}}, nil},
	} {
		length := c.endpoint.Lengths()
		if (length == nil) != (c.want == nil) {
			t.Errorf("%s: there is a distribution: %v", c.name, length != nil)
			continue
		}
		for part, want := range c.want {
			if got := length(part); math.Abs(float64(got-want)) > 0.001*float64(want) {
				t.Errorf("%s: %v of all are at most %v, want %v", c.name, part, got, want)
			}
		}
	}
}
