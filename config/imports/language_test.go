package imports_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// holds serves an endpoint with a condition, and reports for which bodies the condition holds.
func holds(t *testing.T, condition string, bodies []string) (all []bool) {
	t.Helper()
	read := func(_ *draft.Source, d *draft.Draft, _ draft.Options) error {
		d.Add("endpoint", draft.NewMap("method", "POST", "path", "/x", "if", condition, "response", draft.NewMap("body", "yes")))
		d.Add("endpoint", draft.NewMap("method", "POST", "path", "/x", "response", draft.NewMap("body", "no")))
		return nil
	}
	url := importRead(t, read, "x", "", draft.Options{}).Serve(t)
	for _, body := range bodies {
		_, _, response := Send(t, url, Case{Method: "POST", Target: "/x", Body: body})
		all = append(all, response == "yes")
	}
	return all
}

// A condition for equal JSON holds for the same value in another spelling, but not for other values
// that resemble it.
func TestEqualJSON(t *testing.T) {
	for _, c := range []struct {
		value      string
		rule       language.JSONRule
		same, less []string // bodies for which the condition holds, and for which it does not
	}{
		{`{"a": 1}`, language.JSONRule{}, []string{`{"a":1}`, `{"a": 1.0}`}, []string{`{"a":"1"}`, `{"a":2}`, `{"a":1,"b":2}`, `{}`, `[1]`, `{"b":1}`, ``, `x`}},
		{`{"a": "x"}`, language.JSONRule{}, []string{`{"a":"x"}`, `{"a":"\u0078"}`}, []string{`{"a":["x"]}`, `{"a":"X"}`, `{"a":null}`}},
		{`{"a": "1"}`, language.JSONRule{}, []string{`{"a":"1"}`}, []string{`{"a":1}`, `{"a":"1.0"}`, `{"a":"01"}`}},
		{`{"a": "true", "b": "", "c": "[]"}`, language.JSONRule{}, []string{`{"c":"[]","b":"","a":"true"}`}, []string{`{"a":true,"b":"","c":"[]"}`, `{"a":"true","b":null,"c":"[]"}`, `{"a":"true","b":"","c":[]}`}},
		{`{"a": null}`, language.JSONRule{}, []string{`{"a":null}`}, []string{`{"b":1}`, `{"a":0}`, `{"a":""}`, `{}`}},
		{`{"a": true}`, language.JSONRule{}, []string{`{"a":true}`}, []string{`{"a":"true"}`, `{"a":1}`}},
		{`{"a": {}, "b": []}`, language.JSONRule{}, []string{`{"a":{ },"b":[ ]}`}, []string{`{"a":[],"b":[]}`, `{"a":{},"b":{}}`, `{"a":{"x":1},"b":[]}`, `{"a":"","b":""}`}},
		{`[1, "a"]`, language.JSONRule{}, []string{`[1,"a"]`}, []string{`["a",1]`, `[1]`, `[1,"a",2]`, `{"0":1,"1":"a"}`}},
		{`["a", "b"]`, language.JSONRule{AnyOrder: true}, []string{`["a","b"]`, `["b","a"]`}, []string{`["a","a"]`, `["a"]`, `["a","b","c"]`, `"ab"`}},
		{`{"a": {"b": 1}}`, language.JSONRule{Extra: true}, []string{`{"a":{"b":1,"c":2},"d":3}`}, []string{`{"a":{"c":1}}`, `{"b":1}`}},
		{`{"a b": {"0": 1, "length": 2}}`, language.JSONRule{}, []string{`{"a b":{"0":1,"length":2}}`}, []string{`{"a b":[1]}`}},
		{`5`, language.JSONRule{}, []string{`5`}, []string{`"5"`, `[5]`}},
	} {
		docs, problems := syntax.Read("x.json", []byte(c.value))
		if problems.Err() != nil {
			t.Fatal(problems)
		}
		condition, _, err := language.EqualJSON("json-params", docs[0], c.rule)
		if err != nil {
			t.Errorf("%s: %v", c.value, err)
			continue
		}
		for i, got := range holds(t, condition, append(c.same, c.less...)) {
			if body := append(c.same, c.less...)[i]; got != (i < len(c.same)) {
				t.Errorf("%s as %q: %s: %v", c.value, condition, body, got)
			}
		}
	}
}

// The path made from a regular expression matches at least all paths that the expression matches.
func TestExpressionPath(t *testing.T) {
	for _, c := range []struct{ expression, path, condition string }{
		{"/a/b", "/a/b", ""},
		{"/a\\.b/c", "/a.b/c", ""},
		{"^/users/[^/]+$", "/users/:p2", ""},
		{"/users/[0-9]+", "/users/:p2", `path matches "^(?:/users/[0-9]+)$"`},
		{"/users/.*", "/users/*rest", `path matches "^(?:/users/.*)$"`},
		{"/users/\\d*", "/users/*rest", `path matches "^(?:/users/\\d*)$"`},
		{"/(a|b)/c", "/:p1/c", `path matches "^(?:/(a|b)/c)$"`},
		{"/a|/b", "/*rest", `path matches "^(?:/a|/b)$"`},
		{"/a(/b)?", "/*rest", `path matches "^(?:/a(/b)?)$"`},
		{".*", "/*rest", `path matches "^(?:.*)$"`},
		{"/a/?", "/a", `path matches "^(?:/a/?)$"`},
		{"/[a-z/]+", "/*rest", `path matches "^(?:/[a-z/]+)$"`},
		{"(?i)/a", "/*rest", `path matches "^(?:(?i)/a)$"`},
	} {
		p, condition, err := language.ExpressionPath(c.expression)
		if err != nil || p.String() != c.path || condition != c.condition {
			t.Errorf("%s: %s %s %v, want %s %s", c.expression, p, condition, err, c.path, c.condition)
		}
	}
	if _, _, err := language.ExpressionPath(`/a(?!b)`); err == nil {
		t.Error("a look-ahead is not refused")
	}
}

func TestExpressionURL(t *testing.T) {
	for _, c := range []struct {
		expression, path, condition string
		exact                       bool
	}{
		{"/a/[0-9]+", "/a/:p2", `path matches "^(?:/a/[0-9]+)$" and query-string = ""`, true},
		{"/a/.*", "/a/*rest", `path matches "^(?:/a/.*)$"`, true},
		{"/a\\?b=(1|2)", "/a", `query-string matches "^(?:b=(1|2))$"`, true},
		{"/a(\\?.*)?", "/a", "", true},
		{"/a.c/.*", "/*rest", `path matches "^(?:/a.c/.*)$"`, false},
	} {
		p, condition, narrower, err := language.ExpressionURL(c.expression)
		if err != nil || p.String() != c.path || condition != c.condition || (narrower == "") != c.exact {
			t.Errorf("%s: %s %s %q %v, want %s %s", c.expression, p, condition, narrower, err, c.path, c.condition)
		}
	}
}

// parse returns the path of a text in the form of the configuration language.
func parsePath(text string) (p language.Path) {
	for _, part := range language.Parts(text) {
		switch part[0] {
		case ':':
			p = append(p, language.Segment{Kind: language.Param, Text: part[1:]})
		case '*':
			p = append(p, language.Segment{Kind: language.Rest, Text: part[1:]})
		default:
			p = append(p, language.Segment{Text: part})
		}
	}
	return p
}

// Paths are listed in the order of their source, with the form in which they are written: only a
// path that comes after a less specific one that it overlaps gets another shape.
func TestOrder(t *testing.T) {
	for _, c := range []struct{ paths, want string }{
		{"/users/me /users/:id", "/users/me; /users/:id"},
		{"/users/:id /users/me", `/users/:id; /users/:p2 if path-params.p2 = "me"`},
		{"/*rest /a /b/:c", `/*rest; /*rest if path matches "^/a/?$"; /*rest if path matches "^/b/[^/]+/?$"`},
		{"/users/:id /orders/me", "/users/:id; /orders/me"},
		{"/:x/b /a/:y", "/:x/b; /:p1/:y if path-params.p1 = \"a\""},
		{"/a/:y /:x/b", "/a/:y; /:x/b"},
		{"/a/*rest /a", `/a/*rest; /a/*rest if path matches "^/a/?$"`},
		{"/:a/:b /x/:c /x/y", `/:a/:b; /:p1/:c if path-params.p1 = "x"; /:p1/:p2 if path-params.p1 = "x" and path-params.p2 = "y"`},
		{"/:p2/:x /:p2/y", `/:p2/:x; /:p2/:p2- if path-params.p2- = "y"`},
	} {
		var o language.Order
		var got []string
		for path := range strings.FieldsSeq(c.paths) {
			written, condition := o.Place("GET", parsePath(path))
			one := written.String()
			if condition != "" {
				one += " if " + condition
			}
			got = append(got, one)
		}
		if all := strings.Join(got, "; "); all != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.paths, all, c.want)
		}
	}
}

// expressionNames returns the names of the values of a tool for which there are expressions.
func expressionNames(t *testing.T, tool string) []string {
	t.Helper()
	data, err := os.ReadFile("language/expressions.yml")
	if err != nil {
		t.Fatal(err)
	}
	root, err := syntax.ReadOne("expressions.yml", data)
	names := root.Get(tool).Keys()
	if err != nil || len(names) < 20 {
		t.Fatalf("%d names of %s: %v", len(names), tool, err)
	}
	return names
}

// Each expression for values of other tools is one of the configuration language.
func TestExpressionFor(t *testing.T) {
	for _, tool := range []string{"mockoon", "faker", "postman"} {
		for _, name := range expressionNames(t, tool) {
			expression := language.ExpressionFor(tool, name)
			text := fmt.Sprintf("- endpoint: {path: /a, response: {body: %q}}\n", "{{"+expression+"}}")
			if problems := config.Parse("a.yml", []byte(text)).Problems; expression == "" || len(problems) > 0 {
				t.Errorf("%s %s: %q, %v", tool, name, expression, problems)
			}
		}
	}
	if got := language.ExpressionFor("faker", "none"); got != "" {
		t.Errorf("an unknown name is %q", got)
	}
}
