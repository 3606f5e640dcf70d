package renderer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mockserver/config/model"
	"mockserver/config/syntax"
	"mockserver/renderer"
	"mockserver/renderer/llm"
)

// caller returns a model that answers "1234567", and calls the tools a and b.
func caller(t testing.TB) *llm.Model {
	t.Helper()
	text := func(key, value string) syntax.Text { return syntax.Text{Value: value, Key: key} }
	declared := &model.LLM{Models: []string{"*"}, Pace: &model.Pace{}, Answer: &model.Answer{Text: text("text", "1234567")}, Tools: []model.Tool{
		{If: text("if", `llm.prompt contains "a"`), Name: "a", Arguments: text("arguments", `{"p":"{{llm.prompt}}","n":{{llm.turn}}}`)},
		{If: text("if", `llm.prompt contains "b"`), Name: "b", Text: text("text", "calling")},
	}}
	m, problems := llm.New(declared, chat, &renderer.Scope{})
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	return m
}

const offeredTools = `"tools":[{"function":{"name":"c","parameters":{"type":"OBJECT","properties":{"x":{"type":"STRING","enum":["y"]}},"required":["x"]}}},` +
	`{"function":{"name":"a"}},{"function":{"name":"b","parameters":{"type":"object","properties":{"k":{"const":1}},"required":["k"]}}}],`

// A tool is called if its rule holds, the request offers it and allows it, and its last message is no result of one.
func TestModel_CallsTools(t *testing.T) {
	m := caller(t)
	for _, c := range []struct{ body, calls, text, finish string }{
		{offeredTools + `"messages":"a\""`, `[0 0 a {"p":"a\"","n":1}]`, "", "tool-calls"},
		{offeredTools + `"messages":"b"`, `[0 1 b {"k":1}]`, "calling", "tool-calls"},
		{offeredTools + `"messages":"ab"`, `[0 1 a {"p":"ab","n":1}] [1 2 b {"k":1}]`, "calling", "tool-calls"},
		{offeredTools + `"messages":"ab","parallel":false`, `[0 0 a {"p":"ab","n":1}]`, "", "tool-calls"},
		{offeredTools + `"messages":"ab","max_tokens":3`, `[0 1 a {"p"]`, "calling", "length"},
		{offeredTools + `"messages":"ab","max_tokens":2`, ``, "calling", "length"},
		{offeredTools + `"messages":"ab","choice":"none"`, ``, "1234567", "stop"},
		{offeredTools + `"messages":"x"`, ``, "1234567", "stop"},
		{offeredTools + `"messages":"x","choice":"auto"`, ``, "1234567", "stop"},
		{offeredTools + `"messages":"x","choice":"required"`, `[0 0 c {"x":"y"}]`, "", "tool-calls"},
		{offeredTools + `"messages":"ab","choice":{"mode":"ANY","name":["b"]}`, `[0 1 b {"k":1}]`, "calling", "tool-calls"},
		{offeredTools + `"messages":"x","choice":{"type":"function","name":"b"}`, `[0 0 b {"k":1}]`, "", "tool-calls"},
		{offeredTools + `"messages":"x","choice":{"type":"function","name":"none"}`, ``, "1234567", "stop"},
		{`"messages":"ab","choice":"required"`, ``, "1234567", "stop"},
		{`"messages":"ab","tools":[{"function":{"name":"b"}}]`, `[0 1 b {}]`, "calling", "tool-calls"},
		{offeredTools + `"messages":[{"role":"user","content":"ab"},{"role":"tool","content":"sun"}]`, ``, "1234567", "stop"},
		{offeredTools + `"messages":[{"role":"user","content":"ab"},{"type":"function_call_output","output":"sun"}]`, ``, "1234567", "stop"},
		{offeredTools + `"messages":[{"role":"user","content":"ab"},{"role":"user","content":[{"type":"tool_result","content":"sun"}]}]`, ``, "1234567", "stop"},
		{offeredTools + `"messages":[{"role":"user","parts":[{"text":"ab"}]},{"role":"user","parts":[{"functionResponse":{}}]}]`, ``, "1234567", "stop"},
	} {
		got := answered(t, m, "{"+c.body+"}")
		calls, ids, tokens := []string{}, map[string]bool{}, len(got.Answer)
		for _, call := range got.Calls {
			calls, ids[call.ID] = append(calls, fmt.Sprintf("[%d %d %s %s]", call.Index, call.Block, call.Name, strings.Join(call.Pieces, ""))), true
			if tokens += len(call.Pieces); got.Finish != "length" && string(call.Input) != strings.Join(call.Pieces, "") {
				t.Errorf("%s: the input is %s", c.body, call.Input)
			}
		}
		if strings.Join(calls, " ") != c.calls || strings.Join(got.Answer, "") != c.text || got.Finish != c.finish || got.Content != (c.text != "") ||
			got.Tokens != tokens || got.Total != got.Prompt_+tokens || len(ids) != len(calls) {
			t.Errorf("%s: got %q, %+v", c.body, calls, got)
		}
	}
}

// Thinking is text before the answer, and counts in its tokens.
func TestModel_Thinks(t *testing.T) {
	m := modelOf(t, model.Answer{Thinking: &model.Thinking{Tokens: fixedCount(5)}, Echo: true})
	for most, want := range map[int][2]int{9: {5, 2}, 6: {5, 1}, 3: {3, 0}, 0: {0, 0}} {
		got := answered(t, m, fmt.Sprintf(`{"messages":"1234567","max_tokens":%d}`, most))
		if len(got.Thinking) != want[0] || len(got.Answer) != want[1] || got.Reasoning != want[0] || got.Tokens != want[0]+want[1] ||
			(got.Finish == "stop") != (most == 9) || got.Block != min(want[0], 1) || !got.Content {
			t.Errorf("%d: got %+v", most, got)
		}
	}
}

// An answer that is to be JSON fits its schema, unless a declared one is JSON.
func TestModel_AnswersAsJSON(t *testing.T) {
	schema := `{"$defs":{"S":{"enum":["v"]}},"type":"object","properties":{"b":{"$ref":"#/$defs/S"},"a":{"const":[1]}},"required":["b","a"],"additionalProperties":false}`
	m := modelOf(t, model.Answer{Echo: true})
	for range 2 { // the schema is read once
		if got := strings.Join(answered(t, m, `{"messages":"hi","schema":`+schema+`}`).Answer, ""); got != `{"b":"v","a":[1]}` {
			t.Errorf("got %s", got)
		}
	}
	if got := strings.Join(answered(t, m, `{"messages":"{\"k\":1}","schema":`+schema+`}`).Answer, ""); got != `{"k":1}` {
		t.Errorf("got %s", got)
	}
	for _, more := range []string{`"form":"json"`, `"schema":{"type":1}`, `"schema":7`, `"schema":{"$ref":"file:///etc/passwd"}`, `"schema":{"$ref":"#"}`} {
		if got := strings.Join(answered(t, m, `{"messages":"hi",`+more+`}`).Answer, ""); !json.Valid([]byte(got)) {
			t.Errorf("%s: got %s", more, got)
		}
	}
	if got := strings.Join(answered(t, m, `{"messages":"hi","form":"text"}`).Answer, ""); got != "hi" {
		t.Errorf("got %s", got)
	}
}

// Whatever a request asks of tools, its value is JSON.
func FuzzTools(f *testing.F) {
	for _, seed := range []string{`"choice":"required","messages":"x"`, `"choice":{"type":{},"name":[1]},"messages":[[]]`, `"messages":[{"content":[[{"type":"tool_result"}]]}]`,
		`"tools":[{"function":{"name":"a","parameters":{"$ref":"#/x","type":[1]}}}],"choice":"any"`, `"schema":{"allOf":[{"$ref":"#"}],"minLength":1e999}`, `"tools":{"function":{"name":"b"}},"messages":"b"`} {
		f.Add(seed)
	}
	m := caller(f)
	f.Fuzz(func(t *testing.T, body string) {
		if got := answered(t, m, "{"+offeredTools+body+"}"); got.Total != got.Prompt_+got.Tokens {
			t.Errorf("%s: %+v", body, got)
		}
	})
}
