//go:build !race

package renderer_test

import (
	"testing"

	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

func TestAllocations_Append(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"a static text", `{"a":1}`},
		{"a path parameter", `{"id":{{path-params.id}}}`},
		{"parts of the target", `{"a":"{{path-segments.1}}","b":"{{path-segments.9}}","c":"{{path-and-query}}"}`},
		{"a query parameter", `{"page":"{{query-params.page}}"}`},
		{"a header and a cookie", `{"a":"{{header-params.X-Request-Id}}","b":"{{cookie-params.theme}}"}`},
		{"a JSON value", `{"a":{{json-params.obj.a.b.c}},"n":{{json-params.n}}}`},
		{"a JSON text with escapes", `{"a":{{json-params.text}}}`},
		{"default, add and length", `{"a":{{query-params.page|default:"1"|add:1}},"b":{{json-params.list.length}}}`},
		{"whole strings of a map", `{"a":"{{json-params.obj}}","n":"{{json-params.n}}","b":"{{json-params.n|text}}","c":"{{json-params.none}}","d":"{{json-params.text}}"}`},
		{"a conditional", `{% if query-params.page > 5 and json-params.yes = true %}x{% else %}y{% endif %}`},
		{"loops", `[{% for x in json-params.list %}{% for y in json-params.list %}{{x}}{{loop.index}}{{y.k}}{% endfor %}{% endfor %}]`},
		{"dates, in zones too", `{"a":{{json-params.n|date:"iso"}},"b":"{{now|date:"%H:%M":"Europe/Zurich"}}","c":"{{now|date:"date":json-params.zone}}","d":{{now|date:"date":json-params.obj.a.b.c}}}`},
		{"parts of the host", `{"a":"{{host.name}}","b":{{host.port}},"c":"{{host.url}}"}`},
		{"now and uuid", `{"now":"{{now}}","id":"{{uuid}}"}`},
		{"ULIDs, random texts and a counter of a value", `{"a":"{{ulid}}{{uuid7}}","b":"{{random-text(20)}}{{random-hex(8)}}","n":{{counter("a", path-params.id)}},"m":{{json-params.n|neg}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			compiled, problems := renderer.Compile(syntax.Text{Value: c.text, Typed: true}, renderer.JSON, scope())
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			with(t, sample, samplePath, func(r *matcher.Request) {
				buf := make([]byte, 0, 4096)
				r.Arena = make([]byte, 0, 4096)
				if got := testing.AllocsPerRun(100, func() {
					r.Arena = r.Arena[:0]
					buf = compiled.Append(buf[:0], r)
				}); got != 0 {
					t.Errorf("%v allocations, want none", got)
				}
			})
		})
	}
}

func TestAllocations_Holds(t *testing.T) {
	condition, problems := renderer.CompileCondition(syntax.Text{
		Value: `json-params.n >= 1 and (query-params.tag = one or path-params.id matches "^x") and json-params.list contains "two"`,
	}, scope())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	with(t, sample, samplePath, func(r *matcher.Request) {
		if got := testing.AllocsPerRun(100, func() {
			if !condition.Holds(r) {
				t.Error("does not hold")
			}
		}); got != 0 {
			t.Errorf("%v allocations, want none", got)
		}
	})
}
