package serve

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/listener/protocol/wire"
	"mockserver/matcher"
)

// responsesOf sends n requests to a server, one after the other, and returns the bodies, or the
// status if there is no body.
func responsesOf(t *testing.T, s *testServer, n int, uri string) []string {
	t.Helper()
	var ctx wire.Exchange
	ctx.Request.Header.SetMethod("GET")
	ctx.Request.Header.SetHost("mock.test")
	ctx.Request.SetRequestURI(uri)
	got := make([]string, n)
	for i := range got {
		ctx.Response.Reset()
		_ = s.Serve(&ctx)
		if got[i] = string(ctx.Response.Body()); got[i] == "" {
			got[i] = fmt.Sprint(ctx.Response.StatusCode())
		}
	}
	return got
}

func tallied(texts []string) map[string]int {
	counts := map[string]int{}
	for _, text := range texts {
		counts[text]++
	}
	return counts
}

const weighted = `
- endpoint:
    path: /a
    responses:
      - {weight: 0, status: 201, body: never}
      - {weight: 95, body: ok}
      - {weight: 3.5, status: 500, body: bad}
      - {weight: 1.5, status: 503}
      - {weight: 0, body: never}
`

// Outcomes follow their weights within four standard deviations. Weight 0 is never drawn.
func TestOutcomes_ByWeight(t *testing.T) {
	const n = 100_000
	seed := uint64(5)
	s := seeded(t, &seed, weighted)
	got := tallied(responsesOf(t, s, n, "/a"))
	for body, share := range map[string]float64{"never": 0, "ok": 0.95, "bad": 0.035, "503": 0.015} {
		if off := 4 * math.Sqrt(share*(1-share)*n); math.Abs(float64(got[body])-share*n) > off {
			t.Errorf("%s occurred %d times in %d, want %v ± %.0f", body, got[body], n, share*n, off)
		}
	}
}

// An outcome without a weight has weight 1.
func TestOutcomes_WithoutWeights(t *testing.T) {
	s := configured(t, "- endpoint: {path: /a, responses: [{body: x}, {body: y}, {weight: 2, body: z}]}")
	got := tallied(responsesOf(t, s, 40_000, "/a"))
	for body, want := range map[string]int{"x": 10_000, "y": 10_000, "z": 20_000} {
		if off := got[body] - want; off < -600 || off > 600 { // more than six standard deviations: there is no seed
			t.Errorf("%s occurred %d times in 40000, want about %d", body, got[body], want)
		}
	}
}

const inTurn = "- endpoint: {path: /a, select: %s, responses: [{body: x}, {body: y, status: 404}, {body: z}]}\n"

func TestOutcomes_InTurn(t *testing.T) {
	for selection, want := range map[string]string{"sequence": "x y z x y z x", "sequence-hold": "x y z z z z z"} {
		s := configured(t, fmt.Sprintf(inTurn, selection))
		if got := strings.Join(responsesOf(t, s, 7, "/a"), " "); got != want {
			t.Errorf("%s: got %s, want %s", selection, got, want)
		}
	}
}

// However many clients there are, each position of the sequence is used once.
func TestOutcomes_InTurnUnderConcurrency(t *testing.T) {
	for selection, want := range map[string]map[string]int{
		"sequence": {"x": 1000, "y": 1000, "z": 1000}, "sequence-hold": {"x": 1, "y": 1, "z": 2998},
	} {
		s := configured(t, fmt.Sprintf(inTurn, selection))
		all := make([][]string, 10)
		var clients sync.WaitGroup
		for i := range all {
			clients.Go(func() { all[i] = responsesOf(t, s, 300, "/a") })
		}
		clients.Wait()
		got := map[string]int{}
		for _, some := range all {
			for body, n := range tallied(some) {
				got[body] += n
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", selection, got, want)
		}
	}
}

// An endpoint that a reload does not change continues its sequence, even at another position in
// the configuration; one that the reload changes starts again. A refused reload changes nothing.
func TestOutcomes_GoOnOverAReload(t *testing.T) {
	sequence := fmt.Sprintf(inTurn, "sequence")
	s := configured(t, sequence)
	apply := func(text string) error { return s.Apply(config.Parse("mock.yml", []byte(text))) }
	if got := strings.Join(responsesOf(t, s, 2, "/a"), " "); got != "x y" {
		t.Fatalf("got %s", got)
	}
	if apply("- endpoint: {path: nowhere}\n"+sequence) == nil {
		t.Fatal("a path without a slash was accepted")
	}
	if got := strings.Join(responsesOf(t, s, 2, "/a"), " "); got != "z x" {
		t.Errorf("after a refused reload: got %s, want z x", got)
	}
	if err := apply("# moved\n- endpoint: {path: /b, response: {}}\n" + sequence); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(responsesOf(t, s, 2, "/a"), " "); got != "y z" {
		t.Errorf("after a reload: got %s, want y z", got)
	}
	if err := apply(strings.ReplaceAll(sequence, "body: y", "body: changed")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(responsesOf(t, s, 2, "/a"), " "); got != "x changed" {
		t.Errorf("after a change: got %s, want x changed", got)
	}
}

// An outcome inherits from its endpoint whatever it does not declare.
func TestOutcomes_HaveWhatTheEndpointHas(t *testing.T) {
	s := configured(t, `
- endpoint:
    path: /a
    latency: {min-ms: 1, max-ms: 1, failure-rate: 1}
    webhook: {url: "http://127.0.0.1:9/a", method: POST, sleep-time: 3600}
    responses:
      - {body: x}
      - {body: y, latency: {min-ms: 7, max-ms: 7}, webhooks: []}
      - {body: z, webhook: {url: "http://127.0.0.1:9/z", method: POST, sleep-time: 3600}}
`)
	a := &s.snapshot.Load().Responses[0]
	fails := map[int]bool{} // by index of the outcome
	var request matcher.Request
	for range 100 {
		if drawn := a.Rules.Draw(&request); drawn.Instead != nil {
			fails[drawn.Outcome] = true
		}
	}
	for i, want := range []struct {
		fails bool
		hooks []string
	}{{true, []string{"GET /a"}}, {false, nil}, {true, []string{"GET /a responses[2]"}}} {
		var hooks []string
		for _, h := range a.Outcomes[i].Hooks {
			hooks = append(hooks, h.Shared.Name)
		}
		if fails[i] != want.fails || strings.Join(hooks, ",") != strings.Join(want.hooks, ",") {
			t.Errorf("outcome %d: it fails %t, with the webhooks %v, want %+v", i, fails[i], hooks, want)
		}
	}
}

const ms = time.Millisecond
