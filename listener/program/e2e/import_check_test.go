package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mockserver/internal/harness"
	"mockserver/listener/program/importing"
)

// The requests of a db.json are those for its lists, rows and objects.
func TestCheck(t *testing.T) {
	file := harness.WriteFile(t, t.TempDir(), "db.json", `{"posts": [{"id": 1, "t": "a"}, {"id": "b c", "t": null}], "tags": ["x", {"y": 1.50}], "me": {"name": "{{x}}"}}`)
	var out, report strings.Builder
	code := importing.Command([]string{file, "-o", t.TempDir(), "--check"}, &out, &report)
	if want := "5 requests sent: 5 as expected, 0 different\n"; code != 0 || !strings.Contains(report.String(), want) {
		t.Errorf("exit code %d, want %q in:\n%s", code, want, report.String())
	}
	report.Reset()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "another") }))
	defer other.Close()
	code = importing.Command([]string{file, "-o", t.TempDir(), "--against", other.URL}, &out, &report)
	if want := "5 requests sent: 0 as expected, 5 different\n"; code != 1 || !strings.Contains(report.String(), want) {
		t.Errorf("exit code %d against another server, want %q in:\n%s", code, want, report.String())
	}
}

// A source without requests fails the check instead of passing it; its configuration is written.
func TestCheck_WithoutRequests(t *testing.T) {
	for name, text := range map[string]string{
		"mappings.json":    `{"request": {"method": "GET", "urlPath": "/a"}, "response": {"body": "a"}}`,
		"environment.json": `{"uuid": "e", "endpointPrefix": "", "routes": [{"type": "http", "method": "get", "endpoint": "a", "responses": [{"statusCode": 200, "body": "a"}]}]}`,
	} {
		for _, flag := range []string{"--check", "--against=http://127.0.0.1:9"} {
			dir := t.TempDir()
			var out, report strings.Builder
			code := importing.Command([]string{harness.WriteFile(t, t.TempDir(), name, text), "-o", dir, flag}, &out, &report)
			if _, err := os.Stat(filepath.Join(dir, "mocks.yml")); err != nil || code != 1 || !strings.Contains(report.String(), "nothing was checked: no requests can be sent") {
				t.Errorf("%s %s: %v, exit code %d:\n%s", name, flag, err, code, report.String())
			}
		}
	}
}

// Insignificant white space in JSON and parameters of media types are not differences between two
// servers; other deviations are.
func TestAgainst_JSON(t *testing.T) {
	file := harness.WriteFile(t, t.TempDir(), "db.json", `{"me": {"name": "a b", "n": 1.50}}`)
	for _, c := range []struct {
		status      int
		media, body string
		code        int
	}{
		{200, "application/json; charset=utf-8", "{\n  \"name\": \"a b\",\n  \"n\": 1.50\n}", 0},
		{201, "application/json", `{"name": "a b", "n": 1.50}`, 1},
		{200, "application/json", `{"name": "ab", "n": 1.50}`, 1},
		{200, "application/json", `{"n": 1.50, "name": "a b"}`, 1},
		{200, "text/plain", `{"name": "a b", "n": 1.50}`, 1},
	} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.media)
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		var out, report strings.Builder
		if code := importing.Command([]string{file, "-o", t.TempDir(), "--against", other.URL}, &out, &report); code != c.code {
			t.Errorf("%d %s %s: exit code %d, want %d:\n%s", c.status, c.media, c.body, code, c.code, report.String())
		}
		other.Close()
	}
}

// An endpoint with several outcomes may answer a request with any of them, also with one that this
// request did not get when it was recorded.
func TestCheck_Outcomes(t *testing.T) {
	var entries []string
	for round := range 4 {
		for id := range 40 {
			status, body := 200, fmt.Sprintf("user %d", id)
			if id%2 == 0 && round == 3 {
				status, body = 503, "busy"
			}
			entries = append(entries, fmt.Sprintf(`{"request": {"method": "GET", "url": "http://a/users/%d", "headers": []}, "response": {"status": %d, "headers": [], "content": {"mimeType": "text/plain", "text": %q}}}`, id, status, body))
		}
	}
	file := harness.WriteFile(t, t.TempDir(), "x.har", `{"log": {"entries": [`+strings.Join(entries, ",")+`]}}`)
	var out, report strings.Builder
	if code := importing.Command([]string{file, "--check"}, &out, &report); code != 0 || !strings.Contains(report.String(), "40 requests sent: 40 as expected, 0 different\n") {
		t.Errorf("exit code %d:\n%s", code, report.String())
	}
}

// Without a directory, --check prints a configuration only if it is one file.
func TestCheck_WithoutADirectory(t *testing.T) {
	for _, c := range []struct{ body, printed, said string }{
		{"small", "- endpoint:\n", "1 request sent: 1 as expected"},
		{strings.Repeat("large", 20_000), "", "not printed: the configuration comes with 1 file; -o DIR writes it\n"},
	} {
		file := harness.WriteFile(t, t.TempDir(), "x.har", `{"log": {"entries": [{"request": {"method": "GET", "url": "http://a/b", "headers": []}, "response": {"status": 200, "headers": [], "content": {"mimeType": "text/plain", "text": "`+c.body+`"}}}]}}`)
		var out, report strings.Builder
		code := importing.Command([]string{file, "--check"}, &out, &report)
		if code != 0 || !strings.Contains(out.String(), c.printed) || (out.Len() == 0) != (c.printed == "") || !strings.Contains(report.String(), c.said) || !strings.Contains(report.String(), "1 as expected, 0 different\n") {
			t.Errorf("exit code %d, printed %q:\n%s", code, out.String(), report.String())
		}
	}
}
