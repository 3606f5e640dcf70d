package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"mockserver/config/item"
	"mockserver/config/policy"
	"mockserver/config/syntax"
)

// twin is one configuration in two syntaxes: both mean want, or both have the same errors.
type twin struct {
	name, yaml, edn string
	want            []item.Endpoint // without positions and keys
	wrong           []complaint     // errors by position, then warnings
}

func testTwins(t *testing.T, table []twin) {
	t.Helper()
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			var problems [2][]string
			var keyed [2][]item.Endpoint
			for i, text := range []string{c.yaml, c.edn} {
				file := []string{"f.yml", "f.edn"}[i]
				spec := Parse(file, []byte(text))
				keyed[i] = bareEndpoints(spec.Endpoints, true)
				if got := bareEndpoints(spec.Endpoints, false); c.wrong == nil && !reflect.DeepEqual(got, c.want) {
					t.Errorf("%s means\n%+v\nwant\n%+v", file, got, c.want)
				}
				found := append(spec.Problems.Errors(), spec.Problems.Warnings()...)
				if len(found) != len(c.wrong) {
					t.Fatalf("%s has %d problems, want %d:\n%v", file, len(found), len(c.wrong), found)
				}
				for j, p := range found {
					problems[i] = append(problems[i], p.Key+": "+p.What)
					if p.Key != c.wrong[j].key || !strings.Contains(p.What, c.wrong[j].what) {
						t.Errorf("%s: %v\nwant %s: %s", file, p, c.wrong[j].key, c.wrong[j].what)
					}
				}
			}
			if !reflect.DeepEqual(problems[0], problems[1]) {
				t.Errorf("the problems differ:\n%q\n%q", problems[0], problems[1])
			}
			if !reflect.DeepEqual(keyed[0], keyed[1]) {
				t.Errorf("the endpoints differ:\n%+v\n%+v", keyed[0], keyed[1])
			}
		})
	}
}

// bareEndpoints returns copies of endpoints without positions and, unless keyed, without keys.
func bareEndpoints(endpoints []item.Endpoint, keyed bool) []item.Endpoint {
	var out []item.Endpoint
	barer{keyed}.copy(reflect.ValueOf(&out).Elem(), reflect.ValueOf(endpoints))
	return out
}

// barer removes positions, and also keys unless keyed.
type barer struct{ keyed bool }

func (b barer) copy(into, from reflect.Value) {
	switch from.Kind() {
	case reflect.Pointer:
		if from.IsNil() || !strings.HasPrefix(from.Type().Elem().PkgPath(), "mockserver/config/") {
			into.Set(from)
			return
		}
		into.Set(reflect.New(from.Type().Elem()))
		b.copy(into.Elem(), from.Elem())
	case reflect.Slice:
		if !from.IsNil() { // an empty list is not the same as a missing one
			into.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		}
		for i := range from.Len() {
			b.copy(into.Index(i), from.Index(i))
		}
	case reflect.Struct:
		b.fields(into, from)
	case reflect.Interface:
		if from.IsNil() {
			return
		}
		one := reflect.New(from.Elem().Type()).Elem()
		b.copy(one, from.Elem())
		into.Set(one)
	default:
		into.Set(from)
	}
}

func (b barer) fields(into, from reflect.Value) {
	switch from.Type() {
	case reflect.TypeFor[Pos]():
		return
	case reflect.TypeFor[syntax.Text]():
		into.FieldByName("Value").Set(from.FieldByName("Value"))
		if b.keyed {
			into.FieldByName("Key").Set(from.FieldByName("Key"))
		}
		return
	}
	for i := range from.NumField() {
		if b.keyed || from.Type().Field(i).Name != "Key" {
			b.copy(into.Field(i), from.Field(i))
		}
	}
}

// responses returns the endpoint with the path /x and the given response.
func responses(r item.Response) []item.Endpoint {
	return []item.Endpoint{{Path: textOf("/x"), Response: r}}
}

// ednResponse returns an endpoint whose response has the given keys.
func ednResponse(keys string) string {
	return "[{:endpoint {:path \"/x\"\n             :response {" + keys + "}}}]"
}

func header(name, value string) item.Header { return item.Header{Name: name, Value: textOf(value)} }

func TestBothSyntaxesMeanTheSame(t *testing.T) {
	failing := textOf("error")
	testTwins(t, []twin{
		{"every key of an endpoint", `
- endpoint:
    method: post
    path: /users/:id|int
    host: "*.Example.com"
    if: query-params.page = 2
    query: {page: integer, q: string}
    body: {name: Ann, age: 1.50}
    tag: [users, admin]
    summary: in short
    description: |-
      at
      length
    router-name: get-user
    response: {}
`, `
[{:endpoint {:method :post
             :path "/users/:id|int"
             :host "*.Example.com"
             :if "query-params.page = 2"
             :query {:page :integer, :q "string"}
             :body {:name "Ann" :age 1.50}
             :tag ["users" :admin]
             :summary "in short"
             :description "at
length"
             :router-name :get-user
             :response {}}}]
`, []item.Endpoint{{Method: "POST", Path: textOf("/users/:id|int"), Host: "*.example.com", If: textOf("query-params.page = 2"),
			Doc: item.Doc{Query: []item.QueryParam{{Name: "page", Type: "integer"}, {Name: "q", Type: "string"}}, Body: `{"name":"Ann","age":1.50}`, Tags: []string{"users", "admin"},
				Summary: "in short", Description: "at\nlength", RouterName: "get-user"}}}, nil},
		{"every key of a response", `
- endpoint:
    path: /x
    response:
      status: 201
      headers: {Content-Type: text/plain, X-Number: 1.50, X-Bool: true, Set-Cookie: [a=1, 2, "{{uuid}}"]}
      body: "hello {{path-params.id}}"
      template: false
`, ednResponse(`:status 201
  :headers {:content-type "text/plain" :X-Number 1.50M, "X-Bool" true :set-cookie ["a=1" 2 "{{uuid}}"]}
  :body "hello {{path-params.id}}"
  :template false`),
			responses(item.Response{Status: 201, Body: textOf("hello {{path-params.id}}"), Raw: true, Headers: []item.Header{
				header("Content-Type", "text/plain"), header("X-Number", "1.50"), header("X-Bool", "true"),
				header("Set-Cookie", "a=1"), header("Set-Cookie", "2"), header("Set-Cookie", "{{uuid}}")}}), nil},
		{"every key of an external body",
			"- endpoint: {path: /x, response: {external-body: {provider: json, path: 'http://a/{{path-params.b}}', timeout: 1.5, ttl: 30s, stale-if-error: true, insecure: false}}}",
			`{:endpoint {:path "/x", :response {:external-body {:provider :json, :path "http://a/{{path-params.b}}", :timeout 1.5 :ttl "30s" :stale-if-error true :insecure false}}}}`,
			responses(item.Response{External: &item.ExternalBody{Provider: "json", Path: textOf("http://a/{{path-params.b}}"),
				Timeout: 1500 * time.Millisecond, TTL: 30 * time.Second, StaleIfError: true}}), nil},
		{"a sheet of a workbook", "- endpoint: {path: /x, response: {external-body: {provider: xlsx, path: a.xlsx, sheet-name: people}}}",
			`[{:endpoint {:path "/x" :response {:external-body {:provider "xlsx" :path "a.xlsx" :sheet-name :people}}}}]`,
			responses(item.Response{External: &item.ExternalBody{Provider: "xlsx", Path: textOf("a.xlsx"), Sheet: textOf("people")}}), nil},
		{"keys that hold nothing", "- endpoint: {path: /x, if: ~, response: {}, tag: ~, query: ~, body: ~, summary: ~}",
			`[{:endpoint {:path "/x", :if nil, :response {}, :tag nil, :query nil, :body nil :summary nil}}]`, responses(item.Response{}), nil},
		{"a response that holds nothing", "- endpoint: {path: /x, response: {headers: {}, body: ''}}",
			ednResponse(`:headers {} :body ""`), responses(item.Response{}), nil},
		{"a body with every kind of value", `
- endpoint:
    path: /x
    response:
      body: {a: "text", b: [1, -2.50, 6.02e23, [], {}], c: true, d: false, e: null, n/s: 12345678901234567890, 7: seven, "true": 1, z: "{{path-params.z}}"}
`, ednResponse(`:body {:a "text" :b (1 -2.50M 6.02e23 [] {}) :c true :d false :e nil :n/s 12345678901234567890N 7 :seven true 1 :z "{{path-params.z}}"}`),
			responses(item.Response{BodyJSON: true, Body: textOf(`{"a":"text","b":[1,-2.50,6.02e23,[],{}],"c":true,"d":false,"e":null,"n/s":12345678901234567890,"7":"seven","true":1,"z":"{{path-params.z}}"}`)}), nil},
		{"a body that is a list", "- endpoint: {path: /x, response: {body: [a, [1]]}}", ednResponse(`:body ["a" (1)]`),
			responses(item.Response{BodyJSON: true, Body: textOf(`["a",[1]]`)}), nil},
		{"a body that is a number", "- endpoint: {path: /x, response: {body: 1.50}}", ednResponse(`:body 1.50`),
			responses(item.Response{Body: textOf("1.50")}), nil},
		{"a body that is a boolean", "- endpoint: {path: /x, response: {body: true}}", ednResponse(`:body true`),
			responses(item.Response{Body: textOf("true")}), nil},
		{"a text of several lines", "- endpoint:\n    path: /x\n    response:\n      body: |\n        {\"a\": 1,\n           \"b\": 2}\n\n",
			ednResponse(":body \"{\\\"a\\\": 1,\n   \\\"b\\\": 2}\n\""), responses(item.Response{Body: textOf("{\"a\": 1,\n   \"b\": 2}\n")}), nil},
		{"escapes", `[{endpoint: {path: /x, response: {body: "\" \\ / \b\f\n\r\t \u00e9 \U0001F600 é"}}}]`,
			ednResponse(`:body "\" \\ \/ \b\f\n\r\t \u00e9 \ud83d\ude00 é"`),
			responses(item.Response{Body: textOf("\" \\ / \b\f\n\r\t é 😀 é")}), nil},
		{"an example of the request that is JSON in a text", `- endpoint: {path: /x, response: {}, body: '{"a": 1}', tag: one}`,
			`[{:endpoint {:path "/x" :response {} :body "{\"a\": 1}" :tag :one}}]`,
			[]item.Endpoint{{Path: textOf("/x"), Doc: item.Doc{Body: `{"a": 1}`, Tags: []string{"one"}}}}, nil},
		{"every key of traffic", `
- endpoint:
    path: /x/:id
    responses:
      - {weight: 95, status: 200, headers: {x-a: 1}, body: ok}
      - {weight: 0.5, template: false, body: {a: "{{x}}"}, latency: {p50: 20ms, p99.9: 1s, max: 2s, min-ms: 1, failure-rate: 1%, timeout-rate: 0.25, timeout-ms: 500}}
      - {fault: {type: slow-body, rate: 0.5, bytes-per-second: 10}, webhooks: []}
      - {external-body: {provider: json, path: a.json}, webhook: {method: get, url: "http://a"}}
      - {}
    select: weighted
    latency: {median: 40ms, sigma: 0.4, timeout: 3s, timeout-rate: 1}
    fault: {type: reset, rate: 10%}
    rate-limit: {window: 1m, max-requests: 10, key-fn: path-params.id, algorithm: token-bucket}
    capacity: {concurrent: 50, queue: 200}
`, `
[{:endpoint
  {:path "/x/:id"
   :responses [{:weight 95 :status 200 :headers {"x-a" 1} :body :ok}
               {:weight 0.5 :template false :body {:a "{{x}}"}
                :latency {:p50 "20ms" :p99.9 "1s" "max" "2s" :min-ms 1 :failure-rate "1%" :timeout-rate 0.25M :timeout-ms 500N}}
               {:fault {:type :slow-body :rate 0.5 :bytes-per-second 10} :webhooks []}
               {:external-body {:provider :json :path "a.json"} :webhook {:method :get :url "http://a"}}
               {}]
   :select :weighted
   :latency {:median "40ms" :sigma 0.4 :timeout "3s" :timeout-rate 1}
   :fault {:type "reset" :rate "10%"}
   :rate-limit {:window "1m" :max-requests 10 :key-fn :path-params.id :algorithm :token-bucket}
   :capacity {:concurrent 50 :queue 200}}}]
`, []item.Endpoint{{Path: textOf("/x/:id"), Select: SelectWeighted, Responses: []item.Outcome{
			{Weight: 95, Weighted: true, Response: item.Response{Status: 200, Headers: []item.Header{header("x-a", "1")}, Body: textOf("ok")}},
			{Weight: 0.5, Weighted: true, Response: item.Response{Raw: true, BodyJSON: true, Body: textOf(`{"a":"{{x}}"}`)}, Group: policy.Group{Latency: &Latency{Min: time.Millisecond,
				Curve:       []Percentile{{Rank: 50, Length: 20 * time.Millisecond}, {Rank: 99.9, Length: time.Second}, {Rank: 100, Length: 2 * time.Second}},
				FailureRate: 0.01, TimeoutRate: 0.25, Timeout: 500 * time.Millisecond}}},
			{Group: policy.Group{Fault: &Fault{Type: "slow-body", Rate: 0.5, Rated: true, BytesPerSecond: 10}}, Webhooks: []item.Webhook{}},
			{Response: item.Response{External: &item.ExternalBody{Provider: "json", Path: textOf("a.json")}}, Webhooks: []item.Webhook{{Method: "GET", URL: textOf("http://a")}}},
			{}},
			Group: policy.Group{
				Latency:   &Latency{Median: 40 * time.Millisecond, Sigma: 0.4, Timeout: 3 * time.Second, TimeoutRate: 1},
				Fault:     &Fault{Type: "reset", Rate: 0.1, Rated: true},
				RateLimit: &policy.RateLimit{Window: time.Minute, Max: 10, By: "path-params.id", Algorithm: "token-bucket"},
				Capacity:  &Capacity{Concurrent: 50, Queue: 200}}}}, nil},
		{"a stream", `
- endpoint:
    path: /x
    response: {stream: [{data: {n: "{{loop.index}}"}, times: 3, after: 5ms}, {data: end, with: previous}], pace: {gap: {p50: 1ms, p99: 2ms}, shared: 2/m}, heartbeat: 15s, cut: {rate: 5%, pause: 20ms}}
    fault: {type: error, after: 40%, item: {event: error, data: late}}
`, `[{:endpoint {:path "/x"
              :response {:stream [{:data {:n "{{loop.index}}"} :times 3 :after "5ms"} {:data :end :with :previous}]
                         :pace {:gap {:p50 "1ms" :p99 "2ms"} :shared "2/m"} :heartbeat "15s" :cut {:rate "5%" :pause "20ms"}}
              :fault {:type :error :after "40%" :item {:event :error :data :late}}}}]`,
			[]item.Endpoint{{Path: textOf("/x"), Group: policy.Group{Fault: &Fault{Type: "error", After: "40%",
				Item: &item.StreamItem{Event: &failing, Data: &item.Piece{Text: textOf("late")}}}},
				Response: item.Response{Stream: item.Stream{Heartbeat: 15 * time.Second, Cut: &item.Cut{Rate: 0.05, Pause: 20 * time.Millisecond},
					Pace: &item.Pace{Shared: 2.0 / 60, Gap: &Latency{Curve: []Percentile{{Rank: 50, Length: time.Millisecond}, {Rank: 99, Length: 2 * time.Millisecond}}}},
					Items: []item.StreamItem{{Data: &item.Piece{JSON: true, Text: textOf(`{"n":"{{loop.index}}"}`)}, Times: textOf("3"), After: &Latency{Min: 5 * time.Millisecond, Max: 5 * time.Millisecond}},
						{Data: &item.Piece{Text: textOf("end")}, With: "previous"}}}}}}, nil},
		{"a condition that is a boolean", "- endpoint: {path: /x, response: {}, if: false}", `[{:endpoint {:path "/x" :response {} :if false}}]`,
			[]item.Endpoint{{Path: textOf("/x"), If: textOf("false")}}, nil},
		{"several documents, one of them empty", "- endpoint: {path: /a, response: {}}\n---\n[]\n---\n- endpoint: {path: /b, response: {}}\n- endpoint: {path: /c, response: {}}\n",
			`[{:endpoint {:path "/a" :response {}}}] [] ({:endpoint {:path "/b" :response {}}} {:endpoint {:path "/c" :response {}}})`,
			[]item.Endpoint{{Path: textOf("/a")}, {Path: textOf("/b")}, {Path: textOf("/c")}}, nil},
		{"an empty list", "[]", " [ ] ", nil, nil},
		{"comments", "# first\n- endpoint: # an endpoint\n    path: /x # with a path\n    # summary: none\n    response: {}\n# last",
			"; first\n[{:endpoint ; an endpoint\n {:path \"/x\"; with a path\n #_:summary #_\"none\" :response {}}}]\n; last", responses(item.Response{}), nil},
	})
}

// wrongEndpoint returns a twin whose endpoint also has the given keys.
func wrongEndpoint(name, yaml, edn string, wrong ...complaint) twin {
	return twin{name, "- endpoint: {path: /x, response: {}, " + yaml + "}", `[{:endpoint {:path "/x" :response {} ` + edn + "}}]", nil, wrong}
}

// wrongResponse returns a twin of an endpoint whose response has the given keys.
func wrongResponse(name, yaml, edn string, wrong ...complaint) twin {
	return twin{name, "- endpoint:\n    path: /x\n    response: {" + yaml + "}", ednResponse(edn), nil, wrong}
}

// wrongExternal returns a twin of an external body with the given keys.
func wrongExternal(name, yaml, edn string, wrong ...complaint) twin {
	return wrongResponse(name, "external-body: {"+yaml+"}", ":external-body {"+edn+"}", wrong...)
}

func TestBothSyntaxesAreWrongAlike(t *testing.T) {
	testTwins(t, []twin{
		{"an unknown kind of item", "- grpc: {}", "[{:grpc {}}]", nil, one("[0].grpc", "unknown key; expected one of endpoint, websocket")},
		{"a second kind beside endpoint", "- {endpoint: {path: /x, response: {}}, websocket: {}}", `{:endpoint {:path "/x" :response {}} :websocket {}}`, nil,
			one("[0]", "websocket is next to endpoint")},
		{"a key that is none, in a map that lacks others", "- endpoint: {[a]: 1, method: GET}", "[{:endpoint {[:a] 1 :method :get}}]", nil, []complaint{
			{atEndpoint, "path is missing"}, {atEndpoint, "response is missing"}, {atEndpoint, "a key is a list"}}},
		{"a webhook without a URL", "- endpoint: {path: /x, response: {}, webhook: {method: POST}}", `[{:endpoint {:path "/x" :response {} :webhook {:method :post}}}]`, nil,
			one(atEndpoint+".webhook", "url is missing")},
		{"a webhook with a URL of another kind", "- endpoint: {path: /x, response: {}, webhook: {method: POST, url: 'ftp://a'}}",
			`[{:endpoint {:path "/x" :response {} :webhook {:method :post :url "ftp://a"}}}]`, nil, one(atEndpoint+".webhook.url", "does not begin with http")},
		{"an empty map", "- {}", "[{}]", nil, one("[0]", "is an empty map; expected a map with one key")},
		{"items that are no maps", "- []\n- 5\n- a\n- ~\n- true", "[[] 5 :a nil true]", nil, []complaint{{"[0]", "is a list"}, {"[1]", "is a number (5)"},
			{"[2]", `is a text ("a")`}, {"[3]", "is null"}, {"[4]", "is a boolean (true)"}}},
		{"an item of a later document", "- endpoint: {path: /a, response: {}}\n---\n- 5\n", "{:endpoint {:path \"/a\" :response {}}} [5]", nil,
			one("[1]", "is a number (5)")},
		{"neither path nor response", "- endpoint: {method: GET}", "[{:endpoint {:method :get}}]", nil,
			[]complaint{{atEndpoint, "path is missing"}, {atEndpoint, "response is missing"}}},
		{"a path that does not begin with a slash", "- endpoint: {path: users, response: {}}", `[{:endpoint {:path :users :response {}}}]`, nil,
			one(atEndpoint+".path", `"users" does not begin with /`)},
		{"a path that is a number", "- endpoint: {path: 5, response: {}}", `[{:endpoint {:path 5 :response {}}}]`, nil, one(atEndpoint+".path", "is a number (5); expected a text")},
		{"an empty path", "- endpoint: {path: '', response: {}}", `[{:endpoint {:path "" :response {}}}]`, nil, one(atEndpoint+".path", "is empty; expected")},
		{"a response that is a text", "- endpoint: {path: /x, response: ok}", `[{:endpoint {:path "/x" :response :ok}}]`, nil,
			one(atResponse, `is a text ("ok"); expected a map`)},
		{"keys given twice", "- endpoint:\n    path: /x\n    path: /y\n    response: {status: 200, 'status': 201}\n",
			"[{:endpoint {\n    :path \"/x\"\n    :path \"/y\"\n    :response {:status 200 \"status\" 201}}}]", nil,
			[]complaint{{atEndpoint + ".path", `the key "path" is already given on line 2; a key may occur only once in a map`},
				{atResponse + ".status", `the key "status" is already given on line`}}},
		wrongEndpoint("a misspelt key", "sumary: a", ":sumary :a", complaint{atEndpoint + ".sumary", `unknown key (did you mean "summary"?); expected one of summary`}),
		wrongEndpoint("a misspelt method", "method: psot", ":method :psot", complaint{atEndpoint + ".method", `did you mean "POST"?`}),
		wrongEndpoint("a host with a port", "host: a.b:80", `:host "a.b:80"`, complaint{atEndpoint + ".host", "leave the port out"}),
		wrongEndpoint("a condition that is a list", "if: [a]", ":if [:a]", complaint{atEndpoint + ".if", "is a list; expected a text, a number or a boolean"}),
		wrongEndpoint("a tag that is a map", "tag: [a, {}]", ":tag [:a {}]", complaint{atEndpoint + ".tag[1]", "is a map; expected a text"}),
		wrongEndpoint("queries without a type", "query: {a: ~, b: {}}", ":query {:a nil :b {}}",
			complaint{atEndpoint + ".query.a", "is null; expected the name of a type"}, complaint{atEndpoint + ".query.b", "is a map"}),
		wrongEndpoint("what is wrong with traffic", "latency: {p50: 20ms, p99: 10ms}, fault: {type: rest}, rate-limit: {key-fn: path-params.id}, capacity: {concurrent: 0}, select: sequence",
			`:latency {:p50 "20ms" :p99 "10ms"} :fault {:type :rest} :rate-limit {:key-fn :path-params.id} :capacity {:concurrent 0} :select :sequence`,
			complaint{atLatency + ".p99", "p99 (10ms) is below p50 (20ms)"}, complaint{atEndpoint + ".fault.type", `did you mean "reset"?`},
			complaint{atEndpoint + ".rate-limit.key-fn", `the path has no parameter "id": it declares no parameters`}, complaint{atEndpoint + ".capacity.concurrent", "is a number (0)"},
			complaint{atEndpoint + ".select", "requires responses"}),
		wrongEndpoint("both response and responses", "responses: [{}]", ":responses [{}]", complaint{atOutcomes, "response and responses are both given"}),
		wrongResponse("a status below 200", "status: 199", ":status 199", complaint{atResponse + ".status", "is a number (199); expected an integer from 200 to 599"}),
		wrongResponse("a status that is no integer", "status: 200.5", ":status 200.5", complaint{atResponse + ".status", "an integer from 200 to 599"}),
		wrongResponse("a status that is a text", `status: "200"`, `:status "200"`, complaint{atResponse + ".status", `is a text ("200")`}),
		wrongResponse("headers that are a list", "headers: []", ":headers []", complaint{atResponse + ".headers", "is a list; expected a map"}),
		wrongResponse("a header's name with a blank", "headers: {X A: 1}", `:headers {"X A" 1}`, complaint{atResponse + ".headers.X A", "not a header name"}),
		wrongResponse("a header without a value", "headers: {X-A: ~, X-B: [1, {}]}", `:headers {:x-a nil :x-b [1 {}]}`,
			complaint{atResponse + ".headers.X-A", "is null"}, complaint{atResponse + ".headers.X-B[1]", "is a map"}),
		wrongResponse("two types", "headers: {Content-Type: [a/b, c/d]}", `:headers {:content-type ["a/b" "c/d"]}`,
			complaint{atResponse + ".headers.Content-Type", "has several values; expected one"}),
		wrongResponse("one header in two spellings", "headers: {content-type: a/b, Content-Type: c/d}", `:headers {"content-type" "a/b" :Content-Type "c/d"}`,
			complaint{atResponse + ".headers.Content-Type", `is the same header as "content-type"; write several values as a list`}),
		wrongResponse("a control character in a header", `headers: {X-A: "a\u0001"}`, `:headers {:x-a "a\u0001"}`, complaint{atResponse + ".headers.X-A", `control character '\x01'`}),
		wrongResponse("body and external-body", "body: '', external-body: {provider: json, path: a.json}", `:body "" :external-body {:provider :json :path "a.json"}`,
			complaint{atExternal, "body and external-body are both given"}),
		wrongResponse("template is no boolean", "template: no", ":template :no", complaint{atResponse + ".template", `is a text ("no"); expected a boolean`}),
		wrongResponse("a list as a key", "body: {[a]: 1}", ":body {[:a] 1}", complaint{atResponse + ".body", "a key is a list; expected a text"}),
		wrongResponse("a placeholder without quotes", "body: {{json-params.x}}", ":body {{json-params.x}}", complaint{atResponse + ".body", "a {{placeholder}} is written in quotes"}),
		wrongResponse("a header that frames the message", "headers: {content-length: 5, Connection: close}", `:headers {"content-length" 5 :connection :close}`,
			complaint{atResponse + ".headers.content-length", "is left out"}, complaint{atResponse + ".headers.Connection", "is left out"}),
		wrongResponse("a body that the status has not", "status: 204, body: x", `:status 204 :body "x"`, complaint{atResponse + ".body", "status 204 has no body"}),
		wrongResponse("a body that is nearly JSON", `body: "{\"a\": }"`, `:body "{\"a\": }"`, complaint{atResponse + ".body", "looks like JSON but is not valid"}),
		wrongExternal("no provider", "path: a.json", `:path "a.json"`, complaint{atExternal, "provider is missing"}),
		wrongExternal("an unknown provider", "provider: xml, path: a.xml", `:provider :xml :path "a.xml"`, complaint{atExternal + ".provider", "expected json or xlsx"}),
		wrongExternal("a workbook without a sheet", "provider: xlsx, path: a.xlsx", `:provider :xlsx :path "a.xlsx"`, complaint{atExternal + ".sheet-name", "sheet-name is missing"}),
		wrongExternal("a URL that is not fetched", "provider: json, path: 'ftp://a/b'", `:provider :json :path "ftp://a/b"`, complaint{atExternal + ".path", "ftp URLs are not supported"}),
		wrongExternal("settings of a URL for a file", "provider: json, path: a.json, timeout: 2s, ttl: 3, stale-if-error: true, insecure: true",
			`:provider :json :path "a.json" :timeout "2s" :ttl 3 :stale-if-error true :insecure true`,
			complaint{atExternal + ".timeout", "this path is a file"}, complaint{atExternal + ".ttl", "this path is a file"},
			complaint{atExternal + ".stale-if-error", "this path is a file"}, complaint{atExternal + ".insecure", "this path is a file"}),
		wrongExternal("durations that are none", "provider: json, path: 'http://a/b', timeout: soon, ttl: -1s", `:provider :json :path "http://a/b" :timeout :soon :ttl "-1s"`,
			complaint{atExternal + ".timeout", `is a text ("soon"); expected a duration`}, complaint{atExternal + ".ttl", "a duration"}),
		wrongResponse("many at once", "statsu: 1, status: 1, headers: [], external-body: 5, foo: bar", ":statsu 1 :status 1 :headers [] :external-body 5 :foo :bar",
			complaint{atResponse + ".statsu", `did you mean "status"?`}, complaint{atResponse + ".status", "200 to 599"},
			complaint{atResponse + ".headers", "is a list"}, complaint{atExternal, "is a number (5)"}, complaint{atResponse + ".foo", "unknown key"}),
	})
}

func TestSyntaxErrorsOfEDN(t *testing.T) {
	testMistakes(t, "f.edn", []mistake{
		{"a vector is never closed", "; é\n §[{:endpoint {}}\n", one("", "a [ that is never closed")},
		{"the innermost of three brackets is never closed", "[{:endpoint\n  §{:path \"/x\"\n", one("", "a { that is never closed")},
		{"a bracket closes another kind", "[{:endpoint\n   {:path \"/x\" :response {:body (1 2§]}}}]", one("", "a ] where the ( of line 2, column 33 is still open; a ) closes that one")},
		{"a bracket too many", "[{}]\n  §]\n", one("", "a ] that closes nothing")},
		{"a bracket too many, and nothing else", "§)", one("", "a ) that closes nothing")},
		{"a quote is never closed", "[{:endpoint {:path §\"/x}}]\n\n", one("", "a quote that is never closed")},
		{"the next text in quotes closes a quote", "[{:endpoint {:path §\"/x :response {:body \"hello\"}}}]\n", one("", "the text that begins here ends at line 1, column 41")},
		{"the next text in quotes closes a quote, lines later", "; a \" in a comment, \\\"\n[\\\" {:endpoint {:path §\"/x\n  :response {:body \"[1]\"}}}]\n", one("", "the text that begins here ends at line 3, column 20")},
		{"a text of several lines with keys, before another problem", "[\"a\n :b c\" §{:x 1", one("", "a { that is never closed")},
		{"a key line in a text, of a quote that is never closed", "[{:endpoint {:path §\"/x\n :response {:body \"\"}}} {:endpoint {:path \"/y\"}}]\n\n \"", one("", "the text that begins here ends at line 2, column 19")},
		{"a quote behind a backslash closes nothing", `[§"a\"]`, one("", "a quote that is never closed")},
		{"a backslash ends the file", `["a§\`, one("[0]", "an unknown escape")},
		{"a set is never closed", "[#§{1 2", one("", "a { that is never closed")},
		{"a discard with nothing behind it", "[1 §#_]", one("", "#_ skips the form after it, but there is none")},
		{"a discard that discards the next", "[§#_ #_ 1]", one("", "there is none")},
		{"a discard that ends the file", "[] §#_ ; nothing", one("", "there is none")},
		{"a tag with nothing behind it", "[{:a §#inst}]", one("", "the tag #inst has no value after it")},
		{"a bracket that is not closed in what is left out", "[#_§{:a (1)", one("", "a { that is never closed")},
		{"a byte that is no UTF-8", "[\"é§\xff\"]", one("", "0xFF is not UTF-8")},
		{"YAML", "§- endpoint:\n    path: /x\n", one("", `the document is a text ("-"); expected a vector of endpoints, [{:endpoint {…}}]`)},
		{"a number at the top", "[]\n§5 6", one("", "the document is a number (5); expected a vector of endpoints")},
		{"a bad word at the top", "§@x 6", one("", "@x is Clojure code")},
		{"keys beside endpoint", `[{:endpoint nil :§path "/x"}]`, one("[0]", "path is next to endpoint; move it into the map of :endpoint")},
		{"keys without endpoint", `[{:§path "/x"}]`, one("[0]", "path is a key of an endpoint; put it inside one, {:endpoint {…}}")},
	})
}

// A word that is not EDN ends reading. A word that is EDN but not accepted does not, and the value
// in its place is not reported a second time.
func TestWordsThatAreNoEDN(t *testing.T) {
	const atBody = atResponse + ".body"
	var table []mistake
	for _, c := range []struct{ word, what string }{
		{"§/users/:id", `/users/:id is not EDN; a text is written in quotes, "/users/:id"`},
		{"§GET", "the symbol GET means nothing here; a text is written in quotes, \"GET\", or as a keyword, :GET"},
		{"§Nil", "the symbol Nil"}, {"§-", "the symbol -"}, {"§a.b/c", "the symbol a.b/c"}, {"§+x", "the symbol +x"},
		{"§1/2", "1/2 is not an EDN number"}, {"§-10/4", "-10/4 is not an EDN number"},
		{"§0x1F", "0x1F is not an EDN number"}, {"§007", "is not an EDN number"}, {"§1.", "is not an EDN number"}, {"§.5", ".5 is not EDN"}, {"§1e", "is not an EDN number"},
		{"§2r101", "is not an EDN number"}, {"§1_000", "is not an EDN number"}, {"§10:30", "is not an EDN number"}, {"§7NN", "is not an EDN number"}, {"§1.5N", "is not an EDN number"},
		{"§##NaN", "##NaN is Clojure code"}, {"§##-Inf", "is Clojure code"},
		{"§::a", "::a is not a keyword"}, {"§:a/", ":a/ is not a keyword"},
		{"§:/a", "is not a keyword"}, {"§:a/b/c", "is not a keyword"}, {"§:a@b", "is not a keyword"}, {"§:😀", "is not a keyword"},
		{"§'x", "'x is Clojure code, which is not run"}, {"§@x", "is Clojure code"}, {"§`x", "is Clojure code"}, {"§~x", "is Clojure code"}, {"§^:a", "is Clojure code"},
		{"§'(1 2)", "'(… is Clojure code"}, {`§#"a+"`, `#"… is Clojure code`}, {"§#(inc %)", "#(… is Clojure code"},
		{"§#=(+ 1 2)", "#=(… is Clojure code"}, {"§#:a{:b 1}", "#:a{… is Clojure code"},
		{"§#{1 2}", "a set has no order; expected a vector, [ ] instead of #{ }"},
		{"§#my/tag 5", "tags such as #my/tag are not accepted; expected the value alone"}, {`§#inst "2024-01-15"`, "tags such as #inst"}, {"§#a/b/c 5", "#a/b/c"},
		{`§\a`, "characters are not accepted; a text is written in quotes"}, {`§\newline`, "characters"}, {`§\u00e9`, "characters"}, {`§\(`, "characters"}, {`§\`, "characters"},
		{`"a§\q"`, `an unknown escape; expected \" \\ \/ \b \f \n \r \t or \uHHHH`}, {`"\n§\u12"`, "an unknown escape"}, {`"§\ud83d"`, "an unknown escape"},
		{`"§\ude00"`, "an unknown escape"}, {`"§\'"`, "an unknown escape"}, {`"§\101"`, "an unknown escape"},
	} {
		if docs, _ := syntax.Read("f.edn", []byte("["+strings.ReplaceAll(c.word, marker, "")+" ]")); len(docs) > 0 {
			table = append(table, mistake{c.word, ednResponse(":body " + c.word + " , :§nope 1"), []complaint{{atBody, c.what}, {atResponse + ".nope", "unknown key"}}})
			continue
		}
		table = append(table, mistake{c.word, ednResponse(":body " + c.word + " , :nope 1"), one(atBody, c.what)})
	}
	testMistakes(t, "f.edn", table)
	testMistakes(t, "f.edn", []mistake{
		{"where no text is accepted either", ednResponse(":status §GET :headers §#{} :external-body §#{}"),
			[]complaint{{atResponse + ".status", "the symbol GET"}, {atResponse + ".headers", "a set has no order"}, {atExternal, "a set has no order"}}},
		{"a map behind a tag", `[{:endpoint §#get {:path "/x" :response {:§nope 1}}}]`,
			[]complaint{{atEndpoint, "tags such as #get"}, {atResponse + ".nope", "unknown key"}}},
		{"below keys that are odd", ednResponse(`:body {"" {"" §foo} "a\nb" [§bar] "é b" §baz "\u0085" §qux}`), []complaint{
			{atBody + `."".""`, "the symbol foo"}, {atBody + `."a\nb"[0]`, "the symbol bar"}, {atBody + ".é b", "the symbol baz"}, {atBody + `."\u0085"`, "the symbol qux"}}},
		{"where what was meant is not to be judged", `[{:endpoint {:path §x :summary §#inst [] :tag §#uuid 5 :host §a :if §#{} :response {}}}]`, []complaint{
			{atEndpoint + ".path", "the symbol x"}, {atEndpoint + ".summary", "#inst"}, {atEndpoint + ".tag", "#uuid"}, {atEndpoint + ".host", "the symbol a"}, {atEndpoint + ".if", "a set"}}},
		{"what is wrong beside it is said", `[{:endpoint §#bar §§{§[:a] 1 :§metod "x"}}]`, []complaint{{atEndpoint, "tags such as #bar"},
			{atEndpoint, "path is missing"}, {atEndpoint, "response is missing"}, {atEndpoint, "a key is a list"}, {atEndpoint + ".metod", `did you mean "method"?`}}},
		{"keys that are symbols", "[{§endpoint {§path \"/x\" §response {}}}]", []complaint{{"[0]", "the symbol endpoint"}, {atEndpoint, "the symbol path"}, {atEndpoint, "the symbol response"}}},
		{"keys that are none", ednResponse(":body {§nil 1, §(1) 2, §{:a} 3, §#§{} 4}"), []complaint{{atBody, "a key is null; expected a text"}, {atBody, "a key is a list"},
			{atBody, "a key is a map; expected a text, and a {{placeholder}} is written in quotes"}, {atBody, "a set"}, {atBody, "a key is a list"}}},
		{"a key without a value", ednResponse(":body {:a 1 :§b}"), one(atBody, `the key "b" has no value`)},
		{"JSON", `[{"endpoint"§: {"path": "/x", "response": {"status": 1.5E3}}}]`, one(atEndpoint, "this seems to be JSON, whose files end in .json")},
		{"a colon by itself", "[{:endpoint {:path \"/x\" §: :response : {}}}]", one(atEndpoint, "a : without a name; a key is written :name or \"name\", and its value after a blank")},
	})
}

// The form after #_ must be valid EDN, but need not be a valid configuration.
func TestLeftOutForms(t *testing.T) {
	e := only(t, "f.edn", "#_ 5 [#_{:endpoint} #_#_ a #foo [b #{1 1} {:a 1 :a 2} {[] 1}] {:endpoint #_nil {:path #_\"/y\" \"/x\" #_:response :response #_ #_ 1 2 {}}}#_ #_1 2]#_last")
	if e.Path.Value != "/x" || e.Key != atEndpoint {
		t.Errorf("got %+v", e)
	}
	testMistakes(t, "f.edn", []mistake{
		{"a bad word", `[#_{:a §1/2 :b 2}]`, one("", "is not an EDN number")},
	})
}

// Items are numbered across documents, in the order written.
func TestSeveralDocumentsOfEDNAreJoined(t *testing.T) {
	text, places := marked("f.edn", `{:endpoint {:path "/0" :response {}}} [] nil ({:endpoint {:path "/1" :response {}}}, {:endpoint {:path §two :response {}}})
{:endpoint {:path "/3" :response {:§nope 1}}} {:endpoint {:path §four :response {}}} [{:endpoint {:path §five :response {}}}] {:endpoint {:path "/6" :response {}}}`)
	spec := Parse("f.edn", []byte(text))
	expect(t, spec.Problems.Errors(), places, []complaint{{"[2].endpoint.path", "the symbol two"}, {"[3].endpoint.response.nope", "unknown key"},
		{"[4].endpoint.path", "the symbol four"}, {"[5].endpoint.path", "the symbol five"}})
	got := ""
	for _, e := range spec.Endpoints {
		got += e.Key + e.Path.Value + " "
	}
	if want := "[0].endpoint/0 [1].endpoint/1 [6].endpoint/6 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAFileThatIsHardlyEDN(t *testing.T) {
	got := Parse("f.edn", []byte("["+strings.Repeat("xy ", 5000)+"]")).Problems
	last := got[len(got)-1]
	if len(got) != syntax.MaxErrors+1 || last.Pos.Column != 2+3*syntax.MaxErrors || !strings.Contains(last.What, "there are more than 1000 errors") {
		t.Errorf("%d problems, the last %v", len(got), last)
	}
}

// However deep the nesting, and whatever opens it, one problem is reported, at the position where
// the nesting becomes too deep.
func TestEDNNestedTooDeep(t *testing.T) {
	for opening, column := range map[string]int{"[": 1001, "(": 1001, "{:a ": 3998, "#_": 2001, "#a ": 1501, "[#_": 1501} {
		got := Parse("f.edn", []byte(strings.Repeat(opening, 100_000))).Problems
		if len(got) == 0 {
			t.Fatalf("%s: no problem", opening)
		}
		last := got[len(got)-1]
		if !strings.Contains(last.What, "values are nested more than 1000 deep") || last.Pos != (syntax.Pos{File: "f.edn", Line: 1, Column: column}) {
			t.Errorf("%s: %v", opening, last)
		}
	}
	for _, text := range []string{strings.Repeat("[", 998) + strings.Repeat("]", 998), strings.Repeat("#_", 498) + "x"} {
		if got := Parse("f.edn", []byte("["+text+"]")).Problems.Error(); strings.Contains(got, "nested") {
			t.Errorf("%.10s…: %s", text, got)
		}
	}
}

func TestValuesOfEDN(t *testing.T) {
	for _, c := range []struct{ form, want string }{
		{"0", "0"}, {"-0", "-0"}, {"+7", "7"}, {"7N", "7"}, {"-12345678901234567890123N", "-12345678901234567890123"}, {"99999999999999999999", "99999999999999999999"},
		{"1.50M", "1.50"}, {"1e400", "1e400"}, {"-1.5E+3M", "-1.5E+3"}, {"0.0", "0.0"}, {"1e-2", "1e-2"}, {"1M", "1"},
		{"nil", "null"}, {"true", "true"}, {"false", "false"}, {`"true"`, `"true"`}, {":true", `"true"`}, {":nil", `"nil"`},
		{":a/b", `"a/b"`}, {":a.b/c.d", `"a.b/c.d"`}, {":1", `"1"`}, {":é", `"é"`}, {":a:b", `"a:b"`}, {":+", `"+"`},
		{`""`, `""`}, {"\"a\r\n\tb\"", `"a\r\n\tb"`}, {"(),", "[]"}, {"{}", "{}"}, {"[1,,2;,3\n,]", "[1,2]"}, {"[1\u00a02\u20283\f4\v5;\r6]", "[1,2,3,4,5,6]"},
		{`["a""b":c"d""f"[]{}()]`, `["a","b","c","d","f",[],{},[]]`}, {"{:a/b 1 \"a\" 2}", `{"a/b":1,"a":2}`}, {`{1 2 1.0 3 true 4}`, `{"1":2,"1.0":3,"true":4}`},
	} {
		if e := only(t, "f.edn", ednResponse(":body ["+c.form+"]")); e.Response.Body.Value != "["+c.want+"]" {
			t.Errorf("%s becomes %s, want [%s]", c.form, e.Response.Body.Value, c.want)
		}
	}
}

func TestHeadersNamedByKeywords(t *testing.T) {
	e := only(t, "f.edn", ednResponse(`:headers {:content-type "a/b" :X-api-KEY "k" :etag "e" "x-string" "s" :Set-Cookie ["a=1"]} :body {:headers {:content-type 1}}`))
	got := ""
	for _, h := range e.Response.Headers {
		got += h.Name + "=" + h.Value.Value + " " + h.Value.Key + "\n"
	}
	want := ""
	for _, h := range []string{"Content-Type=a/b", "X-Api-Key=k", "Etag=e", "x-string=s", "Set-Cookie=a=1"} {
		name, _, _ := strings.Cut(h, "=")
		want += h + " " + atResponse + ".headers." + name
		if name == "Set-Cookie" {
			want += "[0]"
		}
		want += "\n"
	}
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if body := e.Response.Body.Value; body != `{"headers":{"content-type":1}}` {
		t.Errorf("elsewhere: %s", body)
	}
	const at = atResponse + ".headers."
	testMistakes(t, "f.edn", []mistake{
		{"two keywords for one header", ednResponse(`:headers {:x-a 1 :§X-A 2}`), one(at+"X-A", `is the same header as "x-a"`)},
		{"three keywords for one header", ednResponse(`:headers {:x-a 1 :§X-a 2 :§X-A 3}`),
			[]complaint{{at + "X-A", `is the same header as "x-a"`}, {at + "X-A", `is the same header as "x-a"`}}},
		{"a keyword and a text for one header", ednResponse(`:headers {"X-A" 1 :§x-a 2}`), one(at+"X-A", `is the same header as "X-A"`)},
		{"a text in another spelling", ednResponse(`:headers {:x-a 1 "§x-A" 3}`), one(at+"x-A", `is the same header as "X-A"`)},
		{"a keyword that is no header", ednResponse(`:headers {:§a/b 1}`), one(at+"a/b", "not a header name")},
		{"a value behind a keyword", ednResponse(`:headers {:x-a §{}}`), one(at+"X-A", "is a map")},
	})
}

// TestTextAtInEDN looks up the letter Z of a body, and expects the position at which it is written
// in the file.
func TestTextAtInEDN(t *testing.T) {
	for _, c := range []struct{ name, body string }{
		{"a text", `"abc §Z d"`},
		{"the first letter of a text", `"§Z"`},
		{"behind letters beyond ASCII", `"é😀§Z"`},
		{"behind escapes, at the beginning of the text", `§"a \"b\": \"\\\t\/ Z\"}"`},
		{"a later line, at the beginning of the text", "§\"ab\n   c Z\n d\""},
		{"a later line behind escapes", "§\"a\\\"b\\n\n é\\\"c\\\" Z\n d\""},
		{"behind a lone \\r", "§\"\rZ\""},
		{"behind a comma and a comment", ", ; Z\n  \"§Z\""},
		{"a keyword", `:ab§Z`},
		{"what breaks lines in YAML alone", "\"a\u2028\u0085b §Z\""},
		{"inside a map", `{:a ["é" "{{ §Z }}"]}`},
		{"inside a map, behind escapes of EDN that JSON escapes too", `{:a §"\"q\" \\ {{ Z }}"}`},
		{"inside a map, on a later line", "{:a 1, \"k\" §\"{{\n\\\"x\\\"\n  Z }}\"}"},
		{"inside a map, in a key", `{§"\"{{ Z }}" 1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, places := marked("f.edn", ednResponse(":status 200\r\n :body "+c.body))
			body := only(t, "f.edn", text).Response.Body
			at := strings.IndexByte(body.Value, 'Z')
			if got := body.At(at); len(places) != 1 || got != places[0] {
				t.Errorf("Z of %q is at %v, want %v", body.Value, got, places)
			}
			for _, offset := range []int{-1, len(body.Value) + 1} {
				if got := body.At(offset); got != body.Pos {
					t.Errorf("offset %d is at %v, want %v", offset, got, body.Pos)
				}
			}
		})
	}
}

// A lone \r ends a line of the file; characters that end a line only in YAML do not.
func TestTextAtAfterOtherLineBreaks(t *testing.T) {
	for body, want := range map[string]syntax.Pos{
		"\r\"Z\"":     {File: "f.edn", Line: 3, Column: 2},
		"\u2028\"Z\"": {File: "f.edn", Line: 2, Column: 35},
	} {
		text := only(t, "f.edn", ednResponse(":body "+body)).Response.Body
		if got := text.At(strings.IndexByte(text.Value, 'Z')); got != want {
			t.Errorf("Z of %q is at %v, want %v", body, got, want)
		}
	}
}

func TestEncodingsOfEDN(t *testing.T) {
	clean, places := marked("f.edn", "[{:endpoint {:path \"/é\" ; 😀\r\n  :response {:status §1}}}]")
	for name, data := range map[string][]byte{
		"UTF-8": []byte(clean), "UTF-8 with a byte order mark": []byte("\uFEFF" + clean),
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, Parse("f.edn", data).Problems, places, one("[0].endpoint.response.status", "from 200 to 599"))
		})
	}
}

func TestTheBasicExampleMeansTheSameInBothSyntaxes(t *testing.T) {
	yaml, edn := Load("../examples/basic.yml"), Load("../examples/basic.edn")
	if len(edn.Problems) > 0 || len(yaml.Endpoints) != 10 {
		t.Fatalf("%d endpoints; as EDN %v", len(yaml.Endpoints), edn.Problems)
	}
	if want, got := bareEndpoints(yaml.Endpoints, true), bareEndpoints(edn.Endpoints, true); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// Every example means the same when its nodes are written as EDN.
func TestExamplesWrittenAsEDN(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("got examples %v (%v)", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(t, err)
		docs, problems := syntax.Read(file, data)
		if len(problems) > 0 || len(docs) != 1 {
			t.Fatalf("%s: %d documents, %v", file, len(docs), problems)
		}
		if docs[0].Kind != syntax.ListNode {
			continue // an OpenAPI document, or a mocks file
		}
		yaml, edn := Parse(file, data), Parse(strings.TrimSuffix(file, ".yml")+".edn", []byte(writeEDN(docs[0])))
		if len(edn.Problems) > 0 || len(yaml.Endpoints) == 0 {
			t.Fatalf("%s: %d endpoints; as EDN %v", file, len(yaml.Endpoints), edn.Problems)
		}
		want, got := bareEndpoints(yaml.Endpoints, true), bareEndpoints(edn.Endpoints, true)
		for i := range want {
			if i >= len(got) || !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("%s: endpoint %d of %d is\n%+v\nwant\n%+v", file, i, len(got), got[i:], want[i])
			}
		}
	}
}

var plainKey = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// writeEDN writes a node as EDN, with keywords as keys where possible.
func writeEDN(n *syntax.Node) string {
	switch n.Kind {
	case syntax.NullNode:
		return "nil"
	case syntax.BoolNode:
		return fmt.Sprint(n.Truth())
	case syntax.NumberNode:
		return n.Number
	case syntax.TextNode:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(n.Text.Value) + `"`
	case syntax.ListNode:
		var items []string
		for _, item := range n.Items {
			items = append(items, writeEDN(item))
		}
		return "[" + strings.Join(items, " ") + "]\n"
	}
	var pairs []string
	for _, e := range n.Entries {
		key := `"` + e.Key.Text.Value + `"`
		if plainKey.MatchString(e.Key.Text.Value) {
			key = ":" + e.Key.Text.Value
		}
		pairs = append(pairs, key+" "+writeEDN(e.Value))
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}
