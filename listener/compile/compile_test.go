package compile

import (
	"mockserver/config/item"
	"mockserver/config/syntax"
	"testing"
)

func TestDefaultContentType(t *testing.T) {
	for _, c := range []struct {
		name string
		resp item.Response
		want string
	}{
		{"no body", item.Response{}, typeText},
		{"a text", item.Response{Body: syntax.Text{Value: "hello"}}, typeText},
		{"an object", item.Response{Body: syntax.Text{Value: " \n{\"a\":1}"}}, typeJSON},
		{"a list", item.Response{Body: syntax.Text{Value: "[1]"}}, typeJSON},
		{"a map of the configuration", item.Response{Body: syntax.Text{Value: "7"}, BodyJSON: true}, typeJSON},
		{"an external body", item.Response{External: &item.ExternalBody{}}, typeJSON},
		{"a placeholder", item.Response{Body: syntax.Text{Value: "{{path}}"}}, typeText},
		{"a placeholder in a raw text is an object by its first letter", item.Response{Body: syntax.Text{Value: "{{path}}"}, Raw: true}, typeJSON},
		{"an object in a branch", item.Response{Body: syntax.Text{Value: "{% if path %} {\"a\":1}{% endif %}"}}, typeJSON},
		{"an object in a branch, spelt with braces", item.Response{Body: syntax.Text{Value: "{{#if path}}{\"a\":1}{{/if}}"}}, typeJSON},
		{"a text in a branch", item.Response{Body: syntax.Text{Value: "{% if path %}x{% endif %}"}}, typeText},
		{"an unclosed tag", item.Response{Body: syntax.Text{Value: "{% if path"}}, typeText},
	} {
		if got := defaultContentType(&c.resp); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
