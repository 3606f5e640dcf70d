package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mockserver/internal/harness"
	"mockserver/listener/program/importing"
)

const mappings = `{"mappings": [
{"request": {"method": "GET", "urlPathPattern": "/users/[0-9]+", "headers": {"X-Key": {"equalTo": "k"}}}, "response": {"jsonBody": {"name": "Ann"}}},
{"request": {"method": "GET", "urlPath": "/find", "queryParameters": {"q": {"contains": "a b"}}, "cookies": {"s": {"equalTo": "1"}}}, "response": {"body": "found", "headers": {"Content-Type": "text/plain"}}},
{"request": {"method": "POST", "urlPath": "/pay", "bodyPatterns": [{"matchesJsonPath": {"expression": "$.card.owner", "equalTo": "Ann"}}, {"matchesJsonPath": "$.amount"}]}, "response": {"status": 201, "body": "paid"}},
{"request": {"method": "PUT", "urlPath": "/j", "bodyPatterns": [{"equalToJson": {"a": [1, 2]}}]}, "response": {"status": 204}},
{"request": {"method": "GET", "urlPathPattern": ".*/last"}, "response": {"body": "last"}, "priority": 9},
{"request": {"method": "GET", "url": "/exact,(x)?a=1&b="}, "response": {"body": "exact"}, "priority": 10},
{"request": {"method": "GET", "urlPathPattern": "/orders/[0-9]+/lines"}, "response": {"body": "lines"}},
{"request": {"method": "GET", "urlPath": "/s"}, "response": {"body": "1"}, "scenarioName": "s", "requiredScenarioState": "Started", "newScenarioState": "two"},
{"request": {"method": "GET", "urlPath": "/s"}, "response": {"body": "2"}, "scenarioName": "s", "requiredScenarioState": "two"},
{"request": {"method": "GET", "urlPath": "/random"}, "response": {"body": "{{randomValue length=8}}", "transformers": ["response-template"]}},
{"request": {"method": "GET", "urlPath": "/broken"}, "response": {"fault": "EMPTY_RESPONSE"}},
{"request": {"method": "GET", "urlPath": "/away"}, "response": {"proxyBaseUrl": "http://127.0.0.1:9"}}
]}`

const environment = `{"uuid": "e", "endpointPrefix": "api", "routes": [
{"type": "http", "method": "get", "endpoint": "r/:x", "responses": [
 {"statusCode": 200, "body": "usual", "default": true, "rules": []},
 {"statusCode": 201, "body": "header", "rules": [{"target": "header", "modifier": "X-A", "operator": "equals", "value": "1"}]},
 {"statusCode": 202, "body": "both", "rulesOperator": "AND", "rules": [{"target": "query", "modifier": "q", "operator": "regex", "value": "^[0-9]{3}$"}, {"target": "params", "modifier": "x", "operator": "equals", "value": "7"}]}]},
{"type": "http", "method": "post", "endpoint": "b", "responses": [
 {"statusCode": 200, "body": "usual", "default": true},
 {"statusCode": 422, "body": "no", "rules": [{"target": "body", "modifier": "state", "operator": "equals", "value": "bad"}]}]}
]}`

// The requests of --check are derived from URLs and routes, as far as nothing else is matched: each is
// answered by the endpoint that was made from the same mapping or response.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, text string
		asked      int
	}{
		{"mappings.json", mappings, 4},
		{"environment.json", environment, 2},
		{"db.json", `{"posts": [{"id": 1, "t": "a"}, {"id": "b c", "t": null}], "tags": ["x", {"y": 1.50}], "me": {"name": "{{x}}"}}`, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := harness.WriteFile(t, t.TempDir(), c.name, c.text)
			var out, report strings.Builder
			code := importing.Command([]string{file, "-o", t.TempDir(), "--check"}, &out, &report)
			if want := fmt.Sprintf("%d requests sent: %d as expected, 0 different\n", c.asked, c.asked); code != 0 || !strings.Contains(report.String(), want) {
				t.Errorf("exit code %d, want %q in:\n%s", code, want, report.String())
			}
			report.Reset()
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "another") }))
			defer other.Close()
			code = importing.Command([]string{file, "-o", t.TempDir(), "--against", other.URL}, &out, &report)
			if want := fmt.Sprintf("%d requests sent: 0 as expected, %d different\n", c.asked, c.asked); code != 1 || !strings.Contains(report.String(), want) {
				t.Errorf("exit code %d against another server, want %q in:\n%s", code, want, report.String())
			}
		})
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
