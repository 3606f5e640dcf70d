package listener

import (
	"fmt"
	"testing"

	"mockserver/config"
)

func TestCheck_OfABrokenEndpointSaysWhatIsNotKnown(t *testing.T) {
	for _, c := range []struct {
		name, endpoint string
		want           []string // the keys of all problems, including warnings
	}{
		{"an error elsewhere", `{path: /a, response: {status: 1, body: "{{nope}}"}}`,
			[]string{"[0].endpoint.response.status", "[0].endpoint.response.body"}},
		{"the parameters of a path that could not be read", `{path: [1], response: {body: "{{path-params.id}}"}}`,
			[]string{"[0].endpoint.path"}},
		{"no warning next to an error", `{path: /a, response: {status: 1, body: "{{path-params.id}}"}}`,
			[]string{"[0].endpoint.response.status"}},
		{"an error inside", `{path: /a, response: {external-body: {provider: jsn, path: a.json}}}`,
			[]string{"[0].endpoint.response.external-body.provider"}},
	} {
		problems := Check(config.Parse("m.yml", []byte("- endpoint: "+c.endpoint)), Options{})
		var got []string
		for _, p := range problems {
			got = append(got, p.Key)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %v\nwant %v", c.name, got, c.want)
		}
	}
}
