package config_test

import (
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/model"
)

func TestLLM_IsExpanded(t *testing.T) {
	for _, provider := range model.Providers {
		spec := config.Parse("f.yml", []byte("- llm: {provider: "+provider+", path: /x, host: a.example, capacity: {concurrent: 2}}\n- endpoint: {path: /x/v1/models, response: {}}\n"))
		if len(spec.Problems) > 0 {
			t.Fatalf("%s: %v", provider, spec.Problems)
		}
		if first := spec.Endpoints[0]; first.LLM != nil || first.Path.Value != "/x/v1/models" {
			t.Errorf("%s: the first endpoint is %s, want the declared one", provider, first.Path.Value)
		}
		generating := 0
		for _, e := range spec.Endpoints[1:] {
			if e.LLM == nil || e.LLM.Form == nil || e.Host != "a.example" || !strings.HasPrefix(e.Path.Value, "/x/v1") || e.Pos.Line != 1 {
				t.Errorf("%s: %s %s at %v", provider, e.Host, e.Path.Value, e.Pos)
			}
			if e.Response.HasStream() {
				generating++
			}
			if (e.Capacity != nil) != e.Response.HasStream() {
				t.Errorf("%s: %s %s has the capacity %v", provider, e.Method, e.Path.Value, e.Capacity)
			}
		}
		if generating < 2 {
			t.Errorf("%s: %d endpoints answer", provider, generating)
		}
	}
}

func TestLLM_Problems(t *testing.T) {
	for keys, want := range map[string]string{
		"provider: grok": "llm.provider: ", "": "provider is missing", "provider: openai, x: 1": "llm.x: unknown key",
		"provider: openai, models: []": "llm.models: is an empty list", "provider: openai, path: /a/": "", "provider: openai, path: a": "llm.path: ", "provider: openai, path: '/a?b'": "llm.path: ", "provider: openai, host: 'a b'": "llm.host: ",
		"provider: openai, answer: {tokens: -1}": "llm.answer.tokens: ", "provider: openai, answer: {tokens: {p50: 3, p99: 2}}": "llm.answer.tokens.p99: ",
		"provider: openai, answer: {tokens: 1, echo: true}": "llm.answer.echo: ", "provider: openai, answer: {pick: next}": "llm.answer.pick: ",
		"provider: openai, answer: {file: nowhere.txt}": "nowhere.txt: there is no such file", "provider: openai, answer: {text: '{{llm.prompt}}'}": "",
		"provider: openai, outcomes: [{weight: 0}]": "llm.outcomes: all weights are 0", "provider: openai, outcomes: [{status: 418}]": "llm.outcomes[0].status: openai does not answer with this status",
		"provider: openai, pace: {first: 1s}, latency: {min: 1s}": "llm.pace.first: ", "provider: openai, pace: {gap: 5}": "llm.pace.gap: ",
		"provider: openai, fault: {type: error}": "", "provider: openai, auth: maybe": "llm.auth: ", "provider: openai, cached: 2": "llm.cached: ",
		"provider: openai, capacity: {concurrent: 0}": "llm.capacity.concurrent: ", "provider: openai, pace: {first: {per-token: 1}}": "llm.pace.first.per-token: ",
	} {
		spec := config.Parse("f.yml", []byte("- llm: {"+keys+"}\n"))
		if got := spec.Problems; want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].String(), want) || !strings.HasPrefix(got[0].String(), "f.yml:1:")) {
			t.Errorf("%s: got %v, want %s", keys, got, want)
		}
	}
}
