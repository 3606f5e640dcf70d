package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/settings"
	"mockserver/listener"
	"mockserver/listener/control/runs"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

// stands checks that a page is complete.
func stands(t *testing.T, page []byte) {
	t.Helper()
	if !bytes.HasPrefix(page, []byte("<!doctype html>")) || !bytes.HasSuffix(bytes.TrimSpace(page), []byte("</html>")) {
		t.Errorf("the page is incomplete: %s", page)
	}
}

// Runs of a running server can be controlled and read over HTTP.
func TestRuns_OverHTTP(t *testing.T) {
	server, err := listener.Start(config.New(config.Endpoint{Method: "GET", Path: "/hello", Response: config.Response{Body: "hi"}}), listener.Options{Record: &record.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Open(Options{Address: "127.0.0.1:0", Build: settings.Build{Version: "v9"}})
	if err != nil {
		t.Fatal(err)
	}
	a.Attach(server)
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	call := func(method, path, body string, status int, into any) []byte {
		t.Helper()
		req, _ := http.NewRequest(method, path, strings.NewReader(body))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != status {
			t.Fatalf("%s %s: %d %s, want %d", method, path, resp.StatusCode, text, status)
		}
		if into != nil {
			if err := json.Unmarshal(text, into); err != nil {
				t.Fatalf("%s %s: %v in %s", method, path, err, text)
			}
		}
		if resp.Header.Get("Content-Security-Policy") == "" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s %s has the policy %q", method, path, resp.Header.Get("Content-Security-Policy"))
		}
		return text
	}
	base := a.URL() + "/__admin/"
	for body, status := range map[string]int{`{"name":"` + strings.Repeat("é", 101) + `"}`: 400, `{"name":"a\u0007"}`: 400, `{"nam":"a"}`: 400, `[]`: 400} {
		call("POST", base+"runs", body, status, nil)
	}
	var run runs.RunEntry
	call("POST", base+"runs", `{"name":"`+strings.Repeat("é", 100)+`"}`, 201, &run)
	call("POST", base+"runs", ``, 409, nil)
	for range 25 {
		resp, err := http.Get(server.URL() + "/hello")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	resp, err := http.Get(server.URL() + "/hallo")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	var interim, report runs.Report
	call("GET", base+"runs/"+run.ID, "", 200, &interim)
	if !interim.Running || interim.Total.Requests != 26 {
		t.Errorf("the report of a run that is under way: %+v, want 26 requests", interim.Total)
	}
	call("DELETE", base+"runs/"+run.ID, "", 409, nil)
	call("POST", base+"runs/"+run.ID+"/stop", "", 200, &report)
	call("POST", base+"runs/"+run.ID+"/stop", "", 409, nil)
	if report.Total.Requests != 26 || report.Total.Unmatched != 1 || report.Program.Version != "v9" || len(report.Configuration.Hash) != 64 ||
		len(report.Endpoints) != 1 || report.Endpoints[0].Requests != 25 || len(report.Unmatched) != 1 || !strings.Contains(report.Unmatched[0].Reason, "/hello") || report.Unmatched[0].Nearest != "GET /hello" {
		t.Errorf("report %+v", report)
	}
	stands(t, call("GET", base+"runs/"+run.ID+"/report", "", 200, nil))
	var second runs.RunEntry
	call("POST", base+"runs", "", 201, &second)
	call("POST", base+"runs/"+second.ID+"/stop", "", 200, nil)
	var c runs.Comparison
	call("GET", fmt.Sprintf("%sruns/compare?a=%s&b=%s", base, run.ID, second.ID), "", 200, &c)
	if c.A.Requests != 26 || c.B.Requests != 0 || len(c.Endpoints) != 1 {
		t.Errorf("comparison %+v", c)
	}
	stands(t, call("GET", fmt.Sprintf("%sruns/compare?a=%s&b=%s&format=html", base, run.ID, second.ID), "", 200, nil))
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"runs/compare?a=1": {400, "bad_query"}, "runs/compare?a=1&b=77": {404, "run_not_found"}, "runs/compare?a=1&b=1&format=xml": {400, "bad_query"},
		"runs/77": {404, "run_not_found"}, "runs/77/report": {404, "run_not_found"}, "samples?last=0": {400, "bad_query"}, "runs?limit=0": {400, "bad_query"}, "runs?limit=51": {400, "bad_query"}, "runs?limit=x": {400, "bad_query"}, "runs?limit=1": {200, ""}, "samples?last=x": {400, "bad_query"},
		"samples?after=yesterday": {400, "bad_query"}, "samples?last=5&after=2026-01-02T03:04:05.123Z": {200, ""},
	} {
		var got failure
		if call("GET", base+path, "", want.status, &got); got.Code != want.code {
			t.Errorf("%s: the code is %q, want %q", path, got.Code, want.code)
		}
	}
	call("POST", base+"runs/77/stop", "", 404, nil)
	call("DELETE", base+"runs/77", "", 404, nil)
	var list struct{ Runs []runs.RunEntry }
	call("GET", base+"runs", "", 200, &list)
	if len(list.Runs) != 2 || list.Runs[0].ID != second.ID || list.Runs[1].Verdict == nil || list.Runs[1].Requests != 26 {
		t.Errorf("runs %+v, want two, the newest first", list.Runs)
	}
	var v verdict.Verdict
	call("GET", base+"verdict", "", 200, &v)
	if v.Since.IsZero() {
		t.Errorf("verdict %+v", v)
	}
}
