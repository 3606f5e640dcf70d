package config

import (
	"strings"
	"testing"
	"time"

	"mockserver/internal/semantics"
)

func TestNew_ChecksBodiesAndHosts(t *testing.T) {
	typed := func(media, body string) func(e *Endpoint) {
		return func(e *Endpoint) {
			e.Response = Response{Headers: Headers("Content-Type", media), Body: body}
		}
	}
	for _, c := range []struct {
		name   string
		change func(e *Endpoint)
		want   []string // "key: part of the message"
	}{
		{"an endpoint with a path alone", func(*Endpoint) {}, nil},
		{"a host too long", func(e *Endpoint) { e.Host = strings.Repeat("a.", 130) + "a" }, []string{"host: the host is longer"}},
		{"a label too long", func(e *Endpoint) { e.Host = strings.Repeat("a", 64) }, []string{"host: "}},
		{"bad headers", func(e *Endpoint) { e.Response.Headers = Headers("a b", "", "X", "1\r\n", "x", "", "connection", "") },
			[]string{"response.headers.a b: ", "response.headers.X: the control character", "response.headers.x: is the same", "response.headers.connection: is left out"}},
		{"a repeated header", func(e *Endpoint) { e.Response.Headers = Headers("X", "", "X", "") }, nil},
		{"no provider, no path", func(e *Endpoint) { e.Response.External = &ExternalBody{} },
			[]string{"response.external-body: provider is missing", "response.external-body: path is missing"}},
		{"a template that may be a URL", func(e *Endpoint) {
			e.Response.External = &ExternalBody{Provider: "json", Path: "{{env.BASE}}/x", Timeout: time.Second}
		}, nil},
		{"a URL whose host is a placeholder", func(e *Endpoint) {
			e.Response.External = &ExternalBody{Provider: "json", Path: "https://{{host}}/x", Insecure: true}
		}, nil},
		{"a body of several JSON values under a type of one", typed("application/json", "{}\n{}\n"), []string{"response.body: the body looks like JSON"}},
		{"a body of one JSON value a line", typed("Application/X-NDJSON ; q=1", "{}\n{}\n"), nil},
		{"a body of lines of which one is nearly JSON", typed("application/jsonl", "{}\n{,}\n"), []string{"response.body: the body looks like JSON"}},
		{"a body of lines that is cut off", typed("application/x-ndjson", "{}\n{"), []string{"response.body: the body looks like JSON but is not valid: unexpected EOF"}},
		{"a body that is nearly JSON", func(e *Endpoint) { e.Response.Body = "[1,]" }, []string{"response.body: the body looks like JSON"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := Endpoint{Path: "/x"}
			c.change(&e)
			got := New(Endpoint{Path: "/x"}, e).Validate()
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for i, p := range got {
				if !strings.HasPrefix(p.Key+": "+p.What, "[1].endpoint."+c.want[i]) {
					t.Errorf("got %q, want %q", p, c.want[i])
				}
			}
		})
	}
}

func TestValidateFindsNothingNewInALoadedSpec(t *testing.T) {
	spec := Parse("f.yml", []byte(largeConfig(3)))
	if got := append(spec.Validate(), spec.Problems...); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

func TestContentTypes(t *testing.T) {
	for contentType, want := range map[string]struct {
		media string
		json  bool
	}{
		"":                                   {"", false},
		"json":                               {"json", false},
		"application/json":                   {"application/json", true},
		" Application/JSON ; charset=utf-8":  {"application/json", true},
		"application/problem+json; a=b; c=d": {"application/problem+json", true},
		"application/x-ndjson":               {"application/x-ndjson", true},
		"application/jsonl":                  {"application/jsonl", true},
		"application/jsonp":                  {"application/jsonp", false},
		"text/plain; x=application/json":     {"text/plain", false},
		"{{headers.Accept}}":                 {"{{headers.accept}}", false},
	} {
		if got := semantics.MediaType(contentType); got != want.media {
			t.Errorf("the media type of %q is %q, want %q", contentType, got, want.media)
		}
		if got := semantics.IsJSON(contentType); got != want.json {
			t.Errorf("%q is JSON: %v, want %v", contentType, got, want.json)
		}
	}
}
