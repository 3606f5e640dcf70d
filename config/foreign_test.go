package config

import (
	"slices"
	"strings"
	"testing"

	"mockserver/config/item"
	"mockserver/config/table"
)

// For a key of another tool, the message suggests the right key, or the map to which that key
// belongs.
func TestWordsOfOtherTools(t *testing.T) {
	const endpoint = "- endpoint: {path: /x, response: {}, §%s: 1}\n"
	const hook = "- endpoint: {path: /x, response: {}, webhook: {method: POST, url: 'http://a', §%s: 1}}\n"
	for _, c := range []struct{ word, in, want string }{
		{"delay", endpoint, `(did you mean "latency"?)`},
		{"fixedDelayMilliseconds", endpoint, `(did you mean "latency"?)`},
		{"sleep", endpoint, `(did you mean "latency"?)`},
		{"delay", inResponse("§%s: 1"), `(did you mean "latency" in the endpoint?)`},
		{"delay", hook, `(did you mean "sleep-time"?)`},
		{"sleep", hook, `(did you mean "sleep-time"?)`},
		{"delay", "- websocket: {path: /x, send: [{response: a, §%s: 1}]}\n", `(did you mean "after"?)`},
		{"statusCode", inResponse("§%s: 1"), `(did you mean "status"?)`},
		{"status_code", inResponse("§%s: 1"), `(did you mean "status"?)`},
		{"statusCode", endpoint, `(did you mean "status" inside response?)`},
		{"status", endpoint, `(did you mean "status" inside response?)`},
		{"headers", endpoint, `(did you mean "headers" inside response?)`},
		{"jsonBody", inResponse("§%s: 1"), `(did you mean "body"?)`},
		{"data", inResponse("§%s: 1"), `(did you mean "body"?)`},
		{"jsonBody", endpoint, `(did you mean "body" inside response?)`},
		{"content-type", inResponse("§%s: 1"), `(did you mean "headers", {Content-Type: …}?)`},
		{"bodyFileName", inResponse("§%s: 1"), `(did you mean "external-body"?)`},
		{"proxy", endpoint, `(did you mean "proxy" inside response, the name of an upstream?)`},
		{"proxyBaseUrl", inResponse("§%s: 1"), `(did you mean "proxy", the name of an upstream?)`},
		{"request", endpoint, `(did you mean "path", with method, host and if next to it?)`},
		{"request", "- {§%s: {}}\n", `(did you mean "path" inside endpoint, with method, host and if next to it?)`},
		{"httpResponse", "- {§%s: {}}\n", `(did you mean "response" inside endpoint?)`},
		{"urlPathPattern", "- {§%s: /x}\n", `(did you mean "path" inside endpoint?)`},
		{"uri", "- endpoint: {response: {}, §%s: /x}\n", `(did you mean "path"?)`},
		{"verb", endpoint, `(did you mean "method"?)`},
		{"queryParameters", endpoint, `(did you mean "if"?)`},
		{"postServeActions", endpoint, `(did you mean "webhook"?)`},
		{"code", "- websocket: {path: /x, on-connect: {response: {body: a, §%s: 1}}}\n", `(did you mean "code" inside close?)`},
		{"file", "- data: {name: a, §%s: a.csv}\n", `(did you mean "path" inside from?)`},
		{"title", "- resource: {path: /a, data: {§%s: x}}\n", `(did you mean "name"?)`},
		{"key", "- resource: {path: /a, §%s: sku}\n", `(did you mean "key" inside data?)`},
		{"rows", "- resource: {path: /a, §%s: []}\n", `(did you mean "rows" inside data?)`},
		{"methods", "- resource: {path: /a, §%s: [GET]}\n", `(did you mean "allow"?)`},
		{"limit", "- resource: {path: /a, page: {§%s: 5}}\n", `(did you mean "size"?)`},
		{"post", "- resource: {path: /a, on: {§%s: {}}}\n", `(did you mean "create"?)`},
		{"id", "- endpoint: {path: /x, response: {}, find: {a: {in: b, §%s: 1}}}\n", `(did you mean "key"?)`},
		{"into", "- endpoint: {path: /x, response: {}, do: [{delete: {in: a, key: 1, §%s: b}}]}\n", `(did you mean "in"?)`},
		{"requests", "- endpoint: {path: /x, response: {}, rate-limit: {§%s: 1}}\n", `(did you mean "max-requests"?)`},
		{"limit", "- endpoint: {path: /x, response: {}, rate-limit: {§%s: 1}}\n", `(did you mean "max-requests"?)`},
		{"per-second", "- endpoint: {path: /x, response: {}, rate-limit: {§%s: 1}}\n", `(did you mean "max-requests", with window: 1s?)`},
		{"period", "- endpoint: {path: /x, response: {}, rate-limit: {§%s: 1}}\n", `(did you mean "window", such as 1s?)`},
		{"key", "- endpoint: {path: /x, response: {}, rate-limit: {§%s: a}}\n", `(did you mean "key-fn"?)`},
		{"max", "- endpoint: {path: /x, response: {}, capacity: {§%s: 1}}\n", `(did you mean "concurrent"?)`},
		{"max-queue", "- endpoint: {path: /x, response: {}, capacity: {concurrent: 1, §%s: 1}}\n", `(did you mean "queue"?)`},
		{"maxConcurrency", endpoint, `(did you mean "concurrent" inside capacity?)`},
		{"failure-rate", endpoint, `(did you mean "failure-rate" inside latency?)`},
		{"p99", endpoint, `(did you mean "p99" inside latency?)`},
		{"max-requests", endpoint, `(did you mean "max-requests" inside rate-limit?)`},
		{"sheet-name", inResponse("§%s: a"), `(did you mean "sheet-name" inside external-body?)`},
		{"queue", endpoint, `(did you mean "queue" inside capacity?)`},
		{"of", endpoint, `(did you mean "of" inside fault?)`},
		{"webhook", inResponse("§%s: a"), `(did you mean "webhook" in the endpoint?)`},
		{"rate-limit", inResponse("§%s: a"), `(did you mean "rate-limit" in the endpoint?)`},
		{"sleep-time", endpoint, `(did you mean "sleep-time" inside webhook?)`},
		{"priority", endpoint, "unknown key; expected one of "},
		{"staus", inResponse("§%s: 1"), `(did you mean "status"?)`},
	} {
		text, places := marked("f.yml", strings.ReplaceAll(c.in, "%s", c.word))
		errs := Parse("f.yml", []byte(text)).Problems.Errors()
		if len(errs) != 1 || errs[0].Pos != places[0] || !strings.HasPrefix(errs[0].What, "unknown key") || !strings.Contains(errs[0].What, c.want) {
			t.Errorf("%s in\n%s\ngives\n%v\nwant one at %v with %s", c.word, text, errs, places[0], c.want)
		}
	}
}

func TestAMappingOfWireMockIsNoMocksFile(t *testing.T) {
	errs := Parse("f.json", []byte(`{"request": {"method": "GET", "url": "/x"}, "response": {"status": 200}}`)).Problems.Errors()
	if len(errs) != 1 || !strings.Contains(errs[0].What, `expected a list of endpoints, [{"endpoint": {…}}]`) {
		t.Errorf("got %v, want how a list of endpoints is written", errs)
	}
}

// A word that is listed for two keys, or that suggests a key that does not exist, would be an error
// in the table.
func TestForeignWordsAreWrittenAsTheyAreCompared(t *testing.T) {
	var known []string
	for _, p := range tables(nil, table.Rows(item.Fields)) {
		for _, r := range p.table {
			known = append(known, r.Key)
		}
	}
	seen := map[string]bool{}
	for _, f := range foreigns {
		for word := range strings.FieldsSeq(f.words) {
			if seen[word] || squeezed.Replace(strings.ToLower(word)) != word {
				t.Errorf("%q occurs twice, or is not in lower case", word)
			}
			seen[word] = true
		}
		for _, path := range f.ours {
			leaf := path[strings.LastIndexByte(path, '.')+1:]
			if !slices.Contains(known, leaf) {
				t.Errorf("%q is not a key of the configuration", path)
			}
		}
	}
}
