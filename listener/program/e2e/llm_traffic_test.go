package e2e_test

import (
	"bufio"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/internal/harness"
)

const (
	chatPath = "/v1/chat/completions"
	// askFive has a prompt of two tokens.
	askFive     = `{"model": "m", "messages": [{"role": "user", "content": "12345"}]}`
	askFiveLive = `{"model": "m", "stream": true, "messages": [{"role": "user", "content": "12345"}]}`
)

// An answer that is not streamed comes no earlier than the last token of one that is: first, each token of the prompt,
// and the gaps. Answers that share a rate are stretched.
func TestLLM_Times(t *testing.T) {
	t.Parallel()
	for way := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", `
- llm: {provider: openai, answer: {tokens: 5}, pace: {first: {base: 30ms, per-token: 10ms}, gap: 10ms}}
- llm: {provider: openai, path: /shared, answer: {tokens: 5}, pace: {gap: 10ms, shared: 20/s}}
- llm: {provider: openai, path: /plain, answer: {tokens: 5}, pace: {first: 40ms}}
`), "--admin", "127.0.0.1:0")
		for path, least := range map[string]time.Duration{chatPath: 90 * time.Millisecond, "/shared" + chatPath: 40 * time.Millisecond, "/plain" + chatPath: 40 * time.Millisecond} {
			for _, body := range []string{askFive, askFiveLive} {
				begun := time.Now()
				got := p.Do("POST", path, body)
				if took := time.Since(begun); got.Status != 200 || took < least {
					t.Errorf("%s %s %s: status %d after %v, want at least %v", way, path, body, got.Status, took, least)
				}
			}
		}
		var counts struct {
			Endpoints []struct {
				Endpoint string
				Streams  struct{ Stretch float64 }
			}
		}
		AdminOf(p).Get("/__admin/counts").Into(t, 200, &counts)
		most := 0.0
		for _, e := range counts.Endpoints {
			if e.Endpoint == "POST /shared"+chatPath {
				most = max(most, e.Streams.Stretch)
			}
		}
		if most < 4.9 || most > 5.1 {
			t.Errorf("%s: the gaps of answers that share a rate are stretched by %v, want 5", way, most)
		}
	}
}

// With a seed, a model answers alike in each run, streamed or not.
func TestLLM_Seed(t *testing.T) {
	t.Parallel()
	config := "- llm: {provider: openai, answer: {tokens: {p50: 20, p99: 90}}, pace: {gap: 1ms, per-delta: {min: 1, max: 4}}}\n"
	one, other := Serving(t, config, "--seed", "7"), Serving(t, config, "--seed", "7")
	for range 3 {
		for _, body := range []string{askFive, askFiveLive} {
			cut := func(r Response) string {
				_, rest, _ := strings.Cut(r.Body, `"choices":`)
				rest, _, _ = strings.Cut(rest, `"created":`)
				return rest
			}
			if a, b := one.Do("POST", chatPath, body), other.Do("POST", chatPath, body); cut(a) != cut(b) || cut(a) == "" {
				t.Errorf("%s\n%s", a.Body, b.Body)
			}
		}
	}
}

// The server's own errors of a model have the form of its provider. A capacity and a limit are those of all its answers.
func TestLLM_OwnErrors(t *testing.T) {
	t.Parallel()
	for way := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", `
- llm: {provider: openai, rate-limit: {max-requests: 1}}
- llm: {provider: openai, path: /full, capacity: {concurrent: 1}, answer: {tokens: 2}, pace: {gap: 24h}}
- llm: {provider: openai, path: /fails, latency: {failure-rate: 100%}}
- llm: {provider: openai, path: /out, outcomes: [{weight: 0}, {status: 429}]}
- llm: {provider: anthropic, path: /over, outcomes: [{status: 529}]}
- llm: {provider: openai, path: /error, answer: {tokens: 9}, fault: {type: error, after: 2 items}}
- llm: {provider: anthropic, path: /error, answer: {tokens: 9}, fault: {type: error, after: 5 items}}
`))
		want := func(got Response, status int, typ, code any) {
			t.Helper()
			e := dig(parsed(t, got.Body), "error").(map[string]any)
			if got.Status != status || e["type"] != typ || e["code"] != code || got.Header.Get("X-Request-Id")+got.Header.Get("Request-Id") == "" || status == 429 && got.Header.Get("Retry-After") == "" {
				t.Errorf("%s: %d %v %s", way, got.Status, got.Header, got.Body)
			}
		}
		p.Do("POST", chatPath, askFive)
		want(p.Do("POST", chatPath, askFiveLive), 429, "requests", "rate_limit_exceeded")
		want(p.Do("POST", "/fails"+chatPath, askFiveLive), 500, "server_error", "injected_failure")
		want(p.Do("POST", "/out"+chatPath, askFive), 429, "requests", "rate_limit_exceeded")
		const messages = `{"model": "m", "stream": true, "max_tokens": 9, "messages": [{"role": "user", "content": "12345"}]}`
		want(p.Do("POST", "/over/v1/messages", messages), 529, "overloaded_error", nil)

		resp, err := p.client.Post(p.URL+"/full"+chatPath, "application/json", strings.NewReader(askFiveLive)) // it holds the place
		if err != nil {
			t.Fatal(err)
		}
		want(p.Do("POST", "/full"+chatPath, askFive), 503, "server_error", "capacity_exceeded")
		_ = resp.Body.Close()

		_, all := modelEvents(t, p.Do("POST", "/error"+chatPath, askFiveLive).Body)
		if dig(all[len(all)-1], "error", "type") != "server_error" || len(all) != 3 {
			t.Errorf("%s: %v", way, all)
		}
		types, all := modelEvents(t, p.Do("POST", "/error/v1/messages", messages).Body)
		if types[len(types)-1] != "error" || dig(all[len(all)-1], "error", "type") != "overloaded_error" || len(all) != 6 {
			t.Errorf("%s: %v", way, all)
		}
	}
}

// With opening: at-once, the role comes with the head, and the first token when it is due.
func TestLLM_Opening(t *testing.T) {
	t.Parallel()
	for way := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml",
			"- llm: {provider: openai, answer: {tokens: 2}, pace: {first: 24h, opening: at-once}}\n"))
		resp, err := p.client.Post(p.URL+chatPath, "application/json", strings.NewReader(askFiveLive))
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.Contains(line, `"role":"assistant"`) {
			t.Errorf("%s: %q, %v", way, line, err)
		}
		_ = resp.Body.Close()
	}
}

// Answers that are not streamed do not mix, and count as what they are.
func TestLLM_Many(t *testing.T) {
	t.Parallel()
	for way := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", "- llm: {provider: openai, answer: {echo: true}, pace: {first: 5ms, gap: 1ms, shared: 100000/s}}\n"))
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				text := strings.Repeat(string(rune('a'+i%26)), 20+i)
				got, err := p.Try("POST", chatPath, `{"model": "m", "messages": [{"role": "user", "content": "`+text+`"}]}`)
				if err != nil || got.Status != http.StatusOK || dig(parsed(t, got.Body), "choices", 0, "message", "content") != text {
					t.Errorf("%s: %v %s", way, err, got.Body)
				}
			})
		}
		all.Wait()
	}
}
