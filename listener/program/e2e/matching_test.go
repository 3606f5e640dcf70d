package e2e_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// exchange is one request and its expected answer.
type exchange struct {
	name   string
	method string // "" means GET
	path   string
	host   string // the Host header, if not ""
	body   string
	status int // 0 means 200
	want   string
}

// responses sends the requests to the server and compares the answers. For an expected status other
// than 200, only the status is compared.
func responses(p *Process, t *testing.T, exchanges []exchange) {
	t.Helper()
	for _, x := range exchanges {
		t.Run(x.name, func(t *testing.T) {
			method, status := x.method, x.status
			if method == "" {
				method = "GET"
			}
			if status == 0 {
				status = 200
			}
			var headers []string
			if x.host != "" {
				headers = append(headers, "Host: "+x.host)
			}
			if x.body != "" {
				headers = append(headers, "Content-Type: application/json")
			}
			a := p.Do(method, x.path, x.body, headers...)
			if a.Status != status || status == 200 && a.Body != x.want {
				t.Errorf("%s %s %s: got %d %s\nwant %d %s", method, x.host, x.path, a.Status, a.Body, status, x.want)
			}
		})
	}
}

// bothOrders runs a test with the endpoints declared in the given order, and in reverse order.
func bothOrders(t *testing.T, endpoints []string, test func(t *testing.T, p *Process)) {
	t.Helper()
	reversed := slices.Clone(endpoints)
	slices.Reverse(reversed)
	for name, list := range map[string][]string{"as listed": endpoints, "reversed": reversed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, Serving(t, "- endpoint: "+strings.Join(list, "\n- endpoint: ")+"\n"))
		})
	}
}

func TestMatching_EachOfTheSevenMethodsIsAnEndpointOfItsOwn(t *testing.T) {
	t.Parallel()
	methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
	var config strings.Builder
	for i, method := range methods {
		fmt.Fprintf(&config, "- endpoint: {method: %s, path: /a, response: {status: %d, headers: {X-Method: %s}, body: %s}}\n", method, 210+i, method, method)
	}
	p := Serving(t, config.String())
	for i, method := range methods {
		a := p.Do(method, "/a", "")
		body := method
		if method == "HEAD" {
			body = ""
		}
		if a.Status != 210+i || a.Header.Get("X-Method") != method || a.Body != body {
			t.Errorf("%s: got %d, X-Method %q and %q, want %d, %q and %q", method, a.Status, a.Header.Get("X-Method"), a.Body, 210+i, method, body)
		}
	}
}

func TestMatching_AnEndpointForAnyMethodLeavesDeclaredMethodsToOthers(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: /a, method: any, response: {body: '{{method}} any'}}
- endpoint: {path: /a, method: POST, if: query-params.x, response: {body: post}}
- endpoint: {path: "/:id", method: any, response: {body: fixed}}
`)
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"} {
		p.Do(method, "/a", "").Want(t, 200, method+" any")
		p.Do(method, "/b", "").Want(t, 200, "fixed")
	}
	p.Do("POST", "/a?x=1", "").Want(t, 200, "post")
	p.Do("HEAD", "/a", "").Want(t, 200, "")
	p.Do("GET", "/a?x=1", "").Want(t, 200, "GET any")
}

func TestMatching_AParameterTakesOnlyValuesOfItsType(t *testing.T) {
	t.Parallel()
	const id = "123e4567-e89b-12d3-a456-426614174000"
	types := []struct {
		name      string
		good, bad []string
	}{
		{"string", []string{"abc", "42", "a.b-c_d", "true"}, nil},
		{"int", []string{"42", "-7", "0", "12345678901234567890"}, []string{"abc", "4.2", "12a", "1e3", "--1", "-", "0x1F"}},
		{"float", []string{"1.5", "-0.25", "42", "1e3"}, []string{"abc", "1.2.3", "1,5", "NaN", "Inf", "."}},
		{"double", []string{"1.5", "-0.25", "42", "1e3"}, []string{"abc", "1.2.3", "1,5", "NaN", "Inf", "."}},
		{"bool", []string{"true", "false"}, []string{"yes", "2", "truely"}},
		{"boolean", []string{"true", "false"}, []string{"yes", "2", "truely"}},
		{"uuid", []string{id, strings.ToUpper(id)}, []string{"abc", id + "0", id[1:], strings.ReplaceAll(id, "-", ""), "g" + id[1:]}},
		{"date", []string{"2024-01-15", "2024-02-29", "2024-01-15T10:30:00Z"}, []string{"2023-02-29", "2024-13-01", "2024-00-10", "2024-04-31", "15-01-2024", "2024-1-5", "today"}},
	}
	var config strings.Builder
	for _, typ := range types {
		fmt.Fprintf(&config, "- endpoint: {path: '/%s/:v|%s', response: {body: 'value {{path-params.v}}'}}\n", typ.name, typ.name)
	}
	config.WriteString("- endpoint: {path: /default/:v, response: {body: 'value {{path-params.v}}'}}\n")
	p := Serving(t, config.String())
	var exchanges []exchange
	for _, typ := range types {
		for _, v := range typ.good {
			exchanges = append(exchanges, exchange{name: v + " is a " + typ.name, path: "/" + typ.name + "/" + v, want: "value " + v})
		}
		for _, v := range typ.bad {
			exchanges = append(exchanges, exchange{name: v + " is no " + typ.name, path: "/" + typ.name + "/" + v, status: 404})
		}
	}
	responses(p, t, append(exchanges, exchange{name: "the default is string", path: "/default/4x", want: "value 4x"}))
}

func TestMatching_ACatchAllTakesTheRestOfThePath(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: /files/*rest, response: {body: 'rest {{path-params.rest}}'}}
- endpoint: {path: "/of/:user/*the-rest", response: {body: '{{path-params.user}} has {{path-params.the-rest}}'}}
- endpoint: {path: /middle/*here/end, response: {body: literal}}
`)
	responses(p, t, []exchange{
		{name: "one segment", path: "/files/a.txt", want: "rest a.txt"},
		{name: "many segments", path: "/files/a/b/c.txt", want: "rest a/b/c.txt"},
		{name: "decoded", path: "/files/a%20b/c", want: "rest a b/c"},
		{name: "after a parameter", path: "/of/ann/x/y", want: "ann has x/y"},
		{name: "not before the last segment", path: "/middle/x/end", status: 404},
		{name: "a star before the last segment is literal", path: "/middle/*here/end", want: "literal"},
	})
}

func TestMatching_ParameterNamesMayHoldDashesAndUnderscores(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: "/a/:user-id/:post_id|int", response: {body: '{{path-params.user-id}} {{path-params.post_id}}'}}`+"\n")
	p.Get("/a/ann/7").Want(t, 200, "ann 7")
}

func TestMatching_EveryOtherCharacterIsLiteral(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: "/braces/{x}", response: {body: braces}}
- endpoint: {path: "/v1/op:run", response: {body: colon}}
- endpoint: {path: "/v1/a.b", response: {body: dot}}
- endpoint: {path: "/v1/a+b", response: {body: plus}}
- endpoint: {path: "/v1/(a|b)$", response: {body: brackets}}
- endpoint: {path: "/v1/a*", response: {body: star}}
- endpoint: {path: "/größe", response: {body: letters}}
- endpoint: {path: "/", response: {body: root}}
`)
	responses(p, t, []exchange{
		{name: "braces", path: "/braces/%7Bx%7D", want: "braces"},
		{name: "braces are not a parameter", path: "/braces/y", status: 404},
		{name: "a colon inside a segment", path: "/v1/op:run", want: "colon"},
		{name: "a colon inside a segment is not a parameter", path: "/v1/op7", status: 404},
		{name: "a dot", path: "/v1/a.b", want: "dot"},
		{name: "a dot is not any character", path: "/v1/axb", status: 404},
		{name: "a plus", path: "/v1/a+b", want: "plus"},
		{name: "a plus is not a space", path: "/v1/a%20b", status: 404},
		{name: "brackets", path: "/v1/(a%7Cb)$", want: "brackets"},
		{name: "a star inside a segment", path: "/v1/a*", want: "star"},
		{name: "a star inside a segment catches nothing", path: "/v1/ab", status: 404},
		{name: "letters beyond ASCII", path: "/gr%C3%B6%C3%9Fe", want: "letters"},
		{name: "the root", path: "/", want: "root"},
		{name: "the root without a path", path: "", want: "root"},
	})
}

func TestMatching_TheQueryIsNoPartOfThePath(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: "/a?page=1", response: {body: fine}}`+"\n")
	p.WaitLine(0, "mock.yml:1:", "?page=1")
	responses(p, t, []exchange{
		{name: "without a query", path: "/a", want: "fine"},
		{name: "with another query", path: "/a?page=2&x=/b", want: "fine"},
		{name: "with an empty query", path: "/a?", want: "fine"},
	})
}

func TestMatching_TheMoreSpecificPathWinsInAnyOrder(t *testing.T) {
	t.Parallel()
	bothOrders(t, []string{
		`{path: /u/*rest, response: {body: "rest {{path-params.rest}}"}}`,
		`{path: "/u/:x", response: {body: "text {{path-params.x}}"}}`,
		`{path: "/u/:x|int", response: {body: "int {{path-params.x}}"}}`,
		`{path: /u/me, response: {body: literal}}`,
		`{path: "/u/7", response: {body: seven}}`,
		`{path: "/tasks/:id", response: {body: task}}`,
		`{path: /tasks/search, response: {body: search}}`,
	}, func(t *testing.T, p *Process) {
		responses(p, t, []exchange{
			{name: "a literal", path: "/u/me", want: "literal"},
			{name: "a literal beats a typed parameter", path: "/u/7", want: "seven"},
			{name: "a typed parameter beats a string", path: "/u/42", want: "int 42"},
			{name: "a string parameter beats a catch-all", path: "/u/ann", want: "text ann"},
			{name: "a catch-all takes the rest", path: "/u/ann/posts", want: "rest ann/posts"},
			{name: "search is not an id", path: "/tasks/search", want: "search"},
			{name: "an id is not search", path: "/tasks/9", want: "task"},
		})
	})
}

func TestMatching_AWrongTurnIsTakenBack(t *testing.T) {
	t.Parallel()
	bothOrders(t, []string{
		`{path: /users/me/settings, response: {body: settings}}`,
		`{path: "/users/:id", response: {body: "user {{path-params.id}}"}}`,
		`{path: "/a/:x|int/b", response: {body: int}}`,
		`{path: "/a/:x/c", response: {body: "text {{path-params.x}}"}}`,
		`{path: /a/*rest, response: {body: "rest {{path-params.rest}}"}}`,
		`{path: /d/e/f/g, response: {body: deep}}`,
		`{path: "/d/:x/f/:y|int", response: {body: "{{path-params.x}} {{path-params.y}}"}}`,
		`{path: "/:x/e/f/h", response: {body: "top {{path-params.x}}"}}`,
	}, func(t *testing.T, p *Process) {
		responses(p, t, []exchange{
			{name: "from a literal that continues to a parameter that ends", path: "/users/me", want: "user me"},
			{name: "from a typed parameter to a string", path: "/a/1/c", want: "text 1"},
			{name: "from both to a catch-all", path: "/a/1/d", want: "rest 1/d"},
			{name: "not where the typed parameter continues", path: "/a/1/b", want: "int"},
			{name: "over two segments", path: "/d/e/f/7", want: "e 7"},
			{name: "over three segments", path: "/d/e/f/h", want: "top d"},
			{name: "the literals all the way", path: "/d/e/f/g", want: "deep"},
			{name: "to nothing at all", path: "/users/me/nothing", status: 404},
		})
	})
}

func TestMatching_OfOneShapeTheFirstDeclaredWhoseTypesAndConditionHoldWins(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: "/a/:x", if: query-params.k = 1, response: {body: "first {{path-params.x}}"}}
- endpoint: {path: "/a/:y", if: query-params.k < 3, response: {body: "second {{path-params.y}}"}}
- endpoint: {path: "/a/:z", response: {body: "third {{path-params.z}}"}}
- endpoint: {path: "/a/:w", response: {body: never}}
- endpoint: {path: "/t/:v|bool", response: {body: bool}}
- endpoint: {path: "/t/:v|int", response: {body: int}}
- endpoint: {path: "/t/:v|float", response: {body: float}}
- endpoint: {path: "/t/:v|date", response: {body: date}}
`)
	responses(p, t, []exchange{
		{name: "both conditions hold", path: "/a/p?k=1", want: "first p"},
		{name: "only the second is true", path: "/a/p?k=2", want: "second p"},
		{name: "no condition is true", path: "/a/p?k=3", want: "third p"},
		{name: "nothing to compare", path: "/a/p", want: "third p"},
		{name: "the first type fits", path: "/t/true", want: "bool"},
		{name: "two types fit", path: "/t/7", want: "int"},
		{name: "the third type fits", path: "/t/7.5", want: "float"},
		{name: "the last type fits", path: "/t/2024-01-15", want: "date"},
		{name: "no type fits", path: "/t/x", status: 404},
	})
}

func TestMatching_AConditionThatFailsLeavesTheRequestToTheNextEndpoint(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {method: POST, path: /pay, if: json-params.amount <= 0, response: {status: 422, body: bad amount}}
- endpoint: {method: POST, path: /pay, if: json-params.card = "4000000000000002", response: {status: 402, body: declined}}
- endpoint: {method: POST, path: /pay, response: {status: 201, body: paid}}
- endpoint: {path: /list, if: query-params.page = 2, response: {body: page two}}
- endpoint: {path: /list, response: {body: page one}}
- endpoint: {path: /l/me, if: query-params.a = 1, response: {body: literal}}
- endpoint: {path: "/l/:x|int", if: query-params.a = 1, response: {body: int}}
- endpoint: {path: "/l/:x", if: query-params.b = 1, response: {body: text}}
- endpoint: {path: /l/*x, if: not query-params.c, response: {body: rest}}
- endpoint: {path: "/own/:x", if: path-params.x = yes, response: {body: own}}
- endpoint: {path: /empty, if: "", response: {body: always}}
`)
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"amount": 0, "card": "4000000000000002"}`, 422, "bad amount"},
		{`{"amount": 10, "card": "4000000000000002"}`, 402, "declined"},
		{`{"amount": 10, "card": "4242424242424242"}`, 201, "paid"},
		{`no JSON`, 201, "paid"},
	} {
		p.Do("POST", "/pay", c.body, "Content-Type: application/json").Want(t, c.status, c.want)
	}
	responses(p, t, []exchange{
		{name: "page 2 of a list", path: "/list?page=2", want: "page two"},
		{name: "any other page of a list", path: "/list?page=1", want: "page one"},
		{name: "a list without a page", path: "/list", want: "page one"},
		{name: "a literal whose condition is true", path: "/l/me?a=1", want: "literal"},
		{name: "from a literal to a parameter", path: "/l/me?b=1", want: "text"},
		{name: "from a literal to a catch-all", path: "/l/me", want: "rest"},
		{name: "from a typed parameter to a string", path: "/l/7?b=1", want: "text"},
		{name: "from all to none", path: "/l/7?c=1", status: 404},
		{name: "a condition on its own path parameter is true", path: "/own/yes", want: "own"},
		{name: "a path parameter of its own does not", path: "/own/no", status: 404},
		{name: "an empty condition", path: "/empty", want: "always"},
	})
}

func TestMatching_TheHostPicksTheEndpoint(t *testing.T) {
	t.Parallel()
	bothOrders(t, []string{
		`{path: /a, response: {body: any}}`,
		`{path: /a, host: "*.example.com", response: {body: wildcard}}`,
		`{path: /a, host: API.Example.com, response: {body: exact}}`,
		`{path: /any, response: {body: any}}`,
		`{path: /wild, host: "*.example.com", response: {body: wildcard}}`,
	}, func(t *testing.T, p *Process) {
		responses(p, t, []exchange{
			{name: "exact", path: "/a", host: "api.example.com", want: "exact"},
			{name: "exact, in another case", path: "/a", host: "Api.EXAMPLE.com", want: "exact"},
			{name: "exact, with a port", path: "/a", host: "api.example.com:8443", want: "exact"},
			{name: "wildcard", path: "/a", host: "www.example.com", want: "wildcard"},
			{name: "wildcard, in another case", path: "/a", host: "WWW.Example.COM", want: "wildcard"},
			{name: "wildcard, with a port", path: "/a", host: "www.example.com:80", want: "wildcard"},
			{name: "a wildcard does not stand for nothing", path: "/a", host: "example.com", want: "any"},
			{name: "a wildcard begins after a dot", path: "/a", host: "notexample.com", want: "any"},
			{name: "a host that is not declared", path: "/a", host: "other.test", want: "any"},
			{name: "an address", path: "/a", want: "any"},
			{name: "an IPv6 address with a port", path: "/a", host: "[::1]:8000", want: "any"},
			{name: "an exact host falls back to any", path: "/any", host: "api.example.com", want: "any"},
			{name: "an exact host falls back to a wildcard", path: "/wild", host: "api.example.com", want: "wildcard"},
			{name: "a wildcard is not for other hosts", path: "/wild", host: "other.test", status: 404},
		})
	})
}

func TestMatching_AHostsConditionThatFailsLeavesTheRequestToTheNextHost(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: /a, host: api.example.com, if: query-params.k = 1, response: {body: exact}}
- endpoint: {path: /a, host: "*.example.com", if: query-params.k = 2, response: {body: wildcard}}
- endpoint: {path: /a, response: {body: any}}
`)
	responses(p, t, []exchange{
		{name: "exact", path: "/a?k=1", host: "api.example.com", want: "exact"},
		{name: "to the wildcard", path: "/a?k=2", host: "api.example.com", want: "wildcard"},
		{name: "to any", path: "/a?k=3", host: "api.example.com", want: "any"},
	})
}

// unmatched is the body of one of the server's own error answers.
type unmatched struct {
	Error, Code, Message string
}

// shape checks that an answer is one of the server's own error answers, and returns its body.
func shape(a Response, t *testing.T) unmatched {
	t.Helper()
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q, want application/json", got)
	}
	var u unmatched
	var keys map[string]string
	if err := json.Unmarshal([]byte(a.Body), &keys); err != nil || len(keys) != 3 {
		t.Fatalf("got %s (%v), want a JSON object with the strings error, code and message", a.Body, err)
	}
	u = unmatched{keys["error"], keys["code"], keys["message"]}
	if u.Error == "" || u.Message == "" || !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(u.Code) {
		t.Errorf("got %s, want a title, a code in lower case with _, and the details", a.Body)
	}
	return u
}

func TestMatching_NothingMatchesIs404(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- endpoint: {path: /a, response: {}}\n")
	for _, method := range []string{"GET", "POST", "DELETE", "OPTIONS", "PROPFIND"} {
		a := p.Do(method, "/b", "")
		if got := shape(a, t); a.Status != 404 || got.Error != "No endpoint" || got.Code != "endpoint_not_found" {
			t.Errorf("%s: got %d %s, want 404, No endpoint, endpoint_not_found", method, a.Status, a.Body)
		}
		if got := a.Header.Values("Allow"); got != nil {
			t.Errorf("%s: got Allow %q, want none", method, got)
		}
	}
	p.Do("HEAD", "/b", "").Want(t, 404, "")
}

func TestMatching_ADeclaredPathWithAnotherMethodIs405(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: /a, response: {}}
- endpoint: {method: POST, path: /a, response: {}}
- endpoint: {method: PUT, path: "/:x|int", response: {}}
- endpoint: {method: PATCH, path: "/h", host: other.test, response: {}}
`)
	notFound := shape(p.Get("/nowhere"), t).Code
	for _, c := range []struct {
		method, path string
		allow        []string
	}{
		{"DELETE", "/a", []string{"GET", "POST"}},
		{"PROPFIND", "/a", []string{"GET", "POST"}},
		{"GET", "/42", []string{"PUT"}},
		{"HEAD", "/42", []string{"PUT"}},
	} {
		a := p.Do(c.method, c.path, "")
		if c.method != "HEAD" {
			if code := shape(a, t).Code; code == notFound {
				t.Errorf("%s %s: got the code for an undeclared path, %s", c.method, c.path, code)
			}
		}
		got := strings.Split(a.Header.Get("Allow"), ", ")
		got = slices.DeleteFunc(got, func(m string) bool { return m == "HEAD" || m == "OPTIONS" }) // the server answers these itself
		if a.Status != 405 || !slices.Equal(got, c.allow) {
			t.Errorf("%s %s: got %d, Allow %q, want 405, %q", c.method, c.path, a.Status, a.Header.Get("Allow"), c.allow)
		}
	}
	for path, why := range map[string]string{"/x": "its type does not fit", "/h": "it is of another host"} {
		if a := p.Do("DELETE", path, ""); a.Status != 404 || a.Header.Get("Allow") != "" {
			t.Errorf("DELETE %s: got %d, Allow %q, want 404 and none, for %s", path, a.Status, a.Header.Get("Allow"), why)
		}
	}
}

func TestMatching_AConditionThatFailsIs404(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- endpoint: {path: /a, if: query-params.page = 2, response: {}}\n")
	p.Get("/a?page=2").Want(t, 200, "")
	if a := p.Get("/a"); a.Status != 404 || shape(a, t).Code != "endpoint_not_found" {
		t.Errorf("got %d %s, want 404 endpoint_not_found", a.Status, a.Body)
	}
}

func TestMatching_TheMessageNamesTheNearestEndpointAndWhyItDidNotMatch(t *testing.T) {
	t.Parallel()
	var config strings.Builder
	config.WriteString(`- endpoint: {path: "/users/:id|int", response: {}}
- endpoint: {method: POST, path: /orders, response: {}}
- endpoint: {path: /accounts, host: api.example.com, response: {}}
- endpoint: {path: /invoices, if: query-params.page = 2, response: {}}
- endpoint: {path: /customers/list, response: {}}
`)
	for i := range 400 {
		fmt.Fprintf(&config, "- endpoint: {path: /x%d/y%d, response: {}}\n", i, i)
	}
	p := Serving(t, config.String())
	for _, c := range []struct {
		name, method, path string
		says               []string
	}{
		{"a type", "GET", "/users/abc", []string{"GET /users/:id|int", "integer"}},
		{"a method", "GET", "/orders", []string{"POST /orders", "not GET"}},
		{"a host", "GET", "/accounts", []string{"GET /accounts", "host", "api.example.com"}},
		{"a condition", "GET", "/invoices?page=1", []string{"GET /invoices", "condition", "query-params.page = 2"}},
		{"a slip in the path", "GET", "/custmers/list", []string{"GET /customers/list", `"custmers"`}},
		{"another case", "GET", "/Customers/list", []string{"GET /customers/list", "case"}},
		{"a segment too few", "GET", "/customers", []string{"GET /customers/list", "list"}},
		{"a segment too many", "GET", "/customers/list/all", []string{"GET /customers/list", `all"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := shape(p.Do(c.method, c.path, ""), t); !containsAll(got.Message, c.says) {
				t.Errorf("%s %s: the message is %q, want one that contains %q", c.method, c.path, got.Message, c.says)
			}
		})
	}
}

func TestMatching_TheMessageSaysThatNothingIsDeclaredOnlyWhenNothingIs(t *testing.T) {
	t.Parallel()
	const nothing = "no endpoints are declared"
	for config, want := range map[string]bool{"[]": true, "- endpoint: {path: /accounts, response: {}}\n": false} {
		if got := shape(Serving(t, config).Get("/b/c/d"), t).Message; strings.Contains(got, nothing) != want {
			t.Errorf("with %q declared the message is %q; want it to say that there are no endpoints: %v", config, got, want)
		}
	}
}

func TestMatching_TheMessageNamesThreeEndpointsAtMost(t *testing.T) {
	t.Parallel()
	var config strings.Builder
	for i := range 9 {
		fmt.Fprintf(&config, "- endpoint: {path: /items/a%d, response: {}}\n", i)
	}
	p := Serving(t, config.String())
	message := shape(p.Get("/items/b"), t).Message
	if got := strings.Count(message, "/items/a"); got != 3 {
		t.Errorf("the message names %d endpoints, want 3: %s", got, message)
	}
}

func TestMatching_UnmatchedStatusIsForAllOfThese(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- endpoint: {path: /a, if: query-params.k != 2, response: {body: fine}}\n- endpoint: {path: /declared, response: {status: 404}}\n", "--unmatched-status", "599")
	for _, c := range []struct{ name, method, path string }{
		{"no path", "GET", "/b"}, {"no such method", "POST", "/a"}, {"a condition that fails", "GET", "/a?k=2"},
	} {
		a := p.Do(c.method, c.path, "")
		if a.Status != 599 {
			t.Errorf("%s: got %d, want 599", c.name, a.Status)
		}
		shape(a, t)
	}
	p.Get("/a").Want(t, 200, "fine")
	p.Get("/declared").Want(t, 404, "")
}

func TestMatching_ADeclarationThatIsNeverReachedIsWarnedOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, first, second string
		warned              bool
	}{
		{"the same twice", "{path: /a, response: {}}", "{path: /a, response: {}}", true},
		{"parameters of other names", "{path: '/a/:x', response: {}}", "{path: '/a/:y', response: {}}", true},
		{"the same after a trailing slash", "{path: /a, response: {}}", "{path: /a/, response: {}}", true},
		{"the default before the condition", "{path: /a, response: {}}", "{path: /a, if: query-params.k, response: {}}", true},
		{"the same condition twice", "{path: /a, if: query-params.k, response: {}}", "{path: /a, if: query-params.k, response: {}}", true},
		{"the same type twice", "{path: '/a/:x|int', response: {}}", "{path: '/a/:y|int', response: {}}", true},
		{"the same host twice", "{path: /a, host: A.test, response: {}}", "{path: /a, host: a.test, response: {}}", true},
		{"the condition before the default", "{path: /a, if: query-params.k, response: {}}", "{path: /a, response: {}}", false},
		{"another method", "{path: /a, response: {}}", "{method: POST, path: /a, response: {}}", false},
		{"another host", "{path: /a, host: a.test, response: {}}", "{path: /a, host: b.test, response: {}}", false},
		{"no host before a host", "{path: /a, response: {}}", "{path: /a, host: a.test, response: {}}", false},
		{"a string before a type", "{path: '/a/:x', response: {}}", "{path: '/a/:x|int', response: {}}", false},
		{"a parameter before a literal", "{path: '/a/:x', response: {}}", "{path: /a/b, response: {}}", false},
		{"a catch-all before a parameter", "{path: /a/*x, response: {}}", "{path: '/a/:x', response: {}}", false},
		{"another case", "{path: /a, response: {}}", "{path: /A, response: {}}", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := harness.WriteFile(t, t.TempDir(), "mock.yml", "- endpoint: "+c.first+"\n- endpoint: "+c.second+"\n")
			code, stdout, stderr := Refused(t, nil, "validate", "-c", file)
			if code != 0 || stderr != "" {
				t.Fatalf("got exit code %d and %s, want 0", code, stderr)
			}
			both := file + ":2:"
			if got := containsAll(stdout, []string{"warning", both, file + ":1:", "[1].endpoint"}); got != c.warned {
				t.Errorf("got\n%s\nwarned about %v, want %v", stdout, got, c.warned)
			}
			if !c.warned && strings.Contains(stdout, file) {
				t.Errorf("got\n%s\nwant no warning", stdout)
			}
		})
	}
}

func TestMatching_PercentEncodingIsDecoded(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: "/hello/:name", response: {body: 'hello {{path-params.name}}'}}
- endpoint: {path: "/hello/:name/:more", response: {body: '{{path-params.name}} and {{path-params.more}}'}}
- endpoint: {path: "/plain/hello world", response: {body: plain}}
- endpoint: {path: "/int/:n|int", response: {body: 'n {{path-params.n}}'}}
- endpoint: {path: "/slash/a", response: {body: two segments}}
`)
	responses(p, t, []exchange{
		{name: "letters beyond ASCII", path: "/hello/J%C3%BCrgen", want: "hello Jürgen"},
		{name: "a blank", path: "/hello/a%20b", want: "hello a b"},
		{name: "a plus is a plus", path: "/hello/a+b", want: "hello a+b"},
		{name: "a percent sign", path: "/hello/100%25", want: "hello 100%"},
		{name: "decoded once only", path: "/hello/%2541", want: "hello %41"},
		{name: "an encoded slash stays inside its segment", path: "/hello/a%2Fb", want: "hello a/b"},
		{name: "an encoded slash in lower case", path: "/hello/a%2fb/c", want: "a/b and c"},
		{name: "an encoded slash does not part a literal", path: "/slash%2Fa", status: 404},
		{name: "an encoded question mark", path: "/hello/a%3Fb", want: "hello a?b"},
		{name: "a literal that needs encoding", path: "/plain/hello%20world", want: "plain"},
		{name: "a literal encoded without need", path: "/%70lain/hello%20world", want: "plain"},
		{name: "a typed value", path: "/int/%34%32", want: "n 42"},
	})
}

func TestMatching_OneTrailingSlashIsIgnored(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: /a, response: {body: a}}
- endpoint: {path: /b/, response: {body: b}}
- endpoint: {path: "/u/:id", response: {body: 'user {{path-params.id}}'}}
`)
	responses(p, t, []exchange{
		{name: "of the request", path: "/a/", want: "a"},
		{name: "of the declaration", path: "/b", want: "b"},
		{name: "of both", path: "/b/", want: "b"},
		{name: "after a parameter", path: "/u/7/", want: "user 7"},
		{name: "before a query", path: "/a/?x=1", want: "a"},
		{name: "only one of two slashes", path: "/a//", status: 404},
	})
}

func TestMatching_PathsAreCaseSensitive(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: /Users, response: {body: upper}}
- endpoint: {path: /users/:id, response: {body: '{{path-params.id}}'}}
`)
	responses(p, t, []exchange{
		{name: "as declared", path: "/Users", want: "upper"},
		{name: "in another case", path: "/users", status: 404},
		{name: "in yet another case", path: "/USERS", status: 404},
		{name: "a value keeps its case", path: "/users/AbC", want: "AbC"},
	})
}

func TestMatching_TheServerNeverRedirects(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: /a, response: {body: a}}
- endpoint: {path: /b/, response: {body: b}}
- endpoint: {path: /c/d, response: {body: d}}
- endpoint: {method: POST, path: /e, response: {body: e}}
`)
	for _, target := range []string{
		"/a/", "/b", "/A", "//a", "/a//", "/./a", "/x/../a", "/c//d", "/c/./d", "/c/", "/c", "/C/D", "/e", "/e/", "//", "/%61", "/a%2f", "//evil.test/", "/a;x=1",
	} {
		for _, method := range []string{"GET", "POST"} {
			a := closing(t, wire(p, method+" "+target+" HTTP/1.1\r\nHost: example.com\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
			if a.Status/100 == 3 || a.Header.Get("Location") != "" {
				t.Errorf("%s %s: got %d to %q, want no redirect", method, target, a.Status, a.Header.Get("Location"))
			}
		}
	}
}

func TestMatching_AnAbsoluteTargetIsMatchedByItsPathAndHost(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: /a, response: {body: any}}
- endpoint: {path: /a, host: api.example.com, response: {body: exact}}
`)
	closing(t, wire(p, "GET http://api.example.com/a HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n")).Want(t, 200, "exact")
	closing(t, wire(p, "GET /a HTTP/1.0\r\n\r\n")).Want(t, 200, "any")
}
