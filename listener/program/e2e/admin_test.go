package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// adminPaths contains requests that are answered only for authorized clients.
var adminPaths = []string{
	"GET /__admin/endpoints", "POST /__admin/endpoints", "GET /__admin/endpoints/x", "DELETE /__admin/endpoints/x", "PUT /__admin/spec", "GET /__admin/spec",
	"POST /__admin/reload", "GET /__admin/journal", "DELETE /__admin/journal", "POST /__admin/verify", "GET /__admin/webhooks",
	"POST /__admin/webhooks/1/fire", "DELETE /__admin/webhooks/1", "GET /__admin/counts", "GET /__admin/config", "GET /__admin/unmatched",
	"GET /__admin/verdict", "GET /__admin/samples", "GET /__admin/runs", "POST /__admin/runs", "GET /__admin/runs/1", "DELETE /__admin/runs/1", "POST /__admin/runs/1/stop",
	"GET /__admin/runs/1/report", "GET /__admin/runs/compare?a=1&b=1",
	"GET /__admin/state", "POST /__admin/state/reset", "GET /__admin/state/snapshots", "POST /__admin/state/snapshots", "DELETE /__admin/state/snapshots/x",
	"POST /__admin/state/snapshots/x/restore", "GET /__admin/state/x", "PUT /__admin/state/x/1", "PATCH /__admin/state/x/1", "DELETE /__admin/state/x/1",
	"GET /__admin/runs/1/totals", "GET /__admin/fleet", "GET /__admin/fleet/replica", "GET /__admin/fleet/spec", "PUT /__admin/fleet/spec",
	"GET /__admin/fleet/journal", "DELETE /__admin/fleet/journal", "GET /__admin/fleet/unmatched", "POST /__admin/fleet/verify",
	"GET /__admin/fleet/runs", "POST /__admin/fleet/runs", "GET /__admin/fleet/runs/x", "DELETE /__admin/fleet/runs/x", "POST /__admin/fleet/runs/x/stop",
	"GET /__admin/fleet/runs/x/report",
	"GET /__admin/recordings", "POST /__admin/recordings", "POST /__admin/recordings/1/stop", "GET /__admin/recordings/1/har",
	"GET /__admin/recordings/1/config",
	"GET /nowhere",
}

func TestAdmin_OffLoopbackWithoutATokenOneIsMade(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	for _, format := range []string{"println", "json"} {
		p := Serving(t, One("x"), "--admin", "0.0.0.0:0", "-f", format)
		a := AdminOf(p)
		token := madeToken(p, format)
		if made[token] {
			t.Error("two processes have the same token")
		}
		made[token] = true
		for _, path := range append(adminPaths, "GET /__admin/counts") {
			method, path, _ := strings.Cut(path, " ")
			for _, header := range []string{"Accept: */*", "Authorization: Bearer ", "Authorization: Bearer x"} {
				a.Do(method, path, "", header).Refusal(t, 401, "unauthorized")
			}
		}
		if got := a.Get("/__admin/counts", "Authorization: Bearer "+token); got.Status != 200 || strings.Contains(got.Body, token) {
			t.Errorf("with the token: %d %s", got.Status, got.Body)
		}
		for _, path := range []string{"/healthz", "/readyz", "/metrics", "/"} {
			if got := a.Get(path); got.Status != 200 || strings.Contains(got.Body, token) {
				t.Errorf("%s: %d", path, got.Status)
			}
		}
	}
	for _, args := range [][]string{{"--admin", "127.0.0.1:0"}, {"--admin", "0.0.0.0:0", "--admin-token", "given"}} {
		p := Serving(t, One("x"), args...)
		AdminOf(p)
		for _, line := range p.Output() {
			if strings.Contains(line, "token") {
				t.Errorf("%v: %s", args, line)
			}
		}
	}
}

// madeToken returns the token that the program printed, which it must have printed only once.
func madeToken(p *Process, format string) string {
	p.T.Helper()
	const before = "admin token, generated for this start"
	line := p.WaitLine(0, before)
	_, token, _ := strings.Cut(line, "token=")
	token, _, _ = strings.Cut(token, " ")
	if format == "json" {
		var said struct{ Token string }
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			p.T.Fatalf("%v: %s", err, line)
		}
		token = said.Token
	}
	if all := strings.Join(p.Output(), "\n"); len(token) < 20 || strings.Count(all, token) != 1 {
		p.T.Fatalf("the token is %q, in\n%s", token, all)
	}
	return token
}

func TestAdmin_WithATokenAWrongOneIs401(t *testing.T) {
	t.Parallel()
	const token = "correct-horse"
	p := Launch(t, []string{"MOCKSERVER_ADMIN=0.0.0.0:0", "MOCKSERVER_ADMIN_TOKEN=" + token}, "-c", harness.WriteFile(t, t.TempDir(), "m.yml", One("x"))).Listening()
	a := AdminOf(p)
	for _, wrong := range []string{
		"", "Bearer", "Bearer ", "Bearer correct-hors", "Bearer correct-horse2", "Bearer correct-horsE", "Bearer  x" + token,
		"Basic " + token, token, "Bearer\t" + token + "x", "Bearer " + strings.Repeat("x", 10_000), "Token " + token,
	} {
		for _, path := range adminPaths {
			method, path, _ := strings.Cut(path, " ")
			got := a.Do(method, path, "", "Authorization: "+wrong)
			got.Refusal(t, 401, "unauthorized")
			if !strings.HasPrefix(got.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s %s: the answer does not say how to send the token", method, path)
			}
		}
	}
	for _, right := range []string{"Bearer " + token, "bearer " + token} {
		if got := a.Get("/__admin/counts", "Authorization: "+right, "Host: mock.example:1"); got.Status != 200 {
			t.Errorf("%s: got %d %s", right, got.Status, got.Body)
		}
	}
	// The token must not appear anywhere.
	shown := a.Get("/__admin/config", "Authorization: Bearer "+token).Body + strings.Join(p.Output(), "\n")
	if strings.Contains(shown, token) || !strings.Contains(shown, "(not shown)") {
		t.Errorf("the token is shown, or no placeholder for it: %s", shown)
	}
}

func TestAdmin_ABadTokenIsRefusedAndNotShown(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "m.yml", One("x"))
	for _, c := range []struct {
		env  []string
		args []string
	}{
		{nil, []string{"--admin-token", "sec ret"}},
		{[]string{"MOCKSERVER_ADMIN_TOKEN=sec ret"}, nil},
		{nil, []string{"--admin-token=secrét"}},
		{nil, []string{"--admin-token", ""}}, // as from an unset variable
	} {
		code, stdout, stderr := Refused(t, c.env, append(c.args, "-c", file)...)
		if code != 2 || !strings.Contains(stderr, "visible ASCII") || strings.Contains(stdout+stderr, "sec") {
			t.Errorf("%v: got %d, %q and %q", c.args, code, stdout, stderr)
		}
	}
}

func TestAdmin_OtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	_, a := Administered(t, One("x"))
	port := a.URL[strings.LastIndexByte(a.URL, ':'):]
	for _, path := range adminPaths {
		method, path, _ := strings.Cut(path, " ")
		for _, host := range []string{"evil.example", "evil.example" + port, "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1" + port, "[::2]" + port} {
			a.Do(method, path, "", "Host: "+host).Refusal(t, 403, "foreign_host")
		}
		for _, header := range []string{
			"Origin: https://evil.example", "Origin: null", "Origin: http://127.0.0.1:1", "Origin: http://localhost" + port, "Origin: %zz",
			"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
		} {
			a.Do(method, path, "", header).Refusal(t, 403, "foreign_origin")
		}
	}
	for _, headers := range [][]string{
		{"Host: localhost" + port}, {"Host: 127.0.0.1"}, {"Host: [::1]" + port}, {"Origin: " + a.URL}, {"Sec-Fetch-Site: same-origin", "Origin: " + a.URL}, {"Sec-Fetch-Site: none"},
	} {
		got := a.Get("/__admin/counts", headers...)
		if got.Status != 200 {
			t.Errorf("%v: got %d %s", headers, got.Status, got.Body)
		}
		for name := range got.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%v: %s is sent", headers, name)
			}
		}
	}
	a.Do("OPTIONS", "/__admin/reload", "", "Origin: https://evil.example", "Access-Control-Request-Method: POST").Refusal(t, 403, "foreign_origin")
}

// Requests that net/http answers itself, for example with a redirect to the path without dots, need
// the token too.
func TestAdmin_NoWayOfWritingAPathGoesRoundTheToken(t *testing.T) {
	t.Parallel()
	p := Serving(t, One("x"), "--admin", "127.0.0.1:0", "--admin-token", "right")
	a := AdminOf(p)
	for _, target := range []string{"//", "//__admin/counts", "/__admin/../metrics", "/__admin/./counts", "/__admin//counts", "/x/..", "/__admin%2fcounts", "/__admin/%2e%2e/counts", "*"} {
		method := "GET"
		if target == "*" {
			method = "OPTIONS"
		}
		for _, c := range []struct {
			token, status string
		}{{"wrong", "401 Unauthorized"}, {"right", "404 Not Found"}} {
			if got := statusLine(t, a, method+" "+target, "Authorization: Bearer "+c.token); got != "HTTP/1.1 "+c.status {
				t.Errorf("%s %s with a %s token: got %s", method, target, c.token, got)
			}
		}
	}
	if got := statusLine(t, a, "CONNECT x:1"); got != "HTTP/1.1 401 Unauthorized" {
		t.Errorf("CONNECT: got %s", got)
	}
	if got := statusLine(t, a, "GET /__admin/counts", "Authorization: Bearer wrong", "Authorization: Bearer right"); got != "HTTP/1.1 401 Unauthorized" {
		t.Errorf("a second token: got %s", got)
	}
}

// statusLine returns the status line of the response to a request, which is sent as is.
func statusLine(t *testing.T, a *Process, request string, headers ...string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s HTTP/1.1\r\n%s\r\n\r\n", request, strings.Join(append(headers, "Host: x", "Connection: close"), "\r\n"))
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(got), "\r\n")
	return line
}

func TestAdmin_MetricsAreForNoForeignName(t *testing.T) {
	t.Parallel()
	_, a := Administered(t, One("x"))
	a.Get("/metrics", "Host: evil.example").Refusal(t, 403, "foreign_host")
	for _, path := range []string{"/healthz", "/readyz"} { // they reveal nothing
		if got := a.Get(path, "Host: evil.example"); got.Status != 200 {
			t.Errorf("%s: got %d %s", path, got.Status, got.Body)
		}
	}
	a = AdminOf(Serving(t, One("x"), "--admin", "127.0.0.1:0", "--admin-token", "t"))
	if got := a.Get("/metrics", "Host: behind-a-proxy.example"); got.Status != 200 {
		t.Errorf("with a token: got %d %s", got.Status, got.Body)
	}
}

func TestAdmin_ResponsesAreNothingForBrowsersToRun(t *testing.T) {
	t.Parallel()
	_, a := Administered(t, One("x"))
	for _, path := range []string{"/healthz", "/metrics", "/__admin/counts", "/nowhere"} {
		h := a.Get(path).Header
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		} {
			if !strings.Contains(h.Get(name), want) {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
	}
}

func TestAdmin_MethodsAndPaths(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, "- endpoint: {path: /__admin/counts, response: {body: mocked}}\n- endpoint: {path: /healthz, response: {body: mocked}}\n- endpoint: {method: POST, path: /__admin/reload, response: {body: mocked}}\n")
	// The port of the mocks does not serve the admin API, and the admin address serves no mocks.
	p.Get("/__admin/counts").Want(t, 200, "mocked")
	p.Get("/healthz").Want(t, 200, "mocked")
	p.Do("POST", "/__admin/reload", "").Want(t, 200, "mocked")
	other := p.Get("/__admin/config")
	other.Refusal(t, 404, "endpoint_not_found")
	if !strings.Contains(other.Body, "the admin API listens on its own address; see --admin") {
		t.Errorf("the answer of the wrong port does not name the right one: %s", other.Body)
	}
	p.Get("/metrics").Refusal(t, 404, "endpoint_not_found")
	for _, c := range []struct{ method, path, allow string }{
		{"POST", "/__admin/", "GET, HEAD"}, {"POST", "/healthz", "GET, HEAD"}, {"POST", "/metrics", "GET, HEAD"}, {"GET", "/__admin/verify", "POST"},
		{"GET", "/__admin/reload", "POST"}, {"POST", "/__admin/spec", "GET, PUT, HEAD"}, {"PATCH", "/__admin/endpoints/x", "DELETE, GET, HEAD"},
	} {
		got := a.Do(c.method, c.path, "")
		got.Refusal(t, 405, "method_not_allowed")
		if got.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: Allow is %q, want %q", c.method, c.path, got.Header.Get("Allow"), c.allow)
		}
	}
	for _, path := range []string{"/__admin/nothing", "/__admin/endpoints/", "/favicon.ico", "/debug/pprof/"} {
		a.Get(path).Refusal(t, 404, "not_found")
	}
	if got := a.Do("HEAD", "/__admin/counts", ""); got.Status != 200 || got.Body != "" {
		t.Errorf("HEAD: got %d %q", got.Status, got.Body)
	}
	a.Do("DELETE", "/__admin/endpoints/0000", "").Refusal(t, 404, "endpoint_not_found")
	a.Get("/__admin/endpoints/0000").Refusal(t, 404, "endpoint_not_found")
	a.Do("DELETE", "/__admin/webhooks/x", "").Refusal(t, 404, "webhook_not_found")
	a.Do("POST", "/__admin/webhooks/1-1/fire", "").Refusal(t, 404, "webhook_not_found")
	for _, query := range []string{"limit=x", "limit=-1", "limit=1001", "status=20", "status=abc", "status=600", "kept=all", "since=yesterday", "since=-5s", "after=-1", "no=1", "limit=1&limit=2", "x=%zz"} {
		a.Get("/__admin/journal?"+query).Refusal(t, 400, "bad_query")
	}
	for _, path := range []string{"webhooks?limt=4", "webhooks?limit=4&limit=5", "webhooks?limit=%zz", "webhooks?limit=-1", "samples?first=1", "samples?last=1&last=2", "runs/compare?a=1&b=1&c=1", "counts?endpoint=x", "endpoints/x?y", "?x"} {
		a.Get("/__admin/"+path).Refusal(t, 400, "bad_query")
	}
}

func TestAdmin_BadBodiesAreRefused(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, One("x"))
	for _, c := range []struct {
		body, code string
		status     int
	}{
		{"", "invalid_body", 400}, {"x", "invalid_body", 400}, {"[]", "invalid_body", 400}, {`{"condition": 1}`, "invalid_body", 400},
		{`{"condition": "", "cout": 1}`, "invalid_body", 400}, {`{"condition": ""} {}`, "invalid_body", 400}, {`{"condition": ""} }`, "invalid_body", 400},
		{`{"count": -1}`, "invalid_body", 400}, {`{"count": 1, "at-least": 1}`, "invalid_body", 400}, {`{"at-least": 2, "at-most": 1}`, "invalid_body", 400},
		{`{"condition": "path ="}`, "invalid_condition", 400}, {`{"condition": "path matches \"(\""}`, "invalid_condition", 400},
		{`{"condition": "` + strings.Repeat("x", 1<<16) + `"}`, "payload_too_large", 413},
	} {
		a.Do("POST", "/__admin/verify", c.body).Refusal(t, c.status, c.code)
	}
	for _, c := range []struct {
		method, path, media, body, code string
		status                          int
	}{
		{"POST", "/__admin/endpoints", "", "x", "unsupported_media_type", 415},
		{"POST", "/__admin/endpoints", "text/plain", "x", "unsupported_media_type", 415},
		{"POST", "/__admin/endpoints", "application/json", "", "invalid_configuration", 422},
		{"POST", "/__admin/endpoints", "application/json", "{", "invalid_configuration", 422},
		{"POST", "/__admin/endpoints", "application/yaml", "[]", "not_one_endpoint", 422},
		{"POST", "/__admin/endpoints", "application/yaml", One("a") + One("b"), "not_one_endpoint", 422},
		{"POST", "/__admin/endpoints", "application/yaml", "websocket: {path: /w, on-message: []}", "not_one_endpoint", 422},
		{"POST", "/__admin/endpoints", "application/yaml", "endpoint: {path: a}", "invalid_configuration", 422},
		{"PUT", "/__admin/spec", "application/yaml", "- endpoint: {path: /b, response: {status: 700}}", "invalid_configuration", 422},
		{"PUT", "/__admin/spec", "application/yaml", "- endpoint: {path: /b, response: {body: \"{{nope}}\"}}", "invalid_configuration", 422},
		{"PUT", "/__admin/spec", "application/yaml", strings.Repeat(" ", 64<<20+1), "payload_too_large", 413},
	} {
		headers := []string{"Content-Type: " + c.media}
		if c.media == "" {
			headers = nil
		}
		a.Do(c.method, c.path, c.body, headers...).Refusal(t, c.status, c.code)
	}
	p.Get("/a").Want(t, 200, "x") // the earlier configuration is still served
}

func TestAdmin_MistakesOfWhatIsAddedHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	_, a := Administered(t, One("x"))
	var said struct {
		Problems []struct {
			Line, Column int
			Key, What    string
		}
	}
	a.Do("POST", "/__admin/endpoints", "endpoint:\n  path: /b\n  if: ((\n  respons: {}\n", "Content-Type: application/yaml").Into(t, 422, &said)
	var lines []int
	for _, p := range said.Problems {
		lines = append(lines, p.Line)
		if p.Column == 0 || p.Key == "" || p.What == "" {
			t.Errorf("got %+v", p)
		}
	}
	if slices.Sort(lines); !slices.Contains(lines, 3) || !slices.Contains(lines, 4) {
		t.Errorf("problems are on lines %v, want 3 and 4 among them", lines)
	}
}

func TestAdmin_EndpointsAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, One("file"))
	type shown struct{ ID, Endpoint, At string }
	ids := map[string]string{}
	for media, body := range map[string]string{
		"application/yaml; charset=utf-8": "endpoint: {path: /yaml, response: {body: yaml}}",
		"application/json":                `{"endpoint": {"path": "/json", "response": {"body": "json"}}}`,
		"application/edn":                 `{:endpoint {:path "/edn" :response {:body "edn"}}}`,
		"text/yaml":                       "- endpoint: {path: /list, response: {body: list}}",
	} {
		var said struct {
			Endpoint shown
			Lasts    string
		}
		got := a.Do("POST", "/__admin/endpoints", body, "Content-Type: "+media)
		got.Into(t, 201, &said)
		name := strings.TrimPrefix(said.Endpoint.Endpoint, "GET /")
		ids[name] = said.Endpoint.ID
		if got.Header.Get("Location") != "/__admin/endpoints/"+said.Endpoint.ID || !strings.Contains(said.Lasts, "until") {
			t.Errorf("%s: got %v and %+v", media, got.Header, said)
		}
		p.Get("/"+name).Want(t, 200, name)
	}
	if len(ids) != 4 {
		t.Fatalf("got %v", ids)
	}
	a.Do("DELETE", "/__admin/endpoints/"+ids["json"], "").Into(t, 200, &struct{}{})
	a.Do("DELETE", "/__admin/endpoints/"+ids["json"], "").Refusal(t, 404, "endpoint_not_found")
	p.Get("/json").Refusal(t, 404, "endpoint_not_found")
	p.Get("/edn").Want(t, 200, "edn")
	p.WaitLine(0, "endpoint added by the admin address", "GET /json")
	p.WaitLine(0, "endpoint removed by the admin address", "GET /json")
	p.Signal(syscall.SIGHUP)
	p.WaitLine(0, "configuration reloaded", "SIGHUP")
	p.Get("/edn").Refusal(t, 404, "endpoint_not_found")
	p.Get("/a").Want(t, 200, "file")
}

// An added endpoint takes precedence over the endpoints declared in files. Removing the added
// endpoint, even repeatedly, leaves the declared ones unchanged.
func TestAdmin_AddedEndpointsMatchFirst(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, One("file"))
	p.Get("/a").Want(t, 200, "file")
	var said struct{ Endpoint struct{ ID string } }
	a.Do("POST", "/__admin/endpoints", One("added"), "Content-Type: application/yaml").Into(t, 201, &said)
	p.Get("/a").Want(t, 200, "added")
	for _, want := range []int{200, 404} {
		if got := a.Do("DELETE", "/__admin/endpoints/"+said.Endpoint.ID, ""); got.Status != want {
			t.Errorf("got %d, want %d", got.Status, want)
		}
		p.Get("/a").Want(t, 200, "file")
	}
	var all struct {
		Endpoints []struct {
			ID, Endpoint string
			Requests     int
		}
	}
	a.Get("/__admin/endpoints").Into(t, 200, &all)
	if len(all.Endpoints) != 1 || all.Endpoints[0].Requests != 3 || all.Endpoints[0].Endpoint != "GET /a" {
		t.Errorf("got %+v, want GET /a with its 3 requests", all)
	}
}

// An added endpoint is recognized by its position, because a file may have the same name as the one
// given to the endpoint.
func TestAdmin_WhatIsAddedIsNotTakenForWhatAFileDeclares(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, dir, "added-1.yml", "- endpoint: {path: /first, response: {}}\n- endpoint: {path: /last, response: {}}\n")
	p := LaunchIn(t, dir, nil, "-c", "added-1.yml", "--admin", "127.0.0.1:0").Listening()
	a := AdminOf(p)
	var said struct{ Endpoint struct{ ID, Endpoint string } }
	a.Do("POST", "/__admin/endpoints", "endpoint: {path: /mine, response: {}}", "Content-Type: application/yaml").Into(t, 201, &said)
	if said.Endpoint.Endpoint != "GET /mine" {
		t.Errorf("the answer says that %s was added", said.Endpoint.Endpoint)
	}
	a.Do("DELETE", "/__admin/endpoints/"+said.Endpoint.ID, "").Into(t, 200, &said)
	p.Get("/mine").Refusal(t, 404, "endpoint_not_found")
	p.Get("/last").Want(t, 200, "")
}

func TestAdmin_TheSpecificationTellsWhetherRequestsChangedIt(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, One("file"))
	p.Get("/a")
	check := func(after string, changed bool) {
		t.Helper()
		var said struct {
			Changed   bool
			Endpoints []struct {
				Endpoint string
				Requests int
			}
		}
		a.Get("/__admin/spec").Into(t, 200, &said)
		last := said.Endpoints[len(said.Endpoints)-1]
		if said.Changed != changed || last.Endpoint != "GET /a" || last.Requests != 1 {
			t.Errorf("after %s: changed is %v, want %v; endpoints are %+v", after, said.Changed, changed, said.Endpoints)
		}
	}
	const yaml = "Content-Type: application/yaml"
	check("the start", false)
	a.Do("POST", "/__admin/endpoints", "endpoint: {path: b}", yaml).Refusal(t, 422, "invalid_configuration")
	a.Do("PUT", "/__admin/spec", "- endpoint: {path: b}", yaml).Refusal(t, 422, "invalid_configuration")
	check("refused changes", false)
	a.Do("POST", "/__admin/endpoints", "endpoint: {path: /b, response: {}}", yaml).Into(t, 201, &struct{}{})
	check("an addition", true)
	a.Do("POST", "/__admin/reload", "").Into(t, 200, &struct{}{})
	check("a reload", false)
	a.Do("PUT", "/__admin/spec", One("put"), yaml).Into(t, 200, &struct{}{})
	check("a replacement", true)
	var removed struct {
		Endpoint struct {
			ID       string
			Requests int
		}
	}
	a.Do("POST", "/__admin/reload", "").Into(t, 200, &struct{}{})
	var all struct{ Endpoints []struct{ ID string } }
	a.Get("/__admin/endpoints").Into(t, 200, &all)
	a.Do("DELETE", "/__admin/endpoints/"+all.Endpoints[0].ID, "").Into(t, 200, &removed)
	var left struct{ Changed bool }
	if a.Get("/__admin/spec").Into(t, 200, &left); !left.Changed || removed.Endpoint.Requests != 1 {
		t.Errorf("after a removal: %+v; removed was %+v", left, removed)
	}
}

// Changes through the admin API do not log existing warnings again, because there may be many
// changes and many warnings.
func TestAdmin_ChangesLogNoWarningAgain(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, "- endpoint: {path: /old, response: {body: \"{{path-params.x}}\"}}\n")
	var said struct{ Endpoint struct{ ID string } }
	for range 3 {
		a.Do("POST", "/__admin/endpoints", "endpoint: {path: /new, response: {body: \"{{path-params.y}}\"}}", "Content-Type: application/yaml").Into(t, 201, &said)
		a.Do("DELETE", "/__admin/endpoints/"+said.Endpoint.ID, "").Into(t, 200, &said)
	}
	p.Signal(syscall.SIGHUP)
	p.WaitLine(0, "configuration reloaded")
	old, added := 0, 0
	for _, line := range p.Output() {
		if strings.Contains(line, "configuration warning") {
			old += strings.Count(line, `parameter \"x\"`)
			added += strings.Count(line, `parameter \"y\"`)
		}
	}
	if old != 2 || added != 3 {
		t.Errorf("%d and %d warnings were logged; want that of the file at both loads, and one for each addition: %v", old, added, p.Output())
	}
}

// No request is lost or remains unmatched while endpoints are added and removed and the files are
// reloaded.
func TestAdmin_ChangesUnderLoadLoseNoRequest(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, One("file"))
	const clients, requests, changes = 64, 40, 20
	var work sync.WaitGroup
	for range clients {
		work.Go(func() {
			for range requests {
				if got, err := p.Try("GET", "/a", ""); err != nil || got.Status != 200 || got.Body != "file" && got.Body != "added" {
					t.Errorf("got %d %q, %v", got.Status, got.Body, err)
				}
			}
		})
	}
	for range 2 {
		work.Go(func() {
			for range changes {
				var said struct{ Endpoint struct{ ID string } }
				got, err := a.Try("POST", "/__admin/endpoints", One("added"), "Content-Type: application/yaml")
				if err != nil || got.Status != 201 {
					t.Errorf("adding: %d %s, %v", got.Status, got.Body, err)
					return
				}
				_ = json.Unmarshal([]byte(got.Body), &said)
				// A reload, or a removal by the other goroutine, may have removed the endpoint.
				if got, err := a.Try("DELETE", "/__admin/endpoints/"+said.Endpoint.ID, ""); err != nil || got.Status != 200 && got.Status != 404 {
					t.Errorf("removing: %d %s, %v", got.Status, got.Body, err)
				}
			}
		})
	}
	work.Go(func() {
		for range changes {
			if got, err := a.Try("POST", "/__admin/reload", ""); err != nil || got.Status != 200 {
				t.Errorf("reloading: %d %s, %v", got.Status, got.Body, err)
			}
		}
	})
	work.Wait()
	var counts struct {
		Endpoints          []struct{ Requests int }
		Removed, Unmatched struct{ Requests int }
	}
	a.Get("/__admin/counts").Into(t, 200, &counts)
	all := counts.Removed.Requests
	for _, e := range counts.Endpoints {
		all += e.Requests
	}
	if all != clients*requests || counts.Unmatched.Requests != 0 {
		t.Errorf("%d requests are counted and %d unmatched, want %d and 0", all, counts.Unmatched.Requests, clients*requests)
	}
}

func TestAdmin_TheSpecificationIsReplacedAndReloaded(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("file"))
	p := Start(t, "-c", file, "--admin", "127.0.0.1:0")
	a := AdminOf(p)
	var said struct {
		Endpoints int
		Lasts     string
		Warnings  []struct{ What string }
	}
	a.Do("PUT", "/__admin/spec", One("first")+One("never")+"- endpoint: {path: /b, response: {body: b}}\n", "Content-Type: application/yaml").Into(t, 200, &said)
	if said.Endpoints != 3 || said.Lasts == "" || len(said.Warnings) == 0 {
		t.Errorf("got %+v, want 3 endpoints, and a warning about the one that is never reached", said)
	}
	p.Get("/a").Want(t, 200, "first")
	p.WaitLine(0, "specification replaced by the admin address")
	a.Do("POST", "/__admin/reload", "").Into(t, 200, &said)
	p.Get("/a").Want(t, 200, "file")
	p.Get("/b").Refusal(t, 404, "endpoint_not_found")
	a.Do("PUT", "/__admin/spec", "- endpoint: {path: a}", "Content-Type: application/yaml").Refusal(t, 422, "invalid_configuration")
	if got := Value(t, Scrape(t, a), "mockserver_configuration_last_successful"); got != 1 {
		t.Errorf("an invalid body counts as a failed configuration: configuration_last_successful is %v", got)
	}
	if err := os.WriteFile(file, []byte("- endpoint: {path: a}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	a.Do("POST", "/__admin/reload", "").Refusal(t, 422, "invalid_configuration")
	p.Get("/a").Want(t, 200, "file")
	if got := Value(t, Scrape(t, a), "mockserver_configuration_last_successful"); got != 0 {
		t.Errorf("configuration_last_successful is %v, want 0", got)
	}
}

func TestAdmin_ReadinessWhileLoadingAndWhileStopping(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}, 16), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-goOn
		fmt.Fprint(w, "openapi: 3.0.3\ninfo: {title: x, version: '1'}\npaths: {}\ncomponents: {schemas: {S: {type: string}}}\n")
	}))
	defer slow.Close()
	document := harness.WriteFile(t, t.TempDir(), "api.yml", "openapi: 3.0.3\ninfo: {title: x, version: '1'}\npaths:\n  /a:\n    get:\n      responses:\n        '200': {description: ok, content: {application/json: {schema: {$ref: '"+slow.URL+"/s.yml#/components/schemas/S'}}}}\n")
	waits := harness.WriteFile(t, t.TempDir(), "slow.yml", "- endpoint: {path: /slow, latency: {min-ms: 600000, max-ms: 600000}, response: {body: x}}\n")
	p := Launch(t, nil, "-c", waits, "-m", document, "--allow-remote-refs", "--admin", "127.0.0.1:0")
	a := AdminOf(p)
	<-asked
	a.Get("/readyz").Refusal(t, 503, "not_ready")
	a.Get("/metrics").Refusal(t, 503, "starting")
	a.Get("/__admin/counts").Refusal(t, 503, "starting")
	a.Get("/healthz").Want(t, 200, "{\n  \"status\": \"ok\"\n}\n")
	close(goOn)
	p.Listening()
	harness.Until(t, "it is ready", func() bool { return a.Get("/readyz").Status == 200 })

	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
	harness.Until(t, "the request is served", func() bool { return Value(t, Scrape(t, a), "mockserver_requests_in_flight") == 1 })
	p.Signal(syscall.SIGTERM)
	p.WaitLine(0, "stopping")
	harness.Until(t, "it is not ready", func() bool { return a.Get("/readyz").Status == 503 })
	a.Get("/readyz").Refusal(t, 503, "not_ready")
	a.Get("/healthz").Want(t, 200, "{\n  \"status\": \"ok\"\n}\n")
	a.Do("PUT", "/__admin/spec", One("x"), "Content-Type: application/yaml").Refusal(t, 503, "stopping")
	if got := Value(t, Scrape(t, a), "mockserver_ready"); got != 0 {
		t.Errorf("mockserver_ready is %v", got)
	}
	conn.Close()
	if code := p.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := a.Try("GET", "/healthz", ""); err == nil {
		t.Error("the admin address is still open")
	}
}

func TestAdmin_AnAddressInUseIsNamed(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	code, stdout, stderr := Refused(t, nil, "-c", harness.WriteFile(t, t.TempDir(), "m.yml", One("x")), "--admin", taken.Addr().String())
	if code != 1 || !containsAll(stderr, []string{taken.Addr().String(), "in use", "--admin"}) {
		t.Errorf("got %d, %q, %q", code, stdout, stderr)
	}
}

// If the mocks themselves use the port of --admin, the error says so.
func TestAdmin_TheMocksOwnPortIsNamed(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	code, _, stderr := Refused(t, []string{"PORT=" + port}, "-c", harness.WriteFile(t, t.TempDir(), "m.yml", One("x")), "--admin", "127.0.0.1:"+port)
	if code != 1 || !containsAll(stderr, []string{"the port of the mocks", port, "--admin"}) {
		t.Errorf("got %d, %q", code, stderr)
	}
}

func TestAdmin_MetricsAreWhatHappened(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, `
- endpoint: {path: /a, response: {body: "12345"}}
- endpoint: {path: /a, host: h.example, response: {status: 201}}
- endpoint: {path: /if, if: 'query-params.x = "é"', response: {status: 202}}
- endpoint: {path: /late, latency: {min-ms: 20, max-ms: 20}, response: {}}
- endpoint: {path: /limited, rate-limit: {max-requests: 1}, response: {}}
- endpoint: {path: /wrong, latency: {failure-rate: 1}, response: {}}
- endpoint: {method: POST, path: /in, response: {}}
`)
	for range 3 {
		p.Get("/a")
	}
	p.Get("/a", "Host: h.example")
	p.Get("/if?x=%C3%A9")
	p.Get("/late")
	p.Get("/limited")
	p.Get("/limited")
	p.Get("/wrong")
	p.Do("POST", "/in", "1234567")
	p.Get("/nope")
	p.Get("/nope")
	p.Do("OPTIONS", "/a", "")
	m := Scrape(t, a)
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{3, "requests_total", []string{"endpoint", "GET /a", "host", "", "status", "200"}},
		{15, "response_body_bytes_total", []string{"endpoint", "GET /a", "host", ""}},
		{1, "requests_total", []string{"endpoint", "GET /a", "host", "h.example", "status", "201"}},
		{1, "requests_total", []string{"condition", `query-params.x = "é"`, "status", "202"}},
		{7, "request_body_bytes_total", []string{"endpoint", "POST /in"}},
		{1, "requests_total", []string{"endpoint", "GET /limited", "status", "429"}},
		{1, "rate_limited_total", []string{"endpoint", "GET /limited"}},
		{1, "faults_total", []string{"endpoint", "GET /wrong", "fault", "failure"}},
		{2, "unmatched_requests_total", []string{"status", "404"}},
		{1, "unmatched_distinct", nil},
		{1, "options_requests_total", []string{"status", "200"}},
		{7, "endpoints", nil},
		{1, "ready", nil},
		{1, "configurations_total", []string{"result", "served"}},
		{0, "webhooks_pending", nil},
	} {
		if got := Value(t, m, "mockserver_"+c.name, c.labels...); got != c.want {
			t.Errorf("%s %v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	service := Metric(t, m, "mockserver_service_seconds", "endpoint", "GET /a", "host", "").GetHistogram()
	last := service.GetBucket()[len(service.GetBucket())-1]
	if service.GetSampleCount() != 3 || last.GetCumulativeCount() > 3 || service.GetSampleSum() <= 0 {
		t.Errorf("service time: %v", service)
	}
	injected := Metric(t, m, "mockserver_injected_latency_seconds", "endpoint", "GET /late").GetHistogram()
	if injected.GetSampleCount() != 1 || injected.GetSampleSum() < 0.019 || injected.GetSampleSum() > 0.021 {
		t.Errorf("injected: %v, want one of 20 ms", injected)
	}
	for _, name := range []string{"go_goroutines", "process_start_time_seconds", "mockserver_build_info"} {
		if runtimeHas := m[name] != nil; !runtimeHas {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestAdmin_TheJournalIsSearchedAndReset(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, "- endpoint: {method: POST, path: \"/orders/:id\", response: {status: 201, body: done}}\n"+One("x"), "--journal-sample", "1")
	p.Do("POST", "/orders/7", `{"n": 1}`, "Authorization: Bearer secret", "X-Mine: 1")
	p.Get("/a?q=1")
	p.Get("/nope")
	p.Do("POST", "/orders/8", "\xff\x00")
	type exchange struct {
		ID                                     uint64
		Kept, Endpoint, Method, Target, Reason string
		Status                                 int
		Request, Response                      struct {
			Headers [][2]string
			Body    string
			Base64  string `json:"body_base64"`
			Size    int
		}
	}
	find := func(query string) []exchange {
		t.Helper()
		var said struct{ Requests []exchange }
		a.Get("/__admin/journal?"+query).Into(t, 200, &said)
		return said.Requests
	}
	for query, want := range map[string][]string{
		"":                           {"/orders/8", "/nope", "/a?q=1", "/orders/7"},
		"limit=2":                    {"/orders/8", "/nope"},
		"limit=0":                    {},
		"method=post":                {"/orders/8", "/orders/7"},
		"status=404":                 {"/nope"},
		"status=2xx":                 {"/orders/8", "/a?q=1", "/orders/7"},
		"status=200,404":             {"/nope", "/a?q=1"},
		"path=/a":                    {"/a?q=1"},
		"path=/orders/*":             {"/orders/8", "/orders/7"},
		"kept=unmatched":             {"/nope"},
		"endpoint=GET%20/a":          {"/a?q=1"},
		"since=1h":                   {"/orders/8", "/nope", "/a?q=1", "/orders/7"},
		"since=0s":                   {},
		"since=2200-01-01T00:00:00Z": {},
		"path=/orders/7&status=404":  {},
	} {
		got := []string{}
		for _, x := range find(query) {
			got = append(got, x.Target)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
	// This search could never find anything.
	a.Get("/__admin/journal?endpoint=/orders/:id").Refusal(t, 400, "bad_query")
	all := find("")
	if newer := find(fmt.Sprintf("after=%d", all[1].ID)); len(newer) != 1 || newer[0].ID != all[0].ID {
		t.Errorf("after: got %+v", newer)
	}
	first := all[3]
	if first.Request.Body != `{"n": 1}` || first.Response.Body != "done" || first.Status != 201 || first.Endpoint != "POST /orders/:id" {
		t.Errorf("got %+v", first)
	}
	if shown := fmt.Sprint(first.Request.Headers); strings.Contains(shown, "secret") || !strings.Contains(shown, "X-Mine 1") {
		t.Errorf("headers are %s", shown)
	}
	if all[0].Request.Base64 != "/wA=" || all[0].Request.Size != 2 || !strings.Contains(all[1].Reason, "/nope") {
		t.Errorf("got %+v", all[:2])
	}
	var misses struct {
		Unmatched []struct {
			Path, Reason string
			Count        int
		}
	}
	a.Get("/__admin/unmatched").Into(t, 200, &misses)
	if len(misses.Unmatched) != 1 || misses.Unmatched[0].Path != "/nope" || misses.Unmatched[0].Count != 1 {
		t.Errorf("got %+v", misses)
	}
	a.Do("DELETE", "/__admin/journal", "").Into(t, 200, &struct{}{})
	if left := find(""); len(left) != 0 {
		t.Errorf("after a reset the journal has %+v", left)
	}
}

func TestAdmin_Verify(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, "- endpoint: {method: POST, path: \"/orders/:id\", response: {status: 201}}\n", "--journal-sample", "1")
	for i := range 3 {
		p.Do("POST", fmt.Sprintf("/orders/%d", i), fmt.Sprintf(`{"amount": %d}`, i*10))
	}
	for _, c := range []struct {
		body   string
		status int
		count  int
	}{
		{`{"condition": "json-params.amount >= 10", "count": 2}`, 200, 2},
		{`{"condition": "json-params.amount >= 10", "count": 1}`, 422, 2},
		{`{"condition": "json-params.amount >= 10", "count": 3}`, 422, 2},
		{`{"condition": "json-params.amount >= 10"}`, 200, 2},
		{`{"condition": "json-params.amount > 99"}`, 422, 0},
		{`{"condition": "json-params.amount > 99", "count": 0}`, 200, 0},
		{`{"condition": "path-params.id = 2", "at-least": 1, "at-most": 1}`, 200, 1},
		{`{"condition": "method = POST", "at-least": 4}`, 422, 3},
		{`{"condition": "method = POST", "at-most": 2}`, 422, 3},
		{`{"count": 3}`, 200, 3},
	} {
		var said struct {
			OK, Exact bool
			Count     int
			Why       string
			Examples  []struct{ Target string }
		}
		a.Do("POST", "/__admin/verify", c.body).Into(t, c.status, &said)
		if said.OK != (c.status == 200) || said.Count != c.count || !said.Exact || (len(said.Examples) > 0) != (c.status == 422 && c.count > 0) {
			t.Errorf("%s: got %+v", c.body, said)
		}
	}
}

// A journal with only some of the requests can prove that there were enough, but not that there
// were no more.
func TestAdmin_VerifyKnowsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, One("x"), "--journal-sample", "1000")
	p.Get("/a")
	p.Get("/nope")
	for body, want := range map[string]int{
		`{"condition": "path = \"/nope\"", "at-least": 1}`:               200,
		`{"condition": "path = \"/nope\"", "count": 1}`:                  422,
		`{"condition": "path = \"/nope\"", "at-most": 5}`:                422,
		`{"condition": "path = \"/nope\"", "count": 1, "exact": false}`:  200,
		`{"condition": "path = \"/nope\"", "count": 2, "exact": false}`:  422,
		`{"condition": "path = \"/nope\"", "at-most": 0, "exact": true}`: 422,
	} {
		var said struct {
			OK, Exact bool
			Why       string
		}
		a.Do("POST", "/__admin/verify", body).Into(t, want, &said)
		if said.OK != (want == 200) || said.Exact || !strings.Contains(said.Why, "--journal-sample") {
			t.Errorf("%s: got %+v", body, said)
		}
	}
}

func TestAdmin_WebhooksAreListedFiredAndCancelled(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 16)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- string(body)
	}))
	defer target.Close()
	p, a := Administered(t, `
- endpoint:
    method: POST
    path: /pay/:after|int
    response: {status: 201}
    webhooks:
      - {method: POST, url: "`+strings.Replace(target.URL, "http://", "http://user:hidden@", 1)+`/{{path-params.after}}", sleep-time: 600, if: "path-params.after = 600", body: "late"}
      - {method: POST, url: "`+target.URL+`/early", sleep-time: 300, if: "path-params.after = 300", body: "early"}
`)
	p.Do("POST", "/pay/600", "")
	p.Do("POST", "/pay/300", "")
	type listed struct {
		Pending, Delivered, Cancelled int
		Webhooks                      []struct {
			ID, Webhook, Method, URL string
			Due                      time.Time
		}
	}
	list := func() (l listed) {
		t.Helper()
		a.Get("/__admin/webhooks").Into(t, 200, &l)
		return l
	}
	var l listed
	harness.Until(t, "both are pending", func() bool { l = list(); return len(l.Webhooks) == 2 })
	if !strings.HasSuffix(l.Webhooks[0].URL, "/early") || !strings.HasSuffix(l.Webhooks[1].URL, "/600") || !l.Webhooks[0].Due.Before(l.Webhooks[1].Due) {
		t.Errorf("got %+v, want the earlier one first", l.Webhooks)
	}
	if strings.Contains(fmt.Sprint(l), "hidden") {
		t.Errorf("a password is shown: %+v", l)
	}
	a.Do("DELETE", "/__admin/webhooks/"+l.Webhooks[0].ID, "").Into(t, 200, &struct{}{})
	a.Do("POST", "/__admin/webhooks/"+l.Webhooks[1].ID+"/fire", "").Into(t, 200, &struct{}{})
	select {
	case body := <-arrived:
		if body != "late" {
			t.Errorf("got %q, want the one that was fired", body)
		}
	case <-time.After(harness.Patience):
		t.Fatal("the webhook that was fired never arrived")
	}
	harness.Until(t, "one is delivered and one cancelled", func() bool {
		l = list()
		return l.Pending == 0 && l.Delivered == 1 && l.Cancelled == 1
	})
	m := Scrape(t, a)
	if Value(t, m, "mockserver_webhooks_total", "outcome", "delivered") != 1 || Value(t, m, "mockserver_webhooks_total", "outcome", "cancelled") != 1 ||
		Metric(t, m, "mockserver_webhook_lag_seconds").GetHistogram().GetSampleCount() != 1 {
		t.Error("the metrics do not count it")
	}
}

func TestAdmin_APendingWebhookSaysWhyItsLastAttemptFailed(t *testing.T) {
	t.Parallel()
	target := "http://" + silent(t)
	p, a := Administered(t, WithHook("/a", target, ", timeout: 500ms, retry: {attempts: 4, backoff: 1h}"))
	p.Do("POST", "/a", "")
	var l struct {
		Webhooks []struct {
			Attempt   int
			LastError string `json:"last_error"`
		}
	}
	harness.Until(t, "it failed once", func() bool {
		a.Get("/__admin/webhooks").Into(t, 200, &l)
		return len(l.Webhooks) == 1 && l.Webhooks[0].LastError != ""
	})
	if want := "no answer from " + target + " within 500ms, attempt 1 of 4"; l.Webhooks[0].LastError != want || l.Webhooks[0].Attempt != 1 {
		t.Errorf("got %+v, want %q", l.Webhooks[0], want)
	}
}
