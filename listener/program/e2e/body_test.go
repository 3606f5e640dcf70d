package e2e_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/xuri/excelize/v2"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// untilServed requests a path repeatedly until the answer is the expected one.
func untilServed(p *Process, path string, status int, body string) {
	p.T.Helper()
	harness.Until(p.T, fmt.Sprintf("%s is answered with %d %q", path, status, body), func() bool {
		a := p.Get(path)
		return a.Status == status && (body == "" || a.Body == body)
	})
}

// fixed returns an endpoint with an external body.
func fixed(path, external string) string {
	return fmt.Sprintf("- endpoint: {path: %s, response: {external-body: {%s}}}\n", quoted(path), external)
}

func TestBody_ALocalJSONFileIsServedAndMayHoldPlaceholders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, dir, "data/plain.json", "{ \"a\" :  1.10 }\n")
	harness.WriteFile(t, dir, "data/user.json", `{"id": {{path-params.id}}, "q": "{{query-params.q}}"}`)
	harness.WriteFile(t, dir, "data/raw.json", `{"id": "{{path-params.id}}"}`+"\n")
	harness.WriteFile(t, dir, "data/a b.json", `"blank"`)
	harness.WriteFile(t, dir, "data/7.json", `{"seven": "{{method}}"}`)
	absolute := harness.WriteFile(t, t.TempDir(), "absolute.json", `"absolute"`)
	p := Start(t, "-c", harness.WriteFile(t, dir, "mock.yml", fixed("/plain", "provider: json, path: data/plain.json")+
		fixed("/user/:id", "provider: json, path: ./data/user.json")+
		fixed("/absolute", "provider: json, path: "+absolute)+
		fixed("/by/:id", `provider: json, path: "data/{{path-params.id}}.json"`)+`
- endpoint: {path: "/raw/:id", response: {template: false, external-body: {provider: json, path: data/raw.json}}}
- endpoint: {path: "/status/:id", response: {status: 202, headers: {X-Id: "{{path-params.id}}"}, external-body: {provider: json, path: data/user.json}}}
`))
	p.Get("/plain").Want(t, 200, "{ \"a\" :  1.10 }\n")
	p.Get("/user/7?q=%22").Want(t, 200, `{"id": 7, "q": "\""}`)
	p.Get("/user/x").Want(t, 200, `{"id": "x", "q": ""}`)
	p.Get("/raw/7").Want(t, 200, `{"id": "{{path-params.id}}"}`+"\n")
	p.Get("/absolute").Want(t, 200, `"absolute"`)
	p.Get("/by/7").Want(t, 200, `{"seven": "GET"}`)
	p.Get("/by/a%20b").Want(t, 200, `"blank"`)
	a := p.Get("/status/7")
	a.Want(t, 202, `{"id": 7, "q": ""}`)
	if a.Header.Get("X-Id") != "7" {
		t.Errorf("got headers %v", a.Header)
	}
	if a := p.Do("HEAD", "/plain", ""); a.Status != 200 || a.Length != 16 || a.Body != "" {
		t.Errorf("HEAD: got %d with length %d", a.Status, a.Length)
	}
}

func TestBody_ARelativePathIsLookedUpNextToTheConfigurationThenInTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	dir, working := t.TempDir(), t.TempDir()
	harness.WriteFile(t, dir, "both.json", `"beside"`)
	harness.WriteFile(t, working, "both.json", `"working"`)
	harness.WriteFile(t, working, "one.json", `"working"`)
	harness.WriteFile(t, working, "d/one.json", `"working"`)
	file := harness.WriteFile(t, dir, "mock.yml", fixed("/both", "provider: json, path: both.json")+
		fixed("/one", "provider: json, path: one.json")+
		fixed("/by/:id", `provider: json, path: "d/{{path-params.id}}.json"`))
	p := LaunchIn(t, working, nil, "-c", file).Listening()
	p.Get("/both").Want(t, 200, `"beside"`)
	p.Get("/one").Want(t, 200, `"working"`)
	p.Get("/by/one").Want(t, 200, `"working"`)
}

func TestBody_WhatCannotBeServedIsFoundAtLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	MakePipe(t, filepath.Join(dir, "pipe"))
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	harness.WriteFile(t, dir, "broken.xlsx", "this is no workbook")
	harness.WriteFile(t, dir, "bad.json", "{\n  \"a\": {{nobody}}\n}\n")
	spreadsheet(t, filepath.Join(dir, "good.xlsx"), func(_ *excelize.File) {})
	cases := []struct{ name, external, message string }{
		{"a missing file", "provider: json, path: missing.json", `missing.json`},
		{"a missing workbook", "provider: xlsx, path: missing.xlsx, sheet-name: People", `missing.xlsx`},
		{"a missing sheet", "provider: xlsx, path: good.xlsx, sheet-name: Peeple", `Peeple`},
		{"a directory", "provider: json, path: directory", "regular file"},
		{"a pipe", "provider: json, path: pipe", "regular file"},
		{"a device", "provider: json, path: /dev/zero", "regular file"},
		{"a link to a device", "provider: json, path: link", "regular file"},
		{"a workbook that is a pipe", "provider: xlsx, path: pipe, sheet-name: People", "regular file"},
		{"a workbook that is a device", "provider: xlsx, path: /dev/zero, sheet-name: People", "regular file"},
		{"a file that is not a workbook", "provider: xlsx, path: broken.xlsx, sheet-name: People", "broken.xlsx"},
		{"a sheet without a name", "provider: xlsx, path: good.xlsx", "sheet-name"},
		{"a workbook at a URL", "provider: xlsx, path: 'http://a.test/a.xlsx', sheet-name: People", "URL"},
		{"another provider", "provider: jsn, path: bad.json", "json"},
		{"another scheme", "provider: json, path: 'ftp://a.test/a.json'", "ftp"},
		{"a URL without a host", "provider: json, path: 'http:///a.json'", "host"},
		{"a URL with an impossible port", "provider: json, path: 'http://a:99999/x'", `the port is "99999"; expected 1 to 65535`},
		{"an impossible port between placeholders", "provider: json, path: 'http://{{host}}:0/{{path}}'", `the port is "0"`},
	}
	var b strings.Builder
	for i, c := range cases {
		b.WriteString(fixed(fmt.Sprintf("/c%d", i), c.external))
	}
	file := harness.WriteFile(t, dir, "mock.yml", b.String())
	code, _, stderr := Refused(t, nil, "-c", file)
	if code != 2 {
		t.Errorf("got exit code %d, want 2", code)
	}
	for i, c := range cases {
		place, key := fmt.Sprintf("mock.yml:%d:", i+1), fmt.Sprintf("[%d].endpoint.response.external-body", i)
		if !slices.ContainsFunc(strings.Split(stderr, "\n"), func(line string) bool { return containsAll(line, []string{place, key, c.message}) }) {
			t.Errorf("%s: no line contains %q, %q and %q", c.name, place, key, c.message)
		}
	}
	code, _, stderr = Refused(t, nil, "-c", harness.WriteFile(t, dir, "second.yml", fixed("/bad", "provider: json, path: bad.json")))
	if code != 2 || !containsAll(stderr, []string{"bad.json:2:10: ", "nobody"}) {
		t.Errorf("an error inside a file: got %d %q, want its own place", code, stderr)
	}
}

func TestBody_AFixedFileThatDisappearsIs500UntilItIsBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "data.json", `{"v": 1}`)
	book := filepath.Join(dir, "book.xlsx")
	spreadsheet(t, book, func(f *excelize.File) { cells(t, f, "A1", "k", "A2", "v") })
	p := Start(t, "-c", harness.WriteFile(t, dir, "mock.yml", fixed("/json", "provider: json, path: data.json")+
		fixed("/xlsx", "provider: xlsx, path: book.xlsx, sheet-name: People")))
	p.Get("/json").Want(t, 200, `{"v": 1}`)
	p.Get("/xlsx").Want(t, 200, `[{"k":"v"}]`)
	for _, f := range []string{file, book} {
		if err := os.Rename(f, f+".away"); err != nil {
			t.Fatal(err)
		}
	}
	untilServed(p, "/json", 500, "")
	if m := wantFailure(p.Get("/json"), t, 500, "Body unavailable", "body_unavailable"); !strings.Contains(m, "data.json") {
		t.Errorf("the file is not named: %q", m)
	}
	p.WaitLine(0, "server error", "body_unavailable", "data.json")
	untilServed(p, "/xlsx", 500, "")
	if m := wantFailure(p.Get("/xlsx"), t, 500, "Body unavailable", "body_unavailable"); !strings.Contains(m, "book.xlsx") {
		t.Errorf("the workbook is not named: %q", m)
	}
	for _, f := range []string{file, book} {
		if err := os.Rename(f+".away", f); err != nil {
			t.Fatal(err)
		}
	}
	untilServed(p, "/json", 200, `{"v": 1}`)
	untilServed(p, "/xlsx", 200, `[{"k":"v"}]`)
}

func TestBody_AChangeOnDiskIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "data.json", `{"v": 1}`)
	harness.WriteFile(t, dir, "by/a.json", `"a1"`)
	book := filepath.Join(dir, "book.xlsx")
	spreadsheet(t, book, func(f *excelize.File) { cells(t, f, "A1", "k", "A2", "v1") })
	p := Start(t, "-c", harness.WriteFile(t, dir, "mock.yml", fixed("/json", "provider: json, path: data.json")+
		fixed("/by/:id", `provider: json, path: "by/{{path-params.id}}.json"`)+
		fixed("/xlsx", "provider: xlsx, path: book.xlsx, sheet-name: People")))
	p.Get("/json").Want(t, 200, `{"v": 1}`)
	p.Get("/by/a").Want(t, 200, `"a1"`)
	wantFailure(p.Get("/by/b"), t, 404, "No such body", "body_not_found")
	p.Get("/xlsx").Want(t, 200, `[{"k":"v1"}]`)

	harness.WriteFile(t, dir, "data.json", `{"v": 2}`) // the file keeps its size
	untilServed(p, "/json", 200, `{"v": 2}`)
	if err := os.Rename(harness.WriteFile(t, dir, "new.json", `{"method": "{{method}}"}`), file); err != nil {
		t.Fatal(err)
	}
	untilServed(p, "/json", 200, `{"method": "GET"}`)
	harness.WriteFile(t, dir, "by/a.json", `"a2"`)
	harness.WriteFile(t, dir, "by/b.json", `"b"`)
	untilServed(p, "/by/a", 200, `"a2"`)
	untilServed(p, "/by/b", 200, `"b"`)
	spreadsheet(t, book, func(f *excelize.File) { cells(t, f, "A1", "k", "A2", "v2") })
	untilServed(p, "/xlsx", 200, `[{"k":"v2"}]`)
	// If a later version of the file has an error, only an error response is served.
	harness.WriteFile(t, dir, "data.json", `{"v": {{nobody}}}`)
	untilServed(p, "/json", 500, "")
	if m := wantFailure(p.Get("/json"), t, 500, "Body unavailable", "body_unavailable"); !strings.Contains(m, "nobody") {
		t.Errorf("the error is not reported: %q", m)
	}
}

func TestBody_ARenderedPathDoesNotLeaveItsDirectory(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "config")
	const secret = "TOP-SECRET"
	outside := harness.WriteFile(t, top, "secret.json", `"`+secret+`"`)
	harness.WriteFile(t, dir, "secret.json", `"`+secret+`"`) // next to the directory data, so outside it
	harness.WriteFile(t, dir, "data/a.json", `"a"`)
	harness.WriteFile(t, dir, "data/sub/b.json", `"b"`)
	harness.WriteFile(t, dir, "data/c..d.json", `"dots"`)
	harness.WriteFile(t, dir, "bare.json", `"bare"`)
	spreadsheet(t, filepath.Join(top, "secret.xlsx"), func(f *excelize.File) { cells(t, f, "A1", "k", "A2", secret) })
	spreadsheet(t, filepath.Join(dir, "data", "book.xlsx"), func(f *excelize.File) { cells(t, f, "A1", "k", "A2", "v") })
	for link, target := range map[string]string{
		"data/link.json": outside, "data/relative.json": "../../secret.json", "data/out": top,
		"data/dots": "..", "data/link.xlsx": filepath.Join(top, "secret.xlsx"), "out": top, "data/inside.json": "sub/b.json",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	MakePipe(t, filepath.Join(dir, "data", "pipe"))
	p := Start(t, "-c", harness.WriteFile(t, dir, "mock.yml",
		fixed("/path/:f", `provider: json, path: "data/{{path-params.f}}"`)+
			fixed("/rest/*f", `provider: json, path: "data/{{path-params.f}}"`)+
			fixed("/query", `provider: json, path: "data/{{query-params.f}}"`)+
			fixed("/part", `provider: json, path: "data/c{{query-params.f}}"`)+
			fixed("/bare", `provider: json, path: "{{query-params.f}}"`)+
			fixed("/dir", `provider: json, path: "data/{{query-params.f}}/b.json"`)+
			fixed("/book", `provider: xlsx, path: "data/{{query-params.f}}", sheet-name: People`)))
	for target, want := range map[string]string{
		"/path/a.json": `"a"`, "/path/sub%2fb.json": `"b"`, "/rest/sub/b.json": `"b"`, "/query?f=a.json": `"a"`, "/part?f=..d.json": `"dots"`,
		"/query?f=inside.json": `"b"`, "/bare?f=bare.json": `"bare"`, "/bare?f=data/a.json": `"a"`, "/dir?f=sub": `"b"`, "/book?f=book.xlsx": `[{"k":"v"}]`,
	} {
		p.Get(target).Want(t, 200, want) // otherwise the checks below prove nothing
	}
	escapes := []string{
		"../secret.json", "../../secret.json", "..%2fsecret.json", "%2e%2e%2fsecret.json", "%2e%2e/secret.json", "%2E%2E%2F%2E%2E%2Fsecret.json",
		"sub/../../secret.json", "sub%2f..%2f..%2fsecret.json", "./../secret.json", ".%2f%2e%2e%2fsecret.json", "sub//..//../secret.json",
		"..%5csecret.json", "%2e%2e%5csecret.json", "..\\secret.json", "..%255csecret.json", "..%252fsecret.json",
		url.PathEscape(outside), outside, "/" + outside, "%2f" + url.PathEscape(outside), "file://" + outside,
		"link.json", "relative.json", "out/secret.json", "out%2fsecret.json", "dots/secret.json", "out/config/../secret.json",
		"a.json/../../secret.json", "a.json%00", "%00", "../secret.json%00.json", "..", ".", "%2e%2e", "", "sub", "pipe", "/dev/zero", "%2fdev%2fzero",
		"..%c0%afsecret.json", "%c0%ae%c0%ae/secret.json", "....//secret.json", strings.Repeat("../", 30) + outside, strings.Repeat("x", 5000),
		"%2e%2e%2fsecret.xlsx", "link.xlsx", "mock.yml",
	}
	for _, escape := range escapes {
		for _, target := range []string{"/path/" + escape, "/rest/" + escape, "/query?f=" + escape, "/part?f=" + escape, "/dir?f=" + escape, "/book?f=" + escape} {
			if target == "/dir?f=sub" {
				continue // that directory exists
			}
			m := fetch(p, "GET", strings.ReplaceAll(target, " ", "%20"), "")
			if !strings.HasPrefix(m.status, "HTTP/1.1 404 ") || strings.Contains(m.body, secret) {
				t.Errorf("%s: got %q %.200q, want 404", target, m.status, m.body)
			}
		}
	}
	for _, escape := range escapes {
		if slices.Contains([]string{"secret.json", "mock.yml"}, escape) {
			continue
		}
		if m := fetch(p, "GET", "/bare?f=../"+escape, ""); !strings.HasPrefix(m.status, "HTTP/1.1 404 ") {
			t.Errorf("/bare?f=../%s: got %q %.200q, want 404", escape, m.status, m.body)
		}
	}
	for _, escape := range []string{outside, "out/secret.json", "../secret.json", "data/../../secret.json", "data/link.json"} {
		wantFailure(p.Get("/bare?f="+escape), t, 404, "No such body", "body_not_found")
	}
}

// spreadsheet creates a workbook with the sheet People.
func spreadsheet(t *testing.T, path string, fill func(f *excelize.File)) {
	t.Helper()
	f := excelize.NewFile()
	if err := f.SetSheetName("Sheet1", "People"); err != nil {
		t.Fatal(err)
	}
	fill(f)
	if err := f.SaveAs(path); err != nil {
		t.Fatal(err)
	}
}

// cells sets cells of People, given as name, value, name, value, …
func cells(t *testing.T, f *excelize.File, pairs ...any) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if err := f.SetCellValue("People", pairs[i].(string), pairs[i+1]); err != nil {
			t.Fatal(err)
		}
	}
}

// retype turns the cached values of formulas into numbers, as a spreadsheet program stores them:
// excelize marks them as text.
func retype(t *testing.T, path string) {
	t.Helper()
	from, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	for _, f := range from.File {
		content, err := fs.ReadFile(from, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		w, err := to.Create(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(bytes.ReplaceAll(content, []byte(` t="str"><f>`), []byte(`><f>`))) // a write to memory
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	harness.WriteFile(t, filepath.Dir(path), filepath.Base(path), b.String())
}

func TestBody_ASheetBecomesAListOfObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spreadsheet(t, filepath.Join(dir, "people.xlsx"), func(f *excelize.File) {
		cells(t, f, "A1", " name ", "B1", "langs", "D1", "n", "E1", "yes", "F1", "day", "G1", "sum", "H1", "n", "I1", "n", "J1", "at",
			"A2", "Ann \"A\"", "B2", "go, clj", "C2", "no key above", "D2", 1.5, "E2", true, "H2", -3, "I2", 12345678,
			"C3", "no key above, so not a row",
			"A5", "Bob", "E5", false, "D5", "0042")
		for cell, value := range map[string]struct {
			format string
			at     time.Time
		}{
			"F2": {"yyyy-mm-dd", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)},
			"J2": {"yyyy-mm-dd hh:mm:ss", time.Date(2024, 2, 29, 13, 30, 15, 0, time.UTC)},
		} {
			cells(t, f, cell, value.at)
			style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &value.format})
			if err != nil {
				t.Fatal(err)
			}
			if err := f.SetCellStyle("People", cell, cell, style); err != nil {
				t.Fatal(err)
			}
		}
		cells(t, f, "G2", 42) // the value of the formula when the workbook was saved
		if err := f.SetCellFormula("People", "G2", "40+2"); err != nil {
			t.Fatal(err)
		}
		if _, err := f.NewSheet("Other"); err != nil {
			t.Fatal(err)
		}
		if err := f.SetSheetRow("Other", "A1", &[]any{"k"}); err != nil {
			t.Fatal(err)
		}
	})
	retype(t, filepath.Join(dir, "people.xlsx"))
	p := Start(t, "-c", harness.WriteFile(t, dir, "mock.yml", fixed("/people", "provider: xlsx, path: people.xlsx, sheet-name: People")+
		fixed("/other", "provider: xlsx, path: people.xlsx, sheet-name: Other")+
		fixed("/by/:book", `provider: xlsx, path: "{{path-params.book}}.xlsx", sheet-name: People`)))
	const want = `[{"name":"Ann \"A\"","langs":"go, clj","n":1.5,"yes":true,"day":"2024-02-29","sum":42,"n_2":-3,"n_3":12345678,"at":"2024-02-29T13:30:15"},` +
		`{"name":"Bob","langs":null,"n":"0042","yes":false,"day":null,"sum":null,"n_2":null,"n_3":null,"at":null}]`
	a := p.Get("/people")
	a.Want(t, 200, want)
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("got Content-Type %q", got)
	}
	p.Get("/other").Want(t, 200, "[]") // a sheet with nothing but keys
	p.Get("/by/people").Want(t, 200, want)
	wantFailure(p.Get("/by/nobody"), t, 404, "No such body", "body_not_found")
	p.WaitLine(0, "warning", "mock.yml:1:", "n_2")
}

// origin serves the remote bodies of these tests.
func origin(t *testing.T, responses http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(responses)
	t.Cleanup(func() {
		s.CloseClientConnections() // a failed test may have left a connection waiting
		s.Close()
	})
	return s
}

// hold delays a fetch until then is closed, or until the fetching client has gone.
func hold(r *http.Request, then <-chan struct{}) {
	select {
	case <-then:
	case <-r.Context().Done():
	}
}

func TestBody_RemoteContentIsPassedThrough(t *testing.T) {
	t.Parallel()
	const content = "{ \"a\" : \"{{method}} {% if %}\\u0041\" }\r\n\x00\xff"
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/csv":
			w.Header().Set("Content-Type", "text/csv; charset=x")
		case "/none":
			w.Header()["Content-Type"] = nil
		case "/created":
			w.WriteHeader(201)
		}
		w.Header().Set("X-Upstream", "1")
		_, _ = io.WriteString(w, content)
	})
	p := Serving(t, fixed("/csv", "provider: json, path: '"+up.URL+"/csv'")+
		fixed("/none", "provider: json, path: '"+up.URL+"/none'")+fmt.Sprintf(`
- endpoint: {path: /declared, response: {status: 418, headers: {Content-Type: text/x-mine, X-Mine: "1"}, external-body: {provider: json, path: "%[1]s/csv"}}}
- endpoint: {path: /status, response: {external-body: {provider: json, path: "%[1]s/created"}}}
`, up.URL))
	for _, c := range []struct {
		name, path  string
		status      int
		contentType string
	}{
		{"its Content-Type is passed on", "/csv", 200, "text/csv; charset=x"},
		{"without one it is JSON", "/none", 200, "application/json"},
		{"a declared one wins, and the declared status is answered", "/declared", 418, "text/x-mine"},
		{"the default status is answered, whatever came", "/status", 200, "text/plain; charset=utf-8"},
	} {
		a := p.Get(c.path)
		a.Want(t, c.status, content)
		if got := a.Header.Values("Content-Type"); c.path != "/status" && !slices.Equal(got, []string{c.contentType}) {
			t.Errorf("%s: got Content-Type %q, want %q", c.name, got, c.contentType)
		}
	}
	if a := p.Do("HEAD", "/csv", ""); a.Status != 200 || a.Length != int64(len(content)) {
		t.Errorf("HEAD: got %d with length %d", a.Status, a.Length)
	}
}

func TestBody_ARemotePathMayHoldPlaceholders(t *testing.T) {
	t.Parallel()
	up := origin(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) })
	p := Serving(t, fixed("/u/:id", `provider: json, path: "`+up.URL+`/users/{{path-params.id}}?q={{query-params.q}}&x=1"`)+
		fixed("/from/:host", `provider: json, path: "http://{{path-params.host}}/x"`))
	p.Get("/u/7?q=v").Want(t, 200, "/users/7?q=v&x=1")
	p.Get("/u/a%2Fb%3Fc%23d?q=%26x%3D2%23%20").Want(t, 200, "/users/a%2Fb%3Fc%23d?q=%26x%3D2%23%20&x=1")
	p.Get("/u/..a%2e?q=").Want(t, 200, "/users/..a.?q=&x=1")
	if m := fetch(p, "GET", "/u/%2e%2e?q=", ""); !strings.HasPrefix(m.status, "HTTP/1.1 404 ") {
		t.Errorf("/u/%%2e%%2e: got %q %.200q, want 404: the URL would leave its directory", m.status, m.body)
	}
	m := wantFailure(p.Get("/from/127.0.0.1%3A99999"), t, 502, "Remote body unavailable", "upstream_failed")
	if !containsAll(m, []string{"http://127.0.0.1:99999/x", `the port is "99999"; expected 1 to 65535`}) {
		t.Errorf("got message %q, want it to name the URL and its port", m)
	}
}

func TestBody_RedirectsAreFollowedTenAtMost(t *testing.T) {
	t.Parallel()
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		left, _ := strconv.Atoi(r.URL.Path[1:])
		if left == 0 {
			_, _ = io.WriteString(w, "arrived")
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/%d", left-1), http.StatusFound)
	})
	p := Serving(t, fixed("/via/:n", `provider: json, path: "`+up.URL+`/{{path-params.n}}"`))
	p.Get("/via/1").Want(t, 200, "arrived")
	p.Get("/via/10").Want(t, 200, "arrived")
	if m := wantFailure(p.Get("/via/11"), t, 502, "Remote body unavailable", "upstream_failed"); !containsAll(m, []string{up.URL + "/11", "redirect"}) {
		t.Errorf("got message %q", m)
	}
}

func TestBody_OneFlightPerURLAtATime(t *testing.T) {
	t.Parallel()
	var count, inFlight, most atomic.Int64
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if n := inFlight.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer inFlight.Add(-1)
		count.Add(1)
		arrived <- struct{}{}
		hold(r, release)
		_, _ = io.WriteString(w, "shared")
	})
	p := Serving(t, fixed("/shared", "provider: json, path: '"+up.URL+"/'")+declare("{body: other}"))
	const clients = 30
	responses := make(chan Response, clients)
	var conns []net.Conn
	for range clients {
		conns = append(conns, p.Dial())
	}
	for _, c := range conns {
		if _, err := io.WriteString(c, "GET /shared HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		go func() {
			b, _ := io.ReadAll(c) // an invalid answer fails below
			_, body, _ := strings.Cut(string(b), "\r\n\r\n")
			responses <- Response{Body: body}
		}()
	}
	select {
	case <-arrived:
	case <-time.After(harness.Patience):
		t.Fatal("nothing is fetched")
	}
	for range 10 * clients { // all requests have been sent by now: other requests are served, so these have been read
		p.Get("/r0").Want(t, 200, "other")
	}
	close(release)
	for range clients {
		if a := <-responses; a.Body != "shared" {
			t.Errorf("got %q", a.Body)
		}
	}
	// A request that was read only after the release causes a fetch of its own.
	if most.Load() != 1 || count.Load() > 3 {
		t.Errorf("got %d fetches, %d at once, want 1 for %d requests", count.Load(), most.Load(), clients)
	}
	p.Get("/shared").Want(t, 200, "shared") // without a ttl nothing is kept
	if count.Load() < 2 {
		t.Errorf("got %d fetches after another request, want one more", count.Load())
	}
}

func TestBody_DifferentURLsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	met := make(chan struct{})
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/1" {
			hold(r, met) // met is closed only while this fetch is in flight
		} else {
			close(met)
		}
		_, _ = io.WriteString(w, r.URL.Path)
	})
	p := Serving(t, fixed("/:id", `provider: json, path: "`+up.URL+`/{{path-params.id}}"`))
	first := make(chan Response, 1)
	go func() {
		a, _ := p.Try("GET", "/1", "") // after an error, the check of the answer fails
		first <- a
	}()
	p.Get("/2").Want(t, 200, "/2")
	a := <-first
	a.Want(t, 200, "/1")
}

func TestBody_RemoteFailures(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/404", "/400", "/500", "/503":
			status, _ := strconv.Atoi(r.URL.Path[1:])
			http.Error(w, "SECRET OF UPSTREAM", status)
		case "/silent":
			hold(r, gone)
		case "/stalled":
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
			hold(r, gone)
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		case "/encoded":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "this is no gzip")
		}
	})
	defer close(gone)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unreachable := "http://" + closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	const failed, late = "upstream_failed", "upstream_timeout"
	cases := []struct {
		name, url, more string
		status          int
		code, cause     string
	}{
		{"status 400", up.URL + "/400", "", 502, failed, "400"},
		{"status 404", up.URL + "/404", "", 502, failed, "404"},
		{"status 500", up.URL + "/500", "", 502, failed, "500"},
		{"status 503", up.URL + "/503", "", 502, failed, "503"},
		{"no server is listening", unreachable + "/x", "", 502, failed, "refused"},
		{"a body cut short", up.URL + "/cut", "", 502, failed, "EOF"},
		{"an invalid encoding", up.URL + "/encoded", "", 502, failed, "gzip"},
		{"no answer in time", up.URL + "/silent", ", timeout: 200ms", 504, late, "200ms"},
		{"no complete answer in time", up.URL + "/stalled", ", timeout: 0.2", 504, late, "200ms"},
	}
	var b strings.Builder
	for i, c := range cases {
		b.WriteString(fixed(fmt.Sprintf("/c%d", i), "provider: json, path: '"+c.url+"'"+c.more))
	}
	p := Serving(t, b.String())
	for i, c := range cases {
		title := map[string]string{failed: "Remote body unavailable", late: "Remote body timed out"}[c.code]
		a := p.Get(fmt.Sprintf("/c%d", i))
		if m := wantFailure(a, t, c.status, title, c.code); !containsAll(m, []string{c.url, c.cause}) || strings.Contains(m, "SECRET") {
			t.Errorf("%s: got message %q, want it to name %q and %q", c.name, m, c.url, c.cause)
		}
	}
}

func TestBody_ARemoteBodyOver64MiBIs502(t *testing.T) {
	volume.Only(t)
	t.Parallel()
	const limit = 64 << 20
	chunk := make([]byte, 1<<20)
	var mebibyte bytes.Buffer
	gz := gzip.NewWriter(&mebibyte)
	_, _ = gz.Write(chunk) // a write to memory
	_ = gz.Close()
	bomb := bytes.Repeat(mebibyte.Bytes(), 65) // gzip streams can be concatenated
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		size := limit
		switch r.URL.Path {
		case "/announced":
			w.Header().Set("Content-Length", strconv.Itoa(limit+1))
			size++
		case "/streamed":
			size++
		case "/packed":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
			return
		}
		for size > 0 {
			n, err := w.Write(chunk[:min(size, len(chunk))])
			if err != nil {
				return // refused, as expected
			}
			size -= n
		}
	})
	p := Serving(t, fixed("/:what", `provider: json, path: "`+up.URL+`/{{path-params.what}}", timeout: 20s`))
	for _, what := range []string{"announced", "streamed", "packed"} {
		m := wantFailure(p.Get("/"+what), t, 502, "Remote body unavailable", "upstream_failed")
		if !containsAll(m, []string{up.URL + "/" + what, "64 MiB"}) {
			t.Errorf("%s: got message %q", what, m)
		}
	}
	if a := p.Do("HEAD", "/exact", ""); a.Status != 200 || a.Length != limit {
		t.Errorf("a body of exactly 64 MiB: got %d with length %d", a.Status, a.Length)
	}
}

func TestBody_TTLKeepsARemoteBody(t *testing.T) {
	t.Parallel()
	var count atomic.Int64
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/x-kept")
		fmt.Fprintf(w, "%s %d", r.URL.Path, count.Add(1))
	})
	p := Serving(t, fixed("/kept/:id", `provider: json, path: "`+up.URL+`/{{path-params.id}}", ttl: 1h`)+
		fixed("/short", "provider: json, path: '"+up.URL+"/short', ttl: 100ms")+
		fixed("/always", "provider: json, path: '"+up.URL+"/always'"))
	for range 3 {
		a := p.Get("/kept/a")
		a.Want(t, 200, "/a 1")
		if got := a.Header.Get("Content-Type"); got != "text/x-kept" {
			t.Errorf("got Content-Type %q", got)
		}
	}
	p.Get("/kept/b").Want(t, 200, "/b 2") // another URL
	p.Get("/always").Want(t, 200, "/always 3")
	p.Get("/always").Want(t, 200, "/always 4")
	p.Get("/short").Want(t, 200, "/short 5")
	untilServed(p, "/short", 200, "/short 6")
	p.Get("/kept/a").Want(t, 200, "/a 1")
}

func TestBody_StaleIfErrorServesTheLastGoodCopy(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/x-good")
		_, _ = io.WriteString(w, "good")
	}))
	defer up.Close()
	p := Serving(t, fixed("/stale", "provider: json, path: '"+up.URL+"/a', stale-if-error: true")+
		fixed("/never", "provider: json, path: '"+up.URL+"/b', stale-if-error: true")+
		fixed("/plain", "provider: json, path: '"+up.URL+"/c', ttl: 1ms")+
		fixed("/fresh", "provider: json, path: '"+up.URL+"/d', stale-if-error: true"))
	p.Get("/stale").Want(t, 200, "good")
	p.Get("/plain").Want(t, 200, "good")
	stale := func(when string) {
		t.Helper()
		a := p.Get("/stale")
		a.Want(t, 200, "good")
		if got := a.Header.Get("Content-Type"); got != "text/x-good" {
			t.Errorf("%s: got Content-Type %q", when, got)
		}
		wantFailure(p.Get("/never"), t, 502, "Remote body unavailable", "upstream_failed")
		untilServed(p, "/plain", 502, "")
	}
	broken.Store(true)
	stale("while it answers 503")
	broken.Store(false)
	p.Get("/fresh").Want(t, 200, "good")
	up.Close()
	stale("while no server is listening")
}

func TestBody_ContentEncodingsAreUndone(t *testing.T) {
	t.Parallel()
	content := []byte(strings.Repeat(`{"a": "content"} `, 1000))
	pack := func(open func(w io.Writer) io.WriteCloser) []byte {
		var b bytes.Buffer
		w := open(&b)
		_, _ = w.Write(content) // a write to memory
		_ = w.Close()
		return b.Bytes()
	}
	packed := map[string][]byte{
		"identity": content,
		"gzip":     pack(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"deflate":  pack(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		"br":       fasthttp.AppendBrotliBytes(nil, content),
	}
	bare := pack(func(w io.Writer) io.WriteCloser {
		f, err := flate.NewWriter(w, flate.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		return f
	})
	up := origin(t, func(w http.ResponseWriter, r *http.Request) {
		coding := r.URL.Path[1:]
		if coding == "bare" { // raw deflate without the zlib format, as some servers send it
			w.Header().Set("Content-Encoding", "deflate")
			_, _ = w.Write(bare)
			return
		}
		w.Header().Set("Content-Encoding", coding)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(packed[coding])
	})
	p := Serving(t, fixed("/:coding", `provider: json, path: "`+up.URL+`/{{path-params.coding}}"`))
	for _, coding := range []string{"identity", "gzip", "deflate", "br", "bare"} {
		a := p.Get("/"+coding, "Accept-Encoding: gzip, deflate, br")
		if a.Status != 200 || a.Body != string(content) || a.Header.Get("Content-Encoding") != "" || a.Length != int64(len(content)) {
			t.Errorf("%s: got %d, %d bytes, headers %v", coding, a.Status, len(a.Body), a.Header)
		}
	}
}

func TestBody_TLSIsVerifiedUnlessInsecure(t *testing.T) {
	t.Parallel()
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "over TLS") }))
	up.Config.ErrorLog = log.New(io.Discard, "", 0) // errors of clients that refuse are expected
	up.StartTLS()
	defer up.Close()
	p := Serving(t, fixed("/verified", "provider: json, path: '"+up.URL+"/'")+
		fixed("/insecure", "provider: json, path: '"+up.URL+"/', insecure: true, ttl: 1h")+
		fixed("/kept", "provider: json, path: '"+up.URL+"/', ttl: 1h"))
	if m := wantFailure(p.Get("/verified"), t, 502, "Remote body unavailable", "upstream_failed"); !containsAll(m, []string{up.URL, "certificate"}) {
		t.Errorf("got message %q", m)
	}
	p.Get("/insecure").Want(t, 200, "over TLS")
	// A body that was fetched without verification is not served where verification is required.
	wantFailure(p.Get("/verified"), t, 502, "Remote body unavailable", "upstream_failed")
	wantFailure(p.Get("/kept"), t, 502, "Remote body unavailable", "upstream_failed")
}
