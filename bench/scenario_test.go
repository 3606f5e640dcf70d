package bench

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"mockserver/config"
	"mockserver/internal/list"
)

// The names are the documented ones, and all differ. Each declaration has only keys that are known, and
// requests that can be sent.
func TestScenariosAreDeclared(t *testing.T) {
	want := []string{"static", "path", "query", "json", "header", "endpoints-10000", "file", "xlsx", "close", "close-10", "stream"}
	all := scenarios()
	if got := list.Map(all, func(s scenario) string { return s.Name }); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	entries, err := declarations.ReadDir("scenarios")
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		text, err := declarations.ReadFile("scenarios/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		if err := d.Decode(new(scenario)); err != nil {
			t.Errorf("%s: %v", e.Name(), err)
		}
		if s := &all[i]; s.Shows == "" || len(s.Configuration) == 0 || len(s.Requests) == 0 {
			t.Errorf("%s: %+v", e.Name(), s)
		}
		for _, r := range all[i].Requests {
			if !r.isValid() {
				t.Errorf("%s: %+v cannot be sent", e.Name(), r)
			}
		}
	}
}

// Each declaration, written as bench writes it, is a configuration without errors.
func TestScenariosAreConfigurations(t *testing.T) {
	for _, s := range scenarios() {
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
