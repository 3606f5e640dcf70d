// Package clients has the tests of the clients in Go that OpenAI and Anthropic make. The tests of the
// program build them with go test -c and run them against servers that are configured as in
// listener/program/e2e/testdata/clients/llm.yml.
package clients

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

const (
	answer = "The answer is 42, said the mock server."
	tokens = 10 // of four bytes each but the last
	prompt = "What is the answer to everything?"
	asked  = 9
)

var schema = map[string]any{
	"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}, "additionalProperties": false,
}

func toOpenAI() openai.Client {
	return openai.NewClient(option.WithBaseURL(os.Getenv("OPENAI_URL")+"/v1"), option.WithAPIKey("key"), option.WithMaxRetries(0))
}

func toAnthropic() anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithBaseURL(os.Getenv("ANTHROPIC_URL")), anthropicoption.WithAPIKey("key"), anthropicoption.WithMaxRetries(0))
}

func chat(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "gpt-4o-mini", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

func TestOpenAI_Chat(t *testing.T) {
	client := toOpenAI()
	got, err := client.Chat.Completions.New(t.Context(), chat(prompt))
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Choices[0]; c.Message.Content != answer || c.FinishReason != "stop" || got.Usage.PromptTokens != asked || got.Usage.CompletionTokens != tokens {
		t.Errorf("got %s", got.RawJSON())
	}
	params := chat(prompt)
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	var all openai.ChatCompletionAccumulator
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	deltas := 0
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Errorf("a chunk does not fit those before: %s", stream.Current().RawJSON())
		}
		if c := stream.Current().Choices; len(c) > 0 && c[0].Delta.Content != "" {
			deltas++
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if c := all.Choices[0]; c.Message.Content != answer || c.FinishReason != "stop" || all.Usage.CompletionTokens != tokens || deltas != tokens {
		t.Errorf("got %d deltas, %q, %q, %d tokens", deltas, c.Message.Content, c.FinishReason, all.Usage.CompletionTokens)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream = client.Chat.Completions.NewStreaming(ctx, chat(prompt))
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	cancel()
	for stream.Next() {
	}
	if err := stream.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled stream: got %v", err)
	}
}

func TestOpenAI_Models(t *testing.T) {
	client := toOpenAI()
	list, err := client.Models.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Data) != 2 || list.Data[0].ID != "gpt-4o-mini" {
		t.Errorf("got %s", list.RawJSON())
	}
	params := chat(prompt)
	params.Model = "none"
	_, err = client.Chat.Completions.New(t.Context(), params)
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.StatusCode != 404 || refused.Code != "model_not_found" {
		t.Errorf("an unknown model: got %v", err)
	}
}

func TestOpenAI_Tools(t *testing.T) {
	client := toOpenAI()
	params := chat("What is the weather?")
	params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather", Parameters: schema})}
	got, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Choices[0]; c.FinishReason != "tool_calls" || len(c.Message.ToolCalls) != 1 || city(t, c.Message.ToolCalls[0].Function.Arguments) != "Bern" {
		t.Fatalf("got %s", got.RawJSON())
	}
	var all openai.ChatCompletionAccumulator
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if c := all.Choices[0].Message.ToolCalls; len(c) != 1 || c[0].Function.Name != "get_weather" || city(t, c[0].Function.Arguments) != "Bern" {
		t.Errorf("streamed: got %+v", all.Choices)
	}
	params.Messages = append(params.Messages, got.Choices[0].Message.ToParam(), openai.ToolMessage("sun", got.Choices[0].Message.ToolCalls[0].ID))
	if got, err = client.Chat.Completions.New(t.Context(), params); err != nil || got.Choices[0].Message.Content != answer {
		t.Errorf("after the result: got %v, %v", got, err)
	}
}

func city(t *testing.T, arguments string) string {
	t.Helper()
	var got struct{ City string }
	if err := json.Unmarshal([]byte(arguments), &got); err != nil {
		t.Error(err)
	}
	return got.City
}

func TestOpenAI_Responses(t *testing.T) {
	client := toOpenAI()
	params := responses.ResponseNewParams{Model: "gpt-4o-mini", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(prompt)}}
	got, err := client.Responses.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if got.OutputText() != answer || got.Usage.InputTokens != asked || got.Usage.OutputTokens != tokens {
		t.Errorf("got %s", got.RawJSON())
	}
	stream := client.Responses.NewStreaming(t.Context(), params)
	text, last := "", responses.ResponseStreamEventUnion{}
	for n := int64(0); stream.Next(); n++ {
		last = stream.Current()
		if last.SequenceNumber != n {
			t.Errorf("event %d has number %d", n, last.SequenceNumber)
		}
		if last.Type == "response.output_text.delta" {
			text += last.Delta
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if text != answer || last.Type != "response.completed" || last.Response.OutputText() != answer {
		t.Errorf("got %q, and at the end %s", text, last.RawJSON())
	}
}

func TestOpenAI_Embeddings(t *testing.T) {
	client := toOpenAI()
	got, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: "text-embedding-3-small", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"one", "two"}}, Dimensions: openai.Int(8),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Data) != 2 || len(got.Data[0].Embedding) != 8 || len(got.Data[1].Embedding) != 8 {
		t.Errorf("got %s", got.RawJSON())
	}
}

func message(text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "claude-haiku", MaxTokens: 1000, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
	}
}

// accumulate returns the message of a stream.
func accumulate(t *testing.T, client anthropic.Client, params anthropic.MessageNewParams) anthropic.Message {
	t.Helper()
	stream := client.Messages.NewStreaming(t.Context(), params)
	var all anthropic.Message
	for stream.Next() {
		if err := all.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAnthropic_Messages(t *testing.T) {
	client := toAnthropic()
	got, err := client.Messages.New(t.Context(), message(prompt))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []anthropic.Message{*got, accumulate(t, client, message(prompt))} {
		if len(m.Content) != 1 || m.Content[0].Text != answer || m.StopReason != "end_turn" || m.Usage.InputTokens != asked || m.Usage.OutputTokens != tokens {
			t.Errorf("got %+v", m)
		}
	}
	params := message(prompt)
	params.Model = "none"
	_, err = client.Messages.New(t.Context(), params)
	var refused *anthropic.Error
	if !errors.As(err, &refused) || refused.StatusCode != 404 || refused.Type() != "not_found_error" || refused.RequestID == "" {
		t.Errorf("an unknown model: got %v", err)
	}
}

func TestAnthropic_Count(t *testing.T) {
	client := toAnthropic()
	params := message(prompt)
	got, err := client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: params.Model, Messages: params.Messages})
	if err != nil || got.InputTokens != asked {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAnthropic_Tools(t *testing.T) {
	client := toAnthropic()
	params := message("What is the weather?")
	params.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
		Name: "get_weather", InputSchema: anthropic.ToolInputSchemaParam{Properties: schema["properties"], Required: []string{"city"}},
	}}}
	m := accumulate(t, client, params)
	if call := m.Content[len(m.Content)-1]; m.StopReason != "tool_use" || call.Name != "get_weather" || city(t, string(call.Input)) != "Bern" {
		t.Fatalf("got %+v", m)
	}
	params.Messages = append(params.Messages, m.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(m.Content[len(m.Content)-1].ID, "sun", false)))
	if m = accumulate(t, client, params); m.Content[0].Text != answer {
		t.Errorf("after the result: got %+v", m)
	}
}
