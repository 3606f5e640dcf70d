package bench

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestReadTargets(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("order.json", `{"amount": 500}`)
	file := write("requests.txt", `# two of them
GET http://api.example.com:8080/odd?key=hi#part
GET https://api.example.com?page=1
host: other.example.com

POST /orders
X-Tenant:a
  Authorization: Bearer a:b
# the body
@order.json
DELETE /users/7
`)
	got, err := readTargets(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"2: GET /odd?key=hi HTTP/1.1\r\nHost: api.example.com:8080\r\n\r\n",
		"3: GET /?page=1 HTTP/1.1\r\nHost: other.example.com\r\n\r\n",
		"6: POST /orders HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a:b\r\nX-Tenant: a\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"amount\": 500}",
		"11: DELETE /users/7 HTTP/1.1\r\nHost: localhost\r\n\r\n",
	}
	if len(got) != len(want) {
		t.Fatalf("%d targets, want %d", len(got), len(want))
	}
	for i := range got {
		if text := strconv.Itoa(got[i].number) + ": " + string(got[i].wire()); text != want[i] {
			t.Errorf("got  %q\nwant %q", text, want[i])
		}
	}
	for text, want := range map[string]string{
		"":                          "no request",
		"# nothing\n":               "no request",
		"X-A: b\nGET /\n":           ":1: \"X-A: b\": expected METHOD URL",
		"GET users\n":               ":1: path: \"users\"",
		"GET /\nnonsense\n":         ":2: expected METHOD URL",
		"GET /\n\n@missing.json\n":  ":3: ",
		"GET /\na b: c\n":           ":2: headers:",
		"- {path: '/odd?key=hi'}\n": ":1: ",
	} {
		if _, err := readTargets(write("bad.txt", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzTargets(f *testing.F) {
	f.Add("GET http://a/b?c#d\nA: b\n\nPOST /x\n")
	f.Add("@")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "@") {
			t.Skip("it would read files")
		}
		file := filepath.Join(dir, "targets")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		targets, err := readTargets(file)
		for i := range targets {
			if wire := string(targets[i].wire()); err == nil && strings.Count(wire, "\r\n\r\n") != 1 {
				t.Errorf("%q is sent as %q", text, wire)
			}
		}
	})
}
