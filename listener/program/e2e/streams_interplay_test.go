package e2e_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// A stream is one request: it takes one token of a rate limit, one turn of a sequence and one change; let and find
// happen once, and what an item asks for is its own. CORS, refusals and the access log are as for any response, and HEAD
// triggers no webhook.
func TestStreams_Interplay(t *testing.T) {
	for way := range TestedWays() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			hooks := NewHookTarget(t, nil)
			p := StartBy(t, way, "--access-log", "-c", harness.WriteFile(t, t.TempDir(), "m.yml", fmt.Sprintf(`
- data: {name: calls, new-key: int, rows: [{id: 0, text: first}]}
- endpoint:
    path: /limited
    rate-limit: {window: 1m, max-requests: 2, key-fn: host}
    response: {stream: [{times: 5, line: a}]}
- endpoint:
    path: /turns
    select: sequence
    responses: [{stream: [{times: 3, line: a}]}, {body: b}]
- endpoint:
    path: /changed
    let: {id: "{{uuid}}"}
    find: {old: {in: calls, key: "0"}}
    do: [{insert: {in: calls, as: new, row: {text: new}}}]
    response: {stream: [{times: 4, line: "{{id}} {{uuid}} {{new.id}} {{old.text}}"}], pace: {gap: 1ms}}
- endpoint: {path: /failing, latency: {failure-rate: 100%%}, response: {stream: [{line: a}]}}
- endpoint: {path: /accepted, response: {status: 202, stream: [{times: 3, data: a}]}}
- endpoint:
    path: /hooked
    response: {stream: [{times: 3, line: a}], pace: {gap: 1ms}}
    webhooks: [{url: "%s/{{response.items}}/{{response.end}}", method: POST, sleep-time: 0s}]
`, hooks.URL)))
			lines := strings.Repeat("a\n", 5)
			for i, status := range []int{200, 200, 429} {
				got := p.Get("/limited")
				if left := got.Header.Get("X-RateLimit-Remaining"); got.Status != status || left != fmt.Sprint(max(1-i, 0)) || status == 200 && got.Body != lines {
					t.Errorf("request %d: status %d, %s left, %q", i, got.Status, left, got.Body)
				}
			}
			for _, want := range []string{"a\na\na\n", "b", "a\na\na\n", "b"} {
				p.Get("/turns").Want(t, 200, want)
			}
			for n := 1; n <= 2; n++ {
				ids := map[string]bool{}
				body := p.Get("/changed").Body
				for line := range strings.Lines(body) {
					fields := regexp.MustCompile(`^([0-9a-f-]{36}) ([0-9a-f-]{36}) (\d+) first\n$`).FindStringSubmatch(line)
					if len(fields) == 0 || fields[3] != fmt.Sprint(n) {
						t.Fatalf("got %q, want row %d", line, n)
					}
					ids["let "+fields[1]], ids["item "+fields[2]] = true, true
				}
				if len(ids) != 5 {
					t.Errorf("one value of let, and one of each of 4 items, are %v", ids)
				}
			}
			if got := p.Get("/failing"); got.Status != 500 || got.Header.Get("Content-Type") != "application/json" {
				t.Errorf("an injected failure is %+v", got)
			}
			if got := p.Get("/accepted", "Origin: https://a.example"); got.Status != 202 || got.Header.Get("Access-Control-Allow-Origin") == "" || got.Body != strings.Repeat("data: a\n\n", 3) {
				t.Errorf("with an origin: %+v", got)
			}
			if got := p.Do("OPTIONS", "/accepted", ""); got.Status >= 300 || !strings.Contains(got.Header.Get("Allow"), "GET") {
				t.Errorf("OPTIONS: %+v", got)
			}
			p.WaitLine(0, "request", "/accepted", "status=202", "bytes=27")
			p.Do(http.MethodHead, "/hooked", "").Want(t, 200, "")
			p.Get("/hooked").Want(t, 200, "a\na\na\n")
			if got := hooks.Next(t).URI; got != "/3/complete" {
				t.Errorf("the first webhook is %s", got)
			}
		})
	}
}
