package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// message is a response split into its parts, each exactly as received.
type message struct {
	status string // "HTTP/1.1 200 OK"
	lines  []string
	body   string
}

// fetch sends one raw request and returns the response as received. headers are lines to add; Host
// and Connection are set already.
func fetch(p *Process, method, target, body string, headers ...string) message {
	p.T.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: mock.test\r\nConnection: close\r\n", method, target)
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	return cut(p.T, wire(p, b.String()+"\r\n"+body))
}

func cut(t *testing.T, raw string) message {
	t.Helper()
	head, body, ok := strings.Cut(raw, "\r\n\r\n")
	if !ok {
		t.Fatalf("no end of the headers in %q", raw)
	}
	lines := strings.Split(head, "\r\n")
	return message{lines[0], lines[1:], body}
}

// values returns the values of the header lines with exactly this name.
func (m message) values(name string) []string {
	var vs []string
	for _, line := range m.lines {
		if v, ok := strings.CutPrefix(line, name+": "); ok {
			vs = append(vs, v)
		}
	}
	return vs
}

// names returns the names of the header lines, in lower case and sorted, except those that the
// server adds to every answer that closes the connection.
func (m message) names() []string {
	var names []string
	for _, line := range m.lines {
		name, _, _ := strings.Cut(line, ":")
		switch name = strings.ToLower(name); name {
		case "date", "content-length", "connection":
		default:
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// quoted returns a text in a form that JSON and YAML both read: characters that are special in
// YAML are escaped.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	var ascii strings.Builder
	for _, r := range string(b) {
		if r < 0x7f || r > 0xffff {
			ascii.WriteRune(r)
		} else {
			fmt.Fprintf(&ascii, `\u%04x`, r)
		}
	}
	return ascii.String()
}

// declare returns a configuration with one endpoint for each response: /r0, /r1, …
func declare(responses ...string) string {
	var b strings.Builder
	for i, r := range responses {
		fmt.Fprintf(&b, "- endpoint: {path: /r%d, response: %s}\n", i, r)
	}
	return b.String()
}

func TestResponse_DefaultContentType(t *testing.T) {
	t.Parallel()
	const isJSON, isText = "application/json", "text/plain; charset=utf-8"
	cases := []struct{ name, response, want string }{
		{"a map is JSON", `{body: {a: 1}}`, isJSON},
		{"a list is JSON", `{body: [1, 2]}`, isJSON},
		{"an external body is JSON", `{external-body: {provider: json, path: data.json}}`, isJSON},
		{"an external body is JSON whatever it begins with", `{external-body: {provider: json, path: text.json}}`, isJSON},
		{"a text that starts with a brace is JSON", `{body: '{"a": 1}'}`, isJSON},
		{"a text that starts with a bracket is JSON", `{body: '[1]'}`, isJSON},
		{"a text that starts with a placeholder is text", `{body: '{{method}}'}`, isText},
		{"a text whose JSON starts after a block tag is JSON", `{body: '{% if true %}{"a": 1}{% endif %}'}`, isJSON},
		{"a text whose list starts after the other spelling is JSON", `{body: '{{#if true}}[1]{{/if}}'}`, isJSON},
		{"a text after a block tag is text", `{body: '{% if true %}hello{% endif %}'}`, isText},
		{"any other text is text", `{body: 'hello {}'}`, isText},
		{"a text of a number is text", `{body: '42'}`, isText},
		{"an XML text is text unless declared", `{body: '<a/>'}`, isText},
		{"nothing at all is text", `{}`, isText},
		{"without the language, braces are JSON", `{body: '{{method}}', template: false}`, isJSON},
		{"without the language, other text is text", `{body: 'x {{method}}', template: false}`, isText},
		{"declared wins over a text", `{headers: {Content-Type: text/css}, body: 'a{}'}`, "text/css"},
		{"declared wins over JSON text", `{headers: {Content-Type: application/vnd.a+json}, body: '{}'}`, "application/vnd.a+json"},
		{"declared wins over a map", `{headers: {Content-Type: text/x-a}, body: {a: 1}}`, "text/x-a"},
		{"declared wins over an external body", `{headers: {Content-Type: text/x-b}, external-body: {provider: json, path: data.json}}`, "text/x-b"},
		{"declared in lower case wins", `{headers: {content-type: text/x-c}, body: {a: 1}}`, "text/x-c"},
		{"declared with a placeholder wins", `{headers: {Content-Type: 'text/x-{{method|lower}}'}, body: {a: 1}}`, "text/x-get"},
	}
	var responses []string
	for _, c := range cases {
		responses = append(responses, c.response)
	}
	dir := t.TempDir()
	harness.WriteFile(t, dir, "data.json", `{"a": 1}`)
	harness.WriteFile(t, dir, "text.json", `"text"`)
	p := Start(t, "-c", harness.WriteFile(t, dir, "mock.yml", declare(responses...)))
	for i, c := range cases {
		a := p.Get(fmt.Sprintf("/r%d", i))
		if got := a.Header.Values("Content-Type"); a.Status != 200 || len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: got %d %q, want %q", c.name, a.Status, got, c.want)
		}
	}
}

func TestResponse_HeadersAreSentAsDeclared(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, headers, header string
		want                  []string
	}{
		{"a name keeps its case", `{x-lower-CASE: v}`, "x-lower-CASE", []string{"v"}},
		{"a list repeats the header in order", `{X-Many: [one, two, one]}`, "X-Many", []string{"one", "two", "one"}},
		{"cookies of one name are all sent", `{Set-Cookie: [a=1; Path=/x, a=2; Path=/y, b=3]}`, "Set-Cookie", []string{"a=1; Path=/x", "a=2; Path=/y", "b=3"}},
		{"a number and a boolean are texts", `{X-Some: [12, true, 1.50]}`, "X-Some", []string{"12", "true", "1.50"}},
		{"an empty value stays empty", `{X-Empty: ""}`, "X-Empty", []string{""}},
		{"a declared Server is sent", `{Server: nginx/1.25}`, "Server", []string{"nginx/1.25"}},
		{"a declared Content-Encoding is sent and nothing is encoded", `{Content-Encoding: gzip}`, "Content-Encoding", []string{"gzip"}},
		{"an absolute path in Location stays relative", `{Location: "/tasks/7?a=b"}`, "Location", []string{"/tasks/7?a=b"}},
		{"a relative Location is not resolved", `{Location: ../up}`, "Location", []string{"../up"}},
		{"a Location may hold placeholders", `{Location: "/tasks/{{query-params.id}}"}`, "Location", []string{"/tasks/7"}},
		{"a header may hold several placeholders", `{X-All: "{{method}} {{query-params.id|add:1}}"}`, "X-All", []string{"GET 8"}},
		{"a missing value leaves nothing", `{X-None: "a{{query-params.none}}b"}`, "X-None", []string{"ab"}},
	}
	var responses []string
	for _, c := range cases {
		responses = append(responses, "{headers: "+c.headers+", body: 'text'}")
	}
	p := Serving(t, declare(responses...))
	for i, c := range cases {
		m := fetch(p, "GET", fmt.Sprintf("/r%d?id=7", i), "")
		if got := m.values(c.header); !slices.Equal(got, c.want) || m.body != "text" {
			t.Errorf("%s: got %q in %q, want %q", c.name, got, m.lines, c.want)
		}
	}
}

// The server always writes Date itself: a declared Date is ignored, with a warning.
func TestResponse_ADeclaredDateIsLeftOutWithAWarning(t *testing.T) {
	t.Parallel()
	p := Serving(t, declare(`{headers: {Date: "Tue, 15 Nov 1994 08:12:31 GMT"}, body: text}`))
	got := fetch(p, "GET", "/r0", "").values("Date")
	if len(got) != 1 {
		t.Fatalf("got %q, want one Date", got)
	}
	if sent, err := http.ParseTime(got[0]); err != nil || time.Since(sent).Abs() > time.Hour {
		t.Errorf("got %q, want the time of the answer", got)
	}
	p.WaitLine(0, "configuration warning", "headers.Date", "left out")
}

func TestResponse_TemplateFalseLeavesHeadersAlone(t *testing.T) {
	t.Parallel()
	p := Serving(t, declare(`{template: false, headers: {X-A: "{{method}} {% if %}"}, body: "{{nobody}} {% raw"}`))
	m := fetch(p, "GET", "/r0", "")
	if got := m.values("X-A"); len(got) != 1 || got[0] != "{{method}} {% if %}" || m.body != "{{nobody}} {% raw" {
		t.Errorf("got %q %q", got, m.body)
	}
}

func TestResponse_LineBreaksOfARequestNeverMakeAHeader(t *testing.T) {
	t.Parallel()
	const evil = "a\r\nX-Evil: 1\r\n\r\nbody\x00b" // each source encodes it in its own way
	const want = "[aX-Evil: 1bodyb]"
	percent := "a%0d%0aX-Evil:%201%0D%0A%0d%0abody%00b"
	cases := []struct{ name, source, target, body, contentType string }{
		{"from the query", "query-params.x", "?x=" + percent, "", ""},
		{"from the path", "path-params.id", "", "", ""},
		{"from a form", "form-params.x", "", "x=" + percent, "application/x-www-form-urlencoded"},
		{"from JSON", "json-params.x", "", `{"x": ` + quoted(evil) + `}`, "application/json"},
		{"from the body", "body", "", evil, "text/plain"},
		{"past a filter", "query-params.x|trim", "?x=" + percent, "", ""},
		{"past a default", "query-params.none|default:json-params.x", "", `{"x": ` + quoted(evil) + `}`, "application/json"},
	}
	var b strings.Builder
	for i, c := range cases {
		for _, method := range []string{"GET", "POST"} {
			fmt.Fprintf(&b, "- endpoint: {method: %s, path: '/r%d/:id', response: {headers: {X-Echo: %s}, body: ok}}\n",
				method, i, quoted("[{{"+c.source+"}}]"))
		}
	}
	p := Serving(t, b.String())
	for i, c := range cases {
		method, headers := "GET", []string{}
		if c.body != "" {
			method, headers = "POST", []string{"Content-Type: " + c.contentType}
		}
		id := "x"
		if c.source == "path-params.id" {
			id = percent
		}
		m := fetch(p, method, fmt.Sprintf("/r%d/%s%s", i, id, c.target), c.body, headers...)
		if got := m.values("X-Echo"); len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
		if got := m.names(); !slices.Equal(got, []string{"content-type", "x-echo"}) || m.body != "ok" {
			t.Errorf("%s: got headers %q and body %q", c.name, got, m.body)
		}
	}
}

func TestResponse_DeclaredFramingIsIgnoredWithAWarning(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint:
    path: /framed
    response:
      headers:
        Content-Length: 3
        transfer-encoding: chunked
        Connection: close
        X-Kept: "1"
      body: twelve bytes
`)
	for _, name := range []string{"Content-Length", "transfer-encoding", "Connection"} {
		p.WaitLine(0, "warning", "headers."+name, "mock.yml:")
	}
	c := p.Dial()
	responses := bufio.NewReader(c)
	for range 2 { // the second request shows that the connection stays open
		if _, err := io.WriteString(c, "GET /framed HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(responses, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != "twelve bytes" || resp.ContentLength != 12 || len(resp.TransferEncoding) > 0 {
			t.Errorf("got %q with length %d, encoding %q: %v", body, resp.ContentLength, resp.TransferEncoding, err)
		}
		if resp.Header.Get("Connection") != "" || resp.Header.Get("X-Kept") != "1" {
			t.Errorf("got headers %v", resp.Header)
		}
	}
}

func TestResponse_204And304HaveNeitherBodyNorFraming(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- endpoint: {path: /204, response: {status: 204, body: "not sent", headers: {X-Kept: "{{method}}"}}}
- endpoint: {path: /304, response: {status: 304, body: {not: sent}, headers: {ETag: '"v1"'}}}
- endpoint: {path: /204t, response: {status: 204, body: "{{method}}"}}
- endpoint: {method: DELETE, path: /gone, response: {status: 204}}
- endpoint: {path: /next, response: {body: next}}
`)
	for _, c := range []struct{ name, method, target, kept, status string }{
		{"204 with a declared body", "GET", "/204", "X-Kept: GET", "HTTP/1.1 204 No Content"},
		{"304 with a declared body", "GET", "/304", `ETag: "v1"`, "HTTP/1.1 304 Not Modified"},
		{"204 with a templated body", "GET", "/204t", "", "HTTP/1.1 204 No Content"},
		{"204 without anything", "DELETE", "/gone", "", "HTTP/1.1 204 No Content"},
		{"204 asked for by HEAD", "HEAD", "/204", "X-Kept: HEAD", "HTTP/1.1 204 No Content"},
	} {
		// The answer to the next request on the connection shows exactly where this one ended.
		raw := wire(p, c.method+" "+c.target+" HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		first := cut(t, raw)
		if first.status != c.status || c.kept != "" && !slices.Contains(first.lines, c.kept) {
			t.Errorf("%s: got %q %q", c.name, first.status, first.lines)
		}
		for _, line := range first.lines {
			if l := strings.ToLower(line); strings.HasPrefix(l, "content-length:") || strings.HasPrefix(l, "transfer-encoding:") {
				t.Errorf("%s: got the header %q", c.name, line)
			}
		}
		if !strings.HasPrefix(first.body, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(first.body, "\r\n\r\nnext") {
			t.Errorf("%s: after the headers: %q", c.name, first.body)
		}
	}
}

func TestResponse_DateIsSentAndServerIsNot(t *testing.T) {
	t.Parallel()
	p := Serving(t, declare(`{body: text}`, `{status: 204}`))
	before := time.Now().Add(-2 * time.Second) // the server renews its date once a second
	for _, target := range []string{"/r0", "/r1", "/none"} {
		m := fetch(p, "GET", target, "")
		dates := m.values("Date")
		if len(dates) != 1 {
			t.Fatalf("%s: got dates %q", target, dates)
		}
		at, err := http.ParseTime(dates[0])
		if err != nil || at.Before(before) || at.After(time.Now().Add(time.Second)) {
			t.Errorf("%s: got date %q: %v", target, dates[0], err)
		}
		if slices.Contains(m.names(), "server") {
			t.Errorf("%s: got headers %q", target, m.lines)
		}
	}
	if got := wire(p, "nonsense\r\n\r\n"); strings.Contains(strings.ToLower(got), "server:") {
		t.Errorf("got %q", got)
	}
}

func TestResponse_BodyIsByteExact(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, body string }{
		{"no newline is added", "text"},
		{"a trailing newline stays", "text\n"},
		{"several stay", "\n\ntext\n\n\n"},
		{"blanks at both ends stay", "  \t text \t "},
		{"CRLF stays", "a\r\nb\r\n"},
		{"JSON is not reformatted", "{ \"b\" :  1.10 ,\n\t\"a\":[ ],\"c\":1e+02 }\n"},
		{"JSON keys keep their order and doubles", `{"b":1,"a":2,"b":3}`},
		{"characters of HTML are not escaped", `{"a":"<b>&amp;'</b>"}`},
		{"escapes of JSON are not undone", `{"a":"\u0041\/\n"}`},
		{"control characters stay", "\x00\x01\x02\x1b\x7f\n"},
		{"characters beyond ASCII stay", "é 漢字 🎈 \u0085\u2028 \ufeffx"},
		{"lone braces stay", "} }} %} { { a { b"},
		{"a long text stays", strings.Repeat("0123456789abcdef \n", 20000)},
	}
	var b strings.Builder
	for i, c := range cases {
		fmt.Fprintf(&b, "- endpoint: {path: /static%d, response: {body: %s}}\n", i, quoted(c.body))
		fmt.Fprintf(&b, "- endpoint: {path: /raw%d, response: {template: false, body: %s}}\n", i, quoted(c.body))
		fmt.Fprintf(&b, "- endpoint: {path: /templated%d, response: {headers: {Content-Type: text/plain}, body: %s}}\n", i, quoted(c.body+"[{{method}}]"+c.body))
	}
	b.WriteString("- endpoint:\n    path: /block\n    response:\n      body: |\n        a\n          b\n\n        {\"c\": 1}\n")
	p := Serving(t, b.String())
	for i, c := range cases {
		for form, want := range map[string]string{"static": c.body, "raw": c.body, "templated": c.body + "[GET]" + c.body} {
			if a := p.Get(fmt.Sprintf("/%s%d", form, i)); a.Body != want || a.Length != int64(len(want)) {
				t.Errorf("%s, %s: got %d bytes %.100q, want %d bytes %.100q", c.name, form, a.Length, a.Body, len(want), want)
			}
		}
	}
	p.Get("/block").Want(t, 200, "a\n  b\n\n{\"c\": 1}\n")
}

func TestResponse_AMapOrListIsServedAsItsJSONText(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- endpoint:
    path: /map/:id
    response:
      body: {id: "{{path-params.id}}", n: 1.50, big: 12345678901234567890123, yes: true, none: null, list: [1, {a: "\"q\""}], "<k>": "<v>"}
- endpoint: {path: /list, response: {body: [1, two, [], {}]}}
`)
	p.Get(`/map/a%22b`).Want(t, 200, `{"id":"a\"b","n":1.50,"big":12345678901234567890123,"yes":true,"none":null,"list":[1,{"a":"\"q\""}],"<k>":"<v>"}`)
	p.Get("/list").Want(t, 200, `[1,"two",[],{}]`)
}

// set returns the elements of a comma-separated header, sorted.
func set(header string) []string {
	parts := strings.Split(header, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	sort.Strings(parts)
	return parts
}

const crossed = `
- endpoint: {path: /items, response: {body: '{"a": 1}', headers: {X-Item: "1"}}}
- endpoint: {method: POST, path: /items, response: {status: 201}}
- endpoint: {method: DELETE, path: "/items/:id", response: {status: 204}}
- endpoint: {method: OPTIONS, path: /declared, response: {status: 202, body: mine, headers: {X-Mine: "1"}}}
- endpoint: {method: PUT, path: /declared, response: {}}
- endpoint: {method: OPTIONS, path: /allowing, response: {headers: {allow: "GET, PUT"}}}
- endpoint: {path: /allowing, response: {}}
- endpoint: {method: HEAD, path: /both, response: {status: 202, headers: {X-Head: "1"}}}
- endpoint: {path: /both, response: {body: get, headers: {X-Get: "1"}}}
- endpoint: {path: "/hello/:name", response: {body: '{"hello": "{{path-params.name}}", "method": "{{method}}"}'}}
- endpoint: {path: /own, response: {body: own, headers: {access-control-allow-origin: "https://one.test", Access-Control-Allow-Credentials: "true"}}}
- endpoint: {path: /dynamic, response: {body: own, headers: {Access-Control-Allow-Origin: "{{header-params.Origin}}"}}}
- endpoint: {path: /failing, response: {status: 500, body: declared}}
- endpoint: {path: "/file/:name", response: {external-body: {provider: json, path: "no/{{path-params.name}}.json"}}}
`

func TestOPTIONS_ListsTheDeclaredMethods(t *testing.T) {
	t.Parallel()
	p := Serving(t, crossed)
	for _, c := range []struct {
		name, path string
		allow      []string
	}{
		{"HEAD comes with GET", "/items", []string{"GET", "HEAD", "OPTIONS", "POST"}},
		{"no HEAD without GET", "/items/7", []string{"DELETE", "OPTIONS"}},
		{"a declared HEAD is named once", "/both", []string{"GET", "HEAD", "OPTIONS"}},
	} {
		a := p.Do("OPTIONS", c.path, "")
		if got := set(a.Header.Get("Allow")); a.Status != 200 || a.Body != "" || !slices.Equal(got, c.allow) {
			t.Errorf("%s: got %d %q, Allow %q, want %q", c.name, a.Status, a.Body, got, c.allow)
		}
		for name := range a.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: got %s without an Origin", c.name, name)
			}
		}
	}
	if a := p.Do("OPTIONS", "/none", ""); a.Status != 404 {
		t.Errorf("an undeclared path: got %d, want 404", a.Status)
	}
}

func TestOPTIONS_DeclaredWins(t *testing.T) {
	t.Parallel()
	p := Serving(t, crossed)
	a := p.Do("OPTIONS", "/declared", "", "Origin: https://a.test", "Access-Control-Request-Method: PUT")
	a.Want(t, 202, "mine")
	if a.Header.Get("X-Mine") != "1" {
		t.Errorf("got headers %v", a.Header)
	}
	if got := set(a.Header.Get("Allow")); !slices.Equal(got, []string{"OPTIONS", "PUT"}) {
		t.Errorf("Allow is added to a declared answer that lacks it: got %q", got)
	}
	a = p.Do("OPTIONS", "/allowing", "")
	if got := a.Header.Values("Allow"); a.Status != 200 || len(got) != 1 || got[0] != "GET, PUT" {
		t.Errorf("a declared Allow stays as it is: got %d %q", a.Status, got)
	}
}

func TestOPTIONS_Preflight(t *testing.T) {
	t.Parallel()
	p := Serving(t, crossed)
	a := p.Do("OPTIONS", "/items", "", "Origin: https://a.test", "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: X-One, content-type")
	a.Want(t, 200, "")
	if got := set(a.Header.Get("Access-Control-Allow-Methods")); !slices.Contains(got, "POST") || !slices.Contains(got, "GET") {
		t.Errorf("got methods %q", got)
	}
	if got := set(strings.ToLower(a.Header.Get("Access-Control-Allow-Headers"))); !slices.Equal(got, []string{"content-type", "x-one"}) {
		t.Errorf("got headers %q", got)
	}
	if a.Header.Get("Access-Control-Max-Age") == "" || a.Header.Get("Access-Control-Allow-Origin") != "*" || a.Header.Get("Allow") == "" {
		t.Errorf("got %v", a.Header)
	}
	if got := a.Header.Values("Access-Control-Allow-Credentials"); len(got) > 0 {
		t.Errorf("got credentials %q", got)
	}
	for name, header := range map[string]string{
		"an Origin alone is not a preflight":                          "Origin: https://a.test",
		"a requested method without Origin is not a preflight either": "Access-Control-Request-Method: POST",
	} {
		a := p.Do("OPTIONS", "/items", "", header)
		if got := a.Header.Get("Access-Control-Allow-Methods"); a.Status != 200 || got != "" {
			t.Errorf("%s: got %d, methods %q", name, a.Status, got)
		}
	}
}

// An automatic preflight is answered with the headers for it that the endpoint declares, and only
// with the defaults of those that it does not declare.
func TestOPTIONS_PreflightOfDeclaredHeaders(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- endpoint: {method: PUT, path: /a, response: {headers: {Access-Control-Allow-Origin: "https://app.example", access-control-allow-credentials: true}}}
- endpoint: {method: POST, path: /a, response: {headers: {Access-Control-Allow-Methods: POST, Access-Control-Allow-Headers: X-A, Access-Control-Max-Age: 5, Access-Control-Expose-Headers: X-B}}}
- endpoint: {path: "/b/:id|int", response: {headers: {Access-Control-Allow-Origin: "{{header-params.origin}}", Vary: Origin, Access-Control-Allow-Headers: "{{path-params.id}}"}}}
- endpoint: {method: PUT, path: "/b/:id|int", if: header-params.x-a = 1, response: {headers: {Access-Control-Allow-Credentials: true, Access-Control-Allow-Origin: "{{header-params.origin}}"}}}
- endpoint: {method: PUT, path: /c, responses: [{status: 503}, {headers: {Access-Control-Allow-Origin: https://app.example}}]}
- endpoint: {method: PUT, path: /d, if: 'counter("preflights") = 1', response: {headers: {Access-Control-Allow-Credentials: true, Access-Control-Allow-Headers: "{{path}}"}}}
- data: {name: rows, rows: [{id: 1}]}
- endpoint: {method: PUT, path: /e, find: {row: {in: rows, pick: once}}, if: row, response: {headers: {Access-Control-Allow-Credentials: true}, body: "{{row.id}}"}}
- endpoint: {method: PUT, path: /f, if: query-params.a = 1, response: {headers: {Access-Control-Allow-Headers: "{{query-params.a}}"}}}
- endpoint: {method: PUT, path: /f, response: {headers: {Access-Control-Allow-Headers: X-F}}}
- endpoint: {method: any, path: /any, response: {status: 201, headers: {Access-Control-Allow-Origin: "https://app.example"}}}
`)
	const origin = "https://a.example"
	for _, c := range []struct{ path, method, origin, credentials, methods, headers, age string }{
		{"/a", "PUT", "https://app.example", "true", "OPTIONS, POST, PUT", "x-c", "600"},
		{"/a", "POST", "*", "", "POST", "X-A", "5"},
		{"/a", "DELETE", "*", "", "OPTIONS, POST, PUT", "x-c", "600"},
		{"/b/7", "GET", origin, "", "GET, HEAD, OPTIONS, PUT", "7", "600"},
		{"/b/7", "HEAD", origin, "", "GET, HEAD, OPTIONS, PUT", "7", "600"},
		{"/b/7", "PUT", origin, "true", "GET, HEAD, OPTIONS, PUT", "x-c", "600"}, // its condition cannot hold for a preflight
		{"/any", "PUT", "https://app.example", "", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT", "x-c", "600"},
		{"/c", "PUT", "https://app.example", "", "OPTIONS, PUT", "x-c", "600"},
		{"/d", "PUT", "*", "true", "OPTIONS, PUT", "x-c", "600"}, // its condition counts
		{"/e", "PUT", "*", "true", "OPTIONS, PUT", "x-c", "600"}, // its condition takes a row
		{"/f?a=1", "PUT", "*", "", "OPTIONS, PUT", "1", "600"},
		{"/f?a=2", "PUT", "*", "", "OPTIONS, PUT", "X-F", "600"},
	} {
		a := p.Do("OPTIONS", c.path, "", "Origin: "+origin, "Access-Control-Request-Method: "+c.method, "Access-Control-Request-Headers: x-c")
		for name, want := range map[string]string{
			"Allow-Origin": c.origin, "Allow-Credentials": c.credentials, "Allow-Methods": c.methods, "Allow-Headers": c.headers, "Max-Age": c.age, "Expose-Headers": "",
		} {
			if got := strings.Join(a.Header.Values("Access-Control-"+name), " and "); a.Status != 200 || got != want {
				t.Errorf("%s for %s: got %d, Access-Control-%s %q, want %q", c.path, c.method, a.Status, name, got, want)
			}
		}
	}
	p.Do("PUT", "/d", "").Want(t, 200, "") // nothing was counted or taken before
	p.Do("PUT", "/e", "").Want(t, 200, "1")
}

// A response with status 205 has no body and says so, whatever it is made from, and the next response
// of its connection follows.
func TestResponse_205HasNoBody(t *testing.T) {
	t.Parallel()
	responses := map[string]string{
		"/p/short":   "Content-Length: 5\r\n\r\nshort",
		"/p/long":    "Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000),
		"/p/chunked": "Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n0\r\n\r\n",
		"/p/empty":   "Content-Length: 0\r\n\r\n",
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		_, _ = io.WriteString(conn, "HTTP/1.1 205 Reset Content\r\nX-Kept: 1\r\n"+responses[r.URL.Path]) // the client may have enough
		_ = conn.Close()
	}))
	defer upstream.Close()
	p := Serving(t, `
- upstream: {name: real, url: "`+upstream.URL+`"}
- endpoint: {path: "/p/:name", response: {proxy: real}}
- endpoint: {path: /fixed, response: {status: 205, body: x, headers: {X-Kept: 1}}}
- endpoint: {path: /made, response: {status: 205, body: "{{path}}", headers: {X-Kept: "{{query-params.a|default:1}}", Trailer: X-T}}}
- endpoint: {path: /late, latency: {min: 1ms}, response: {status: 205, body: "{{path}}", headers: {X-Kept: 1}}}
- endpoint: {path: /next, response: {body: next}}
- data: {name: rows, rows: [{id: 1}]}
- resource: {path: /rows, data: rows, on: {read: {status: 205, headers: {X-Kept: 1}}}}
`)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/fixed", "/made", "/late", "/rows/1", "/p/short", "/p/long", "/p/chunked", "/p/empty"} {
		raw := wire(p, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		first := cut(t, raw)
		if first.status != "HTTP/1.1 205 Reset Content" || !slices.Contains(first.lines, "Content-Length: 0") || !slices.Contains(first.lines, "X-Kept: 1") ||
			strings.Contains(strings.Join(first.lines, "\n"), "Transfer-Encoding") || !strings.HasPrefix(first.body, "HTTP/1.1 200 OK\r\n") {
			t.Errorf("%s: got %q", path, raw)
		}
		resp, err := client.Get(p.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode != 205 || len(body) > 0 || err != nil || resp.ContentLength != 0 {
			t.Errorf("%s over HTTP/2: got %d, %q, %v, length %d", path, resp.StatusCode, body, err, resp.ContentLength)
		}
	}
}

func TestHEAD_RepliesAsGETWithoutItsBody(t *testing.T) {
	t.Parallel()
	p := Serving(t, crossed)
	for _, target := range []string{"/items", "/hello/a%20b"} {
		get, head := fetch(p, "GET", target, ""), fetch(p, "HEAD", target, "")
		if head.status != "HTTP/1.1 200 OK" || head.body != "" || !slices.Equal(head.names(), get.names()) {
			t.Errorf("%s: got %q %q %q, GET has %q", target, head.status, head.lines, head.body, get.lines)
		}
	}
	// The output of {{method}} is a byte longer for HEAD, and the Content-Length is exact either
	// way.
	if a := p.Do("HEAD", "/items", ""); a.Length != int64(len(`{"a": 1}`)) || a.Header.Get("X-Item") != "1" ||
		a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got length %d, headers %v", a.Length, a.Header)
	}
	if a := p.Do("HEAD", "/both", ""); a.Status != 202 || a.Header.Get("X-Head") != "1" || a.Header.Get("X-Get") != "" {
		t.Errorf("a declared HEAD wins: got %d %v", a.Status, a.Header)
	}
	if a := p.Do("HEAD", "/items/7", ""); a.Status != 405 || a.Body != "" {
		t.Errorf("HEAD where only DELETE is declared: got %d %q, want 405", a.Status, a.Body)
	}
}

func TestCORS_AnyReplyToAnOriginMayBeRead(t *testing.T) {
	t.Parallel()
	p := Serving(t, crossed, "--max-body", "100")
	const origin = "Origin: https://a.test"
	for _, c := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"an answer", "GET", "/items", "", 200},
		{"an answer without a body", "DELETE", "/items/7", "", 204},
		{"a HEAD answer", "HEAD", "/items", "", 200},
		{"a declared OPTIONS answer", "OPTIONS", "/declared", "", 202},
		{"a declared failure", "GET", "/failing", "", 500},
		{"no endpoint", "GET", "/none", "", 404},
		{"a wrong method", "PUT", "/items", "", 405},
		{"a missing external body", "GET", "/file/x", "", 404},
		{"a body over the limit", "POST", "/items", strings.Repeat("x", 101), 413},
	} {
		a := p.Do(c.method, c.path, c.body, origin)
		if got := a.Header.Values("Access-Control-Allow-Origin"); a.Status != c.status || !slices.Equal(got, []string{"*"}) {
			t.Errorf("%s: got %d %q, want %d [*]", c.name, a.Status, got, c.status)
		}
		if got := a.Header.Values("Access-Control-Allow-Credentials"); len(got) > 0 {
			t.Errorf("%s: got credentials %q", c.name, got)
		}
		if a := p.Do(c.method, c.path, c.body); a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: without an Origin got %v", c.name, a.Header)
		}
	}
}

func TestCORS_HeadersAreExposed(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {method: POST, path: /a, rate-limit: {max-requests: 1}, response: {status: 201, headers: {Location: /a/1, Cache-Control: no-store, Set-Cookie: a=1, Vary: Accept, X-A: [b, c]}}}
- endpoint: {path: /own, response: {headers: {X-A: b, Access-Control-Expose-Headers: X-B}}}
- endpoint: {path: /plain, response: {}}
- resource: {path: /items, data: {rows: [{id: "1"}]}, page: {style: link}}
`)
	const origin, limits = "Origin: https://a.test", "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
	for _, c := range []struct{ method, path, want string }{
		{"POST", "/a", "Location, X-A, " + limits},
		{"POST", "/a", "Retry-After, " + limits},
		{"GET", "/own", "X-B"},
		{"GET", "/plain", ""},
		{"GET", "/items", "X-Total-Count, Link"},
		{"GET", "/items/1", "ETag"},
		{"OPTIONS", "/items", ""},
	} {
		if got := p.Do(c.method, c.path, "", origin).Header.Get("Access-Control-Expose-Headers"); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.method, c.path, got, c.want)
		}
		if got := p.Get("/items").Header.Get("Access-Control-Expose-Headers"); got != "" {
			t.Errorf("without an Origin: got %q", got)
		}
	}
}

// With credentials, browsers accept no *.
func TestCORS_CredentialsForAll(t *testing.T) {
	t.Parallel()
	p := Serving(t, crossed, "--cors-credentials")
	for _, c := range []struct{ method, path, origin string }{
		{"GET", "/items", "https://a.test"}, {"GET", "/none", "https://a.test"}, {"OPTIONS", "/items", "https://a.test"}, {"GET", "/own", "https://one.test"},
	} {
		h := p.Do(c.method, c.path, "", "Origin: https://a.test", "Access-Control-Request-Method: POST").Header
		if h.Get("Access-Control-Allow-Origin") != c.origin || !slices.Equal(h.Values("Access-Control-Allow-Credentials"), []string{"true"}) {
			t.Errorf("%s %s: got %v", c.method, c.path, h)
		}
		if varies := slices.Contains(h.Values("Vary"), "Origin"); varies != (c.path != "/own") {
			t.Errorf("%s %s: Vary is %q", c.method, c.path, h.Values("Vary"))
		}
	}
	if h := p.Get("/items").Header; h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("without an Origin: got %v", h)
	}
	if code := Launch(t, nil, "--cors-credentials", "--no-cors", "--upstream", "http://127.0.0.1:9").Exit(); code != 2 {
		t.Errorf("with --no-cors: exit code %d, want 2", code)
	}
}

func TestCORS_DeclaredWins(t *testing.T) {
	t.Parallel()
	p := Serving(t, crossed)
	a := p.Get("/own", "Origin: https://a.test")
	if got := a.Header.Values("Access-Control-Allow-Origin"); !slices.Equal(got, []string{"https://one.test"}) {
		t.Errorf("got origins %q", got)
	}
	if got := a.Header.Values("Access-Control-Allow-Credentials"); !slices.Equal(got, []string{"true"}) {
		t.Errorf("got credentials %q", got)
	}
	a = p.Get("/dynamic", "Origin: https://a.test")
	if got := a.Header.Values("Access-Control-Allow-Origin"); !slices.Equal(got, []string{"https://a.test"}) {
		t.Errorf("got origins %q", got)
	}
}

// A page reads why it was refused as it reads the response.
func TestCORS_ErrorsRepeatWhatIsDeclared(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- endpoint: {path: /limited, rate-limit: {max-requests: 1, window: 1h}, response: {headers: {Access-Control-Allow-Origin: "{{header-params.Origin}}", Access-Control-Allow-Credentials: true, Access-Control-Max-Age: 5}}}
- endpoint: {path: /made, rate-limit: {max-requests: 1, window: 1h}, let: {site: "https://one.test"}, response: {headers: {Access-Control-Allow-Origin: "{{site}}"}}}
- endpoint: {path: /failing, latency: {failure-rate: 1}, response: {headers: {access-control-allow-origin: "https://one.test"}}}
- endpoint: {path: /open, latency: {failure-rate: 1}, response: {headers: {Access-Control-Allow-Methods: GET}}}
`, "--server-timing")
	for _, c := range []struct {
		path, origin, credentials string
		status                    int
	}{{"/limited", "https://a.test", "true", 200}, {"/limited", "https://a.test", "true", 429}, {"/made", "https://one.test", "", 200}, {"/made", "*", "", 429}, {"/failing", "https://one.test", "", 500}, {"/open", "*", "", 500}} {
		a := p.Get(c.path, "Origin: https://a.test")
		for name, want := range map[string]string{"Origin": c.origin, "Credentials": c.credentials, "Methods": ""} {
			if got := strings.Join(a.Header.Values("Access-Control-Allow-"+name), " and "); a.Status != c.status || got != want {
				t.Errorf("%s: got %d, Access-Control-Allow-%s %q, want %d %q", c.path, a.Status, name, got, c.status, want)
			}
		}
		if exposed := a.Header.Get("Access-Control-Expose-Headers"); !strings.Contains(exposed, "Server-Timing") {
			t.Errorf("%s: exposes %q", c.path, exposed)
		}
	}
}

func TestCORS_NoCORSSwitchesAllOfItOff(t *testing.T) {
	t.Parallel()
	p := Serving(t, crossed, "--no-cors")
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/items", 200}, {"GET", "/none", 404}, {"OPTIONS", "/items", 200}} {
		a := p.Do(c.method, c.path, "", "Origin: https://a.test", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: x")
		if a.Status != c.status {
			t.Errorf("%s %s: got %d, want %d", c.method, c.path, a.Status, c.status)
		}
		for name := range a.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s %s: got %s", c.method, c.path, name)
			}
		}
	}
	if got := set(p.Do("OPTIONS", "/items", "").Header.Get("Allow")); !slices.Equal(got, []string{"GET", "HEAD", "OPTIONS", "POST"}) {
		t.Errorf("OPTIONS still lists the allowed methods: got %q", got)
	}
	if got := p.Get("/own", "Origin: https://a.test").Header.Get("Access-Control-Allow-Origin"); got != "https://one.test" {
		t.Errorf("a declared header is still sent: got %q", got)
	}
}

// wantFailure fails the test unless an answer is one of the server's own errors. It returns the
// error's message.
func wantFailure(a Response, t *testing.T, status int, title, code string) string {
	t.Helper()
	fields := map[string]any{}
	if err := json.Unmarshal([]byte(a.Body), &fields); err != nil {
		t.Errorf("got %d %q: %v", a.Status, a.Body, err)
		return ""
	}
	message, _ := fields["message"].(string)
	want := map[string]any{"error": title, "code": code, "message": message}
	if a.Status != status || message == "" || !reflect.DeepEqual(fields, want) {
		t.Errorf("got %d %s, want %d with error %q, code %q and a message", a.Status, a.Body, status, title, code)
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("got Content-Type %q", got)
	}
	return message
}

func TestFailure_HasATitleACodeAndAMessage(t *testing.T) {
	t.Parallel()
	p := Serving(t, crossed, "--max-body", "1KiB")
	if m := wantFailure(p.Get("/item"), t, 404, "No endpoint", "endpoint_not_found"); !strings.Contains(m, "/items") {
		t.Errorf("the nearest endpoint is not named: %q", m)
	}
	wantFailure(p.Do("PATCH", "/items", ""), t, 405, "Method not allowed", "method_not_allowed")
	wantFailure(p.Get("/file/x"), t, 404, "No such body", "body_not_found")
	wantFailure(p.Do("POST", "/items", strings.Repeat("x", 1025)), t, 413, "Request body too large", "payload_too_large")
	// A path in a request is only data in the message, whatever it contains.
	wantFailure(p.Get("/%22%7D%0A%3Cscript%3E/%ff"), t, 404, "No endpoint", "endpoint_not_found")
}

func TestFailure_MalformedHTTPGets400AndIsClosed(t *testing.T) {
	t.Parallel()
	p := Serving(t, crossed)
	const valid = "GET /items HTTP/1.1\r\nHost: a\r\n\r\n" // never reached
	for _, c := range []struct{ name, request string }{
		{"no HTTP at all", "nonsense\r\n\r\n"},
		{"a request line without a version", "GET /items\r\nHost: a\r\n\r\n"},
		{"TLS spoken to a plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 junk\r\n\r\n"},
		{"a header without a colon", "GET /items HTTP/1.1\r\nHost: a\r\nnothing\r\n\r\n"},
		{"a blank before the colon", "GET /items HTTP/1.1\r\nHost: a\r\nX-A : b\r\n\r\n"},
		{"a length that is not a number", "POST /items HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"},
		{"a negative length", "POST /items HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"},
		{"two lengths that differ", "POST /items HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"},
		{"a chunk without a size", "POST /items HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The server must close the connection, or reading to the end would time out; a
			// request that follows on the connection is not served.
			wantFailure(closing(t, wire(p, c.request+valid)), t, 400, "Bad request", "bad_request")
		})
	}
}

func TestFailure_AHeaderBlockOver64KiBIs431(t *testing.T) {
	t.Parallel()
	p := Serving(t, declare(`{body: "{{header-params.X-Long|length}}"}`))
	long := func(n int) string {
		return "GET /r0 HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Long: " + strings.Repeat("x", n) + "\r\n\r\n"
	}
	closing(t, wire(p, long(60<<10))).Want(t, 200, fmt.Sprint(60<<10))
	wantFailure(closing(t, wire(p, long(65<<10))), t, 431, "Request header too large", "headers_too_large")
	many := "GET /r0 HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X-A: 0123456789\r\n", 5000) + "\r\n"
	wantFailure(closing(t, wire(p, many)), t, 431, "Request header too large", "headers_too_large")
	wantFailure(closing(t, wire(p, "GET /r0?"+strings.Repeat("x", 70<<10)+" HTTP/1.1\r\nHost: a\r\n\r\n")), t, 431, "Request header too large", "headers_too_large")
	p.Get("/r0", "X-Long: xyz").Want(t, 200, "3") // the server keeps serving
}

func TestFailure_ABodyOverTheLimitIs413(t *testing.T) {
	t.Parallel()
	const configuration = `- endpoint: {method: POST, path: /size, response: {body: "{{body|length}}"}}`
	small, usual := Serving(t, configuration, "--max-body", "1000"), Serving(t, configuration)
	small.Do("POST", "/size", strings.Repeat("x", 1000)).Want(t, 200, "1000")
	wantFailure(small.Do("POST", "/size", strings.Repeat("x", 1001)), t, 413, "Request body too large", "payload_too_large")
	chunked := func(n int) string {
		return "POST /size HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" +
			fmt.Sprintf("%x\r\n%s\r\n", n, strings.Repeat("x", n)) + "0\r\n\r\n"
	}
	closing(t, wire(small, chunked(1000))).Want(t, 200, "1000")
	wantFailure(closing(t, wire(small, chunked(1001))), t, 413, "Request body too large", "payload_too_large")
	announced := func(n int) string {
		return fmt.Sprintf("POST /size HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", n)
	}
	// The body is refused because of its announced length: waiting for it would be pointless.
	m := wantFailure(closing(t, wire(usual, announced(16<<20+1))), t, 413, "Request body too large", "payload_too_large")
	if !strings.Contains(m, "16 MiB") {
		t.Errorf("the limit is not named: %q", m)
	}
	usual.Do("POST", "/size", strings.Repeat("x", 16<<20)).Want(t, 200, fmt.Sprint(16<<20))
}

// drip sends a byte of an endless header at intervals, and returns what the server had sent when
// it closed the connection.
func drip(p *Process, c net.Conn, begin string) string {
	p.T.Helper()
	if _, err := io.WriteString(c, begin); err != nil {
		p.T.Error(err)
	}
	closed := make(chan struct{})
	go func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-closed:
				return
			case <-tick.C:
				_, _ = io.WriteString(c, "x") // fails once the server has closed the connection
			}
		}
	}()
	defer close(closed)
	b, err := io.ReadAll(c)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		p.T.Errorf("the server does not close a connection with slow headers")
	}
	return string(b)
}

// TestConnection_HeadersThatKeepComingAreClosedSilently tests the same without waiting.
func TestFailure_SlowHeadersAreClosed(t *testing.T) {
	volume.Only(t)
	t.Parallel()
	p := Serving(t, declare(`{body: text}`))
	const request = "GET /r0 HTTP/1.1\r\nHost: a\r\n"
	first, second := p.Dial(), p.Dial()
	closed := make(chan string, 1)
	go func() { closed <- drip(p, first, request+"X-Slow: ") }()
	got := drip(p, second, request+"\r\n"+request+"X-Slow: ")
	if strings.Count(got, "HTTP/1.1 200 OK") != 1 || !strings.HasSuffix(got, "text") {
		t.Errorf("a second request that never ends: got %q, want one answer", got)
	}
	if got := <-closed; got != "" {
		t.Errorf("a first request that never ends: got %q, want nothing", got)
	}
}

func TestResponse_ToHeadersInTwoPieces(t *testing.T) {
	t.Parallel()
	p := Serving(t, declare(`{body: text}`))
	c := p.Dial()
	if _, err := io.WriteString(c, "GET /r0 HTTP/1.1\r\nHost: a\r\n"); err != nil {
		t.Fatal(err)
	}
	p.Get("/r0").Want(t, 200, "text") // the other half is sent later
	if _, err := io.WriteString(c, "Connection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	closing(t, string(b)).Want(t, 200, "text")
}

func TestFailure_OwnServerErrorsAreLoggedOnceAMinuteAndDeclaredOnesNever(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- endpoint: {path: /one, response: {external-body: {provider: json, path: "http://127.0.0.1:1/one"}}}
- endpoint: {path: /two, response: {external-body: {provider: json, path: "http://127.0.0.1:1/two"}}}
- endpoint: {path: /declared, response: {status: 503, body: declared}}
- endpoint: {path: "/file/:name", response: {external-body: {provider: json, path: "no/{{path-params.name}}.json"}}}
`)
	for range 4 {
		wantFailure(p.Get("/one"), t, 502, "Remote body unavailable", "upstream_failed")
		wantFailure(p.Get("/two"), t, 502, "Remote body unavailable", "upstream_failed")
		p.Get("/declared").Want(t, 503, "declared")
		wantFailure(p.Get("/file/x"), t, 404, "No such body", "body_not_found")
	}
	p.WaitLine(0, "server error", "upstream_failed", "127.0.0.1:1/one")
	p.Signal(syscall.SIGTERM) // the output is complete once the process has exited
	p.Exit()
	count := 0
	for _, line := range p.Output() {
		if strings.Contains(line, "server error") {
			count++
		}
		listed := !strings.Contains(line, "first routes") && strings.Contains(line, "/declared")
		if listed || strings.Contains(line, "status=503") || strings.Contains(line, "body_not_found") {
			t.Errorf("a declared failure or a client's failure is logged: %q", line)
		}
	}
	if count < 1 || count > 2 {
		t.Errorf("got %d lines of server errors, want one of each kind", count)
	}
}
