package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"mockserver/config/item"
	"mockserver/config/table"
	"mockserver/internal/semantics"
)

// inResponse returns an endpoint whose response has the given lines.
func inResponse(lines string) string {
	return "- endpoint:\n    path: /x\n    response:\n      " + strings.ReplaceAll(lines, "\n", "\n      ") + "\n"
}

const (
	atEndpoint = "[0].endpoint"
	atResponse = atEndpoint + ".response"
	atExternal = atResponse + ".external-body"
)

func TestMistakesOfItems(t *testing.T) {
	testMistakes(t, "f.yml", []mistake{
		{"an unknown kind of item", "- §grpc: {}\n", one("[0].grpc", "unknown key; expected one of endpoint, websocket")},
		{"a misspelt kind of item", "- §endpiont: {}\n", one("[0].endpiont", `did you mean "endpoint"?`)},
		{"an item without a key", "- §{}\n", one("[0]", "is an empty map; expected a map with one key")},
		{"an item that is no map", "- §5\n", one("[0]", "is a number (5); expected a map with one key")},
		{"an empty item", "-§\n", one("[0]", "is null; expected a map with one key")},
		{"keys that are not indented below endpoint", "- endpoint:\n  §path: /x\n", one("[0]", "path is next to endpoint")},
		{"a second kind beside endpoint", "- endpoint: {path: /x, response: {}}\n  §websocket: {}\n", one("[0]", "websocket is next to endpoint; expected one of them")},
		{"a map instead of a list", "§endpoint: {}\n", one("", `begin the line with "- "`)},
		{"a map instead of a list", "§hello: world\n", one("", "the document is a map; expected a list of endpoints")},
		{"a text instead of a list", "§hello\n", one("", `the document is a text ("hello"); expected a list of endpoints`)},
	})
}

func TestMistakesOfEndpoints(t *testing.T) {
	testMistakes(t, "f.yml", []mistake{
		{"no path", "- endpoint:\n    §response: {}\n", one(atEndpoint, "path is missing: the path to answer")},
		{"neither path nor response", "- endpoint:\n    §§method: GET\n",
			[]complaint{{atEndpoint, "path is missing"}, {atEndpoint, "response is missing"}}},
		{"a key that is none, where its map begins", "- endpoint:\n    §§§[a]: 1\n    method: GET\n",
			[]complaint{{atEndpoint, "a key is a list"}, {atEndpoint, "path is missing"}, {atEndpoint, "response is missing"}}},
		{"an unknown tag, where its map begins", "- endpoint: §§§!bar\n    §metod: x\n",
			[]complaint{{atEndpoint, "the tag !bar"}, {atEndpoint, "path is missing"}, {atEndpoint, "response is missing"}, {atEndpoint + ".metod", "unknown key"}}},
		{"values that the reader has refused", "- §!a b\n- endpoint: {path: §!a b, host: §!b c:1, method: §!c d, query: &q {a: §*q}, tag: !!bool §x, summary: §§!d {}, response: {§!e f: 1, headers: {§!g h i: 1}, body: {a: !!int §b}}}\n", []complaint{
			{"[0]", "the tag !a"}, {"[1].endpoint.path", "the tag !a"}, {"[1].endpoint.host", "the tag !b"}, {"[1].endpoint.method", "the tag !c"}, {"[1].endpoint.query.a", "the alias *q"},
			{"[1].endpoint.tag", "is tagged !!bool"}, {"[1].endpoint.summary", "the tag !d"}, {"[1].endpoint.summary", "is a map; expected a text"}, {"[1].endpoint.response", "the tag !e"},
			{"[1].endpoint.response.headers", "the tag !g"}, {"[1].endpoint.response.body.a", "is tagged !!int"}}},
		{"a path that does not begin with a slash", "- endpoint: {path: §users, response: {}}\n", one(atEndpoint+".path", `"users" does not begin with /`)},
		{"an empty path", "- endpoint: {path: '§', response: {}}\n", one(atEndpoint+".path", "is empty; expected")},
		{"a path that is a number", "- endpoint: {path: §5, response: {}}\n", one(atEndpoint+".path", "is a number (5); expected a text")},
		{"a misspelt method", "- endpoint: {path: /x, method: §PSOT, response: {}}\n", one(atEndpoint+".method", `did you mean "POST"?`)},
		{"an unknown method", "- endpoint: {path: /x, method: §TRACE, response: {}}\n", one(atEndpoint+".method", "expected one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS")},
		{"an empty method", "- endpoint: {path: /x, method: '§', response: {}}\n", one(atEndpoint+".method", "expected one of")},
		{"a misspelt key", "- endpoint: {path: /x, §reponse: {}, response: {}}\n", one(atEndpoint+".reponse", `unknown key (did you mean "response"?); expected one of response, responses, … `)},
		{"a list of methods", "- endpoint: {method: §[GET, POST], path: /x, response: {}}\n", one(atEndpoint+".method", "is a list; expected one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS, or any for all of them; several methods are several endpoints")},
		{"an unknown key", "- endpoint: {path: /x, response: {}, §priority: 1}\n", one(atEndpoint+".priority", "unknown key; expected one of")},
		{"a response that is a text", "- endpoint: {path: /x, response: §ok}\n", one(atResponse, `is a text ("ok"); expected a map`)},
		{"a condition that is a list", "- endpoint: {path: /x, response: {}, if: §[]}\n", one(atEndpoint+".if", "expected a text, a number or a boolean")},
		{"a host with a port", "- endpoint: {path: /x, response: {}, host: '§a.b:80'}\n", one(atEndpoint+".host", "leave the port out")},
		{"a host that is a URL", "- endpoint: {path: /x, response: {}, host: '§http://a.b'}\n", one(atEndpoint+".host", "is a URL")},
		{"a host with a star inside", "- endpoint: {path: /x, response: {}, host: §a.*.b}\n", one(atEndpoint+".host", "a * that is not at the beginning")},
		{"a star alone", "- endpoint: {path: /x, response: {}, host: '§*'}\n", one(atEndpoint+".host", "leave host out")},
		{"a host with an empty label", "- endpoint: {path: /x, response: {}, host: §a..b}\n", one(atEndpoint+".host", "empty part between two dots")},
		{"a host beyond ASCII", "- endpoint: {path: /x, response: {}, host: §ü.de}\n", one(atEndpoint+".host", "xn--")},
		{"tags that are no texts", "- endpoint: {path: /x, response: {}, tag: [a, §{}]}\n", one(atEndpoint+".tag[1]", "is a map; expected a text")},
		{"a query parameter without a type", "- endpoint: {path: /x, response: {}, query: {a: §}}\n", one(atEndpoint+".query.a", "is null; expected the name of a type")},
	})
}

func TestMistakesOfResponses(t *testing.T) {
	testMistakes(t, "f.yml", []mistake{
		{"a status below 200", inResponse("status: §199"), one(atResponse+".status", "is a number (199); expected an integer from 200 to 599")},
		{"a status above 599", inResponse("status: §600"), one(atResponse+".status", "an integer from 200 to 599")},
		{"a status of 0", inResponse("status: §0"), one(atResponse+".status", "an integer from 200 to 599")},
		{"a status that is no integer", inResponse("status: §200.5"), one(atResponse+".status", "an integer from 200 to 599")},
		{"a status that no integer holds", inResponse("status: §99999999999999999999"), one(atResponse+".status", "an integer from 200 to 599")},
		{"a status that is a text", inResponse("status: \"§200\""), one(atResponse+".status", `is a text ("200")`)},
		{"a header name with a blank", inResponse("headers:\n  §X A: 1"), one(atResponse+".headers.X A", "not a header name")},
		{"an empty header name", inResponse("headers: {'§': 1}"), one(atResponse+`.headers.""`, "not a header name")},
		{"a header without a value", inResponse("headers:\n  X-A:§"), one(atResponse+".headers.X-A", "is null; expected a text, a number, a boolean or a list")},
		{"a header's list with a map in it", inResponse("headers: {X-A: [1, §{}]}"), one(atResponse+".headers.X-A[1]", "is a map")},
		{"a header given in two spellings", inResponse("headers: {Content-Type: a/b, §content-type: c/d}"), one(atResponse+".headers.content-type", `the same header as "Content-Type"`)},
		{"headers with several values that a message has once", inResponse("headers: {content-type: §[a/b, c/d, e/f], Location: §[/a, /b], ETag: §[a, b], Vary: [A, B], Set-Cookie: [a=1, b=2], Content-Encoding: [gzip]}"), []complaint{
			{atResponse + ".headers.content-type", "has several values; expected one"}, {atResponse + ".headers.Location", "has several values"},
			{atResponse + ".headers.ETag", "has several values"}}},
		{"a line break in a header", inResponse("headers:\n  X-A: |\n    ab§\n"), one(atResponse+".headers.X-A", "control character '\\n'")},
		{"an escaped NUL in a header", inResponse(`headers: {X-A: §"a\0b"}`), one(atResponse+".headers.X-A", "control character '\\x00'")},
		{"body and external-body", inResponse("body: ''\nexternal-body:\n  §provider: json\n  path: a.json"), one(atExternal, "expected one of them")},
		{"template is no boolean", inResponse("template: §no"), one(atResponse+".template", `is a text ("no"); expected a boolean`)},
		{"several mistakes at once", inResponse("§statsu: 1\nstatus: §1\nheaders: §[]\nexternal-body: §5\n§foo: bar"), []complaint{
			{atResponse + ".statsu", `did you mean "status"?); expected one of status, … `}, {atResponse + ".status", "200 to 599"},
			{atResponse + ".headers", "is a list; expected a map"}, {atExternal, "is a number (5)"}, {atResponse + ".foo", "unknown key"}}},
	})
}

// A half-written file ends where a value is expected.
func TestAMissingValueIsNoResponse(t *testing.T) {
	const ended, socket = "- endpoint:\n    path: /x\n", "- websocket:\n    path: /x\n"
	testMistakes(t, "f.yml", []mistake{
		{"of an endpoint", "- endpoint:§\n", one(atEndpoint, "is null; expected a map")},
		{"of a response", ended + "    response:§\n", one(atResponse, "is null; expected a map: write response: {} for an empty one")},
		{"of responses", ended + "    responses:§\n", one(atEndpoint+".responses", "is null; expected a list of answers")},
		{"of one of them", ended + "    responses:\n    -§\n", one(atEndpoint+".responses[0]", "is null; expected a map: write {} for an empty one")},
		{"of headers", ended + "    response:\n      headers:§\n", one(atResponse+".headers", "is null; expected a map: write headers: {} for an empty one")},
		{"of a body", ended + "    response:\n      body:§\n", one(atResponse+".body", `is null; expected a text, a number, a boolean, a list or a map: write body: "" for an empty one`)},
		{"of an external body", ended + "    response:\n      external-body:§\n", one(atExternal, "is null; expected a map")},
		{"of a webhook", ended + "    response: {}\n    webhook:§\n", one(atEndpoint+".webhook", "is null; expected a map")},
		{"of webhooks", ended + "    response: {}\n    webhooks:§\n", one(atEndpoint+".webhooks", "is null; expected a list: write webhooks: [] for an empty one")},
		{"of a latency", ended + "    response: {}\n    latency:§\n", one(atEndpoint+".latency", "is null; expected a map with")},
		{"of a rate limit", ended + "    response: {}\n    rate-limit:§\n", one(atEndpoint+".rate-limit", "is null; expected a map with")},
		{"of a webhook's headers and body", ended + "    response: {}\n    webhook: {method: POST, url: 'http://a', headers: §, body: §, retry: §~}\n", []complaint{
			{atEndpoint + ".webhook.headers", "write headers: {}"}, {atEndpoint + ".webhook.body", "is null"}, {atEndpoint + ".webhook.retry", "write retry: {}"}}},
		{"of a WebSocket", "- websocket:§\n", one("[0].websocket", "is null; expected a map")},
		{"of what a WebSocket says at once", socket + "    on-connect:§\n", one("[0].websocket.on-connect", "is null; expected a map with response")},
		{"of what it answers", socket + "    on-message:§\n", one("[0].websocket.on-message", "is null; expected a list of maps")},
		{"of what it sends", socket + "    send:§\n", one("[0].websocket.send", "is null; expected a list of maps")},
		{"of its subprotocols", socket + "    subprotocols:§\n", one("[0].websocket.subprotocols", "is null; expected a list: write subprotocols: [] for an empty one")},
	})
	testMistakes(t, "f.json", []mistake{{"of JSON", `[{"endpoint": {"path": "/x", "response": §null}}]`, one(atResponse, "write response: {}")}})
	testMistakes(t, "f.edn", []mistake{{"of EDN", `[{:endpoint {:path "/x" :response §nil}}]`, one(atResponse, "write response: {}")}})
}

func TestMistakesOfExternalBodies(t *testing.T) {
	external := func(lines string) string {
		return inResponse("external-body:\n  " + strings.ReplaceAll(lines, "\n", "\n  "))
	}
	testMistakes(t, "f.yml", []mistake{
		{"no provider", external("§path: a.json"), one(atExternal, "provider is missing: json or xlsx")},
		{"an unknown provider", external("provider: §xml\npath: a.xml"), one(atExternal+".provider", `expected json or xlsx`)},
		{"no path", external("§provider: json"), one(atExternal, "path is missing")},
		{"an empty path", external("provider: json\npath: '§'"), one(atExternal+".path", "is empty; expected")},
		{"a workbook without a sheet", external("§provider: xlsx\npath: a.xlsx"), one(atExternal+".sheet-name", "sheet-name is missing")},
		{"a sheet of a JSON file", external("provider: json\npath: a.json\nsheet-name: §S"), one(atExternal+".sheet-name", "for provider xlsx")},
		{"a workbook from a URL", external("provider: xlsx\npath: §http://a/b.xlsx\nsheet-name: S"), one(atExternal+".path", "provider xlsx reads only files")},
		{"a URL that is not fetched", external("provider: json\npath: §ftp://a/b"), one(atExternal+".path", "ftp URLs are not supported")},
		{"a URL without a host", external("provider: json\npath: §http:///b"), one(atExternal+".path", "names no host")},
		{"a URL with a bad port", external("provider: json\npath: §http://a:b/c"), one(atExternal+".path", "the port is")},
		{"settings of a URL for a file", external("provider: json\npath: a.json\ntimeout: §2s\nttl: §3\nstale-if-error: §true\ninsecure: §true"), []complaint{
			{atExternal + ".timeout", "this path is a file"}, {atExternal + ".ttl", "this path is a file"},
			{atExternal + ".stale-if-error", "this path is a file"}, {atExternal + ".insecure", "this path is a file"}}},
		{"durations that are none", external("provider: json\npath: http://a/b\ntimeout: §soon\nttl: §-1s"), []complaint{
			{atExternal + ".timeout", `is a text ("soon"); expected a duration above 0, such as 2s`}, {atExternal + ".ttl", "a duration, such as 30s"}}},
		{"a timeout of nothing", external("provider: json\npath: http://a/b\ntimeout: §0\nttl: §1e300"), []complaint{
			{atExternal + ".timeout", "a duration above 0"}, {atExternal + ".ttl", "a duration"}}},
	})
}

func TestWarnings(t *testing.T) {
	for _, c := range []mistake{
		{"headers that frame the message", inResponse("headers: {§content-length: 5, §Transfer-Encoding: chunked, X-A: 1, §Connection: close, §trailer: X-T}"), []complaint{
			{atResponse + ".headers.content-length", "is left out"}, {atResponse + ".headers.Transfer-Encoding", "is left out"}, {atResponse + ".headers.Connection", "is left out"},
			{atResponse + ".headers.trailer", "is left out"}}},
		{"a header without a value", inResponse("headers: {Content-Type: §[], X-A: [a], X-B: §[]}"), []complaint{
			{atResponse + ".headers.Content-Type", "is left out: the list is empty"}, {atResponse + ".headers.X-B", "is left out"}}},
		{"a body with status 204", inResponse("status: 204\nbody: §x"), one(atResponse+".body", "status 204 has no body")},
		{"a body with status 205", inResponse("status: 205\nbody: §x"), one(atResponse+".body", "status 205 has no body")},
		{"another charset", inResponse("headers: {content-type: §text/plain;charset=\"ISO-8859-1\"}\nbody: café"), one(atResponse+".headers.content-type", "the charset is \"iso-8859-1\", but the body is sent in UTF-8")},
		{"another charset for placeholders", inResponse("headers: {Content-Type: §text/plain;charset=US-ASCII}\nbody: '{{path}}'"), one(atResponse+".headers.Content-Type", "the charset is \"us-ascii\"")},
		{"a charset with other bytes", inResponse("headers: {Content-Type: §text/plain;charset=utf-16le}\nbody: x"), one(atResponse+".headers.Content-Type", "the charset is \"utf-16le\"")},
		{"a charset with the same bytes", inResponse("headers: {Content-Type: text/plain;charset=us-ascii}\nbody: x"), nil},
		{"the charset that is sent", inResponse("headers: {Content-Type: 'text/plain; Charset=\"Utf-8\"'}\nbody: é"), nil},
		{"a charset of a file", inResponse("headers: {Content-Type: text/plain;charset=latin1}\nexternal-body: {provider: json, path: a.json}"), nil},
		{"a body with status 304", inResponse("status: 304\nbody: §{a: 1}"), one(atResponse+".body", "status 304 has no body")},
		{"an external body with status 204", inResponse("status: 204\nexternal-body: §{provider: json, path: a.json}"), one(atExternal, "has no body")},
		{"a body that is nearly JSON", inResponse("body: '{\"a\": §}'"), one(atResponse+".body", "looks like JSON but is not valid")},
		{"a block that is nearly JSON", inResponse("body: |\n  {\"a\": 1,\n   §b: 2}\n"), one(atResponse+".body", "looks like JSON")},
		{"tags that are not read", inResponse("template: false\nbody: '{§{ x }}'"), one(atResponse+".body", "looks like JSON")},
		{"declared as lines of JSON", inResponse("headers: {Content-Type: application/x-ndjson}\nbody: |\n  {\"a\": 1}\n  {§b: 2}\n"), one(atResponse+".body", "looks like JSON")},
		{"declared as JSON", inResponse("headers: {Content-Type: application/problem+json; charset=utf-8}\nbody: '[1,§]'"), one(atResponse+".body", "looks like JSON")},
		{"cut off", inResponse("body: '{\"a\": §1'"), one(atResponse+".body", "unexpected end")},
		{"declared as something else", inResponse("headers: {content-type: text/plain}\nbody: '[1,]'"), nil},
		{"a template", inResponse("body: '{\"a\": {{json-params.a}}}'"), nil},
		{"no body with status 204", inResponse("status: 204\nbody: ''"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, places := marked("f.yml", c.text)
			spec := Parse("f.yml", []byte(text))
			expect(t, spec.Problems.Warnings(), places, c.want)
			if len(spec.Endpoints) != 1 || spec.Problems.Err() != nil {
				t.Fatalf("%d endpoints, %v", len(spec.Endpoints), spec.Problems.Err())
			}
			for _, h := range spec.Endpoints[0].Response.Headers {
				if semantics.ServerSets(h.Name) {
					t.Errorf("%s is kept", h.Name)
				}
			}
		})
	}
}

func TestWhatAnEndpointMayHold(t *testing.T) {
	e := only(t, "conf/f.yml", `- endpoint:
    method: post
    path: /users/:id|int
    host: "*.Example.COM"
    if: true
    response:
      status: 0xC9
      headers: {X-A: [1, two, True], X-B: 1.0}
      external-body: {provider: json, path: HTTPS://a/b, timeout: 250ms, ttl: 1.5, stale-if-error: true, insecure: false}
      template: false
    query: {page: int, q: string}
    body: {name: "{{x}}\n"}
    tag: [a, b]
    summary: A summary
    description: |
      Long
    router-name: users
`)
	if e.Method != "POST" || e.Host != "*.example.com" || e.If.Value != "true" || e.Dir != "conf" {
		t.Errorf("method %q, host %q, if %q, dir %q", e.Method, e.Host, e.If.Value, e.Dir)
	}
	r := e.Response
	var values []string
	for _, h := range r.Headers {
		values = append(values, h.Name+"="+h.Value.Value)
	}
	if want := []string{"X-A=1", "X-A=two", "X-A=True", "X-B=1.0"}; r.Status != 201 || !r.Raw || !reflect.DeepEqual(values, want) {
		t.Errorf("status %d, raw %v, headers %v", r.Status, r.Raw, values)
	}
	if x := r.External; x.Timeout != 250*time.Millisecond || x.TTL != 1500*time.Millisecond || !x.StaleIfError || x.Insecure {
		t.Errorf("external body %+v", x)
	}
	want := item.Doc{Query: []item.QueryParam{{Name: "page", Type: "int"}, {Name: "q", Type: "string"}}, Body: `{"name":"{{x}}\n"}`, Tags: []string{"a", "b"},
		Summary: "A summary", Description: "Long\n", RouterName: "users"}
	if !reflect.DeepEqual(e.Doc, want) {
		t.Errorf("doc %+v, want %+v", e.Doc, want)
	}
}

func TestWhatMayBeLeftEmpty(t *testing.T) {
	for _, text := range []string{
		"- endpoint: {path: /x, response: {}}\n",
		"- endpoint:\n    path: /x\n    if:\n    response: {body: '', headers: {}}\n    tag:\n    query:\n    body:\n    summary:\n",
	} {
		e := only(t, "f.yml", text)
		if r := e.Response; r.Status != 0 || r.Body.Value != "" || r.Headers != nil || r.External != nil || e.If.Value != "" || e.Method != "" {
			t.Errorf("%q: %+v", text, e)
		}
	}
	if spec := Parse("f.yml", []byte("[]")); len(spec.Problems) > 0 || len(spec.Endpoints) > 0 {
		t.Errorf("an empty list: %+v", spec)
	}
	if spec := Parse("f.yml", []byte("[]\n---\n")); len(spec.Problems) > 0 {
		t.Errorf("an empty list and an empty document: %v", spec.Problems)
	}
}

func TestBodies(t *testing.T) {
	for _, c := range []struct {
		name, body, want string
		json             bool
	}{
		{"a text as it is", "'{ \"a\" : 1 }  '", `{ "a" : 1 }  `, false},
		{"a number as written", "1_000", "1_000", false},
		{"a boolean as written", "True", "True", false},
		{"a date as written", "2024-01-15", "2024-01-15", false},
		{"a map as JSON, in order", "{b: 1.0, a: [true, ~, x<y>&z], 5: {}}", `{"b":1.0,"a":[true,null,"x<y>&z"],"5":{}}`, true},
		{"a tag is left as written", `{a: 'x "{{ query-params.page|default:"1" }}" \'}`, `{"a":"x \"{{ query-params.page|default:"1" }}\" \\"}`, true},
		{"a block is left as written", `{a: '{% if x = "1" %}"{% endif %}'}`, `{"a":"{% if x = "1" %}\"{% endif %}"}`, true},
		{"a quoted brace does not close a tag", `{a: '{{ x|default:"}}" }}"'}`, `{"a":"{{ x|default:"}}" }}\""}`, true},
		{"an open tag is text", `{a: '{{ "x'}`, `{"a":"{{ \"x"}`, true},
		{"what is raw is text", `{a: '{% raw %}{{ "x" }}{% endraw %}{{"y"}}'}`, `{"a":"{% raw %}{{ \"x\" }}{% endraw %}{{"y"}}"}`, true},
		{"an open raw is text", `{a: '{% raw %}{{ "x" }}'}`, `{"a":"{% raw %}{{ \"x\" }}"}`, true},
		{"control characters", `{a: "\t\n\r\x01é\u2028"}`, "{\"a\":\"\\t\\n\\r\\u0001é\u2028\"}", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := only(t, "f.yml", "- endpoint:\n    path: /x\n    response:\n      body: "+c.body+"\n").Response
			if r.Body.Value != c.want || r.BodyJSON != c.json {
				t.Errorf("got %s (JSON %v), want %s (JSON %v)", r.Body.Value, r.BodyJSON, c.want, c.json)
			}
		})
	}
	r := only(t, "f.yml", "- endpoint: {path: /x, response: {body: {a: '{{\"x\"}}'}, template: false}}\n").Response
	if want := `{"a":"{{\"x\"}}"}`; r.Body.Value != want {
		t.Errorf("with template: false got %s, want %s", r.Body.Value, want)
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	for _, p := range tables(nil, table.Rows(item.Fields)) {
		for _, r := range p.table {
			if r.Doc == "" || r.Kinds == 0 || r.Accepts() == "" {
				t.Errorf("%v: %s: %+v", p.path, r.Key, r)
			}
		}
	}
}
