package openapi

import (
	"strings"
	"testing"

	"mockserver/config/syntax"
)

// A valid base path is served as written, except for a trailing slash.
func FuzzBasePathFault(f *testing.F) {
	for _, text := range []string{"/", "/v2", "/v2/", "/a/b.c", "/%20", "/%2F", "/a:b", "v2", "", "//a", "/?", "/{a}", "/..", "/é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if BasePathFault(text) != "" {
			return
		}
		base, wrong := ServerPath(syntax.NewList(syntax.NewMap().SetText("url", text)))
		if wrong != "" {
			t.Fatalf("%q: %s", text, wrong)
		}
		if base == "" != (text == "/") || strings.HasSuffix(base, "/") || base != "" && base[0] != '/' {
			t.Errorf("%q is served as %q", text, base)
		}
		if strings.Count(base, "/") != strings.Count(strings.TrimSuffix(text, "/"), "/") {
			t.Errorf("%q is served as %q, which has other segments", text, base)
		}
	})
}
