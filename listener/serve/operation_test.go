package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/listener/compile"
	"mockserver/listener/protocol/wire"
)

// endpointWith returns an endpoint for an operation, as if it had been read from a document.
func endpointWith(method, path string, byDefault int, responses ...openapi.Response) item.Endpoint {
	d := &openapi.Operation{Method: method, Path: path, Responses: responses, Default: byDefault}
	a := responses[byDefault]
	e := item.Endpoint{Method: method, Path: syntax.Text{Value: path}, Operation: d}
	e.Response = item.Response{Status: a.Status, Raw: true, Body: syntax.Text{Value: string(a.Body)}}
	if a.MediaType != "" {
		e.Response.Headers = headers("Content-Type", a.MediaType)
	}
	for _, h := range a.Headers {
		e.Response.Headers = append(e.Response.Headers, headers(h.Name, h.Value)...)
	}
	return e
}

func headers(name, value string) []item.Header {
	return []item.Header{{Name: name, Value: syntax.Text{Value: value}}}
}

func ofJSON(status int, declared, example, body string) openapi.Response {
	return openapi.Response{Status: status, Declared: declared, MediaType: typeJSON, Example: example, Body: []byte(body)}
}

// pets returns operations with answers of every kind.
func pets() []item.Endpoint {
	fresh := func(seed uint64) []byte { return fmt.Appendf(nil, `{"fresh":%d}`, seed) }
	list := ofJSON(200, "200", "", `[]`)
	list.Headers = []openapi.Header{{Name: "X-Total", Value: "0"}}
	cat, dog := ofJSON(200, "200", "cat", `{"cat":1}`), ofJSON(200, "200", "dog", `{"dog":1}`)
	cat.Fresh, dog.Fresh = fresh, fresh
	xml := openapi.Response{Status: 200, Declared: "200", MediaType: "application/xml", Example: "cat", Body: []byte(`<cat/>`), Fresh: fresh}
	gone := ofJSON(404, "404", "gone", `{"gone":1}`)
	gone.Headers = []openapi.Header{{Name: "x-why", Value: "eaten"}, {Name: "Content-Length", Value: "7"}, {Name: "Content-Type", Value: "application/problem+json"}}
	return []item.Endpoint{
		endpointWith("GET", "/plain", 0, list, ofJSON(500, "5XX", "", `{"broken":1}`), openapi.Response{Status: 204, Declared: "204"}),
		endpointWith("GET", "/kinds", 1, xml, cat, dog, gone,
			openapi.Response{Status: 404, Declared: "404", MediaType: "text/plain", Body: []byte("gone")}, ofJSON(200, "default", "", `{"default":1}`)),
		endpointWith("GET", "/pets/:id", 0, cat, gone),
		endpointWith("POST", "/pets", 0, openapi.Response{Status: 201, Declared: "201"}, ofJSON(400, "4XX", "", `{"bad":1}`), ofJSON(409, "409", "", `{"conflict":1}`)),
	}
}

// described serves endpoints declared in Go, after those of a configuration text.
func described(tb testing.TB, configuration string, endpoints ...item.Endpoint) *testServer {
	tb.Helper()
	spec := config.Join(&config.Spec{Items: config.Items{Endpoints: endpoints}}, config.Parse("mock.yml", []byte(configuration)))
	return newServer(tb, compile.Options{}).serving(tb, spec)
}

// responseTo serves one request, given as "GET /path" with headers "Name: value".
func responseTo(s *testServer, line string, headers ...string) *fasthttp.Response {
	var ctx wire.Exchange
	method, target, _ := strings.Cut(line, " ")
	ctx.Request.Header.SetMethod(method)
	ctx.Request.SetRequestURI(target)
	ctx.Request.Header.SetHost("mock.test")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		ctx.Request.Header.Add(name, value)
	}
	ctx.Response.Header.SetNoDefaultContentType(true) // as the server sets it
	_ = s.Serve(asReceived(&ctx))
	return &ctx.Response
}

func TestOperation_Choice(t *testing.T) {
	s := described(t, "[]", pets()...)
	const xmlType, problem = "application/xml", "application/problem+json"
	for _, c := range []struct {
		name, line string
		headers    []string
		status     int
		kind, body string // the body, or parts of the error message
	}{
		{"nothing", "GET /plain", nil, 200, typeJSON, `[]`},
		{"another code", "GET /plain", []string{"Prefer: code=204"}, 204, "", ""},
		{"a code of a range", "GET /plain", []string{"Prefer: code=503"}, 503, typeJSON, `{"broken":1}`},
		{"the only code", "GET /plain", []string{"Prefer: code=200"}, 200, typeJSON, `[]`},
		{"a code that is not declared", "GET /plain", []string{"Prefer: code=404"}, 404, "answer_not_found", "GET /plain has no answer 404; there are 200, 5XX, 204"},
		{"a code of default", "GET /kinds", []string{"Prefer: code=418"}, 418, typeJSON, `{"default":1}`},
		{"a code before its range", "POST /pets", []string{"Prefer: code=409"}, 409, typeJSON, `{"conflict":1}`},
		{"a code with headers", "GET /kinds", []string{"Prefer: code=404"}, 404, problem, `{"gone":1}`},
		{"of the query", "GET /kinds?a=b&__code=404", nil, 404, problem, `{"gone":1}`},
		{"a header before the query", "GET /kinds?__code=404", []string{"Prefer: code=500"}, 500, typeJSON, `{"default":1}`},
		{"one of the header, one of the query", "GET /kinds?__code=200", []string{"Prefer: example=dog"}, 200, typeJSON, `{"dog":1}`},
		{"an example", "GET /kinds", []string{"Prefer: example=dog"}, 200, typeJSON, `{"dog":1}`},
		{"an example of the query", "GET /pets/7?__example=cat", nil, 200, typeJSON, `{"cat":1}`},
		{"an example that does not exist", "GET /kinds?__example=cow", nil, 404, "answer_not_found", `the answer 200 of GET /kinds has no example "cow"; there are "cat", "dog"`},
		{"an example of another code", "GET /pets/7?__example=gone", nil, 404, "answer_not_found", `has no example "gone"; there are "cat" (with code=404 there is one)`},
		{"no examples at all", "GET /plain?__example=a", nil, 404, "answer_not_found", `has no example "a", nor any other that has a name`},
		{"an example and its code", "GET /pets/7?__example=gone&__code=404", nil, 404, problem, `{"gone":1}`},
		{"several headers", "GET /pets/7", []string{"Prefer: respond-async, wait=10", "Prefer: CODE=404; x=y", "Prefer: code=500"}, 404, problem, `{"gone":1}`},
		{"quoted", "GET /kinds", []string{`Prefer: code="200" , example="d\og"`}, 200, typeJSON, `{"dog":1}`},
		{"with blanks for commas", "GET /kinds", []string{`Prefer: code=200 example = dog dynamic=false`}, 200, typeJSON, `{"dog":1}`},
		{"unknown ones", "GET /kinds?__other=1&x__code=404", []string{`Prefer: return=minimal, "code=404", =code, status=404`}, 200, typeJSON, `{"cat":1}`},
		{"no code", "GET /kinds", []string{"Prefer: code=abc"}, 400, "bad_preference", `the preference code is "abc"; expected a status from 200 to 599`},
		{"an empty code", "GET /kinds?__code=", nil, 400, "bad_preference", `the preference code is ""`},
		{"a code out of range", "GET /kinds?__code=1000", nil, 400, "bad_preference", "200 to 599"},
		{"a code that no answer has", "GET /kinds?__code=101", nil, 400, "bad_preference", "200 to 599"},
		{"dynamic, or what", "GET /kinds?__dynamic=maybe", nil, 400, "bad_preference", `the preference dynamic is "maybe"; expected true or false`},
		{"dynamic without a schema", "GET /plain?__dynamic=true", nil, 404, "answer_not_found", "the answer 200 of GET /plain has no schema"},
		{"dynamic without a body", "POST /pets?__dynamic=true", nil, 201, "", ""},
		{"not dynamic", "GET /kinds?__dynamic=false", nil, 200, typeJSON, `{"cat":1}`},
		{"an example is not dynamic", "GET /kinds?__dynamic=true&__example=dog", nil, 200, typeJSON, `{"dog":1}`},

		{"XML", "GET /kinds", []string{"Accept: application/xml"}, 200, xmlType, `<cat/>`},
		{"XML, in any case", "GET /kinds", []string{"Accept: Application/XML"}, 200, xmlType, `<cat/>`},
		{"any", "GET /kinds", []string{"Accept: */*"}, 200, typeJSON, `{"cat":1}`},
		{"any of a main type", "GET /kinds", []string{"Accept: application/*"}, 200, typeJSON, `{"cat":1}`},
		{"the heavier one", "GET /kinds", []string{"Accept: application/json;q=0.8, application/xml;q=0.9"}, 200, xmlType, `<cat/>`},
		{"as heavy as the other", "GET /kinds", []string{"Accept: application/xml, application/json"}, 200, typeJSON, `{"cat":1}`},
		{"the one that is named", "GET /kinds", []string{"Accept: application/xml, */*"}, 200, xmlType, `<cat/>`},
		{"in two headers", "GET /kinds", []string{"Accept: */*", "Accept: application/xml"}, 200, xmlType, `<cat/>`},
		{"the range that names it most closely", "GET /kinds", []string{"Accept: */*;q=0.5, application/json;q=0.1"}, 200, xmlType, `<cat/>`},
		{"no type is acceptable", "GET /kinds", []string{"Accept: application/json;q=0, application/xml;q=0.0"}, 200, typeJSON, `{"cat":1}`},
		{"one type is not acceptable", "GET /kinds", []string{"Accept: application/json;q=0, */*"}, 200, xmlType, `<cat/>`},
		{"an unavailable type", "GET /kinds", []string{"Accept: text/html"}, 200, typeJSON, `{"cat":1}`},
		{"nothing at all", "GET /kinds", []string{"Accept: ;;,q=1,/"}, 200, typeJSON, `{"cat":1}`},
		{"with a charset", "GET /kinds", []string{"Accept: application/xml; charset=utf-8"}, 200, xmlType, `<cat/>`},
		{"with an unknown parameter", "GET /kinds", []string{"Accept: application/xml;v=2, application/json;q=0.1"}, 200, typeJSON, `{"cat":1}`},
		{"where there is one type", "GET /plain", []string{"Accept: application/xml"}, 200, typeJSON, `[]`},
		{"of another code", "GET /kinds", []string{"Accept: text/plain", "Prefer: code=404"}, 404, "text/plain", `gone`},
		{"an example in one type only", "GET /kinds", []string{"Accept: application/xml", "Prefer: example=dog"}, 200, typeJSON, `{"dog":1}`},
		{"an example in both", "GET /kinds", []string{"Accept: application/xml", "Prefer: example=cat"}, 200, xmlType, `<cat/>`},
		{"HEAD", "HEAD /kinds", []string{"Accept: application/xml"}, 200, xmlType, `<cat/>`},
		{"HEAD of another code", "HEAD /kinds?__code=404", nil, 404, problem, `{"gone":1}`},
		{"OPTIONS", "OPTIONS /kinds?__code=404", nil, 200, "", ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp := responseTo(s, c.line, c.headers...)
			kind, body := string(resp.Header.ContentType()), string(resp.Body())
			if c.kind == "answer_not_found" || c.kind == "bad_preference" {
				var e struct{ Error, Code, Message string }
				if err := json.Unmarshal(resp.Body(), &e); err != nil || resp.StatusCode() != c.status || e.Code != c.kind || e.Error == "" || !strings.Contains(e.Message, c.body) {
					t.Errorf("got %d %s\nwant %d %s %s", resp.StatusCode(), body, c.status, c.kind, c.body)
				}
				return
			}
			if resp.StatusCode() != c.status || kind != c.kind || body != c.body {
				t.Errorf("got %d %s %s\nwant %d %s %s", resp.StatusCode(), kind, body, c.status, c.kind, c.body)
			}
		})
	}
	if head := responseTo(s, "GET /kinds?__code=404").Header.String(); !strings.Contains(head, "\r\nx-why: eaten\r\n") || strings.Contains(head, "Content-Length: 7") {
		t.Errorf("got the headers %s", head)
	}
}

// Generated bodies differ each time; with a seed, they are the same in each run.
func TestOperation_Dynamic(t *testing.T) {
	bodies := func(seed *uint64) string {
		s := newServer(t, compile.Options{Seed: seed}).serving(t, &config.Spec{Items: config.Items{Endpoints: pets()}})
		var all []string
		for range 3 {
			body := string(responseTo(s, "GET /pets/7", "Prefer: dynamic=true").Body())
			if !strings.HasPrefix(body, `{"fresh":`) || strings.Contains(strings.Join(all, " "), body) {
				t.Errorf("got %s after %s", body, all)
			}
			all = append(all, body)
		}
		if got := string(responseTo(s, "GET /pets/7").Body()); got != `{"cat":1}` {
			t.Errorf("the answer shared by all is %s afterwards", got)
		}
		return strings.Join(all, " ")
	}
	seed, other := uint64(7), uint64(8)
	if a, b := bodies(nil), bodies(nil); a == b {
		t.Errorf("without a seed two servers both answer %s", a)
	}
	if a, b, c := bodies(&seed), bodies(&seed), bodies(&other); a != b || a == c {
		t.Errorf("the same seed gives %s and %s, another seed %s", a, b, c)
	}
}

// An answer that the document does not declare is sent as is, unless the request selects another.
func TestOperation_OfItsOwn(t *testing.T) {
	e := pets()[1]
	e.Response = item.Response{Status: 201, Body: syntax.Text{Value: `{"own": "{{query-params.q}}"}`}}
	declared := e
	declared.Path.Value = "/none"
	declared.Operation = &openapi.Operation{Method: "GET", Path: "/none"}
	s := described(t, "[]", e, declared)
	for _, c := range []struct {
		line   string
		accept string
		status int
		body   string
	}{
		{"GET /kinds?q=1", "*/*", 201, `{"own": "1"}`},
		{"GET /kinds", "application/xml", 201, `{"own": ""}`},
		{"GET /kinds?__code=201", "application/xml", 201, `{"own": ""}`},
		{"GET /kinds?__code=200", "application/xml", 200, `<cat/>`},
		{"GET /kinds?__example=dog&__code=200", "*/*", 200, `{"dog":1}`},
		{"GET /none?__code=201", "*/*", 201, `{"own": ""}`},
	} {
		if resp := responseTo(s, c.line, "Accept: "+c.accept); resp.StatusCode() != c.status || string(resp.Body()) != c.body {
			t.Errorf("%s: got %d %s, want %d %s", c.line, resp.StatusCode(), resp.Body(), c.status, c.body)
		}
	}
	if resp := responseTo(s, "GET /none?__code=200"); resp.StatusCode() != 404 || !strings.Contains(string(resp.Body()), "answer_not_found") {
		t.Errorf("got %d %s", resp.StatusCode(), resp.Body())
	}
}

// Webhooks are sent only after an answer that reports success.
func TestOperation_Webhooks(t *testing.T) {
	e := pets()[2]
	e.Webhooks = []item.Webhook{{Method: "POST", URL: syntax.Text{Value: "http://127.0.0.1:9/a"}}}
	s := described(t, "[]", e)
	o := s.snapshot.Load().Responses[0].Operation
	if got := len(o.Response(0).Hooks); got != 1 {
		t.Errorf("a 200 is followed by %d webhooks, want 1", got)
	}
	if got := len(o.Response(1).Hooks); got != 0 {
		t.Errorf("a 404 is followed by %d webhooks, want none", got)
	}
}

// An answer is compiled by the request that selects it first, while other requests select answers
// concurrently.
func TestOperation_AtOnce(t *testing.T) {
	s := described(t, "[]", pets()...)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 50 {
				code, want := 404, `{"gone":1}`
				if (i+n)%2 == 0 {
					code, want = 418, `{"default":1}`
				}
				if resp := responseTo(s, "GET /kinds", fmt.Sprintf("Prefer: code=%d", code)); resp.StatusCode() != code || string(resp.Body()) != want {
					t.Errorf("got %d %s, want %d %s", resp.StatusCode(), resp.Body(), code, want)
				}
			}
		})
	}
	all.Wait()
}

// The selection made by one request does not affect other requests on the connection, whether they
// arrive one by one, together, or byte by byte.
func TestOperation_OnOneConnection(t *testing.T) {
	s := described(t, "[]", pets()...)
	request := func(path string, headers ...string) string {
		return "GET " + path + " HTTP/1.1\r\n" + strings.Join(append(headers, "Host: a"), "\r\n") + "\r\n\r\n"
	}
	all := []struct{ sent, want string }{
		{request("/pets/7"), `{"cat":1}`},
		{request("/pets/7", "PREFER: code=404"), `{"gone":1}`},
		{request("/pets/7"), `{"cat":1}`},
		{request("/kinds", "accept: application/xml"), `<cat/>`},
		{request("/kinds"), `{"cat":1}`},
		{request("/plain", "Prefer: code=500"), `{"broken":1}`},
		{request("/plain"), `[]`},
	}
	for first := range all {
		var sent, want strings.Builder
		for i := range all {
			c := all[(first+i)%len(all)]
			sent.WriteString(c.sent)
			want.WriteString(c.want + " ")
		}
		for _, piece := range []int{1, len(all[0].sent), 1 << 16} {
			raw, _ := responses(s, sent.String(), piece, s.fixedAt)
			var got strings.Builder
			for _, part := range strings.Split(raw, "HTTP/1.1 ")[1:] {
				_, body, _ := strings.Cut(part, "\r\n\r\n")
				got.WriteString(body + " ")
			}
			if got.String() != want.String() {
				t.Errorf("from %d on, in pieces of %d: got %s, want %s", first, piece, &got, &want)
			}
		}
	}
}
