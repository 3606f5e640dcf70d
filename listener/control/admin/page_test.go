package admin

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
)

// asked returns the response of an admin address without a server to a request.
func asked(a *Admin, method, url string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, url, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	a.routes().ServeHTTP(w, r)
	return w.Result()
}

func TestPage_WhoGetsIt(t *testing.T) {
	for _, c := range []struct {
		name, token string
		url         string
		headers     []string
		status      int
	}{
		{"by the name of another machine", "", "http://mock.example:8001/", nil, 403},
		{"on loopback", "", "http://127.0.0.1:8001/", nil, 200},
		{"by a link on another site", "", "http://127.0.0.1:8001/", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 200},
		{"off loopback with a token, which it asks for", "secret", "http://10.0.0.7:8001/", nil, 200},
		{"a file of it, likewise", "secret", "http://10.0.0.7:8001/page/page.js", nil, 200},
		{"a file that is not part of the page", "secret", "http://10.0.0.7:8001/page/none.js", nil, 401},
	} {
		a := &Admin{opts: Options{Token: c.token}, token: hashOf(c.token), metrics: http.NotFoundHandler()}
		if got := asked(a, "GET", c.url, c.headers...); got.StatusCode != c.status {
			t.Errorf("%s: got %d, want %d", c.name, got.StatusCode, c.status)
		}
	}
}

func TestPage_ItsHeaders(t *testing.T) {
	a := &Admin{metrics: http.NotFoundHandler()}
	for at, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/page/page.css": "text/css; charset=utf-8", "/page/page.js": "text/javascript; charset=utf-8", "/page/base.css": "text/css; charset=utf-8", "/page/reading.js": "text/javascript; charset=utf-8", "/page/icon.svg": "image/svg+xml",
	} {
		got := asked(a, "GET", "http://localhost:8001"+at)
		if got.StatusCode != 200 || got.Header.Get("Content-Type") != kind {
			t.Errorf("%s: got %d %s, want 200 %s", at, got.StatusCode, got.Header.Get("Content-Type"), kind)
		}
		policy := got.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self' 'sha256-", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "trusted-types 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q has no %q", at, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy is %q", at, policy)
		}
		again := asked(a, "GET", "http://localhost:8001"+at, "If-None-Match: "+got.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s: a cached file is answered with %d, want 304", at, again.StatusCode)
		}
	}
}

// The page refers only to its own files, and they exist. The policy alone is not enough: it would
// just break a page that loads other files.
func TestPage_ItNamesNothingElse(t *testing.T) {
	a := &Admin{metrics: http.NotFoundHandler()}
	files, err := pageFiles.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := pageFiles.ReadFile("page/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if pageTypes[path.Ext(file.Name())] == "" {
			t.Errorf("%s has no type", file.Name())
		}
		for _, never := range []string{"https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", " style=", "onclick=\""} {
			if strings.Contains(string(text), never) {
				t.Errorf("%s has %q in it", file.Name(), never)
			}
		}
		for _, part := range strings.Split(string(text), `from "./`)[1:] {
			name, _, _ := strings.Cut(part, `"`)
			got := asked(a, "GET", "http://localhost:8001/page/"+name)
			if body, _ := io.ReadAll(got.Body); got.StatusCode != 200 || len(body) == 0 { // reading from a recorder never fails
				t.Errorf("%s imports %s, which is answered with %d", file.Name(), name, got.StatusCode)
			}
		}
	}
}
