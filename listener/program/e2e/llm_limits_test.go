package e2e_test

import (
	"regexp"
	"testing"
	"time"

	"mockserver/internal/harness"
)

const limitsConfig = `
- llm: {provider: openai, answer: {tokens: 10}, limits: {key: llm.key, requests: 3/h, tokens: 40/h}}
- llm: {provider: anthropic, path: /claude, answer: {tokens: 10}, limits: {requests: 50/h, input-tokens: 60/h, output-tokens: 30/h}}
- llm: {provider: gemini, path: /gemini, answer: {tokens: 10}, limits: {tokens: 12/h}}
- llm: {provider: openai, path: /none, answer: {tokens: 10}}
`

// Answers of OpenAI say what is left of the limits of their key: what the prompt and the longest answer take is taken at
// the start, and what the answer does not use is given back at its end.
func TestLLM_LimitsOfOpenAI(t *testing.T) {
	t.Parallel()
	for way := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", limitsConfig))
		duration := regexp.MustCompile(`^([0-9]+h)?([0-9]+m)?[0-9.]+m?s$`)
		ask := func(key, body string, status int, requests, tokens string) {
			t.Helper()
			got := p.Do("POST", "/v1/chat/completions", body, "Authorization: Bearer "+key)
			h := got.Header
			if got.Status != status || h.Get("x-ratelimit-limit-requests") != "3" || h.Get("x-ratelimit-limit-tokens") != "40" ||
				h.Get("x-ratelimit-remaining-requests") != requests || h.Get("x-ratelimit-remaining-tokens") != tokens ||
				!duration.MatchString(h.Get("x-ratelimit-reset-requests")) || !duration.MatchString(h.Get("x-ratelimit-reset-tokens")) {
				t.Errorf("%s %s: %d %v", way, key, got.Status, h)
			}
			if status == 429 {
				if e := parsed(t, got.Body)["error"]; h.Get("Retry-After") == "" || dig(e, "code") != "rate_limit_exceeded" {
					t.Errorf("%s: %v %s", way, h, got.Body)
				}
			}
		}
		hello := `"model": "m", "messages": [{"role": "user", "content": "Hello you"}]}` // 3 tokens
		ask("a", `{"max_tokens": 20, `+hello, 200, "2", "17")
		ask("a", `{`+hello, 200, "1", "14") // 13 were used before
		ask("a", `{"max_tokens": 50, `+hello, 429, "1", "14")
		ask("a", `{"stream": true, "max_tokens": 5, `+hello, 200, "0", "6")
		ask("a", `{`+hello, 429, "0", "6")
		ask("b", `{`+hello, 200, "2", "27")
	}
}

// Anthropic has limits of its own for the tokens of prompts and answers, and says when they are reset.
func TestLLM_LimitsOfAnthropic(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", limitsConfig))
	body := `{"model": "m", "max_tokens": 20, "messages": [{"role": "user", "content": "Hello you"}]}`
	for i, want := range []struct {
		status                  int
		requests, input, output string
	}{{200, "49", "57", "10"}, {200, "48", "54", "0"}, {429, "48", "54", "10"}} {
		got := p.Do("POST", "/claude/v1/messages", body)
		h := got.Header
		if got.Status != want.status || h.Get("anthropic-ratelimit-requests-remaining") != want.requests ||
			h.Get("anthropic-ratelimit-input-tokens-remaining") != want.input || h.Get("anthropic-ratelimit-output-tokens-remaining") != want.output ||
			h.Get("anthropic-ratelimit-output-tokens-limit") != "30" {
			t.Errorf("%d: %d %v", i, got.Status, h)
		}
		if reset, err := time.Parse(time.RFC3339, h.Get("anthropic-ratelimit-output-tokens-reset")); err != nil || reset.Before(time.Now()) {
			t.Errorf("%d: %v %v", i, reset, err)
		}
		if want.status == 429 && (dig(parsed(t, got.Body), "error", "type") != "rate_limit_error" || h.Get("Retry-After") == "") {
			t.Errorf("%v %s", h, got.Body)
		}
	}
}

// Gemini has no headers for limits, and says in the details when to try again; without limits there are no headers.
func TestLLM_LimitsWithoutHeaders(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", limitsConfig))
	got := p.Do("POST", "/gemini/v1beta/models/m:generateContent", `{"contents": [{"parts": [{"text": "Hello you"}]}]}`)
	delay, _ := dig(parsed(t, got.Body), "error", "details", 0, "retryDelay").(string)
	if got.Status != 429 || !regexp.MustCompile(`^[1-9][0-9]*s$`).MatchString(delay) || got.Header.Get("Retry-After") != "" {
		t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
	}
	got = p.Do("POST", "/none/v1/chat/completions", `{"model": "m", "messages": [{"role": "user", "content": "Hello you"}]}`)
	for name := range got.Header {
		if regexp.MustCompile(`(?i)ratelimit`).MatchString(name) {
			t.Errorf("%s: %v", name, got.Header[name])
		}
	}
}
