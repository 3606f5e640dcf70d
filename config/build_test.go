package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/tags"
)

// plain returns the texts without their positions.
func plain(texts ...syntax.Text) []string {
	var values []string
	for _, t := range texts {
		values = append(values, t.Value)
	}
	return values
}

func textOf(value string) syntax.Text { return syntax.Text{Value: value} }

// everything returns endpoints in Go in which each field is set, and the same ones as a file.
func everything() (endpoints []Endpoint, file string) {
	latency := &Latency{Min: time.Millisecond, Max: time.Second, Curve: []Percentile{{Rank: 50, Length: 20 * time.Millisecond}, {Rank: 99.9, Length: 120 * time.Millisecond}},
		FailureRate: 0.25, TimeoutRate: 0.5, Timeout: time.Minute}
	hook := Webhook{
		Method: "PUT", URL: "https://a.test/{{path}}", Headers: Headers("X-A", "1"), Body: map[string]any{"a": "{{host}}"}, If: "host = a", On: []any{201, 500}, Delay: AtOnce, Timeout: time.Second,
		Retry: &Retry{Attempts: 2, Backoff: time.Second, MaxBackoff: time.Minute}, Sign: &Sign{Secret: "s", Header: "X-Sign", Scheme: "stripe"},
		CA: "ca.pem", Cert: "cert.pem", ClientKey: "key.pem", Insecure: true,
	}
	external := &ExternalBody{Provider: "json", Path: "https://a.test/", Timeout: time.Second, TTL: time.Minute, StaleIfError: true, Insecure: true, CA: "ca.pem", Cert: "cert.pem", ClientKey: "key.pem"}
	endpoints = []Endpoint{{
		Method: "POST", Path: "/x/:id", Host: "a.test", If: "query-params.a = 1",
		Responses: []Outcome{
			{Weight: 2, Response: Response{Status: 201, Headers: Headers("X-A", "1", "Set-Cookie", "a", "Set-Cookie", "b"), Body: "hello {{path}}", Raw: true}, Latency: &Latency{}},
			{Weighted: true, Response: Response{External: external}, Fault: &Fault{Type: "slow-body", Rated: true, BytesPerSecond: 10}, Webhooks: []Webhook{}},
			{Response: Response{External: &ExternalBody{Provider: "xlsx", Path: "a.xlsx", Sheet: "s"}, Proxy: &Proxy{To: "up", Path: "/p", When: ProxyMissing, Forwarded: true}}},
		},
		Select: SelectSequence, Per: "host",
		Latency: latency, Fault: &Fault{Type: "reset", Rate: 0.5, Of: OfConnection}, RateLimit: &RateLimit{Max: 5, Window: time.Minute, By: "host", Algorithm: "fixed-window"},
		Capacity: &Capacity{Concurrent: 1, Queue: 2}, Webhooks: []Webhook{hook, {URL: "http://b.test"}},
		Doc: Doc{Query: []QueryParam{{Name: "a", Type: "int"}}, Body: map[string]any{"a": 1}, Tags: []string{"t"}, Summary: "s", Description: "d", RouterName: "r"},
	}, {Path: "/y", Fault: &Fault{Type: "slow-body", BytesPerSecond: map[string]any{"p1": 1024, "p50": "64KiB"}}, Response: Response{Body: []any{"{{a|default:\"x\"}}", 1.5}}, Latency: &Latency{Median: time.Second, Sigma: 0.5}}}
	file = `
- endpoint:
    {method: post, path: '/x/:id', host: a.test, if: query-params.a = 1,
     responses: [{weight: 2, status: 201, headers: {X-A: 1, Set-Cookie: [a, b]}, body: 'hello {{path}}', template: false, latency: {min: 0}},
       {weight: 0, external-body: {provider: json, path: 'https://a.test/', timeout: 1s, ttl: 1m, stale-if-error: true, insecure: true, ca: ca.pem, cert: cert.pem, key: key.pem},
        fault: {type: slow-body, rate: 0, bytes-per-second: 10}, webhooks: []},
       {external-body: {provider: xlsx, path: a.xlsx, sheet-name: s}, proxy: {to: up, path: /p, when: missing, forwarded: true}}],
     select: sequence, per: host,
     latency: {min: 1ms, max: 1s, p50: 20ms, p99.9: 120ms, failure-rate: 0.25, timeout-rate: 0.5, timeout: 1m}, fault: {type: reset, rate: 0.5, of: connection},
     rate-limit: {max-requests: 5, window: 1m, key-fn: host, algorithm: fixed-window}, capacity: {concurrent: 1, queue: 2},
     webhooks: [{method: put, url: 'https://a.test/{{path}}', headers: {X-A: 1}, body: {a: '{{host}}'}, if: host = a, on: [201, 500], sleep-time: 0, timeout: 1s,
         retry: {attempts: 2, backoff: 1s, max-backoff: 1m}, sign: {secret: s, header: X-Sign, scheme: stripe}, ca: ca.pem, cert: cert.pem, key: key.pem, insecure: true}, {url: 'http://b.test'}],
     query: {a: int}, body: {a: 1}, tag: t, summary: s, description: d, router-name: r}
- endpoint: {path: /y, fault: {type: slow-body, bytes-per-second: {p1: 1KiB, p50: 65536}}, response: {body: ['{{a|default:"x"}}', 1.5]}, latency: {median: 1s, sigma: 0.5}}
`
	return endpoints, file
}

func TestNew_MeansWhatAFileMeans(t *testing.T) {
	endpoints, text := everything()
	endpoints[0].Dir, endpoints[1].Dir = "conf", "conf"
	made := New(endpoints...)
	file := Parse("conf/f.yml", []byte(text))
	if made.Problems.Err() != nil || file.Problems.Err() != nil {
		t.Fatalf("%v\n%v", made.Problems, file.Problems)
	}
	bare := func(s *Spec) (endpoints []item.Endpoint) {
		barer{}.copy(reflect.ValueOf(&endpoints).Elem(), reflect.ValueOf(s.Endpoints))
		return endpoints
	}
	if got, want := bare(made), bare(file); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// The declarations above have each key that endpoints can have in a file, apart from those that say
// the same as another one, and those of rows, scenarios and streams.
func TestNew_KnowsEachKey(t *testing.T) {
	endpoints, _ := everything()
	given := map[string]bool{}
	w := nodeWriter{d: &table.Decoder{}}
	for i := range endpoints {
		noteKeys(w.node(reflect.ValueOf(endpoints[i]), ""), rowOf(t, "endpoint"), "endpoint", given)
	}
	other := []string{"endpoint.response", "endpoint.webhook", "endpoint.webhooks.at", "endpoint.state", "endpoint.next", "endpoint.find", "endpoint.let", "endpoint.do", "endpoint.responses.do",
		"endpoint.responses.stream", "endpoint.responses.pace", "endpoint.responses.heartbeat", "endpoint.responses.max-duration", "endpoint.responses.resume", "endpoint.responses.cut", "endpoint.fault.after",
		"endpoint.latency.min-ms", "endpoint.latency.max-ms", "endpoint.latency.timeout-ms",
		"endpoint.latency.from", "endpoint.latency.unit", "endpoint.latency.column", "endpoint.rate-limit.window-ms", "endpoint.fault.bytes-per-second", "endpoint.fault.item"}
	eachRow(*rowOf(t, "endpoint"), "endpoint", func(at string) {
		if !given[at] && !slices.ContainsFunc(other, func(o string) bool { return at == o || strings.HasPrefix(at, o+".") }) && !sameElsewhere(at) {
			t.Errorf("%s cannot be declared in Go, or is not in the test", at)
		}
	})
}

// sameElsewhere reports whether a key belongs to a declaration that is also tested elsewhere.
func sameElsewhere(at string) bool {
	for _, part := range []string{".responses.latency.", ".responses.fault.", ".responses.webhook"} {
		if strings.Contains(at, part) {
			return true
		}
	}
	return false
}

func rowOf(t *testing.T, kind string) *table.Row {
	t.Helper()
	for _, f := range item.Fields {
		if f.Key == kind {
			return &f.Row
		}
	}
	t.Fatal(kind)
	return nil
}

// innerRow returns the row whose table the maps in a value of a row have.
func innerRow(r table.Row) table.Row {
	for r.Table == nil && (r.Item != nil || r.Value != nil) {
		if r.Item != nil {
			r = *r.Item
		} else {
			r = *r.Value
		}
	}
	return r
}

func eachRow(r table.Row, at string, visit func(at string)) {
	for _, key := range innerRow(r).Table {
		visit(at + "." + key.Key)
		eachRow(key, at+"."+key.Key, visit)
	}
}

func noteKeys(n *syntax.Node, r *table.Row, at string, given map[string]bool) {
	for _, one := range n.Items {
		noteKeys(one, r, at, given)
	}
	within := innerRow(*r)
	for _, e := range n.Entries {
		i := slices.IndexFunc(within.Table, func(key table.Row) bool { return key.Takes(e.Key.Text.Value) })
		switch {
		case r.Table == nil && r.Value != nil:
			noteKeys(e.Value, r.Value, at, given)
		case i >= 0:
			key := &within.Table[i]
			given[at+"."+key.Key] = true
			noteKeys(e.Value, key, at+"."+key.Key, given)
		}
	}
}

func TestNew_FindsMistakes(t *testing.T) {
	var deep any
	for range syntax.MaxDepth {
		deep = []any{deep}
	}
	for _, c := range []struct {
		name   string
		change func(e *Endpoint)
		want   []string // the problems, without their prefix "[1].endpoint."
	}{
		{"no mistake", func(*Endpoint) {}, nil},
		{"an unknown method", func(e *Endpoint) { e.Method = "FETCH" }, []string{`method: GET /x: is a text ("FETCH") (did you mean "PATCH"?); expected one of GET`}},
		{"no path", func(e *Endpoint) { e.Path = "" }, []string{"GET: path is missing"}},
		{"a path that begins elsewhere", func(e *Endpoint) { e.Path = "x" }, []string{`path: GET x: "x" does not begin with /`}},
		{"a URL as host", func(e *Endpoint) { e.Host = "http://a.test" }, []string{`host: GET /x: "http://a.test" is a URL`}},
		{"a status", func(e *Endpoint) { e.Response.Status = -1 }, []string{"response.status: GET /x: is a number (-1); expected an integer from 200 to 599"}},
		{"a line break in a header", func(e *Endpoint) { e.Response.Headers = Headers("X-A", "b\r\nX-C: d") },
			[]string{`response.headers.X-A: GET /x: the control character '\r' is not allowed in a header`}},
		{"a line break in a name", func(e *Endpoint) { e.Response.Headers = Headers("X-A\r\nX-B", "c") }, []string{`response.headers."X-A\r\nX-B": GET /x: "X-A\r\nX-B" is not a header name`}},
		{"a line break in a path", func(e *Endpoint) { e.Path = "x\n" }, []string{`path: GET "x\n": "x\n" does not begin with /`}},
		{"a header in two spellings", func(e *Endpoint) { e.Response.Headers = Headers("X-A", "1", "x-a", "2") }, []string{`response.headers.x-a: GET /x: is the same header as "X-A"`}},
		{"two types", func(e *Endpoint) { e.Response.Headers = Headers("Content-Type", "a/b", "Content-Type", "c/d") }, []string{"response.headers.Content-Type: GET /x: has several values"}},
		{"a name without a value", func(e *Endpoint) { e.Response.Headers = Headers("X-A", "1", "X-B") }, []string{"response.headers.X-B: GET /x: the name has no value after it"}},
		{"two bodies", func(e *Endpoint) {
			e.Response.Body, e.Response.External = "x", &ExternalBody{Provider: "json", Path: "a.json"}
		},
			[]string{"response.external-body: GET /x: body and external-body are both given"}},
		{"a body that JSON cannot say", func(e *Endpoint) { e.Response.Body = map[string]any{"a": math.Inf(1)} }, []string{"response.body: GET /x: the value cannot be written as JSON: json: unsupported value: +Inf"}},
		{"a body with a key twice", func(e *Endpoint) { e.Response.Body = json.RawMessage(`{"a": 1, "a": 2}`) }, []string{`response.body: GET /x: the value cannot be written as JSON: the key "a" is already given`}},
		{"a function as a body", func(e *Endpoint) { e.Responses = []Outcome{{}, {Response: Response{Body: func() {}}}} }, []string{"responses[1].body: GET /x: the value cannot be written as JSON: json: unsupported type: func()"}},
		{"a body nested too deep", func(e *Endpoint) { e.Response.Body = deep }, []string{"response.body: GET /x: the value cannot be written as JSON: values are nested more than 1000 deep"}},
		{"an external body", func(e *Endpoint) { e.Response.External = &ExternalBody{Provider: "jsn", Path: "a", Timeout: -2} },
			[]string{`response.external-body.provider: GET /x: is a text ("jsn") (did you mean "json"?)`, `response.external-body.timeout: GET /x: is a text ("-2ns"); expected a duration above 0`}},
		{"response and responses", func(e *Endpoint) { e.Response.Status, e.Responses = 200, []Outcome{{}} }, []string{"responses: GET /x: response and responses are both given"}},
		{"an endless weight", func(e *Endpoint) { e.Responses = []Outcome{{Weight: math.Inf(1)}} }, []string{"responses[0].weight: GET /x: is a number (+Inf)"}},
		{"weights of 0", func(e *Endpoint) { e.Responses = []Outcome{{Weighted: true}} }, []string{"responses: GET /x: all weights are 0"}},
		{"a webhook", func(e *Endpoint) { e.Webhooks = []Webhook{{URL: "http://a"}, {URL: "a", Sign: &Sign{}}} }, []string{"webhooks[1].sign: GET /x: secret is missing", `webhooks[1].url: GET /x: "a" does not begin with http`}},
		{"a fault", func(e *Endpoint) { e.Fault = &Fault{Type: "reset", Rate: 1.5} }, []string{"fault.rate: GET /x: is a number (1.5); expected a number from 0 to 1"}},
		{"two forms of latency", func(e *Endpoint) { e.Latency = &Latency{Min: 1, Sigma: 1} }, []string{"latency.sigma: GET /x: min and sigma belong to different forms"}},
		{"a rank that is none", func(e *Endpoint) { e.Latency = &Latency{Curve: []Percentile{{Rank: math.NaN(), Length: 1}}} }, []string{"latency.pNaN: GET /x: unknown key"}},
		{"a length below 0", func(e *Endpoint) { e.Latency = &Latency{Curve: []Percentile{{Rank: 50, Length: -2}}} }, []string{`latency.p50: GET /x: is a text ("-2ns")`}},
		{"a rate limit", func(e *Endpoint) { e.RateLimit = &RateLimit{Max: -1} }, []string{"rate-limit.max-requests: GET /x: is a number (-1)"}},
		{"a capacity of 0", func(e *Endpoint) { e.Capacity = &Capacity{} }, []string{"capacity: GET /x: concurrent is missing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := Endpoint{Path: "/x"}
			c.change(&e)
			spec := New(Endpoint{Path: "/good"}, e)
			got := spec.Validate()
			if len(got) != len(c.want) {
				t.Fatalf("got %d problems, want %d:\n%v", len(got), len(c.want), got)
			}
			for i, p := range got {
				if !strings.HasPrefix(strings.TrimPrefix(p.String(), "[1].endpoint"), "."+c.want[i]) && !strings.HasPrefix(p.String(), "[1].endpoint: "+c.want[i]) || p.Warning {
					t.Errorf("got %q, want [1].endpoint.%s", p, c.want[i])
				}
			}
			if broken := len(c.want) > 0; len(spec.Broken.Endpoints) == 1 != broken || len(spec.Endpoints) == 2 == broken {
				t.Errorf("got %d endpoints and %d broken ones", len(spec.Endpoints), len(spec.Broken.Endpoints))
			}
		})
	}
}

func TestNew_WarnsAsOfAFile(t *testing.T) {
	got := New(
		Endpoint{Path: "/a", Response: Response{Headers: Headers("Date", "now")}},
		Endpoint{Path: "/b", Response: Response{Status: 204, Body: "x"}},
		Endpoint{Path: "/c", Response: Response{Body: "{,}"}},
	).Validate()
	want := []string{
		"[0].endpoint.response.headers.Date: GET /a: is left out: ",
		"[1].endpoint.response.body: GET /b: is left out: ",
		"[2].endpoint.response.body: GET /c: the body looks like JSON but is not valid: ",
	}
	if len(got) != len(want) || len(got.Warnings()) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i, p := range got.Warnings() {
		if !strings.HasPrefix(p.String(), want[i]) {
			t.Errorf("got %q, want %q", p, want[i])
		}
	}
}

// The declarations may be changed while the spec is served.
func TestNew_SharesNothingWithWhatItIsGiven(t *testing.T) {
	given, _ := everything()
	spec := New(given...)
	before := spec.Fingerprint()
	o := given[0].Responses
	o[0].Response.Headers[0].Name, o[1].Response.External.Path, o[1].Fault.Rate = "X-C", "b", 1
	given[0].Doc.Query[0].Name, given[0].Doc.Tags[0] = "b", "b"
	given[0].Latency.Curve[0].Rank, given[0].Capacity.Queue, given[0].Webhooks[0].Retry.Attempts, given[0].Webhooks[0].Sign.Secret = 1, 5, 9, "t"
	if spec.Fingerprint() != before {
		t.Errorf("got %+v", spec.Endpoints[0])
	}
}

func TestSpec_NoneSaysSo(t *testing.T) {
	var none *Spec
	for name, got := range map[string]syntax.Problems{"Validate": none.Validate(), "Join": Join(New(), nil).Problems} {
		if len(got) != 1 || got.Err() == nil || got[0].String() != "the spec is nil; config.New() returns one without endpoints" {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if got := New().Validate(); len(got) > 0 {
		t.Errorf("an empty spec: got %v", got)
	}
}

func TestJoin_KeepsOrderAndProblems(t *testing.T) {
	file := Parse("m.yml", []byte("- endpoint: {path: /file, response: {}}\n- endpoint: {path: /broken, response: {status: 1}}"))
	joined := Join(New(Endpoint{Path: "/a"}), file, New(Endpoint{Path: "/b"}, Endpoint{Path: "c"}))
	if len(joined.Validate()) != 2 {
		t.Fatalf("got %v, want two problems", joined.Validate())
	}
	for i, want := range []string{"m.yml:2:48: [1].endpoint.response.status: ", "[1].endpoint.path: GET c: "} {
		if got := joined.Validate()[i].String(); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := plain(joined.Endpoints[0].Path, joined.Endpoints[1].Path, joined.Endpoints[2].Path); !reflect.DeepEqual(got, []string{"/a", "/file", "/b"}) || len(joined.Broken.Endpoints) != 2 {
		t.Errorf("got %v and %d broken ones", got, len(joined.Broken.Endpoints))
	}
	if len(file.Endpoints) != 1 || len(file.Problems) != 1 {
		t.Error("the joined spec was changed")
	}
}

// The bytes of a body are sent as they are, as a string is.
func TestNew_ABodyOfBytes(t *testing.T) {
	e := New(Endpoint{Path: "/", Response: Response{Body: []byte(`{"a": 1}`)}}).Endpoints[0]
	if got := e.Response.Body.Value; got != `{"a": 1}` || e.Response.BodyJSON {
		t.Errorf("got %s", got)
	}
}

func TestNew_ABodyThatIsJSON(t *testing.T) {
	type order struct {
		ID     int     `json:"id"`
		Name   string  `json:"name"`
		Amount float64 `json:"amount,omitempty"`
	}
	for _, c := range []struct {
		name      string
		value     any
		want, raw string // raw: without placeholders; "" if it equals want
	}{
		{"a large number", []uint64{18446744073709551615}, "[18446744073709551615]", ""},
		{"a struct, its fields in order", order{ID: 7, Name: "<b> & \"c\"\n"}, `{"id":7,"name":"<b> & \"c\"\n"}`, ""},
		{"a map, its keys in order", map[string]any{"b": []int{1, 2}, "a": nil}, `{"a":null,"b":[1,2]}`, ""},
		{"a placeholder", map[string]any{"id": "{{path-params.id}}"}, `{"id":"{{path-params.id}}"}`, ""},
		{"a placeholder with quotes", []string{`a "{{query-params.p|default:"1"}}"`}, `["a \"{{query-params.p|default:"1"}}\""]`, `["a \"{{query-params.p|default:\"1\"}}\""]`},
		{"a placeholder as a key", map[string]any{`{{now|date:"2006"}}`: 1}, `{"{{now|date:"2006"}}":1}`, `{"{{now|date:\"2006\"}}":1}`},
		{"letters beyond ASCII", []string{"é\u2028"}, "[\"é\u2028\"]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := New(Endpoint{Path: "/", Response: Response{Body: c.value}}).Endpoints[0]
			if got := e.Response.Body.Value; got != c.want || !e.Response.BodyJSON {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if c.raw == "" {
				c.raw = c.want
			}
			e = New(Endpoint{Path: "/", Response: Response{Raw: true, Body: c.value}}).Endpoints[0]
			if got := e.Response.Body.Value; got != c.raw {
				t.Errorf("without placeholders: got %s, want %s", got, c.raw)
			}
		})
	}
}

// FuzzNew declares endpoints with arbitrary texts: it does not panic, and a body that is a value is
// JSON.
func FuzzNew(f *testing.F) {
	f.Add("a", "b", 1.5)
	f.Add(`{{x|default:"`, `"}}`, 0.0)
	f.Add("{% raw %}\"", "{% endraw %}\\", -1.0)
	f.Fuzz(func(t *testing.T, key, text string, number float64) {
		body := map[string]any{key: []any{text, key}}
		spec := New(
			Endpoint{Path: "/", Response: Response{Raw: true, Body: body}},
			Endpoint{Path: "/", Response: Response{Body: body}},
			Endpoint{
				Method: text, Path: key, Host: text, If: text, Doc: Doc{Query: []QueryParam{{Name: key, Type: text}}},
				Responses: []Outcome{{Weight: number, Response: Response{Headers: Headers(key, text, text)}}}, Latency: &Latency{Curve: []Percentile{{Rank: number, Length: time.Duration(number)}}},
			})
		if len(spec.Endpoints) < 2 {
			t.Fatal(spec.Problems)
		}
		raw, rendered := spec.Endpoints[0].Response.Body.Value, spec.Endpoints[1].Response.Body.Value
		if !json.Valid([]byte(raw)) {
			t.Errorf("%q is not JSON", raw)
		}
		if !tags.In(key) && !tags.In(text) && rendered != raw {
			t.Errorf("got %q, want %q", rendered, raw)
		}
	})
}

// Relative file names in a configuration are looked up in the directory of the name passed to
// Parse.
func TestParse_TakesTheDirectoryOfItsName(t *testing.T) {
	for name, want := range map[string]string{"m.yml": "", "testdata/m.yml": "testdata", "/conf/m.json": "/conf"} {
		spec := Parse(name, []byte(`[{"endpoint": {"path": "/x", "response": {}}}]`))
		if len(spec.Endpoints) != 1 || spec.Endpoints[0].Dir != want {
			t.Errorf("%s: got %+v, want the directory %q", name, spec.Endpoints, want)
		}
	}
}

// Specs that are repeatedly joined and removed again leave nothing behind: no warning, no file.
func TestSpec_WithoutLeavesNothing(t *testing.T) {
	served := Parse("m.yml", []byte("- endpoint: {path: /a, response: {headers: {Connection: close}}}\n- endpoint: {path: /b, response: {headers: {Connection: close}}}\n"))
	warnings := len(served.Problems)
	for n := range 3 {
		added := Parse(fmt.Sprintf("added-%d.yml", n), []byte("- endpoint: {path: /c, response: {headers: {Connection: close}}}\n"))
		joined := Join(added, served)
		if len(joined.Problems) != warnings+1 {
			t.Fatalf("%v", joined.Problems)
		}
		served = joined.Without(0)
	}
	if len(served.Endpoints) != 2 || len(served.Problems) != warnings || len(served.files) != 1 {
		t.Errorf("got %d endpoints, %v, %v", len(served.Endpoints), served.Problems, served.files)
	}
	one := served.Without(1)
	if len(one.Endpoints) != 1 || one.Endpoints[0].Path.Value != "/a" || len(one.Problems) != warnings/2 || len(one.files) != 1 || len(served.Endpoints) != 2 {
		t.Errorf("got %+v, %v, %v", one.Endpoints, one.Problems, one.files)
	}
}
