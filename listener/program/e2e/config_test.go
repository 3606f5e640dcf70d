package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"mockserver/internal/harness"
)

// mistake is a configuration with one error, and the expected message.
type mistake struct {
	name string
	file string // "" means "mock.yml"
	// config contains » in front of the position where the error must be reported, or › in its line
	// if more than one column is acceptable. The marks are not written to the file.
	config string
	key    string   // the key path; "" for none
	says   []string // texts that the message contains: what is wrong, what is expected
}

// unmarked removes the mark from a configuration, and returns regular expressions for the line and
// column of its position.
func (m mistake) unmarked() (config, line, column string) {
	config, line, column = m.config, `\d+`, `\d+`
	for _, mark := range []string{"»", "›"} {
		before, after, ok := strings.Cut(config, mark)
		if !ok {
			continue
		}
		config = before + after
		line = fmt.Sprint(strings.Count(before, "\n") + 1)
		if mark == "»" {
			column = fmt.Sprint(len(before) - strings.LastIndexByte(before, '\n'))
		}
	}
	return config, line, column
}

// reported fails the test unless one line reports the error at its position, and no other line
// reports anything.
func (m mistake) reported(t *testing.T) {
	t.Helper()
	name := m.file
	if name == "" {
		name = "mock.yml"
	}
	config, line, column := m.unmarked()
	dir := t.TempDir()
	workbook(t, filepath.Join(dir, "book.xlsx"))
	file := harness.WriteFile(t, dir, name, config)
	said := refusalOf(t, file)
	want := "^" + regexp.QuoteMeta(file) + ":" + line + ":" + column + ": "
	if m.key != "" {
		want += regexp.QuoteMeta(m.key) + ": "
	}
	want += "[^ ]"
	if len(said) != 1 || !regexp.MustCompile(want).MatchString(said[0]) || !containsAll(said[0], m.says) {
		t.Errorf("for\n%s\ngot\n%s\nwant one line like %s that contains %q", config, strings.Join(said, "\n"), want, m.says)
	}
}

// workbook writes a workbook with one sheet, Langs.
func workbook(t *testing.T, path string) {
	t.Helper()
	book := excelize.NewFile()
	defer book.Close()
	if err := book.SetSheetName("Sheet1", "Langs"); err != nil {
		t.Fatal(err)
	}
	if err := book.SetSheetRow("Langs", "A1", &[]string{"name", "langs"}); err != nil {
		t.Fatal(err)
	}
	if err := book.SaveAs(path); err != nil {
		t.Fatal(err)
	}
}

func testMistakes(t *testing.T, mistakes []mistake) {
	t.Helper()
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.reported(t)
		})
	}
}

func TestConfig_ASyntaxErrorIsReportedWithItsPlace(t *testing.T) {
	t.Parallel()
	testMistakes(t, []mistake{
		{name: "a YAML bracket that is never closed", config: "- endpoint: {path: /a, response: {}\n"},
		{name: "a YAML quote that is never closed", config: "- endpoint: {path: \"/a, response: {}}\n"},
		{name: "a tab that indents YAML", config: "- endpoint:\n›\tpath: /a\n\tresponse: {}\n"},
		{name: "a byte that is not UTF-8", config: "- endpoint:\n    path: ›/\xff\n    response: {}\n"},
		{name: "JSON that ends too early", file: "mock.json", config: "[{\"endpoint\": {\"path\": \"/a\",\n \"response\": {›"},
		{name: "JSON with two values where one is expected", file: "mock.json", config: "[{\"endpoint\":\n {\"path\" »\"/a\", \"response\": {}}}]"},
	})
}

func TestConfig_AnUnknownKeyIsReportedWithTheOneThatWasMeant(t *testing.T) {
	t.Parallel()
	testMistakes(t, []mistake{
		{name: "of an endpoint", config: "- endpoint:\n    path: /a\n    »sumary: x\n    response: {}\n",
			key: "[0].endpoint.sumary", says: []string{"did you mean", `"summary"`}},
		{name: "of a response", config: "- endpoint:\n    path: /a\n    response: {»staus: 200}\n",
			key: "[0].endpoint.response.staus", says: []string{"did you mean", `"status"`}},
		{name: "of an external body", config: "- endpoint:\n    path: /a\n    response:\n      external-body: {provider: xlsx, path: book.xlsx, sheet-name: Langs, »tiemout: 1s}\n",
			key: "[0].endpoint.response.external-body.tiemout", says: []string{"did you mean", `"timeout"`}},
		{name: "of an item, in the second of two", config: "- endpoint: {path: /a, response: {}}\n- »endpiont: {path: /b, response: {}}\n",
			key: "[1].endpiont", says: []string{"did you mean", `"endpoint"`}},
		{name: "unlike any other, with the expected values", config: "- endpoint: {path: /a, »zzzzzzzz: 1, response: {}}\n",
			key: "[0].endpoint.zzzzzzzz", says: []string{"method", "path", "host", "if", "… 20 more: docs/configuration.md"}},
		{name: "as WireMock calls it", config: "- endpoint:\n    path: /a\n    response:\n      »jsonBody: {}\n",
			key: "[0].endpoint.response.jsonBody", says: []string{`did you mean "body"`}},
		{name: "of a JSON file", file: "mock.json", config: `[{"endpoint": {"path": "/a", "response": {` + "\n" + `  ›"staus": 200}}}]`,
			key: "[0].endpoint.response.staus", says: []string{"did you mean", `"status"`}},
	})
}

func TestConfig_AValueOfAWrongTypeIsReportedWithWhatIsAccepted(t *testing.T) {
	t.Parallel()
	testMistakes(t, []mistake{
		{name: "a list for a path", config: "- endpoint:\n    path: »[/a]\n    response: {}\n",
			key: "[0].endpoint.path", says: []string{"a list", "a text"}},
		{name: "a text for a response", config: "- endpoint:\n    path: /a\n    response: »hello\n",
			key: "[0].endpoint.response", says: []string{"a text", "a map"}},
		{name: "a text for a status", config: "- endpoint:\n    path: /a\n    response: {status: »created}\n",
			key: "[0].endpoint.response.status", says: []string{"created", "200", "599"}},
		{name: "a fraction for a status", config: "- endpoint:\n    path: /a\n    response: {status: »200.5}\n",
			key: "[0].endpoint.response.status", says: []string{"200.5", "an integer"}},
		{name: "a list for headers", config: "- endpoint:\n    path: /a\n    response: {headers: »[a]}\n",
			key: "[0].endpoint.response.headers", says: []string{"a map"}},
		{name: "a map for the value of a header", config: "- endpoint:\n    path: /a\n    response: {headers: {X-A: »{b: c}}}\n",
			key: "[0].endpoint.response.headers.X-A", says: []string{"a map", "a list"}},
		{name: "a text for a switch", config: "- endpoint:\n    path: /a\n    response: {template: »never}\n",
			key: "[0].endpoint.response.template", says: []string{"never", "a boolean"}},
		{name: "a list for an external body", config: "- endpoint:\n    path: /a\n    response: {external-body: »[]}\n",
			key: "[0].endpoint.response.external-body", says: []string{"a map"}},
		{name: "a map for the document", config: "»path: /a\nresponse: {}\n", says: []string{"a map", "a list"}},
		{name: "a text for an item", config: "- endpoint: {path: /a, response: {}}\n- »hello\n", key: "[1]", says: []string{"endpoint"}},
		{name: "an item without a key", config: "- »{}\n", key: "[0]", says: []string{"endpoint"}},
	})
}

func TestConfig_AWrongValueIsReportedWithWhatIsAccepted(t *testing.T) {
	t.Parallel()
	testMistakes(t, []mistake{
		{name: "a status below 200", config: "- endpoint:\n    path: /a\n    response: {status: »199}\n",
			key: "[0].endpoint.response.status", says: []string{"199", "200", "599"}},
		{name: "a status above 599", config: "- endpoint:\n    path: /a\n    response: {status: »600}\n",
			key: "[0].endpoint.response.status", says: []string{"600", "200", "599"}},
		{name: "a status of 0", config: "- endpoint:\n    path: /a\n    response: {status: »0}\n",
			key: "[0].endpoint.response.status", says: []string{"200", "599"}},
		{name: "an invalid method", config: "- endpoint:\n    method: »DELET\n    path: /a\n    response: {}\n",
			key: "[0].endpoint.method", says: []string{"DELET", `did you mean "DELETE"`, "GET", "OPTIONS"}},
		{name: "a method that is not served", config: "- endpoint:\n    method: »TRACE\n    path: /a\n    response: {}\n",
			key: "[0].endpoint.method", says: []string{"TRACE", "PATCH"}},
		{name: "a path without its slash", config: "- endpoint:\n    path: »users/:id\n    response: {}\n",
			key: "[0].endpoint.path", says: []string{"/"}},
		{name: "a parameter of an unknown type", config: "- endpoint:\n    path: /users/:id|»integr\n    response: {}\n",
			key: "[0].endpoint.path", says: []string{`"integr"`, "int", "uuid", "date"}},
		{name: "a parameter without a name", config: "- endpoint:\n    path: ›'/users/:'\n    response: {}\n",
			key: "[0].endpoint.path", says: []string{"name"}},
		{name: "a parameter whose name contains a dot", config: "- endpoint:\n    path: ›/users/:a.b\n    response: {}\n",
			key: "[0].endpoint.path", says: []string{"a.b"}},
		{name: "a host that is a URL", config: "- endpoint:\n    host: »http://example.com\n    path: /a\n    response: {}\n",
			key: "[0].endpoint.host", says: []string{"http://example.com"}},
		{name: "a host with a star elsewhere", config: "- endpoint:\n    host: »api.*.com\n    path: /a\n    response: {}\n",
			key: "[0].endpoint.host", says: []string{"api.*.com", "*.example.com"}},
		{name: "two types", config: "- endpoint:\n    path: /a\n    response: {headers: {Content-Type: »[text/html, text/css]}}\n",
			key: "[0].endpoint.response.headers.Content-Type", says: []string{"several values", "expected one"}},
		{name: "an unknown provider", config: "- endpoint:\n    path: /a\n    response: {external-body: {provider: »csv, path: book.xlsx}}\n",
			key: "[0].endpoint.response.external-body.provider", says: []string{"csv", "json", "xlsx"}},
	})
}

func TestConfig_AMissingKeyIsReported(t *testing.T) {
	t.Parallel()
	testMistakes(t, []mistake{
		{name: "the path", config: "- endpoint: {path: /a, response: {}}\n- endpoint:\n    ›method: GET\n    response: {}\n",
			key: "[1].endpoint", says: []string{"path"}},
		{name: "the response", config: "- endpoint:\n    ›path: /a\n", key: "[0].endpoint", says: []string{"response"}},
		{name: "the path of an external body", config: "- endpoint:\n    path: /a\n    response:\n      external-body: ›{provider: json}\n",
			key: "[0].endpoint.response.external-body", says: []string{"path"}},
		{name: "the sheet name of a workbook", config: "- endpoint:\n    path: /a\n    response:\n      external-body: ›{provider: xlsx, path: book.xlsx}\n",
			says: []string{"[0].endpoint.response.external-body", "sheet-name"}},
	})
}

func TestConfig_ABadConditionOrTemplateIsReported(t *testing.T) {
	t.Parallel()
	testMistakes(t, []mistake{
		{name: "a condition that breaks off", config: "- endpoint:\n    path: /a\n    if: ›query-params.page =\n    response: {}\n", key: "[0].endpoint.if"},
		{name: "a condition with an unknown operator", config: "- endpoint:\n    path: /a\n    if: ›query-params.page === 2\n    response: {}\n", key: "[0].endpoint.if"},
		{name: "a condition with a parenthesis that is never closed", config: "- endpoint:\n    path: /a\n    if: ›(query-params.page = 2\n    response: {}\n", key: "[0].endpoint.if"},
		{name: "a tag that is never closed", config: "- endpoint:\n    path: /a\n    response:\n      body: 'hello ›{{ query-params.name'\n", key: "[0].endpoint.response.body"},
		{name: "a block that is never closed", config: "- endpoint:\n    path: /a\n    response:\n      body: '›{% if query-params.a %}yes'\n", key: "[0].endpoint.response.body"},
		{name: "an unknown variable", config: "- endpoint:\n    path: /a\n    response:\n      body: 'hello ›{{ query-parms.name }}'\n", key: "[0].endpoint.response.body", says: []string{"query-parms"}},
		{name: "an unknown filter", config: "- endpoint:\n    path: /a\n    response:\n      body: 'hello ›{{ query-params.name|uper }}'\n", key: "[0].endpoint.response.body", says: []string{"uper"}},
		{name: "an unknown function in a header", config: "- endpoint:\n    path: /a\n    response:\n      headers: {X-N: '›{{ random-in(1, 2) }}'}\n", key: "[0].endpoint.response.headers.X-N", says: []string{"random-in"}},
		{name: "in a map for a body", config: "- endpoint:\n    path: /a\n    response:\n      ›body: {name: '{{ nobody }}'}\n", key: "[0].endpoint.response.body", says: []string{"nobody"}},
	})
}

func TestConfig_AMissingExternalFileOrSheetIsReported(t *testing.T) {
	t.Parallel()
	testMistakes(t, []mistake{
		{name: "a JSON file", config: "- endpoint:\n    path: /a\n    response: {external-body: {provider: json, path: »nowhere.json}}\n",
			key: "[0].endpoint.response.external-body.path", says: []string{"nowhere.json"}},
		{name: "a workbook", config: "- endpoint:\n    path: /a\n    response: {external-body: {provider: xlsx, path: »nowhere.xlsx, sheet-name: Langs}}\n",
			key: "[0].endpoint.response.external-body.path", says: []string{"nowhere.xlsx"}},
		{name: "a sheet", config: "- endpoint:\n    path: /a\n    response: {external-body: {provider: xlsx, path: book.xlsx, sheet-name: »Lings}}\n",
			key: "[0].endpoint.response.external-body.sheet-name", says: []string{"Lings", "Langs"}},
	})
}

// A path may turn out to be a file as soon as it is declared, or only once an environment variable
// is known. Either way, the error is reported once.
func TestConfig_ASettingOfURLsForAFileIsReportedOnce(t *testing.T) {
	t.Parallel()
	const key = "[0].endpoint.response.external-body.timeout"
	testMistakes(t, []mistake{
		{name: "a file", config: "- endpoint:\n    path: /a\n    response: {external-body: {provider: json, path: /dev/null/a, timeout: »2s}}\n",
			key: key, says: []string{"this path is a file"}},
		{name: "a file with placeholders", config: "- endpoint:\n    path: /:a\n    response: {external-body: {provider: json, path: 'a/{{path-params.a}}', timeout: »2s}}\n",
			key: key, says: []string{"this path is a file"}},
		{name: "what a variable makes a file", config: "- endpoint:\n    path: /:a\n    response: {external-body: »{provider: json, path: '{{env.HOME}}/{{path-params.a}}', timeout: 2s}}\n",
			key: key, says: []string{"this path is a file"}},
	})
}

func TestConfig_ADuplicateKeyIsReported(t *testing.T) {
	t.Parallel()
	testMistakes(t, []mistake{
		{name: "of an endpoint", config: "- endpoint:\n    path: /a\n    response: {}\n    »path: /b\n", key: "[0].endpoint.path", says: []string{`"path"`}},
		{name: "of a map that is served", config: "- endpoint:\n    path: /a\n    response: {body: {x: 1, »x: 2}}\n", key: "[0].endpoint.response.body.x", says: []string{`"x"`}},
		{name: "of a JSON file", file: "mock.json", config: `[{"endpoint": {"path": "/a", "response": {"status": 200,` + "\n" + `›"status": 201}}}]`,
			key: "[0].endpoint.response.status", says: []string{`"status"`}},
	})
}

func TestConfig_AFileThatCannotBeReadIsReportedByItsName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, says string }{
		{"it does not exist", "nowhere.yml", "no such file"},
		{"its extension is not read", "mock.txt", ".yml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			harness.WriteFile(t, dir, "mock.txt", "[]")
			file := filepath.Join(dir, c.file)
			said := refusalOf(t, file)
			if len(said) != 1 || !strings.HasPrefix(said[0], file+": ") || !strings.Contains(said[0], c.says) {
				t.Errorf("got %q, want one line about %s that contains %q", said, file, c.says)
			}
		})
	}
}

func TestConfig_AllMistakesAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "mock.yml", `- endpoint:
    path: /users/:id|integr
    if: query-params.page =
    response:
      status: 99
      headers: {X-A: "{{ nobody }}"}
      body: "{{ nobody-else }}"
- endpoint:
    path: /b
    response: {external-body: {provider: json, path: missing.json}}
- endpoint:
    path: /c
    sumary: x
    response: {}
`)
	mocks := harness.WriteFile(t, dir, "more.yml", "- endpoint: {path: nowhere, response: {}}\n")
	said := refusalOf(t, file, "-m", mocks)
	want := []string{
		file + ":2:", "[0].endpoint.path",
		file + ":3:", "[0].endpoint.if",
		file + ":5:", "[0].endpoint.response.status",
		file + ":6:", "[0].endpoint.response.headers.X-A",
		file + ":7:", "[0].endpoint.response.body",
		file + ":10:", "[1].endpoint.response.external-body.path",
		file + ":13:", "[2].endpoint.sumary",
		mocks + ":1:", "[0].endpoint.path",
	}
	if len(said) != len(want)/2 {
		t.Errorf("got %d lines, want %d:\n%s", len(said), len(want)/2, strings.Join(said, "\n"))
	}
	for i := 0; i < len(want); i += 2 {
		found := false
		for _, line := range said {
			found = found || strings.HasPrefix(line, want[i]) && strings.Contains(line, " "+want[i+1]+": ")
		}
		if !found {
			t.Errorf("no line begins with %s and is about %s:\n%s", want[i], want[i+1], strings.Join(said, "\n"))
		}
	}
}

func TestConfig_TwentyMistakesAreShownAndTheRestCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mistakes, lines int
		last            string
	}{
		{20, 20, "mock.yml:20:"},
		{21, 21, "1 more"},
		{57, 21, "37 more"},
	} {
		t.Run(fmt.Sprint(c.mistakes), func(t *testing.T) {
			t.Parallel()
			file := harness.WriteFile(t, t.TempDir(), "mock.yml", strings.Repeat("- endpoint: {path: /a, response: {status: 99}}\n", c.mistakes))
			said := refusalOf(t, file)
			if len(said) != c.lines || !strings.Contains(said[len(said)-1], c.last) {
				t.Fatalf("got %d lines, want %d, the last with %q:\n%s", len(said), c.lines, c.last, strings.Join(said, "\n"))
			}
			for i := range 20 {
				if want := fmt.Sprintf("%s:%d:", file, i+1); !strings.HasPrefix(said[i], want) {
					t.Errorf("line %d is %q, want %s…", i+1, said[i], want)
				}
			}
		})
	}
}

func TestConfig_ValidateAcceptsWhatIsRightWithoutServingIt(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", "- endpoint: {path: /a, response: {}}\n")
	code, stdout, stderr := Refused(t, nil, "validate", "-c", file)
	if code != 0 || stderr != "" || !strings.Contains(stdout, "valid") {
		t.Errorf("got exit code %d, standard output %q, standard error %q; want 0, a statement that the configuration is valid, and nothing", code, stdout, stderr)
	}
	if strings.Contains(stdout, "listening") {
		t.Errorf("validate starts to serve: %s", stdout)
	}
}

func TestConfig_WarningsAreShownAndTheConfigurationIsServed(t *testing.T) {
	t.Parallel()
	for _, c := range []mistake{
		{name: "a declared Content-Length", config: "- endpoint:\n    path: /a\n    response: {headers: {›Content-Length: 3}, body: fine}\n",
			key: "[0].endpoint.response.headers.Content-Length"},
		{name: "a declared Transfer-Encoding", config: "- endpoint:\n    path: /a\n    response: {headers: {›transfer-encoding: chunked}, body: fine}\n",
			key: "[0].endpoint.response.headers.transfer-encoding"},
		{name: "a declared Connection", config: "- endpoint:\n    path: /a\n    response: {headers: {›Connection: close}, body: fine}\n",
			key: "[0].endpoint.response.headers.Connection"},
		{name: "a path with a query", config: "- endpoint:\n    path: ›/a?page=1\n    response: {body: fine}\n",
			key: "[0].endpoint.path", says: []string{"?page=1"}},
		{name: "a parameter of OpenAPI", config: "- endpoint: {path: /a, response: {body: fine}}\n- endpoint:\n    path: /a/›{id}\n    response: {}\n",
			key: "[1].endpoint.path", says: []string{"{id}", "/a/:id"}},
		{name: "a path parameter that the path does not declare", config: "- endpoint:\n    path: /a\n    response: {body: '›fine{{path-params.id}}'}\n",
			key: "[0].endpoint.response.body", says: []string{"id"}},
		{name: "an endpoint that is never reached", config: "- endpoint: {path: /a, response: {body: fine}}\n- endpoint:\n    ›path: /a\n    response: {body: never}\n",
			key: "[1].endpoint", says: []string{"GET /a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config, line, _ := c.unmarked()
			file := harness.WriteFile(t, t.TempDir(), "mock.yml", config)
			parts := append([]string{file + ":" + line + ":", c.key}, c.says...)
			code, stdout, _ := Refused(t, nil, "validate", "-c", file)
			if code != 0 || !containsAll(stdout, append(parts, "warning")) || strings.Count(stdout, file) != 1+strings.Count(stdout, "shadowed by") {
				t.Errorf("validate: got exit code %d and\n%s\nwant 0 and one warning that contains %q", code, stdout, parts)
			}
			p := Start(t, "-c", file)
			p.WaitLine(0, append(parts, "warning")...)
			p.Get("/a").Want(t, 200, "fine")
		})
	}
}

func TestConfig_SeveralYAMLDocumentsAreJoined(t *testing.T) {
	t.Parallel()
	p := Serving(t, `%YAML 1.1
---
- endpoint: {path: /first, response: {body: one}}
- endpoint: {path: /second, response: {body: two}}
---
# an empty document is no document
---
- endpoint: {path: /third, response: {body: three}}
...
`)
	p.Get("/first").Want(t, 200, "one")
	p.Get("/second").Want(t, 200, "two")
	p.Get("/third").Want(t, 200, "three")

	mistake{name: "an error in a later document", config: "- endpoint: {path: /a, response: {}}\n---\n- endpoint:\n    path: /b\n    response: {status: »1}\n",
		key: "[1].endpoint.response.status"}.reported(t)
	mistake{name: "a duplicate key of a later document", config: "- endpoint: {path: /a, response: {}}\n---\n- endpoint: {path: /b, response: {}, »path: /c}\n",
		key: "[1].endpoint.path"}.reported(t)
}

func TestConfig_TheReaderIsChosenByExtension(t *testing.T) {
	t.Parallel()
	const asJSON = `[{"endpoint": {"path": "/a", "response": {"body": "fine"}}}]`
	const asYAML = "- endpoint:\n    path: /a\n    response:\n      body: fine\n"
	for name, content := range map[string]string{
		"mock.yml": asYAML, "mock.yaml": asYAML, "mock.json": asJSON, "json.yml": asJSON, "yaml.json": asYAML,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Start(t, "-c", harness.WriteFile(t, t.TempDir(), name, content))
			p.Get("/a").Want(t, 200, "fine")
		})
	}
}

func TestConfig_EscapesOfAJSONFileAreUnderstood(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.json", `[
  {"endpoint": {"path": "/emoji", "response": {"body": "smile \ud83d\ude00 \u00fc \/ \u0041"}}},
  {"endpoint": {"path": "/lines", "response": {"body": "a\tb\r\nc\"d\\"}}},
  {"endpoint": {"path": "/value", "response": {"body": {"face": "\uD83D\uDE00", "big": 12345678901234567890, "small": 1.10}}}}
]`)
	p := Start(t, "-c", file)
	p.Get("/emoji").Want(t, 200, "smile 😀 ü / A")
	p.Get("/lines").Want(t, 200, "a\tb\r\nc\"d\\")
	p.Get("/value").Want(t, 200, `{"face":"😀","big":12345678901234567890,"small":1.10}`)
}

func TestConfig_AnchorsAndMergeKeysWork(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: &base
    path: /base
    response: &answer
      status: 201
      headers: &headers {X-Base: "yes", X-Other: base}
      body: base
- endpoint:
    <<: *base
    path: /same
- endpoint:
    path: /answer
    response:
      <<: *answer
      body: own
      headers: {<<: [{X-First: "1"}, *headers], X-Other: own}
- endpoint: {path: /alias, response: *answer}
`)
	p.Get("/base").Want(t, 201, "base")
	p.Get("/same").Want(t, 201, "base")
	p.Get("/alias").Want(t, 201, "base")
	a := p.Get("/answer")
	a.Want(t, 201, "own")
	for name, want := range map[string]string{"X-Base": "yes", "X-First": "1", "X-Other": "own"} {
		if got := a.Header.Values(name); !reflect.DeepEqual(got, []string{want}) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestConfig_AMethodIsReadInAnyCase(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {method: post, path: /a, response: {body: lower}}
- endpoint: {method: Put, path: /a, response: {body: title}}
- endpoint: {method: DELETE, path: /a, response: {body: upper}}
`)
	p.Do("POST", "/a", "").Want(t, 200, "lower")
	p.Do("PUT", "/a", "").Want(t, 200, "title")
	p.Do("DELETE", "/a", "").Want(t, 200, "upper")
}

func TestConfig_MethodAndStatusHaveDefaults(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint: {path: /a, response: {body: fine}}
- endpoint: {path: /empty, response: {}}
- endpoint: {path: /least, response: {status: 200, body: x}}
- endpoint: {path: /most, response: {status: 599, body: x}}
`)
	p.Get("/a").Want(t, 200, "fine")
	p.Get("/empty").Want(t, 200, "")
	p.Get("/least").Want(t, 200, "x")
	p.Get("/most").Want(t, 599, "x")
}

func TestConfig_HeaderValuesAreScalarsOrLists(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint:
    path: /a
    response:
      headers:
        X-Text: some text
        X-Number: 42
        X-Decimal: 1.50
        X-Switch: true
        Set-Cookie: [a=1, b=2]
        X-Numbers: [1, 2]
`)
	got := p.Get("/a").Header
	for name, want := range map[string][]string{
		"X-Text": {"some text"}, "X-Number": {"42"}, "X-Decimal": {"1.50"}, "X-Switch": {"true"},
		"Set-Cookie": {"a=1", "b=2"}, "X-Numbers": {"1", "2"},
	} {
		if !reflect.DeepEqual(got.Values(name), want) {
			t.Errorf("%s is %q, want %q", name, got.Values(name), want)
		}
	}
}

func TestConfig_ABodyMayBeAMapOrAListWithPlaceholders(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint:
    path: /map/:name
    response: {body: {hello: "{{path-params.name}}", n: 1, f: 1.50, yes: true, none: null, list: [1, two, {three: 3}]}}
- endpoint:
    path: /list
    response:
      body:
        - a "quoted" text
        - 2
`)
	a := p.Get(`/map/a%22b`)
	a.Want(t, 200, `{"hello":"a\"b","n":1,"f":1.50,"yes":true,"none":null,"list":[1,"two",{"three":3}]}`)
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q, want application/json", got)
	}
	p.Get("/list").Want(t, 200, `["a \"quoted\" text",2]`)
}

func TestConfig_KeysThatOnlyDocumentAreAccepted(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint:
    method: POST
    path: /a
    query: {page: int, name: string}
    body: {title: an example, count: 3}
    tag: tasks
    summary: Creates a task
    description: |
      At length.
    router-name: create-task
    response: {body: fine}
- endpoint:
    path: /b
    body: '{"as": "text"}'
    tag: [tasks, more]
    response: {body: fine too}
`)
	p.Do("POST", "/a", "").Want(t, 200, "fine")
	p.Get("/b").Want(t, 200, "fine too")
}

func TestConfig_AnEmptyListIsServed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mock.yml", "mock.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Start(t, "-c", harness.WriteFile(t, t.TempDir(), name, "[]"))
			a := p.Get("/a")
			var shape struct{ Code string }
			if err := json.Unmarshal([]byte(a.Body), &shape); a.Status != 404 || err != nil || shape.Code != "endpoint_not_found" {
				t.Errorf("got %d %s, want 404 with code endpoint_not_found", a.Status, a.Body)
			}
		})
	}
}
