package bench

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/internal/list"
)

// sampleOf returns a request for an endpoint, made from its declaration: path parameters by
// their types, the documented example of a body, and the examples of an OpenAPI document.
func sampleOf(e *item.Endpoint) request {
	r := request{Method: e.EffectiveMethod(), Headers: map[string]string{}}
	if r.Method == item.MethodAny {
		r.Method = "GET"
	}
	var values map[string]string
	query := ""
	if op := e.Operation; op != nil && op.Sample != nil {
		values, query, r.Body = op.Sample.Path, op.Sample.Query.Encode(), string(op.Sample.Body)
		for _, h := range op.Sample.Headers {
			r.Headers[h.Name] = h.Value
		}
		if op.Sample.MediaType != "" {
			r.Headers["Content-Type"] = op.Sample.MediaType
		}
	}
	r.Path = samplePath(e, values)
	if query != "" {
		r.Path += "?" + query
	}
	if e.Host != "" {
		r.Headers["Host"] = strings.Replace(e.Host, "*.", "a.", 1)
	}
	if e.Doc.Body != "" {
		r.Body = e.Doc.Body
	}
	if r.Body == "" && slices.Contains([]string{"POST", "PUT", "PATCH"}, r.Method) {
		r.Body = "{}"
	}
	return r
}

// typed contains values that fit the types of path parameters. It must not be changed.
var typed = map[string]string{
	"int": "7", "float": "1.5", "double": "1.5", "bool": "true", "boolean": "true",
	"uuid": "7d444840-9dc0-11d1-b245-5ffdce74fad2", "date": "2024-02-29",
}

// samplePath returns the path of an endpoint with a value for each parameter.
func samplePath(e *item.Endpoint, values map[string]string) string {
	if e.Template {
		return expandedTemplate(e.Path.Value, values)
	}
	declared, _, _ := strings.Cut(e.Path.Value, "?")
	segments := strings.Split(declared, "/")
	for i, segment := range segments {
		switch {
		case strings.HasPrefix(segment, ":"):
			_, kind, _ := strings.Cut(segment, "|")
			segments[i] = cmp.Or(typed[kind], "a1")
		case strings.HasPrefix(segment, "*") && i == len(segments)-1:
			segments[i] = "a/b"
		default:
			segments[i] = escapedLiteral(segment)
		}
	}
	return strings.Join(segments, "/")
}

// expandedTemplate returns a path as OpenAPI writes it, with a value for each parameter in
// braces.
func expandedTemplate(path string, values map[string]string) string {
	var b strings.Builder
	for {
		text, rest, opened := strings.Cut(path, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !opened || !closed || strings.Contains(name, "/") {
			b.WriteString(escapedPath(path))
			return b.String()
		}
		b.WriteString(escapedPath(text) + url.PathEscape(cmp.Or(values[name], "a1")))
		path = after
	}
}

// escapedPath returns a part of a declared path, of several segments, escaped for sending.
func escapedPath(text string) string {
	return strings.Join(list.Map(strings.Split(text, "/"), escapedLiteral), "/")
}

// escapedLiteral returns a declared segment, escaped for sending.
func escapedLiteral(segment string) string {
	if decoded, err := url.PathUnescape(segment); err == nil {
		segment = decoded
	}
	return url.PathEscape(segment)
}
