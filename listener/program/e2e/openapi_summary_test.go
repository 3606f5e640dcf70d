package e2e_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mockserver/internal/harness"
)

// faultyDocument returns a document with n operations, each with an example that its schema does
// not accept. The first one also has an unknown key.
func faultyDocument(n int) string {
	var b strings.Builder
	b.WriteString("openapi: 3.0.3\ninfo: {title: Faulty, version: '2.1'}\nservers: [{url: /v1}]\npaths:\n")
	for i := range n {
		odd := ""
		if i == 0 {
			odd = "odd: 1, "
		}
		fmt.Fprintf(&b, "  /p%d: {get: {%sresponses: {'200': {description: '', content: {application/json: {example: %d, schema: {type: string}}}}}}}\n", i, odd, i)
	}
	return b.String()
}

// The log has one line about what is served from a document; longer lists of warnings are left to
// validate.
func TestOpenAPI_Summary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	many := harness.WriteFile(t, dir, "many.yml", faultyDocument(20))
	few := harness.WriteFile(t, dir, "few.yml", faultyDocument(3))
	sound := harness.WriteFile(t, dir, "sound.yml", serversDocument)

	p := Start(t, "-c", many, "-c", sound)
	p.WaitLine(0, "INFO OpenAPI document file="+many+" title=Faulty version=2.1 operations=20 base_paths=/v1 "+
		`routes="GET /v1/p0, GET /v1/p1, GET /v1/p2, GET /v1/p3, GET /v1/p4" more=15 `,
		`warnings="21 warnings of 2 kinds; \"mockserver validate\" lists them"`)
	p.WaitLine(0, "INFO OpenAPI document file="+sound+" title=Servers version=1 operations=4 ",
		`base_paths="/v1, /of-path, /of-operation" routes="GET /v1, GET /v1/pets/{id}, GET /of-path/path, PUT /of-operation/path" more=0 warnings=none`)
	p.Signal(syscall.SIGHUP)
	p.WaitLine(0, "configuration reloaded")
	count := func(text string) (n int) {
		for _, line := range p.Output() {
			if strings.Contains(line, text) {
				n++
			}
		}
		return n
	}
	for text, want := range map[string]int{"configuration warning": 0, "first routes": 0, "OpenAPI document": 2} {
		if n := count(text); n != want {
			t.Errorf("after a start and a reload: got %d lines with %q, want %d", n, text, want)
		}
	}
	harness.WriteFile(t, dir, "many.yml", strings.Replace(faultyDocument(20), "title: Faulty", "title: Changed", 1))
	p.WaitLine(0, "OpenAPI document", "title=Changed")
	if n := count("OpenAPI document"); n != 3 {
		t.Errorf("after a change: got %d lines about documents, want 3", n)
	}

	p = Start(t, "-m", few)
	p.WaitLine(0, "OpenAPI document", `warnings="4 warnings of 2 kinds"`)
	if n := count("configuration warning "); n != 4 {
		t.Errorf("got %d warnings about a document with few, want 4", n)
	}

	code, stdout, stderr := Refused(t, nil, "validate", "-m", many)
	if n := strings.Count(stdout+stderr, "sent anyway"); code != 0 || n != 20 {
		t.Errorf("validate: got exit code %d and %d warnings about examples, want 0 and 20", code, n)
	}
}

func TestOpenAPI_SummaryAsJSON(t *testing.T) {
	t.Parallel()
	many := harness.WriteFile(t, t.TempDir(), "many.yml", faultyDocument(20))
	p := Start(t, "-m", many, "-f", "json")
	p.WaitLine(0, `"msg":"OpenAPI document"`)
	lines := p.Output()
	i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"msg":"OpenAPI document"`) })
	var got struct {
		Level, File, Title, Version, Routes, Warnings string
		Operations, More                              int
		BasePaths                                     string `json:"base_paths"`
	}
	if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
		t.Fatalf("%s: %v", lines[i], err)
	}
	want := got
	want.Level, want.File, want.Title, want.Version, want.Operations, want.More = "INFO", many, "Faulty", "2.1", 20, 15
	want.BasePaths, want.Routes = "/v1", "GET /v1/p0, GET /v1/p1, GET /v1/p2, GET /v1/p3, GET /v1/p4"
	want.Warnings = `21 warnings of 2 kinds; "mockserver validate" lists them`
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A resource that replaces operations of a document is intended: one line says so.
func TestOpenAPI_AResourceOverADocumentIsOneLine(t *testing.T) {
	t.Parallel()
	for allowed, count := range map[string]string{"": "count=4", ", allow: [list, read]": "count=2"} {
		over := harness.WriteFile(t, t.TempDir(), "over.yml", "- resource: {path: /v1/pets"+allowed+"}\n")
		p := Start(t, "-c", over, "-m", File("examples/petstore.yml"))
		line := p.WaitLine(0, "configuration warnings", count, "the resource at "+over+":1:13 answers instead")
		for _, other := range p.Output() {
			if strings.Contains(other, "configuration warning") && other != line {
				t.Errorf("another line: %s", other)
			}
		}
	}
}
