package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mockserver/internal/files"
)

// write writes a file into a directory and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreJoinedInOrder(t *testing.T) {
	dir := t.TempDir()
	a := write(t, dir, "a.yml", "- endpoint: {path: /a, response: {}}\n")
	b := write(t, dir, "b.json", `[{"endpoint": {"path": "/b", "response": {}}}]`)
	missing := filepath.Join(dir, "missing.yaml")
	spec := Load(b, missing, a)
	if len(spec.Endpoints) != 2 || spec.Endpoints[0].Path.Value != "/b" || spec.Endpoints[1].Path.Value != "/a" {
		t.Fatalf("got %+v", spec.Endpoints)
	}
	if e := spec.Endpoints[1]; e.Dir != dir || e.Pos.File != a || e.Key != "[0].endpoint" {
		t.Errorf("dir %q, pos %v, key %q", e.Dir, e.Pos, e.Key)
	}
	if got, want := spec.Problems.Error(), missing+": there is no such file"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRelativeNamesAreReportedAsGivenAndTheirDirectoryIsAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", "a.yml", "- endpoint: {path: /x, response: {}}\n- endpoint: {path: x, response: {}}\n")
	spec := Load("a.yml")
	if !filepath.IsAbs(spec.Endpoints[0].Dir) || spec.Problems[0].Pos.File != "a.yml" {
		t.Errorf("directory %q, problem in %q", spec.Endpoints[0].Dir, spec.Problems[0].Pos.File)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.yml")
	makePipe(t, pipe)
	large := write(t, dir, "large.yml", "")
	if err := os.Truncate(large, files.MaxSize+1); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yml"): "there is no such file",
		"https://example.com/api.yml":  "is a URL; expected a file or a directory",
		t.TempDir():                    "the directory contains no file to read",
		pipe:                           "is not a regular file",
		large:                          "the file is larger than the limit of 64 MiB",
		filepath.Join(large, "x.yml"):  "cannot be read: not a directory",
		write(t, dir, "empty.yml", ""): "the file is empty; expected a list of endpoints, [] for none",
		write(t, dir, "comment.yaml", "# later\n---"): "the file is empty",
		write(t, dir, "empty.json", " \n"):            "the file is empty",
		write(t, dir, "a.txt", "[]"):                  `files named ".txt" are not read; expected a name that ends in one of .yml, .yaml, .json`,
		write(t, dir, "a", "[]"):                      `files named "" are not read`,
	} {
		got := Load(path).Problems
		if len(got) != 1 || got[0].Pos.File != path || got[0].Warning || !strings.HasPrefix(got[0].What, want) {
			t.Errorf("got %v, want %s: %s", got, path, want)
		}
	}
	if got := Parse("a.yml", make([]byte, files.MaxSize+1)).Problems.Error(); got != "a.yml: "+files.ErrTooLarge.Error() {
		t.Errorf("in memory: %.200s", got)
	}
}

func TestMistakesOfJSON(t *testing.T) {
	testMistakes(t, "f.json", []mistake{
		{"a comma is missing", `[{"endpoint": {"path": "/x" §"response": {}}}]`, one("", "expected a , or a }")},
		{"a quote is missing", `[{"endpoint": {"path": §"/x, "response": {}}}]`, one("", "the text that begins here ends at column 29: its quote is missing")},
		{"a quote inside a text", `["a", §"b "c" d"]`, one("", `or one inside it is not written \"`)},
		{"a text is never closed", "[{\"endpoint\": {\"path\": §\"/x\n}}]", one("", "never closed")},
		{"half an emoji", `["§\ud83d"]`, one("", "an unknown escape")},
		{"half an emoji and another half", `["§\ude00\ud83d"]`, one("", "an unknown escape")},
		{"an unknown escape", `["a§\q41"]`, one("", "an unknown escape")},
		{"a tab inside a text", "[\"a§\t\\n", one("", "control character")},
		{"the file ends early", `[{"endpoint": {§`, one("", "the JSON ends here; expected a key in double quotes")},
		{"two values", `[] §[`, one("", "expected the end of the file")},
		{"a mistake in the language", "[\n\t{\"endpoint\": {\"path\": §5, \"response\": {}}}]", one("[0].endpoint.path", "is a number (5)")},
		{"a byte that is no UTF-8", "[\"§\xff\"]", one("", "0xFF is not UTF-8")},
	})
}

func TestJSONThatYAMLWouldMisread(t *testing.T) {
	key := strings.Repeat("k", 2000)
	e := only(t, "f.json", "\uFEFF[\n\t{\"endpoint\": {\n\t\t\"path\": \"\\/x\", \"response\": {\"body\": {\"\\ud83d\\ude00\": \"\\u00e9\\b\\f\", \""+key+"\": [1.0, -0, 1e400]}}}}\n]\n")
	if want := "{\"😀\":\"é\\u0008\\u000c\",\"" + key + "\":[1.0,-0,1e400]}"; e.Path.Value != "/x" || e.Response.Body.Value != want {
		t.Errorf("path %q, body %s", e.Path.Value, e.Response.Body.Value)
	}
}

func TestJSONWithComments(t *testing.T) {
	e := only(t, "f.json", "# a comment\n[{\"endpoint\": {\"path\": \"/x\", \"response\": {},}},]\n")
	if e.Path.Value != "/x" {
		t.Errorf("got %+v", e)
	}
	e = only(t, "f.json", "// a comment\n[{\"endpoint\": /* of\ntwo lines */ {\"path\": \"//x\", // https://a\r\n \"response\": {\"status\": 201//\n},}},]//")
	if e.Path.Value != "//x" || e.Response.Status != 201 {
		t.Errorf("comments of JavaScript: got %+v", e)
	}
}

func TestSpec_RoutesAreURLsThatTheirEndpointsAnswer(t *testing.T) {
	const base, operation = "http://h:1", ": {get: {responses: {'200': {description: ok}}}}\n"
	for path, want := range map[string]string{
		"/a/:id":          "/a/1",
		"/a/:id|uuid/b":   "/a/00000000-0000-4000-8000-000000000000/b",
		"/a/:on|date":     "/a/2024-01-15",
		"/a/:is|bool":     "/a/true",
		"/a/*rest":        "/a/1",
		"/time/10:30/a*b": "/time/10:30/a*b",
		"/a/{id}":         "/a/{id}",
	} {
		if got, _ := Parse("f.yml", []byte("- endpoint: {path: '"+path+"', response: {}}\n")).Routes(9, base); !slices.Equal(got, []string{"GET " + base + want}) {
			t.Errorf("%s: got %q, want %s", path, got, want)
		}
	}
	spec := Parse("f.yml", []byte("openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n  /v1/{id}:cancel"+operation))
	if got, _ := spec.Routes(9, base); !slices.Equal(got, []string{"GET " + base + "/v1/1:cancel"}) {
		t.Errorf("of a document: got %q", got)
	}
}
