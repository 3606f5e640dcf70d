package config

import (
	"strings"
	"testing"

	"mockserver/config/syntax"
)

// TestTextAt looks up, for each text of a file, the letter Z in it, and expects the position of
// that Z in the file, or the beginning of the text where folding or escapes hide it.
func TestTextAt(t *testing.T) {
	for _, c := range []struct{ name, file, body string }{
		{"a plain text", "f.yml", "abc §Z d"},
		{"a plain text behind an anchor and a tag", "f.yml", "&a !!str abc §Z d"},
		{"a plain text over two lines is folded", "f.yml", "§abc\n        Z"},
		{"a double-quoted text begins behind its quote", "f.yml", `"abc §Z"`},
		{"a single-quoted text begins behind its quote", "f.yml", `'abc §Z'`},
		{"a double-quoted text with an escape is its beginning", "f.yml", `§"a\tb Z"`},
		{"a single-quoted text with a doubled quote is its beginning", "f.yml", `§'a''b Z'`},
		{"a quoted text over two lines is its beginning", "f.yml", "§\"abc\n        Z\""},
		{"a folded block is its beginning", "f.yml", "§>\n        abc\n        Z\n"},
		{"the first line of a literal block", "f.yml", "|\n        ab§Z\n        c\n"},
		{"a later line of a literal block", "f.yml", "|\n        ab\n          c §Z\n        d\n"},
		{"a literal block without its last line break", "f.yml", "|-\n        ab\n        §Z"},
		{"a literal block that keeps blank lines", "f.yml", "|+\n        ab\n\n        §Z\n\n\n"},
		{"a literal block that begins with blank lines", "f.yml", "|\n\n\n        ab\n        §Z\n"},
		{"a literal block with an indent of its own", "f.yml", "|2\n          ab\n        §Z\n"},
		{"a literal block with Windows line ends", "f.yml", "|\r\n        ab\r\n        é§Z\r\n"},
		{"a literal block behind an anchor and a comment", "f.yml", "&a |- # why\n        ab\n        §Z\n"},
		{"a literal block with a line separator inside is its beginning", "f.yml", "§|\n        a\u2028        b\n        Z\n"},
		{"a JSON text", "f.json", `"abc §Z"`},
		{"a JSON text with an escape is its beginning", "f.json", `§"a\nb Z"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "- endpoint:\n    path: /x\n    response:\n      body: " + c.body + "\n"
			if c.file == "f.json" {
				text = `[{"endpoint": {"path": "/x", "response": {"body": ` + c.body + "}}}]"
			}
			text, places := marked(c.file, text)
			body := only(t, c.file, text).Response.Body
			if got := body.At(strings.IndexByte(body.Value, 'Z')); got != places[0] {
				t.Errorf("Z of %q is at %v, want %v", body.Value, got, places[0])
			}
		})
	}
}

// The same holds for texts inside a body that is a map or a list.
func TestTextAtInsideAMadeBody(t *testing.T) {
	for _, c := range []struct{ name, file, body string }{
		{"a text of a map in a list", "f.yml", `{items: [{name: "{{ §Z }}"}, {name: '{{ y }}'}]}`},
		{"the second of two texts", "f.yml", "\n        - é {{ y }}\n        - é {{ §Z }}"},
		{"a key", "f.yml", `{a: b, "{{ §Z }}": 1}`},
		{"behind letters that JSON escapes", "f.yml", `['"a" \b {{ §Z }}']`},
		{"behind a raw block whose inside JSON escapes", "f.yml", `['{% raw %}"{{"{% endraw %} {{ §Z }}']`},
		{"in a tag that holds quotes and a backslash", "f.yml", `['{{ "a\"b" | §Z }}']`},
		{"in a tag that is not closed", "f.yml", `['"a" {{ "b" §Z']`},
		{"a literal block", "f.yml", "\n        a: |\n          \"x\"\n          b {{ y\n            §Z }}\n        c: d"},
		{"a text with escapes is its beginning", "f.yml", `{a: [1, §"\t{{ Z }}"]}`},
		{"a folded block is its beginning", "f.yml", "\n        a: §>\n          b\n          {{ Z }}\n"},
		{"a text without tags stands for nothing: the beginning of the map", "f.yml", `§{a: "{{ y }}", b: Z}`},
		{"a text below an alias stands at its anchor", "f.yml", "\n        a: &x ['{{ §Z }}']\n        b: *x"},
		{"a JSON text", "f.json", `{"a": "é", "b": [null, "é {{ §Z }}"]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "- endpoint:\n    path: /x\n    response:\n      body: " + c.body + "\n"
			if c.file == "f.json" {
				text = `[{"endpoint": {"path": "/x", "response": {"body": ` + c.body + "}}}]"
			}
			text, places := marked(c.file, text)
			body := only(t, c.file, text).Response.Body
			if got := body.At(strings.IndexByte(body.Value, 'Z')); got != places[0] {
				t.Errorf("Z of %q is at %v, want %v", body.Value, got, places[0])
			}
			for _, offset := range []int{-1, 0, len(body.Value), len(body.Value) + 1} {
				if got := body.At(offset); got != body.Pos {
					t.Errorf("offset %d is at %v, want %v", offset, got, body.Pos)
				}
			}
		})
	}
}

// Lines are counted as editors show them; the YAML library counts more lines.
func TestLinesEndAsInTheSyntax(t *testing.T) {
	for _, c := range []struct {
		file, text string
		want       syntax.Pos
	}{
		{"f.yml", "# c\n# c\r# c\r\n# é\u2028# c\u0085- 5\n", syntax.Pos{File: "f.yml", Line: 6, Column: 3}},
		{"f.yml", "# \u2029\r- 5\n", syntax.Pos{File: "f.yml", Line: 3, Column: 3}},
		{"f.json", "[\r\r\n\n\"\u2028\u0085\u2029\"]", syntax.Pos{File: "f.json", Line: 4, Column: 2}},
		{"f.edn", "[\r\r\n\n\u2028\"\u0085\u2029\"]", syntax.Pos{File: "f.edn", Line: 4, Column: 5}},
	} {
		if got := Parse(c.file, []byte(c.text)).Problems; len(got) == 0 || got[0].Pos != c.want {
			t.Errorf("%q: got %v, want one at %v", c.text, got, c.want)
		}
	}
}

func TestTextAtOutsideTheText(t *testing.T) {
	begin := syntax.Pos{File: "f", Line: 3, Column: 7}
	text := syntax.Text{Value: "abc", Pos: begin}
	for offset, want := range map[int]syntax.Pos{-1: begin, 0: begin, 3: {File: "f", Line: 3, Column: 10}, 4: begin} {
		if got := text.At(offset); got != want {
			t.Errorf("offset %d is at %v, want %v", offset, got, want)
		}
	}
	if got := (syntax.Text{Value: "made in Go"}).At(3); got != (syntax.Pos{}) {
		t.Errorf("a text made in Go is at %v", got)
	}
	block := only(t, "f.yml", "- endpoint:\n    path: /x\n    response:\n      body: |\n        abc\n").Response.Body
	if got, want := block.At(len(block.Value)), (syntax.Pos{File: "f.yml", Line: 5, Column: 12}); got != want {
		t.Errorf("the end of a block is at %v, want %v", got, want)
	}
}

func TestEveryTextKnowsItsPlaceAndKey(t *testing.T) {
	text, places := marked("f.yml", `- endpoint:
    path: §/x
    if: "§a = 1"
    response:
      headers:
        X-A: [§1, '§two']
      external-body:
        provider: xlsx
        path: §a.xlsx
        sheet-name: §Sheet1
`)
	e := only(t, "f.yml", text)
	r := e.Response
	for i, c := range []struct {
		got        syntax.Text
		value, key string
	}{
		{e.Path, "/x", "path"}, {e.If, "a = 1", "if"},
		{r.Headers[0].Value, "1", "response.headers.X-A[0]"}, {r.Headers[1].Value, "two", "response.headers.X-A[1]"},
		{r.External.Path, "a.xlsx", "response.external-body.path"}, {r.External.Sheet, "Sheet1", "response.external-body.sheet-name"},
	} {
		if c.got.Value != c.value || c.got.Key != "[0].endpoint."+c.key || c.got.Pos != places[i] {
			t.Errorf("got %+v, want %q at %v with key %s", c.got, c.value, places[i], c.key)
		}
	}
	if e.Pos != (syntax.Pos{File: "f.yml", Line: 2, Column: 5}) || r.Pos != (syntax.Pos{File: "f.yml", Line: 5, Column: 7}) || r.External.Pos != (syntax.Pos{File: "f.yml", Line: 8, Column: 9}) {
		t.Errorf("endpoint at %v, response at %v, external body at %v", e.Pos, r.Pos, r.External.Pos)
	}
}
