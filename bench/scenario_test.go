package bench

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/internal/list"
)

func TestReadScenarioRefuses(t *testing.T) {
	const good = "name: a\nshows: b\nconfiguration: []\nrequests: [{path: /a}]\n"
	if _, err := readScenario([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"", "empty"},
		{strings.Replace(good, "name: a", "nmae: a", 1), "nmae"},
		{strings.Replace(good, "name: a", "name: ", 1), "name and shows are required"},
		{strings.Replace(good, "[]", "{}", 1), "configuration: a list is required"},
		{strings.Replace(good, "[{path: /a}]", "[]", 1), "at least one"},
		{strings.Replace(good, "/a", "a", 1), `path: "a"`},
		{strings.Replace(good, "/a", `"/a b"`, 1), "blanks"},
		{strings.Replace(good, "path: /a", "path: /a, repeat: -1", 1), "repeat"},
		{strings.Replace(good, "path: /a", `path: /a, headers: {"A:": b}`, 1), "is not a valid header"},
	} {
		if _, err := readScenario([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %q", c.text, err, c.want)
		}
	}
}

// The names are the documented ones, and all differ.
func TestScenariosAreDeclared(t *testing.T) {
	want := []string{"static", "path", "query", "json", "header", "endpoints-10000", "file", "xlsx", "close", "close-10"}
	all, err := scenarios()
	if got := list.Map(all, func(s scenario) string { return s.Name }); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
}

// Each declaration, written as bench writes it, is a configuration without errors.
func TestScenariosAreConfigurations(t *testing.T) {
	all, err := scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		s := &all[i]
		path, err := s.write(t.TempDir())
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		spec := config.Load(path)
		if err := spec.Problems.Err(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if text, _ := os.ReadFile(path); strings.Contains(string(text), "${") {
			t.Errorf("%s: something is not replaced", s.Name)
		}
		if s.Name == "endpoints-10000" && (len(spec.Endpoints) != 10000 || spec.Endpoints[9999].Path.Value != "/resource-10000/:id") {
			t.Errorf("%s: %d endpoints", s.Name, len(spec.Endpoints))
		}
	}
}

func TestRequestsAreRepeated(t *testing.T) {
	body := `{"n": ${n}}`
	r := request{Repeat: 3, Step: 10, Method: "post", Path: "/a/${n}", Body: body, Headers: map[string]string{"X-N": "${n}"}, Response: declaredResponse{Body: &body}}
	all := r.expanded()
	if len(all) != 3 || all[2].line != "POST /a/30" || *all[2].response.Body != `{"n": 30}` {
		t.Fatalf("got %+v", all)
	}
	want := "POST /a/30 HTTP/1.1\r\nHost: localhost\r\nX-N: 30\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{\"n\": 30}"
	if got := string(all[2].wire); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	get := request{Path: "/", Headers: map[string]string{"host": "a.example.com"}}
	if got, want := string(get.wire()), "GET / HTTP/1.1\r\nhost: a.example.com\r\n\r\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func FuzzReadScenario(f *testing.F) {
	entries, err := declarations.ReadDir("scenarios")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		text, err := declarations.ReadFile("scenarios/" + e.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := readScenario(text)
		if err != nil {
			return
		}
		for i := range s.Requests {
			s.Requests[i].Repeat = min(s.Requests[i].Repeat, 3)
			for _, a := range s.Requests[i].expanded() {
				head, _, ok := strings.Cut(string(a.wire), "\r\n\r\n")
				if first, _, _ := strings.Cut(head, "\r\n"); !ok || strings.Count(first, " ") != 2 {
					t.Errorf("no request: %q", a.wire)
				}
			}
		}
	})
}
