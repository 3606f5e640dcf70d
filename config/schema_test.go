package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/harness/volume"
)

// validator compiles a schema, which checks it against the draft that it names.
func validator(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// jsonOf returns a node as a JSON value.
func jsonOf(n *syntax.Node) any {
	switch n.Kind {
	case syntax.BoolNode:
		return n.Truth()
	case syntax.NumberNode:
		if n.Number == "" { // the schema has no rules for values that JSON cannot express
			return json.Number("0")
		}
		return json.Number(n.Number)
	case syntax.TextNode:
		return n.Text.Value
	case syntax.ListNode:
		list := []any{}
		for _, i := range n.Items {
			list = append(list, jsonOf(i))
		}
		return list
	case syntax.MapNode:
		object := map[string]any{}
		for _, e := range n.Entries {
			object[e.Key.Text.Value] = jsonOf(e.Value)
		}
		return object
	}
	return nil
}

// documents returns the documents of a file as JSON values, without the empty ones.
func documents(t testing.TB, name string, text []byte) []any {
	t.Helper()
	nodes, _ := syntax.Read(name, text)
	var docs []any
	for _, n := range nodes {
		if n.Kind != syntax.NullNode {
			docs = append(docs, jsonOf(n))
		}
	}
	return docs
}

// followsSchema returns how a file violates the schema.
func followsSchema(t testing.TB, s *jsonschema.Schema, name string, text []byte) error {
	t.Helper()
	for _, doc := range documents(t, name, text) {
		if err := s.Validate(doc); err != nil {
			return err
		}
	}
	return nil
}

// isList reports whether a file holds a list.
func isList(t *testing.T, file string, text []byte) bool {
	t.Helper()
	docs, _ := syntax.Read(file, text)
	return len(docs) > 0 && docs[0].Kind == syntax.ListNode
}

func TestTheExamplesFollowTheSchema(t *testing.T) {
	s := validator(t, Schema())
	var files []string
	for _, e := range syntax.Extensions() {
		found, err := filepath.Glob("../examples/*" + e)
		must(t, err)
		files = append(files, found...)
	}
	if len(files) < 2 {
		t.Fatalf("found only %q", files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		if !isList(t, file, text) {
			continue // an OpenAPI document, or a mocks file, which the schema does not describe
		}
		if err := followsSchema(t, s, file, text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if filepath.Ext(file) == ".edn" {
			continue
		}
		// The file is also read by an independent reader.
		var doc any
		must(t, yaml.Unmarshal(text, &doc))
		if err := s.Validate(doc); err != nil {
			t.Errorf("%s, read by the library: %v", file, err)
		}
		if first, _, _ := strings.Cut(string(text), "\n"); first != "# yaml-language-server: $schema=../docs/mockserver.schema.json" {
			t.Errorf("%s begins with %q, want the line for editors", file, first)
		}
	}
}

// single is a configuration with one error, and whether the schema also detects it.
type single struct {
	name  string
	text  string
	blind bool // detecting it takes more than one value, or more than JSON Schema can express
}

func TestSchemaAndDecoderAgreeAboutSingleMistakes(t *testing.T) {
	s := validator(t, Schema())
	endpoint := func(more string) string { return "- endpoint: {path: /x, response: {}, " + more + "}\n" }
	response := func(more string) string { return "- endpoint: {path: /x, response: {" + more + "}}\n" }
	external := func(more string) string { return response("external-body: {" + more + "}") }
	remote := func(more string) string { return external("provider: json, path: 'http://a/b', " + more) }
	for _, c := range []single{
		{"a map for the document", "endpoint: {path: /x, response: {}}\n", false},
		{"a text for the document", "hello\n", false},
		{"an item that is a text", "- hello\n", false},
		{"an item that is null", "-\n", false},
		{"an item without a key", "- {}\n", false},
		{"an item of an unknown kind", "- endpiont: {path: /x, response: {}}\n", false},
		{"an item with a second key", "- endpoint: {path: /x, response: {}}\n  other: {}\n", false},
		{"an endpoint that is null", "- endpoint:\n", false},
		{"an endpoint that is a list", "- endpoint: []\n", false},
		{"no path", "- endpoint: {response: {}}\n", false},
		{"no response", "- endpoint: {path: /x}\n", false},
		{"a path without its slash", "- endpoint: {path: x, response: {}}\n", false},
		{"an empty path", "- endpoint: {path: '', response: {}}\n", false},
		{"a path that is a number", "- endpoint: {path: 5, response: {}}\n", false},
		{"a path that is null", "- endpoint: {path: ~, response: {}}\n", false},
		{"a response that is a text", "- endpoint: {path: /x, response: hello}\n", false},
		{"an unknown key", endpoint("sumary: x"), false},
		{"an unknown method", endpoint("method: TRACE"), false},
		{"a method that is part of another", endpoint("method: GETS"), false},
		{"a method in letters that only look like it", endpoint("method: PO\u017FT"), false},
		{"an empty method", endpoint("method: ''"), false},
		{"a method that is null", endpoint("method: ~"), false},
		{"a method that is a list", endpoint("method: [GET]"), false},
		{"a host with a port", endpoint("host: 'a.b:80'"), false},
		{"a host that is a URL", endpoint("host: 'http://a'"), false},
		{"a star alone", endpoint("host: '*'"), false},
		{"two stars", endpoint("host: '*.*.a'"), false},
		{"a star inside", endpoint("host: a.*.b"), false},
		{"an empty host", endpoint("host: ''"), false},
		{"a host with an empty label", endpoint("host: a..b"), false},
		{"a host that ends with a dot", endpoint("host: a."), false},
		{"a host with a label that ends with a dash", endpoint("host: a-.b"), false},
		{"a host with a label that begins with one", endpoint("host: a.-b"), false},
		{"a host beyond ASCII", endpoint("host: \u00FC.de"), false},
		{"a host with a letter whose small one is in ASCII", endpoint("host: \u212A.de"), false},
		{"a label too long", endpoint("host: " + strings.Repeat("a", 64)), false},
		{"a host too long", endpoint("host: " + strings.Repeat("a.", 130) + "a"), true},
		{"a condition that is a map", endpoint("if: {}"), false},
		{"a query that is a list", endpoint("query: [a]"), false},
		{"a query parameter without a type", endpoint("query: {a: ~}"), false},
		{"a query parameter with a list", endpoint("query: {a: [int]}"), false},
		{"a tag that is a number", endpoint("tag: 5"), false},
		{"tags that are numbers", endpoint("tag: [a, 5]"), false},
		{"a summary that is a list", endpoint("summary: []"), false},
		{"a description that is a map", endpoint("description: {}"), false},
		{"a router-name that is a map", endpoint("router-name: {}"), false},
		{"an unknown key of a response", response("staus: 200"), false},
		{"a status below 200", response("status: 199"), false},
		{"a status above 599", response("status: 600"), false},
		{"a status with a fraction", response("status: 200.5"), false},
		{"a status that is a text", response("status: '200'"), false},
		{"a status that is null", response("status: ~"), false},
		{"a status with a point", response("status: 200.0"), true},
		{"headers that are a list", response("headers: [a]"), false},
		{"a header without a value", response("headers: {X-A: ~}"), false},
		{"a header with a map", response("headers: {X-A: {}}"), false},
		{"a header with a list in a list", response("headers: {X-A: [[]]}"), false},
		{"a header with null in a list", response("headers: {X-A: [~]}"), false},
		{"a header name with a blank", response("headers: {X A: 1}"), false},
		{"an empty header name", response("headers: {'': 1}"), false},
		{"a line break in a header", response(`headers: {X-A: "a\nb"}`), false},
		{"a NUL in a list of a header", response(`headers: {X-A: ["\0"]}`), false},
		{"a DEL in a header", response(`headers: {X-A: "\x7F"}`), false},
		{"a header in two spellings", response("headers: {X-A: 1, x-a: 2}"), true},
		{"template is a text", response("template: 'false'"), false},
		{"body and external body", response("body: x, external-body: {provider: json, path: a.json}"), true},
		{"a response that is null", "- endpoint: {path: /x, response: ~}\n", false},
		{"headers that are null", response("headers: ~"), false},
		{"a body that is null", response("body: ~"), false},
		{"an external body that is null", response("external-body: ~"), false},
		{"an external body without a provider", external("path: a.json"), false},
		{"an external body without a path", external("provider: json"), false},
		{"an external body with an empty path", external("provider: json, path: ''"), false},
		{"an unknown provider", external("provider: xml, path: a.xml"), false},
		{"a provider in capitals", external("provider: JSON, path: a.json"), false},
		{"a sheet-name that is a list", external("provider: xlsx, path: a.xlsx, sheet-name: []"), false},
		{"a workbook without a sheet", external("provider: xlsx, path: a.xlsx"), true},
		{"a timeout that is none", remote("timeout: soon"), false},
		{"a timeout without a unit", remote("timeout: '5'"), false},
		{"a timeout below 0", remote("timeout: -1s"), false},
		{"a timeout of a number below 0", remote("timeout: -1"), false},
		{"a timeout of 0", remote("timeout: 0"), false},
		{"a timeout that rounds to 0", remote("timeout: 1e-20"), true},
		{"a timeout of 0s", remote("timeout: 0s"), true},
		{"a ttl below 0", remote("ttl: -1s"), false},
		{"a ttl that rounds to 0 from below", remote("ttl: -1e-20"), false},
		{"a ttl that is a boolean", remote("ttl: true"), false},
		{"a ttl too long", remote("ttl: 1e300"), true},
		{"insecure is a number", remote("insecure: 1"), false},
		{"stale-if-error is null", remote("stale-if-error: ~"), false},
		{"neither response nor responses", "- endpoint: {path: /x}\n", false},
		{"response and responses", endpoint("responses: [{}]"), false},
		{"responses that are a map", "- endpoint: {path: /x, responses: {}}\n", false},
		{"no responses", "- endpoint: {path: /x, responses: []}\n", true},
		{"an outcome that is null", "- endpoint: {path: /x, responses: [~]}\n", false},
		{"an unknown key of an outcome", "- endpoint: {path: /x, responses: [{staus: 200}]}\n", false},
		{"a status of an outcome", "- endpoint: {path: /x, responses: [{status: 99}]}\n", false},
		{"a weight below 0", "- endpoint: {path: /x, responses: [{weight: -1}]}\n", false},
		{"a weight that is a text", "- endpoint: {path: /x, responses: [{weight: '1'}]}\n", false},
		{"weights all zero", "- endpoint: {path: /x, responses: [{weight: 0}]}\n", true},
		{"an unknown select", "- endpoint: {path: /x, responses: [{}], select: any}\n", false},
		{"select without responses", endpoint("select: weighted"), true},
		{"an empty latency", endpoint("latency: {}"), true},
		{"an unknown key of a latency", endpoint("latency: {mean: 1s}"), false},
		{"the percentile 0", endpoint("latency: {p0: 1s}"), false},
		{"the percentile 101", endpoint("latency: {p101: 1s}"), false},
		{"a percentile in capitals", endpoint("latency: {P50: 1s}"), false},
		{"a percentile without its unit", endpoint("latency: {p50: 20}"), false},
		{"percentiles that fall", endpoint("latency: {p50: 2s, p99: 1s}"), true},
		{"a median of 0", endpoint("latency: {median: 0, sigma: 1}"), false},
		{"a sigma below 0", endpoint("latency: {median: 1s, sigma: -1}"), false},
		{"milliseconds that are a text", endpoint("latency: {min-ms: '20'}"), false},
		{"milliseconds below 0", endpoint("latency: {min-ms: -1}"), false},
		{"milliseconds of more than a day", endpoint("latency: {min-ms: 86400001}"), false},
		{"a rate above 1", endpoint("latency: {failure-rate: 1.5}"), false},
		{"a percentage that is none", endpoint("latency: {timeout-rate: 1e1%}"), false},
		{"a percentage above 100", endpoint("latency: {timeout-rate: 101%}"), true},
		{"a fault without a type", endpoint("fault: {rate: 1}"), false},
		{"an unknown fault", endpoint("fault: {type: crash}"), false},
		{"bytes of another fault", endpoint("fault: {type: reset, bytes-per-second: 1}"), true},
		{"no bytes", endpoint("fault: {type: slow-body, bytes-per-second: 0}"), false},
		{"a window of nothing", endpoint("rate-limit: {window-ms: 0}"), false},
		{"a window without its unit", endpoint("rate-limit: {window: 60}"), false},
		{"no requests", endpoint("rate-limit: {max-requests: 0}"), false},
		{"an empty key", endpoint("rate-limit: {key-fn: ''}"), false},
		{"a key with a blank", endpoint("rate-limit: {key-fn: a b}"), false},
		{"a key of an unknown parameter", endpoint("rate-limit: {key-fn: path-params.id}"), true},
		{"an unknown algorithm", endpoint("rate-limit: {algorithm: bucket}"), false},
		{"a capacity of nothing", endpoint("capacity: {}"), false},
		{"none at once", endpoint("capacity: {concurrent: 0}"), false},
		{"a queue below 0", endpoint("capacity: {concurrent: 1, queue: -1}"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Parse("f.yml", []byte(c.text)).Problems.Err(); err == nil {
				t.Errorf("the decoder accepts %s", c.text)
			}
			if err := followsSchema(t, s, "f.yml", []byte(c.text)); (err == nil) != c.blind {
				t.Errorf("the schema reports %[2]v for %[1]s", c.text, err)
			}
		})
	}
}

func TestWhatTheDecoderAcceptsFollowsTheSchema(t *testing.T) {
	s := validator(t, Schema())
	for _, text := range []string{
		"[]", largeConfig(1), "- endpoint:\n    path: /hello/:name\n    response: {body: '{\"hello\": \"{{path-params.name}}\"}'}\n",
		"- endpoint: {path: /x, response: {}}\n---\n---\n- endpoint: {path: /y, response: {}}\n",
		"- endpoint: {path: /x, response: {}, if: ~, query: ~, body: ~, tag: ~, summary: ~, description: ~, router-name: ~}\n",
		"- endpoint: {path: /x, response: {body: '', headers: {}}, method: oPtIonS, host: '*.Ex_ample-1.COM', if: 0x1F, query: {1: 2, a: true}, tag: []}\n",
		"- endpoint: {path: \"/\\n\", response: {status: 0xC9, headers: {\"!#$%&'*+-.^_`|~9\": [a, 1, true, \"\\t\\x80\"], X: [], Y: .inf}}}\n",
		inResponse("external-body: {provider: json, path: http://a/b, timeout: .5s, ttl: 0}"),
		inResponse("external-body: {provider: json, path: http://a/b, timeout: 1.m2h3.4us5µs6μs7ns, ttl: +0}"),
		inResponse("external-body: {provider: json, path: http://a/b, timeout: 0.001, ttl: +1_000}"),
		inResponse("external-body: {provider: xlsx, path: a, sheet-name: 2024}"),
		"- &a {endpoint: &b {path: /x, response: {}}}\n- endpoint: {<<: *b, method: put}\n",
		inOutcomes("{weight: 0.5, status: 500, webhooks: [], fault: {type: slow-body, rate: 1%, bytes-per-second: 1}}", "{latency: {p0.5: 0, p99.99: 1s, max: 24h, min-ms: 0}}") + "    select: weighted\n",
		withKeys("latency: {median: 1m, sigma: 10, failure-rate: 0, timeout-rate: 100%, timeout-ms: 0.5}", "rate-limit: {window-ms: 0.5, key-fn: query-params. a, algorithm: fixed-window}"),
		withKeys("rate-limit: {}", "capacity: {concurrent: 1000000, queue: 0}"), withKeys("rate-limit: {key-fn: header-params.X.Y}", "latency: {p100: 0}"),
	} {
		if err := Parse("f.yml", []byte(text)).Problems.Err(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := followsSchema(t, s, "f.yml", []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// place is a table, and the position of the map that it describes.
type place struct {
	path  []string // keys from the item; with [] after the key of a list that holds such maps
	table []table.Row
}

// tables returns all tables of the language that have a place in a document.
func tables(at []string, table []table.Row) []place {
	all := []place{{at, table}}
	for _, r := range table {
		if r.Table != nil {
			all = append(all, tables(append(slices.Clone(at), r.Key), r.Table)...)
		}
		if r.Item != nil && r.Item.Table != nil {
			all = append(all, tables(append(slices.Clone(at), r.Key+"[]"), r.Item.Table)...)
		}
		if r.Value != nil && r.Value.Table != nil {
			all = append(all, tables(append(slices.Clone(at), r.Key+"{}"), r.Value.Table)...)
		}
	}
	return all
}

// givenKey returns the key of a row; for a row that stands for many keys, one of them.
func givenKey(r table.Row) string {
	if r.Many != nil {
		return map[string]string{"pNN": "p50"}[r.Key]
	}
	return r.Key
}

func TestEachRowOfTheTablesIsInTheSchema(t *testing.T) {
	var schema map[string]any
	must(t, json.Unmarshal(Schema(), &schema))
	if schema["$schema"] != "http://json-schema.org/draft-07/schema#" {
		t.Errorf("the draft is %v", schema["$schema"])
	}
	// follow returns the schema that a reference leads to. Draft 7 ignores keywords next to one.
	follow := func(at any) map[string]any {
		found, _ := at.(map[string]any)
		doc := found["description"]
		if all, is := found["allOf"].([]any); is {
			found = all[0].(map[string]any)
		}
		if to, is := found["$ref"].(string); is {
			if len(found) > 1 {
				t.Errorf("keywords next to a reference: %v", found)
			}
			found, _ = schema["definitions"].(map[string]any)[strings.TrimPrefix(to, "#/definitions/")].(map[string]any)
		}
		if found = maps.Clone(found); doc != nil {
			found["description"] = doc
		}
		return found
	}
	rows := 0
	for _, p := range tables(nil, table.Rows(item.Fields)) {
		at, _ := schema["items"].(map[string]any)
		for _, key := range p.path {
			key, isItem := strings.CutSuffix(key, "[]")
			key, isValue := strings.CutSuffix(key, "{}")
			at = follow(at["properties"].(map[string]any)[key])
			if isItem {
				at = follow(at["items"])
			}
			if isValue {
				at = follow(at["additionalProperties"])
			}
		}
		properties, _ := at["properties"].(map[string]any)
		patterns, _ := at["patternProperties"].(map[string]any)
		if len(properties)+len(patterns) != len(p.table) || at["additionalProperties"] != false {
			t.Errorf("%v: %d keys, others are accepted: %v; want %d and false", p.path, len(properties), at["additionalProperties"], len(p.table))
		}
		required, _ := at["required"].([]any)
		either, _ := at["oneOf"].([]any)
		for _, r := range p.table {
			rows++
			found := follow(properties[r.Key])
			if r.Many != nil {
				found = follow(patterns[r.Many.Pattern])
			}
			if found == nil || found["description"] != r.Doc || slices.Contains(required, any(r.Key)) != (r.Required && r.Unless == "") {
				t.Errorf("%v.%s is %v, required %v", p.path, r.Key, found, required)
			}
			if got := fmt.Sprint(either...); r.Required && r.Unless != "" && got != fmt.Sprintf("map[required:[%s]] map[required:[%s]]", r.Key, r.Unless) {
				t.Errorf("%v: required is either of %s; want %s or %s", p.path, got, r.Key, r.Unless)
			}
			anyMap := r.Key == "pattern" // the members of a JSON message
			if r.Kinds|table.Nulls != table.Anything && r.Kinds.Has(syntax.MapNode) && r.Table == nil && r.Value == nil && !anyMap {
				t.Errorf("%v.%s: the row of a map has neither a table nor a value", p.path, r.Key)
			}
			if r.Kinds|table.Nulls != table.Anything && r.Kinds.Has(syntax.ListNode) && r.Item == nil {
				t.Errorf("%v.%s: the row of a list has no item", p.path, r.Key)
			}
		}
	}
	if want := len(item.Fields) + len(item.EndpointFields) + len(item.ResponseFields); rows < want {
		t.Errorf("%d rows, want %d", rows, want)
	}
}

// The table that a row names is the one that its setter uses for decoding: the message about an
// unknown key lists the keys of that table.
func TestEachRowNamesTheTableThatIsDecodedBy(t *testing.T) {
	for _, p := range tables(nil, table.Rows(item.Fields))[1:] {
		var names []string
		for _, r := range p.table {
			names = append(names, r.Key)
		}
		document := `{"no such key": 1}`
		for _, key := range slices.Backward(p.path) {
			key, isItem := strings.CutSuffix(key, "[]")
			key, isValue := strings.CutSuffix(key, "{}")
			if isItem {
				document = "[" + document + "]"
			}
			if isValue {
				document = `{"x": ` + document + "}"
			}
			document = fmt.Sprintf(`{%q: %s}`, key, document)
		}
		got := Parse("f.json", []byte("["+document+"]")).Problems.Error()
		at := strings.Join(append([]string{""}, append(p.path, "no such key")...), ".")
		if want := ".no such key: unknown key; expected one of " + table.KeysNear(at, "no such key", names); !strings.Contains(got+"\n", want+"\n") {
			t.Errorf("%s: got %s\nwant %s", document, got, want)
		}
	}
}

// Editors read the schema for each file, so the table of several keys is described once.
func TestTheSchemaDescribesEachTableOnce(t *testing.T) {
	var schema struct{ Definitions map[string]json.RawMessage }
	must(t, json.Unmarshal(Schema(), &schema))
	texts := map[string]string{}
	for name, text := range schema.Definitions {
		if other, twice := texts[string(text)]; twice {
			t.Errorf("%s is %s", name, other)
		}
		texts[string(text)] = name
	}
	if size := len(Schema()); size > 120_000 {
		t.Errorf("the schema has %d bytes, want at most 120,000", size)
	}
}

// A validator ignores keywords that its draft does not define, so the schema must not use them.
func TestTheSchemaIsOfKeywordsOfDraft7(t *testing.T) {
	for _, newer := range []string{
		"$defs", "$anchor", "$dynamicRef", "$recursiveRef", "$vocabulary", "prefixItems", "minContains", "maxContains",
		"dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "deprecated",
	} {
		if bytes.Contains(Schema(), []byte(`"`+newer+`":`)) {
			t.Errorf("%s is not in draft 7", newer)
		}
	}
}

// values are tried for each row.
var values = []string{
	`null`, `true`, `0`, `-0`, `1`, `-1`, `200`, `204`, `599`, `600`, `200.0`, `2e2`, `1e-20`, `-1e-20`, `1e300`, `0.5`,
	`""`, `"x"`, `"/"`, `"/x/:id|int"`, `"GET"`, `"get"`, `"Post"`, `"PO\u017fT"`, `"json"`, `"xlsx"`, `"JSON"`, `"http://a/b"`,
	`"a.example.com"`, `"*.A-b_c.d"`, `"*"`, `"-a"`, `"\u212a.de"`, `"0"`, `"+0"`, `"-0"`, `"-0s"`, `"1.s"`, `".5ms"`, `"1h2m"`, `"+1us"`,
	`"5"`, `"1e3s"`, `"-1s"`, `"\n"`, `"a\tb"`, `"\u0000"`, `"false"`, `[]`, `{}`, `[null]`, `["x", 1]`, `{"a": [{"b": null}]}`, `{"x": "int"}`,
	`1000`, `1e9`, `1000000001`, `86400000.5`, `"20ms"`, `"25h"`, `"1%"`, `"0.50%"`, `"100.1%"`, `"1e1%"`, `"-0%"`, `"%"`, `"query-params.x"`, `"path-params.x"`,
	`{"p50": "1s"}`, `{"median": "1s", "sigma": 0}`, `{"concurrent": 1}`, `[{}]`, `[{"weight": 0}]`, `[{}, {"fault": {"type": "reset"}}]`,
	`[{"data": "x"}]`, `{"gap": "20ms"}`, `{"rate": "5%"}`, `"12 items"`, `{"data": "x"}`, `"200/s"`, `"a in json-params.b"`,
}

// forms returns the values that are tried for a row, alone and inside lists and maps, and maps with
// the keys that its table requires.
func forms(r table.Row) []string {
	all := slices.Clone(values)
	for _, word := range r.Enum {
		all = append(all, fmt.Sprintf("%q", word))
	}
	if r.Table != nil {
		for _, m := range least(r.Table) {
			all = append(all, m.String())
		}
	}
	if r.Item != nil {
		for _, v := range forms(*r.Item) {
			all = append(all, "["+v+"]", `["x", `+v+"]")
		}
	}
	if r.Value != nil {
		for _, v := range forms(*r.Value) {
			all = append(all, `{"X-A": `+v+"}")
		}
		for _, name := range []string{`""`, `"a b"`, `"\u00e4"`, `"!#$%&'*+-.^_|~9"`, `"Date"`} {
			all = append(all, "{"+name+`: "x"}`)
		}
	}
	return all
}

// members are the keys of a map and their JSON values.
type members map[string]string

func (m members) String() string {
	var all []string
	for key, value := range m {
		all = append(all, fmt.Sprintf("%q: %s", key, value))
	}
	slices.Sort(all)
	return "{" + strings.Join(all, ", ") + "}"
}

// with returns m with one more key and the keys that this key requires, without those that it
// excludes.
func (m members) with(rows []table.Row, key, value string) members {
	n := members{key: value}
	for k, v := range m {
		if k != key {
			n[k] = v
		}
	}
	switch key {
	case "responses":
		delete(n, "response")
	case "per":
		if _, scenario := n["first"]; !scenario {
			delete(n, "response")
			n["responses"], n["select"] = "[{}]", `"sequence"`
		}
	case "select":
		delete(n, "response")
		n["responses"] = "[{}, {}]"
	case "median":
		n["sigma"] = "0.4"
	case "sigma":
		n["median"] = `"40ms"`
	case "times":
		if has(rows, "every") {
			n["every"] = `"1s"`
		}
	case "pace", "heartbeat", "max-duration", "resume", "cut", "fault", "webhook":
		if has(rows, "stream") {
			n["stream"] = `[{"data": "x"}]`
		} else if has(rows, "response") {
			n["response"] = `{"stream": [{"data": "x"}]}`
		}
	case "item":
		if has(rows, "bytes-per-second") { // of a fault
			n["type"] = `"error"`
		}
	case "bytes-per-second":
		n["type"] = `"slow-body"`
	}
	if has(rows, "event") { // of the items of a stream, each of which has one content
		switch key {
		case "data", "comment", "line", "body", "base64", "file", "items":
		case "separator":
			n["line"] = `"x"`
		case "split", "as":
			n["file"] = `"schema_test.go"`
		default:
			n["data"] = `"x"`
		}
	}
	return n
}

// has reports whether a table has a key.
func has(rows []table.Row, key string) bool {
	return slices.ContainsFunc(rows, func(r table.Row) bool { return r.Key == key })
}

var patterns sync.Map // compiled, by their texts

func patternOf(r table.Row) *regexp.Regexp {
	if compiled, found := patterns.Load(r.Pattern); found {
		return compiled.(*regexp.Regexp)
	}
	compiled := regexp.MustCompile(r.Pattern)
	patterns.Store(r.Pattern, compiled)
	return compiled
}

// least returns maps with the keys that a table requires, one for each choice that other keys may
// depend on: a word of an enum, and a file or a URL for a text.
func least(rows []table.Row) []members {
	all := []members{{}}
	for _, r := range rows {
		if !r.Required {
			continue
		}
		var choices []string
		switch {
		case r.Key == "after":
			choices = []string{`"2s"`}
		case slices.Contains(r.Enum, "anthropic"): // the keys of a model are alike for all providers
			choices = []string{`"anthropic"`}
		case r.Kinds == table.Lists && r.Item.Table != nil:
			for _, m := range least(r.Item.Table) {
				choices = append(choices, "["+m.String()+"]")
			}
		case r.Table != nil:
			for _, m := range least(r.Table) {
				choices = append(choices, m.String())
			}
		case len(r.Enum) > 0:
			for _, word := range r.Enum {
				choices = append(choices, fmt.Sprintf("%q", word))
			}
		case r.Kinds == table.Numbers:
			choices = []string{"1"}
		default:
			choices = slices.DeleteFunc([]string{`"/x"`, `"http://a/b"`, `"x-1"`}, func(text string) bool {
				return r.Pattern != "" && !patternOf(r).MatchString(strings.Trim(text, `"`))
			})
		}
		var more []members
		for _, m := range all {
			for _, choice := range choices {
				n := members{r.Key: choice}
				for key, value := range m {
					n[key] = value
				}
				more = append(more, n)
			}
		}
		all = more
	}
	return all
}

// around puts a map at its position in a document, with the keys that are required around it.
func around(at []string, inside string) []byte {
	nested := [][]table.Row{table.Rows(item.Fields)}
	for _, key := range at {
		last := nested[len(nested)-1]
		key, isItem := strings.CutSuffix(key, "[]")
		key, isValue := strings.CutSuffix(key, "{}")
		r := last[slices.IndexFunc(last, func(r table.Row) bool { return r.Key == key })]
		if isItem {
			r = *r.Item
		}
		if isValue {
			r = *r.Value
		}
		nested = append(nested, r.Table)
	}
	for i, key := range slices.Backward(at) {
		key, isItem := strings.CutSuffix(key, "[]")
		key, isValue := strings.CutSuffix(key, "{}")
		if isItem {
			inside = "[" + inside + "]"
		}
		if isValue {
			inside = `{"x": ` + inside + "}"
		}
		inside = least(nested[i])[0].with(nested[i], key, inside).String()
	}
	return []byte("[" + inside + "]")
}

// rowName identifies a row by its key and by the keys of its table, since a table may have several
// positions.
func rowName(rows []table.Row, r table.Row) string {
	var keys []string
	for _, other := range rows {
		keys = append(keys, other.Key)
	}
	return r.Key + " of " + strings.Join(keys, ", ")
}

// eachValue puts each form of a value at the position of each row, and calls try with the row's
// name, the form, the document and whether the document is accepted.
func eachValue(try func(row string, form string, document []byte, accepted bool)) {
	tried := map[string]bool{}
	for _, p := range tables(nil, table.Rows(item.Fields))[1:] {
		name := rowName(p.table, table.Row{})
		if tried[name] || slices.Contains(p.path, "else") {
			continue // the same table in another place, or a response that cannot be a stream
		}
		tried[name] = true
		before, after, _ := bytes.Cut(around(p.path, "\x00"), []byte{0})
		required := least(p.table)
		for _, r := range p.table {
			for _, form := range forms(r) {
				for _, m := range required {
					document := slices.Concat(before, []byte(m.with(p.table, givenKey(r), form).String()), after)
					try(rowName(p.table, r), form, document, Parse("f.json", document).Problems.Err() == nil)
				}
			}
		}
	}
}

func TestEachValueThatIsAcceptedFollowsTheSchema(t *testing.T) {
	volume.Only(t)
	s := validator(t, Schema())
	accepted := map[string]int{}
	eachValue(func(row, _ string, document []byte, ok bool) {
		accepted[row] += 0
		if !ok {
			return
		}
		accepted[row]++
		if err := followsSchema(t, s, "f.json", document); err != nil {
			t.Errorf("%s: is accepted, but %v", document, err)
		}
	})
	for row, n := range accepted {
		alone := func(name string) bool { return strings.HasPrefix(row, name) }
		// TLS files, and insecure in a webhook, need each other and an https URL; from and file need
		// a file, pick needs file, and sigma of a number median.
		elsewhere := []string{"file of tokens,", "pick of tokens,", "sigma of min, max, pNN, median, sigma", "from of min,", "from of first,", "file of data,", "ca of ", "cert of ", "key of provider,", "key of method,", "insecure of method,"}
		// The item of a fault is of the kind of the stream, which sends events in this test.
		otherKind := strings.HasSuffix(row, " of data, event, id, retry, comment, line, separator, body, base64") &&
			slices.ContainsFunc([]string{"line ", "separator ", "body ", "base64 "}, alone)
		if n == 0 && !otherKind && !slices.ContainsFunc(elsewhere, alone) {
			t.Errorf("no value in this test is accepted for %s: add one", row)
		}
	}
}

// choices turns bytes into decisions.
type choices struct {
	bytes []byte
	good  map[string][]string // the forms that each row accepts
}

func (c *choices) next(n int) int {
	if len(c.bytes) == 0 {
		return 0
	}
	b := int(c.bytes[0])
	c.bytes = c.bytes[1:]
	return b % n
}

// table writes a map that mostly follows the description in a table.
func (c *choices) table(rows []table.Row) string {
	m := members{}
	for _, r := range rows {
		given := c.next(3) == 1
		switch {
		case r.Required:
			given = c.next(32) != 1
		case r.Key == "responses" || r.Key == "select": // they require other keys
			given = c.next(8) == 1
		}
		if given {
			m = m.with(rows, givenKey(r), c.value(rowName(rows, r), r))
		}
	}
	return m.String()
}

func (c *choices) value(name string, r table.Row) string {
	good := c.good[name]
	switch {
	case c.next(64) == 1 || len(good) == 0:
		return values[c.next(len(values))]
	case r.Table != nil && c.next(8) > 0:
		return c.table(r.Table)
	case r.Item != nil && r.Item.Table != nil && c.next(8) > 0:
		return "[" + c.table(r.Item.Table) + ", " + c.table(r.Item.Table) + "]"
	}
	return good[c.next(len(good))]
}

// goodForms returns the forms that each row accepts.
var goodForms = sync.OnceValue(func() map[string][]string {
	good := map[string][]string{}
	eachValue(func(row, form string, _ []byte, ok bool) {
		if ok {
			good[row] = append(good[row], form)
		}
	})
	return good
})

func (c choices) document() []byte {
	return []byte(`[{"endpoint": ` + c.table(table.Rows(item.EndpointFields)) + "}]")
}

func TestMadeConfigurationsThatAreAcceptedFollowTheSchema(t *testing.T) {
	tries := 3000
	if !volume.Full() {
		tries = 300
	}
	s, good := validator(t, Schema()), goodForms()
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range tries {
		chosen := make([]byte, 80)
		for i := range chosen {
			chosen[i] = byte(random.Uint32())
		}
		text := choices{chosen, good}.document()
		if Parse("f.json", text).Problems.Err() != nil {
			continue
		}
		accepted++
		if err := followsSchema(t, s, "f.json", text); err != nil {
			t.Fatalf("%s: is accepted, but %v", text, err)
		}
	}
	if accepted < tries/20 {
		t.Errorf("only %d of %d were accepted", accepted, tries)
	}
}

// FuzzSchema expects every accepted document to follow the schema, whether it is an arbitrary text
// or made from the tables.
func FuzzSchema(f *testing.F) {
	s, good := validator(f, Schema()), goodForms()
	f.Add(false, []byte(largeConfig(1)))
	f.Add(false, []byte(inResponse("external-body: {provider: json, path: http://a/b, timeout: -0.5s, ttl: +1_0}")))
	f.Add(false, []byte("- endpoint: {path: /x, host: '*.A', method: pAtch, response: {headers: {A: [1, \"\\t\"]}}}\n--- ~\n--- []\n"))
	for i := range 8 {
		f.Add(true, bytes.Repeat([]byte{1, byte(3 + i), byte(29 * i), 7, byte(i), 5}, 20))
	}
	f.Fuzz(func(t *testing.T, byTables bool, text []byte) {
		name := "f.yml"
		if byTables {
			name, text = "f.json", choices{text, good}.document()
		}
		if Parse(name, text).Problems.Err() != nil {
			return
		}
		if err := followsSchema(t, s, name, text); err != nil {
			t.Errorf("%s: is accepted, but %v", text, err)
		}
	})
}
