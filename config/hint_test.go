package config

import "testing"

// Examples in a message are written in the syntax of the file.
func TestHintsFitTheSyntax(t *testing.T) {
	testMistakes(t, "f.json", []mistake{
		{"a text instead of a list", `"§hello"`, one("", `the document is a text ("hello"); expected a list of endpoints, [{"endpoint": {…}}]`)},
		{"a map instead of a list", `§{"endpoint": {}}`, one("", `put it into one, [{"endpoint": {…}}]`)},
		{"a map", `§{"hello": "world"}`, one("", `the document is a map; expected a list of endpoints, [{"endpoint": {…}}]`)},
		{"keys beside endpoint", `[{"endpoint": null, "§path": "/x"}]`, one("[0]", "path is next to endpoint; move it into the map of endpoint")},
		{"keys beside websocket", `[{"websocket": null, "§path": "/x"}]`, one("[0]", "path is next to websocket; move it into the map of websocket")},
		{"a WebSocket in an endpoint", `[{"endpoint": {"§websocket": {}}}]`, one(atEndpoint+".websocket", `but an item of its own, {"websocket": {…}}`)},
		{"keys without endpoint", `[{"§path": "/x"}]`, one("[0]", `path is a key of an endpoint; put it inside one, {"endpoint": {…}}`)},
	})
	for file, list := range map[string]string{"f.yml": "list", "f.json": "list", "f.edn": "vector"} {
		for _, text := range map[string][]string{"f.yml": {"# later\n", "~"}, "f.json": {"", "null"}, "f.edn": {"; later\n", "nil"}}[file] {
			want := file + ": the file is empty; expected a " + list + " of endpoints, [] for none"
			if got := Parse(file, []byte(text)).Problems.Error(); got != want {
				t.Errorf("%q: got %s, want %s", text, got, want)
			}
		}
	}
	const at = atResponse + ".headers.X-A"
	for file, text := range map[string]string{
		"f.json": `[{"endpoint": {"path": "/x", "response": {"headers": {"X-A": "a\n"}}}}]`,
		"f.edn":  ednResponse(`:headers {:x-a "a\n"}`),
		"f.yml":  inResponse("headers:\n  X-A: |\n    a\n"),
	} {
		want := `the control character '\n' is not allowed in a header`
		if file == "f.yml" {
			want += "; write a single line with |- or in quotes"
		}
		if got := Parse(file, []byte(text)).Problems; len(got) != 1 || got[0].Key != at || got[0].What != want {
			t.Errorf("%s: got %v, want %s", file, got, want)
		}
	}
}
