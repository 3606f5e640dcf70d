package listener_test

import (
	"testing"

	"mockserver/config"
	"mockserver/listener"
)

// LatencyErrors omits endpoints without a latency.
func TestLatencyErrors_OfOthersAreNone(t *testing.T) {
	s := started(t, config.Parse("m.yml", []byte(`
- endpoint: {path: /faulty, response: {}, fault: {type: empty}}
- endpoint: {path: /bounded, response: {}, capacity: {concurrent: 1}}
- endpoint: {path: /limited, response: {}, rate-limit: {}}
- endpoint: {path: /plain, response: {}}
- endpoint: {path: /late, response: {}, latency: {min: 1us}}
`)), listener.Options{})
	for _, path := range []string{"/bounded", "/limited", "/plain", "/late"} {
		get(t, s.URL()+path)
	}
	if all := s.LatencyErrors(); len(all) != 1 || all[0].Endpoint != "GET /late" || all[0].Count != 1 {
		t.Errorf("got %d deviations, want one for GET /late with one answer", len(all))
	}
}
