package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"mockserver/internal/harness"
)

// modelClients contains, for each script of testdata/clients, what it talks to, and the cases that it
// runs at the same time as the other scripts.
var modelClients = []struct {
	name, script string
	config       string // a file of testdata/clients, or its content
	flags, cases []string
}{
	{name: "openai", script: "openai.mjs", config: "openai.yml", cases: []string{"models", "chat", "stream", "cancel", "tools", "json", "responses", "responsesTools", "responsesJson", "completions", "moderations", "errors"}},
	{name: "openai, any model", script: "openai.mjs", config: withModel("openai", "cached: 0"), cases: []string{"embeddings"}},
	{name: "anthropic", script: "anthropic.mjs", config: "anthropic.yml", cases: []string{"models", "messages", "stream", "cancel", "tools", "json", "count", "errors"}},
	{name: "gemini", script: "gemini.mjs", config: "gemini.yml", cases: []string{"models", "generate", "stream", "cancel", "tools", "json", "count", "embed", "errors"}},
	{name: "gemini again", script: "gemini.mjs", flags: []string{"--seed", "3"}, cases: []string{"retries=429,503"},
		config: withModel("gemini", "outcomes: [{weight: 2}, {weight: 1, status: 429}, {weight: 1, status: 503}]")},
	{name: "ai", script: "ai.mjs", config: "openai.yml", cases: []string{"chatGenerate", "chatStream"}},
	{name: "openai thinking", script: "openai.mjs", config: thinking("openai"), cases: []string{"thinking", "responsesThinking"}},
	{name: "gemini thinking", script: "gemini.mjs", config: thinking("gemini"), cases: []string{"thinking"}},
	{name: "anthropic thinking", script: "anthropic.mjs", config: thinking("anthropic"), cases: []string{"thinking"}},
	{name: "openai with a key", script: "openai.mjs", config: withModel("openai", "auth: required"), cases: []string{"auth"}},
	{name: "anthropic with a key", script: "anthropic.mjs", config: withModel("anthropic", "auth: required"), cases: []string{"auth"}},
	{name: "openai again", script: "openai.mjs", flags: []string{"--seed", "3"}, cases: []string{"retries=429,503"},
		config: withModel("openai", "outcomes: [{weight: 2}, {weight: 1, status: 429}, {weight: 1, status: 503}]")},
	{name: "anthropic again", script: "anthropic.mjs", flags: []string{"--seed", "5"}, cases: []string{"retries=429,529"},
		config: withModel("anthropic", "outcomes: [{weight: 2}, {weight: 1, status: 429}, {weight: 1, status: 529}]")},
	{name: "openai with a rate limit", script: "openai.mjs", config: withModel("openai", "rate-limit: {max-requests: 2, window: 1s}"), cases: []string{"refused=429"}},
	{name: "openai when full", script: "openai.mjs", cases: []string{"refused=503"},
		config: withModel("openai", "capacity: {concurrent: 1, queue: 0}\n    pace: {gap: 20ms}")},
	{name: "openai with broken streams", script: "openai.mjs", config: withModel("openai", "fault: {type: error, after: 3 items}"), cases: []string{"broken"}},
	{name: "anthropic with broken streams", script: "anthropic.mjs", config: withModel("anthropic", "fault: {type: error, after: 3 items}"), cases: []string{"broken"}},
	{name: "aimock and openai", script: "aimock.mjs", config: "openai.yml", cases: []string{"chat", "chatStream"}},
	{name: "aimock and anthropic", script: "aimock.mjs", config: "anthropic.yml", cases: []string{"messages", "messagesStream"}},
}

// withModel returns a configuration with more keys, which answers all models with the text that the scripts expect.
func withModel(provider, key string) string {
	return "- llm:\n    provider: " + provider + "\n    answer: {text: \"The answer is 42, said the mock server.\"}\n    " + key + "\n"
}

// thinking returns a configuration of a model that thinks before it answers with that text.
func thinking(provider string) string {
	return "- llm:\n    provider: " + provider + "\n    answer: {thinking: {tokens: 12, pace: {gap: 1ms}}, text: \"The answer is 42, said the mock server.\"}\n"
}

// startModel starts the program with a configuration of modelClients.
func startModel(t *testing.T, config string, flags ...string) *Process {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", "clients", config))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		file = harness.WriteFile(t, t.TempDir(), "mocks.yml", config)
	}
	return Start(t, append(flags, "-c", file)...)
}

func TestClients_LLM(t *testing.T) {
	t.Parallel()
	for _, c := range modelClients {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			runClient(t, c.script, append([]string{startModel(t, c.config, c.flags...).URL}, c.cases...)...)
		})
	}
}
