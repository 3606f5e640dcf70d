package imports_test

import (
	"slices"
	"strings"
	"testing"

	"mockserver/config/imports/curl"
	"mockserver/config/imports/draft"
)

func readScript(t testing.TB, text string) *Made {
	t.Helper()
	return importRead(t, curl.Read, "x.sh", text, draft.Options{})
}

func TestCurl_CommandsAreReadAsAShellDoes(t *testing.T) {
	for text, want := range map[string][]string{ // the bodies that the commands send
		"":            nil,
		"curl a -d b": {"b"},
		"curl a -d \\\n  'a b' -d \"c $d\" -d e\\ f":      {"a b&c $d&e f"},
		"# no\ncurl a -d a; curl b -d b && curl c|d -d x": {"a", "b", ""},
		`curl a -d $'a\'b\u00e9\x41\n' -d "\"\\"`:         {"a'bé" + "A\n&" + `"\`},
		"curl a -d 'a'\"b\"c":                             {"abc"},
		"curl a -d ''":                                    {""},
	} {
		var got []string
		for _, a := range readScript(t, text).Asks {
			got = append(got, string(a.Body))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestCurl_Endpoints(t *testing.T) {
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
		m := readScript(t, command)
		if all := m.spec.Endpoints; len(all) != 1 || all[0].EffectiveMethod()+" "+all[0].Path.Value != want {
			t.Errorf("%s: got %+v, want %s", command, m.Declarations, want)
		}
	}
}

func TestCurl_WhatIsReported(t *testing.T) {
	m := readScript(t, "curl http://a/x\ncurl http://a/x?b=1\ncurl http://b/$X\ncurl ftp://a/x\ncurl -X PURGE http://a/x\ncurl\n")
	if all := m.spec.Endpoints; len(all) != 2 || all[1].Host != "b" || all[0].Host != "a" {
		t.Fatal(m.spec)
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
		if len(m.Items) != len(want) || m.Items[i].Kind != w.kind || m.Items[i].Pos.Line != w.line || m.Items[i].Why != w.why {
			t.Fatalf("item %d is wrong in %+v", i, m.Items)
		}
	}
	if m := readScript(t, "curl a/x\ncurl a/y\ncurl a/x"); strings.Contains(m.Text, "line 1") { // it would be above the endpoint of a/y
		t.Error(m.Text)
	}
	refused(t, curl.Read, "x.sh", map[string]string{"curl a\ncurl 'b\n": "x.sh:2:6: the quote is not closed"})
}

func FuzzCurl(f *testing.F) {
	for _, text := range []string{"curl -X POST 'http://a/x?y=z' -H 'A: b' -d '{\"a\":1}' \\\n --json x", "$ curl $'\\u00e9\\x4' a b", "curl http://a/%zz|:/*x", "curl -sXPOST \"a$b\"", "curl -d\ncurl -X"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := draft.OpenSource(file(t, "x.sh", text)); err == nil {
			curl.Recognizes(s)
			_, _ = importTry(t, curl.Read, s, draft.Options{})
		}
	})
}
