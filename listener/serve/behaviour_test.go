//go:build !race

package serve

import (
	"strings"
	"testing"

	"mockserver/listener/protocol/wire"
)

const behaving = `
- endpoint: {path: /static, response: {body: ok}}
- endpoint: {path: /late, latency: {p50: 1ms, p99: 5ms, failure-rate: 0.0, timeout-rate: 0}, response: {body: ok}}
- endpoint: {path: /lognormal, latency: {median: 1ms, sigma: 0.4}, response: {body: ok}}
- endpoint: {path: /drawn, responses: [{body: ok}, {weight: 3, body: ok, latency: {max: 1ms}}]}
- endpoint: {path: /turns, select: sequence, responses: [{body: ok}, {body: ok}]}
- endpoint: {path: "/user/:id", latency: {max: 1ms}, response: {body: "{{path-params.id}}"}}
`

// The behaviour that an endpoint declares in addition to its answer causes no allocations, with or
// without a seed.
func TestAllocations_OfBehaviours(t *testing.T) {
	seed := uint64(1)
	for _, s := range []*testServer{configured(t, behaving), seeded(t, &seed, behaving)} {
		for uri, most := range map[string]float64{"/static": 0, "/late": 0, "/lognormal": 0, "/drawn": 0, "/turns": 0, "/user/ok": 1} {
			var ctx wire.Exchange
			ctx.Request.SetRequestURI(uri)
			ctx.Request.Header.SetMethod("GET")
			wrong := 0
			got := testing.AllocsPerRun(200, func() {
				ctx.Response.Reset()
				_ = s.Serve(&ctx)
				if string(ctx.Response.Body()) != "ok" {
					wrong++
				}
			})
			if got > most || wrong > 0 {
				t.Errorf("%s, seeded: %t: got %v allocations, want at most %v, and %d wrong answers", uri, s.compiler.Chance.Seeded, got, most, wrong)
			}
		}
	}
}

// Refusing a request for lack of capacity, or failing one as declared, allocates nothing either.
func TestAllocations_OfPresetReplies(t *testing.T) {
	s := configured(t, `
- endpoint: {path: /failing, latency: {failure-rate: 1}, response: {body: ok}}
- endpoint: {path: /late, latency: {timeout-rate: 1, timeout: 1ns}, response: {body: ok}}
- endpoint: {path: /full, capacity: {concurrent: 1}, response: {body: ok}}
`)
	occupy(s, 2)
	for uri, want := range map[string]string{
		"/failing": `{"error":"Injected failure","code":"injected_failure","message":"the latency of GET /failing declares that some requests fail like this"}`,
		"/late":    `{"error":"Injected timeout","code":"injected_timeout","message":"the latency of GET /late declares that some requests fail like this"}`,
		"/full":    `{"error":"Capacity exceeded","code":"capacity_exceeded","message":"all places are taken: this endpoint serves 1 request at once, and lets 0 wait"}`,
	} {
		var ctx wire.Exchange
		ctx.Request.SetRequestURI(uri)
		ctx.Request.Header.SetMethod("GET")
		var got string
		allocations := testing.AllocsPerRun(200, func() {
			ctx.Response.Reset()
			_ = s.Serve(&ctx)
			if string(ctx.Response.Body()) != got {
				got = string(ctx.Response.Body())
			}
		})
		if strings.TrimSpace(got) != want || allocations > 0 {
			t.Errorf("%s: got %s with %v allocations, want %s with none", uri, got, allocations, want)
		}
	}
}
