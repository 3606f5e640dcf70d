package e2e_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

const geminiConfig = `
- llm: {provider: gemini, models: [gemini-flash, org/large], answer: {text: "The answer is 42, said the mock server."}}
- llm: {provider: gemini, path: /paced, answer: {echo: true}, pace: {per-delta: 3}, auth: required}
- llm: {provider: gemini, path: /busy, outcomes: [{status: 429}]}
- llm: {provider: all, path: /every, models: [one], answer: {tokens: 5}, capacity: {concurrent: 1}}
`

const geminiHello = `{"systemInstruction": {"parts": [{"text": "Be kind."}]}, "contents": [{"parts": [{"text": "Hello you"}]}]`

// A generated content, at once, as events and as a JSON array, has the same text and counts its tokens; only the last
// piece says why it ended.
func TestLLM_GeminiGenerates(t *testing.T) {
	t.Parallel()
	for way := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", geminiConfig))
		for _, base := range []string{"/v1beta", "/v1"} {
			got := p.Do("POST", base+"/models/gemini-flash:generateContent", geminiHello+"}")
			whole := parsed(t, got.Body)
			delete(whole, "responseId")
			want := parsed(t, `{"candidates": [{"content": {"role": "model", "parts": [{"text": "The answer is 42, said the mock server."}]}, "finishReason": "STOP", "index": 0}],
				"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 10, "totalTokenCount": 15, "cachedContentTokenCount": 0}, "modelVersion": "gemini-flash"}`)
			if got.Status != 200 || got.Header.Get("Content-Type") != "application/json" || !reflect.DeepEqual(whole, want) {
				t.Errorf("%s %s: %d %v, want %v", way, base, got.Status, whole, want)
			}
		}
		got := p.Do("POST", "/v1beta/models/gemini-flash:streamGenerateContent?alt=sse", geminiHello+"}")
		_, events := modelEvents(t, got.Body)
		if got.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %v", way, got.Header)
		}
		listed := p.Do("POST", "/v1beta/models/gemini-flash:streamGenerateContent", geminiHello+"}")
		var elements []map[string]any
		if err := json.Unmarshal([]byte(listed.Body), &elements); err != nil || listed.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v: %v", way, listed.Header, err)
		}
		for _, all := range [][]map[string]any{events, elements} {
			text, id := "", all[0]["responseId"]
			for i, one := range all {
				text += dig(one, "candidates", 0, "content", "parts", 0, "text").(string)
				reason, ended := dig(one, "candidates", 0).(map[string]any)["finishReason"]
				if ended != (i == len(all)-1) || ended && reason != "STOP" || one["responseId"] != id ||
					dig(one, "usageMetadata", "candidatesTokenCount") != float64(i+1) || dig(one, "usageMetadata", "totalTokenCount") != float64(i+6) {
					t.Errorf("%s: piece %d is %v", way, i, one)
				}
			}
			if len(all) != 10 || text != "The answer is 42, said the mock server." {
				t.Errorf("%s: %d pieces make %q", way, len(all), text)
			}
		}
	}
}

// What a request of Gemini configures is obeyed: the longest answer, texts that end it, the key, several tokens a piece.
func TestLLM_GeminiConfigured(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", geminiConfig))
	call := "/v1beta/models/gemini-flash:generateContent"
	for config, want := range map[string][2]string{
		`{"maxOutputTokens": 3}`:                          {"The answer i", "MAX_TOKENS"},
		`{"maxOutputTokens": 0}`:                          {"", "MAX_TOKENS"},
		`{"stopSequences": ["42"], "maxOutputTokens": 9}`: {"The answer is ", "STOP"},
	} {
		for _, path := range []string{call, strings.Replace(call, ":g", ":streamG", 1)} {
			got := p.Do("POST", path, geminiHello+`, "generationConfig": `+config+"}")
			var all []any
			if json.Unmarshal([]byte(got.Body), &all) != nil {
				all = []any{parsed(t, got.Body)}
			}
			text, last := "", all[len(all)-1]
			for _, one := range all {
				text += dig(one, "candidates", 0, "content", "parts", 0, "text").(string)
			}
			if reason := dig(last, "candidates", 0, "finishReason"); text != want[0] || reason != want[1] {
				t.Errorf("%s %s: %q, %v, want %q", path, config, text, reason, want)
			}
		}
	}
	got := p.Do("POST", "/paced/v1beta/models/any:streamGenerateContent?alt=sse&key=k", geminiHello+"}")
	_, all := modelEvents(t, got.Body)
	if len(all) != 1 || dig(all[0], "usageMetadata", "candidatesTokenCount") != 3.0 || all[0]["modelVersion"] != "any" {
		t.Errorf("%d: %s", got.Status, got.Body)
	}
}

// The other calls of Gemini: models, counts and vectors.
func TestLLM_GeminiCalls(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", geminiConfig))
	list := parsed(t, p.Do("GET", "/v1beta/models?pageSize=5", "").Body)
	if len(list["models"].([]any)) != 2 || dig(list, "models", 1, "name") != "models/org/large" {
		t.Error(list)
	}
	if one := parsed(t, p.Do("GET", "/v1beta/models/org/large", "").Body); !reflect.DeepEqual(one, dig(list, "models", 1)) {
		t.Errorf("%v differs from %v", one, dig(list, "models", 1))
	}
	if got := p.Do("POST", "/v1beta/models/gemini-flash:countTokens", geminiHello+"}"); got.Body != `{"totalTokens":5}` {
		t.Error(got.Body)
	}
	single := parsed(t, p.Do("POST", "/v1beta/models/gemini-flash:embedContent", `{"content": {"parts": [{"text": "one"}]}, "outputDimensionality": 8}`).Body)
	batch := parsed(t, p.Do("POST", "/v1beta/models/gemini-flash:batchEmbedContents", `{"requests": [{"content": {"parts": [{"text": "one"}]}, "outputDimensionality": 8}, {"content": {"parts": [{"text": "two"}]}}]}`).Body)
	values := dig(single, "embedding", "values").([]any)
	sum := 0.0
	for _, v := range values {
		sum += v.(float64) * v.(float64)
	}
	if len(values) != 8 || math.Abs(sum-1) > 1e-5 || !reflect.DeepEqual(dig(batch, "embeddings", 0, "values"), dig(single, "embedding", "values")) ||
		reflect.DeepEqual(dig(batch, "embeddings", 0), dig(batch, "embeddings", 1)) {
		t.Errorf("%v, %v", single, batch)
	}
	whole := parsed(t, p.Do("POST", "/v1beta/models/gemini-flash:embedContent", `{"content": {"parts": [{"text": "one"}]}}`).Body)
	if n := len(dig(whole, "embedding", "values").([]any)); n != 3072 {
		t.Errorf("%d dimensions", n)
	}
}

// Errors of Gemini have the form of google.rpc; one that is to be tried again says so in its details, without a header.
func TestLLM_GeminiErrors(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", geminiConfig))
	for _, c := range []struct {
		method, path, body string
		status             int
		name               string
	}{
		{"POST", "/v1beta/models/gemini-flash:generateContent", `{"contents": []}`, 400, "INVALID_ARGUMENT"},
		{"POST", "/v1beta/models/gemini-flash:streamGenerateContent", `[`, 400, "INVALID_ARGUMENT"},
		{"POST", "/v1beta/models/gemini-flash:embedContent", `{}`, 400, "INVALID_ARGUMENT"},
		{"POST", "/paced/v1beta/models/gemini-flash:generateContent", geminiHello + "}", 401, "UNAUTHENTICATED"},
		{"POST", "/v1beta/models/none:generateContent", geminiHello + "}", 404, "NOT_FOUND"},
		{"POST", "/v1beta/models/gemini-flash:predict", `{}`, 404, "NOT_FOUND"},
		{"GET", "/v1beta/files", ``, 404, "NOT_FOUND"},
		{"DELETE", "/v1/models/gemini-flash", ``, 405, "UNIMPLEMENTED"},
		{"POST", "/busy/v1beta/models/gemini-flash:generateContent", geminiHello + "}", 429, "RESOURCE_EXHAUSTED"},
	} {
		got := p.Do(c.method, c.path, c.body)
		e := parsed(t, got.Body)["error"]
		details := dig(e, "details").([]any)
		if got.Status != c.status || dig(e, "code") != float64(c.status) || dig(e, "status") != c.name || dig(e, "message") == "" || len(details) > 0 != (c.status == 429) {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.Status, got.Body)
		}
		if len(details) > 0 && (dig(details, 0, "retryDelay") != "1s" || got.Header.Get("Retry-After") != "") {
			t.Errorf("%s: %v %s", c.path, got.Header, got.Body)
		}
	}
}

// The provider all has the paths of all of them; models are those of Anthropic for its clients.
func TestLLM_AllProviders(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", geminiConfig))
	messages := `{"model": "one", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}`
	for path, member := range map[string]string{
		"/every/v1/chat/completions":               "choices",
		"/every/v1/messages":                       "stop_reason",
		"/every/v1beta/models/one:generateContent": "candidates",
		"/every/v1/models/one:generateContent":     "candidates",
	} {
		body := messages
		if strings.Contains(path, ":") {
			body = geminiHello + "}"
		}
		if got := p.Do("POST", path, body); got.Status != 200 || parsed(t, got.Body)[member] == nil {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	for _, c := range []struct{ path, header, member string }{
		{"/every/v1/models", "", "object"}, {"/every/v1/models/one", "", "owned_by"}, {"/every/v1/nothing", "", "error.param"},
		{"/every/v1/models", "2023-06-01", "has_more"}, {"/every/v1/models/one", "2023-06-01", "display_name"}, {"/every/v1/nothing", "2023-06-01", "request_id"},
		{"/every/v1beta/models", "2023-06-01", "models"}, {"/every/v1beta/models/one", "", "supportedGenerationMethods"}, {"/every/v1beta/nothing", "", "error.details"},
	} {
		var headers []string
		if c.header != "" {
			headers = []string{"anthropic-version: " + c.header}
		}
		got := p.Do("GET", c.path, "", headers...)
		var v any = parsed(t, got.Body)
		for _, name := range strings.Split(c.member, ".") {
			within, _ := v.(map[string]any)
			if _, has := within[name]; !has {
				t.Errorf("%s %q: no %s in %s", c.path, c.header, c.member, got.Body)
			}
			v = within[name]
		}
	}
}
