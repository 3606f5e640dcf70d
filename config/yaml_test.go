package config

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mockserver/config/syntax"
)

func TestSyntaxErrorsOfYAML(t *testing.T) {
	testMistakes(t, "f.yml", []mistake{
		{"a key is indented less than the keys before it",
			"- endpoint:\n    path: /x\n   §response: {}\n", one("", "indentation differs")},
		{"a line is indented with a tab",
			"- endpoint:\n    path: /x\n§\tresponse: {}\n", one("", "a tab where spaces are expected: YAML is indented with spaces")},
		{"a line has a tab behind spaces",
			"- endpoint:\n    path: /x\n    response:\n    §\tstatus: 200\n", one("", "a tab where spaces are expected")},
		{"a double quote is never closed",
			"- endpoint:\n    path: §\"/x\n    response: {}\n", one("", "a quote is never closed")},
		{"a double quote that the next text in quotes closes",
			"- endpoint:\n    path: /x\n    response: {body: §\"a}\n- endpoint:\n    path: \"/y\"\n    response: {}\n", one("", "a quote is never closed on its line")},
		{"a single quote that the next text in quotes closes, behind a text of two lines",
			"- endpoint:\n    path: /x\n    response: {body: \"a: b\n      c: d\"}\n- endpoint:\n    path: §'/y\n    response: {body: 'z'}\n", one("", "a quote is never closed on its line")},
		{"a value that only begins with quotes",
			"- endpoint:\n    path: /x\n    if: §\"admin\" = header-params.role\n    response: {}\n",
			one("", `the value begins with quotes, and continues after "admin"; expected quotes around all of it, '"admin" = header-params.role'`)},
		{"quotes inside of quotes, and a mistake before them",
			"- endpoint: {path: §/x?y=1, response: {body: 'say: \"hi\" to all'}}\n", one("", "a ? ends this text")},
		{"a comma is missing behind quotes", "- endpoint: {path: §\"/x\" response: {}}\n", one("", `or a comma`)},
		{"a bracket is never closed, in the last line",
			"- endpoint:\n    path: /x\n    §response: [1, 2\n", one("", "a [ is never closed")},
		{"a plain text holds a colon and a blank",
			"- endpoint:\n    §path: a: b\n", one("", "written in quotes")},
		{"an alias without its anchor",
			"- endpoint:\n    §path: *foo\n", one("", "an alias without an anchor")},
		{"a value begins with @", "- endpoint:\n    path: §@foo\n", one("", "a value cannot begin with @; expected quotes around it, '@foo'")},
		{"a value begins with @ inside brackets", "- endpoint: {path: \"@\", response: {body: §@x}}\n", one("", "expected quotes around it, '@x'")},
		{"UTF-16 without a byte order mark", "§[\x00]\x00", one("", "as UTF-16 has; expected UTF-8")},
		{"big-endian UTF-16 without a byte order mark", "§\x00[\x00]", one("", "as UTF-16 has; expected UTF-8")},
		{"UTF-16 with a byte order mark", "§\xFF\xFE[\x00]\x00", one("", "0xFF is not UTF-8")},
		{"a ? inside brackets, where it begins a key", "- endpoint: {path: §/search?q=x, response: {}}\n", one("", "a ? ends this text")},
		{"a { inside brackets, and more endpoints behind it",
			"# é\n- endpoint: {path: /a}\n- endpoint: {path: §/users/{id}, response: {}}\n- endpoint: {path: /b, response: {}}\n",
			one("", "is written in quotes")},
		{"a ? inside inner brackets, behind comments, quotes and an anchor",
			"- endpoint:\n    path: /a?b={c}\n    response: {body: a b # {c?d}\n      # {e?f}\n      , i: 'it''s {?', j: \"\\\"g{?\", headers: &h {Location: §/tasks/7?a=b, X: y}}\n",
			one("", "a ? ends this text")},
		{"a placeholder behind a text inside brackets", "- endpoint:\n    path: /x\n    response: {body: [1, §hello {{x}}]}\n", one("", "a { ends this text")},
		{"brackets that begin on a line before", "- endpoint: {\n  path: §/search?x=1,\n  response: {}\n}\n", one("", "a ? ends this text")},
		{"a # inside brackets hides what closes them", "- endpoint:\n    path: /a?b\n    §response: {body: a #b}\n", one("", ", : ? # is not in quotes")},
		{"a list continues as a map", "- a\n§b: c\n", one("", "fits no list")},
		{"half an emoji as JSON escapes it, in a YAML text", "§\"\\ud83d\\ude00\"\n", one("", `\U0001F600`)},
		{"a control character", "- a\n- b§\x01\n", one("", "U+0001")},
		{"a byte that is no UTF-8", "- a\n- é§\xff\n", one("", "0xFF is not UTF-8")},
		{"the mistake is far behind the beginning of its list",
			largeConfig(200) + " §x: 1\n", one("", "indentation")},
		{"brackets nested too deep for the YAML library", "§" + strings.Repeat("[", 100_000), one("", "nested more than")},
	})
}

func TestValuesNestedTooDeepAreRefused(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	for _, file := range []string{"f.yml", "f.json"} {
		if got := Parse(file, []byte("["+nested(syntax.MaxDepth)+"]")).Problems.Error(); !strings.Contains(got, "nested more than 1000 deep") {
			t.Errorf("%s: %d deep: %.200s", file, syntax.MaxDepth+1, got)
		}
		if got := Parse(file, []byte("["+nested(syntax.MaxDepth-2)+"]")).Problems.Error(); strings.Contains(got, "nested") {
			t.Errorf("%s: %d deep: %.200s", file, syntax.MaxDepth-1, got)
		}
	}
	var chain strings.Builder
	chain.WriteString("- &a0 [x]\n")
	for i := 1; i < 3000; i++ {
		fmt.Fprintf(&chain, "- &a%d [*a%d]\n", i, i-1)
	}
	if got := Parse("f.yml", []byte(chain.String())).Problems.Error(); !strings.Contains(got, "nested more than 1000 deep") {
		t.Errorf("a chain of aliases: %.200s", got)
	}
}

func TestDuplicateKeysAreAllReported(t *testing.T) {
	text := `- endpoint:
    path: /a
    §path: /b
    response:
      status: 200
      headers: {X-A: 1, §X-A: 2, §"X-A": 3}
      §status: 201
`
	want := []complaint{
		{"[0].endpoint.path", `the key "path" is already given on line 2`},
		{"[0].endpoint.response.headers.X-A", "already given on line 6"},
		{"[0].endpoint.response.headers.X-A", "already given on line 6"},
		{"[0].endpoint.response.status", "already given on line 5"},
	}
	testMistakes(t, "f.yml", []mistake{{"in YAML", strings.Replace(text, `§"X-A"`, `"§X-A"`, 1), want}})
	var keys strings.Builder
	for i := range 40 {
		fmt.Fprintf(&keys, "    k%d: 1\n", i)
	}
	spec := Parse("f.yml", []byte("- endpoint:\n    path: /a\n    response:\n     body:\n"+
		strings.ReplaceAll(keys.String(), "    k", "       k")+"       k3: 1\n"))
	if got := spec.Problems.Error(); !strings.Contains(got, `f.yml:45:8: [0].endpoint.response.body.k3: the key "k3" is already given on line 8`) {
		t.Errorf("in a large map: %s", got)
	}
	json, places := marked("f.json", "[{\"endpoint\": {\"path\": \"/a\",\n \"§path\": \"/b\", \"response\": {}}}]")
	expect(t, Parse("f.json", []byte(json)).Problems, places, one("[0].endpoint.path", "already given on line 1"))
}

func TestAnchorsAliasesAndMergeKeys(t *testing.T) {
	spec := Parse("f.yml", []byte(`- endpoint:
    path: /a
    response: &r
      status: 201
      headers: &h {X-A: 1, X-B: 2}
      body: first
- endpoint: {path: /b, response: *r}
- endpoint:
    path: /c
    response:
      <<: *r
      body: own
- endpoint:
    path: /d
    response:
      headers:
        <<: [{X-B: first, X-C: 3}, *h]
        X-A: own
`))
	if len(spec.Problems) > 0 || len(spec.Endpoints) != 4 {
		t.Fatalf("%d endpoints: %v", len(spec.Endpoints), spec.Problems)
	}
	b, c, d := spec.Endpoints[1].Response, spec.Endpoints[2].Response, spec.Endpoints[3].Response
	if b.Status != 201 || b.Body.Value != "first" || len(b.Headers) != 2 {
		t.Errorf("an alias: %+v", b)
	}
	if want := "[1].endpoint.response.body"; b.Body.Key != want || b.Body.Pos.Line != 6 {
		t.Errorf("a text under an alias has key %q on line %d, want %q on line 6", b.Body.Key, b.Body.Pos.Line, want)
	}
	if c.Status != 201 || c.Body.Value != "own" {
		t.Errorf("an explicit key does not win over a merged one: %+v", c)
	}
	got := ""
	for _, h := range d.Headers {
		got += h.Name + "=" + h.Value.Value + " "
	}
	if want := "X-B=first X-C=3 X-A=own "; got != want {
		t.Errorf("merged from a list: %s, want %s", got, want)
	}
}

func TestAnAnchorInAValueMayBeTheNextKey(t *testing.T) {
	e := only(t, "f.yml", "- endpoint:\n    path: /x\n    response:\n      headers:\n        X-A: &x X-B\n        *x : bar\n        <<: {X-B: merged, X-C: 3}\n")
	got := ""
	for _, h := range e.Response.Headers {
		got += h.Name + "=" + h.Value.Value + " "
	}
	if want := "X-A=X-B X-B=bar X-C=3 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMistakesWithAnchors(t *testing.T) {
	testMistakes(t, "f.yml", []mistake{
		{"a merge key over a text", "- endpoint:\n    <<: §text\n    path: /x\n    response: {}\n",
			one("[0].endpoint.<<", `a map, or a list of maps; this is a text ("text")`)},
		{"two merge keys in a map", "- endpoint:\n    <<: {path: /x}\n    §<<: {response: {}}\n",
			one("[0].endpoint", "<< occurs twice")},
		{"a list as a key", "- endpoint:\n    §[a]: 1\n    path: /x\n    response: {}\n", one("[0].endpoint", "a key is a list")},
		{"an anchor with nothing behind it but a comma", "- endpoint: {host: &a§, path: /x, response: {}}\n",
			one("[0].endpoint.host", "is null")},
		{"an unknown tag", "- endpoint:\n    path: §!secret /x\n    response: {}\n", one("[0].endpoint.path", "the tag !secret is not known")},
	})
	text, places := marked("f.yml", "- &a [§*a]\n")
	got := Parse("f.yml", []byte(text)).Problems
	expect(t, got[:1], places, one("[0][0]", "*a refers to a value that contains it"))
}

func TestAliasBombIsRefusedWithLittleMemory(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("- &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&bomb, "- &a%d [%s*a%d]\n", i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 8), i-1)
	}
	large := "- &t " + strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("- *t\n", 1000)
	for name, text := range map[string]string{"nodes": bomb.String(), "a large text": large} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		spec := Parse("f.yml", []byte(text))
		runtime.ReadMemStats(&after)
		if len(spec.Problems) != 1 || !strings.Contains(spec.Problems.Error(), "the aliases of this file expand to more than 64 MiB") {
			t.Errorf("%s: %.300s", name, spec.Problems.Error())
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 32<<20 {
			t.Errorf("%s: %d MiB allocated", name, spent>>20)
		}
	}
}

func TestSeveralDocumentsAreJoined(t *testing.T) {
	text, places := marked("f.yml", "---\n- endpoint: {path: /a, response: {}}\n---\n# nothing\n---\n"+
		"- endpoint: {path: /b, response: {}}\n- endpoint: {path: §5, response: {}}\n---\n§a: b\n")
	spec := Parse("f.yml", []byte(text))
	expect(t, spec.Problems, places, []complaint{{"[2].endpoint.path", "expected a text"}, {"", "the document is a map"}})
	if len(spec.Endpoints) != 2 || spec.Endpoints[1].Key != "[1].endpoint" {
		t.Errorf("%d endpoints, %+v", len(spec.Endpoints), spec.Endpoints)
	}
}

func TestEncodings(t *testing.T) {
	const text = "- endpoint:\r\n    path: /é\r\n    response: {status: §1}\r\n"
	clean, places := marked("f.yml", text)
	for name, data := range map[string][]byte{
		"UTF-8": []byte(clean), "UTF-8 with a byte order mark": []byte("\uFEFF" + clean),
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, Parse("f.yml", data).Problems, places, one("[0].endpoint.response.status", "from 200 to 599"))
		})
	}
}

func TestColumnsCountBytesAfterLettersBeyondASCII(t *testing.T) {
	testMistakes(t, "f.yml", []mistake{{"two on a line",
		"- {endpoint: {path: /é, summary: §[é], host: §[ü], response: {}}}\n",
		[]complaint{{"[0].endpoint.summary", "is a list"}, {"[0].endpoint.host", "is a list"}}}})
}

func TestNumbersAsJSON(t *testing.T) {
	for _, c := range []struct{ literal, want string }{
		{"1.0", "1.0"}, {"12345678901234567890123", "12345678901234567890123"}, {"1e400", "1e400"}, {"-0", "-0"},
		{"1E+2", "1E+2"}, {"0x1F", "31"}, {"-0x1F", "-31"}, {"0o17", "15"}, {"0b101", "5"}, {"1_000", "1000"},
		{".5", "0.5"}, {"-.5", "-0.5"}, {"+1", "1"}, {"1.", "1"}, {"+.5e3", "0.5e3"}, {"007", "7"}, {"00", "0"},
		{"0777", "777"}, {"08.50", "8.50"}, {"2024-01-15", `"2024-01-15"`}, {"2024-01-15T10:00:00Z", `"2024-01-15T10:00:00Z"`},
		{"yes", `"yes"`}, {"No", `"No"`}, {"TRUE", "true"}, {"False", "false"}, {"~", "null"}, {"1:30", `"1:30"`},
		{"!!str 5", `"5"`}, {"!!int '5'", "5"}, {"!!float 1", "1"}, {"1.2.3", `"1.2.3"`}, {"0xZZ", `"0xZZ"`},
	} {
		e := only(t, "f.yml", "- endpoint:\n    path: /x\n    response:\n      body:\n        k: "+c.literal+"\n")
		if got, want := e.Response.Body.Value, `{"k":`+c.want+`}`; got != want {
			t.Errorf("%s becomes %s, want %s", c.literal, got, want)
		}
	}
}

func TestNumbersThatJSONCannotSay(t *testing.T) {
	testMistakes(t, "f.yml", []mistake{{"infinity and not a number",
		"- endpoint: {path: /x, response: {body: [§.inf, {a: §.nan}, 1]}}\n",
		[]complaint{{"[0].endpoint.response.body", ".inf cannot be written in JSON"}, {"[0].endpoint.response.body", ".nan cannot"}}}})
	if e := only(t, "f.yml", "- endpoint: {path: /x, response: {body: .inf}}\n"); e.Response.Body.Value != ".inf" {
		t.Errorf("as a text: %q", e.Response.Body.Value)
	}
}
