package renderer_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mockserver/config/model"
	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
	"mockserver/renderer/llm"
)

// chat is a form of requests.
var chat = &model.Form{Messages: "messages", SystemRoles: []string{"system"}, MaxTokens: []string{"deep.most", "max_tokens"}, Stop: "stop", Tools: "tools", ToolName: "function.name", ToolSchema: []string{"function.none", "function.parameters"},
	ToolChoice: "choice", ToolChosen: "name", OneTool: []string{"parallel", "false"}, Schema: []string{"schema"}, JSON: []string{"form", "json"}}

// modelOf returns a model with an answer.
func modelOf(t testing.TB, answer model.Answer) *llm.Model {
	t.Helper()
	m, problems := llm.New(&model.LLM{Models: []string{"*"}, Answer: &answer, Pace: &model.Pace{}}, chat, &renderer.Scope{})
	if problems.Err() != nil {
		t.Fatal(problems)
	}
	return m
}

// asked is the value llm.
type asked struct {
	JSON, Known, Stream        bool
	Model, Prompt, System, Key string
	Messages, Turn             int
	Prompt_                    int `json:"prompt-tokens"`
	Tools, Answer              []string
	Tokens                     int `json:"answer-tokens"`
	Total                      int `json:"total-tokens"`
	Finish                     string
	Stop                       *string `json:"stop-sequence"`
	Thinking                   []string
	Reasoning                  int `json:"reasoning-tokens"`
	Content                    bool
	Block                      int `json:"text-block"`
	Calls                      []struct {
		Index, Block int
		ID, Name     string
		Pieces       []string
		Input        json.RawMessage
	}
}

// answered returns the value for a request with a body.
func answered(t testing.TB, m *llm.Model, body string) (got asked) {
	t.Helper()
	r := matcher.Acquire(matcher.Input{Method: []byte("POST"), Target: []byte("/"), Body: []byte(body)})
	defer matcher.Release(r)
	mark := len(r.Arena)
	m.Answer(r)
	if len(r.Arena) != mark {
		t.Errorf("%d bytes of the arena are left", len(r.Arena)-mark)
	}
	if err := json.Unmarshal(r.Model.Value.Raw, &got); err != nil {
		t.Fatalf("%s: %v", r.Model.Value.Raw, err)
	}
	return got
}

func TestModel_ReadsRequests(t *testing.T) {
	m := modelOf(t, model.Answer{Echo: true})
	for body, want := range map[string]asked{
		`{"model":"a","stream":true,"messages":[{"role":"user","content":"123456789"}]}`:                                         {JSON: true, Known: true, Stream: true, Model: "a", Prompt: "123456789", Messages: 1, Turn: 1, Prompt_: 3, Tokens: 3, Finish: "stop"},
		`{"messages":"hi","tools":[{"function":{"name":"f"}},{}]}`:                                                               {JSON: true, Known: true, Prompt: "hi", Messages: 1, Turn: 1, Prompt_: 9, Tokens: 1, Finish: "stop"},
		`{"messages":[{"role":"system","content":[{"text":"a"},{"text":"b"}]}]}`:                                                 {JSON: true, Known: true, System: "ab", Messages: 1, Prompt_: 2, Finish: "stop"},
		`{"messages":[{"role":"user","parts":[{"text":"p"}]},{"role":"user","content":[{"type":"tool_result","content":"r"}]}]}`: {JSON: true, Known: true, Prompt: "p", Messages: 2, Turn: 1, Prompt_: 2, Tokens: 1, Finish: "stop"},
		`{"deep":{"most":2},"max_tokens":1,"messages":"123456789"}`:                                                              {JSON: true, Known: true, Prompt: "123456789", Messages: 1, Turn: 1, Prompt_: 3, Tokens: 2, Finish: "length"},
		`{"stop":["8","56"],"messages":"123456789"}`:                                                                             {JSON: true, Known: true, Prompt: "123456789", Messages: 1, Turn: 1, Prompt_: 3, Tokens: 1, Finish: "stop-sequence"},
		`{`:  {Known: true, Finish: "stop"},
		`[]`: {Known: true, Finish: "stop"},
		``:   {Known: true, Finish: "stop"},
	} {
		got := answered(t, m, body)
		if want.Total = want.Prompt_ + want.Tokens; want.Total != got.Total || len(got.Tools) > 1 || (got.Finish == "stop-sequence") != (got.Stop != nil) {
			t.Errorf("%s: got %+v", body, got)
		}
		text := strings.Join(got.Answer, "")
		if !strings.HasPrefix(want.Prompt, text) || (got.Finish == "stop") != (text == want.Prompt) {
			t.Errorf("%s: the answer is %q", body, got.Answer)
		}
		got.Answer, got.Tools, got.Total, got.Stop, want.Total = nil, nil, 0, nil, 0
		got.Thinking, got.Calls, want.Content = nil, nil, true
		if gotText, wantText := shown(got), shown(want); gotText != wantText {
			t.Errorf("%s:\ngot  %s\nwant %s", body, gotText, wantText)
		}
	}
}

// A request costs no more memory and time than its size: contents are read to a depth, texts are not copied for each part,
// and of the stop sequences only the first are looked for.
func TestModel_BoundsHostileRequests(t *testing.T) {
	m := modelOf(t, model.Answer{Echo: true})
	body := `{"messages":[{"role":"user","content":[` + strings.Repeat(`{"text":"1234","content":"1"},`, 1000) + `1]}]}`
	r := matcher.Acquire(matcher.Input{Method: []byte("POST"), Target: []byte("/"), Body: []byte(body)})
	defer matcher.Release(r)
	if m.Answer(r); cap(r.Arena) > 4*len(body) {
		t.Errorf("%d bytes of memory for a body of %d", cap(r.Arena), len(body))
	}
	if got := answered(t, m, body); got.Prompt_ != 2000 || got.Tokens != 1000 {
		t.Errorf("%d tokens, answered with %d", got.Prompt_, got.Tokens)
	}
	nested := `"content":` + strings.Repeat(`[`, 9) + `"deep"` + strings.Repeat(`]`, 9)
	if got := answered(t, m, `{"messages":[{"role":"user",`+nested+`},{"role":"user","content":[[["flat"]]]}]}`); got.Prompt_ != 1 || got.Prompt != "flat" {
		t.Errorf("got %+v", got)
	}
	if got := answered(t, m, `{"stop":[`+strings.Repeat(`"z",`, 200)+`"a"],"messages":"bab"}`); got.Finish != "stop" {
		t.Errorf("got %+v", got)
	}
}

func shown(a asked) string {
	text, _ := json.Marshal(a)
	return string(text)
}

func TestModel_AnswersOfAFile(t *testing.T) {
	m := modelOf(t, model.Answer{Lines: []string{"one", "two"}, Pick: model.PickNext})
	for _, want := range []string{"one", "two", "one"} {
		if got := strings.Join(answered(t, m, "{}").Answer, ""); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestModel_Text(t *testing.T) {
	m := modelOf(t, model.Answer{Text: syntax.Text{Value: "{{llm.prompt|upper}} {{llm.prompt-tokens}}", Key: "text"}})
	if got := strings.Join(answered(t, m, `{"messages":"hi"}`).Answer, ""); got != "HI 1" {
		t.Errorf("got %q", got)
	}
}

// An invented text has exactly the declared number of tokens.
func TestModel_InventsTokens(t *testing.T) {
	for n := range 300 {
		m := modelOf(t, model.Answer{Tokens: fixedCount(n)})
		got := answered(t, m, "{}")
		if text := strings.Join(got.Answer, ""); got.Tokens != n || len(got.Answer) != n || n > 0 && text[len(text)-1] != '.' {
			t.Errorf("%d tokens: got %d, %q", n, got.Tokens, text)
		}
	}
}

// Tokens are runs of whole characters of four bytes or more, and make up the text.
func FuzzTokens(f *testing.F) {
	for _, seed := range []string{"", "a", "abcd", "abcde", "äöü€", "😀a", "\x00\u2028\"\\\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		body, err := json.Marshal(map[string]any{"messages": text})
		if err != nil {
			t.Fatal(err)
		}
		got := answered(t, modelOf(t, model.Answer{Echo: true}), string(body))
		if strings.Join(got.Answer, "") != text || got.Tokens != llm.Tokens([]byte(text)) || got.Prompt_ != got.Tokens || got.Prompt != text {
			t.Errorf("%q: %+v", text, got)
		}
		for i, token := range got.Answer {
			_, last := utf8.DecodeLastRuneInString(token)
			if len(token)-last >= 4 || len(token) < 4 && i < len(got.Answer)-1 {
				t.Errorf("%q is not a token", token)
			}
		}
	})
}

// Whatever a request is, its value is JSON, and its answer is within the limits of the request.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{`{`, `{"messages":[{"role":"user","content":[{"text":"a"},{"content":[{"text":{}}]},1,null]}]}`, `{"max_tokens":-1,"stop":["",1,"a"]}`,
		`{"messages":{"a":1},"tools":{"function":1},"deep":[1],"model":{"a":[]}}`, `{"tools":[{"function":{"name":"\ud800"}}],"max_tokens":1e999}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if got := answered(t, modelOf(t, model.Answer{Tokens: fixedCount(3)}), body); got.Tokens != len(got.Answer) || got.Tokens > 3 || got.Total != got.Prompt_+got.Tokens {
			t.Errorf("%s: %+v", body, got)
		}
	})
}

func fixedCount(n int) *policy.Latency {
	return &policy.Latency{Min: time.Duration(n), Max: time.Duration(n)}
}
