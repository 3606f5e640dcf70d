package renderer

import (
	"testing"

	"mockserver/config/syntax"
)

// Each value that a loop does not change has one memo.
func TestMemos_OneForEachValue(t *testing.T) {
	for text, want := range map[string]int{
		"{{json-params.a}}": 0,
		"{% for x in json-params %}{{x}}{{loop.index}}{{uuid}}{% endfor %}":                                 0,
		"{% for x in json-params %}{{json-params.a}}{% endfor %}":                                           1,
		"{% for x in json-params %}{% if query-params.a|lower = x %}{% endif %}{% endfor %}":                1,
		`{% for x in json-params %}{{x|default:header-params.A|upper}}{% endfor %}`:                         1,
		`{% for x in json-params %}{{x|date:"%H":query-params.zone}}{% endfor %}`:                           1,
		`{% for x in json-params %}{{pick(cookie-params.a, form-params.b|length)}}{% endfor %}`:             2,
		"{% for x in json-params %}{% for y in x.l %}{{x.a}}{{json-params.b}}{{y}}{% endfor %}{% endfor %}": 2,
	} {
		compiled, problems := Compile(syntax.Text{Value: text}, Plain, &Scope{})
		if problems.Err() != nil || compiled.memos != want {
			t.Errorf("%s: %d memos, %v; want %d", text, compiled.memos, problems, want)
		}
	}
}
