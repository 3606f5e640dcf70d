package draft

import (
	"strings"
	"testing"

	"mockserver/config/syntax"
)

// read returns the nodes of a draft as they are read from its text.
func read(t testing.TB, d *Draft) *syntax.Node {
	t.Helper()
	var b strings.Builder
	if err := d.Write(&b); err != nil {
		t.Fatal(err)
	}
	docs, problems := syntax.Read("made.yml", []byte(b.String()))
	if err := problems.Err(); err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v in:\n%s", len(docs), err, b.String())
	}
	return docs[0]
}

// A text from a file of another tool may contain anything, and must never get another meaning in
// the configuration.
func FuzzTextsAreReadAsTheyWere(f *testing.F) {
	for _, text := range []string{"", " ", "a", "yes", "~", "null", "1", "0x1F", "1e3", "8.1ms", "- a", "a: b", "a #b", "#", "*a", "&a", "!x", "%x", "@", "`",
		"{a: 1}", "[", "it's", `say "x"`, `C:\x`, "a\nb", "a\nb\n", "a\nb\n\n", "\na\nb", "  a\nb", "a\n  b", "a \nb", "a\n\n\nb", "\ta\nb", "a\n\tb", "a\r\nb",
		"\x00\x7f\u0085\u2028\ufeff", "🙂", "---", "---\na", "a\n---\nb", "...", "<<", "=", ":", "a:", ":id", "|", ">", "?", "? a", strings.Repeat("k", 2000), "2024-01-15", "12:30:45", "\\", "'", "\"", "a\n \nb"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		key := text
		if len(key) > 500 || key == "" {
			key = "k" // keys of YAML have at most 1024 characters
		}
		d := &Draft{Title: []string{text}}
		d.Add("endpoint", NewMap("body", text), text).Off = true
		items := []*syntax.Node{Of(text), Flow([]string{text}), NewMap("a", text, "b", text)}
		m := NewMap("in", Comment(NewMap("value", text, "list", items), text))
		m.Get("in").Set("map", Comment(Flow(NewMap(key, text)), text)).Set("after", Of(text))
		d.Add("endpoint", m, text)
		root := read(t, d)
		in := root.Items[0].Get("endpoint").Get("in")
		list := in.Get("list")
		for where, got := range map[string]*syntax.Node{
			"value": in.Get("value"), "item": list.Items[0], "flow list": list.Items[1].Items[0], "first in item": list.Items[2].Get("a"),
			"second in item": list.Items[2].Get("b"), "flow map": in.Get("map").Entries[0].Value, "key": in.Get("map").Entries[0].Key, "after": in.Get("after"),
		} {
			want := text
			if where == "key" {
				want = key
			}
			if got == nil || got.Kind != syntax.TextNode || got.Text.Value != want {
				t.Errorf("%s: %q became %+v", where, want, got)
			}
		}
	})
}

func TestFormOfTheText(t *testing.T) {
	d := &Draft{Title: []string{"made of x.har"}}
	e := NewMap("path", "/users/:id|int", "response", NewMap("status", 200, "body", `{"a": "b"}`))
	e.Set("latency", Comment(Flow(NewMap("min", "8.1ms", "p99.9", "412ms")), "12 samples"))
	responses := []*syntax.Node{NewMap("weight", 3, "headers", NewMap()), NewMap("weight", 1.5, "body", "a\nb\n")}
	e.Set("responses", Comment(Of(responses), "4 requests"))
	d.Add("endpoint", e, "GET /users/1")
	d.Add("endpoint", NewMap("path", "/x"), "lost").Off = true
	var b strings.Builder
	if err := d.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `# made of x.har

# GET /users/1
- endpoint:
    path: /users/:id|int
    response:
      status: 200
      body: '{"a": "b"}'
    latency: {min: 8.1ms, p99.9: 412ms} # 12 samples
    responses: # 4 requests
      - weight: 3
        headers: {}
      - weight: 1.5
        body: |
          a
          b
# lost
# - endpoint:
#     path: /x
`
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestNothingButComments(t *testing.T) {
	d := &Draft{}
	d.Add("endpoint", NewMap("path", "/x")).Off = true
	if root := read(t, d); root.Kind != syntax.ListNode || len(root.Items) != 0 {
		t.Errorf("got %+v, want an empty list", root)
	}
}

func TestFilesHaveNamesOfTheirOwn(t *testing.T) {
	d := &Draft{}
	for _, want := range []string{"a/b.json", "a/b-2.json", "a/b-3.json"} {
		if got := d.AddFile(File{Name: "a/b.json"}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
