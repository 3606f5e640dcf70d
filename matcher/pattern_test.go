package matcher

import (
	"slices"
	"strings"
	"testing"

	"mockserver/config/item"
	"mockserver/config/syntax"
)

func TestParsePattern(t *testing.T) {
	tests := []struct {
		name, path string
		params     []string
		problems   []string
	}{
		{"nothing at all", "", nil, []string{`f.yml:3:11: [0].endpoint.path: a path begins with "/": write "/"`}},
		{"no leading slash", "users/:id", nil, []string{`f.yml:3:11: [0].endpoint.path: a path begins with "/": write "/users/:id"`}},
		{"a parameter without a name", "/a/:", []string{""}, []string{`f.yml:3:15: [0].endpoint.path: a parameter needs a name: write ":id"`}},
		{"a typed parameter without a name", "/:|int", []string{""}, []string{`f.yml:3:13: [0].endpoint.path: a parameter needs a name: write ":id"`}},
		{"a bad character in a name", "/a/:na.me", []string{"na.me"}, []string{`f.yml:3:17: [0].endpoint.path: '.' in the parameter name "na.me": a name is letters, digits, "-" and "_"`}},
		{"a bad character in a catch-all's name", "/*é", []string{"é"}, []string{`f.yml:3:13: [0].endpoint.path: 'é' in the parameter name "é": a name is letters, digits, "-" and "_"`}},
		{"a misspelt type", "/:id|integr", []string{"id"}, []string{`f.yml:3:16: [0].endpoint.path: unknown type "integr"; expected one of string, int, float, double, bool, boolean, uuid, date`}},
		{"a slightly misspelt type", "/:id|UIUD", []string{"id"}, []string{`f.yml:3:16: [0].endpoint.path: unknown type "UIUD" (did you mean "uuid"?); expected one of string, int, float, double, bool, boolean, uuid, date`}},
		{"an empty type", "/:id|", []string{"id"}, []string{`f.yml:3:16: [0].endpoint.path: unknown type ""; expected one of string, int, float, double, bool, boolean, uuid, date`}},
		{"a name twice", "/:id/x/*id", []string{"id", "id"}, []string{`f.yml:3:19: [0].endpoint.path: the parameter "id" is declared twice: rename one of them`}},
		{"several mistakes", "/:/:x|y/:x", []string{"", "x", "x"}, []string{
			`f.yml:3:13: [0].endpoint.path: a parameter needs a name: write ":id"`,
			`f.yml:3:17: [0].endpoint.path: unknown type "y"; expected one of string, int, float, double, bool, boolean, uuid, date`,
			`f.yml:3:20: [0].endpoint.path: the parameter "x" is declared twice: rename one of them`}},
		{"a query", "/a?b=:c", nil, []string{`f.yml:3:13: [0].endpoint.path: "?b=:c" is left out: a path is matched without its query; a condition (if) can test the query`}},
		{"the root", "/", nil, nil},
		{"literals", "/a/b:c/x}y{/a>b<", nil, nil},
		{"parameters of OpenAPI", "/a/{id}", nil, []string{`f.yml:3:14: [0].endpoint.path: "{id}" is literal text; for a parameter write "/a/:id"`}},
		{"parameters in brackets", "/b/<id>/<int:n>/", nil, []string{`f.yml:3:14: [0].endpoint.path: "<id>" is literal text; for a parameter write "/b/:id/:n|int"`}},
		{"a star that is not in the last segment", "/c/*/d", nil, []string{`f.yml:3:14: [0].endpoint.path: "*" is literal text; for a parameter write "/c/:any/d"`}},
		{"stars everywhere", "/*/*d/*/e*", nil, []string{`f.yml:3:12: [0].endpoint.path: "*" is literal text; for a parameter write "/:any/:d/:any2/:e"`}},
		{"a star inside a segment", "/calc/2*3", nil, nil},
		{"a parameter that is a part", "/a/:b/{id:int}.json/*", []string{"b", ""}, []string{`f.yml:3:17: [0].endpoint.path: "{id:int}.json" is literal text; for a parameter write "/a/:b/:id|int/*"`}},
		{"catch-alls of other tools", "/{path*}", nil, []string{`f.yml:3:12: [0].endpoint.path: "{path*}" is literal text; for a parameter write "/*path"`}},
		{"a catch-all of Flask", "/a/<path:rest>", nil, []string{`f.yml:3:14: [0].endpoint.path: "<path:rest>" is literal text; for a parameter write "/a/*rest"`}},
		{"an expression with braces", "/a/{id:[0-9]{4}}", nil, []string{`f.yml:3:14: [0].endpoint.path: "{id:[0-9]{4}}" is literal text; for a parameter write "/a/:id"`}},
		{"an expression after a parameter", "/a/:id{[0-9]+}", []string{"id{[0-9]+}"}, []string{`f.yml:3:17: [0].endpoint.path: '{' in the parameter name "id{[0-9]+}": a name is letters, digits, "-" and "_"`}},
		{"a placeholder", "/{{env.A}}/{}", nil, []string{`f.yml:3:12: [0].endpoint.path: "{{env.A}}" is literal text; for a parameter write "/:envA/:any"`}},
		{"every type, and names of every kind", "/:a/:b-c|int/:d_e|float/:F|double/:1|bool/:g|boolean/:h|uuid/:i|date/:j|string", []string{"a", "b-c", "d_e", "F", "1", "g", "h", "i", "j"}, nil},
		{"a catch-all", "/a/:b/*rest", []string{"b", "rest"}, nil},
		{"a catch-all without a name before a trailing slash", "/a/*/", []string{""}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := ParsePattern(syntax.Text{Value: tt.path, Key: "[0].endpoint.path", Pos: syntax.Pos{File: "f.yml", Line: 3, Column: 11}})
			var got []string
			for _, pr := range problems {
				got = append(got, pr.String())
				if pr.Warning != (strings.Contains(tt.path, "?") || strings.Contains(pr.What, "is literal text")) {
					t.Errorf("%s: got a warning: %t", pr, pr.Warning)
				}
			}
			if !slices.Equal(got, tt.problems) {
				t.Errorf("got problems %q, want %q", got, tt.problems)
			}
			if !slices.Equal(p.Params(), tt.params) {
				t.Errorf("got parameters %q, want %q", p.Params(), tt.params)
			}
		})
	}
}

func TestParsePattern_ProblemsOfOnePathAreBounded(t *testing.T) {
	for _, segment := range []string{"/:a", "/:", "/:a|x", "/:é|x"} {
		_, problems := ParsePattern(syntax.Text{Value: strings.Repeat(segment, 5000)})
		rest := 0
		for _, p := range problems {
			if p.Rest {
				rest++
			}
		}
		if len(problems) < maxProblems || len(problems) > maxProblems+3 || rest != 1 {
			t.Errorf("%s: %d problems, of which %d represent the rest", segment, len(problems), rest)
		}
	}
}

func TestTypes(t *testing.T) {
	tests := []struct {
		typ       string
		bad, good []string
	}{
		{"int", []string{"", "+", "-", "1.0", "1e3", "--1", "0x1", " 1", "1 ", "१", "a"}, []string{"0", "007", "-1", "+1", strings.Repeat("9", 400)}},
		{"float", []string{"", "-", ".", ".5", "1.", "1.e1", "1e", "1e+", "e1", "1,5", "NaN", "Infinity", "1.5.5", "1e1.5"}, []string{"0", "1", "-1.5", "+1.25", "6.02e23", "1E-9", "1e+3", "00.10"}},
		{"bool", []string{"", "True", "TRUE", "1", "yes", "truefalse"}, []string{"true", "false"}},
		{"uuid", []string{"", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400", "123e4567-e89b-12d3-a456-4266141740000", "g23e4567-e89b-12d3-a456-426614174000", "123e45670e89b-12d3-a456-426614174000", "{23e4567-e89b-12d3-a456-42661417400}"}, []string{"123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174ABC"}},
		{"date", []string{"", "2024-2-3", "2024-13-01", "2024-00-01", "2024-01-00", "2024-01-32", "2024-04-31", "2023-02-29", "1900-02-29", "20240101", "2024-01-01T", "2024-01-01 10:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T10:60:00Z", "2024-01-01T10:00:60Z", "2024-01-01T10", "2024-01-01T10Z", "2024-01-01T10:0", "2024-01-01T10:00:0", "2024-01-01T10:00:", "2024-01-01T10:00.5", "2024-01-01T10:00:00z", "2024-01-01T10:00+1:00", "2024-01-01T10:00+01", "2024-01-01T10:00:00.Z", "2024-01-01T10:00:00+24:00", "2024-01-01T10:00:00+0100", "2024-01-01T10:00:00ZZ"}, []string{"2024-01-31", "2024-02-29", "2000-02-29", "0000-02-29", "9999-12-31", "2024-01-01T23:59:59Z", "2024-01-01T10:00:00.123456789Z", "2024-01-01T10:00:00+01:00", "2024-01-01T10:00:00.5-23:59", "2024-01-15T10:30:00", "2024-01-15T10:30:00.25", "2024-01-15T10:30", "2024-01-15T10:30Z", "2024-01-15T10:30+05:45"}},
	}
	for _, tt := range tests {
		for _, s := range tt.bad {
			if typeNames[tt.typ].accepts([]byte(s)) {
				t.Errorf("%s: %q was accepted", tt.typ, s)
			}
		}
		for _, s := range tt.good {
			if !typeNames[tt.typ].accepts([]byte(s)) {
				t.Errorf("%s: %q was refused", tt.typ, s)
			}
		}
	}
}

// FuzzTypes compares the types of parameters with the regular expressions and time.Parse of the
// reference.
func FuzzTypes(f *testing.F) {
	for _, s := range []string{"", "1", "-1.5e+3", "true", "123e4567-e89b-12d3-a456-426614174000", "2024-02-29", "2023-02-29", "2024-01-01T10:00:00.5+01:00", "2024-01-01T10:00:60Z", "2024-01-01T10:00", "2024-01-01T10:00:00", "2024-01-01T10:00-23:59", "0000-01-01T0:00:00Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range typeOrder {
			if got, want := typeNames[name].accepts([]byte(s)), refType(name)(s); got != want {
				t.Errorf("%q as %s: got %t, want %t", s, name, got, want)
			}
		}
	})
}

// FuzzParsePattern checks that any path compiles, or is refused with positions inside it, and that
// a compiled path that consists only of literals matches itself.
func FuzzParsePattern(f *testing.F) {
	w := newWorld(1, 4)
	for range 20 {
		f.Add(w.path())
	}
	f.Add("x?/:a|b/:/*")
	f.Fuzz(func(t *testing.T, path string) {
		text := syntax.Text{Value: path, Pos: syntax.Pos{Line: 1, Column: 1}}
		p, problems := ParsePattern(text)
		for _, pr := range problems {
			if pr.Pos.Column < 1 || pr.Pos.Column > len(path)+1 {
				t.Errorf("%q: got a problem at column %d", path, pr.Pos.Column)
			}
		}
		if problems != nil || len(p.Params()) > 0 || strings.ContainsAny(path, "\r\n") {
			return
		}
		table, _ := Compile([]Route{{Endpoint: &item.Endpoint{Path: text}, Pattern: p}})
		r := newRequest("GET", "h", path)
		defer Release(r)
		if got := table.Match(r, "GET"); got != 0 {
			t.Errorf("%q does not answer itself", path)
		}
	})
}
