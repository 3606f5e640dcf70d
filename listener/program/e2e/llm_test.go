package e2e_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// llmConfig declares a model of each provider.
const llmConfig = `
- llm: {provider: openai, models: [gpt-4o, "*"], answer: {tokens: {min: 20, max: 40}}}
- llm: {provider: openai, path: /fixed, models: [gpt-4o], answer: {text: 'You said "{{llm.prompt}}" as {{llm.system}}, {{llm.turn}}'}, cached: 0.5}
- llm: {provider: openai, path: /echo, answer: {echo: true}, pace: {per-delta: 3}}
- llm: {provider: anthropic, path: /anthropic, models: [claude], auth: required, answer: {tokens: 12}}
- llm: {provider: anthropic, path: /fixed}
`

// modelEvents returns the events of a stream, each with its type and its data as JSON.
func modelEvents(t *testing.T, body string) (types []string, all []map[string]any) {
	t.Helper()
	for _, block := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		name, data := "", ""
		for _, line := range strings.Split(block, "\n") {
			if key, value, _ := strings.Cut(line, ": "); key == "event" {
				name = value
			} else if key == "data" {
				data = value
			} else {
				t.Fatalf("unexpected line %q", line)
			}
		}
		var one map[string]any
		if err := json.Unmarshal([]byte(data), &one); err != nil && data != "[DONE]" {
			t.Fatalf("%q: %v", data, err)
		}
		types, all = append(types, name), append(all, one)
	}
	return types, all
}

// dig returns the value at a path of members and indexes.
func dig(v any, path ...any) any {
	for _, step := range path {
		switch at := step.(type) {
		case string:
			v = v.(map[string]any)[at]
		case int:
			v = v.([]any)[at]
		}
	}
	return v
}

// parsed returns a body as JSON.
func parsed(t *testing.T, body string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return v
}

// A chat completion is streamed in the form of OpenAI: a role, a delta for each token, an end, the usage, [DONE]. The
// chunks differ only in their delta, and the tokens add up.
func TestLLM_ChatStreamed(t *testing.T) {
	t.Parallel()
	for way, proto := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", llmConfig))
		got := p.Do("POST", "/v1/chat/completions", `{"model": "gpt-5", "stream": true, "stream_options": {"include_usage": true}, "messages": [{"role": "user", "content": "Hello you"}]}`)
		if got.Status != 200 || got.Proto != proto || got.Header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(got.Header.Get("X-Request-Id"), "req_") {
			t.Fatalf("%s: %d %s %v", way, got.Status, got.Proto, got.Header)
		}
		types, all := modelEvents(t, got.Body)
		last := len(all) - 1
		if all[last] != nil || !strings.HasSuffix(got.Body, "data: [DONE]\n\n") || strings.Join(types, "") != "" {
			t.Errorf("%s: the events are %q and end with %v", way, types, all[last])
		}
		role, end, usage, deltas := all[0], all[last-2], all[last-1], all[1:last-2]
		for i, chunk := range all[:last] {
			if chunk["id"] != role["id"] || chunk["created"] != role["created"] || chunk["model"] != "gpt-5" || chunk["object"] != "chat.completion.chunk" {
				t.Errorf("%s: chunk %d is %v", way, i, chunk)
			}
			if u, is := chunk["usage"]; !is || (u == nil) != (i < last-1) {
				t.Errorf("%s: the usage of chunk %d is %v", way, i, u)
			}
		}
		if !reflect.DeepEqual(dig(role, "choices", 0, "delta"), map[string]any{"role": "assistant", "content": "", "refusal": nil}) || dig(role, "choices", 0, "finish_reason") != nil {
			t.Errorf("%s: the first chunk is %v", way, role)
		}
		for _, d := range deltas {
			if delta := dig(d, "choices", 0, "delta").(map[string]any); len(delta) != 1 || len(delta["content"].(string)) > 4 || dig(d, "choices", 0, "index") != 0.0 {
				t.Errorf("%s: a delta is %v", way, d)
			}
		}
		if dig(end, "choices", 0, "finish_reason") != "stop" || len(dig(end, "choices", 0, "delta").(map[string]any)) != 0 || len(usage["choices"].([]any)) != 0 {
			t.Errorf("%s: the end is %v, %v", way, end, usage)
		}
		n := float64(len(deltas))
		if n < 20 || n > 40 || dig(usage, "usage", "completion_tokens") != n || dig(usage, "usage", "prompt_tokens") != 3.0 || dig(usage, "usage", "total_tokens") != n+3 {
			t.Errorf("%s: %v deltas, %v", way, n, usage)
		}
	}
}

// Without stream, the answer is one body. Texts, system, turns, the cached part and limits are those of the request.
func TestLLM_Chat(t *testing.T) {
	t.Parallel()
	for way, proto := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", llmConfig))
		messages := `"messages": [{"role": "system", "content": "a judge"}, {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, {"role": "user", "content": [{"type": "text", "text": "th\"ree"}]}]`
		for _, c := range []struct{ more, text, finish string }{
			{"", `You said "th"ree" as a judge, 2`, "stop"},
			{`"max_tokens": 3, `, `You said "th`, "length"},
			{`"max_completion_tokens": 2, "max_tokens": 3, `, `You said`, "length"},
			{`"stop": ["judge", "a"], `, `You s`, "stop"},
			{`"stop": "absent", "max_tokens": 1000, `, `You said "th"ree" as a judge, 2`, "stop"},
		} {
			got := p.Do("POST", "/fixed/v1/chat/completions", `{"model": "gpt-4o", `+c.more+messages+`}`)
			v := parsed(t, got.Body)
			tokens := float64((len(c.text) + 3) / 4)
			if got.Proto != proto || got.Header.Get("Content-Type") != "application/json" || got.Length != int64(len(got.Body)) || v["object"] != "chat.completion" ||
				dig(v, "choices", 0, "message", "content") != c.text || dig(v, "choices", 0, "message", "role") != "assistant" || dig(v, "choices", 0, "finish_reason") != c.finish ||
				dig(v, "usage", "completion_tokens") != tokens || dig(v, "usage", "prompt_tokens") != 6.0 || dig(v, "usage", "prompt_tokens_details", "cached_tokens") != 3.0 {
				t.Errorf("%s %s: %d %v %s", way, c.more, got.Status, got.Header, got.Body)
			}
		}
		got := p.Do("POST", "/echo/v1/chat/completions", `{"model": "m", "stream": true, "messages": [{"role": "user", "content": "1234567890äöü1"}]}`)
		_, all := modelEvents(t, got.Body)
		if dig(all[1], "choices", 0, "delta", "content") != "1234567890ä" || dig(all[2], "choices", 0, "delta", "content") != "öü1" || len(all) != 5 {
			t.Errorf("%s: the deltas are %v", way, all)
		}
	}
}

// Requests that a provider refuses, and paths that it does not have, are answered in its form.
func TestLLM_Refusals(t *testing.T) {
	t.Parallel()
	for way := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", llmConfig), "--max-body", "1MiB")
		for _, c := range []struct {
			method, path, body string
			status             int
			message, typ, code any
		}{
			{"POST", "/v1/chat/completions", `{`, 400, "parse the JSON body", "invalid_request_error", nil},
			{"POST", "/v1/chat/completions", `{"messages": [{}]}`, 400, "model parameter", "invalid_request_error", nil},
			{"POST", "/v1/chat/completions", `{"model": "a"}`, 400, "'messages'", "invalid_request_error", "missing_required_parameter"},
			{"POST", "/fixed/v1/chat/completions", `{"model": "a\"b", "messages": [{}]}`, 404, "The model `a\"b` does not exist", "invalid_request_error", "model_not_found"},
			{"POST", "/v1/responses", `{"model": "a"}`, 400, "'input'", "invalid_request_error", "missing_required_parameter"},
			{"POST", "/v1/completions", `{"model": "a"}`, 400, "'prompt'", "invalid_request_error", "missing_required_parameter"},
			{"POST", "/v1/embeddings", `{"model": "a", "input": []}`, 400, "'input'", "invalid_request_error", "missing_required_parameter"},
			{"POST", "/v1/moderations", `[`, 400, "parse the JSON body", "invalid_request_error", nil},
			{"POST", "/fixed/v1/embeddings", `{"model": "b", "input": "x"}`, 404, "`b`", "invalid_request_error", "model_not_found"},
			{"GET", "/fixed/v1/models/other", "", 404, "`other`", "invalid_request_error", "model_not_found"},
			{"GET", "/v1/other", "", 404, "no endpoint is declared for GET /v1/other", "invalid_request_error", "endpoint_not_found"},
			{"DELETE", "/v1/models", "", 405, "no endpoint is declared for DELETE", "invalid_request_error", "method_not_allowed"},
			{"POST", "/v1/chat/completions", strings.Repeat("x", 2<<20), 413, "larger than 1 MiB", "invalid_request_error", "payload_too_large"},
		} {
			got, err := p.Try(c.method, c.path, c.body)
			if err != nil {
				if c.status != 413 { // the connection may close before the body is sent
					t.Error(err)
				}
				continue
			}
			e, _ := parsed(t, got.Body)["error"].(map[string]any)
			if got.Status != c.status || e["type"] != c.typ || e["code"] != c.code || !strings.Contains(fmt.Sprint(e["message"]), c.message.(string)) || got.Header.Get("X-Request-Id") == "" {
				t.Errorf("%s %s %s %.40s: %d %v %s", way, c.method, c.path, c.body, got.Status, got.Header, got.Body)
			}
		}
	}
}

// Responses are streamed as events that are numbered without a gap, and end with the whole response.
func TestLLM_Responses(t *testing.T) {
	t.Parallel()
	for way := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", llmConfig))
		for _, c := range []struct{ more, status, text string }{{"", "completed", `You said "h"i" as kind, 1`}, {`"max_output_tokens": 3, `, "incomplete", `You said "h"`}} {
			ask := func(more string) string {
				return p.Do("POST", "/fixed/v1/responses", `{"model": "gpt-4o", `+c.more+more+`"instructions": "kind", "input": [{"role": "user", "content": [{"type": "input_text", "text": "h\"i"}]}]}`).Body
			}
			types, all := modelEvents(t, ask(`"stream": true, `))
			want := []string{"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"}
			for range (len(c.text) + 3) / 4 {
				want = append(want, "response.output_text.delta")
			}
			want = append(want, "response.output_text.done", "response.content_part.done", "response.output_item.done", "response."+c.status)
			if !slices.Equal(types, want) {
				t.Fatalf("%s %s: the events are %q", way, c.more, types)
			}
			text, item := "", dig(all[2], "item", "id")
			for i, e := range all {
				if e["type"] != types[i] || e["sequence_number"] != float64(i) || e["item_id"] != nil && e["item_id"] != item {
					t.Errorf("%s: event %d is %v", way, i, e)
				}
				if delta, is := e["delta"].(string); is {
					text += delta
				}
			}
			begun, ended := all[0]["response"].(map[string]any), all[len(all)-1]["response"].(map[string]any)
			if text != c.text || begun["status"] != "in_progress" || len(begun["output"].([]any)) != 0 || begun["usage"] != nil || begun["id"] != ended["id"] || begun["previous_response_id"] != nil {
				t.Errorf("%s: %q, %v", way, text, begun)
			}
			for _, v := range []map[string]any{ended, parsed(t, ask(""))} {
				details, _ := v["incomplete_details"].(map[string]any)
				if v["status"] != c.status || (details["reason"] == "max_output_tokens") != (c.status == "incomplete") || dig(v, "output", 0, "content", 0, "text") != c.text ||
					dig(v, "output", 0, "status") != c.status || dig(v, "usage", "output_tokens") != float64((len(c.text)+3)/4) || dig(v, "usage", "input_tokens") != 2.0 || v["instructions"] != "kind" {
					t.Errorf("%s: %v", way, v)
				}
			}
		}
	}
}

// Embeddings are unit vectors that depend on the text only, as numbers or in base64.
func TestLLM_Embeddings(t *testing.T) {
	t.Parallel()
	for way := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", llmConfig))
		ask := func(more string) map[string]any {
			return parsed(t, p.Do("POST", "/v1/embeddings", `{"model": "e", `+more+`}`).Body)
		}
		v := ask(`"input": ["one", "two", "one"]`)
		data := v["data"].([]any)
		one, two := dig(data, 0, "embedding").([]any), dig(data, 1, "embedding").([]any)
		sum := 0.0
		for _, x := range one {
			sum += x.(float64) * x.(float64)
		}
		if len(data) != 3 || len(one) != 1536 || math.Abs(sum-1) > 1e-5 || reflect.DeepEqual(one, two) || !reflect.DeepEqual(one, dig(data, 2, "embedding")) || dig(data, 1, "index") != 1.0 || dig(v, "usage", "prompt_tokens") != 3.0 {
			t.Errorf("%s: %v", way, v)
		}
		coded, err := base64.StdEncoding.DecodeString(dig(ask(`"input": "one", "encoding_format": "base64"`), "data", 0, "embedding").(string))
		if err != nil || len(coded) != 4*1536 || math.Abs(float64(math.Float32frombits(binary.LittleEndian.Uint32(coded)))-one[0].(float64)) > 1e-7 {
			t.Errorf("%s: %v, %d bytes", way, err, len(coded))
		}
		if few := dig(ask(`"input": "one", "dimensions": 8`), "data", 0, "embedding").([]any); len(few) != 8 {
			t.Errorf("%s: %v", way, few)
		}
	}
}

// Messages are answered in the form of Anthropic, streamed and whole.
func TestLLM_Messages(t *testing.T) {
	t.Parallel()
	for way := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", llmConfig))
		ask := func(body string) Response { return p.Do("POST", "/anthropic/v1/messages", body, "x-api-key: k") }
		const rest = `"model": "claude", "max_tokens": 5, "system": "Be nice.", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]}`
		types, all := modelEvents(t, ask(`{"stream": true, `+rest).Body)
		want := "message_start content_block_start ping" + strings.Repeat(" content_block_delta", 5) + " content_block_stop message_delta message_stop"
		if strings.Join(types, " ") != want {
			t.Errorf("%s: the events are %q", way, types)
		}
		text := ""
		for i, e := range all {
			if e["type"] != types[i] {
				t.Errorf("%s: %v is the event %s", way, e, types[i])
			}
			if types[i] == "content_block_delta" {
				text += dig(e, "delta", "text").(string)
			}
		}
		start, end := all[0], all[len(all)-2]
		if dig(start, "message", "usage", "input_tokens") != 4.0 || dig(start, "message", "stop_reason") != nil || len(dig(start, "message", "content").([]any)) != 0 ||
			dig(end, "delta", "stop_reason") != "max_tokens" || dig(end, "usage", "output_tokens") != 5.0 || len(text) != 20 {
			t.Errorf("%s: %v … %q … %v", way, start, text, end)
		}
		whole := parsed(t, ask(`{`+rest).Body)
		if whole["type"] != "message" || len(dig(whole, "content", 0, "text").(string)) != 20 || whole["stop_reason"] != "max_tokens" || whole["stop_sequence"] != nil || dig(whole, "usage", "output_tokens") != 5.0 {
			t.Errorf("%s: %v", way, whole)
		}
		for body, message := range map[string]string{
			`{`: "not valid JSON", `{"model": "claude"}`: "messages: Field required", `{"model": "claude", "messages": [{}]}`: "max_tokens: Field required",
			`{"model": "x", "messages": [{}], "max_tokens": 1}`: "model: x",
		} {
			got := ask(body)
			v := parsed(t, got.Body)
			if v["type"] != "error" || !strings.Contains(dig(v, "error", "message").(string), message) || v["request_id"] != got.Header.Get("Request-Id") {
				t.Errorf("%s: %s: %d %s", way, body, got.Status, got.Body)
			}
		}
		if got := p.Get("/fixed/v1/messages"); got.Status != 405 || parsed(t, got.Body)["type"] != "error" { // below the path of another provider
			t.Errorf("%s: %d %s", way, got.Status, got.Body)
		}
		if got := p.Get("/anthropic/v1/models"); got.Status != 401 || dig(parsed(t, got.Body), "error", "type") != "authentication_error" {
			t.Errorf("%s: %d %s", way, got.Status, got.Body)
		}
		p.Do("POST", "/anthropic/v1/messages/count_tokens", `{`+rest, "Authorization: Bearer k").Want(t, 200, `{"input_tokens":4}`)
	}
}

// Models are listed and named, ids with a slash encoded or not.
func TestLLM_Models(t *testing.T) {
	t.Parallel()
	p := Serving(t, llmConfig)
	if v := parsed(t, p.Get("/v1/models").Body); v["object"] != "list" || len(v["data"].([]any)) != 1 || dig(v, "data", 0, "id") != "gpt-4o" {
		t.Error(v)
	}
	if v := parsed(t, p.Get("/echo/v1/models").Body); dig(v, "data", 0, "id") != "mock-model" {
		t.Error(v)
	}
	for _, path := range []string{"/v1/models/a/b", "/v1/models/a%2Fb"} {
		if v := parsed(t, p.Get(path).Body); v["id"] != "a/b" || v["object"] != "model" {
			t.Error(v)
		}
	}
	v := parsed(t, p.Get("/anthropic/v1/models", "x-api-key: k").Body)
	if dig(v, "data", 0, "id") != "claude" || v["first_id"] != "claude" || v["has_more"] != false {
		t.Error(v)
	}
}
