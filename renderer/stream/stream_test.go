package stream_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/matcher"
	"mockserver/renderer"
	"mockserver/renderer/stream"
)

// compile compiles the items of a stream, which are written as YAML.
func compile(tb testing.TB, items string) *stream.Items {
	tb.Helper()
	yaml := "- endpoint:\n    path: /s\n    response:\n      pace: {gap: 1ms}\n      stream:\n" + indent(items)
	spec := config.Parse("s.yml", []byte(yaml))
	if err := spec.Problems.Err(); err != nil {
		tb.Fatalf("%s\n%v", yaml, err)
	}
	compiled, problems := stream.Compile(spec.Endpoints[0].Response.Items, false, renderer.Inferred, &renderer.Scope{Counters: &renderer.Counters{}})
	if err := problems.Err(); err != nil {
		tb.Fatalf("%s\n%v", yaml, err)
	}
	return compiled
}

func indent(items string) string {
	return "        " + strings.ReplaceAll(strings.TrimSpace(items), "\n", "\n        ") + "\n"
}

// request returns a request with a JSON body.
func request(tb testing.TB, body string) *matcher.Request {
	r := matcher.Acquire(matcher.Input{Method: []byte("POST"), Target: []byte("/s?q=1"), Body: []byte(body)})
	tb.Cleanup(func() { matcher.Release(r) })
	return r
}

// sent returns what each item sends for a request with a JSON body, up to a number of items.
func sent(tb testing.TB, items, body string, most int) (all []string) {
	tb.Helper()
	return send(tb, compile(tb, items), body, most)
}

func send(tb testing.TB, items *stream.Items, body string, most int) (all []string) {
	tb.Helper()
	r := request(tb, body)
	var c stream.Cursor
	items.Begin(&c)
	for len(all) < most {
		if _, ok := c.Next(r); !ok {
			break
		}
		if c.Index() != len(all) {
			tb.Errorf("item %d has the index %d", len(all), c.Index())
		}
		all = append(all, string(c.Append(nil, r)))
	}
	if r.Stopped != nil {
		tb.Errorf("stopped: %v", r.Stopped)
	}
	return all
}

const manyItems = 100

// What docs/streams.md says about loops, groups and conditions.
func TestCursor_Expands(t *testing.T) {
	for _, c := range []struct{ name, items, body, want string }{
		{"in order", "- body: a\n- body: b", ``, "a|b"},
		{"times", "- {body: '{{loop.index}}{{loop.first}}{{loop.last}}', times: 3}", ``, "1truefalse|2falsefalse|3falsetrue"},
		{"times of the request", "- {body: x, times: json-params.n}\n- body: y", `{"n":2}`, "x|x|y"},
		{"times in braces", "- {body: x, times: '{{json-params.n}}'}", `{"n":"2"}`, "x|x"},
		{"no times", "- {body: x, times: json-params.n}\n- body: y", `{}`, "y"},
		{"negative times", "- {body: x, times: json-params.n}\n- body: y", `{"n":-1}`, "y"},
		{"times that are no whole number", "- {body: x, times: json-params.n}\n- body: y", `{"n":1.5}`, "y"},
		{"times with a filter", "- {body: x, times: 'json-params.list|length'}", `{"list":[1,2]}`, "x|x"},
		{"an element each", "- {body: '{{x.k}}{{loop.index}}', for: x in json-params.list}", `{"list":[{"k":"a"},{"k":"b"}]}`, "a1|b2"},
		{"of what is no list", "- {body: x, for: x in json-params.n}\n- body: y", `{"n":5}`, "y"},
		{"of a missing list", "- {body: x, for: x in json-params.none}\n- body: y", `{}`, "y"},
		{"for in braces", "- {body: '{{x}}', for: 'x in {{json-params.list}}'}", `{"list":[1,2]}`, "1|2"},
		{"words", "- {body: '{{w}}', for: w in json-params.p|words}", `{"p":"a b  c "}`, "a| b|  c "},
		{"a filter with a comma", `- {body: '{{w}}', for: 'w in json-params.p|split:","'}`, `{"p":"a,,b"}`, "a||b"},
		{"a condition", "- {body: a, if: json-params.n > 1}\n- {body: b, if: json-params.n > 2}", `{"n":2}`, "a"},
		{"a condition of each element", "- {body: '{{x}}', for: x in json-params.list, if: x > 1 and not loop.last}", `{"list":[1,2,3]}`, "2"},
		{"a condition with the index", "- {body: '{{stream.index}}', times: 3, if: loop.index != 2}\n- body: '{{stream.index}}'", ``, "0|1|2"},
		{"a group", "- times: 2\n  items:\n    - body: a{{loop.index}}\n    - body: b", ``, "a1|b|a2|b"},
		{"a group with a condition", "- if: json-params.n = 1\n  items:\n    - body: a\n- body: b", `{}`, "b"},
		{"groups in groups, with outer names", "- for: x in json-params.list\n  items:\n    - for: y in x\n      items:\n        - {body: '{{x.0}}{{y}}{{loop.index}}', times: 2}", `{"list":[["a","b"],["c"]]}`, "aa1|aa2|ab1|ab2|cc1|cc2"},
		{"a group without an end that is left out", "- {if: json-params.n = 1, items: [{body: a, times: forever}]}\n- body: b", `{}`, "b"},
		{"a group without an end for each of no element", "- {for: x in json-params.n, items: [{body: a, times: forever}]}\n- body: b", `{}`, "b"},
		{"an empty group between", "- times: 0\n  items:\n    - body: a\n- body: b", ``, "b"},
		{"loops within a text", "- {body: '{% for y in x %}{{y}}{{loop.index}}{{x.0}},{% endfor %}{{loop.index}}', for: x in json-params.list}", `{"list":[["a","b"],["c"]]}`, "a1a,b2a,1|c1c,2"},
		{"texts with escapes", `- {body: '{{x}}', for: x in json-params.list}`, `{"list":["a\nb","\u00e9"]}`, "a\nb|é"},
		{"without an end", "- {body: '{{loop.index}}{{loop.last}}', times: forever, if: loop.index < 4, after: 1ms}", ``, "1false|2false|3false"},
	} {
		most := manyItems
		if strings.Contains(c.items, "forever") {
			most = 3
		}
		if got := strings.Join(sent(t, c.items, c.body, most), "|"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// How the items of docs/streams.md are framed.
func TestCursor_Frames(t *testing.T) {
	for _, c := range []struct{ name, items, body, want string }{
		{"an event, its fields in order", "- {data: hi, retry: 3s, id: 7, event: start}", ``, "event: start\nid: 7\nretry: 3000\ndata: hi\n\n"},
		{"JSON", "- data: {a: '{{json-params.n}}', b: '{{json-params.text}}', i: '{{stream.index}}', n: 1.50}", `{"n":1.50,"text":"a\nb"}`, `data: {"a":1.50,"b":"a\nb","i":0,"n":1.50}` + "\n\n"},
		{"JSON with line breaks", "- data: ['{{json-params.o}}']", "{\"o\":{\"a\":\r\n1}}", "data: [{\"a\":\ndata: 1}]\n\n"},
		{"JSON as a text", `- data: '{"a":"{{json-params.x}}"}'`, `{"x":"\"\n"}`, `data: {"a":"\"\n"}` + "\n\n"},
		{"lines", "- data: '{{json-params.x}}'", `{"x":"a\nb\r\nc\rd"}`, "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"no line breaks", "- data: '{{json-params.x}}'", `{"x":"a\u2028b\u0085c"}`, "data: a\u2028b\u0085c\n\n"},
		{"declared lines", "- data: \"a\\nb\\n\"", ``, "data: a\ndata: b\ndata: \n\n"},
		{"empty data", "- data: ''", ``, "data: \n\n"},
		{"only an id", "- id: ''", ``, "id: \n\n"},
		{"names without line breaks and NUL", "- {event: '{{json-params.x}}', id: '{{json-params.x}}', data: x}", `{"x":"a\r\nb\u0000c\n"}`, "event: abc\nid: abc\ndata: x\n\n"},
		{"a retry of the request", "- {retry: '{{json-params.n}}', data: x}", `{"n":5}`, "retry: 5\ndata: x\n\n"},
		{"a retry that is no number", "- {retry: '{{json-params.n}}', data: x}", `{"n":"5s"}`, "data: x\n\n"},
		{"a retry of nothing", "- {retry: '{{json-params.n}}', data: x}", `{}`, "data: x\n\n"},
		{"a comment", "- comment: '{{json-params.x}}'", `{"x":"a\nb"}`, ": a\n: b\n\n"},
		{"a comment and an event", "- {comment: c, data: x}", ``, ": c\n\ndata: x\n\n"},
		{"not UTF-8", "- data: '{{body}}'", "a\xffb", "data: a\uFFFDb\n\n"},
		{"a line", "- line: {a: '{{json-params.o}}'}", "{\"o\":{\"a\":\n1}}", "{\"a\":{\"a\": 1}}\n"},
		{"a line of text", "- line: 'x {{json-params.x}}'", `{"x":"a\nb"}`, "x a b\n"},
		{"a line of a block", "- line: |\n    {\"a\": 1}", ``, "{\"a\": 1}\n"},
		{"a JSON sequence", "- {line: [1], separator: rs}", ``, "\x1e[1]\n"},
		{"a piece", "- body: \"a\\n\"", ``, "a\n"},
		{"bytes", "- base64: AP8=", ``, "\x00\xff"},
	} {
		if got := strings.Join(sent(t, c.items, c.body, manyItems), ""); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// The events that a client dispatches are those that are declared.
func TestCursor_ClientsDispatch(t *testing.T) {
	const body = `{"prompt":"Hello wide\nworld"}`
	got, retry, comments := events(strings.Join(sent(t, `
- comment: begin
- {event: start, id: 1, retry: 10, data: {n: 0}}
- {for: word in json-params.prompt|words, data: '{{word}}'}
- {event: end, id: '', data: "[DONE]"}
`, body, manyItems), ""))
	want := []event{{"start", `{"n":0}`, "1"}, {"message", "Hello", "1"}, {"message", " wide", "1"}, {"message", "\nworld", "1"}, {"end", "[DONE]", ""}}
	if !slices.Equal(got, want) || retry != "10" || !slices.Equal(comments, []string{"begin"}) {
		t.Errorf("got %q, retry %s, comments %q", got, retry, comments)
	}
}

// A stream has at most ten million items, and what makes more is logged.
func TestCursor_IsLimited(t *testing.T) {
	for name, items := range map[string]string{
		"a loop": "- {body: x, times: json-params.n}", "a loop in a loop": "- times: 10000\n  items: [{body: x, times: 10000}]", "items after a loop": "- {body: x, times: 10000000}\n- body: y",
	} {
		r := request(t, `{"n":10000001}`)
		var c stream.Cursor
		compile(t, items).Begin(&c)
		if _, ok := c.Next(r); !ok {
			t.Errorf("%s: no item", name)
		}
		c.Skip(item.MaxStreamItems - 2)
		_, last := c.Next(r)
		if _, more := c.Next(r); !last || more || !c.Limited() || r.Stopped != nil {
			t.Errorf("%s: last %v, more %v, limited %v, stopped %v", name, last, more, c.Limited(), r.Stopped)
		}
	}
}

// Mistakes in the loops and texts of items have positions.
func TestCompile_MistakesSayWhere(t *testing.T) {
	for _, c := range []struct{ name, item, where, part string }{
		{"no in", "{data: x, for: word json-params.list}", "6:24 [0].endpoint.response.stream[0].for", "expected NAME in OPERAND, such as word in json-params.prompt|words"},
		{"the name of a variable", "{data: x, for: path in json-params.list}", "6:24 [0].endpoint.response.stream[0].for", `"path" cannot name the element of a loop`},
		{"an unknown variable", "{data: x, for: y in jsn-params.list}", "6:29 [0].endpoint.response.stream[0].for", `did you mean "json-params"?`},
		{"an unknown filter", "{data: x, times: json-params.n|lenght}", "6:40 [0].endpoint.response.stream[0].times", `did you mean "length"?`},
		{"two operands", "{data: x, times: json-params.n 2}", "6:40 [0].endpoint.response.stream[0].times", `unexpected "2"`},
		{"an unknown number of times", "{data: x, times: many}", "6:26 [0].endpoint.response.stream[0].times", `unknown variable "many"`},
		{"a name outside its loop", "{data: '{{y}}', if: 1 = 1}", "6:19 [0].endpoint.response.stream[0].data", `unknown variable "y"`},
		{"loop without a loop", "{data: '{{loop.index}}'}", "6:19 [0].endpoint.response.stream[0].data", `unknown variable "loop.index"`},
		{"another member of stream", "{data: '{{stream.length}}'}", "6:19 [0].endpoint.response.stream[0].data", `unknown variable "stream.length"`},
		{"a condition", "{data: x, if: 'y ='}", "6:24 [0].endpoint.response.stream[0].if", "expected"},
	} {
		spec := config.Parse("s.yml", []byte("- endpoint:\n    path: /s\n    response:\n\n      stream:\n      - "+c.item+"\n"))
		_, problems := stream.Compile(spec.Endpoints[0].Response.Items, false, renderer.Inferred, &renderer.Scope{})
		if len(problems) == 0 {
			t.Errorf("%s: no problem", c.name)
			continue
		}
		p := problems[0]
		if where := fmt.Sprintf("%d:%d %s", p.Pos.Line, p.Pos.Column, p.Key); where != c.where || !strings.Contains(p.What, c.part) {
			t.Errorf("%s: %s: %s, want %s: %s", c.name, where, p.What, c.where, c.part)
		}
	}
}

// What the server asks about the items.
func TestItems_Know(t *testing.T) {
	for _, c := range []struct {
		name, items string
		count       int
	}{
		{"events", "- data: a\n- comment: b", 2},
		{"lines", "- line: a\n- {line: '{{now}}{{uuid}}{{random-int(1, 2)}}', times: 3}", 4},
		{"pieces and lines", "- line: a\n- body: b", 2},
		{"groups", "- times: 3\n  items: [{data: a, times: 2}, {data: b}]\n- data: c", 10},
		{"a condition of the request", "- {data: a, if: method = GET}", -1},
		{"times of the request", "- {data: a, times: json-params.n}", -1},
		{"a list", "- {data: a, for: 'x in \"a,b\"|split:\",\"'}", -1},
		{"without an end", "- {data: '{{loop.index}}{{stream.index}}', times: forever}", -1},
		{"a file in pieces", "- {file: file.go, split: lines, as: line}\n- {line: a, if: 1 = 1}", -2},
	} {
		items := compile(t, c.items)
		if c.count == -2 {
			c.count = items.Count
			if c.count < 10 {
				t.Errorf("%s: %d pieces", c.name, c.count)
			}
		}
		if items.Count != c.count || items.Endless != strings.Contains(c.items, "forever") {
			t.Errorf("%s: %d items; endless %v", c.name, items.Count, items.Endless)
		}
	}
}

// The pieces of a file are what it consists of.
func TestCursor_SendsFiles(t *testing.T) {
	const content = "Hé llo,\r\nwide  world\n\nend"
	name := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ keys, want string }{
		{"", content},
		{", split: lines", "Hé llo,\r\n|wide  world\n|\n|end"},
		{", split: words", "Hé| llo,|\r\nwide|  world|\n\nend"},
		{", split: 2", "H\xc3|\xa9 |ll|o,|\r\n|wi|de|  |wo|rl|d\n|\ne|nd"},
		{", split: 2B, as: data", "data: Hé\n\n|data:  l\n\n|data: lo\n\n|data: ,\ndata: \n\n|data: \ndata: w\n\n|data: id\n\n|data: e \n\n|data:  w\n\n|data: or\n\n|data: ld\n\n|data: \ndata: \ndata: \n\n|data: en\n\n|data: d\n\n"},
		{", split: lines, as: line", "Hé llo,\n|wide  world\n|\n|end\n"},
		{", split: lines, as: data, event: e", "event: e\ndata: Hé llo,\n\n|event: e\ndata: wide  world\n\n|event: e\ndata: \n\n|event: e\ndata: end\n\n"},
		{", times: 2", content + "|" + content},
		{", as: line", "Hé llo, wide  world  end\n"},
	} {
		if got := strings.Join(sent(t, "- {file: '"+name+"'"+c.keys+"}", ``, manyItems), "|"); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.keys, got, c.want)
		}
	}
}

// Without templates, texts are sent as they are.
func TestCompile_WithoutTemplates(t *testing.T) {
	spec := config.Parse("s.yml", []byte("- endpoint: {path: /s, response: {template: false, stream: [{event: '{{e}}', data: ['{{x}}'], times: 2}]}}"))
	items, problems := stream.Compile(spec.Endpoints[0].Response.Items, true, renderer.Inferred, &renderer.Scope{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	r := request(t, "")
	var c stream.Cursor
	items.Begin(&c)
	var got []byte
	for _, ok := c.Next(r); ok; _, ok = c.Next(r) {
		got = c.Append(got, r)
	}
	if want := strings.Repeat("event: {{e}}\ndata: [\"{{x}}\"]\n\n", 2); string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An item or a text that is too large, and a loop that is too long, end the stream.
func TestCursor_Stops(t *testing.T) {
	const most = 1 << 19
	for _, c := range []struct {
		name, items string
		body        int
		want        error
	}{
		{"a text", "- {data: '{{body}}'}", 2 * most, renderer.ErrTooLarge},
		{"texts that are small enough each", "- {event: '{{body}}', data: '{{body}}'}", most - 1, renderer.ErrTooLarge},
		{"a list", "- {data: x, for: y in body|split:\"\"}", most - 1, renderer.ErrTooLarge},
		{"a condition that needs a large text", "- {data: x, if: 'body|split:\"\"'}", most - 1, nil},
		{"a loop that sends nothing", "- {data: x, times: forever, if: body contains y}", 2 * most, renderer.ErrTooLong},
	} {
		r := request(t, strings.Repeat("x", c.body))
		r.MaxText = most
		var cursor stream.Cursor
		compile(t, c.items).Begin(&cursor)
		if _, ok := cursor.Next(r); ok {
			cursor.Append(nil, r)
		}
		if r.Stopped != c.want {
			t.Errorf("%s: stopped by %v, want %v", c.name, r.Stopped, c.want)
		}
	}
}

// The id of an item is what a client gets.
func TestCursor_ID(t *testing.T) {
	r := request(t, `{"x":"a\nb"}`)
	var c stream.Cursor
	compile(t, "- {data: x, id: 7}\n- {data: x, id: '{{json-params.x}}-{{loop.index}}', times: 2}\n- data: x").Begin(&c)
	var got []string
	for _, ok := c.Next(r); ok; _, ok = c.Next(r) {
		id, has := c.ID(r)
		got = append(got, fmt.Sprint(string(id), has))
	}
	if want := []string{"7true", "ab-1true", "ab-2true", "false"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
