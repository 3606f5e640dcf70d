package renderer_test

import (
	"strings"
	"testing"

	"mockserver/config/syntax"
	"mockserver/renderer"
)

// Each path through the blocks of a JSON body is a separate text. If none of them is JSON, there is a warning.
func TestCompile_BlocksThatMakeNoJSON(t *testing.T) {
	for _, c := range []struct{ text, column, want string }{
		{`{"a":{{path}},{% if path %}{% endif %}}`, "1:1", "on any path through its blocks"},
		{`{"a" {% if path %}1{% else %}2{% endif %}}`, "1:1", "on any path"},
		{`[{% for x in json-params %}{{x}}{% endfor %}`, "1:1", "on any path"},
		{`{% raw %}{{% endraw %}{% if path %}"a":1{% endif %}`, "1:1", "on any path"},
		{`{"a":{% if path %}1,{% else %}1{{host}}{% endif %}}`, "1:1", "on any path"},
		{`{"a":{% if host %}{"b":{% if path %}1,{% else %}]{% endif %}}{% else %}2.{% endif %}}`, "1:1", "on any path"},
		{`[0,{% for x in json-params %}{{x}},{% endfor %}]`, "1:1", "on any path"},
	} {
		compiled, problems := renderer.Compile(syntax.Text{Value: c.text, Pos: syntax.Pos{File: "f", Line: 1, Column: 1}}, renderer.JSON, scope())
		if compiled == nil || len(problems) != 1 {
			t.Errorf("%s: %v; want one warning", c.text, problems)
			continue
		}
		got := problems[0]
		if !got.Warning || !strings.Contains(got.What, "not valid JSON") || !strings.Contains(got.What, c.want) ||
			!strings.HasPrefix(got.String(), "f:"+c.column+":") {
			t.Errorf("%s\n has the warning %s\nwant at %s: %s", c.text, got, c.column, c.want)
		}
	}
}

// There is no warning about a body that is JSON on one of its paths, or that has too many paths to check.
func TestCompile_BlocksThatMakeJSON(t *testing.T) {
	deep := strings.Repeat("{% for x in json-params %}", 30) + "{{x}}" + strings.Repeat("{% endfor %}", 30)
	for _, text := range []string{
		`[{% for x in json-params %}{{x}}{% if not loop.last %},{% endif %}{% endfor %}]`,
		`[{% for x in json-params %}{% if not loop.first %},{% endif %}{{x}}{% endfor %}]`,
		`[{% for x in json-params %}{% if loop.index > 1 %},{% endif %}{{x}}{% endfor %}]`,
		`[{% for x in json-params %}{% if loop.first %}{% else %},{% endif %}"{{x}}"{% endfor %}]`,
		`[{% for x in json-params %}[{% for y in x %}{{y}}{% if not loop.last %},{% endif %}{% endfor %}]{% if not loop.last %},{% endif %}{% endfor %}]`,
		`{ {% for x in json-params %}"{{x.k}}":{{x.v}}, {% endfor %}"n": 1}`,
		`{"a":1{% if path %},"b":2{% endif %}{% for x in json-params %},"{{x}}":1{% endfor %}}`,
		`{"a":{% if path %}1{% else %}null{% endif %}}`,
		`{% if path %}{"a":1}{% elif host %}[1]{% else %}"x"{% endif %}`,
		`{% if path %}{"a":1}{% endif %}`,                              // or an empty text
		`{% for x in json-params %}{{x|json}}` + "\n" + `{% endfor %}`, // one value per line
		`{"a":"{% if path %}x\u00e9{% endif %}{% for x in json-params %}{{x}}, {% endfor %}"}`,
		`{{#if path}}{"a":1}{{else}}{"b":-1.5e3}{{/if}}`,
		`{"a":{% if path = "x" %}1{% elif path != "x" %}2{% endif %}}`, // one of the conditions holds
		`{"a":{% if path %}1{% elif not path %}2{% endif %}}`,
		`{"a":{% if path %}1{% endif %}{% if not path %}2{% endif %}}`,
		`{ {% if path %}"a":1{% endif %}{% if path and host %},{% endif %}{% if host %}"b":2{% endif %} }`,
		`[0{% if json-params|length > 0 %},{% for x in json-params %}{{x}}{% if not loop.last %},{% endif %}{% endfor %}{% endif %}]`, // json-params is not empty
		`{"a":{% if json-params.length = 1 %}{% for x in json-params %}{{x}}{% endfor %}{% else %}[]{% endif %}}`,
		`{"a":{% if path or host %}{% if path %}1{% elif host %}2{% endif %}{% else %}0{% endif %}}`,
		`{"a":{% if 1 = 2 %}nothing{% else %}2{% endif %}}`, // never the first
		`{"a":1{% for x in json-params %}{% if loop.index > 100 %}nothing{% endif %}{% endfor %}}`,
		"[" + deep + "]", // too many paths to be tried
		`{"a":{% if path %}1{% endif %}}`,
		`[{% for x in json-params %}{{x}},{% endfor %}]`, // if the list is empty
		`{"a":tr{% if path %}ue{% else %}ue{% endif %}}`,
		`{"a":1{% if path %}0{% endif %}}`,
	} {
		compiled, problems := renderer.Compile(syntax.Text{Value: text}, renderer.JSON, scope())
		if compiled == nil || len(problems) != 0 {
			t.Errorf("%.200s: %v; want no warning", text, problems)
		}
	}
}

// The work of checking the blocks of a text is limited: otherwise this test would take hours.
func TestCompile_ManyBlocksOfJSON(t *testing.T) {
	for _, text := range []string{
		"{% if path %}1" + strings.Repeat("{% elif path = 1 %}2", 50_000) + "{% endif %}",
		"[0" + strings.Repeat("{% if path %},1{% endif %}", 50_000) + "]",
		strings.Repeat("{% if path %}[{% else %}{ {% endif %}", 1000),
		strings.Repeat("{% for x in json-params %}{% if path %}[{% endif %}", 50) + strings.Repeat("{% endfor %}", 50),
	} {
		if compiled, problems := renderer.Compile(syntax.Text{Value: text}, renderer.JSON, scope()); compiled == nil || problems.Err() != nil {
			t.Errorf("%.60s…: %v", text, problems)
		}
	}
}
