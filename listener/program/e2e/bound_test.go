package e2e_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"mockserver/internal/harness"
)

// boundedEndpoints have templates whose output is as large as the client requests.
const boundedEndpoints = `
- endpoint: {method: POST, path: /body, response: {body: "{% for x in json-params %}0123456789{% endfor %}"}}
- endpoint: {method: POST, path: /header, response: {headers: {X-A: "{% for x in json-params %}0123456789{% endfor %}"}, body: a}}
- endpoint: {method: POST, path: /file, response: {external-body: {provider: json, path: big.json}}}
- endpoint: {method: POST, path: /name, response: {external-body: {provider: json, path: "a/{% for x in json-params %}0123456789{% endfor %}.json"}}}
- endpoint: {method: POST, path: /joined, response: {body: '{{json-params|join:header-params.Sep}}'}}
- endpoint: {method: POST, path: /outcome, responses: [{body: "{% for x in json-params %}0123456789{% endfor %}"}, {weight: 0, body: a}]}
- endpoint: {method: POST, path: /silent, response: {body: "{% for x in json-params %}{% if body contains 'needle' %}found{% endif %}{% endfor %}"}}
- endpoint:
    method: POST
    path: /hook
    response: {body: "{{json-params|length}}"}
    webhooks:
      - {sleep-time: 0, url: "TARGET/large", body: "{% for x in json-params %}0123456789{% endfor %}"}
      - {sleep-time: 0, url: "TARGET/small", body: "{{json-params|length}}"}
- websocket: {path: /talk, on-message: [{pattern: '.*', response: "{% for x in json-params %}0123456789{% endfor %}"}]}
`

// jsonList returns a JSON list of n numbers.
func jsonList(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }

// The output of templates is limited by --max-response, wherever it is used. A larger answer is
// replaced with one of the server's own errors, which names the endpoint and the limit, and is
// logged.
func TestBound_WhatTemplatesMake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it keeps a CPU busy for some seconds")
	}
	target := NewHookTarget(t, nil)
	dir := t.TempDir()
	harness.WriteFile(t, dir, "big.json", `{"a": "{% for x in json-params %}0123456789{% endfor %}"}`)
	harness.WriteFile(t, dir, "a.yml", strings.ReplaceAll(boundedEndpoints, "TARGET", target.URL))
	p := LaunchIn(t, dir, nil, "-c", "a.yml", "--max-response", "10000", "--access-log").Listening()

	const tooLarge = "a template produces more than 10000 bytes; see --max-response"
	for _, c := range []struct {
		path    string
		fits    int // number of elements
		size    int // size of the body that fits
		larger  int // number of elements
		headers []string
	}{
		{"/body", 1000, 10_000, 1001, nil},
		{"/header", 1000, 1, 1001, nil},
		{"/file", 999, 9999, 1000, nil},
		{"/name", 0, 0, 1001, nil},
		{"/joined", 1000, 9991, 1001, []string{"Sep: 123456789"}},
		{"/outcome", 1000, 10_000, 1001, nil},
	} {
		if c.fits > 0 {
			if a := p.Do("POST", c.path, jsonList(c.fits), c.headers...); a.Status != 200 || len(a.Body) != c.size {
				t.Errorf("%s with %d elements: %d, %d bytes; want 200, %d", c.path, c.fits, a.Status, len(a.Body), c.size)
			}
		}
		endpoint := "POST " + c.path
		if c.path == "/outcome" {
			endpoint += " responses[0]"
		}
		p.Do("POST", c.path, jsonList(c.larger), c.headers...).Want(t, 500,
			`{"error":"Response too large","code":"response_too_large","message":"`+endpoint+`: `+tooLarge+`"}`+"\n")
		p.WaitLine(0, "server error", "code=response_too_large", `endpoint="`+endpoint+`"`, tooLarge)
	}

	p.Do("POST", "/hook", jsonList(2000)).Want(t, 200, "2000")
	if got := target.Next(t); got.URI != "/small" || got.Body != "2000" {
		t.Errorf("the target got %s %q, want the small one only", got.URI, got.Body)
	}
	p.WaitLine(0, "webhook failed", tooLarge)

	talk := openSocket(p, "/talk", nil)
	talk.Say(jsonList(1000))
	talk.Hear(strings.Repeat("0123456789", 1000))
	talk.Say(jsonList(1001))
	talk.Ends(websocket.StatusInternalError, "Response too large")
	p.WaitLine(0, "server error", `endpoint="WebSocket /talk"`, tooLarge)

	text := `["` + strings.Repeat("x", 4<<20) + `"` + strings.Repeat(",1", 2000) + "]"
	p.Do("POST", "/silent", text).Want(t, 500,
		`{"error":"Template takes too long","code":"template_too_long","message":"POST /silent: the loops of a template have more than 20,000,000 iterations, or read as much"}`+"\n")
}

// Rendering stops soon after the client leaves, long before it would have finished.
func TestBound_AClientThatLeavesStopsRendering(t *testing.T) {
	t.Parallel()
	p := Serving(t, `- endpoint:
    method: POST
    path: /slow
    response: {body: "{% for x in json-params %}{% for y in json-params %}{% endfor %}{% endfor %}"}
`, "--access-log")
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	body := jsonList(4400) // 19.4 million iterations: if the client stayed, the answer would be a 200
	if _, err := fmt.Fprintf(conn, "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if line := p.WaitLine(0, "uri=/slow"); !strings.Contains(line, "status=499") {
		t.Errorf("the template was rendered to its end: %s", line)
	}
}
