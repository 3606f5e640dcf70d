package renderer_test

import (
	"strings"
	"testing"

	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

// holds compiles a condition and returns its result for the sample request.
func holds(tb testing.TB, text string) bool {
	tb.Helper()
	condition, problems := renderer.CompileCondition(syntax.Text{Value: text}, scope())
	if err := problems.Err(); err != nil {
		tb.Fatalf("compile %s: %v", text, err)
	}
	var got bool
	with(tb, sample, samplePath, func(r *matcher.Request) { got = condition.Holds(r) })
	return got
}

func TestCondition_Holds(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"an empty condition", "", true},
		{"blanks only", "  ", true},
		{"numbers are equal", "query-params.page = 7", true},
		{"numbers are equal however written", "query-params.page = 7.0", true},
		{"leading zeros and a plus sign are those of a number", `query-params.pad = 7 and "+7" = 7 and "-007.50" < -7`, true},
		{"two signs are not", `"+-7" = -7 or "--7" = 7 or "+" = 0`, false},
		{"numbers, not texts, in order", "query-params.page < 10", true},
		{"texts in order", `"10" < "9a"`, true},
		{"greater", "query-params.page > 7", false},
		{"greater or equal", "query-params.page >= 7", true},
		{"less or equal", "query-params.page <= 6.99", false},
		{"not equal", "query-params.page != 7", false},
		{"ids longer than a float64 are kept apart", "json-params.big = 12345678901234567891", false},
		{"a JSON number and its text", `json-params.n = "1.5"`, true},
		{"an exponent", "json-params.n = 15e-1", true},
		{"negative numbers", "-2 < -1", true},
		{"zero is not negative", "-0 = 0", true},
		{"literals", "1 = 1", true},
		{"a bare word", "query-params.tag = one", true},
		{"a bare word with signs", "header-params.Content-Type = application/json", true},
		{"a quoted text", `json-params.text = "a\"b"`, true},
		{"single quotes", `json-params.text = 'a"b'`, true},
		{"case counts", "query-params.tag = ONE", false},
		{"a filter", "query-params.tag|upper = ONE", true},
		{"braces around an operand", "{{ query-params.page }} = 7 and {{query-params.tag|upper}} = ONE", true},
		{"booleans", "json-params.yes = true", true},
		{"a boolean is not its negation", "json-params.yes = false", false},
		{"null is null", "json-params.nil = null", true},
		{"null is not the empty text", `json-params.nil = ""`, false},
		{"null is not the text null", `json-params.nil = "null"`, false},
		{"missing equals null", "json-params.nope = null", true},
		{"missing equals the empty text", `query-params.nope = ""`, true},
		{"missing equals nothing else", "query-params.nope = 0", false},
		{"missing does not equal missing", "query-params.nope = query-params.nada", false},
		{"missing is unequal to a text", "query-params.nope != x", true},
		{"no order holds for missing: greater", "query-params.nope > 0", false},
		{"no order holds for missing: less or equal", `query-params.nope <= "zzz"`, false},
		{"no order holds for null", "json-params.nil < 1", false},
		{"a part of a text", `path-params.name contains "X"`, true},
		{"no part of a text", `path-params.name contains "Y"`, false},
		{"an element of an array", "json-params.list contains two", true},
		{"a number in an array", "json-params.list contains 1.0", true},
		{"a number in an array however written", "json-params.list contains 1e0 and json-params.list contains '+01.00'", true},
		{"no number of an array", "json-params.list contains 10 or json-params.list contains -1 or json-params.list contains 1.01 or json-params.list contains 0", false},
		{"no element of an array", "json-params.list contains tw", false},
		{"a key of an object", "json-params.obj contains a", true},
		{"no key of an object", "json-params.obj contains b", false},
		{"missing contains nothing", `query-params.nope contains ""`, false},
		{"a pattern found anywhere", `json-params.text matches "^a"`, true},
		{"a pattern with a class", `path-params.id matches "^\d+$"`, true},
		{"a pattern that is not found", `json-params.text matches "^b"`, false},
		{"null contains and matches nothing", `json-params.nil contains "ul" or json-params.nil matches "^n"`, false},
		{"missing matches nothing", `query-params.nope matches ".*"`, false},
		{"a lone operand that is present", "query-params.page", true},
		{"a lone operand that is missing", "query-params.nope", false},
		{"a lone empty text", "query-params.empty", false},
		{"a lone 0", "query-params.zero", false},
		{"a lone 0.00", "0.00", false},
		{"a lone false", "query-params.no", false},
		{"a lone JSON false", "json-params.no", false},
		{"a lone null", "json-params.nil", false},
		{"a lone empty array", "json-params.none", false},
		{"a lone array", "json-params.list", true},
		{"and", "query-params.page = 7 and query-params.tag = one", true},
		{"and that fails", "query-params.page = 7 and query-params.tag = two", false},
		{"or", "query-params.page = 8 or query-params.tag = one", true},
		{"and binds tighter than or", "true or false and false", true},
		{"parentheses", "(true or false) and false", false},
		{"not binds tighter than and", "not false and false", false},
		{"not a comparison", "not query-params.page = 8", true},
		{"not not", "not not true", true},
		{"a function", "random-int(5, 5) = 5", true},
		{"the length of an array", "json-params.list.length = 3", true},
		{"an environment variable", "env.REGION contains env", true},
		{"the method", "method = POST", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := holds(t, c.text); got != c.want {
				t.Errorf("%s: got %v, want %v", c.text, got, c.want)
			}
		})
	}
}

// Values from a request are only values: nothing that a client sends can change the meaning of the
// condition.
func TestCondition_ValuesAreValues(t *testing.T) {
	condition, problems := renderer.CompileCondition(syntax.Text{Value: `query-params.x = "a" and header-params.X-Key = secret`}, scope())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for _, attack := range []string{`a" or true or "`, "a or 1 = 1", "{{path}}", "(true)", "null", "not"} {
		c := call{method: "GET", uri: "/x?x=" + strings.ReplaceAll(strings.ReplaceAll(attack, " ", "+"), "#", "%23"), headers: map[string]string{"X-Key": attack}}
		with(t, c, "/x", func(r *matcher.Request) {
			if condition.Holds(r) {
				t.Errorf("the condition holds for %q", attack)
			}
		})
	}
}

func TestCondition_Always(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "true": true, "1 = 1": true, "not false or path": false, "query-params.x": false, "false": false, "1 < 2 and not 0": true,
	} {
		condition, problems := renderer.CompileCondition(syntax.Text{Value: text}, scope())
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		if got := condition.Always(); got != want {
			t.Errorf("%q: always is %v, want %v", text, got, want)
		}
	}
}

func TestCompileCondition_MistakesSayWhere(t *testing.T) {
	for _, c := range []struct {
		name, text string
		column     int
		part       string
	}{
		{"no right operand", "path =", 7, "not the end"},
		{"two equal signs", "path == 1", 6, "equality is written ="},
		{"another language's and", "path && method", 6, `did you mean "and"?`},
		{"another language's or", "path || method", 7, `did you mean "or"?`},
		{"an operator misspelt", "path contain x", 6, `did you mean "contains"?`},
		{"no operator", "method GET", 8, `unexpected "GET" (did you mean "="?)`},
		{"a word too many", "method = GET POST", 14, `unexpected "POST"; operators`},
		{"a second operator", "method = GET = POST", 14, `unexpected "=" (did you mean "or"?)`},
		{"a range", "1 < query-params.a < 5", 20, `unexpected "<" (did you mean "and"?)`},
		{"an operator in words", "method equals GET", 8, `unexpected "equals" (did you mean "="?)`},
		{"a secret without quotes", "header-params.authorization = Bearer hunter2", 38, "unexpected a text; operators"},
		{"a variable misspelt", "jsn-params.a = 1", 1, `did you mean "json-params"?`},
		{"an unknown parameter source", "body-params.a = 1", 1, "unknown variable"},
		{"a parenthesis too few", "(path = 1", 10, ") is missing"},
		{"a parenthesis too many", "path = 1)", 9, "unexpected"},
		{"a pattern that is no literal", "path matches query-params.x", 14, "in quotes"},
		{"an unclosed quote", `path = "x`, 8, "not closed"},
		{"an exclamation mark", "!path", 1, "unexpected"},
		{"and without a right side", "path and", 9, "not the end"},
		{"unclosed braces", "{{ path = 1", 9, "}} is missing"},
		{"an unknown word in braces", "{{ pathh }} = 1", 4, "unknown variable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			condition, problems := renderer.CompileCondition(syntax.Text{Value: c.text, Pos: syntax.Pos{Line: 1, Column: 1}}, scope())
			errs := problems.Errors()
			if condition != nil || len(errs) == 0 {
				t.Fatalf("%s: no error found", c.text)
			}
			if got := errs[0]; got.Pos.Column != c.column || !strings.Contains(got.What, c.part) {
				t.Errorf("%s: column %d, %q; want column %d, %q", c.text, got.Pos.Column, got.What, c.column, c.part)
			}
		})
	}
}

// A word on the left, or alone, that is not a variable is an error: the condition would have the
// same result for every request.
func TestCompileCondition_WordsThatAreNoVariables(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		part   string
	}{
		{"user.role = admin", 1, `"user.role" is not a variable; expected a variable, or a text in quotes`},
		{"isAdmin", 1, `"isAdmin" is not a variable;`},
		{"isAdmin and path", 1, `"isAdmin"`},
		{"path = x or not (isAdmin)", 18, `"isAdmin"`},
		{"isAdmin|upper = YES", 1, `"isAdmin"`},
		{"admin = query-params.role", 1, `"admin"`},
		{"admin matches \"a\"", 1, `"admin"`},
		{"POST = method", 1, "(write method = POST)"},
		{"metod = GET", 1, `did you mean "method"?`},
		{"id = 7", 1, "write path-params.id"},
		{"headers.X-Test = 1", 1, "write header-params.X-Test"},
		{"request.method = POST", 1, "write method"},
		{"request.body.user.role = admin", 1, "write json-params.user.role"},
		{"query 'a b' = 1", 1, `write query-params["a b"]`},
	} {
		condition, problems := renderer.CompileCondition(syntax.Text{Value: c.text, Pos: syntax.Pos{Line: 1, Column: 1}}, scope())
		errs := problems.Errors()
		if condition != nil || len(errs) == 0 || errs[0].Pos.Column != c.column || !strings.Contains(errs[0].What, c.part) {
			t.Errorf("%s: got %v, want column %d, %q", c.text, problems, c.column, c.part)
		}
	}
	for _, text := range []string{"path = foo", "1 = 1", `"foo" = foo`, "'a' = path", "true", "null", `"a"`, "path = query.x", "not path contains example.com"} {
		if condition, problems := renderer.CompileCondition(syntax.Text{Value: text}, scope()); condition == nil || len(problems) != 0 {
			t.Errorf("%s: got %v, want nothing", text, problems)
		}
	}
}

func TestCompileCondition_NestedTooDeep(t *testing.T) {
	for _, text := range []string{strings.Repeat("(", 100_000), strings.Repeat("not ", 100_000) + "true"} {
		if _, problems := renderer.CompileCondition(syntax.Text{Value: text}, scope()); problems.Err() == nil {
			t.Error("no error found")
		}
	}
	if _, problems := renderer.Compile(syntax.Text{Value: strings.Repeat("{% if true %}", 100_000)}, renderer.Plain, scope()); problems.Err() == nil {
		t.Error("no error found")
	}
}
