package websocket

import (
	"regexp"
	"strings"
	"testing"

	"mockserver/config/syntax"
)

func TestPattern_Matches(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"ping", []string{"ping"}, []string{"", "Ping", "ping ", "pinging", "a ping", "ping\n"}},
		{"a.c", []string{"abc", "a.c", "a\nc", "aéc"}, []string{"ac", "abcd", "xabc"}},
		{`a\.c`, []string{"a.c", `a\.c`}, []string{"abc"}},
		{`\Q(what?)\E`, []string{"(what?)"}, []string{"what?"}},
		{"a|bc", []string{"a", "bc"}, []string{"ac", "abc", "b"}},
		{"^a$", []string{"a"}, []string{"a\n", "b\na"}},
		{"(?i)hello", []string{"HELLO", "hello"}, []string{"hello!"}},
		{".*", []string{"", "a", "a\nb", "\xff"}, nil},
		{".", []string{"a", "\n", "é", "\xff"}, []string{"", "ab"}},
		{"5", []string{"5"}, []string{"5.0"}},
		{`{"a": 1}`, []string{`{"a":1}`, `{"a": 1.0, "b": 2}`, "\t{ \"b\": {}, \"a\": 1e0 }", `{"a":2,"a":1}`, `{"\u0061":1}`},
			[]string{`{"a":"1"}`, `{"a":2}`, `{"b":1}`, `[{"a":1}]`, `{"a":1`, "", `{"a":1} {"a":1}`, `{"a":10}`, `{"a":-1}`}},
		{`{"a": "{{json-params.a}}"}`, []string{`{"a":1}`, `{"a":null}`, `{"a":[{}]}`, `{"a":""}`}, []string{`{}`, `{"b":1}`, `"a"`}},
		{`{"a": {{json-params.a}}, "b": "{{x|default:"y"}}"}`, []string{`{"a":1,"b":2}`}, []string{`{"a":1}`, `{"b":2}`}},
		{`{"a": "u-{{id}}!"}`, []string{`{"a":"u-7!"}`, `{"a":"u-!"}`, `{"a":"u-\n!"}`, `{"a":"u-\u0037!"}`}, []string{`{"a":"u-7"}`, `{"a":"xu-7!"}`, `{"a":7}`}},
		{`{"a": {"b": {"c": true}}}`, []string{`{"a":{"b":{"c":true,"d":1},"e":2}}`}, []string{`{"a":{"b":true}}`, `{"a":{"b":{"c":false}}}`, `{"a":{"b":{"c":"true"}}}`}},
		{`{"a": [1, {"b": "{{x}}"}, null]}`, []string{`{"a":[1,{"b":2,"c":3},null]}`}, []string{`{"a":[1,{"b":2}]}`, `{"a":[1,{},null]}`, `{"a":[1,{"b":2},null,4]}`, `{"a":[]}`, `{"a":{}}`}},
		{`{"a": "x\ny"}`, []string{`{"a":"x\ny"}`, `{"a":"x\u000Ay"}`}, []string{`{"a":"x\\ny"}`, `{"a":"xy"}`}},
		{`{"a": 12345678901234567890}`, []string{`{"a":12345678901234567890}`}, []string{`{"a":12345678901234567891}`}},
		{`{}`, []string{`{}`, `{"a":1}`}, []string{`[]`, "", "null"}},
		{`{"a": 1,}`, []string{`{"a": 1,}`}, []string{`{"a": 1}`}},
	} {
		p, problems := compilePattern(syntax.Text{Value: c.pattern})
		if err := problems.Err(); err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for want, messages := range map[bool][]string{true: c.yes, false: c.no} {
			for _, message := range messages {
				if got := p.matches(&heard{text: []byte(message)}); got != want {
					t.Errorf("%s and %q: got %v, want %v", c.pattern, message, got, want)
				}
			}
		}
	}
}

// Matching allocates nothing, except to copy a string with escapes.
func TestPattern_MatchingAllocatesNothing(t *testing.T) {
	message := []byte(`{"type": "order", "id": 7.0, "items": [{"sku": "A-1"}, {"sku": "B\n2"}], "note": null}`)
	for _, text := range []string{"ping", `[a-z]+ \d+`, `{"type": "order", "id": 7, "items": [{"sku": "A-1"}, {"sku": "{{x}}"}]}`, `{"items": [{}, {"sku": "{{x}}"}], "note": null}`, `{"type": "o{{x}}"}`} {
		p, problems := compilePattern(syntax.Text{Value: text})
		if problems.Err() != nil {
			t.Fatal(problems)
		}
		if n := testing.AllocsPerRun(100, func() {
			h := heard{text: message}
			p.matches(&h)
		}); n > 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

// FuzzPattern compares patterns with messages: nothing panics, a message that equals the text of
// the pattern matches, and an expression matches each message that a search with package regexp
// finds to match as a whole.
func FuzzPattern(f *testing.F) {
	for _, pair := range [][2]string{
		{"ping", "ping"}, {"a+(b|c)", "aab"}, {`{"a": "{{x}}"}`, `{"a": [1]}`}, {`{"a": {{x}}, "b": [{"c": "d{{e}}"}]}`, `{"a":1,"b":[{"c":"de"}]}`},
		{`{{`, "{{"}, {`{"{{`, ""}, {`{"a": "\u00e9{{"}`, `{"a":"é"}`}, {"(?i)É", "é"}, {"a{2}", "aa"}, {`\xff`, "\xff"}, {`{"a":1e999999999}`, `{"a":1e999999998}`},
	} {
		f.Add(pair[0], []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, text string, message []byte) {
		p, problems := compilePattern(syntax.Text{Value: text})
		if (p == nil) != (problems.Err() != nil) {
			t.Fatalf("%q: got %v and %v", text, p, problems)
		}
		if p == nil {
			return
		}
		if !p.matches(&heard{text: []byte(text)}) {
			t.Errorf("%q does not match itself", text)
		}
		if !p.covers(p) {
			t.Errorf("%q does not cover itself", text)
		}
		got := p.matches(&heard{text: message})
		if p.shape == nil && text != string(message) {
			expression, err := regexp.Compile("(?s)" + text)
			if err != nil {
				return // it is only valid with its own flags
			}
			expression.Longest()
			at := expression.FindIndex(message)
			if whole := at != nil && at[0] == 0 && at[1] == len(message); whole && !got && !strings.Contains(text, "$") {
				t.Errorf("%q does not match %q completely", text, message)
			}
		}
	})
}
