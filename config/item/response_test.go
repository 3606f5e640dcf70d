package item

import (
	"testing"

	"mockserver/config/syntax"
)

// A response made in Go counts as declared with any of its fields, but not with its position alone.
func TestResponse_DeclaresAnything(t *testing.T) {
	for name, c := range map[string]struct {
		response Response
		want     bool
	}{
		"the zero value":         {Response{}, false},
		"a position":             {Response{Pos: syntax.Pos{File: "f.yml", Line: 2, Column: 3}}, false},
		"an empty list":          {Response{Headers: []Header{}}, false},
		"the key path of a body": {Response{Body: syntax.Text{Key: "response.body"}}, false},
		"a status":               {Response{Status: 200}, true},
		"a header":               {Response{Headers: []Header{{}}}, true},
		"a body":                 {Response{Body: syntax.Text{Value: "a"}}, true},
		"an empty JSON body":     {Response{BodyJSON: true}, true},
		"an external body":       {Response{External: &ExternalBody{}}, true},
		"no template":            {Response{Raw: true}, true},
	} {
		if got := c.response.declaresAnything(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
