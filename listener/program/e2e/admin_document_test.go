package e2e_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pathParameter matches a parameter of a path.
var pathParameter = regexp.MustCompile(`\{\w+\}`)

// The index and the document contain the requests that are answered, and no others.
func TestAdmin_TheIndexAndTheDocumentHaveAllRequests(t *testing.T) {
	t.Parallel()
	_, a := Administered(t, One("x"), "--admin-token", "t")
	var index struct {
		OpenAPI  string
		Requests []struct{ Method, Path, What string }
	}
	a.Get("/__admin").Into(t, 200, &index) // without a token
	if again := a.Get("/__admin/"); again.Body != a.Get("/__admin").Body || index.OpenAPI != "/__admin/openapi.json" {
		t.Errorf("got %s", again.Body)
	}
	var listed []string
	methods := map[string][]string{}
	for _, r := range index.Requests {
		listed = append(listed, r.Method+" "+r.Path)
		methods[r.Path] = append(methods[r.Path], r.Method)
		if r.What == "" {
			t.Errorf("%s %s is not documented", r.Method, r.Path)
		}
	}
	var doc AdminDocument
	a.Get(index.OpenAPI).Into(t, 200, &doc)
	var described []string
	for path, operations := range doc.Paths {
		for operation := range operations {
			described = append(described, strings.ToUpper(operation)+" "+path)
		}
	}
	want := []string{"GET /healthz", "GET /readyz", "GET /metrics", "GET /__admin/", "GET /__admin/openapi.json", "GET /__admin/ca.pem"}
	for _, request := range adminPaths {
		request, _, _ = strings.Cut(request, "?")
		if request != "GET /nowhere" {
			for range 2 { // adjacent IDs need two passes
				request = regexp.MustCompile(`/(x|1)(/|$)`).ReplaceAllString(request, "/{id}$2")
			}
			want = append(want, request)
		}
	}
	for _, list := range [][]string{listed, described, want} {
		for i := range list {
			list[i] = pathParameter.ReplaceAllString(list[i], "{id}")
		}
		slices.Sort(list)
	}
	if !slices.Equal(listed, want) || !slices.Equal(described, want) {
		t.Errorf("listed    %v\ndescribed %v\nwant      %v", listed, described, want)
	}
	for path, accepted := range methods {
		allow := strings.Split(a.Do("TRACE", pathParameter.ReplaceAllString(path, "1"), "", "Authorization: Bearer t").Header.Get("Allow"), ", ")
		if slices.Contains(accepted, "GET") {
			accepted = append(accepted, "HEAD")
		}
		slices.Sort(allow)
		slices.Sort(accepted)
		if !slices.Equal(allow, accepted) {
			t.Errorf("%s answers %v, the list has %v", path, allow, accepted)
		}
	}
}
