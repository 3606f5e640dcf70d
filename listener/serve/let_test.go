package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const withLet = `
- endpoint:
    path: /made
    let: {id: "{{uuid}}", n: '{{counter("made")}}', obj: "{{json-params}}", both: "{{n}}/{{id}}"}
    response: {headers: {X-Id: "{{id}}", X-N: "{{n}}"}, body: '{"id": "{{id}}", "n": {{n}}, "both": "{{both}}"}'}
- endpoint: {path: /unused, let: {n: '{{counter("unused")}}'}, response: {body: fixed}}
- endpoint: {path: /count, response: {body: '{{counter("unused")}}'}}
- endpoint: {path: /looped/:n, let: {all: "{% for a in json-params %}{{a}}{% endfor %}", n: "{{path-params.n}}"}, response: {body: "{{all}}{{n}}"}}
- endpoint:
    path: /chosen
    let: {id: "{{query-params.id}}"}
    select: sequence
    responses: [{body: "a{{id}}"}, {status: 404, headers: {X: "{{id}}"}, body: '{"id": {{id}}}'}]
- endpoint: {method: PUT, path: /chosen, let: {id: x}, if: query-params.id = "id", response: {body: "{{id}}"}}
- endpoint: {path: '/late/:id', let: {id: "{{path-params.id|upper}}"}, latency: {min-ms: 0, max-ms: 0}, response: {body: "{{id}}"}}
`

// The values are the same on every path that a request can take through the server.
func TestLet_OnEveryWay(t *testing.T) {
	s := configured(t, withLet)
	for _, lookup := range []struct {
		name string
		way  func(sent string) string
	}{
		{"by fasthttp", func(sent string) string { got, _ := responses(s, sent, len(sent), nil); return got }},
		{"directly", func(sent string) string { got, _ := responses(s, sent, len(sent), s.fixedAt); return got }},
	} {
		t.Run(lookup.name, func(t *testing.T) {
			got := lookup.way(send("GET", "/made", ""))
			_, body, _ := strings.Cut(got, "\r\n\r\n")
			var id, both string
			var n int
			if _, err := fmt.Sscanf(body, `{"id": %q, "n": %d, "both": %q}`, &id, &n, &both); err != nil || len(id) != 36 {
				t.Fatalf("got %s: %v", got, err)
			}
			for _, want := range []string{"X-Id: " + id + "\r\n", fmt.Sprintf("X-N: %d\r\n", n), fmt.Sprintf(`"both": "%d/%s"`, n, id)} {
				if !strings.Contains(got, want) {
					t.Errorf("got %s, want %s", got, want)
				}
			}
			for sent, want := range map[string]string{
				send("GET", "/looped/7", "[1,2]"): "127", send("GET", "/late/ab", ""): "AB", send("PUT", "/chosen?id=id", ""): "x", send("GET", "/unused", ""): "fixed",
			} {
				if got := lookup.way(sent); !strings.HasSuffix(got, "\r\n\r\n"+want) {
					t.Errorf("%q: got %s, want %s", sent, got, want)
				}
			}
		})
	}
	if got := responsesOf(t, s, 1, "/count"); got[0] != "3" {
		t.Errorf("an unused value was computed %s - 1 times in two requests", got[0])
	}
	if got := strings.Join(responsesOf(t, s, 3, "/chosen?id=7"), " "); got != `a7 {"id": 7} a7` {
		t.Errorf("outcomes: got %s", got)
	}
}

func TestLet_InExternalBodies(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.json": `{"file": "a", "id": {{id}}}`, "b.json": `{"file": "b", "id": {{id}}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.Path)) }))
	defer upstream.Close()
	s := configured(t, fmt.Sprintf(`
- endpoint: {path: '/file/:name', let: {name: "{{path-params.name|lower}}", id: "{{5|add:1}}"}, response: {external-body: {provider: json, path: '%s/{{name}}.json'}}}
- endpoint: {path: '/url/:name', let: {name: "{{path-params.name|lower}}"}, response: {external-body: {provider: json, path: '%s/{{name}}'}}}
`, dir, upstream.URL))
	for uri, want := range map[string]string{"/file/A": `{"file": "a", "id": 6}`, "/file/b": `{"file": "b", "id": 6}`, "/url/A%2FB": "/a/b"} {
		if got := responsesOf(t, s, 1, uri)[0]; got != want {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
	}
}

// With a seed, the values repeat.
func TestLet_RepeatsWithASeed(t *testing.T) {
	var before string
	for range 2 {
		seed := uint64(3)
		s := seeded(t, &seed, `[{endpoint: {path: /a, let: {id: "{{uuid}}"}, response: {body: "{{id}} {{random}} {{id}}"}}}]`)
		got := strings.Join(responsesOf(t, s, 3, "/a"), "\n")
		if first, _, _ := strings.Cut(got, " "); strings.Count(got, first) != 2 || before != "" && got != before {
			t.Errorf("got %s, previously %s", got, before)
		}
		before = got
	}
}
