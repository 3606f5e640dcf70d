// Package llm reads what requests ask of a language model, and makes the answers. Both are one JSON value, the variable
// llm of the texts of a model's endpoints.
package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mockserver/config/model"
	"mockserver/config/policy"
	"mockserver/config/syntax"
	view "mockserver/internal/json"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Model is what the endpoints of a language model with one form have in common. It is safe for concurrent use.
type Model struct {
	*model.Form
	declared         *model.LLM
	models           string             // their names, as a JSON list
	text             *renderer.Template // nil if no text is declared
	rules            []rule             // for the calls of tools
	tokens, perDelta func(part float64) time.Duration
	thinking         func(part float64) time.Duration // nil for none
	line             atomic.Uint64                    // the number of lines taken in turn
	inventors        inventors
}

// defaultTokens is how many tokens an invented text has by default. namedModel is listed if no model has a name.
var defaultTokens = policy.Latency{Curve: []policy.Percentile{{Rank: 50, Length: 180}, {Rank: 99, Length: 900}}}

const namedModel = "mock-model"

// New compiles a model for requests of a form.
func New(declared *model.LLM, form *model.Form, scope *renderer.Scope) (m *Model, problems syntax.Problems) {
	m = &Model{Form: cmp.Or(form, &model.Form{}), declared: declared, perDelta: declared.Pace.PerDelta.Lengths()}
	m.tokens = cmp.Or(declared.Answer.Tokens, &defaultTokens).Lengths()
	named := slices.DeleteFunc(slices.Clone(declared.Models), func(name string) bool { return name == model.AnyModel })
	if len(named) == 0 {
		named = []string{namedModel}
	}
	names, _ := json.Marshal(named) // texts
	m.models = string(names)
	if t := declared.Answer.Thinking; t != nil {
		m.thinking = t.Tokens.Lengths()
	}
	within := *scope
	within.Model = m.Request
	compile := func(text syntax.Text, form renderer.Form) (made *renderer.Template) {
		if text.Key != "" {
			var wrong syntax.Problems
			made, wrong = renderer.Compile(text, form, &within)
			problems = append(problems, wrong...)
		}
		return made
	}
	m.text = compile(declared.Answer.Text, renderer.Plain)
	for _, t := range declared.Tools {
		holds, wrong := renderer.CompileCondition(t.If, &within)
		problems = append(problems, wrong...)
		m.rules = append(m.rules, rule{holds, t.Name, compile(t.Arguments, renderer.JSON), compile(t.Text, renderer.Plain)})
	}
	return m, problems
}

// Request returns what a request asks for, which is read once.
func (m *Model) Request(r *matcher.Request) view.Value {
	if r.Model.By != m {
		mark := len(r.Arena)
		m.set(r, m.read(append(r.Model.Value.Raw[:0], '{'), r))
		r.Arena = r.Arena[:mark]
	}
	return r.Model.Value
}

// set makes b, the members of an object with a comma after each, what the request asks for.
func (m *Model) set(r *matcher.Request, b []byte) {
	b[len(b)-1] = '}'
	r.Model = matcher.Model{By: m, Value: view.Value{Kind: view.Object, Raw: b}}
}

func appendRaw[T string | []byte](b []byte, name string, value T) []byte {
	return append(append(append(append(append(b, '"'), name...), `":`...), value...), ',')
}

func appendText(b []byte, name string, value []byte) []byte {
	b = append(append(append(b, '"'), name...), `":`...)
	return append(view.AppendString(b, value), ',')
}

func appendNumber(b []byte, name string, n int) []byte {
	var digits [20]byte
	return appendRaw(b, name, strconv.AppendInt(digits[:0], int64(n), 10))
}

// read appends what the request asks for. It uses the arena.
func (m *Model) read(b []byte, r *matcher.Request) []byte {
	name := r.Extend(field(r, "model").AppendText(r.Arena))
	if m.InPath {
		name = r.Param(len(r.Params()) - 1)
		if end := bytes.LastIndexByte(name, ':'); end >= 0 && (m.Messages != "" || m.Inputs != "") {
			name = name[:end]
		}
	}
	known := m.AnyModel || m.Messages == "" && m.Inputs == "" && !m.InPath || slices.ContainsFunc(m.declared.Models, func(known string) bool {
		return known == model.AnyModel || known == string(name)
	})
	key := keyOf(r)
	b = appendRaw(b, "json", strconv.FormatBool(r.JSON().Kind == view.Object))
	b = appendText(b, "model", name)
	b = appendRaw(b, "known", strconv.FormatBool(known))
	b = appendRaw(b, "models", m.models)
	b = appendText(b, "key", key)
	b = appendRaw(b, "authorized", strconv.FormatBool(m.declared.Auth == "" || len(key) > 0))
	b = appendRaw(b, "stream", strconv.FormatBool(m.Streams || string(field(r, "stream").Raw) == "true"))
	switch c := (conversation{Request: r}); {
	case m.Inputs != "":
		return m.tokensOf(m.inputs(b, &c), &c)
	case m.Messages == "":
		return b
	}
	for _, path := range m.MaxTokens {
		if most := field(r, path); most.Kind == view.Number {
			b = appendRaw(b, "max-tokens", most.Raw)
			break
		}
	}
	tools := field(r, m.Tools)
	c := conversation{Request: r, tokens: Tokens(tools.Raw)}
	c.read(field(r, m.Messages), m.SystemRoles)
	c.add(field(r, m.System), &c.system)
	b = appendNumber(b, "messages", c.messages)
	b = appendNumber(b, "turn", c.turn)
	b = m.tokensOf(b, &c) // before the texts, which a search for it would pass
	b = appendText(b, "prompt", c.prompt)
	b = appendText(b, "system", c.system)
	b = append(b, `"tools":[`...)
	if tools.Kind != view.Missing {
		b = m.appendOffered(b, r)
	}
	return append(bytes.TrimSuffix(b, []byte(",")), "],"...)
}

// tokensOf appends how many tokens a prompt has.
func (m *Model) tokensOf(b []byte, c *conversation) []byte {
	cached := int(float64(c.tokens) * m.declared.Cached)
	b = appendNumber(b, "prompt-tokens", c.tokens)
	b = appendNumber(b, "cached-tokens", cached)
	return appendNumber(b, "uncached-tokens", c.tokens-cached)
}

// inputs appends the texts that are answered one by one.
func (m *Model) inputs(b []byte, c *conversation) []byte {
	b = append(b, `"inputs":[`...)
	for one := range elements(field(c.Request, m.Inputs)) {
		var text []byte
		if content := one.Member("content"); content.Kind != view.Missing {
			one = content
		}
		c.add(one, &text)
		b = append(view.AppendString(b, text), ',')
	}
	return append(bytes.TrimSuffix(b, []byte(",")), "],"...)
}

// conversation is what the messages of a request say. The texts are in the arena.
type conversation struct {
	*matcher.Request
	messages, turn, tokens int
	prompt, system         []byte
	depth                  int // of the content being read
}

// deepest is how deep the contents that are read may be nested. Those of the providers have a depth of 4: a list with
// results of tools, which are lists with texts.
const deepest = 8

// read reads messages: a list of them, or the text of a single one.
func (c *conversation) read(messages view.Value, systemRoles []string) {
	for one := range elements(messages) {
		if messages.Kind == view.Object {
			return
		}
		c.messages++
		var text []byte
		if one.Kind == view.String {
			c.turn = 1
			c.add(one, &c.prompt)
			continue
		}
		c.add(one.Member("content"), &text)
		c.add(one.Member("parts"), &text)
		switch role := one.Member("role"); {
		case role.Kind == view.String && slices.ContainsFunc(systemRoles, role.Equals):
			c.system = text
		case len(text) > 0 && (role.Kind == view.Missing || role.Kind == view.String && role.Equals("user")): // not a result of a tool
			c.prompt = text
			c.turn++
		}
	}
}

// add adds the texts of a content to text, and counts their tokens: a text, an object with a text, or a list of them.
func (c *conversation) add(content view.Value, text *[]byte) {
	if c.depth == deepest {
		return
	}
	c.depth++
	defer func() { c.depth-- }()
	switch content.Kind {
	case view.String:
		begin := len(c.Arena) - len(*text)
		if len(*text) > 0 && (begin < 0 || &c.Arena[begin] != &(*text)[0]) { // otherwise it is at the end of the arena
			begin = len(c.Arena)
			c.Arena = append(c.Arena, *text...)
		}
		added := len(c.Arena)
		c.Arena = content.AppendText(c.Arena)
		c.tokens += Tokens(c.Arena[added:])
		*text = c.Arena[begin:]
	case view.Object:
		c.add(content.Member("text"), text)
		c.add(content.Member("parts"), text)
		mark := len(c.Arena)
		c.add(content.Member("content"), new([]byte)) // the result of a tool is counted, but is no part of the text
		c.Arena = c.Arena[:mark]
	case view.Array:
		for one := range elements(content) {
			c.add(one, text)
		}
	}
}

// elements returns the elements of a list; a value itself if it is no list.
func elements(list view.Value) func(yield func(view.Value) bool) {
	return func(yield func(view.Value) bool) {
		if list.Kind != view.Array {
			_ = list.Kind == view.Missing || list.Kind == view.Null || yield(list)
			return
		}
		for each := list.Elements(); ; {
			if one, ok := each.Next(); !ok || !yield(one) {
				return
			}
		}
	}
}

// field returns the member of the body at a path.
func field(r *matcher.Request, path string) view.Value {
	name, rest, deeper := strings.Cut(path, ".")
	v := r.Field(name)
	if deeper {
		v = at(v, rest)
	}
	return v
}

func at(v view.Value, path string) view.Value {
	for deeper := true; deeper; {
		var name string
		name, path, deeper = strings.Cut(path, ".")
		v = v.Member(name)
	}
	return v
}

// keyOf returns the key of a request; empty for none.
func keyOf(r *matcher.Request) []byte {
	for _, name := range [...]string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
		if key, ok := r.Header(name); ok {
			return bytes.TrimPrefix(key, []byte("Bearer "))
		}
	}
	key, _ := r.Query("key")
	return key
}

// Uncached returns how many tokens of the prompt are not cached.
func Uncached(r *matcher.Request) int { return number(r, "uncached-tokens") }

// number returns a number that the request asks for; 0 for none.
func number(r *matcher.Request, name string) int {
	n, _ := strconv.ParseFloat(string(r.Model.Value.Member(name).Raw), 64)
	return int(max(min(n, math.MaxInt32), 0))
}
