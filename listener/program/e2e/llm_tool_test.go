package e2e_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// callerConfig declares models that call a tool, and that think.
const callerConfig = `
- llm: {provider: openai, answer: {text: "12345", thinking: {tokens: 3, pace: {gap: 1ms}}}, tools: [{if: 'llm.prompt = call', name: f, arguments: {n: "{{llm.turn}}"}}]}
- llm: {provider: anthropic, path: /a, answer: {text: "12345", thinking: {tokens: 3}}, tools: [{if: 'llm.prompt = call', name: f, arguments: {n: "{{llm.turn}}"}, text: look}]}
`

// forms returns the events, each as its type and what differs between them. Repeated ones are left out.
func forms(types []string, all []map[string]any, of func(map[string]any) any) (got []string) {
	for i, one := range all {
		text, _ := json.Marshal(of(one)) // it was JSON
		if form := strings.TrimSpace(types[i] + " " + string(text)); len(got) == 0 || got[len(got)-1] != form {
			got = append(got, form)
		}
	}
	return got
}

// Thinking and the calls of tools are streamed in the forms of the providers.
func TestLLM_ToolsAndThinking(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", harness.WriteFile(t, t.TempDir(), "llm.yml", callerConfig))
	got := p.Do("POST", "/v1/chat/completions", `{"model": "m", "stream": true, "messages": [{"role": "user", "content": "call"}], "tools": [{"type": "function", "function": {"name": "f"}}]}`)
	types, all := modelEvents(t, got.Body)
	id := dig(all[4], "choices", 0, "delta", "tool_calls", 0, "id").(string)
	want := []string{
		`{"content":null,"refusal":null,"role":"assistant"}`, `"thinks"`,
		`{"tool_calls":[{"function":{"arguments":"","name":"f"},"id":"` + id + `","index":0,"type":"function"}]}`,
		`{"tool_calls":[{"function":{"arguments":"{\"n\""},"index":0}]}`, `{"tool_calls":[{"function":{"arguments":":1}"},"index":0}]}`, `"tool_calls"`, `null`,
	}
	if forms := forms(types, all, func(one map[string]any) any {
		if one == nil {
			return nil
		} else if reason := dig(one, "choices", 0, "finish_reason"); reason != nil {
			return reason
		}
		delta := dig(one, "choices", 0, "delta").(map[string]any)
		if delta["reasoning_content"] != nil {
			return "thinks"
		}
		return delta
	}); !reflect.DeepEqual(forms, want) || !strings.HasPrefix(id, "call_") {
		t.Errorf("got %q", forms)
	}

	got = p.Do("POST", "/a/v1/messages", `{"model": "m", "stream": true, "max_tokens": 99, "messages": [{"role": "user", "content": "call"}], "tools": [{"name": "f"}]}`)
	types, all = modelEvents(t, got.Body)
	forms := forms(types, all, func(one map[string]any) any {
		delta, _ := one["delta"].(map[string]any)
		kind, _ := delta["type"].(string)
		if block, is := one["content_block"].(map[string]any); is {
			kind = block["type"].(string)
		}
		if index, is := one["index"]; is {
			return []any{index, kind}
		}
		return nil
	})
	want = []string{
		"message_start null", `content_block_start [0,"thinking"]`, "ping null", `content_block_delta [0,"thinking_delta"]`, `content_block_delta [0,"signature_delta"]`, `content_block_stop [0,""]`,
		`content_block_start [1,"text"]`, `content_block_delta [1,"text_delta"]`, `content_block_stop [1,""]`,
		`content_block_start [2,"tool_use"]`, `content_block_delta [2,"input_json_delta"]`, `content_block_stop [2,""]`, "message_delta null", "message_stop null",
	}
	last := all[len(all)-2]
	if !reflect.DeepEqual(forms, want) || dig(last, "delta", "stop_reason") != "tool_use" || dig(last, "usage", "output_tokens") != 6.0 {
		t.Errorf("got %q, %v", forms, last)
	}
}
