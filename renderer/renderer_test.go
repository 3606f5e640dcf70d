package renderer_test

import (
	"fmt"
	"strings"
	"testing"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

// call is a request of the tests, as a client would send it.
type call struct {
	method, uri, body string
	headers           map[string]string
}

// sample is the request that most tables use. Its path is matched against
// /users/:id/:name.
var sample = call{
	method: "POST",
	uri:    `/users/42/J%C3%BCrgen%20%22X%22?page=7&q=a%26b&tag=one&tag=two&empty=&zero=0&no=false&pad=007`,
	headers: map[string]string{
		"Content-Type": "application/json", "X-Request-Id": "r-1", "Cookie": "session=abc; theme=dark",
	},
	body: `{"text":"a\"b","n":1.50,"big":12345678901234567890,"yes":true,"no":false,"nil":null,"empty":"",` +
		`"zone":"Asia/Tokyo","list":[1,"two",{"k":"v"}],"none":[],"obj":{"a":{"b":{"c":"deep"}},"length":5},"html":"<b>&'\""}`,
}

// with runs f with the request, matched against path, in the form that the stages use.
func with(tb testing.TB, c call, path string, f func(*matcher.Request)) {
	tb.Helper()
	header := []byte("Host: api.example.com:8000\r\n")
	for name, value := range c.headers {
		header = fmt.Appendf(header, "%s: %s\r\n", name, value)
	}
	r := matcher.Acquire(matcher.Input{
		Method: []byte(c.method), Target: []byte(c.uri), Host: []byte("api.example.com:8000"), Header: append(header, "\r\n"...), Body: []byte(c.body),
	})
	defer matcher.Release(r)
	pattern, problems := matcher.ParsePattern(syntax.Text{Value: path})
	if err := problems.Err(); err != nil {
		tb.Fatal(err)
	}
	endpoint := item.Endpoint{Method: c.method, Path: syntax.Text{Value: path}}
	table, _ := matcher.Compile([]matcher.Route{{Endpoint: &endpoint, Pattern: pattern}})
	if i := table.Match(r, c.method); i != 0 {
		tb.Fatalf("%s %s does not match %s", c.method, c.uri, path)
	}
	f(r)
}

const samplePath = "/users/:id/:name"

func scope() *renderer.Scope {
	return &renderer.Scope{
		Params:   []string{"id", "name"},
		Counters: &renderer.Counters{},
		Env: func(name string) (string, bool) {
			return "from \"env\"", name == "REGION"
		},
	}
}

// render compiles and renders text for the sample request.
func render(tb testing.TB, text string, form renderer.Form) string {
	tb.Helper()
	t, problems := renderer.Compile(syntax.Text{Value: text}, form, scope())
	if err := problems.Err(); err != nil {
		tb.Fatalf("compile %s: %v", text, err)
	}
	var out string
	with(tb, sample, samplePath, func(r *matcher.Request) { out = string(t.Append(nil, r)) })
	return out
}

func TestTemplate_PlainText(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a text without placeholders is itself", "hello", "hello"},
		{"an empty text is empty", "", ""},
		{"a path parameter, decoded", "{{path-params.id}} {{ path-params.name }}", `42 Jürgen "X"`},
		{"blanks around the expression are optional", "{{path-params.id}}{{   path-params.id   }}", "4242"},
		{"a query parameter, decoded", "{{query-params.q}}", "a&b"},
		{"the first of a repeated query key", "{{query-params.tag}}", "one"},
		{"a header, whatever its case", "{{header-params.x-REQUEST-id}}", "r-1"},
		{"a cookie", "{{cookie-params.theme}}", "dark"},
		{"a JSON text, unescaped", "{{json-params.text}}", `a"b`},
		{"a JSON number digit for digit", "{{json-params.n}} {{json-params.big}}", "1.50 12345678901234567890"},
		{"an array element by index", "{{json-params.list.1}} {{json-params.list[2].k}}", "two v"},
		{"an index past the end is missing", "[{{json-params.list.9}}]", "[]"},
		{"a deep key", "{{json-params.obj.a.b.c}}", "deep"},
		{"an object is its JSON text", "{{json-params.obj.a}}", `{"b":{"c":"deep"}}`},
		{"a key called length wins over the length", "{{json-params.obj.length}}", "5"},
		{"the length of an array", "{{json-params.list.length}}", "3"},
		{"the length of a text in characters", "{{path-params.name.length}}", "10"},
		{"a missing value is empty", "[{{query-params.nope}}{{json-params.nope.x}}{{header-params.Nope}}]", "[]"},
		{"JSON null and booleans in a plain text", "{{json-params.nil}} {{json-params.yes}}", "null true"},
		{"method and path as sent", "{{method}} {{path}}", "POST /users/42/J%C3%BCrgen%20%22X%22"},
		{"host as sent", "{{host}}", "api.example.com:8000"},
		{"parts of the host", "{{host.name}} {{host.port}} {{host.url}} {{host.name.length}}", "api.example.com 8000 http://api.example.com:8000 15"},
		{"an environment variable", "{{env.REGION}}", `from "env"`},
		{"a literal", `{{ "x\"y" }}{{ 12.50 }}{{ true }}`, `x"y12.50true`},
		{"single braces are literal", "{ {a} }} %}", "{ {a} }} %}"},
		{"raw keeps tags", "{% raw %}{{path-params.id}}{% if %}{% endraw %}!", "{{path-params.id}}{% if %}!"},
		{"braces in a quoted text do not end the tag", `{{ query-params.nope|default:"}}" }}`, "}}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := render(t, c.text, renderer.Plain); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

func TestTemplate_Filters(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"default of a missing value", `{{query-params.nope|default:"1"}}`, "1"},
		{"default of an empty value", `{{query-params.empty|default:"1"}}`, "1"},
		{"default of null", `{{json-params.nil|default:5}}`, "5"},
		{"no default for a present value", `{{query-params.page|default:"1"}}`, "7"},
		{"no default for 0 and false", `{{query-params.zero|default:"x"}}{{json-params.no|default:"x"}}`, "0false"},
		{"a default from another variable", `{{query-params.nope|default:path-params.id}}`, "42"},
		{"upper and lower", `{{path-params.name|upper}} {{path-params.name|lower}}`, `JÜRGEN "X" jürgen "x"`},
		{"trim", `[{{ " a b "|trim }}]`, "[a b]"},
		{"length of text, array and number", `{{json-params.text|length}} {{json-params.list|length}} {{json-params.n|length}}`, "3 3 4"},
		{"json of a text, a missing value, an object", `{{json-params.text|json}} {{query-params.nope|json}} {{json-params.obj.a|json}}`, `"a\"b" null {"b":{"c":"deep"}}`},
		{"urlencode", `{{query-params.q|urlencode}} {{ "a b/ü~"|urlencode }}`, "a%26b a%20b%2F%C3%BC~"},
		{"base64", `{{ "hello?>"|base64 }}`, "aGVsbG8/Pg=="},
		{"add, sub and mul of whole numbers", `{{query-params.page|add:1}} {{query-params.page|sub:10}} {{query-params.page|mul:6}}`, "8 -3 42"},
		{"decimals are exact", `{{ 0.1|add:0.2 }} {{ 19.99|mul:3 }} {{json-params.n|sub:0.5}}`, "0.3 59.97 1.00"},
		{"numbers longer than 64 bits are exact", `{{json-params.big|add:1}} {{ 9223372036854775807|add:1 }} {{ 9223372036854775807|mul:10 }}`, "12345678901234567891 9223372036854775808 92233720368547758070"},
		{"adding to what is no number is missing", `[{{json-params.text|add:1}}{{query-params.nope|add:1}}]`, "[]"},
		{"an argument from the request", `{{query-params.page|sub:1|mul:path-params.id}}`, "252"},
		{"filters from left to right", `{{query-params.nope|default:" ab "|trim|upper|length|add:40}}`, "42"},
		{"first and last of an array", `{{json-params.list|first}} {{json-params.list|last}}`, `1 {"k":"v"}`},
		{"first and last of a text", `{{ "äbc"|first }}{{ "abü"|last }}`, "äü"},
		{"first of an empty array is missing", `[{{json-params.none|first}}{{json-params.none|last}}]`, "[]"},
		{"join", `{{json-params.list|join:", "}}`, `1, two, {"k":"v"}`},
		{"join with a line break", `{{json-params.list|join:"\n"}}`, "1\ntwo\n{\"k\":\"v\"}"},
		{"words, each with the white space before it", `{{ " a b\t\tc "|words|json }} {{ "  "|words|json }} {{ ""|words|json }} {{query-params.nope|words|json}}`, `[" a"," b","\t\tc "] ["  "] [] []`},
		{"words that are joined again", `[{{ " a  b "|words|join:"" }}]`, "[ a  b ]"},
		{"split, also at empty parts", `{{ "a,,b,"|split:","|json }} {{ ""|split:","|json }} {{ "äb"|split:""|json }} {{query-params.nope|split:","|json}}`, `["a","","b",""] [""] ["ä","b"] []`},
		{"split and join", `{{ "a, b, c"|split:", "|join:"-" }}`, "a-b-c"},
		{"chunks", `{{ "äbcde"|chunks:2|json }} {{ "ab"|chunks:9|json }} {{query-params.nope|chunks:1|json}} {{ "ab"|chunks:query-params.zero|default:"none" }}`, `["äb","cd","e"] ["ab"] [] none`},
		{"lines", `{{ "a\nb\r\n\rc\n"|lines|json }} {{ ""|lines|json }} {{ "a\nb"|lines|join:"\n" }}`, "[\"a\",\"b\",\"\",\"c\"] [] a\nb"},
		{"a list stays a list", `{{json-params.list|words|length}}`, "3"},
		{"a number is a text of words", `{{json-params.n|split:"."|join:"+"}}`, "1+50"},
		{"a date in Go's layout", `{{ "2024-02-29T10:30:00Z"|date:"02.01.2006 15:04" }}`, "29.02.2024 10:30"},
		{"a date with % conversions", `{{ "2024-02-29"|date:"%d.%m.%Y 100%%" }}`, "29.02.2024 100%"},
		{"milliseconds, with whatever stands before them", `{{ "2024-02-29T10:30:05.078Z"|date:"%S,%L" }}`, "05,078"},
		{"literal digits of a % layout are not a date", `{{ "2024-02-29"|date:"1st %d 2006" }}`, "1st 29 2006"},
		{"a date as seconds", `{{ "1970-01-02T00:00:01Z"|date:"unix" }} {{ "1970-01-01T00:00:01Z"|date:"unix-ms" }}`, "86401 1000"},
		{"time moved by a duration", `{{ "2024-02-28T23:30:00Z"|add:"1h" }} {{ "2024-03-01"|sub:"1d" }}`, "2024-02-29T00:30:00.000Z 2024-02-29T00:00:00.000Z"},
		{"every form that the type date takes", `{{ "2024-02-29T12:30Z"|date:"iso" }} {{ "2024-02-29T12:30"|date:"unix" }} {{ "2024-02-29T12:30+05:45"|date:"iso" }} {{ "2024-02-29T12:30:01.1234567891-00:30"|date:"15:04:05.000000000" }}`,
			"2024-02-29T12:30:00.000Z 1709209800 2024-02-29T06:45:00.000Z 13:00:01.123456789"},
		{"no form that it does not take", `[{{ "2024-02-29T1:30:00Z"|date:"iso" }}{{ "2024-02-30"|date:"iso" }}{{ "2024-02-29T12:30:00,5Z"|date:"iso" }}{{ "2024-02-29 12:30"|date:"iso" }}]`, "[]"},
		{"a number is seconds since 1970", `{{ 1705314605|date:"iso" }} {{ "1705314605.1239"|date:"iso" }} {{ 0|date:"date" }} {{ -0.5|date:"iso" }} {{ 1.705314605e9|date:"rfc3339" }} {{ 1705314605|date:"unix" }} {{ 1705314605123|mul:0.001|date:"unix-ms" }}`,
			"2024-01-15T10:30:05.000Z 2024-01-15T10:30:05.123Z 1970-01-01 1969-12-31T23:59:59.500Z 2024-01-15T10:30:05Z 1705314605 1705314605123"},
		{"a number beyond the years of ISO 8601", `[{{ 253402300800|date:"iso" }}{{ -62167219201|date:"iso" }}{{ 1e300|date:"iso" }}{{ 99999999999999999999|date:"iso" }}{{ true|date:"iso" }}] {{ 253402300799|date:"iso" }}`, "[] 9999-12-31T23:59:59.000Z"},
		{"a zone, in summer and winter", `{{ "2024-07-01T12:00Z"|date:"%H:%M %Z":"Europe/Zurich" }} {{ "2024-01-01T12:00Z"|date:"%H:%M":"Europe/Zurich" }} {{ "2024-01-01T20:30Z"|date:"date":"Asia/Tokyo" }} {{ "2024-01-01"|date:"%H":"UTC" }}`, "14:00 CEST 13:00 2024-01-02 00"},
		{"layouts in a zone", `{{ 1705314605|date:"iso":"Asia/Kathmandu" }} {{ 1705314605|date:"rfc3339":"America/New_York" }} {{ 1705314605|date:"http":"Asia/Tokyo" }} {{ 1705314605|date:"unix":"Asia/Tokyo" }}`,
			"2024-01-15T16:15:05.000+05:45 2024-01-15T05:30:05-05:00 Mon, 15 Jan 2024 10:30:05 GMT 1705314605"},
		{"a zone of the request", `{{ "2024-01-01T12:00Z"|date:"%H":json-params.zone }} {{ "2024-01-01T12:00Z"|date:"%H":json-params.zone }} {{ "2024-01-01T12:00Z"|date:"%H":query-params.none|add:1 }} {{ "2024-01-01T12:00Z"|date:"%H":path-params.id|default:"no zone" }}`,
			"21 21 13 no zone"},
		{"a date far away", `{{ "9999-12-31"|add:"1d"|date:"2006-01-02" }} {{ "0001-01-01"|date:"2006" }}`, "10000-01-01 0001"},
		{"a time with an offset is shown in UTC", `{{ "2024-01-15T10:00:00.123+02:00"|date:"iso" }} {{ "2024-01-15T10:00:00+02:00"|date:"http" }} {{ "2024-01-15T01:00:00+02:00"|date:"%d" }}`, "2024-01-15T08:00:00.123Z Mon, 15 Jan 2024 08:00:00 GMT 14"},
		{"a layout with letters of other alphabets", `{{ "2024-01-15"|date:"%Y年%m月" }}`, "2024年01月"},
		{"a number of seconds with an exponent", `{{ "2024-01-15"|add:1e3 }}`, "2024-01-15T00:16:40.000Z"},
		{"a duration from the request that is no number", `[{{ "2024-01-15"|add:query-params.tag }}]`, "[]"},
		{"null is nothing to a text filter", `[{{json-params.nil|upper}}{{json-params.nil|base64}}]`, "[]"},
		{"numbers with a sign or leading zeros are computed with", `{{query-params.pad|add:1}} {{ "+5"|mul:2 }}`, "8 10"},
		{"the length and the truth of what json gave", `{{json-params.text|json|length}} {% if json-params.text|json %}yes{% endif %} {{ "zz"|json|length }}`, "6 yes 4"},
		{"a date of what is none is missing", `[{{ "soon"|date:"2006" }}]`, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := render(t, c.text, renderer.Plain); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

func TestTemplate_Blocks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"if", `{% if query-params.page = 7 %}yes{% endif %}`, "yes"},
		{"if that does not hold", `a{% if query-params.page = 8 %}yes{% endif %}b`, "ab"},
		{"elif and else", `{% if query-params.page = 1 %}1{% elif query-params.page = 7 %}7{% else %}x{% endif %}`, "7"},
		{"else", `{% if query-params.page = 1 %}1{% elif query-params.page = 2 %}2{% else %}x{% endif %}`, "x"},
		{"the braces spelling", `{{#if query-params.page = 1}}1{{else}}x{{/if}} {{ #if query-params.page = 7 }}7{{ /if }}`, "x 7"},
		{"the braces spelling with else if", `{{#if query-params.page = 1}}1{{else if query-params.page = 7}}7{{else}}x{{/if}}`, "7"},
		{"else if with a parenthesis or a line break", "{% if false %}1{% else if(query-params.page = 7) %}7{% endif %}{% if false %}1{% else if\nfalse %}2{% else %}x{% endif %}", "7x"},
		{"else if in the spelling of the tags", `{% if query-params.page = 1 %}1{% else if query-params.page = 7 %}7{% else %}x{% endif %}`, "7"},
		{"for", `{% for x in json-params.list %}[{{x}}]{% endfor %}`, `[1][two][{"k":"v"}]`},
		{"loop variables", `{% for x in json-params.list %}{{loop.index}}{{loop.first}}{{loop.last}}{% if not loop.last %},{% endif %}{% endfor %}`, "1truefalse,2falsefalse,3falsetrue"},
		{"for over what is no array", `[{% for x in json-params.text %}x{% endfor %}{% for x in json-params.nope %}x{% endfor %}]`, "[]"},
		{"a loop in a loop", `{% for x in json-params.list %}{% for y in json-params.list %}{{x|length}}{% if loop.last %};{% endif %}{% endfor %}{% endfor %}`, "111;333;111;"},
		{"the outer element in an inner loop", `{% for x in json-params.list %}{% for y in json-params.list %}{{x.k|default:"-"}}{% endfor %}{% endfor %}`, "------vvv"},
		{"an element's key", `{% for x in json-params.list %}{{x.k}}{% endfor %}`, "v"},
		{"the length of an element", `{% for x in json-params.list %}{{x.length}} {% endfor %}`, "1 3 1 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := render(t, c.text, renderer.Plain); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

// The cases include the rows of the table about JSON in docs/templates.md, section Escaping.
func TestTemplate_JSONKnowsWhereItStands(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"text inside a string is escaped", `{"a":"{{json-params.text}}"}`, `{"a":"a\"b"}`},
		{"text outside a string becomes a string", `{"a":{{json-params.text}}}`, `{"a":"a\"b"}`},
		{"a text that is a number stands bare", `{"a":{{query-params.page}}}`, `{"a":7}`},
		{"a text that only looks like a number is a string", `{"a":{{query-params.pad}}}`, `{"a":"007"}`},
		{"true, false and null stand bare", `[{{query-params.no}},{{ "true" }},{{ "null" }}]`, `[false,true,null]`},
		{"a number inside a string digit for digit", `{"a":"{{json-params.n}}"}`, `{"a":"1.50"}`},
		{"a number outside a string digit for digit", `{"a":{{json-params.n}},"b":{{json-params.big}}}`, `{"a":1.50,"b":12345678901234567890}`},
		{"an object outside a string as it is", `{"a":{{json-params.obj.a}}}`, `{"a":{"b":{"c":"deep"}}}`},
		{"an object inside a string escaped", `{"a":"{{json-params.obj.a}}"}`, `{"a":"{\"b\":{\"c\":\"deep\"}}"}`},
		{"null and booleans inside a string", `{"a":"{{json-params.nil}}{{json-params.yes}}"}`, `{"a":"nulltrue"}`},
		{"missing inside a string is empty", `{"a":"{{json-params.nope}}"}`, `{"a":""}`},
		{"missing outside a string is null", `{"a":{{json-params.nope}}}`, `{"a":null}`},
		{"an empty text outside a string", `{"a":{{query-params.empty}}}`, `{"a":""}`},
		{"after an escaped quote it is still inside", `{"a":"x\"{{json-params.text}}"}`, `{"a":"x\"a\"b"}`},
		{"after an escaped backslash the string can end", `{"a":"x\\","b":{{json-params.text}}}`, `{"a":"x\\","b":"a\"b"}`},
		{"the json filter inside a string", `{"a":"{{json-params.text|json}}"}`, `{"a":"\"a\\\"b\""}`},
		{"the json filter outside a string", `{"a":{{query-params.page|json}}}`, `{"a":"7"}`},
		{"the whole body", `{"a":{{json-params.list}}}`, `{"a":[1,"two",{"k":"v"}]}`},
		{"an environment variable inside and outside", `["{{env.REGION}}",{{env.REGION}}]`, `["from \"env\"","from \"env\""]`},
		{"branches inside and outside of strings", `{"a":"{% if query-params.page %}{{json-params.text}}{% else %}x{% endif %}","b":{% if query-params.page %}{{json-params.text}}{% endif %}}`, `{"a":"a\"b","b":"a\"b"}`},
		{"a loop", `[{% for x in json-params.list %}{{x}}{% if not loop.last %},{% endif %}{% endfor %}]`, `[1,"two",{"k":"v"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := render(t, c.text, renderer.JSON); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

func TestTemplate_XMLHeaderURL(t *testing.T) {
	for _, c := range []struct {
		name string
		form renderer.Form
		text string
		want string
	}{
		{"XML is escaped", renderer.XML, `<a b="{{json-params.html}}">{{json-params.html}}</a>`, `<a b="&lt;b&gt;&amp;&#39;&#34;">&lt;b&gt;&amp;&#39;&#34;</a>`},
		{"what XML cannot hold is left out", renderer.XML, "{{ \"a\x00\x1bb\tc\" }}", "ab\tc"},
		{"a header loses control characters", renderer.Header, "a-{{ \"x\r\ny\x00z\x7f\t\" }}", "a-xyz\t"},
		{"a path segment is encoded", renderer.URL, `http://h/a/{{ "b/c?d#e%" }}/f`, "http://h/a/b%2Fc%3Fd%23e%25/f"},
		{"dots cannot climb", renderer.URL, `http://h/a/{{ ".." }}/f`, "http://h/a/%2E%2E/f"},
		{"a query value is encoded", renderer.URL, `http://h/a?x={{ "b&c=d e" }}&y={{query-params.page}}`, "http://h/a?x=b%26c%3Dd%20e&y=7"},
		{"a host is encoded", renderer.URL, `http://{{ "evil/@x:1?" }}/a`, "http://evil%2F%40x:1%3F/a"},
		{"a port stands in the host", renderer.URL, `http://h:{{query-params.page}}/{{ "a/b" }}`, "http://h:7/a%2Fb"},
		{"a whole URL is let through", renderer.URL, `{{ "https://x/y?z=1" }}/{{ "a/b" }}`, "https://x/y?z=1/a%2Fb"},
		{"urlencode does not encode twice", renderer.URL, `http://h/{{ "a b"|urlencode }}`, "http://h/a%20b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := render(t, c.text, c.form); got != c.want {
				t.Errorf("%s\n got %q\nwant %q", c.text, got, c.want)
			}
		})
	}
}

func TestCompile_MistakesSayWhere(t *testing.T) {
	for _, c := range []struct {
		name, text string
		column     int // of a text that begins in column 10
		part       string
	}{
		{"an unknown variable", "ab{{ pathparams.id }}", 15, `did you mean "path-params"?`},
		{"message outside a WebSocket", "{{message}}", 12, "only in WebSocket replies"},
		{"an unknown filter", "{{ path|uper }}", 18, `did you mean "upper"?`},
		{"an unknown function", "{{ rand-int(1,2) }}", 13, `did you mean "random-int"?`},
		{"an unclosed placeholder", "abc{{ path", 13, "not closed"},
		{"an unclosed block tag", "abc{% if path", 13, "not closed"},
		{"an unclosed if", "{% if path %}x", 10, "{% endif %} is missing"},
		{"an unclosed if in braces", "{{#if path}}x", 10, "{{/if}} is missing"},
		{"an unclosed for", "{% for x in json-params %}x", 10, "{% endfor %} is missing"},
		{"an unclosed raw", "{% raw %}x", 10, "{% endraw %} is missing"},
		{"an end without a beginning", "x{% endif %}", 11, "without a block"},
		{"a for that ends as an if", "{% for x in json-params %}{% endif %}", 36, "{% endfor %} is missing"},
		{"words after else", "{% if path %}{% else path %}{% endif %}", 31, "unexpected"},
		{"words after endif", "{% if path %}{% endif path %}", 32, "unexpected"},
		{"words after raw", "{% raw x %}{% endraw %}", 17, "unexpected"},
		{"an empty step", "{{ json-params..a }}", 13, "is not a path into a value"},
		{"a bracket that is not closed", "{{ json-params.a[0 }}", 13, "is not a path into a value"},
		{"a quoted name that is not closed", `{% if json-params["a %}x{% endif %}`, 10, "not closed"},
		{"a bracket that is not closed after a quoted name", `{{ json-params["a" }}`, 13, "is not a path into a value"},
		{"a word after a bracket", `{{ json-params["a"]b }}`, 13, "is not a path into a value"},
		{"a name in brackets without quotes", `{{ json-params[a] }}`, 13, "is not a path into a value"},
		{"a segment by name", `{{ path-segments.id }}`, 13, "expected path-segments.N, counted from 0"},
		{"segments without a number", `{{ path-segments }}`, 13, `expected path-segments.NAME`},
		{"a member of a header", `{{ header-params["a"].b }}`, 13, `expected header-params.NAME or header-params["NAME"]`},
		{"quotes after a name", `{{ query-params.a["b"] }}`, 13, `expected query-params.NAME or query-params["NAME"]`},
		{"a colon in a name", "{{ json-params.dc:title }}", 27, `json-params["a:b"]`},
		{"a quoted name as the element of a loop", `{% for x["a"] in json-params %}{% endfor %}`, 17, "cannot name"},
		{"two else", "{% if path %}{% else %}{% else %}{% endif %}", 33, "inside"},
		{"an unknown block", "{% unless path %}", 10, "unknown block"},
		{"an if without a condition", "{% if %}x{% endif %}", 10, "no condition"},
		{"a for without in", "{% for x json-params %}{% endfor %}", 10, "for NAME in ARRAY"},
		{"a loop variable that hides a variable", "{% for path in json-params %}{% endfor %}", 17, "is already a variable"},
		{"loop outside a loop", "{{ loop.index }}", 13, "unknown variable"},
		{"an unknown loop variable", "{% for x in json-params %}{{ loop.idx }}{% endfor %}", 39, "loop.index"},
		{"an empty placeholder", "{{ }}", 10, "empty placeholder"},
		{"two words", "{{ path method }}", 18, "unexpected"},
		{"a text that is not closed", `{{ path|default:"x }}`, 10, "not closed"},
		{"a filter without its argument", "{{ path|default }}", 18, "needs an argument"},
		{"a filter with an argument too many", "{{ path|upper:1 }}", 23, "takes no argument"},
		{"adding a word", `{{ path|add:"x" }}`, 22, "is not a number"},
		{"chunks of nothing", `{{ path|chunks:0 }}`, 25, "is not a whole number above 0"},
		{"chunks of a part", `{{ path|chunks:1.5 }}`, 25, "is not a whole number above 0"},
		{"a layout without a date", `{{ now|date:"YYYY-MM-DD" }}`, 22, "no element of a date"},
		{"an unknown zone", `{{ now|date:"%H":"Europe/Zurch" }}`, 27, `unknown time zone "Europe/Zurch"`},
		{"a zone that is no name", `{{ now|date:"%H":"" }}`, 27, "unknown time zone"},
		{"a zone that leaves its directory", `{{ now|date:"%H":"../etc/passwd" }}`, 27, "unknown time zone"},
		{"a zone without an end", `{{ now|date:"%H": }}`, 28, "expected a variable"},
		{"an unknown conversion", `{{ now|date:"%Q" }}`, 22, "unknown conversion"},
		{"bounds the wrong way round", "{{ random-int(5, 1) }}", 13, "the lower first"},
		{"pick of nothing", "{{ pick() }}", 13, "one value or more"},
		{"an unknown kind of data", `{{ fake("emial") }}`, 13, `did you mean "email"?`},
		{"a counter without a name", "{{ counter() }}", 13, "a name in quotes"},
		{"a parameter without a name", "{{ query-params }}", 13, "missing name"},
		{"something after now", "{{ now.x }}", 13, "nothing may follow"},
		{"a broken condition", "{% if path = %}x{% endif %}", 23, "expected a variable"},
		{"a broken regular expression", `{% if path matches "(" %}x{% endif %}`, 29, "not valid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := syntax.Text{Value: c.text, Pos: syntax.Pos{File: "m.yml", Line: 3, Column: 10}, Key: "k"}
			compiled, problems := renderer.Compile(text, renderer.Plain, scope())
			errs := problems.Errors()
			if compiled != nil || len(errs) == 0 {
				t.Fatalf("%s: no error found", c.text)
			}
			got := errs[0]
			if got.Pos.File != "m.yml" || got.Pos.Line != 3 || got.Pos.Column != c.column || got.Key != "k" {
				t.Errorf("%s: at %v %s, want column %d (%s)", c.text, got.Pos, got.Key, c.column, got.What)
			}
			all := problems.Error()
			if !strings.Contains(all, c.part) {
				t.Errorf("%s: %q does not contain %q", c.text, all, c.part)
			}
		})
	}
}

// Errors about words and tags from other tools say what to write instead.
func TestCompile_WordsOfOtherTools(t *testing.T) {
	for text, part := range map[string]string{
		"{{request.body}}":                       "(write json-params)",
		"{{request.body.user.name}}":             "(write json-params.user.name)",
		"{{ request.query.page }}":               "(write query-params.page)",
		"{{request.headers.X-Id}}":               "(write header-params.X-Id)",
		"{{request.path}}":                       "(write path)",
		"{{req.originalUrl}}":                    "(write path-and-query)",
		"{{request.pathSegments.[1]}}":           "(write path-segments.1)",
		"{{req.params.id}}":                      "(write path-params.id)",
		"{{query.page|upper}}":                   "(write query-params.page)",
		"{{id}}":                                 "(write path-params.id)",
		"{{jsonBody.a.0}}":                       "(write json-params.a.0)",
		"{{jsonPath request.body '$.a'}}":        "(write json-params.a)",
		"{{jsonPath request.body '$'}}":          "(write json-params)",
		"{{jsonPath request.body}}":              "(write json-params)",
		"{{queryParam 'page'}}":                  `did you mean "query-params"?`,
		"{{urlParam 'id'}}":                      "(write path-params.id)",
		"{{header 'X-Id'}}":                      "(write header-params.X-Id)",
		"{{body 'a.b'}}":                         "(write json-params.a.b)",
		"{{bodyRaw}}":                            "(write body)",
		"{{cookies.c}}":                          "(write cookie-params.c)",
		"{{getEnvVar 'STAGE'}}":                  "(write env.STAGE)",
		"{{faker 'internet.email'}}":             `(write fake("email"))`,
		"{{faker.person.firstName()}}":           `(write fake("firstname"))`,
		"{{$randomUUID}} ":                       "(write uuid)",
		"{{$timestamp}}":                         `(write now|date:"unix")`,
		"{{randomInt(1, 6)}}":                    "write random-int(1, 100)",
		"{{now()}}":                              "(write now without parentheses: it is a variable)",
		"{{now 'yyyy-MM-dd'}}":                   `(write now|date:"%Y-%m-%d")`,
		"{{now format='yyyy-MM-dd'}}":            `(write now|date:"%Y-%m-%d")`,
		"{{random(1, 6)}}":                       "(write random, or random-int(1, 100))",
		"{{upper(path)}}":                        "(write VALUE|upper: it is a filter)",
		"{{{query-params.x}}}":                   "three braces are not a placeholder; write {{query-params.x}}",
		`{"a":{{{ path }}}}`:                     "write {{path}}",
		"{{%if path %}x{% endif %}":              "write a blank between { and {%",
		"{%- if path -%}x{%- endif -%}":          "{%- if path -%}: signs that trim blanks are not supported; write {% … %}",
		"{{- path -}}":                           "write {{ … }}",
		"{{~path~}}":                             "write {{ … }}",
		"{% if path -%}x{% endif %}":             "write {% … %}",
		"{{! a comment }}":                       "comments are not supported",
		"{{!-- a comment --}}":                   "comments are not supported",
		"{{#each json-params}}{{this}}{{/each}}": "write {% for x in ARRAY %} … {% endfor %}",
		"{{#unless path}}x{{/unless}}":           "write {% if not (CONDITION) %}",
		"{{#with path}}x{{/with}}":               "{{#with}} is not known",
		"{{> header}}":                           "write an external-body",
		"{{&path}}":                              "write {{path}}",
	} {
		compiled, problems := renderer.Compile(syntax.Text{Value: text}, renderer.Plain, scope())
		if compiled != nil || !strings.Contains(problems.Error(), part) {
			t.Errorf("%s: got %v, want %q", text, problems, part)
		}
	}
	for _, text := range []string{"{{-1}} {{ -1|add:1 }}", "{{ path|default:-1}}", "{% if path = a- %}x{% endif %}"} {
		render(t, text, renderer.Plain)
	}
}

// A tag with signs that remove blanks causes only an error about these signs: it still opens or
// closes its block.
func TestCompile_SignsThatCutBlanksAreOneMistakeEach(t *testing.T) {
	_, problems := renderer.Compile(syntax.Text{Value: "{%- for x in json-params -%}{{- x -}}{%- endfor -%}"}, renderer.Plain, scope())
	if len(problems) != 3 {
		t.Errorf("got %v, want three errors", problems)
	}
}

func TestCompile_JSONMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, part string }{
		{"a quote opened in one branch only", `{"a":{% if path %}"x{% else %}y{% endif %}"}`, "inside a JSON string"},
		{"a quote opened in a branch without else", `{"a":{% if path %}"x{% endif %}"}`, "inside a JSON string"},
		{"a quote opened by a turn of a loop", `{"a":{% for x in json-params %}"{% endfor %}}`, "loop ends inside a JSON string"},
		{"a placeholder after a backslash", `{"a":"\{{path}}"}`, "backslash"},
		{"a placeholder in a unicode escape", `{"a":"\u00{{path}}"}`, "backslash"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := renderer.Compile(syntax.Text{Value: c.text}, renderer.JSON, scope())
			err := problems.Err()
			if err == nil || !strings.Contains(err.Error(), c.part) {
				t.Errorf("%s: got %v, want %q", c.text, err, c.part)
			}
		})
	}
}

func TestTemplate_URLAfterBlocks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an optional query", `http://h/x{% if query-params.page %}?q={{query-params.q}}{% endif %}`, "http://h/x?q=a%26b"},
		{"an optional path", `http://h{% if query-params.page %}/{{query-params.q}}{% endif %}`, "http://h/a%26b"},
		{"a query from a loop", `http://h/x{% for i in json-params.list %}{% if loop.first %}?{% else %}&{% endif %}id={{i}}{% endfor %}`, "http://h/x?id=1&id=two&id=%7B%22k%22%3A%22v%22%7D"},
		{"a path from a loop", `http://h{% for i in json-params.list %}/{{i}}{% endfor %}`, "http://h/1/two/%7B%22k%22%3A%22v%22%7D"},
		{"a whole URL or a default", `{% if query-params.page %}{{ "http://cb/x?y" }}{% else %}http://default/cb{% endif %}`, "http://cb/x?y"},
		{"a part that is not known is encoded as any of them needs", `http://h{% if query-params.nope %}{% else %}/v2/{% endif %}{{ "../a?b:c" }}`, "http://h/v2/..%2Fa%3Fb%3Ac"},
		{"dots behind an unknown part", `http://h/{% if query-params.nope %}a?b={% endif %}{{ ".." }}`, "http://h/%2E%2E"},
		{"what follows is settled by a literal", `http://h{% if query-params.page %}/a{% endif %}/b/{{query-params.q}}`, "http://h/a/b/a%26b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := render(t, c.text, renderer.URL); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

func TestCompile_Warnings(t *testing.T) {
	for _, c := range []struct {
		name, text string
		form       renderer.Form
		part       string
	}{
		{"a path parameter that is not declared", "{{path-params.idd}}", renderer.Plain, `did you mean "id"?`},
		{"an environment variable that is not set", "{{env.NOPE}}", renderer.Plain, "NOPE is not set"},
		{"a comma too many", `{"a":{{path}},}`, renderer.JSON, "not valid JSON"},
		{"a comment of other languages", "a {# {{path}} #} b {% raw %}{# c #}{% endraw %}", renderer.Plain, "{# … #} is not a comment"},
		{"two values beside each other", `{"a":{{path}}{{path}}}`, renderer.JSON, "not valid JSON"},
		{"a placeholder as a key", `{ {{path}}:1}`, renderer.JSON, "not valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			compiled, problems := renderer.Compile(syntax.Text{Value: c.text}, c.form, scope())
			if compiled == nil || len(problems.Warnings()) != 1 {
				t.Fatalf("%s: got %v, want one warning", c.text, problems)
			}
			if got := problems.Warnings()[0].What; !strings.Contains(got, c.part) {
				t.Errorf("%s: %q does not contain %q", c.text, got, c.part)
			}
		})
	}
}

func TestCompile_AVariableThatIsNotSetMayHaveADefault(t *testing.T) {
	for _, text := range []string{`{{env.NOPE|default:"x"}}`, `{{ env.NOPE | default:path|upper }}`,
		`{{env.NOPE|upper|default:"x"}}`, `{{path|default:env.NOPE|trim|default:"x"}}`, `{{pick(env.NOPE|lower|default:"x")}}`, `{% if env.NOPE|default:"" %}{% endif %}`} {
		if compiled, problems := renderer.Compile(syntax.Text{Value: text}, renderer.Plain, scope()); compiled == nil || len(problems) != 0 {
			t.Errorf("%s: got %v, want no warning", text, problems)
		}
	}
	for _, text := range []string{`{{env.NOPE|upper}}`, `{{pick(env.NOPE|upper, path|default:"x")}}`, `{{env.NOPE}}|default`, `{{path|default:env.NOPE}}`} {
		if _, problems := renderer.Compile(syntax.Text{Value: text}, renderer.Plain, scope()); len(problems.Warnings()) != 1 {
			t.Errorf("%s: got %v, want a warning", text, problems)
		}
	}
}

func TestCompile_AllMistakesAtOnce(t *testing.T) {
	_, problems := renderer.Compile(syntax.Text{Value: "{{a}} {{path|b}} {% c %}"}, renderer.Plain, scope())
	if got := len(problems.Errors()); got != 3 {
		t.Errorf("got %d errors, want 3: %v", got, problems)
	}
}

// A text may contain millions of errors, each of which needs a lookup of its position: a hundred of
// them are enough for the reader.
func TestCompile_MistakesOfOneTextAreBounded(t *testing.T) {
	for _, c := range []struct {
		name, text string
		warnings   bool
	}{
		{"placeholders, and a warning behind", strings.Repeat("{{nope}}", 5000) + "{{path-params.nope}}", false},
		{"blocks", strings.Repeat("{% nope %}", 5000), false},
		{"ends of blocks", strings.Repeat("{% endif %}", 5000), false},
		{"branches", "{% if 1 %}" + strings.Repeat("{% elif %}", 5000), false},
		{"loops", strings.Repeat("{% for x of y %}{% endfor %}", 5000), false},
		{"warnings", strings.Repeat("{{path-params.nope}}", 5000), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			compiled, problems := renderer.Compile(syntax.Text{Value: c.text, Key: "k"}, renderer.Plain, scope())
			if (compiled != nil) != c.warnings || len(problems) != 101 || len(problems.Warnings()) != map[bool]int{true: 101}[c.warnings] {
				t.Fatalf("got %d problems, %d of them warnings; compiled: %v", len(problems), len(problems.Warnings()), compiled != nil)
			}
			for i, p := range problems {
				if p.Rest != (i == 100) || p.Key != "k" || strings.Contains(p.What, "more than 100") != p.Rest {
					t.Errorf("problem %d: %+v", i, p)
				}
			}
		})
	}
	_, problems := renderer.Compile(syntax.Text{Value: strings.Repeat("{{nope}}", 100)}, renderer.Plain, scope())
	if len(problems) != 100 || problems[99].Rest {
		t.Errorf("a hundred errors: got %d problems, the last %v", len(problems), problems[99])
	}
}

func TestTemplate_Static(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "abc": true, "{% raw %}{{x}}{% endraw %}": true, `a{{ "b" }}c`: true,
		"{{path}}": false, "{{uuid}}": false, "{{env.REGION}}": true,
	} {
		compiled, _ := renderer.Compile(syntax.Text{Value: text}, renderer.Plain, scope())
		if _, ok := compiled.Static(); ok != want {
			t.Errorf("%q: static is %v, want %v", text, ok, want)
		}
	}
}

func TestFormOf(t *testing.T) {
	for contentType, want := range map[string]renderer.Form{
		"application/json": renderer.JSON, "Application/JSON; charset=utf-8": renderer.JSON,
		"application/problem+json": renderer.JSON, "text/json": renderer.JSON, "application/x-ndjson": renderer.JSON,
		"text/html; charset=utf-8": renderer.XML, "application/xml": renderer.XML, "image/svg+xml": renderer.XML,
		"text/plain": renderer.Plain, "": renderer.Plain, "text/csv": renderer.Plain, "application/json;;": renderer.JSON,
	} {
		if got := renderer.FormOf(contentType); got != want {
			t.Errorf("%q: got %v, want %v", contentType, got, want)
		}
	}
}

// A text without a given form has the form that its beginning indicates; each branch has its own
// form.
func TestCompile_InfersTheForm(t *testing.T) {
	const evil = "{{header-params.Evil}}" // a"<b
	for _, c := range []struct{ template, want string }{
		{`{"a":"` + evil + `"}`, `{"a":"a\"<b"}`},
		{" \n[" + evil + "]", " \n" + `["a\"<b"]`},
		{"<p>" + evil, "<p>a&#34;&lt;b"},
		{evil, `a"<b`},
		{"x[" + evil, `x[a"<b`},
		{"{% if query-params.none %}x{% else %}{ " + evil + " }{% endif %}", `{ "a\"<b" }`},
		{"{% if query-params.page %}x" + evil + "{% else %}{}{% endif %}", `xa"<b`},
		{"{% if query-params.page %}<b>" + evil + "{% elif true %}[]{% else %}x{% endif %}", `<b>a&#34;&lt;b`},
		{"{% if query-params.none %}{}{% endif %}{% if query-params.page %}[" + evil + "]{% endif %}", `["a\"<b"]`},
		{"{% for n in json-params.list %} {% endfor %}[" + evil + "]", `   ["a\"<b"]`},
		{"{% raw %}{{% endraw %}" + evil + "}", `{"a\"<b"}`},
		{`"` + evil + `"`, `"a\"<b"`},
		{"{{query-params.none}}[" + evil + "]", `["a\"<b"]`},
		{"{{query-params.none}}" + evil, `a"<b`},
		{"{% if query-params.none %}x {% endif %}[" + evil + "]", `["a\"<b"]`},
		{"{% if query-params.none %}x {% else %} {% endif %}<b>" + evil, ` <b>a&#34;&lt;b`},
		{"{% for n in json-params.none %}x {% endfor %}[" + evil + "]", `["a\"<b"]`},
		{"{% if query-params.page %}x {% endif %}y[" + evil, `x y[a"<b`},
	} {
		tpl, problems := renderer.Compile(syntax.Text{Value: c.template}, renderer.Inferred, scope())
		if problems.Err() != nil {
			t.Fatalf("%s: %v", c.template, problems)
		}
		request := sample
		request.headers = map[string]string{"Evil": `a"<b`, "Content-Type": "application/json"}
		with(t, request, samplePath, func(r *matcher.Request) {
			if got := string(tpl.Append(nil, r)); got != c.want {
				t.Errorf("%s: got %s, want %s", c.template, got, c.want)
			}
		})
	}
}
