// Package model declares language models: the keys of an item llm, and what the API of each provider looks like.
package model

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/files"
	"mockserver/internal/wording"
)

// LLM is a mocked API of a language model, whose paths are endpoints.
type LLM struct {
	Pos      syntax.Pos
	Key      string // "[3].llm"
	Host     string
	Path     string // before the paths of the provider; "" for none
	Provider string // one of Providers
	Models   []string
	Auth     string // AuthRequired, or ""
	Cached   float64
	Answer   *Answer
	Pace     *Pace
	Tools    []Tool
	policy.Group
	Limits   *Limits // nil for none
	Outcomes []Outcome
}

// Tool is a rule for the call of a tool: instead of the answer, unless it has a Text.
type Tool struct {
	If        syntax.Text
	Name      string
	Arguments syntax.Text `key:""` // the JSON text of a map; no text means that they are made by the schema of the tool
	Text      syntax.Text
}

// Answer says what the model answers: one of Text, Lines and Echo, or an invented text of so many Tokens.
type Answer struct {
	Tokens *policy.Latency // whose nanoseconds are tokens; nil for the default
	Text   syntax.Text     `key:"text"`
	Lines  []string        `key:""` // of a file, of which each request gets one
	Pick   string          // PickNext takes the lines in turn; "" means at random
	Echo   bool            // the prompt

	Thinking *Thinking // nil for none
}

// Thinking is what the model thinks before it answers, an invented text of so many Tokens.
type Thinking struct {
	Tokens *policy.Latency // whose nanoseconds are tokens
	Pace   *Pace           // only with a gap; nil means that of the answer
}

// Pace says when the tokens of an answer are sent. A nil Pace sends all at once.
type Pace struct {
	First    *policy.Latency // to the first token, without PerToken; nil for none
	PerToken time.Duration   `key:""` // for each token of the prompt that is not cached
	Gap      *policy.Latency
	Shared   float64         // tokens a second of all answers together; 0 for no limit
	PerDelta *policy.Latency // how many tokens are sent at once, as nanoseconds; nil for 1
	Opening  string          // OpeningAtOnce, or ""
}

// Limits says how much is answered, as the providers limit it. A request takes the tokens of its prompt, and of the
// longest answer that it allows; what the answer does not use is given back.
type Limits struct {
	Key                                         string // LimitsByKey, or "" for all requests together
	Requests, Tokens, InputTokens, OutputTokens policy.Quota
}

// Outcome is one of several outcomes: the answer, or an error of the provider.
type Outcome struct {
	Weight   float64
	Weighted bool // a Weight of 0 applies
	Status   int  // 0 for the answer
}

// The words of models.
const (
	AuthRequired  = "required"
	OpeningAtOnce = "at-once"
	PickNext      = "next"
	LimitsByKey   = "llm.key"
	// AnyModel stands for a model of any name.
	AnyModel = "*"
)

// Fields are the keys of a model, without those of its policies. The slice must not be modified.
var Fields = []table.Field[LLM]{
	table.Of[LLM](table.Row{Key: "provider", Doc: "whose API it is; all is that of each", Required: true, Kinds: table.Texts, Enum: Providers}),
	table.Of[LLM](table.Row{Key: "path", Doc: "the path before that of the provider, such as /openai; none by default", Kinds: table.Texts, Pattern: "^/[^/?#][^?#]*$", Form: "a path such as /openai",
		Is: func(text string) bool {
			return len(text) > 1 && text[0] == '/' && text[1] != '/' && !strings.ContainsAny(text, "?#")
		}}),
	table.With(table.Row{Key: "host", Doc: "the host to answer for; any by default", Kinds: table.Texts, Form: address.NameForm, Pattern: address.NamePattern}, decodeHost),
	table.With(table.Row{Key: "models", Doc: `the names of the models; "*", the default, is any`, Kinds: table.Lists, Item: &table.Row{Kinds: table.Texts, Filled: true}}, setModels),
	table.Of[LLM](table.Row{Key: "auth", Doc: "required refuses requests without a key", Kinds: table.Texts, Enum: []string{AuthRequired}}),
	table.Of[LLM](table.Row{Key: "cached", Doc: "the share of a prompt that counts as cached", Kinds: table.Numbers | table.Texts, Pattern: table.PercentPattern, UpTo: 1}),
	table.Map[LLM](table.Row{Key: "answer", Doc: "what the model answers; an invented text by default", Form: "a map with tokens, text, file or echo"}, answerFields),
	table.Map[LLM](table.Row{Key: "pace", Doc: "when the tokens are sent; all at once by default", Form: "a map with first, gap or shared"}, paceFields),
	table.Map[LLM](table.Row{Key: "limits", Doc: "how much is answered, as the providers limit it", Form: "a map with requests, tokens, input-tokens or output-tokens"}, limitFields),
	table.With(table.Row{Key: "tools", Doc: "the tools that are called if the request offers them: all whose condition holds", Kinds: table.Lists, Item: &table.Row{Kinds: table.Maps, Table: table.Rows(toolFields)}}, setTools),
	table.With(table.Row{Key: "outcomes", Doc: "how requests end: an outcome without a status is the answer", Kinds: table.Lists, Item: &table.Row{Kinds: table.Maps, Table: table.Rows(outcomeFields)}}, setOutcomes),
}

var answerFields = []table.Field[Answer]{
	policy.CountKey[Answer](table.Row{Key: "tokens", Doc: "how many tokens an invented text has; {p50: 180, p99: 900} by default"}),
	table.Of[Answer](table.Row{Key: "text", Doc: "the text, with placeholders", Kinds: table.Scalars}),
	table.With(table.Row{Key: "file", Doc: "a file of texts, one a line", Kinds: table.Texts, Filled: true}, setFile),
	table.Of[Answer](table.Row{Key: "pick", Doc: "which line: random (the default), or next for one after the other", Kinds: table.Texts, Enum: []string{"random", PickNext}}),
	table.Of[Answer](table.Row{Key: "echo", Doc: "true answers with the prompt", Kinds: table.Bools}),
	table.Map[Answer](table.Row{Key: "thinking", Doc: "what the model thinks before it answers; nothing by default", Form: "a map with tokens"}, thinkingFields),
}

var thinkingFields = []table.Field[Thinking]{
	policy.CountKey[Thinking](table.Row{Key: "tokens", Doc: "how many tokens an invented text has", Required: true}),
	table.Map[Thinking](table.Row{Key: "pace", Doc: "when the tokens are sent; as those of the answer by default", Form: "a map with gap"}, paceFields[1:2]),
}

var toolFields = []table.Field[Tool]{
	table.Of[Tool](table.Row{Key: "if", Doc: "the condition under which it is called", Kinds: table.Scalars | table.Nulls}),
	table.Of[Tool](table.Row{Key: "name", Doc: "the name of the tool", Required: true, Kinds: table.Texts, Filled: true}),
	table.With(table.Row{Key: "arguments", Doc: "its arguments, with placeholders; made by its schema by default", Kinds: table.Maps, Value: &table.Row{Kinds: table.Anything}},
		func(d *table.Decoder, v table.Value, t *Tool) {
			t.Arguments = v.Node.JSON(false, func(n *syntax.Node, what string) { d.About(table.Value{Node: n, Key: v.Key}, "%s", what) })
			t.Arguments.Key = v.Key
		}),
	table.Of[Tool](table.Row{Key: "text", Doc: "what the model answers in addition, with placeholders", Kinds: table.Scalars}),
}

var limitFields = []table.Field[Limits]{
	table.Of[Limits](table.Row{Key: "key", Doc: "llm.key has limits for each key of requests; all requests have them together by default", Kinds: table.Texts, Enum: []string{LimitsByKey}}),
	table.With(policy.QuotaRow("requests", "how many requests are answered, such as 500/m"),
		func(d *table.Decoder, v table.Value, l *Limits) { l.Requests = policy.ReadQuota(d, v) }),
	table.With(policy.QuotaRow("tokens", "how many tokens prompts and answers have together, such as 200000/m"),
		func(d *table.Decoder, v table.Value, l *Limits) { l.Tokens = policy.ReadQuota(d, v) }),
	table.With(policy.QuotaRow("input-tokens", "how many tokens prompts have"),
		func(d *table.Decoder, v table.Value, l *Limits) { l.InputTokens = policy.ReadQuota(d, v) }),
	table.With(policy.QuotaRow("output-tokens", "how many tokens answers have"),
		func(d *table.Decoder, v table.Value, l *Limits) { l.OutputTokens = policy.ReadQuota(d, v) }),
}

var paceFields = []table.Field[Pace]{
	table.With(table.Row{Key: "first", Doc: "the time from the request to the first token", Kinds: table.Maps | table.Texts | table.Numbers,
		Form: "a duration such as 2s, or a map with base and per-token", Table: table.Rows(firstFields)}, setFirst),
	policy.LengthKey[Pace](table.Row{Key: "gap", Doc: "the time from one token to the next"}),
	table.With(policy.RateRow("shared", "how many tokens all answers send together, such as 40000/s"),
		func(d *table.Decoder, v table.Value, p *Pace) { p.Shared = policy.Rate(d, v) }),
	policy.CountKey[Pace](table.Row{Key: "per-delta", Doc: "how many tokens are sent at once; 1 by default"}),
	table.Of[Pace](table.Row{Key: "opening", Doc: "at-once sends what comes before the first token with the head", Kinds: table.Texts, Enum: []string{OpeningAtOnce}}),
}

// firstForm is a time to the first token that is being decoded.
type firstForm struct {
	Base     *policy.Latency
	PerToken time.Duration
}

var firstFields = []table.Field[firstForm]{
	policy.LengthKey[firstForm](table.Row{Key: "base", Doc: "the time without that for the prompt"}),
	table.Of[firstForm](table.Row{Key: "per-token", Doc: "the time for each token of the prompt that is not cached", Kinds: table.Texts | table.Numbers, Length: table.UnitFromZero, Most: time.Hour}),
}

// setFirst decodes a duration, or a map with base and per-token.
func setFirst(d *table.Decoder, v table.Value, p *Pace) {
	var f firstForm
	if v.Kind == syntax.MapNode {
		table.Fill(d, v.Node, v.Key, firstFields, &f)
	} else {
		firstFields[0].Set(d, v, &f)
	}
	p.First, p.PerToken = f.Base, f.PerToken
}

var outcomeFields = []table.Field[Outcome]{
	table.Of[Outcome](table.Row{Key: "weight", Given: "weighted", Doc: "its share in the sum of all weights, 1 by default; 0 is never chosen", Kinds: table.Numbers, UpTo: 1_000_000_000}),
	table.Of[Outcome](table.Row{Key: "status", Doc: "the status of an error of the provider; the answer by default", Kinds: table.Numbers, Min: 400, Max: 599}),
}

// decodeHost returns a host in lower case, and reports an invalid one.
func decodeHost(d *table.Decoder, v table.Value, m *LLM) {
	m.Host = table.ChangeCase(v.Text.Value, 'A', 'Z')
	if what := address.NameFault(m.Host); what != "" {
		d.About(v, "%s", what)
	}
}

func setFile(d *table.Decoder, v table.Value, a *Answer) {
	content, err := files.Read(policy.Resolve(d, v.Text.Value))
	a.Lines = strings.FieldsFunc(string(content), func(c rune) bool { return c == '\n' || c == '\r' })
	if err != nil {
		d.About(v, "%s: %v", wording.Clip(v.Text.Value), files.Bare(err))
	} else if len(a.Lines) == 0 {
		d.About(v, "%s is empty; expected a text a line", wording.Clip(v.Text.Value))
	}
}

func setModels(d *table.Decoder, v table.Value, m *LLM) {
	if m.Models = d.Strings(v); len(v.Items) == 0 {
		d.About(v, `is an empty list; expected names of models, or "*" for any`)
	}
}

func setTools(d *table.Decoder, v table.Value, m *LLM) {
	for one := range d.Items(v) {
		var t Tool
		table.Fill(d, one.Node, one.Key, toolFields, &t)
		m.Tools = append(m.Tools, t)
	}
}

func setOutcomes(d *table.Decoder, v table.Value, m *LLM) {
	for one := range d.Items(v) {
		var o Outcome
		table.Fill(d, one.Node, one.Key, outcomeFields, &o)
		m.Outcomes = append(m.Outcomes, o)
	}
}

// Decode decodes an item llm with the given keys.
func Decode(d *table.Decoder, v table.Value, fields []table.Field[LLM]) *LLM {
	m := &LLM{Pos: v.Pos(), Key: v.Key, Answer: &Answer{}, Pace: &Pace{}, Models: []string{AnyModel}}
	table.Fill(d, v.Node, v.Key, fields, m)
	m.Path = strings.TrimSuffix(m.Path, "/")
	return m
}

// Check checks what involves more than one key.
func (m *LLM) Check(c *table.Checker) {
	policy.CheckCount(c, m.Answer.Tokens, "answer", "tokens")
	policy.CheckCount(c, m.Pace.PerDelta, "pace", "per-delta")
	policy.CheckLength(c, m.Pace.Gap, "pace", "gap")
	if t := m.Answer.Thinking; t != nil {
		t.Pace = cmp.Or(t.Pace, &Pace{Gap: m.Pace.Gap})
		policy.CheckCount(c, t.Tokens, "answer", "thinking", "tokens")
		policy.CheckLength(c, t.Pace.Gap, "answer", "thinking", "pace", "gap")
	}
	policy.CheckLength(c, m.Pace.First, "pace", "first", "base")
	if m.Pace.First != nil && m.Latency.Lengths() != nil && m.Pace.Opening == "" {
		c.Wrong("first and the latency both say when the answer begins; expected one of them, or opening: at-once", "pace", "first")
	}
	given := ""
	for _, key := range []string{"tokens", "text", "file", "echo"} {
		if c.Node("answer", key) == nil {
			continue
		} else if given != "" {
			c.Wrong(table.BothGiven(given, key), "answer", key)
		}
		given = cmp.Or(given, key)
	}
	if m.Answer.Pick != "" && given != "file" {
		c.Wrong("is for the lines of a file; file is missing", "answer", "pick")
	}
	m.Group.Check(c, m.Path, nil)
	if len(m.Outcomes) > 0 && !slices.ContainsFunc(m.Outcomes, func(o Outcome) bool { return table.OrOne(o.Weight, o.Weighted) > 0 }) {
		c.Wrong("all weights are 0; at least one must be above 0", "outcomes")
	}
}
