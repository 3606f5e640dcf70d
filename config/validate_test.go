package config

import (
	"strings"
	"testing"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

func TestValidateOfASpecMadeInGo(t *testing.T) {
	good := func() Endpoint { return Endpoint{Path: syntax.Text{Value: "/x"}} }
	for _, c := range []struct {
		name   string
		change func(e *Endpoint)
		want   []string // "key: part of the message"
	}{
		{"an endpoint with a path alone", func(*Endpoint) {}, nil},
		{"no path", func(e *Endpoint) { e.Path.Value = "" }, []string{"path: the path is empty"}},
		{"a lower case method", func(e *Endpoint) { e.Method = "get" }, []string{`method: is "get"`}},
		{"an upper case host", func(e *Endpoint) { e.Host = "A.b" }, []string{`host: "A.b" is not in lower case`}},
		{"a host too long", func(e *Endpoint) { e.Host = strings.Repeat("a.", 130) + "a" }, []string{"host: the host is longer"}},
		{"a label too long", func(e *Endpoint) { e.Host = strings.Repeat("a", 64) }, []string{"host: "}},
		{"a bad status", func(e *Endpoint) { e.Response.Status = 700 }, []string{"response.status: is 700"}},
		{"bad headers", func(e *Endpoint) {
			e.Response.Headers = []Header{{Name: "a b"}, {Name: "X", Value: syntax.Text{Value: "1\r\n"}}, {Name: "x"}, {Name: "connection"}}
		}, []string{"response.headers.a b: ", "response.headers.X: the control character", "response.headers.x: is the same", "response.headers.connection: is left out"}},
		{"a repeated header", func(e *Endpoint) { e.Response.Headers = []Header{{Name: "X"}, {Name: "X"}} }, nil},
		{"two bodies", func(e *Endpoint) {
			e.Response.Body.Value = "x"
			e.Response.External = &ExternalBody{Provider: "json", Path: syntax.Text{Value: "a.json"}}
		}, []string{"response.external-body: body and external-body"}},
		{"no provider, no path", func(e *Endpoint) { e.Response.External = &ExternalBody{} },
			[]string{"response.external-body.provider: ", "response.external-body.path: "}},
		{"durations below 0", func(e *Endpoint) {
			e.Response.External = &ExternalBody{Provider: "json", Path: syntax.Text{Value: "http://a"}, Timeout: -1, TTL: -1}
		}, []string{"response.external-body.timeout: ", "response.external-body.ttl: "}},
		{"a template that may be a URL", func(e *Endpoint) {
			e.Response.External = &ExternalBody{Provider: "json", Path: syntax.Text{Value: "{{env.BASE}}/x"}, Timeout: time.Second}
		}, nil},
		{"a URL whose host is a placeholder", func(e *Endpoint) {
			e.Response.External = &ExternalBody{Provider: "json", Path: syntax.Text{Value: "https://{{host}}/x"}, Insecure: true}
		}, nil},
		{"a body of several JSON values under a type of one", func(e *Endpoint) {
			e.Response.Headers = []Header{{Name: "Content-Type", Value: syntax.Text{Value: "application/json"}}}
			e.Response.Body.Value = "{}\n{}\n"
		}, []string{"response.body: the body looks like JSON"}},
		{"a body of one JSON value a line", func(e *Endpoint) {
			e.Response.Headers = []Header{{Name: "content-type", Value: syntax.Text{Value: "Application/X-NDJSON ; q=1"}}}
			e.Response.Body.Value = "{}\n{}\n"
		}, nil},
		{"a body of lines of which one is nearly JSON", func(e *Endpoint) {
			e.Response.Headers = []Header{{Name: "Content-Type", Value: syntax.Text{Value: "application/jsonl"}}}
			e.Response.Body.Value = "{}\n{,}\n"
		}, []string{"response.body: the body looks like JSON"}},
		{"a body of lines that is cut off", func(e *Endpoint) {
			e.Response.Headers = []Header{{Name: "Content-Type", Value: syntax.Text{Value: "application/x-ndjson"}}}
			e.Response.Body.Value = "{}\n{"
		}, []string{"response.body: the body looks like JSON but is not valid: unexpected EOF"}},
		{"a body that is nearly JSON", func(e *Endpoint) { e.Response.Body.Value = "[1,]" }, []string{"response.body: the body looks like JSON"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := good()
			c.change(&e)
			got := (&Spec{Endpoints: []Endpoint{good(), e}}).Validate()
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
