package listener_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// A condition has the same result for a kept request as it had when the request arrived.
func TestVerify_HoldsAsTheConditionOfAnEndpoint(t *testing.T) {
	server := journaling(t, kept)
	for range 3 {
		response(t, dial(t, server, "POST /orders/a%20b HTTP/1.1\r\nHost: mock.test\r\nX-Kind: 1\r\nContent-Length: 12\r\n\r\n{\"n\":[3,10]}"))
	}
	for _, sent := range []string{"GET /users/7?q=1 HTTP/1.1\r\nHost: b.test", "GET /users/8 HTTP/1.1\r\nHost: a", "PUT /nothing HTTP/1.1\r\nHost: a", "GET /static HTTP/1.1\r\nHost: a"} {
		response(t, dial(t, server, sent+"\r\nConnection: close\r\n\r\n"))
	}
	for condition, want := range map[string]int{
		"": 7, "method = POST": 3, "method = PUT": 1, "path contains users": 2, `path-params.kind = "a b"`: 3, "path-params.id = 7": 1,
		"path-params.id": 2, "json-params.n.1 > 9": 3, "json-params.n.1 > 10": 0, "header-params.x-kind = 1": 3, "query-params.q = 1": 1,
		"host = b.test": 1, `remote-addr contains "127.0.0.1"`: 7, "not (method = POST)": 4,
	} {
		v, err := server.Verify(condition)
		if err != nil || v.Count != want || !v.Exact || v.Why != "" || len(v.Matches) != want {
			t.Errorf("%s: got %+v, %v, want %d", condition, v, err, want)
		}
	}
	var problems syntax.Problems
	if _, err := server.Verify("method ="); !errors.As(err, &problems) || len(problems) != 1 {
		t.Errorf("an invalid condition: %v", err)
	}
	for _, condition := range []string{"metod = POST", "status = 404 and method = GET", `url contains "/users"`, "static"} {
		if v, err := server.Verify(condition); !errors.As(err, &problems) || !strings.Contains(err.Error(), "is not a variable") {
			t.Errorf("%s: got %+v, %v, want an error: the condition would match no request, or all", condition, v, err)
		}
	}
}

// For a request that is not kept completely, a condition is evaluated on the parts that are kept.
// If they do not decide it, the count is only a lower bound.
func TestVerify_WhatIsNotKeptDecidesNothing(t *testing.T) {
	server := journaling(t, kept)
	spaces := strings.Repeat(" ", 20_000)
	for _, sent := range []string{
		"POST /orders/a HTTP/1.1\r\nHost: a\r\nContent-Length: 20007\r\n\r\n" + spaces + `{"n":3}`,
		"GET /static HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer abc\r\nX-Session-Id: 0\r\nX-Auth-Token: 0.0\r\nCookie: a=b\r\n\r\n",
		"GET /static HTTP/1.1\r\nHost: a\r\nX-Long: " + strings.Repeat("x", 9000) + "\r\nX-Behind: 1\r\n\r\n",
		"GET /users/7 HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		response(t, dial(t, server, sent))
	}
	for _, c := range []struct {
		condition string
		count     int
		exact     bool
	}{
		{"method = POST", 1, true},
		{"path = /nowhere", 0, true},
		{"path = /nowhere and json-params.n = 3", 0, true},
		{"path = /static or body contains n", 2, false},
		{"json-params.n = 3", 0, false},
		{"not json-params.n", 3, false},
		{"path-params.kind = a and body.length > 9000", 0, false},
		{"path-params.id = 7 and not json-params.n", 1, true},
		{`header-params.authorization = "Bearer abc"`, 0, false},
		{`header-params.authorization != "Bearer abc"`, 2, false},
		{"header-params.authorization contains not", 0, false},
		{"header-params.authorization|length > 3", 0, false},
		{`query-params.q|default:header-params.authorization contains not`, 0, false},
		{"method = GET and path-params.id and header-params.authorization contains a", 0, true},
		{"method = POST and header-params.authorization != null", 0, true},
		{"path != /static or header-params.authorization != null", 3, false}, // for one request, not even the presence of the header is kept
		{"header-params.authorization", 1, false},
		{`header-params.x-session-id = 0`, 1, false},
		{`path = /static and host = a and cookie-params.a != "" and header-params.x-auth-token`, 0, false},
		{`header-params.authorization and header-params.x-auth-token`, 0, false},
		{`header-params.authorization and not header-params.x-auth-token`, 1, false},
		{"cookie-params.a = b", 0, false},
		{"header-params.x-behind = 1", 0, false},
	} {
		v, err := server.Verify(c.condition)
		if err != nil || v.Count != c.count || v.Exact != c.exact || (v.Why == "") != c.exact {
			t.Errorf("%s: got %d, exact %v (%s), %v; want %d, exact %v", c.condition, v.Count, v.Exact, v.Why, err, c.count, c.exact)
		}
	}
	server.ResetJournal()
	response(t, dial(t, server, "GET /static HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer abc\r\nX-Session-Id: 0\r\nX-Auth-Token: 0.0\r\n\r\n"))
	for condition, want := range map[string]int{
		"header-params.authorization": 1, "header-params.authorization = null": 0, `"" != header-params.authorization`: 1,
		"not header-params.authorization": 0, "header-params.x-session-id": 0, "header-params.x-session-id = 0": 1, "cookie-params.a": 0,
	} {
		if v, err := server.Verify(condition); err != nil || v.Count != want || !v.Exact {
			t.Errorf("%s: got %+v, %v, want exactly %d", condition, v, err, want)
		}
	}
}

// Malformed input that was answered with 400 is not counted as a request.
func TestVerify_WhatWasNoRequestIsNone(t *testing.T) {
	server := journaling(t, kept)
	response(t, dial(t, server, "POST /orders/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"))
	for _, condition := range []string{"", "method = GET", "path = /", "not (method = PUT)"} {
		if v, err := server.Verify(condition); err != nil || v.Count != 0 || !v.Exact {
			t.Errorf("%q: got %d, %v", condition, v.Count, err)
		}
	}
	if all := server.Journal(); len(all) != 1 || all[0].Status != 400 {
		t.Errorf("the journal has %d", len(all))
	}
}

// A condition that needs a text larger than MaxResponse is false, both when it selects an endpoint
// and when it is used on the journal.
func TestServer_ConditionsKeepToMaxResponse(t *testing.T) {
	const condition = `json-params|join:"-" contains 1`
	server := listenertest.Start(t, config.Parse("m.yml", []byte(`
- endpoint: {method: POST, path: /a, if: '`+condition+`', response: {body: short}}
- endpoint: {method: POST, path: /a, response: {body: long}}
`)), listener.Options{MaxResponse: 10})
	for body, want := range map[string]string{"[1,1,1]": "short", "[1,1,1,1,1,1,1]": "long"} {
		sent := fmt.Sprintf("POST /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if got := response(t, dial(t, server, sent)); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
	if v, err := server.Verify(condition); err != nil || v.Count != 1 {
		t.Errorf("got %+v, %v, want 1 request", v, err)
	}
}
