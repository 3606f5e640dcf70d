package e2e_test

import (
	"net/http"
	"regexp"
	"testing"
)

func TestExamples_MCP(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", File("examples", "mcp.yml"), "--no-latency")
	begun := p.Do("POST", "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	session := begun.Header.Get("Mcp-Session-Id")
	if begun.Status != http.StatusOK || !regexp.MustCompile("^[0-9a-f-]{36}$").MatchString(session) {
		t.Fatalf("initialize: status %d, session %q, %s", begun.Status, session, begun.Body)
	}
	for _, c := range []struct {
		method, session, body string
		status                int
		want                  string
	}{
		{"POST", session, `x`, 400, `"id":null,"error":\{"code":-32700,`},
		{"POST", "", `{"id":1,"method":"ping"}`, 400, `"id":null,"error":\{"code":-32000,`},
		{"POST", "none", `{"id":1,"method":"ping"}`, 404, `"id":null,"error":\{"code":-32001,`},
		{"POST", "demo", `{"id":"a","method":"ping"}`, 200, `^\{"jsonrpc":"2.0","id":"a","result":\{\}\}$`},
		{"POST", session, `{"method":"notifications/initialized"}`, 202, `^$`},
		{"POST", session, `{"id":1,"result":{}}`, 202, `^$`},
		{"POST", session, `{"id":0,"method":"tools/list"}`, 200, `"id":0,"result":\{"tools":\[\{"name":"get_weather",.*\{"name":"count"`},
		{"POST", session, `{"id":1,"method":"tools/call","params":{"name":"get_weather","arguments":{"city":"Bern"}}}`, 200,
			`\{"type":"text","text":"(-?\d+) degrees in Bern"\}\],"structuredContent":\{"city":"Bern","degrees":-?\d+\}`},
		{"POST", session, `{"id":1,"method":"tools/call","params":{"name":"get_weather"}}`, 200, `"result":\{"isError":true,`},
		{"POST", session, `{"id":1,"method":"tools/call","params":{"name":"other"}}`, 200, `"error":\{"code":-32602,"message":"Unknown tool: other"\}`},
		{"POST", session, `{"id":1,"method":"prompts/list"}`, 200, `"error":\{"code":-32601,"message":"Method not found: prompts/list"\}`},
		{"POST", session, `{"id":1,"method":"tools/call","params":{"name":"count","arguments":{"to":2},"_meta":{"progressToken":0}}}`, 200,
			`^(event: message\ndata: \{"jsonrpc":"2.0","method":"notifications/progress","params":\{"progressToken":0,"progress":[12],"total":2\}\}\n\n){2}` +
				`event: message\ndata: \{"jsonrpc":"2.0","id":1,"result":\{"content":\[\{"type":"text","text":"counted to 2"\}\]\}\}\n\n$`},
		{"POST", session, `{"id":1,"method":"tools/call","params":{"name":"count","arguments":{"to":2}}}`, 200, `^event: message\ndata: .*"result".*\n\n$`},
		{"GET", session, "", 200, `^(event: message\ndata: \{"jsonrpc":"2.0","method":"notifications/tools/list_changed"\}\n\n)+$`},
		{"DELETE", session, "", 204, `^$`},
		{"POST", session, `{"id":1,"method":"ping"}`, 404, `"error"`},
		{"GET", session, "", 404, ``},
	} {
		headers := []string{"Mcp-Session-Id: " + c.session, "Content-Type: application/json"}
		if c.session == "" {
			headers = headers[1:]
		}
		got := p.Do(c.method, "/mcp", c.body, headers...)
		if got.Status != c.status || !regexp.MustCompile(c.want).MatchString(got.Body) {
			t.Errorf("%s %s with session %q: status %d, %s; want %d, %s", c.method, c.body, c.session, got.Status, got.Body, c.status, c.want)
		}
	}
}

func TestClients_MCP(t *testing.T) {
	t.Parallel()
	runClient(t, "mcp.mjs", Start(t, "-c", File("examples", "mcp.yml")).URL)
}
