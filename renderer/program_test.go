package renderer_test

import (
	"strings"
	"testing"

	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

// A template without loops is rendered by its program, a template with a loop by its nodes: both
// produce the same text, up to the maximum length. The loop added here writes nothing.
func FuzzProgram(f *testing.F) {
	f.Add("a \" & < / text", uint16(0))
	f.Add("", uint16(0))
	f.Add(strings.Repeat("long ", 300), uint16(100))
	f.Add("short", uint16(9))
	forms := []struct {
		form       renderer.Form
		head, tail string
	}{{renderer.Plain, "", ""}, {renderer.JSON, `["`, `", {{path-params.id}}, {{path-params.name}}]`}, {renderer.XML, "<a>", "</a>"}, {renderer.Header, "", ""}, {renderer.URL, "http://a/", ""}}
	f.Fuzz(func(t *testing.T, s string, most uint16) {
		said := strings.NewReplacer("{", "", "}", "", `"`, "", `\`, "", "\n", "").Replace(s)
		middle := said + `{{path-params.id}}` + said + `{{path-params.name|upper}}{{query-params.page}}{% if method = POST %}{{path-params.name}}{% endif %}`
		for _, form := range forms {
			var texts [2]string
			var stopped [2]error
			for i, loop := range []string{"", "{% for x in json-params.none %}{% endfor %}"} {
				compiled, problems := renderer.Compile(syntax.Text{Value: form.head + middle + form.tail + loop}, form.form, scope())
				if problems.Err() != nil {
					return // the text is not valid in this form
				}
				with(t, sample, samplePath, func(r *matcher.Request) {
					r.MaxText = int(most)
					texts[i], stopped[i] = string(compiled.Append([]byte("before"), r)), r.Stopped
				})
			}
			if texts[0] != texts[1] || stopped[0] != stopped[1] {
				t.Errorf("the program makes %q, %v; the nodes %q, %v", texts[0], stopped[0], texts[1], stopped[1])
			}
		}
	})
}
