package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"mockserver/config/syntax"
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

func TestNew_FindsEachMistakeOfAnEndpointMadeInGo(t *testing.T) {
	external := func(change func(x *ExternalBody)) func(e *Endpoint) {
		return func(e *Endpoint) {
			x := &ExternalBody{Provider: "json", Path: Plain("http://a.test/x")}
			change(x)
			e.Response.External = x
		}
	}
	for _, c := range []struct {
		name   string
		change func(e *Endpoint)
		want   []string // the problems, without their prefix "[1].endpoint."
	}{
		{"no mistake", func(*Endpoint) {}, nil},
		{"a method that is none", func(e *Endpoint) { e.Method = "FETCH" }, []string{`method: FETCH /x: is "FETCH"`}},
		{"a method in small letters", func(e *Endpoint) { e.Method = "post" }, []string{`method: post /x: is "post" (did you mean "POST"?)`}},
		{"no path", func(e *Endpoint) { e.Path = syntax.Text{} }, []string{"path: GET: the path is empty"}},
		{"a path that begins elsewhere", func(e *Endpoint) { e.Path = Plain("x") }, []string{`path: GET x: "x" does not begin with /`}},
		{"a URL as host", func(e *Endpoint) { e.Host = "http://a.test" }, []string{`host: GET /x: "http://a.test" is a URL`}},
		{"a host with a port", func(e *Endpoint) { e.Host = "a.test:80" }, []string{`host: GET /x: "a.test:80" has a port`}},
		{"a host in capitals", func(e *Endpoint) { e.Host = "A.test" }, []string{`host: GET /x: "A.test" is not in lower case`}},
		{"a host that is a star", func(e *Endpoint) { e.Host = "*" }, []string{"host: GET /x: * alone is not a host"}},
		{"a status below 200", func(e *Endpoint) { e.Response.Status = 199 }, []string{"response.status: GET /x: is 199; expected an integer from 200 to 599"}},
		{"a status above 599", func(e *Endpoint) { e.Response.Status = 600 }, []string{"response.status: GET /x: is 600"}},
		{"a status below 0", func(e *Endpoint) { e.Response.Status = -1 }, []string{"response.status: GET /x: is -1"}},
		{"a line break in a header's value", func(e *Endpoint) { e.Response.Headers = Headers("X-A", "b\r\nX-C: d") },
			[]string{`response.headers.X-A: GET /x: the control character '\r' is not allowed in a header`}},
		{"a NUL in a header's value", func(e *Endpoint) { e.Response.Headers = Headers("X-A", "\x00") },
			[]string{`response.headers.X-A: GET /x: the control character '\x00' is not allowed in a header`}},
		{"a line break in a header's name", func(e *Endpoint) { e.Response.Headers = Headers("X-A\r\nX-B", "c") },
			[]string{`response.headers."X-A\r\nX-B": GET /x: "X-A\r\nX-B" is not a header name`}},
		{"line breaks in a method and a path", func(e *Endpoint) { e.Method, e.Path = "G\nET", Plain("x\n") },
			[]string{`method: "G\nET" "x\n": is "G\nET"`, `path: "G\nET" "x\n": "x\n" does not begin with /`}},
		{"a header without a name", func(e *Endpoint) { e.Response.Headers = Headers("", "c") },
			[]string{`response.headers."": GET /x: "" is not a header name`}},
		{"a header in two spellings", func(e *Endpoint) { e.Response.Headers = Headers("X-A", "1", "x-a", "2") },
			[]string{`response.headers.x-a: GET /x: is the same header as "X-A"`}},
		{"two types", func(e *Endpoint) { e.Response.Headers = Headers("Content-Type", "a/b", "Content-Type", "c/d") },
			[]string{"response.headers.Content-Type: GET /x: has several values; expected one, because a message may contain this header only once"}},
		{"a header's name without a value", func(e *Endpoint) { e.Response.Headers = Headers("X-A", "1", "X-B") },
			[]string{"response.headers.X-B: GET /x: the name has no value after it"}},
		{"an external body", external(func(*ExternalBody) {}), nil},
		{"a body beside an external one", func(e *Endpoint) {
			external(func(*ExternalBody) {})(e)
			e.Response.Body = Plain("x")
		}, []string{"response.external-body: GET /x: body and external-body are both given"}},
		{"an empty JSON body beside an external one", func(e *Endpoint) {
			external(func(*ExternalBody) {})(e)
			e.Response.Body = JSON("")
		}, []string{"response.external-body: GET /x: body and external-body are both given"}},
		{"a body that JSON cannot say", func(e *Endpoint) { e.Response.Body = JSON(map[string]any{"a": math.Inf(1)}) },
			[]string{"response.body: GET /x: the value cannot be written as JSON: json: unsupported value: +Inf"}},
		{"a body with a key twice", func(e *Endpoint) { e.Response.Body = JSON(json.RawMessage(`{"a": 1, "a": 2}`)) },
			[]string{`response.body: GET /x: the value cannot be written as JSON: the key "a" is already given`}},
		{"a body of a kind that JSON has not", func(e *Endpoint) { e.Response.Body = JSON(func() {}) },
			[]string{"response.body: GET /x: the value cannot be written as JSON: json: unsupported type: func()"}},
		{"a body nested too deep", func(e *Endpoint) {
			var deep any
			for range syntax.MaxDepth {
				deep = []any{deep}
			}
			e.Response.Body = JSON(deep)
		}, []string{"response.body: GET /x: the value cannot be written as JSON: values are nested more than 1000 deep"}},
		{"no provider", external(func(x *ExternalBody) { x.Provider = "" }), []string{`response.external-body.provider: GET /x: is ""`}},
		{"another provider", external(func(x *ExternalBody) { x.Provider = "jsn" }), []string{`response.external-body.provider: GET /x: is "jsn" (did you mean "json"?)`}},
		{"an external body without a path", external(func(x *ExternalBody) { x.Path = syntax.Text{} }), []string{"response.external-body.path: GET /x: the path is empty"}},
		{"a workbook without a sheet", external(func(x *ExternalBody) { x.Provider, x.Path = "xlsx", Plain("a.xlsx") }),
			[]string{"response.external-body.sheet-name: GET /x: sheet-name is missing"}},
		{"JSON with a sheet", external(func(x *ExternalBody) { x.Sheet = Plain("a") }), []string{"response.external-body.sheet-name: GET /x: sheet-name is for provider xlsx"}},
		{"a workbook at a URL", external(func(x *ExternalBody) { x.Provider, x.Sheet = "xlsx", Plain("a") }),
			[]string{"response.external-body.path: GET /x: provider xlsx reads only files"}},
		{"a URL of another scheme", external(func(x *ExternalBody) { x.Path = Plain("ftp://a.test/x") }),
			[]string{"response.external-body.path: GET /x: ftp URLs are not supported"}},
		{"a URL without a host", external(func(x *ExternalBody) { x.Path = Plain("http:///x") }), []string{`response.external-body.path: GET /x: "http:///x" is not a valid URL: it names no host`}},
		{"a timeout below 0", external(func(x *ExternalBody) { x.Timeout = -time.Second }), []string{"response.external-body.timeout: GET /x: is -1s; expected a duration above 0, such as"}},
		{"a ttl below 0", external(func(x *ExternalBody) { x.TTL = -1 }), []string{"response.external-body.ttl: GET /x: is -1ns; expected a duration of 0 or more"}},
		{"a file with what is for URLs", external(func(x *ExternalBody) {
			x.Path, x.Timeout, x.TTL, x.StaleIfError, x.Insecure = Plain("a.json"), 1, 1, true, true
		}), []string{
			"response.external-body.timeout: GET /x: timeout is for http and https URLs",
			"response.external-body.ttl: GET /x: ttl is for", "response.external-body.stale-if-error: GET /x: stale-if-error is for",
			"response.external-body.insecure: GET /x: insecure is for",
		}},
		{"a documented body that is no JSON", func(e *Endpoint) { e.Doc.Body = "{" }, []string{"body: GET /x: the example of the request body is not valid JSON"}},
		{"a path that is the text of no JSON", func(e *Endpoint) { e.Path = JSON(make(chan int)) },
			[]string{"path: GET: the value cannot be written as JSON"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := Endpoint{Path: Plain("/x")}
			c.change(&e)
			before := e
			spec := New(Endpoint{Path: Plain("/good")}, e)
			got := spec.Validate()
			if len(got) != len(c.want) {
				t.Fatalf("got %d problems, want %d:\n%v", len(got), len(c.want), got)
			}
			for i, p := range got {
				if !strings.HasPrefix(p.String(), "[1].endpoint."+c.want[i]) || p.Warning {
					t.Errorf("got %q, want [1].endpoint.%s", p, c.want[i])
				}
			}
			if !reflect.DeepEqual(spec.Endpoints[1], before) {
				t.Error("it was changed")
			}
			complete := spec.Complete()
			if broken := len(c.want) > 0; len(complete.Broken) == 1 != broken || len(complete.Endpoints) == 2 == broken {
				t.Errorf("got %d endpoints and %d broken ones", len(complete.Endpoints), len(complete.Broken))
			}
		})
	}
}

func TestNew_WarnsAsOfAFile(t *testing.T) {
	got := New(
		Endpoint{Path: Plain("/a"), Response: Response{Headers: Headers("Date", "now")}},
		Endpoint{Path: Plain("/b"), Response: Response{Status: 204, Body: Plain("x")}},
		Endpoint{Path: Plain("/c"), Response: Response{Body: Plain("{,}")}},
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

// The endpoint that is checked is the one that is served, not the one that the file contained.
func TestNew_ChecksWhatWasReadAndChanged(t *testing.T) {
	// Each letter after an escape still has its own position.
	const text = `[{:endpoint {:path "\u002fx" :if "host = \"a\"" :response {:headers {:x-a "\"1\""}
  :external-body {:provider :xlsx :path "\"a\".xlsx" :sheet-name "\"s\""}}}}]`
	read := only(t, "conf/m.edn", text)
	for name, c := range map[string]struct {
		change func(e *Endpoint)
		want   string
	}{
		"a status":         {func(e *Endpoint) { e.Response.Status = 2010 }, "response.status: GET /x: is 2010"},
		"a header":         {func(e *Endpoint) { e.Response.Headers[0].Value.Value = "a\r\nX-B: c" }, `response.headers.X-A: GET /x: the control character '\r'`},
		"a header's name":  {func(e *Endpoint) { e.Response.Headers[0].Name = "X A" }, `response.headers.X A: GET /x: "X A" is not a header name`},
		"a body beside it": {func(e *Endpoint) { e.Response.Body = Plain("x") }, "response.external-body: GET /x: body and external-body"},
		"the sheet":        {func(e *Endpoint) { e.Response.External.Sheet = syntax.Text{} }, "response.external-body.sheet-name: GET /x: sheet-name is missing"},
	} {
		e := only(t, "conf/m.edn", text)
		c.change(&e)
		if got := New(e).Validate(); len(got) != 1 || !strings.HasPrefix(got[0].String(), "[0].endpoint."+c.want) {
			t.Errorf("%s: got %v, want %s", name, got, c.want)
		}
	}
	again := New(Endpoint{Path: Plain("/0")}, read).Complete().Endpoints[1]
	x := again.Response.External
	for _, text := range []syntax.Text{again.Path, again.If, again.Response.Headers[0].Value, x.Path, x.Sheet} {
		if text.Pos.File != "" || text.At(1).File != "" || !strings.HasPrefix(text.Key, "[1].endpoint.") {
			t.Errorf("%q is at %v with key %s", text.Value, text.At(1), text.Key)
		}
	}
	body := New(only(t, "m.yml", inResponse("body: {a: '{{ x }}'}"))).Complete().Endpoints[0].Response.Body
	if at := body.At(strings.IndexByte(body.Value, 'x')); at.File != "" {
		t.Errorf("a map for a body is at %v", at)
	}
	if again.Pos.File != "" || again.Response.Pos.File != "" || x.Pos.File != "" || again.Dir != "conf" {
		t.Errorf("got %+v", again)
	}
}

// The endpoints passed to New may be changed while the spec is served.
func TestNew_SharesNothingWithWhatItIsGiven(t *testing.T) {
	endpoint := func() Endpoint {
		return Endpoint{
			Path:     Plain("/x"),
			Response: Response{Headers: Headers("X-A", "1"), External: &ExternalBody{Provider: "json", Path: Plain("a.json")}},
			Doc:      Doc{Query: []QueryParam{{Name: "a", Type: "int"}}, Tags: []string{"a"}},
			Webhooks: []Webhook{{Method: "POST", URL: Plain("http://a"), Headers: Headers("X-A", "1"), Retry: &Retry{Attempts: 2}, Sign: &Sign{Secret: "s"}}},
		}
	}
	given := endpoint()
	list := []Endpoint{given}
	spec := New(list...)
	list[0].Method = "PUT"
	given.Response.Headers[0].Name = "X-B"
	given.Response.External.Path = Plain("b.json")
	given.Doc.Query[0].Name, given.Doc.Tags[0] = "b", "b"
	w := &given.Webhooks[0]
	w.Headers[0].Name, w.Retry.Attempts, w.Sign.Secret, w.Method = "X-B", 3, "t", "PUT"
	if !reflect.DeepEqual(spec, New(endpoint())) {
		t.Errorf("got %+v", spec.Endpoints[0])
	}
}

func TestComplete_GivesEveryTextItsKey(t *testing.T) {
	spec := New(Endpoint{
		Path: Plain("/x"), If: Plain("host = a"),
		Response: Response{Headers: Headers("X-A", "1"), External: &ExternalBody{Provider: "xlsx", Path: Plain("p"), Sheet: Plain("s")}},
	}).Complete()
	e := spec.Endpoints[0]
	x := e.Response.External
	got := []string{e.Key, e.Path.Key, e.If.Key, e.Response.Headers[0].Value.Key, e.Response.Body.Key, x.Key, x.Path.Key, x.Sheet.Key}
	want := []string{"", ".path", ".if", ".response.headers.X-A", ".response.body", ".response.external-body", ".response.external-body.path", ".response.external-body.sheet-name"}
	for i := range want {
		if got[i] != "[0].endpoint"+want[i] {
			t.Errorf("got %q, want [0].endpoint%s", got[i], want[i])
		}
	}
	if again := spec.Complete(); again != spec {
		t.Error("a complete spec was completed again")
	}
}

func TestComplete_ChangesNothing(t *testing.T) {
	endpoint := func() Endpoint {
		return Endpoint{
			Path: Plain("/x"),
			Response: Response{
				Headers: Headers("X-A", "1"), Raw: true, Body: JSON(`{{"`),
				External: &ExternalBody{Provider: "xlsx", Path: Plain("p"), Sheet: Plain("s")},
			},
		}
	}
	spec := New(endpoint())
	spec.Complete()
	if !reflect.DeepEqual(spec, New(endpoint())) {
		t.Errorf("got %+v", spec)
	}
}

func TestComplete_OfNoSpecSaysSo(t *testing.T) {
	var none *Spec
	for name, got := range map[string]syntax.Problems{"Complete": none.Complete().Problems, "Validate": none.Validate(), "Join": Join(New(), nil).Problems} {
		if len(got) != 1 || got.Err() == nil || got[0].String() != "the spec is nil; config.New() returns one without endpoints" {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if got := New().Validate(); len(got) > 0 {
		t.Errorf("an empty spec: got %v", got)
	}
}

// Endpoints made in Go are numbered separately, and all problems are kept.
func TestJoin_KeepsOrderAndProblems(t *testing.T) {
	file := Parse("m.yml", []byte("- endpoint: {path: /file, response: {}}\n- endpoint: {path: /broken, response: {status: 1}}"))
	joined := Join(New(Endpoint{Path: Plain("/a")}), file, New(Endpoint{Path: Plain("/b")}, Endpoint{Path: Plain("c")}))
	if len(joined.Validate()) != 2 {
		t.Fatalf("got %v, want two problems", joined.Validate())
	}
	for i, want := range []string{"m.yml:2:48: [1].endpoint.response.status: ", "[2].endpoint.path: GET c: "} {
		if got := joined.Validate()[i].String(); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	c := joined.Complete()
	if got := plain(c.Endpoints[0].Path, c.Endpoints[1].Path, c.Endpoints[2].Path); !reflect.DeepEqual(got, []string{"/a", "/file", "/b"}) || len(c.Broken) != 2 {
		t.Errorf("got %v and %d broken ones", got, len(c.Broken))
	}
	if len(file.Endpoints) != 1 || len(file.Problems) != 1 {
		t.Error("the joined spec was changed")
	}
}

func TestJSON_IsTheTextOfTheValue(t *testing.T) {
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
		{"nil", nil, "null", ""},
		{"a text", "a", `"a"`, ""},
		{"a number", 1.50, "1.5", ""},
		{"a large number", uint64(18446744073709551615), "18446744073709551615", ""},
		{"a struct, its fields in order", order{ID: 7, Name: "<b> & \"c\"\n"}, `{"id":7,"name":"<b> & \"c\"\n"}`, ""},
		{"a map, its keys in order", map[string]any{"b": []int{1, 2}, "a": nil}, `{"a":null,"b":[1,2]}`, ""},
		{"a placeholder", map[string]any{"id": "{{path-params.id}}"}, `{"id":"{{path-params.id}}"}`, ""},
		{"a placeholder with quotes", []string{`a "{{query-params.p|default:"1"}}"`}, `["a \"{{query-params.p|default:"1"}}\""]`, `["a \"{{query-params.p|default:\"1\"}}\""]`},
		{"a placeholder as a key", map[string]any{`{{now|date:"2006"}}`: 1}, `{"{{now|date:"2006"}}":1}`, `{"{{now|date:\"2006\"}}":1}`},
		{"letters beyond ASCII", "é\u2028", "\"é\u2028\"", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := New(Endpoint{Path: Plain("/"), Response: Response{Body: JSON(c.value)}}).Complete().Endpoints[0]
			if got := e.Response.Body.Value; got != c.want || !e.Response.BodyJSON {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if c.raw == "" {
				c.raw = c.want
			}
			e = New(Endpoint{Path: Plain("/"), Response: Response{Raw: true, Body: JSON(c.value)}}).Complete().Endpoints[0]
			if got := e.Response.Body.Value; got != c.raw {
				t.Errorf("without placeholders: got %s, want %s", got, c.raw)
			}
		})
	}
}

// A Go value and the equivalent map in a file give the same body.
func TestJSON_IsWhatAFileHas(t *testing.T) {
	file := Parse("m.yml", []byte(`- endpoint: {path: /, response: {body: {a: "{{host|default:\"x\"}}", b: [1, "\"", null, true]}}}`))
	if len(file.Problems) > 0 {
		t.Fatal(file.Problems)
	}
	got := JSON(map[string]any{"a": `{{host|default:"x"}}`, "b": []any{1, `"`, nil, true}})
	if want := file.Endpoints[0].Response.Body.Value; got.Value != want {
		t.Errorf("got %s, want %s", got.Value, want)
	}
}

func FuzzJSONValue(f *testing.F) {
	f.Add("a", "b")
	f.Add(`{{x|default:"`, `"}}`)
	f.Add("{% raw %}\"", "{% endraw %}\\")
	f.Fuzz(func(t *testing.T, key, text string) {
		body := JSON(map[string]any{key: []any{text}})
		if body.Fault() != "" {
			t.Fatal(body.Fault())
		}
		if !json.Valid([]byte(body.Raw().Value)) {
			t.Errorf("%q is not JSON", body.Raw().Value)
		}
		if !tags.In(key) && !tags.In(text) && body.Value != body.Raw().Value {
			t.Errorf("got %q, want %q", body.Value, body.Raw().Value)
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
