package listener

import "testing"

// LatencyErrors omits endpoints without a latency.
func TestLatencyErrors_OfOthersAreNone(t *testing.T) {
	s := configured(t, `
- endpoint: {path: /faulty, response: {}, fault: {type: empty}}
- endpoint: {path: /bounded, response: {}, capacity: {concurrent: 1}}
- endpoint: {path: /limited, response: {}, rate-limit: {}}
- endpoint: {path: /plain, response: {}}
- endpoint: {path: /late, response: {}, latency: {min: 1us}}
`)
	for _, path := range []string{"/bounded", "/limited", "/plain", "/late"} {
		responsesOf(t, s, 1, path)
	}
	if all := s.LatencyErrors(); len(all) != 1 || all[0].Endpoint != "GET /late" || all[0].Count != 1 {
		t.Errorf("got %d deviations, want one for GET /late with one answer", len(all))
	}
}
