package renderer_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

// nasty contains texts that break careless templates.
var nasty = []string{
	"", "plain", `"`, `\`, `\"`, "a\r\nX-Evil: 1", "\x00\x01\x1f\x7f", "\xff\xfe", "ü€😀", "{{path}}", "{% if %}", "}}", "%}", "</a>&", "..", "../..", "?a=b&c#d", "@:/",
	"null", "true", "1e5", "007", "-", "\u2028", "{", "[1]", `\u0000`, "%2e%2e%2f", " ",
}

// FuzzSources sends an arbitrary text through every source of a request into a JSON body, a header
// and a URL, and checks that the text does not change their declared structure.
func FuzzSources(f *testing.F) {
	for _, s := range nasty {
		f.Add(s)
	}
	sources := []string{"path-params.p", "query-params.q", "header-params.X-H", "cookie-params.c", "form-params.f", "json-params.j", "query-string", "path", "path-segments.1", "path-and-query", "body"}
	type trio struct{ json, header, url *renderer.Template }
	var templates []trio
	for _, source := range sources {
		scope := &renderer.Scope{Params: []string{"p"}}
		compile := func(text string, form renderer.Form) *renderer.Template {
			compiled, problems := renderer.Compile(syntax.Text{Value: text}, form, scope)
			if len(problems) > 0 {
				f.Fatal(problems)
			}
			return compiled
		}
		templates = append(templates, trio{
			json:   compile(`{"in":"<{{`+source+`}}>","out":{{`+source+`}},"f":"{{`+source+`|upper}}","j":{{`+source+`|json}}}`, renderer.JSON),
			header: compile(`a{{`+source+`}}b`, renderer.Header),
			url:    compile(`http://example.com/a/{{`+source+`}}/b?q={{`+source+`}}&r=1`, renderer.URL),
		})
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range []call{jsonCall(s), formCall(s)} {
			with(t, c, "/p/:p", func(r *matcher.Request) {
				for i, source := range sources {
					checkJSON(t, source, templates[i].json.Append(nil, r))
					checkHeader(t, source, templates[i].header.Append(nil, r))
					checkURL(t, source, templates[i].url.Append(nil, r))
				}
			})
		}
	})
}

func jsonCall(s string) call {
	body, _ := json.Marshal(map[string]string{"j": s})
	c := formCall(s)
	c.body, c.headers["Content-Type"] = string(body), "application/json"
	return c
}

func formCall(s string) call {
	return call{
		method: "POST",
		uri:    "/p/x" + url.PathEscape(s) + "?q=" + url.QueryEscape(s),
		headers: map[string]string{
			"X-H": s, "Cookie": "c=" + s, "Content-Type": "application/x-www-form-urlencoded",
		},
		body: "f=" + url.QueryEscape(s),
	}
}

func checkJSON(t *testing.T, source string, got []byte) {
	t.Helper()
	var v struct{ In, F string }
	if !utf8.Valid(got) || !json.Valid(got) {
		t.Errorf("%s: not valid JSON: %q", source, got)
	} else if json.Unmarshal(got, &v) != nil || !strings.HasPrefix(v.In, "<") || !strings.HasSuffix(v.In, ">") {
		t.Errorf("%s: the text around the placeholder is not as declared: %q", source, got)
	}
}

func checkHeader(t *testing.T, source string, got []byte) {
	t.Helper()
	if len(got) < 2 || got[0] != 'a' || got[len(got)-1] != 'b' || strings.ContainsAny(string(got), "\r\n\x00") {
		t.Errorf("%s: header value %q", source, got)
	}
}

func checkURL(t *testing.T, source string, got []byte) {
	t.Helper()
	u, err := url.Parse(string(got))
	if err != nil {
		t.Fatalf("%s: %q: %v", source, got, err)
	}
	segments := strings.Split(u.EscapedPath(), "/")
	query := u.Query()
	if u.Scheme != "http" || u.Host != "example.com" || u.User != nil || u.Fragment != "" ||
		len(segments) != 4 || segments[1] != "a" || segments[3] != "b" || segments[2] == ".." || segments[2] == "." ||
		len(query) != 2 || len(query["q"]) != 1 || query.Get("r") != "1" {
		t.Errorf("%s: not the declared parts: %q", source, got)
	}
}

// FuzzCompile checks that no text makes the compiler panic, and that every error has a position
// inside the text.
func FuzzCompile(f *testing.F) {
	for _, s := range append(nasty, "{{ path|default:\"x\"|add:1 }}", "{% for x in json-params.a %}{{x}}{{loop.index}}{% endfor %}",
		"{{#if a = 1 and (b or not c)}}x{{else}}y{{/if}}", "{% raw %}{{", "{{ fake(\"email\") }}{{ pick(1,2) }}", `{"a":"{{path}}"}`) {
		f.Add(s)
	}
	forms := []renderer.Form{renderer.Plain, renderer.JSON, renderer.XML, renderer.Header, renderer.URL}
	f.Fuzz(func(t *testing.T, s string) {
		text := syntax.Text{Value: s, Pos: syntax.Pos{Line: 1, Column: 1}}
		for _, form := range forms {
			compiled, problems := renderer.Compile(text, form, scope())
			if (compiled == nil) != (problems.Err() != nil) {
				t.Fatalf("%q: template %v with %v", s, compiled, problems)
			}
			for _, p := range problems {
				if p.Pos.Column < 1 || p.Pos.Column > len(s)+1 || p.What == "" {
					t.Fatalf("%q: an error outside the text: %v", s, p)
				}
			}
			if compiled != nil {
				with(t, sample, samplePath, func(r *matcher.Request) { compiled.Append(nil, r) })
			}
		}
		condition, problems := renderer.CompileCondition(text, scope())
		if problems.Err() == nil {
			with(t, sample, samplePath, func(r *matcher.Request) { condition.Holds(r) })
		}
	})
}
