package curl

import (
	"slices"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/imports/draft"
)

func TestCommandsAreReadAsAShellDoes(t *testing.T) {
	for text, want := range map[string][][]string{
		"":                                 nil,
		"curl a":                           {{"curl", "a"}},
		"curl \\\n  'a b' \"c $d\" e\\ f":  {{"curl", "a b", "c $d", "e f"}},
		"# no\ncurl a; curl b && curl c|d": {{"curl", "a"}, {"curl", "b"}, {"curl", "c"}, {"d"}},
		`curl $'a\'b\u00e9\x41\n' "\"\\"`:  {{"curl", "a'bé" + "A\n", `"\`}},
		"curl 'a'\"b\"c":                   {{"curl", "abc"}},
		"curl ''":                          {{"curl", ""}},
	} {
		all, open := commands(text)
		var got [][]string
		for _, words := range all {
			var texts []string
			for _, w := range words {
				texts = append(texts, w.text)
			}
			got = append(got, texts)
		}
		if open != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%q: got %q, want %q (%v)", text, got, want, open)
		}
	}
}

// imported reads a script and returns the resulting configuration.
func imported(t testing.TB, text string) (*draft.Draft, *config.Spec, error) {
	t.Helper()
	d := &draft.Draft{}
	if err := Read(draft.NewSource("x.sh", []byte(text)), d, draft.Options{}); err != nil {
		return d, nil, err
	}
	var b strings.Builder
	if err := d.Write(&b); err != nil {
		t.Fatal(err)
	}
	spec := config.Parse("made.yml", []byte(b.String()))
	if err := spec.Problems.Err(); err != nil {
		t.Fatalf("%v in:\n%s", err, b.String())
	}
	return d, spec, nil
}

func TestEndpoints(t *testing.T) {
	for command, want := range map[string]string{
		"curl https://a.example/x?b=1":                                   "GET /x",
		"curl -X DELETE localhost:80/x/":                                 "DELETE /x",
		"curl -XPUT --url=http://a/x -d @file":                           "PUT /x",
		"curl http://a -d a=b -d c=d":                                    "POST /",
		"curl -G http://a/s -d q=1":                                      "GET /s",
		"curl --json '{\"a\": 1}' http://a/j":                            "POST /j",
		"curl -sI http://a/h":                                            "HEAD /h",
		"curl -F f=@x http://a/f":                                        "POST /f",
		"curl 'http://a/x' -H 'a: b' --compressed -o out -m 3 -u a:b -k": "GET /x",
		"curl 'http://a/:id/{x}'":                                        "GET /%3Aid/%7Bx%7D",
		"curl -T f http://a/up":                                          "PUT /up",
	} {
		d, spec, err := imported(t, command)
		if err != nil || len(spec.Endpoints) != 1 || spec.Endpoints[0].EffectiveMethod()+" "+spec.Endpoints[0].Path.Value != want {
			t.Errorf("%s: got %+v, %v, want %s", command, d.Declarations, err, want)
		}
	}
}

func TestWhatIsReported(t *testing.T) {
	d, spec, err := imported(t, "curl http://a/x\ncurl http://a/x?b=1\ncurl http://b/$X\ncurl ftp://a/x\ncurl -X PURGE http://a/x\ncurl\n")
	if err != nil || len(spec.Endpoints) != 2 || spec.Endpoints[1].Host != "b" || spec.Endpoints[0].Host != "a" {
		t.Fatal(spec, err)
	}
	want := []struct {
		kind draft.Kind
		line int
		why  string
	}{
		{draft.Lost, 4, "is not an http or https URL"}, {draft.Lost, 5, "the method PURGE is not served"}, {draft.Lost, 6, "the command has no URL"},
		{draft.Approximate, 1, "the command does not show the answer"}, {draft.Approximate, 2, "is answered as in line 1"},
		{draft.Approximate, 3, "the command does not show the answer; it has a variable of the shell, which is taken literally"},
	}
	for i, w := range want {
		if len(d.Items) != len(want) || d.Items[i].Kind != w.kind || d.Items[i].Pos.Line != w.line || d.Items[i].Why != w.why {
			t.Fatalf("item %d is wrong in %+v", i, d.Items)
		}
	}
	if _, _, err := imported(t, "curl a\ncurl 'b\n"); err == nil || err.Error() != "x.sh:2:6: the quote is not closed" {
		t.Errorf("an open quote: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"curl -X POST 'http://a/x?y=z' -H 'A: b' -d '{\"a\":1}' \\\n --json x", "$ curl $'\\u00e9\\x4' a b", "curl http://a/%zz|:/*x", "curl -sXPOST \"a$b\"", "curl -d\ncurl -X"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		Recognizes(draft.NewSource("x.sh", []byte(text)))
		imported(t, text)
	})
}
