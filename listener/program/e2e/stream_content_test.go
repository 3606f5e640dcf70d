package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A number of items above the limit is logged.
func TestStreams_LimitIsLogged(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- endpoint: {path: /s, response: {stream: [{data: a, times: query-params.n}]}}\n")
	if got := p.Do("HEAD", "/s?n=10000001", ""); got.Status != 200 {
		t.Errorf("status %d", got.Status)
	}
	p.WaitLine(0, "a stream has more than 10,000,000 items", `endpoint="GET /s"`)
}

// The Content-Type of a stream is that of its items, unless it is declared.
func TestStreams_ContentTypes(t *testing.T) {
	t.Parallel()
	all := []struct{ name, response, typ, cache, body string }{
		{"events", "{stream: [{data: a}]}", "text/event-stream", "no-cache", "data: a\n\n"},
		{"comments", "{stream: [{comment: a}]}", "text/event-stream", "no-cache", ": a\n\n"},
		{"an event in a group", "{stream: [{items: [{retry: 5}]}]}", "text/event-stream", "no-cache", "retry: 5\n\n"},
		{"a declared Cache-Control", "{headers: {cache-control: no-store}, stream: [{data: a}]}", "text/event-stream", "no-store", "data: a\n\n"},
		{"a declared type", "{headers: {Content-Type: text/plain}, stream: [{data: a}]}", "text/plain", "no-cache", "data: a\n\n"},
		{"lines", "{stream: [{line: {a: 1}}, {line: b}]}", "application/x-ndjson", "", "{\"a\":1}\nb\n"},
		{"lines and a piece", "{stream: [{line: {a: 1}}, {body: b}]}", "application/json", "", "{\"a\":1}\nb"},
		{"pieces of JSON", "{stream: [{body: '['}, {body: '{\"a\": \"{{query-params.x}}\"}'}, {body: ']'}]}", "application/json", "", `[{"a": "<"}]`},
		{"pieces of a text", "{stream: [{body: a}, {body: [1]}, {base64: Yg==}]}", "text/plain; charset=utf-8", "", "a[1]b"},
		{"without templates", "{template: false, stream: [{body: '{{path}}', times: 2}]}", "application/json", "", "{{path}}{{path}}"},
		{"pieces of a declared type", "{headers: {Content-Type: application/xml}, stream: [{body: '<a>{{query-params.x}}'}, {body: '</a>'}]}", "application/xml", "", "<a>&lt;</a>"},
		{"a status and a header", "{status: 202, headers: {X-A: '{{path}}'}, stream: [{data: a, if: method = POST}, {data: b}]}", "text/event-stream", "no-cache", "data: b\n\n"},
	}
	var config strings.Builder
	for i, c := range all {
		fmt.Fprintf(&config, "- endpoint: {path: /%d, response: %s}\n", i, c.response)
	}
	p := Serving(t, config.String())
	for i, c := range all {
		got := p.Get(fmt.Sprintf("/%d?x=%%3C", i))
		typ, cache := got.Header.Get("Content-Type"), got.Header.Get("Cache-Control")
		if typ != c.typ || c.cache != "" && cache != c.cache || got.Body != c.body || got.Header.Get("Content-Length") != "" {
			t.Errorf("%s: %q, Cache-Control %q, body %q; want %q, %q, %q", c.name, typ, cache, got.Body, c.typ, c.cache, c.body)
		}
	}
}

// Before the first item, an item that cannot be made is an error; after it, the client sees that the stream is incomplete.
func TestStreams_OfItemsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- endpoint: {path: /first, response: {stream: [{data: x, for: 'y in query-params.x|split:\"\"'}]}}\n"+
		"- endpoint: {path: /second, response: {stream: [{data: a}, {data: x, for: 'y in query-params.x|split:\"\"'}]}}\n", "--max-response", "1KiB")
	query := "?x=" + strings.Repeat("x", 1000)
	wantFailure(p.Get("/first"+query), t, 500, "Response too large", "response_too_large")
	if got, err := p.Try("GET", "/second"+query, ""); got.Status != 200 || got.Body != "data: a\n\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("status %d, body %q, error %v", got.Status, got.Body, err)
	}
}
