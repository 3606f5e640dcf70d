package imports_test

import (
	"strings"
	"testing"

	"mockserver/config/imports/draft"
	"mockserver/config/syntax"
)

// nodes returns the nodes of a draft as they are read from its text.
func nodes(t testing.TB, d *draft.Draft) *syntax.Node {
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
		d := &draft.Draft{Title: []string{text}}
		d.Add("endpoint", draft.NewMap("body", text), text).Off = true
		items := []*syntax.Node{draft.Of(text), draft.Flow([]string{text}), draft.NewMap("a", text, "b", text)}
		m := draft.NewMap("in", draft.Comment(draft.NewMap("value", text, "list", items), text))
		m.Get("in").Set("map", draft.Comment(draft.Flow(draft.NewMap(key, text)), text)).Set("after", draft.Of(text))
		d.Add("endpoint", m, text)
		root := nodes(t, d)
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
	d := &draft.Draft{Title: []string{"made of x.har"}}
	e := draft.NewMap("path", "/users/:id|int", "response", draft.NewMap("status", 200, "body", `{"a": "b"}`))
	e.Set("latency", draft.Comment(draft.Flow(draft.NewMap("min", "8.1ms", "p99.9", "412ms")), "12 samples"))
	responses := []*syntax.Node{draft.NewMap("weight", 3, "headers", draft.NewMap()), draft.NewMap("weight", 1.5, "body", "a\nb\n")}
	e.Set("responses", draft.Comment(draft.Of(responses), "4 requests"))
	d.Add("endpoint", e, "GET /users/1")
	d.Add("endpoint", draft.NewMap("path", "/x"), "lost").Off = true
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
	d := &draft.Draft{}
	d.Add("endpoint", draft.NewMap("path", "/x")).Off = true
	if root := nodes(t, d); root.Kind != syntax.ListNode || len(root.Items) != 0 {
		t.Errorf("got %+v, want an empty list", root)
	}
}

func TestFilesHaveNamesOfTheirOwn(t *testing.T) {
	d := &draft.Draft{}
	for _, want := range []string{"a/b.json", "a/b-2.json", "a/b-3.json"} {
		if got := d.AddFile(draft.File{Name: "a/b.json"}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
