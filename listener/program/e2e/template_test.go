package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// rendering is a body template and its expected output for one request.
type rendering struct {
	name     string
	template string
	want     string
	// The request: target follows /tN (path parameter id); "" means "/x".
	target  string
	body    string // sent with POST; JSON unless headers declare another type
	headers []string
}

// check serves every case as a body with the given Content-Type and compares the output.
func check(t *testing.T, contentType string, cases []rendering) {
	t.Helper()
	var b strings.Builder
	for i, c := range cases {
		for _, method := range []string{"GET", "POST"} {
			fmt.Fprintf(&b, "- endpoint: {method: %s, path: '/t%d/:id', response: {headers: {Content-Type: %s}, body: %s}}\n",
				method, i, quoted(contentType), quoted(c.template))
		}
	}
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", b.String())
	p := Launch(t, []string{"STAGE=blue", "EMPTY="}, "-c", file).Listening()
	for i, c := range cases {
		method, headers, target := "GET", c.headers, c.target
		if c.body != "" {
			method = "POST"
			if len(headers) == 0 {
				headers = []string{"Content-Type: application/json"}
			}
		}
		if target == "" {
			target = "/x"
		}
		if a := p.Do(method, fmt.Sprintf("/t%d%s", i, target), c.body, headers...); a.Status != 200 || a.Body != c.want {
			t.Errorf("%s: %s\ngot  %d %q\nwant 200 %q", c.name, c.template, a.Status, a.Body, c.want)
		}
	}
}

func TestTemplate_Variables(t *testing.T) {
	t.Parallel()
	const doc = `{"a": {"b": [{"c": "deep"}, 2]}, "text": "t", "a.b": "dotted", "no": null}`
	form := []string{"Content-Type: application/x-www-form-urlencoded"}
	check(t, "text/plain", []rendering{
		{name: "a path parameter", template: "[{{path-params.id}}]", target: "/me", want: "[me]"},
		{name: "a path parameter is decoded", template: "{{path-params.id}}", target: "/a%20b%2Fc%C3%A9", want: "a b/cé"},
		{name: "a query parameter", template: "{{query-params.q}}", target: "/x?q=v", want: "v"},
		{name: "a query parameter is decoded", template: "{{query-params.q}}", target: "/x?q=a+b%2Bc%26", want: "a b+c&"},
		{name: "the first value of a repeated query key", template: "{{query-params.q}}", target: "/x?p=0&q=1&q=2", want: "1"},
		{name: "names hold dashes and underscores", template: "{{query-params.a-b_c}}", target: "/x?a-b_c=v", want: "v"},
		{name: "a header in any case", template: "{{header-params.x-REQUEST-id}}", headers: []string{"X-Request-Id: 7"}, want: "7"},
		{name: "a cookie", template: "{{cookie-params.b}}", headers: []string{"Cookie: a=1; b=two; c=3"}, want: "two"},
		{name: "a form field is decoded", template: "{{form-params.f}}", body: "e=1&f=a+b%26", headers: form, want: "a b&"},
		{name: "a value inside JSON by key and index", template: "{{json-params.a.b.0.c}}", body: doc, want: "deep"},
		{name: "an index past the end is missing", template: "[{{json-params.a.b.2.c}}]", body: doc, want: "[]"},
		{name: "a key of a text is missing", template: "[{{json-params.text.x}}]", body: doc, want: "[]"},
		{name: "json-params alone is the whole body", template: "{{json-params}}", body: `{"a": [1, 2.50]}`, want: `{"a": [1, 2.50]}`},
		{name: "json-params alone may be a list", template: "{{json-params.1}}", body: `[1, 20]`, want: "20"},
		{name: "the method", template: "{{method}}", body: "{}", want: "POST"},
		{name: "the path", template: "{{path}}", target: "/x/?a=1", want: "/t15/x/"},
		{name: "the path and the query", template: "{{path-and-query}}", target: "/x/?a=%20&b", want: "/t16/x/?a=%20&b"},
		{name: "the path without a query", template: "{{path-and-query}}", target: "/x?", want: "/t17/x"},
		{name: "segments of the path are decoded", template: "{{path-segments.0}} {{path-segments.1|upper}} [{{path-segments.2}}]", target: "/a%2Fb%20c/?x", want: "t18 A/B C []"},
		{name: "the host", template: "{{host}}", headers: []string{"Host: shop.example.com"}, want: "shop.example.com"},
		{name: "the query string", template: "{{query-string}}", target: "/x?b=2&a=%20", want: "b=2&a=%20"},
		{name: "the address of the client", template: "{{remote-addr}}", want: "127.0.0.1"},
		{name: "the body", template: "[{{body}}]", body: " any\ntext ", headers: []string{"Content-Type: text/plain"}, want: "[ any\ntext ]"},
		{name: "an environment variable", template: "{{env.STAGE}}", want: "blue"},
		{name: "an environment variable that is empty", template: "[{{env.EMPTY}}]", want: "[]"},
		{name: "an environment variable that is not set", template: "[{{env.NOT_SET}}]", want: "[]"},
		{name: "blanks around it are optional", template: "{{ method }}{{method }}{{\tmethod\n}}", want: "GETGETGET"},
		{name: "several in a row", template: "{{method}}{{method}}-{{path-params.id}}", want: "GETGET-x"},
		{name: "values that were not sent are empty", template: "[{{query-params.q}}{{header-params.X-N}}{{cookie-params.c}}{{form-params.f}}{{json-params.j}}]", want: "[]"},
		{name: "a JSON parameter of a body that is not JSON is missing", template: "[{{json-params.a}}{{json-params}}]", body: `{"a": 1`, want: "[]"},
		{name: "a JSON parameter of a form is missing", template: "[{{json-params.a}}]", body: "a=1", headers: form, want: "[]"},
		{name: "a path parameter that the path does not declare is missing", template: "[{{path-params.other}}]", want: "[]"},
	})
}

// Names may contain dots, blanks, colons, quotes and brackets, in templates and conditions, and in
// both YAML and EDN.
func TestTemplate_NamesInQuotes(t *testing.T) {
	t.Parallel()
	const doc = `{"dc:title":"T","a":{"b c":{"d":[7,{"e.f":"deep"}]}},"q\"'\\]":"odd","":"none","length":{"x y":"l"},"0":"zero","list":[{"a b":1},{"a b":2}]}`
	cases := []struct{ expression, condition, want string }{
		{`json-params["dc:title"]`, `json-params["dc:title"] = T`, "T"},
		{`json-params['dc:title']|lower`, `json-params['dc:title'] matches "^T$"`, "t"},
		{`json-params.a["b c"].d.0`, `json-params.a["b c"].d[0] > 6`, "7"},
		{`json-params["a"]["b c"]["d"][1]["e.f"]`, `not json-params["a"]["b c"]["d"][1]["e.g"]`, "deep"},
		{`json-params["a"]["b c"].d.length`, `json-params["a"]["b c"].d.length = 2`, "2"},
		{`json-params["q\"'\\]"]`, `json-params["q\"'\\]"] = odd`, "odd"},
		{`json-params['q"\'\\]']`, `json-params['q"\'\\]'] = "odd"`, "odd"},
		{`json-params[""]`, `json-params[""] = none`, "none"},
		{`json-params["length"]["x y"]`, `json-params.a["length"] = null and json-params.a.length = 1`, "l"},
		{`json-params["0"]`, `json-params.list["0"] = null`, "zero"},
		{`json-params["no}} such"]|default:json-params["dc:title"]`, `json-params["no %} such"] = null`, "T"},
		{`header-params["X-A"]`, `header-params["x-a"] = "h"`, "h"},
		{`query-params["a.b"]`, `query-params["a.b"] = 1 and query-params["a b"].length = 3`, "1"},
		{`query-params["a.length"]`, `query-params["a.length"] = 2`, "2"},
		{`cookie-params["c"]`, `cookie-params["c"] contains o`, "cookie"},
		{`path-params["id"]`, `path-params["id"] = x`, "x"},
		{`env["STAGE"]`, `env["STAGE"] = blue`, "blue"},
		{`json-params.list|length`, `{{json-params["list"]}} contains json-params.list[1]`, "2"},
	}
	loop := `{% for x in json-params["list"] %}{{x["a b"]}}{% if x["a b"] > 1 %}!{% endif %},{% endfor %}`
	var yaml, edn strings.Builder
	edn.WriteString("[")
	declared := func(i int, condition, body string) {
		fmt.Fprintf(&yaml, "- endpoint: {method: POST, path: /y%d/:id, if: %s, response: {body: %s}}\n", i, quoted(condition), quoted(body))
		fmt.Fprintf(&edn, "{:endpoint {:method :post :path \"/e%d/:id\" :if %s :response {:body %s}}}\n", i, strconv.Quote(condition), strconv.Quote(body))
	}
	for i, c := range cases {
		declared(i, c.condition, "{% if "+c.condition+" %}{{ "+c.expression+" }}{% endif %}")
	}
	declared(len(cases), "", loop)
	edn.WriteString("]")
	yaml.WriteString(`- endpoint: {method: POST, path: /map, response: {body: {t: 'a "{{json-params["dc:title"]}}"'}}}` + "\n")
	dir := t.TempDir()
	harness.WriteFile(t, dir, "mock.yml", yaml.String())
	harness.WriteFile(t, dir, "mock.edn", edn.String())
	p := Launch(t, []string{"STAGE=blue"}, "-c", dir).Listening()
	headers := []string{"Content-Type: application/json", "X-A: h", "Cookie: c=cookie"}
	p.Do("POST", "/map", doc, headers...).Want(t, 200, `{"t":"a \"T\""}`)
	for _, syntax := range []string{"y", "e"} {
		send := func(i int) Response {
			return p.Do("POST", fmt.Sprintf("/%s%d/x?a.b=1&a.length=2&a+b=abc", syntax, i), doc, headers...)
		}
		for i, c := range cases {
			if a := send(i); a.Status != 200 || a.Body != c.want {
				t.Errorf("%s, {{%s}} if %s: got %d %q, want %q", syntax, c.expression, c.condition, a.Status, a.Body, c.want)
			}
		}
		send(len(cases)).Want(t, 200, "1,2!,")
	}
}

func TestTemplate_NumbersAreNeverReformatted(t *testing.T) {
	t.Parallel()
	numbers := []string{"0", "-0", "1.10", "1e2", "1E+02", "-12.5e-7", "12345678901234567890123", "0.1000000000000000055511151231257827", "9007199254740993", "1e400"}
	var cases []rendering
	for _, n := range numbers {
		cases = append(cases,
			rendering{name: n + " outside a string", template: `{"n": {{json-params.n}}}`, body: `{"n": ` + n + `}`, want: `{"n": ` + n + `}`},
			rendering{name: n + " inside a string", template: `"{{json-params.n}}"`, body: `{"n": ` + n + `}`, want: `"` + n + `"`},
			rendering{name: n + " inside an object", template: `{{json-params}}`, body: `{"n":[` + n + `]}`, want: `{"n":[` + n + `]}`})
	}
	check(t, "application/json", cases)
}

func TestTemplate_Filters(t *testing.T) {
	t.Parallel()
	const doc = `{"list": ["a", 2, {"k": true}], "empty": [], "n": 41, "text": " Ärger ", "zero": 0, "no": null, "obj": {"a": 1, "b": 2}}`
	check(t, "text/plain", []rendering{
		{name: "default of a missing value", template: `{{query-params.page|default:"1"}}`, want: "1"},
		{name: "default leaves a value", template: `{{query-params.page|default:"1"}}`, target: "/x?page=7", want: "7"},
		{name: "default of a null", template: `{{json-params.no|default:"d"}}`, body: doc, want: "d"},
		{name: "default of 0 is 0", template: `{{json-params.zero|default:"d"}}`, body: doc, want: "0"},
		{name: "default of another variable", template: `{{query-params.a|default:query-params.b}}`, target: "/x?b=2", want: "2"},
		{name: "upper", template: `{{json-params.text|upper}}`, body: doc, want: " ÄRGER "},
		{name: "lower", template: `{{json-params.text|lower}}`, body: doc, want: " ärger "},
		{name: "trim", template: `[{{json-params.text|trim}}]`, body: doc, want: "[Ärger]"},
		{name: "length of a text in characters", template: `{{json-params.text|length}}`, body: doc, want: "7"},
		{name: "length of a list", template: `{{json-params.list|length}}`, body: doc, want: "3"},
		{name: ".length of a list, a text, an object, a parameter", template: `{{json-params.list.length}} {{json-params.text.length}} {{json-params.obj.length}} {{query-params.q.length}}`, target: "/x?q=abcd", body: doc, want: "3 7 2 4"},
		{name: ".length of the whole body", template: `{{json-params.length}}`, body: `[1,2,3,4,5]`, want: "5"},
		{name: "json of a text", template: `{{query-params.q|json}}`, target: "/x?q=a%22b", want: `"a\"b"`},
		{name: "json of a list", template: `{{json-params.list|json}}`, body: `{"list":["a",2]}`, want: `["a",2]`},
		{name: "urlencode", template: `{{query-params.q|urlencode}}`, target: "/x?q=a%20b%26c%2F%C3%A4", want: "a%20b%26c%2F%C3%A4"},
		{name: "base64", template: `{{query-params.q|base64}}`, target: "/x?q=a%00%3F%3E", want: base64.StdEncoding.EncodeToString([]byte("a\x00?>"))},
		{name: "add to a number", template: `{{json-params.n|add:1}}`, body: doc, want: "42"},
		{name: "add to a text that is a number", template: `{{query-params.q|add:1}}`, target: "/x?q=9", want: "10"},
		{name: "add beyond 2 to the 53rd", template: `{{query-params.q|add:1}}`, target: "/x?q=9007199254740993", want: "9007199254740994"},
		{name: "add a fraction exactly", template: `{{query-params.q|add:0.2}}`, target: "/x?q=0.1", want: "0.3"},
		{name: "add a variable", template: `{{query-params.a|add:query-params.b}}`, target: "/x?a=1&b=-3", want: "-2"},
		{name: "sub", template: `{{json-params.n|sub:42}}`, body: doc, want: "-1"},
		{name: "mul", template: `{{json-params.n|mul:3}}`, body: doc, want: "123"},
		{name: "mul by a fraction", template: `{{query-params.q|mul:1.5}}`, target: "/x?q=3", want: "4.5"},
		{name: "add to a value that is not a number is missing", template: `[{{query-params.q|add:1}}]`, target: "/x?q=abc", want: "[]"},
		{name: "first of a list", template: `{{json-params.list|first}}`, body: doc, want: "a"},
		{name: "last of a list", template: `{{json-params.list|last}}`, body: `{"list":[1,{"k":true}]}`, want: `{"k":true}`},
		{name: "first and last of nothing", template: `[{{json-params.empty|first}}{{json-params.empty|last}}]`, body: doc, want: "[]"},
		{name: "join", template: `{{json-params.list|join:", "}}`, body: `{"list":["a",2,null,true]}`, want: "a, 2, null, true"},
		{name: "date of an ISO 8601 text", template: `{{query-params.d|date:"02.01.2006"}}`, target: "/x?d=2024-02-29", want: "29.02.2024"},
		{name: "date of what the type date takes", template: `{{query-params.d|date:"iso"}}`, target: "/x?d=2024-02-29T12:30Z", want: "2024-02-29T12:30:00.000Z"},
		{name: "date of a number of seconds", template: `{{query-params.d|date:"iso"}}`, target: "/x?d=1705314605", want: "2024-01-15T10:30:05.000Z"},
		{name: "date in a zone", template: `{{query-params.d|date:"%H:%M":"Europe/Zurich"}} {{query-params.d|date:"iso":query-params.z}}`, target: "/x?d=2024-07-01T12:00Z&z=Asia/Tokyo", want: "14:00 2024-07-01T21:00:00.000+09:00"},
		{name: "add moves a time", template: `{{query-params.d|date:"2006-01-02T15:04:05Z"}} {{query-params.d|add:"1h"|date:"2006-01-02T15:04:05Z"}}`, target: "/x?d=2024-02-29T23:30:00Z", want: "2024-02-29T23:30:00Z 2024-03-01T00:30:00Z"},
		{name: "filters work from left to right", template: `{{query-params.page|default:"1"|add:1|mul:10}}`, target: "/x?page=2", want: "30"},
		{name: "left to right is not right to left", template: `{{query-params.page|mul:10|add:1}}`, target: "/x?page=2", want: "21"},
		{name: "blanks around bars and colons are optional", template: `{{ query-params.p | default : "v" | upper }}`, want: "V"},
		{name: "an argument may hold what ends a tag", template: `{{query-params.p|default:"}}%}|:"}}`, want: "}}%}|:"},
	})
}

func TestTemplate_ValuesOfTheMoment(t *testing.T) {
	t.Parallel()
	p := Serving(t, declare(
		`{headers: {Content-Type: text/plain}, body: '{{now}}'}`,
		`{headers: {Content-Type: text/plain}, body: '{{now|add:"1h"}}'}`,
		`{headers: {Content-Type: text/plain}, body: '{{now|date:"2006-01-02"}} {{now|sub:"24h"|date:"2006-01-02"}}'}`,
		`{body: '{"at": {{now}}, "in": "{{now}}"}'}`,
		`{headers: {Content-Type: text/plain}, body: '{{uuid}} {{uuid}}'}`,
		`{headers: {Content-Type: text/plain}, body: '{{random}}'}`,
	))
	const layout = "2006-01-02T15:04:05.000Z"
	read := func(text string) time.Time {
		t.Helper()
		at, err := time.Parse(layout, text)
		if err != nil {
			t.Errorf("got %q: %v", text, err)
		}
		return at
	}
	begun := time.Now().Add(-time.Millisecond) // a time that is truncated to milliseconds may seem earlier
	if at := read(p.Get("/r0").Body); at.Before(begun) || at.After(time.Now()) {
		t.Errorf("now is %v", at)
	}
	begun = time.Now().Add(-time.Millisecond)
	if at := read(p.Get("/r1").Body); at.Before(begun.Add(time.Hour)) || at.After(time.Now().Add(time.Hour)) {
		t.Errorf("now and an hour is %v", at)
	}
	today, yesterday, _ := strings.Cut(p.Get("/r2").Body, " ")
	a, errA := time.Parse(time.DateOnly, today)
	b, errB := time.Parse(time.DateOnly, yesterday)
	if errA != nil || errB != nil || a.Sub(b) != 24*time.Hour {
		t.Errorf("got %q and %q", today, yesterday)
	}
	var both struct{ At, In string }
	if err := json.Unmarshal([]byte(p.Get("/r3").Body), &both); err != nil || both.At != both.In {
		t.Errorf("got %+v: %v", both, err)
	}
	read(both.At)
	version4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen, numbers := map[string]bool{}, map[string]bool{}
	for range 50 {
		for _, id := range strings.Fields(p.Get("/r4").Body) {
			if !version4.MatchString(id) || seen[id] {
				t.Errorf("got %q, seen %v", id, seen[id])
			}
			seen[id] = true
		}
		n := p.Get("/r5").Body
		if i, err := strconv.ParseInt(n, 10, 64); err != nil || i < 0 {
			t.Errorf("random is %q", n)
		}
		numbers[n] = true
	}
	if len(seen) != 100 || len(numbers) < 45 {
		t.Errorf("got %d ids and %d random numbers", len(seen), len(numbers))
	}
}

func TestTemplate_Functions(t *testing.T) {
	t.Parallel()
	text := func(body string) string { return "{headers: {Content-Type: text/plain}, body: '" + body + "'}" }
	p := Serving(t, declare(
		text(`{{random-int(1, 3)}}`), text(`{{random-int(-5, -5)}}`), text(`{{pick("a", "b", query-params.c)}}`),
		text(`{{fake("email")}}`), text(`{{counter("orders")}}`), text(`{{ counter("orders")|add:100 }} {{counter("other")}}`),
		`{body: '{"n": {{random-int(1, 3)}}, "s": {{pick("a")}}, "c": {{counter("third")}}, "e": {{fake("email")}}}'}`,
		text(`{{random-int(query-params.low, 9)}}`),
	))
	numbers, picks, emails := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for range 100 {
		numbers[p.Get("/r0").Body] = true
		picks[p.Get("/r2?c=c").Body] = true
		emails[p.Get("/r3").Body] = true
	}
	if len(numbers) != 3 || !numbers["1"] || !numbers["2"] || !numbers["3"] {
		t.Errorf("random-int(1, 3) gave %v", numbers)
	}
	if len(picks) != 3 || !picks["a"] || !picks["b"] || !picks["c"] {
		t.Errorf("pick gave %v", picks)
	}
	for email := range emails {
		if !regexp.MustCompile(`^[^@ ]+@[^@ ]+\.[a-z]+$`).MatchString(email) || len(emails) < 50 {
			t.Errorf("fake gave %q, one of %d", email, len(emails))
		}
	}
	p.Get("/r1").Want(t, 200, "-5")
	for i := 1; i <= 3; i++ {
		p.Get("/r4").Want(t, 200, fmt.Sprint(i))
	}
	p.Get("/r5").Want(t, 200, "104 1") // a counter is identified by its name, wherever it is used
	p.Get("/r4").Want(t, 200, "5")
	p.Get("/r7?low=9").Want(t, 200, "9")
	var made struct {
		N, C int
		S, E string
	}
	if err := json.Unmarshal([]byte(p.Get("/r6").Body), &made); err != nil || made.N < 1 || made.S != "a" || made.C != 1 || !strings.Contains(made.E, "@") {
		t.Errorf("in a JSON body got %+v: %v", made, err)
	}
}

func TestTemplate_Blocks(t *testing.T) {
	t.Parallel()
	const doc = `{"items": [{"n": "a", "tags": [1, 2]}, {"n": "b", "tags": []}, {"n": "c", "tags": [3]}], "none": [], "text": "x"}`
	check(t, "text/plain", []rendering{
		{name: "a true if", template: "a{% if method = GET %}b{% endif %}c", want: "abc"},
		{name: "a false if", template: "a{% if method = PUT %}b{% endif %}c", want: "ac"},
		{name: "else", template: "{% if method = PUT %}a{% else %}b{% endif %}", want: "b"},
		{name: "elif", template: "{% if query-params.q = 1 %}one{% elif query-params.q = 2 %}two{% elif query-params.q > 1 %}many{% else %}none{% endif %}", target: "/x?q=2", want: "two"},
		{name: "the first true elif", template: "{% if query-params.q = 1 %}one{% elif query-params.q > 2 %}more{% elif query-params.q > 1 %}many{% else %}none{% endif %}", target: "/x?q=3", want: "more"},
		{name: "else after elif", template: "{% if query-params.q = 1 %}one{% elif query-params.q = 2 %}two{% else %}none{% endif %}", want: "none"},
		{name: "the other spelling, true", template: "a{{#if method = GET}}b{{/if}}c", want: "abc"},
		{name: "the other spelling with else", template: "{{#if query-params.q}}a{{else}}b{{/if}}", want: "b"},
		{name: "the other spelling with blanks", template: "{{ #if query-params.q }}a{{ else }}b{{ /if }}", target: "/x?q=1", want: "a"},
		{name: "if inside if, in both spellings", template: "{% if method = GET %}{{#if query-params.q}}a{{else}}b{{/if}}{% endif %}", want: "b"},
		{name: "for over a list", template: "{% for x in json-params.items %}[{{x.n}}]{% endfor %}", body: doc, want: "[a][b][c]"},
		{name: "loop.index counts from 1", template: "{% for x in json-params.items %}{{loop.index}}{{x.n}} {% endfor %}", body: doc, want: "1a 2b 3c "},
		{name: "loop.first and loop.last", template: "{% for x in json-params.items %}{% if loop.first %}<{% endif %}{{x.n}}{% if not loop.last %}, {% else %}>{% endif %}{% endfor %}", body: doc, want: "<a, b, c>"},
		{name: "loop.first and loop.last as values", template: "{% for x in json-params.items %}{{loop.first}}/{{loop.last}} {% endfor %}", body: doc, want: "true/false false/false false/true "},
		{name: "for inside for", template: "{% for x in json-params.items %}{{x.n}}{% for y in x.tags %}{{y}}{{loop.index}}{% endfor %}{{loop.index}};{% endfor %}", body: doc, want: "a11221;b2;c313;"},
		{name: "for over an empty list", template: "[{% for x in json-params.none %}x{% endfor %}]", body: doc, want: "[]"},
		{name: "for over a missing value", template: "[{% for x in json-params.missing %}x{% endfor %}]", body: doc, want: "[]"},
		{name: "for over a value that is not a list", template: "[{% for x in json-params.text %}x{% endfor %}]", body: doc, want: "[]"},
		{name: "raw", template: "{% raw %}{{method}} {% if %} {{#if}}{% endraw %} {{method}}", want: "{{method}} {% if %} {{#if}} GET"},
		{name: "text around tags keeps its blanks", template: " {% if true %} \n a \n{% endif %} ", want: "  \n a \n "},
	})
}

func TestTemplate_JSONKnowsWhereAPlaceholderStands(t *testing.T) {
	t.Parallel()
	type row struct{ name, json, inside, outside string }
	rows := []row{
		{"a text", `"abc"`, `"abc"`, `"abc"`},
		{"a text with a quote", `"a\"b\\c"`, `"a\"b\\c"`, `"a\"b\\c"`},
		{"a text with line breaks", `"a\r\n\tb"`, `"a\r\n\tb"`, `"a\r\n\tb"`},
		{"an empty text", `""`, `""`, `""`},
		{"a text that is a number", `"42"`, `"42"`, `42`},
		{"a text that is a number with an exponent", `"-1.5e10"`, `"-1.5e10"`, `-1.5e10`},
		{"a text that is not a JSON number", `"007"`, `"007"`, `"007"`},
		{"another that is none", `"+1"`, `"+1"`, `"+1"`},
		{"a number with a blank", `" 1"`, `" 1"`, `" 1"`},
		{"a text that is true", `"true"`, `"true"`, `true`},
		{"a text that is false", `"false"`, `"false"`, `false`},
		{"a text that is null", `"null"`, `"null"`, `null`},
		{"a text in another case", `"True"`, `"True"`, `"True"`},
		{"a text that looks like an object", `"{}"`, `"{}"`, `"{}"`},
		{"a text that looks like a tag", `"{{method}}{% if %}"`, `"{{method}}{% if %}"`, `"{{method}}{% if %}"`},
		{"a number", `1.50`, `"1.50"`, `1.50`},
		{"a boolean", `true`, `"true"`, `true`},
		{"null", `null`, `"null"`, `null`},
		{"an object", `{"a":"b"}`, `"{\"a\":\"b\"}"`, `{"a":"b"}`},
		{"an array", `[1,"x"]`, `"[1,\"x\"]"`, `[1,"x"]`},
		{"missing", "", `""`, `null`},
	}
	var cases []rendering
	for _, r := range rows {
		body := `{"other": 1}`
		if r.json != "" {
			body = `{"v": ` + r.json + `}`
		}
		cases = append(cases,
			rendering{name: r.name + " inside a string", template: `{"a": "{{json-params.v}}"}`, body: body, want: `{"a": ` + r.inside + `}`},
			rendering{name: r.name + " outside a string", template: `{"a": {{json-params.v}}}`, body: body, want: `{"a": ` + r.outside + `}`})
	}
	cases = append(cases,
		rendering{name: "an escaped quote before does not end a string", template: `{"a": "\"{{query-params.q}}\\"}`, target: "/x?q=%22", want: `{"a": "\"\"\\"}`},
		rendering{name: "inside a string with other text", template: `{"a": "x {{query-params.q}} y"}`, target: "/x?q=%22%0A", want: `{"a": "x \"\n y"}`},
		rendering{name: "as a key", template: `{"{{query-params.q}}": 1}`, target: "/x?q=%22", want: `{"\"": 1}`},
		rendering{name: "control characters", template: `"{{query-params.q}}"`, target: "/x?q=%00%1F", want: `"\u0000\u001f"`},
		rendering{name: "bytes that are not UTF-8 become the replacement character", template: `"{{query-params.q}}"`, target: "/x?q=a%FFb", want: `"a` + "\ufffd" + `b"`},
		rendering{name: "in either arm of an if", template: `{"a": {% if query-params.q %}"{{query-params.q}}"{% else %}{{query-params.q}}{% endif %}}`, target: "/x?q=%22", want: `{"a": "\""}`},
		rendering{name: "an if inside a string", template: `{"a": "{% if true %}{{query-params.q}}{% endif %}", "b": {{query-params.q}}}`, target: "/x?q=%22", want: `{"a": "\"", "b": "\""}`},
		rendering{name: "in a loop", template: `[{% for x in json-params %}{% if not loop.first %},{% endif %}{{x}},"{{x}}"{% endfor %}]`, body: `["a\"",1]`, want: `["a\"","a\"",1,"1"]`},
		rendering{name: "a raw text with a quote", template: `["{% raw %}{{x}}{% endraw %}", {{query-params.q}}]`, target: "/x?q=a", want: `["{{x}}", "a"]`},
		rendering{name: "a path parameter that is a number", template: `{"id": {{path-params.id}}}`, target: "/42", want: `{"id": 42}`},
		rendering{name: "a header", template: `{"h": {{header-params.X-H}}}`, headers: []string{`X-H: a"b`}, want: `{"h": "a\"b"}`},
		rendering{name: "the whole body as a text", template: `{"b": "{{body}}"}`, body: `{"a":1}`, want: `{"b": "{\"a\":1}"}`},
	)
	for _, contentType := range []string{"application/json", "application/problem+json; charset=utf-8"} {
		t.Run(contentType, func(t *testing.T) { check(t, contentType, cases) })
	}
	t.Run("by default, without a declared type", func(t *testing.T) {
		p := Serving(t, declare(`{body: '{"a": "{{query-params.q}}", "b": {{query-params.q}}}'}`, `{body: {a: "{{query-params.q}}"}}`))
		p.Get("/r0?q=%22").Want(t, 200, `{"a": "\"", "b": "\""}`)
		p.Get("/r1?q=%22").Want(t, 200, `{"a":"\""}`)
	})
	t.Run("in a map or list", func(t *testing.T) {
		p := Serving(t, `- endpoint:
    method: POST
    path: /:id
    response:
      body:
        v: "{{json-params.v}}"
        text: "{{json-params.v|text}}"
        parts: ["{{ json-params.v }} ", "{{path-params.id}}", "{{query-params.q}}", "{{path-params.id|add:1}}", "{{query-params.none|json}}", "{{1.50}}"]
        "{{json-params.v|text|length}}": 1
- endpoint: {method: POST, path: /plain/:id, response: {headers: {Content-Type: text/plain}, body: {v: "{{json-params.v}}"}}}
`)
		for _, r := range rows {
			body, want, inside := `{"v": `+r.json+`}`, r.json, strings.Trim(r.inside, `"`)
			if r.json == "" {
				body, want = "{}", `""`
			}
			if strings.Contains(inside, `\`) {
				continue // its length is that of the text without escapes
			}
			p.Do("POST", "/7?q=8", body).Want(t, 200, fmt.Sprintf(`{"v":%s,"text":"%s","parts":["%[2]s ","7","8",8,null,1.50],"%d":1}`, want, inside, len(inside)))
		}
		p.Do("POST", "/plain/7", `{"v": 1.50}`).Want(t, 200, `{"v":"1.50"}`)
	})
}

func TestTemplate_XMLAndHTMLAreEscaped(t *testing.T) {
	t.Parallel()
	const evil = `<b a="1">&amp;'é` + "\n"
	p := Serving(t, declare(
		`{headers: {Content-Type: application/xml}, body: '<r a="{{query-params.q}}" b=''{{query-params.q}}''>{{query-params.q}}</r>'}`,
		`{headers: {Content-Type: image/svg+xml}, body: '<r a="{{query-params.q}}">{{query-params.q}}</r>'}`,
		`{headers: {Content-Type: text/xml; charset=utf-8}, body: '<r>{{query-params.q}}</r>'}`,
		`{headers: {Content-Type: text/html}, body: '<p title="{{query-params.q}}">{{query-params.q}}</p>'}`,
	))
	for i := range 3 {
		var r struct {
			A    string `xml:"a,attr"`
			Text string `xml:",chardata"`
		}
		body := p.Get(fmt.Sprintf("/r%d?q=%s", i, url.QueryEscape(evil))).Body
		if err := xml.Unmarshal([]byte(body), &r); err != nil || r.Text != evil || i < 2 && r.A != evil {
			t.Errorf("got %q, read as %+v: %v", body, r, err)
		}
	}
	body := p.Get("/r3?q=" + url.QueryEscape(evil)).Body
	if strings.Count(body, "<") != 2 || strings.Count(body, `"`) != 2 || html.UnescapeString(body) != `<p title="`+evil+`">`+evil+`</p>` {
		t.Errorf("got %q", body)
	}
}

func TestTemplate_AnyOtherTypeIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	const evil = "<b>&\"'\\\r\n\t\x01é"
	for _, contentType := range []string{"text/plain", "text/csv", "application/octet-stream"} {
		check(t, contentType, []rendering{
			{name: contentType, template: `"{{query-params.q}}"`, target: "/x?q=" + url.QueryEscape(evil), want: `"` + evil + `"`},
			{name: contentType + " with a list", template: `{{json-params.l}}`, body: `{"l": [ 1,"a" ]}`, want: `[ 1,"a" ]`},
		})
	}
}

// injecting is a request target that tries to add members to injectable.
var injecting = "?t=json&c=utf-8&q=" + url.QueryEscape(`x","admin":true,"y":"`) + "&n=" + url.QueryEscape(`1,"admin":true`)

const injectable = `{"name":"{{query-params.q}}","n":{{query-params.n}}}`

// wantClosed fails the test unless injecting changed nothing but the two values.
func wantClosed(t *testing.T, name, got string) {
	t.Helper()
	want := map[string]any{"name": `x","admin":true,"y":"`, "n": `1,"admin":true`}
	var members map[string]any
	if err := json.Unmarshal([]byte(got), &members); err != nil || !maps.Equal(members, want) {
		t.Errorf("%s: got %s (%v)", name, got, err)
	}
}

// Whatever determines the content type of a body, a client cannot add members to its JSON.
func TestTemplate_NoTypeLetsAClientAddMembers(t *testing.T) {
	t.Parallel()
	types := []string{
		"application/json", "application/json; charset={{query-params.c}}",
		"{{query-params.t}}", "application/{{query-params.t}}", "application/{{query-params.none}}", "{{query-params.none}}/json",
		"application/vnd.{{query-params.t}}+json", "application/{{query-params.t}}; charset=utf-8",
		`application/{% if query-params.t = "json" %}json{% else %}problem+json{% endif %}`,
		"{% if query-params.t %}application/json{% endif %}", "{{#if query-params.t}}application/json{{else}}text/plain{{/if}}",
		"{% for t in json-params %}{{t}}{% endfor %}", "{% raw %}application/json{% endraw %}", `{{"application/json"}}`,
		"application/{{env.KIND}}", "{{env.TYPE}}", "application/{{env.UNSET}}", `application/{{env.UNSET|default:"json"}}`, "json", "",
	}
	target := NewHookTarget(t, nil)
	file := harness.WriteFile(t, t.TempDir(), "data.json", injectable)
	var b strings.Builder
	for i, typ := range types {
		body := quoted(injectable)
		fmt.Fprintf(&b, "- endpoint: {path: /r%d, response: {headers: {Content-Type: %s}, body: %s}}\n", i, quoted(typ), body)
		fmt.Fprintf(&b, "- endpoint: {path: /o%d, responses: [{headers: {content-type: %s}, body: %s}]}\n", i, quoted(typ), body)
		fmt.Fprintf(&b, "- endpoint: {path: /m%d, response: {headers: {Content-Type: %s}, body: {name: '{{query-params.q}}', n: '{{query-params.n}}'}}}\n", i, quoted(typ))
		fmt.Fprintf(&b, "- endpoint: {path: /f%d, response: {headers: {Content-Type: %s}, external-body: {provider: json, path: %s}}}\n", i, quoted(typ), quoted(file))
		fmt.Fprintf(&b, "- endpoint: {path: /w%d, response: {}, webhook: {method: POST, url: %s, sleep-time: 0, headers: {Content-Type: %s}, body: %s}}\n",
			i, quoted(target.URL), quoted(typ), body)
	}
	dir := t.TempDir()
	harness.WriteFile(t, dir, "mock.yml", b.String())
	harness.WriteFile(t, dir, "mock.edn", `[{:endpoint {:path "/edn" :response {:headers {:content-type "application/{{query-params.t}}"} :body `+strconv.Quote(injectable)+`}}}]`)
	harness.WriteFile(t, dir, "socket.yml", "- websocket: {path: /socket, on-connect: {response: "+quoted("{% if query-params.none %}no{% else %}"+injectable+"{% endif %}")+"}}\n")
	p := Launch(t, []string{"KIND=json", "TYPE=application/json"}, "-c", dir).Listening()
	for i, typ := range types {
		for _, path := range []string{"/r", "/o", "/m", "/f"} {
			wantClosed(t, path+" "+typ, p.Get(path+strconv.Itoa(i)+injecting).Body)
		}
		p.Get("/w" + strconv.Itoa(i) + injecting)
		wantClosed(t, "webhook "+typ, target.Next(t).Body)
	}
	wantClosed(t, "EDN", p.Get("/edn"+injecting).Body)
	_, message, err := openSocket(p, "/socket"+injecting, nil).Read()
	if err != nil {
		t.Fatal(err)
	}
	wantClosed(t, "WebSocket", message)
}

func TestTemplate_FalseSwitchesTheLanguageOff(t *testing.T) {
	t.Parallel()
	p := Serving(t, declare(
		`{template: false, body: 'a {{nobody|nothing}} {% if %} {{#if}} {% raw %}'}`,
		`{template: false, body: {a: '{{method}}"'}}`,
		`{template: true, body: '{{method}}'}`,
	))
	p.Get("/r0").Want(t, 200, "a {{nobody|nothing}} {% if %} {{#if}} {% raw %}")
	p.Get("/r1").Want(t, 200, `{"a":"{{method}}\""}`)
	p.Get("/r2").Want(t, 200, "GET")
}

func TestTemplate_WordsAndTagsOfOtherTools(t *testing.T) {
	t.Parallel()
	refuses(t, "response: {body: ", "}", "response.body", []misuse{
		{"three braces", "x {{{query-params.x}}}", "{{{", []string{"write {{query-params.x}}"}},
		{"signs that cut blanks", "x {%- if method -%}y{% endif %}", "{%-", []string{"write {% … %}"}},
		{"a word that is not a variable", "{% if isAdmin %}y{% endif %}", "isAdmin", []string{`"isAdmin" is not a variable`}},
		{"a body of another tool", "x {{request.body.name}}", "request", []string{"write json-params.name"}},
		{"invented data of another tool", "x {{faker.internet.email}}", "faker", []string{`write fake("email")`}},
		{"a query of another tool", "x {{query.page}}", "query", []string{"write query-params.page"}},
		{"a variable that is called", "x {{now()}}", "now", []string{"write now without parentheses"}},
	})
	p := Serving(t, declare(`{headers: {Content-Type: text/plain}, body: 'a {# b #} c'}`))
	p.WaitLine(0, "warning", "mock.yml:1:", "response.body", "{# … #} is not a comment")
	p.Get("/r0").Want(t, 200, "a {# b #} c")
}

func TestTemplate_TheEnvironmentIsReadAtLoad(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", declare(`{status: 200, headers: {X-Stage: "{{env.STAGE}}"}, body: '{{env.STAGE|default:"none"}}'}`))
	with := Launch(t, []string{"STAGE=a b"}, "-c", file).Listening()
	with.Get("/r0").Want(t, 200, "a b")
	if got := with.Get("/r0").Header.Get("X-Stage"); got != "a b" {
		t.Errorf("got %q", got)
	}
	Start(t, "-c", file).Get("/r0").Want(t, 200, "none")
}

func TestTemplate_AnUndeclaredPathParameterIsAWarning(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: "/u/:user", response: {body: 'a{{path-params.usr}}b'}}`+"\n")
	p.WaitLine(0, "warning", "mock.yml:1:", "endpoint.response.body", "usr", "user")
	p.Get("/u/7").Want(t, 200, "ab")
}

// A JSON body with blocks is checked for each path through the blocks.
func TestTemplate_BlocksThatMakeNoJSONAreAWarning(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {method: POST, path: /a, response: {body: '{"l": [0,{% for x in json-params %}{{x}},{% endfor %}]}'}}
- endpoint: {method: POST, path: /b, response: {body: '{"l": [{% for x in json-params %}{{x}}{% if not loop.last %},{% endif %}{% endfor %}]}'}}
- endpoint: {path: /c, response: {body: '{"a": {{path}}, {% if query-params.b %}b: 1{% endif %}}'}}
`)
	const what = "the body is served as JSON but is not valid JSON on any path through its blocks"
	p.WaitLine(0, "warning", "at=", "mock.yml:1:", "[0].endpoint.response.body", what)
	p.WaitLine(0, "warning", "at=", "mock.yml:3:", "[2].endpoint.response.body", what)
	p.Do("POST", "/b", "[1, 2]").Want(t, 200, `{"l": [1,2]}`)
	for _, line := range p.Output() {
		if strings.Contains(line, "mock.yml:2:") {
			t.Errorf("a JSON body causes a warning: %s", line)
		}
	}
}

// misuse is a template or condition that is refused when it is loaded.
type misuse struct {
	name, text string
	at         string   // the text at the reported position, if that is certain
	parts      []string // of the message
}

// refuses loads a configuration with every error on a line of its own, in single quotes, and checks
// the message about each.
func refuses(t *testing.T, prefix, suffix, key string, mistakes []misuse) {
	t.Helper()
	if len(mistakes) > 20 {
		t.Fatal("only the first 20 errors are listed")
	}
	var b strings.Builder
	for i, m := range mistakes {
		fmt.Fprintf(&b, "- endpoint: {path: /m%d, "+prefix+"'%s'"+suffix+"}\n", i, strings.ReplaceAll(m.text, "'", "''"))
	}
	configuration := b.String()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", configuration)
	code, _, stderr := Refused(t, nil, "-c", file)
	if code != 2 {
		t.Errorf("got exit code %d, want 2", code)
	}
	lines := strings.Split(configuration, "\n")
	for i, m := range mistakes {
		place := fmt.Sprintf("%s:%d:", filepath.Base(file), i+1)
		found := slices.IndexFunc(strings.Split(stderr, "\n"), func(line string) bool { return strings.Contains(line, place) })
		if found < 0 {
			t.Errorf("%s: %q is not refused", m.name, m.text)
			continue
		}
		line := strings.Split(stderr, "\n")[found]
		if !containsAll(line, append(m.parts, fmt.Sprintf(": [%d].endpoint.%s: ", i, key))) {
			t.Errorf("%s: %q: got %q, want it to contain %q", m.name, m.text, line, m.parts)
		}
		if column := strings.Index(lines[i], m.text) + 1 + max(strings.Index(m.text, m.at), 0); m.at != "" && !strings.Contains(line, place+strconv.Itoa(column)+":") {
			t.Errorf("%s: %q: got %q, want column %d", m.name, m.text, line, column)
		}
	}
}

func TestTemplate_MistakesAreFoundAtLoad(t *testing.T) {
	t.Parallel()
	refuses(t, "response: {body: ", "}", "response.body", []misuse{
		{"an unknown variable", "x {{ user.name }}", "user.name", []string{"user.name"}},
		{"a misspelt variable", "{{query-param.x}}", "query-param.x", []string{"did you mean", "query-params"}},
		{"a misspelt word", "{{metod}}", "metod", []string{"did you mean", "method"}},
		{"message outside of a WebSocket", "x {{message}}", "message", []string{"message", "WebSocket"}},
		{"an unknown filter", "{{method|uper}}", "uper", []string{"uper", "did you mean", "upper"}},
		{"an unknown function", `{{randomint(1, 2)}}`, "randomint", []string{"randomint", "random-int"}},
		{"an unknown kind of fake data", `{{fake("emial")}}`, "", []string{"emial", "email"}},
		{"a placeholder that is not closed", "x {{method", "{{", nil},
		{"a tag that is not closed", "x {% if method = GET", "{%", nil},
		{"an if that is not closed", "x {% if method = GET %} y", "{%", []string{"endif"}},
		{"the other spelling not closed", "x {{#if method = GET}} y", "{{#if", []string{"{{/if}}"}},
		{"a for that is not closed", "x {% for a in json-params %} y", "{%", []string{"endfor"}},
		{"a raw that is not closed", "x {% raw %} y", "{%", []string{"endraw"}},
		{"an end without a beginning", "x {% endif %}", "{%", []string{"endif"}},
		{"an unknown tag", "x {% unless a %}", "", []string{"unless"}},
		{"a bad condition in a tag", "{% if method == GET %}{% endif %}", "==", []string{"="}},
		{"an empty placeholder", "x {{ }}", "", nil},
		{"a filter without its argument", "{{method|default}}", "default", []string{"default"}},
		{"a loop without an array", "{% for x json-params %}{% endfor %}", "", nil},
	})
	refuses(t, "response: {body: ", "}", "response.body", []misuse{
		{"the wrong end", "{% if true %}{% endfor %}", "", []string{"endif"}},
		{"an end of the other spelling without a beginning", "x {{/if}}", "{{/if}}", []string{"{{/if}}"}},
		{"else without a beginning", "x {{else}}", "{{else}}", []string{"{{else}}"}},
		{"a date layout without a date", `{{now|date:"x"}}`, `"x"`, []string{"date"}},
		{"an argument that is not a number", `{{method|mul:"x"}}`, `"x"`, []string{"number"}},
		{"random-int with one bound", `{{random-int(1)}}`, "random-int", []string{"random-int"}},
		{"a quote that only one branch opens", `{"a": {% if true %}"{% endif %}x`, "{%", nil},
	})
	refuses(t, "response: {headers: {X-A: ", "}}", "response.headers.X-A", []misuse{
		{"an unknown variable in a header", "x {{ nobody }}", "nobody", []string{"nobody"}},
		{"a placeholder that is not closed in a header", "{{method", "{{", nil},
	})
	refuses(t, "response: {external-body: {provider: json, path: ", "}}", "response.external-body.path", []misuse{
		{"an unknown variable in a path", "http://a.test/{{ nobody }}", "nobody", []string{"nobody"}},
	})
}

// comparison is a condition, and whether it is true for the request that all cases share, with the
// JSON body conditionDoc and the query conditionQuery.
type comparison struct {
	condition string
	holds     bool
}

const (
	conditionQuery = "?page=10&two=2&word=abc&Word=ABC&empty=&zero=0&no=false&yes=true&null=null&space=a%20b&exp=1e1&attack=1%20=%201%20or%20true&quote=%22%20or%20%221%22=%221&big=9007199254740993"
	conditionDoc   = `{"n": 10, "f": 10.0, "s": "10", "t": true, "fa": false, "no": null, "empty": "", "list": ["a", "b", 7], "none": [], "obj": {"k": "v"}, "o": {}, "zero": 0, "email": "me@example.com", "attack": "x\" or 1 = 1 or \"", "big": 9007199254740993}`
)

func TestCondition(t *testing.T) {
	t.Parallel()
	cases := []comparison{
		// Operators.
		{`query-params.word = abc`, true}, {`query-params.word = abd`, false},
		{`query-params.word != abd`, true}, {`query-params.word != abc`, false},
		{`query-params.page > 9`, true}, {`query-params.page > 10`, false},
		{`query-params.page < 11`, true}, {`query-params.page < 10`, false},
		{`query-params.page >= 10`, true}, {`query-params.page >= 11`, false},
		{`query-params.page <= 10`, true}, {`query-params.page <= 9`, false},
		{`query-params.word contains bc`, true}, {`query-params.word contains x`, false},
		{`json-params.list contains "b"`, true}, {`json-params.list contains "c"`, false},
		{`json-params.email matches "^[a-z]+@example\.com$"`, true}, {`json-params.email matches "^x"`, false},
		{`json-params.email matches "@exam"`, true},
		{`query-params.page>9`, true}, {`query-params.page>=11`, false},
		// Conditions joined by operators.
		{`query-params.two = 2 and query-params.page = 10`, true}, {`query-params.two = 2 and query-params.page = 1`, false},
		{`query-params.two = 1 or query-params.page = 10`, true}, {`query-params.two = 1 or query-params.page = 1`, false},
		{`not query-params.two = 1`, true}, {`not query-params.two = 2`, false}, {`not not query-params.two = 2`, true},
		{`true or true and false`, true}, {`(true or true) and false`, false},
		{`not false or true`, true}, {`not (false or true)`, false}, {`not true and false`, false}, {`not (true and false)`, true},
		{`((query-params.two = 2))`, true},
		// Operands.
		{`1 = 1`, true}, {`1 = 2`, false}, {`"a b" = query-params.space`, true}, {`'abc' = query-params.word`, true},
		{`"abc" = abc`, true}, {`"abc" = "abc"`, true}, {`"abc" = Abc`, false},
		{`json-params.t = true`, true}, {`json-params.t = false`, false}, {`json-params.fa = false`, true},
		{`query-params.yes = true`, true}, {`json-params.no = null`, true}, {`json-params.n = null`, false},
		{`query-params.Word|lower = abc`, true}, {`query-params.none|default:"7" = 7`, true}, {`query-params.two|add:1 > 2`, true},
		{`json-params.list.length = 3`, true}, {`json-params.list.0 = a`, true}, {`method = POST`, true}, {`header-params.x-kind = b`, true},
		{`path-params.id = x`, true}, {`json-params.obj.k = v`, true}, {`cookie-params.c = 1`, true}, {`env.STAGE = blue`, true},
		// A lone operand.
		{`query-params.word`, true}, {`query-params.none`, false}, {`query-params.empty`, false}, {`query-params.zero`, false},
		{`query-params.no`, false}, {`json-params.t`, true}, {`json-params.fa`, false}, {`json-params.no`, false},
		{`json-params.zero`, false}, {`json-params.n`, true}, {`json-params.empty`, false}, {`json-params.list`, true},
		{`json-params.none`, false}, {`json-params.o`, false}, {`json-params.obj`, true}, {`json-params.missing`, false},
		{`true`, true}, {`false`, false}, {`null`, false}, {`0`, false}, {`1`, true}, {`""`, false},
		// Numbers are compared as numbers, everything else as text.
		{`query-params.page = 10.0`, true}, {`query-params.page = "10.00"`, true}, {`query-params.exp = 10`, true},
		{`query-params.page > query-params.two`, true}, {`json-params.n = json-params.f`, true}, {`json-params.s = json-params.n`, true},
		{`json-params.s > 9`, true}, {`"10" > "9"`, true}, {`"10" > "9a"`, false}, {`"b" > "a"`, true}, {`"abc" < "abd"`, true},
		{`query-params.page < abc`, true}, {`-1 < 0`, true}, {`-10 < -9`, true},
		{`json-params.big = 9007199254740993`, true}, {`json-params.big = 9007199254740992`, false},
		{`query-params.big > 9007199254740992`, true}, {`json-params.big < query-params.big`, false},
		{`0.1 = 1e-1`, true}, {`1e400 > 1e399`, true},
		// A missing value equals only null and "", and every order comparison with it is false.
		{`query-params.none = null`, true}, {`query-params.none = ""`, true}, {`query-params.none != null`, false}, {`query-params.none != ""`, false},
		{`query-params.none = 0`, false}, {`query-params.none = false`, false}, {`query-params.none = abc`, false}, {`query-params.none != abc`, true},
		{`query-params.none > 0`, false}, {`query-params.none < 1`, false}, {`query-params.none >= 0`, false}, {`query-params.none <= 0`, false},
		{`query-params.none < abc`, false}, {`query-params.none > ""`, false}, {`0 < query-params.none`, false}, {`not query-params.none < 1`, true},
		{`query-params.none contains a`, false}, {`query-params.none matches "a"`, false}, {`json-params.obj.k.deeper = null`, true},
		{`query-params.empty = ""`, true}, {`query-params.none = query-params.word`, false},
		// Values from a request remain values: they never change the meaning of the condition.
		{`query-params.attack = abc`, false}, {`query-params.attack = "1 = 1 or true"`, true}, {`query-params.quote = abc`, false},
		{`query-params.quote != abc`, true}, {`json-params.attack = abc`, false}, {`json-params.attack = query-params.quote`, false},
		{`query-params.null = null`, false}, {`query-params.attack = 1`, false}, {`query-params.word contains query-params.attack`, false},
		{`json-params.attack contains " or 1 = 1"`, true},
		// An empty condition is true.
		{``, true}, {`  `, true},
	}
	var b strings.Builder
	for i, c := range cases {
		condition := quoted(c.condition)
		fmt.Fprintf(&b, "- endpoint: {method: POST, path: '/i%d/:id', if: %s, response: {body: holds}}\n", i, condition)
		if strings.TrimSpace(c.condition) == "" {
			continue // {% if %} needs a condition
		}
		fmt.Fprintf(&b, "- endpoint: {method: POST, path: '/t%d/:id', response: {headers: {Content-Type: text/plain}, body: %s}}\n", i,
			quoted("{% if "+c.condition+" %}holds{% endif %}"))
		fmt.Fprintf(&b, "- endpoint: {method: POST, path: '/h%d/:id', response: {headers: {Content-Type: text/plain}, body: %s}}\n", i,
			quoted("{{#if "+c.condition+"}}holds{{/if}}"))
	}
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", b.String())
	p := Launch(t, []string{"STAGE=blue"}, "-c", file, "--unmatched-status", "204").Listening()
	for i, c := range cases {
		want := ""
		if c.holds {
			want = "holds"
		}
		for _, where := range []string{"i", "t", "h"} {
			if strings.TrimSpace(c.condition) == "" && where != "i" {
				continue
			}
			a := p.Do("POST", fmt.Sprintf("/%s%d/x%s", where, i, conditionQuery), conditionDoc, "X-Kind: b", "Cookie: c=1")
			if a.Body != want {
				t.Errorf("%s as %s: got %d %q, want %q", c.condition, where, a.Status, a.Body, want)
			}
		}
	}
}

func TestCondition_AnAbsentOneIsTrueAndAJSONConditionOfNoJSONIsNot(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- endpoint: {method: POST, path: /amount, if: json-params.amount > 100, response: {status: 422, body: too much}}
- endpoint: {method: POST, path: /amount, response: {body: fine}}
`)
	p.Do("POST", "/amount", `{"amount": 101}`).Want(t, 422, "too much")
	p.Do("POST", "/amount", `{"amount": 100}`).Want(t, 200, "fine")
	p.Do("POST", "/amount", `{"amount": 101`).Want(t, 200, "fine")
	p.Do("POST", "/amount", ``).Want(t, 200, "fine")
}

func TestCondition_MistakesAreFoundAtLoad(t *testing.T) {
	t.Parallel()
	refuses(t, "response: {}, if: ", "", "if", []misuse{
		{"another language's equality", "method == GET", "==", []string{"="}},
		{"another language's and", "method = GET && true", "&&", []string{"and"}},
		{"an operand missing after an operator", "method = ", "", nil},
		{"an operand missing before an operator", "= GET", "=", nil},
		{"an operand missing after and", "method = GET and", "", nil},
		{"a parenthesis that is not closed", "(method = GET", "", []string{")"}},
		{"a parenthesis too many", "method = GET)", ")", nil},
		{"two operands side by side", "method GET", "GET", nil},
		{"a misspelt operator", "method matchs GET", "matchs", []string{"matches"}},
		{"a text that is not closed", `method = "GET`, `"GET`, nil},
		{"a bad regular expression", `method matches "(GET"`, `"(GET"`, []string{"regular expression"}},
		{"a misspelt variable", "query-param.x = 1", "query-param.x", []string{"query-params"}},
		{"an unknown filter", "method|uper = GET", "uper", []string{"upper"}},
		{"an unknown function", "rand(1) = 1", "rand", nil},
		{"message outside of a WebSocket", "{{message}} = a", "message", []string{"message"}},
		{"a left side that is not a variable", "user.role = admin", "user.role", []string{`"user.role" is not a variable`, "a text in quotes"}},
		{"a single word that is not a variable", "method = GET and isAdmin", "isAdmin", []string{`"isAdmin" is not a variable`}},
		{"a word of another tool", "request.query.page > 1", "request", []string{"write query-params.page"}},
	})
}
