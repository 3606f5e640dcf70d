package e2e_test

import (
	"strings"
	"testing"
)

func TestExamples_LLM(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", File("examples", "llm.yml"), "--no-latency", "--seed", "1")
	got := p.Do("POST", "/v1/chat/completions", `{"model": "gpt-4o-mini", "stream": true, "messages": [{"role": "user", "content": "Hi"}]}`)
	if _, all := modelEvents(t, got.Body); got.Status != 200 || len(all) < 10 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	got = p.Do("POST", "/anthropic/v1/messages", `{"model": "claude", "stream": true, "max_tokens": 9, "messages": [{"role": "user", "content": "Say hello"}]}`, "x-api-key: any")
	if !strings.Contains(got.Body, `"text":"Say "`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	got = p.Do("POST", "/gemini/v1beta/models/gemini-flash:streamGenerateContent?alt=sse", `{"contents": [{"parts": [{"text": "Say hello"}]}]}`)
	if _, all := modelEvents(t, got.Body); got.Status != 200 || len(all) < 2 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
