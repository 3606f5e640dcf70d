package e2e_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mockserver/internal/harness"
)

// document returns the path of a test document.
func document(name string) string { return File("config/testdata/openapi", name) }

// documented starts the program with a test document.
func documented(t *testing.T, name string, args ...string) *Process {
	t.Helper()
	file, err := filepath.Abs(document(name))
	if err != nil {
		t.Fatal(err)
	}
	return Start(t, append([]string{"-m", file}, args...)...)
}

// complaint is the error answer to an invalid request.
type complaint struct {
	Error, Code, Message string
	Violations           []struct{ In, Pointer, Message string }
}

func complaintOf(a Response, t *testing.T) (c complaint) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), &c); err != nil || c.Error == "" || c.Message == "" || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s %s: %v", a.Status, a.Header, a.Body, err)
	}
	return c
}

func TestOpenAPIRequests_Choice(t *testing.T) {
	t.Parallel()
	p := documented(t, "prefer.yml")
	const pet, cat, dog = "/v1/pets/7", `{"id":2,"name":"Fluffy"}`, `{"id":1,"name":"Spot"}`
	for _, c := range []struct {
		name, path string
		headers    []string
		status     int
		kind, body string
	}{
		{"nothing", pet, nil, 200, "application/json", cat},
		{"XML", pet, []string{"Accept: text/html, application/xml;q=0.9, */*;q=0.8"}, 200, "application/xml", "<pet/>"},
		{"an unavailable type", pet, []string{"Accept: image/png"}, 200, "application/json", cat},
		{"an example", pet, []string{"Prefer: example=dog"}, 200, "application/json", dog},
		{"an example, by query", pet + "?__example=dog", nil, 200, "application/json", dog},
		{"a status", pet, []string{"Prefer: code=404"}, 404, "application/problem+json", `{"title":"gone"}`},
		{"a status and its example", pet, []string{"Prefer: code=404", "Prefer: example=never"}, 404, "application/problem+json", `{"title":"never was"}`},
		{"a status of a range", pet + "?__code=502", nil, 502, "application/json", `{"broken":true}`},
		{"a status of default", pet + "?__code=302", nil, 302, "text/plain", "anything"},
		{"a header before the query", pet + "?__code=502", []string{"Prefer: code=404"}, 404, "application/problem+json", `{"title":"gone"}`},
		{"another preference", pet, []string{"Prefer: respond-async, code =200;q=1"}, 200, "application/json", cat},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := p.Get(c.path, c.headers...)
			a.Body = strings.NewReplacer(" ", "", "\n", "").Replace(a.Body)
			if want := strings.ReplaceAll(c.body, " ", ""); a.Status != c.status || a.Body != want || a.Header.Get("Content-Type") != c.kind {
				t.Errorf("got %d %s %s, want %d %s %s", a.Status, a.Header.Get("Content-Type"), a.Body, c.status, c.kind, want)
			}
		})
	}
	if a := p.Get(pet + "?__code=404"); a.Header.Get("X-Why") != "eaten" {
		t.Errorf("got the headers %s", a.Header)
	}
	p.Do("POST", "/v1/pets", "").Want(t, 201, "")
	p.Do("DELETE", pet, "").Want(t, 204, "")
	if a := p.Do("HEAD", pet+"?__code=502", ""); a.Status != 502 || a.Length != int64(len(p.Get(pet+"?__code=502").Body)) {
		t.Errorf("HEAD: got %d and a length of %d", a.Status, a.Length)
	}
	for _, c := range []struct {
		method, path, prefer string
		status               int
		code, says           string
	}{
		{"DELETE", pet, "code=500", 404, "answer_not_found", "there are 204, 404"},
		{"GET", pet, "example=cow", 404, "answer_not_found", `there are "cat", "dog"`},
		{"GET", pet, "example=gone", 404, "answer_not_found", "with code=404 there is one"},
		{"GET", pet, "code=404, dynamic=true", 404, "answer_not_found", "no schema"},
		{"GET", pet, "code=40", 400, "bad_preference", "200 to 599"},
		{"GET", pet, "code=abc, example=dog", 400, "bad_preference", `"abc"`},
		{"GET", pet, "dynamic=perhaps", 400, "bad_preference", "true or false"},
	} {
		a := p.Do(c.method, c.path, "", "Prefer: "+c.prefer)
		if got := complaintOf(a, t); a.Status != c.status || got.Code != c.code || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: got %d %s, want %d %s %s", c.prefer, a.Status, a.Body, c.status, c.code, c.says)
		}
	}
}

// Generated bodies conform to the schema, differ each time, and are the same in each run with a
// seed.
func TestOpenAPIRequests_Dynamic(t *testing.T) {
	t.Parallel()
	bodies := func(args ...string) string {
		p := documented(t, "prefer.yml", args...)
		first := p.Get("/v1/pets").Body
		var all []string
		for range 3 {
			var pets []struct {
				ID   int64
				Name string
			}
			body := p.Get("/v1/pets", "Prefer: dynamic=true").Body
			if err := json.Unmarshal([]byte(body), &pets); err != nil || len(pets) != 1 || pets[0].ID < 1 || pets[0].Name == "" {
				t.Errorf("got %s: %v", body, err)
			}
			all = append(all, body)
		}
		if all[0] == all[1] && all[1] == all[2] {
			t.Errorf("got %s three times", all[0])
		}
		p.Get("/v1/pets").Want(t, 200, first)
		return strings.Join(all, "\n")
	}
	if a, b := bodies("--seed", "7"), bodies("--seed", "7"); a != b {
		t.Errorf("with the same seed, got\n%s\nand\n%s", a, b)
	}
	if a, b := bodies(), bodies(); a == b {
		t.Errorf("without a seed, got the same twice:\n%s", a)
	}
}

func TestOpenAPIRequests_NotValidatedByDefault(t *testing.T) {
	t.Parallel()
	p := documented(t, "validate.yml")
	p.Get("/v1/secret").Want(t, 200, "secret")
	if a := p.Do("POST", "/v1/orders", "{", "Content-Type: application/json"); a.Status != 201 {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}

const (
	askedJSON = "Content-Type: application/json"
	askedForm = "Content-Type: application/x-www-form-urlencoded"
)

func TestOpenAPIRequests_Validate(t *testing.T) {
	t.Parallel()
	p := documented(t, "validate.yml", "--validate")
	const list, orders = "/v1/shops/1/orders/;list=1;list=2", "/v1/orders"
	const whole = `{"items": [{"sku": "A-1", "price": 1.5}], "note": null, "payment": {"type": "cash"}}`
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code                     string
		pointers                 string
	}{
		{"a list", "GET", list + "?limit=10&tags=a%7Cb&filter[paid]=true&other=1", "", []string{"Cookie: theme=dark; a=b", "X-Trace: 123e4567-e89b-12d3-a456-426614174000"}, 200, "", ""},
		{"a list, all wrong", "GET", "/v1/shops/0/orders/;list=1;list=x?tags=a|c&filter[paid]=no", "", []string{"Cookie: theme=blue", "X-Trace: 1"}, 400, "invalid_request",
			"/path/list/1 /path/shop /query/filter/paid /query/limit /query/tags/1 /header/x-trace /cookie/theme"},
		{"a style that is another", "GET", "/v1/shops/1/orders/1,2?limit=1", "", nil, 400, "invalid_request", "/path/list"},
		{"given twice", "GET", list + "?limit=1&limit=2", "", nil, 400, "invalid_request", "/query/limit"},
		{"a broken escape", "GET", list + "?limit=1%zz", "", nil, 400, "invalid_request", "/query/limit"},
		{"HEAD", "HEAD", list, "", nil, 400, "", ""},

		{"an order", "POST", orders, whole, []string{askedJSON + "; charset=utf-8"}, 201, "", ""},
		{"an order, all wrong", "POST", orders, `{"id": "1", "items": [{"sku": "a", "price": 0}, {"more": 1}, 7], "note": "longer", "when": "now", "payment": {"type": "card", "number": "1"}}`, []string{askedJSON}, 422, "invalid_body",
			"/body/id /body/items/0/price /body/items/0/sku /body/items/1/more /body/items/1/price /body/items/1/sku /body/items/2 /body/note /body/payment/number /body/when"},
		{"a variant that does not exist", "POST", orders, `{"items": [{"sku": "A-1", "price": 1}], "payment": {"type": "cheque"}}`, []string{askedJSON}, 422, "invalid_body", "/body/payment/type"},
		{"a list for an object", "POST", orders, `[]`, []string{askedJSON}, 422, "invalid_body", "/body"},
		{"none", "POST", orders, "", nil, 400, "invalid_request", "/body"},
		{"malformed", "POST", orders, `{"items": `, []string{askedJSON}, 400, "invalid_request", "/body"},
		{"a number beyond reckoning", "POST", orders, `{"items": [{"sku": "A-1", "price": 1e1000001}]}`, []string{askedJSON}, 400, "invalid_request", "/body"},
		{"with an undeclared type", "POST", orders, "<a/>", []string{"Content-Type: application/xml"}, 415, "unsupported_media_type", "/header/content-type"},
		{"without a type", "POST", orders, "{}", nil, 415, "unsupported_media_type", "/header/content-type"},
		{"with the wrong content coding", "POST", orders, "{}", []string{askedJSON, "Content-Encoding: gzip"}, 415, "unsupported_media_type", "/header/content-encoding"},
		{"a form", "POST", orders, "sku=A-1&count=2", []string{askedForm}, 201, "", ""},
		{"a form, wrong", "POST", orders, "count=x", []string{askedForm}, 422, "invalid_body", "/body/count /body/sku"},
		{"parts", "POST", orders, "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n\x00\r\n--X--\r\n", []string{"Content-Type: multipart/form-data; boundary=X"}, 201, "", ""},
		{"parts, wrong", "POST", orders, "--X\r\nContent-Disposition: form-data; name=\"count\"\r\n\r\nx\r\n--X--\r\n", []string{"Content-Type: multipart/form-data; boundary=X"}, 422, "invalid_body", "/body/count /body/file"},

		{"all credentials", "GET", "/v1/secret", "", []string{"X-Api-Key: 1", "Cookie: session=2"}, 200, "", ""},
		{"one of two credentials", "GET", "/v1/secret", "", []string{"X-Api-Key: 1"}, 401, "unauthorized", "/cookie/session"},
		{"no credentials", "GET", "/v1/secret", "", nil, 401, "unauthorized", "/header/x-api-key /cookie/session"},
		{"no login", "GET", "/v1/login", "", []string{"Authorization: Bearer YTpi"}, 401, "unauthorized", "/header/authorization"},
		{"a login", "GET", "/v1/login", "", []string{"Authorization: Basic YTpi"}, 204, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := p.Do(c.method, c.path, c.body, c.headers...)
			if a.Status != c.status {
				t.Errorf("got %d %s, want %d", a.Status, a.Body, c.status)
			}
			if c.code == "" {
				return
			}
			got := complaintOf(a, t)
			var pointers []string
			for _, v := range got.Violations {
				pointers = append(pointers, v.Pointer)
				if !strings.HasPrefix(v.Pointer, "/"+v.In) || v.Message == "" || !strings.Contains(got.Message, v.Pointer+" "+v.Message) {
					t.Errorf("%+v is not in the message %s", v, got.Message)
				}
			}
			if all := strings.Join(pointers, " "); got.Code != c.code || all != c.pointers {
				t.Errorf("got %s %s\nwant %s %s", got.Code, all, c.code, c.pointers)
			}
			if (c.status == 401) != (a.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("got WWW-Authenticate %q", a.Header.Values("WWW-Authenticate"))
			}
		})
	}
}

// Bounds beyond 2^53, and with more digits than a float64 holds, are exact to the last digit.
func TestOpenAPIRequests_ValidateExactNumbers(t *testing.T) {
	t.Parallel()
	p := documented(t, "exact.yml", "--validate")
	for query, status := range map[string]int{
		"least=9223372036854775799": 400, "least=9223372036854775800": 200, "most=9007199254740994": 400, "most=9007199254740993": 200,
		"above=9007199254740993": 400, "above=9007199254740994": 200,
		"below=0.12345678901234567890": 400, "below=0.12345678901234567889": 200, "step=9007199254740992": 400, "step=18014398509481986": 200,
	} {
		if a := p.Get("/numbers?" + query); a.Status != status {
			t.Errorf("%s: got %d %s, want %d", query, a.Status, a.Body, status)
		}
	}
	if got := complaintOf(p.Get("/numbers?least=1"), t).Message; !strings.Contains(got, "expected at least 9223372036854775800") {
		t.Errorf("got the message %s", got)
	}
	for path, bounds := range map[string][2]int64{
		"least": {9223372036854775800, math.MaxInt64}, "most": {math.MinInt64, -9223372036854775800},
		"between": {9007199254740993, 9007199254740993}, "step": {9007199254740993, 9007199254740993},
	} {
		a := p.Get("/made/" + path)
		if n, err := strconv.ParseInt(a.Body, 10, 64); err != nil || n < bounds[0] || n > bounds[1] {
			t.Errorf("%s: got %s, want an integer from %d to %d", path, a.Body, bounds[0], bounds[1])
		}
	}
	if out := p.Output(); slices.ContainsFunc(out, func(line string) bool { return strings.Contains(line, "configuration warning") }) {
		t.Errorf("got warnings: %s", out)
	}
}

// Strings that almost look like addresses are refused.
func TestOpenAPIRequests_ValidateAddresses(t *testing.T) {
	t.Parallel()
	p := documented(t, "exact.yml", "--validate")
	for name, texts := range map[string]map[string]int{
		"email":     {"@b.example": 400, "a@": 400, "a b@c.example": 400, "a@b.example": 200},
		"uri":       {"http://a/b c": 400, "/b": 400, "http://a/{b}": 400, "http://a/ü": 400, "http://a/b%20c": 200},
		"reference": {"a b": 400, "a%2": 400, "../a?b#c": 200},
		"iri":       {"http://a/ü ü": 200}, // not checked
	} {
		for text, status := range texts {
			if a := p.Get("/texts?" + url.Values{name: {text}}.Encode()); a.Status != status {
				t.Errorf("%s %q: got %d %s, want %d", name, text, a.Status, a.Body, status)
			}
		}
	}
}

// A nullable reference in OpenAPI 3.0 accepts null in addition to the values that its schema
// accepts.
func TestOpenAPIRequests_ValidateNullableReferences(t *testing.T) {
	t.Parallel()
	p := documented(t, "nullable.yml", "--validate")
	for body, pointer := range map[string]string{
		`{"pet": null, "typed": null, "any": null, "one": null}`:                                               "",
		`{"pet": {"name": "Rex"}, "any": {"kind": "x"}, "one": {"kind": "Pet", "name": "Rex"}, "listed": "a"}`: "",
		`{"pet": {}}`: "/body/pet/name", `{"typed": 7}`: "/body/typed", `{"any": 7}`: "/body/any", `{"one": {"kind": "Pet"}}`: "/body/one/name",
		`{"listed": null}`: "/body/listed", `{"never": null}`: "/body/never",
	} {
		a := p.Do("POST", "/owners", body, askedJSON)
		if pointer == "" {
			if a.Status != 200 {
				t.Errorf("%s: got %d %s", body, a.Status, a.Body)
			}
			continue
		}
		if found := complaintOf(a, t).Violations; a.Status != 422 || len(found) != 1 || found[0].Pointer != pointer {
			t.Errorf("%s: got %d %s, want a violation at %s", body, a.Status, a.Body, pointer)
		}
	}
	type node struct {
		Value *int
		Next  *node
	}
	var made node
	a := p.Do("POST", "/owners", "{}", askedJSON)
	if err := json.Unmarshal([]byte(a.Body), &made); err != nil || made.Value == nil || !strings.Contains(a.Body, `"next":null`) {
		t.Errorf("got %s, which does not end with null: %v", a.Body, err)
	}
	p.Get("/example").Want(t, 200, `{"pet":null}`)
	if out := strings.Join(p.Output(), "\n"); strings.Contains(out, "configuration warning") {
		t.Errorf("got warnings: %s", out)
	}
}

// A compressed body, once decompressed, has the same size limit as any other body.
func TestOpenAPIRequests_ValidateBoundsCodings(t *testing.T) {
	if testing.Short() {
		t.Skip("it keeps a CPU busy for some seconds")
	}
	t.Parallel()
	p := documented(t, "validate.yml", "--validate", "--max-body", "100KiB")
	for size, want := range map[int]int{90 << 10: 422, 110 << 10: 413, 32 << 20: 413} {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = io.WriteString(w, `{"items": `+strings.Repeat(" ", size)+`[]}`)
		_ = w.Close()
		for _, coding := range []string{"gzip", "GZIP", "X-Gzip"} {
			if a := p.Do("POST", "/v1/orders", packed.String(), askedJSON, "Content-Encoding: "+coding); a.Status != want {
				t.Errorf("%d bytes, %s: got %d %s, want %d", size, coding, a.Status, a.Body, want)
			}
		}
	}
}

// Requests are validated against the operation, whatever answers them: a mocks file, or an answer
// that was selected.
func TestOpenAPIRequests_ValidateWhateverReplies(t *testing.T) {
	t.Parallel()
	mocks := harness.WriteFile(t, t.TempDir(), "mocks.yml", "makeOrder: {status: 202, body: '{\"own\": \"{{json-params.note}}\"}'}\n")
	file, err := filepath.Abs(document("validate.yml"))
	if err != nil {
		t.Fatal(err)
	}
	p := Launch(t, []string{"MOCKSERVER_VALIDATE=true"}, "-c", file, "-m", mocks).Listening()
	const whole = `{"items": [{"sku": "A-1", "price": 1}], "note": "n"}`
	p.Do("POST", "/v1/orders", whole, askedJSON).Want(t, 202, `{"own": "n"}`)
	for _, path := range []string{"/v1/orders", "/v1/orders?__code=201"} {
		if a := p.Do("POST", path, `{}`, askedJSON); a.Status != 422 || complaintOf(a, t).Violations[0].Pointer != "/body/items" {
			t.Errorf("%s: got %d %s", path, a.Status, a.Body)
		}
	}
	if a := p.Do("POST", "/v1/orders?__code=201", whole, askedJSON); a.Status != 201 {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}

// Requests from many clients are validated against one document concurrently.
func TestOpenAPIRequests_ValidateAtOnce(t *testing.T) {
	t.Parallel()
	p := documented(t, "validate.yml", "--validate")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 20 {
				want := fmt.Sprintf("/body/items/%d/price", (i+n)%4)
				items := strings.Repeat(`{"sku": "A-1", "price": 1}, `, (i+n)%4) + `{"sku": "A-1"}`
				a, err := p.Try("POST", "/v1/orders", `{"items": [`+items+`]}`, askedJSON)
				if err != nil || a.Status != 422 || !strings.Contains(a.Body, want+`"`) {
					t.Errorf("got %d %s %v, want %s", a.Status, a.Body, err, want)
				}
			}
		})
	}
	all.Wait()
}

// When the document is loaded, a warning names the parts that requests are not validated against.
func TestOpenAPIRequests_WhatCannotBeValidatedIsWarnedOf(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "api.yml", `openapi: 3.1.0
info: {title: a, version: "1"}
paths:
  /a:
    get:
      parameters: [{name: q, in: query, schema: {type: string, pattern: '(?<!a)b'}}, {name: r, in: query, schema: {$dynamicRef: '#r'}}]
      responses: {"200": {description: fine, content: {application/json: {schema: {const: 1, not: {$recursiveRef: '#'}}, example: fine}}}}
`)
	p := Start(t, "-m", file, "--validate")
	p.WaitLine(0, "WARN", "(?<!a)b", "requests are not checked against the pattern")
	p.WaitLine(0, "WARN", "6:130", `the $dynamicRef \"#r\" is not followed; any value is allowed there`)
	p.WaitLine(0, "WARN", "7:116", `the $recursiveRef \"#\" is not followed; any value is allowed there`)
	p.Get("/a?q=x&r=5").Want(t, 200, `"fine"`)
}
