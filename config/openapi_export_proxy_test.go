package config_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mockserver/config"

	"mockserver/config/openapi/export"
)

// OpenAPI cannot express endpoints for any method: they are written as declared, like upstreams.
func TestSpec_Proxies(t *testing.T) {
	path := t.TempDir() + "/p.yml"
	err := os.WriteFile(path, []byte("- upstream: {name: real, url: 'http://127.0.0.1:1'}\n- endpoint: {path: /a, response: {body: a}}\n- endpoint: {method: any, path: '/*rest', response: {proxy: real}}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var loader config.Loader
	document, _, err := export.Spec(loader, loader.Load(path))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for path := range document.Get("paths").Members() {
		paths = append(paths, path)
	}
	if !slices.Equal(paths, []string{"/a"}) {
		t.Errorf("got the paths %q, want /a alone", paths)
	}
	text, err := export.Write(document, "json")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"x-mockserver-upstreams"`, `"http://127.0.0.1:1"`, `"x-mockserver-proxies"`, `"/*rest"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}
