package fetcher_test

import (
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/fetcher"
)

func TestFiles_AreThoseOfBrokenEndpointsToo(t *testing.T) {
	spec := config.Parse("/conf/m.yml", []byte(`
- endpoint: {path: /a, response: {external-body: {provider: json, path: a.json}}}
- endpoint: {path: /b, response: {status: 1, external-body: {provider: json, path: b.json}}}
- endpoint: {path: /c, response: {external-body: {provider: json, path: "http://a.test/c.json"}}}
- endpoint: {path: /d, response: {body: d}}
`))
	if got := fetcher.Files(nil, nil); len(got) > 0 {
		t.Errorf("without a spec: %v", got)
	}
	got := strings.Join(fetcher.Files(spec, nil), " ")
	for name, want := range map[string]bool{"/conf/a.json": true, "/conf/b.json": true, "a.test": false} {
		if strings.Contains(got, name) != want {
			t.Errorf("%s among the files: %v, want %v: %s", name, !want, want, got)
		}
	}
}
