package listener

import (
	"fmt"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/syntax"
)

func TestCheck_OfABrokenEndpointSaysWhatIsNotKnown(t *testing.T) {
	for _, c := range []struct {
		name, endpoint string
		want           []string // the keys of all problems, warnings too
	}{
		{"a mistake elsewhere", `{path: /a, response: {status: 1, body: "{{nope}}"}}`,
			[]string{"[0].endpoint.response.status", "[0].endpoint.response.body"}},
		{"the parameters of a path that could not be read", `{path: [1], response: {body: "{{path-params.id}}"}}`,
			[]string{"[0].endpoint.path"}},
		{"no warning beside a mistake", `{path: /a, response: {status: 1, body: "{{path-params.id}}"}}`,
			[]string{"[0].endpoint.response.status"}},
		{"a mistake inside", `{path: /a, response: {external-body: {provider: jsn, path: a.json}}}`,
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

func TestKeys_AreThoseOfTheSameFileAndWhatTheyAreIn(t *testing.T) {
	mistake := func(file, key string) syntax.Problem {
		return syntax.Problem{Pos: syntax.Pos{File: file}, Key: key, What: "wrong"}
	}
	known := keysOf(syntax.Problems{mistake("a", "[1].endpoint.response.status"), mistake("a", "")})
	for _, c := range []struct {
		file, key string
		want      bool // it stays
	}{
		{"a", "[1].endpoint.response.status", false},
		{"a", "[1].endpoint.response", false},
		{"a", "[1]", false},
		{"a", "[1].endpoint.response.status.x", true},
		{"a", "[1].endpoint.resp", true},
		{"a", "[1].endpoint.response.body", true},
		{"a", "[11].endpoint.response", true},
		{"b", "[1].endpoint.response", true},
		{"a", "", false},
	} {
		if got := len(known.leaveOut(syntax.Problems{mistake(c.file, c.key)})) == 1; got != c.want {
			t.Errorf("%s %q: stays %v, want %v", c.file, c.key, got, c.want)
		}
	}
}

func TestExternalFiles_AreThoseOfBrokenEndpointsToo(t *testing.T) {
	spec := config.Parse("/conf/m.yml", []byte(`
- endpoint: {path: /a, response: {external-body: {provider: json, path: a.json}}}
- endpoint: {path: /b, response: {status: 1, external-body: {provider: json, path: b.json}}}
- endpoint: {path: /c, response: {external-body: {provider: json, path: "http://a.test/c.json"}}}
- endpoint: {path: /d, response: {body: d}}
`))
	if got := externalFiles(nil, Options{}); len(got) > 0 {
		t.Errorf("of no spec: %v", got)
	}
	got := strings.Join(externalFiles(spec, Options{}), " ")
	for name, want := range map[string]bool{"/conf/a.json": true, "/conf/b.json": true, "a.test": false} {
		if strings.Contains(got, name) != want {
			t.Errorf("%s among the files: %v, want %v: %s", name, !want, want, got)
		}
	}
}
