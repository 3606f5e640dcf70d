package e2e_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"mockserver/internal/harness"
)

// The client in these tests is a library that shares no code with the server.

const chat = `
- websocket:
    path: /rooms/:room|int
    subprotocols: [chat.v2, chat.v1]
    on-connect: {response: "welcome to {{path-params.room}}, {{query-params.as|default:\"stranger\"}} with {{header-params.X-Client}} from {{remote-addr}}"}
    on-message:
      - {pattern: ping, response: pong}
      - {pattern: '{"echo": "{{json-params.echo}}"}', response: {body: {echo: "{{json-params.echo}}", room: "{{path-params.room}}"}}}
      - pattern: {type: order, items: [{sku: A-1}], total: 10}
        response: {body: {accepted: true}}
      - {pattern: 'say (\w+) *', response: 'you said {{message|upper}} on {{path}}?{{query-string}}'}
      - {pattern: bye, response: {body: "good bye", close: {code: 4001, reason: "{{message}} from {{path-params.room}}"}}}
      - {pattern: leave, response: {close: 1008}}
      - {pattern: bytes, response: {base64: AAEC/w==}}
      - {pattern: "\x01\x02", response: "{{message}}"}
      - {pattern: 'é+', response: {body: '{{message}}', binary: false}}
- websocket: {path: '/rooms/:room', on-connect: {response: a text room}}
- endpoint: {path: /rooms/7, response: {body: plain}}
- endpoint: {method: POST, path: /only, response: {body: posted}}
- websocket: {path: /only}
- websocket: {path: /hosted, host: ws.example.com, on-connect: {response: here}}
- websocket: {path: /hosted, host: "*.example.com", on-connect: {response: there}}
- websocket: {path: /strict, if: query-params.token = "secret", on-connect: {response: in}}
`

func chatting(t *testing.T, args ...string) *Process {
	return Serving(t, chat, args...)
}

func TestWebSocket_RepliesByPatternInOrder(t *testing.T) {
	t.Parallel()
	p := chatting(t)
	c := openSocket(p, "/rooms/7?as=ann", &websocket.DialOptions{HTTPHeader: http.Header{"X-Client": {"tester"}}})
	c.Hear("welcome to 7, ann with tester from 127.0.0.1")
	for _, exchange := range [][2]string{
		{"ping", "pong"},
		{`{"echo": [1, 2.50], "more": null}`, `{"echo":[1, 2.50],"room":"7"}`},
		{`{"echo": null}`, `{"echo":null,"room":"7"}`},
		{`{"total": 1e1, "items": [{"sku": "A-1", "n": 2}], "type": "order"}`, `{"accepted":true}`},
		{"say hello ", "you said SAY HELLO  on /rooms/7?as=ann"},
		{"unheard of", ""}, {"pinging", ""}, {`{"type": "order"}`, ""}, {"a say hello", ""},
		{"", ""},
		{"ping", "pong"},
	} {
		c.Say(exchange[0])
		if exchange[1] != "" {
			c.Hear(exchange[1])
		}
	}
	c.Say("bytes")
	c.HearAs(websocket.MessageBinary, "\x00\x01\x02\xff")
	if err := c.Conn.Write(c.Ctx, websocket.MessageBinary, []byte{1, 2}); err != nil {
		t.Fatal(err)
	}
	c.HearAs(websocket.MessageBinary, "\x01\x02")
	if err := c.Conn.Write(c.Ctx, websocket.MessageBinary, []byte("éé")); err != nil {
		t.Fatal(err)
	}
	c.Hear("éé")
	c.Say("bye")
	c.Hear("good bye")
	c.Ends(4001, "bye from 7")
}

// In an unquoted position in JSON, a message that is JSON is inserted as that value, and any other
// message as text.
func TestWebSocket_AMessageThatIsJSONIsThatValue(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- websocket:
    path: /echo
    on-connect: {response: '{"data": {{message}}}'}
    on-message:
      - pattern: '(?s).*'
        response: '{"data": {{message}}, "text": "{{message}}", "json": {{message|json}}, "upper": {{message|upper}}}'
- websocket: {path: /any, on-message: [{pattern: '(?s).*', response: '[{{message|default:"none"}}, {{pick(message)}}, {{query-params.none|default:message}}]'}]}
`)
	c := openSocket(p, "/echo", nil)
	c.Hear(`{"data": null}`)
	for _, exchange := range [][2]string{
		{`{"a": [1, 2.50]}`, `{"data": {"a": [1, 2.50]}, "text": "{\"a\": [1, 2.50]}", "json": "{\"a\": [1, 2.50]}", "upper": "{\"A\": [1, 2.50]}"}`},
		{`"quo\"ted"`, `{"data": "quo\"ted", "text": "\"quo\\\"ted\"", "json": "\"quo\\\"ted\"", "upper": "\"QUO\\\"TED\""}`},
		{"null", `{"data": null, "text": "null", "json": "null", "upper": "NULL"}`},
		{"hello", `{"data": "hello", "text": "hello", "json": "hello", "upper": "HELLO"}`},
		{`{"a": 1} x`, `{"data": "{\"a\": 1} x", "text": "{\"a\": 1} x", "json": "{\"a\": 1} x", "upper": "{\"A\": 1} X"}`},
		{`1,"admin":true`, `{"data": "1,\"admin\":true", "text": "1,\"admin\":true", "json": "1,\"admin\":true", "upper": "1,\"ADMIN\":TRUE"}`},
		{"", `{"data": "", "text": "", "json": "", "upper": ""}`},
	} {
		c.Say(exchange[0])
		c.Hear(exchange[1])
	}
	c = openSocket(p, "/any", nil)
	c.Say("[1]")
	c.Hear("[[1], [1], [1]]")
	c.Say("a")
	c.Hear(`["a", "a", "a"]`)
}

func TestWebSocket_ClosesAsDeclared(t *testing.T) {
	t.Parallel()
	p := chatting(t)
	c := openSocket(p, "/rooms/1", nil)
	c.Hear("welcome to 1, stranger with  from 127.0.0.1")
	c.Say("leave")
	c.Ends(1008, "")

	c = openSocket(p, "/rooms/1", nil)
	c.Hear("welcome to 1, stranger with  from 127.0.0.1")
	if err := c.Conn.Close(3456, "enough"); err != nil { // Close waits for the close frame to be echoed
		t.Error(err)
	}
}

func TestWebSocket_MatchesAsEndpointsDo(t *testing.T) {
	t.Parallel()
	p := chatting(t)
	openSocket(p, "/rooms/abc", nil).Hear("a text room")
	openSocket(p, "/rooms/12/", nil).Hear("welcome to 12, stranger with  from 127.0.0.1")
	openSocket(p, "/strict?token=secret", nil).Hear("in")
	openSocket(p, "/hosted", &websocket.DialOptions{Host: "ws.example.com"}).Hear("here")
	openSocket(p, "/hosted", &websocket.DialOptions{Host: "other.example.com:80"}).Hear("there")
	for path, want := range map[string]string{
		"/strict": "its condition does not hold", "/hosted": "it answers for the host ws.example.com", "/room/7": "nearest: WebSocket /rooms/:room",
	} {
		_, resp, err := upgrade(p, path, nil)
		if err == nil {
			t.Fatalf("%s: the connection was upgraded", path)
		}
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 404 || !strings.Contains(string(b), want) {
			t.Errorf("%s: got %d %s, want 404 and %q", path, resp.StatusCode, b, want)
		}
	}
}

func TestWebSocket_AgreesOnASubprotocol(t *testing.T) {
	t.Parallel()
	p := chatting(t)
	for _, c := range []struct {
		offered []string
		want    string
	}{
		{nil, ""}, {[]string{"chat.v1"}, "chat.v1"}, {[]string{"x", "chat.v1", "chat.v2"}, "chat.v2"}, {[]string{"x", "y"}, ""},
	} {
		if got := openSocket(p, "/rooms/1", &websocket.DialOptions{Subprotocols: c.offered}).Conn.Subprotocol(); got != c.want {
			t.Errorf("%q: got %q, want %q", c.offered, got, c.want)
		}
	}
	if got := openSocket(p, "/only", &websocket.DialOptions{Subprotocols: []string{"chat.v1"}}).Conn.Subprotocol(); got != "" {
		t.Errorf("got %q without a declared protocol", got)
	}
}

func TestWebSocket_PagesOfAnyOriginMayConnect(t *testing.T) {
	t.Parallel()
	openSocket(chatting(t), "/rooms/1", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://app.example.com"}}}).
		Hear("welcome to 1, stranger with  from 127.0.0.1")
}

func TestWebSocket_PlainRequestsToItsPath(t *testing.T) {
	t.Parallel()
	p := chatting(t)
	p.Get("/rooms/7").Want(t, 200, "plain")
	for _, method := range []string{"GET", "POST", "DELETE"} {
		a := p.Do(method, "/rooms/8", "")
		if a.Status != 426 || a.Header.Get("Upgrade") != "websocket" || !strings.Contains(a.Body, `"code":"upgrade_required"`) {
			t.Errorf("%s: got %d %v %s, want 426", method, a.Status, a.Header, a.Body)
		}
	}
	p.Do("POST", "/only", "").Want(t, 200, "posted")
	if a := p.Get("/only"); a.Status != 426 {
		t.Errorf("got %d %s, want 426", a.Status, a.Body)
	}
	if a := p.Do("HEAD", "/only", ""); a.Status != 426 {
		t.Errorf("got %d %s, want 426", a.Status, a.Body)
	}
	if a := p.Do("DELETE", "/only", ""); a.Status != 405 || a.Header.Get("Allow") != "GET, HEAD, OPTIONS, POST" {
		t.Errorf("got %d, Allow %q, want 405", a.Status, a.Header.Get("Allow"))
	}
	if a := p.Do("OPTIONS", "/rooms/8", ""); a.Status != 200 || a.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("got %d, Allow %q, want 200", a.Status, a.Header.Get("Allow"))
	}
	if a := p.Get("/strict"); a.Status != 426 { // whatever the condition
		t.Errorf("got %d %s, want 426", a.Status, a.Body)
	}
	if a := p.Get("/nowhere"); a.Status != 404 {
		t.Errorf("got %d %s, want 404", a.Status, a.Body)
	}
}

// asking returns a request for a WebSocket, whose lines change may modify.
func asking(path string, change func(lines []string) []string) string {
	lines := []string{"GET " + path + " HTTP/1.1", "Host: localhost", "Connection: keep-alive, Upgrade", "Upgrade: websocket",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"}
	if change != nil {
		lines = change(lines)
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// without removes the lines that begin with a name, and adds others.
func without(name string, more ...string) func([]string) []string {
	return func(lines []string) []string {
		return append(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, name) }), more...)
	}
}

// send sends bytes to a program, and returns the connection to read from.
func send(p *Process, sent string) (net.Conn, *bufio.Reader) {
	p.T.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(harness.Patience)) // then reading also fails
	if _, err := io.WriteString(conn, sent); err != nil {
		p.T.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func TestWebSocket_BadHandshakes(t *testing.T) {
	t.Parallel()
	p := chatting(t)
	for _, c := range []struct {
		name   string
		change func([]string) []string
		status int
		what   string
	}{
		{"no key", without("Sec-WebSocket-Key"), 400, "Sec-WebSocket-Key"},
		{"two keys", without("-", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="), 400, "Sec-WebSocket-Key"},
		{"a key that is not base64", without("Sec-WebSocket-Key", "Sec-WebSocket-Key: ????"), 400, "Sec-WebSocket-Key"},
		{"a key of 15 bytes", without("Sec-WebSocket-Key", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAA"), 400, "Sec-WebSocket-Key"},
		{"no version", without("Sec-WebSocket-Version"), 400, "Sec-WebSocket-Version"},
		{"version 8", without("Sec-WebSocket-Version", "Sec-WebSocket-Version: 8"), 426, "version 8"},
		{"no upgrade option", without("Connection"), 400, "Connection: Upgrade"},
		{"a connection that closes", without("Connection", "Connection: Upgrade, close"), 400, "Connection: Upgrade"},
		{"a body", without("-", "Content-Length: 2"), 400, "must not have a body"},
		{"another protocol", without("Upgrade", "Upgrade: h2c"), 426, "is the path of a WebSocket"},
	} {
		sent := asking("/rooms/8", c.change)
		if c.name == "a body" {
			sent += "{}"
		}
		_, r := send(p, sent)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != c.status || !strings.Contains(string(b), c.what) {
			t.Errorf("%s: got %d %s, want %d and %q", c.name, resp.StatusCode, b, c.status, c.what)
		}
		if c.status == 426 && resp.Header.Get("Sec-WebSocket-Version") != "13" {
			t.Errorf("%s: the version is %q", c.name, resp.Header.Get("Sec-WebSocket-Version"))
		}
	}
}

func TestWebSocket_TheHandshakeIsThatOfTheRFC(t *testing.T) {
	t.Parallel()
	_, r := send(chatting(t), asking("/rooms/8", func(lines []string) []string {
		for i := range lines {
			lines[i] = strings.ReplaceAll(strings.ReplaceAll(lines[i], "Upgrade: websocket", "upgrade: WebSocket"), ", Upgrade", ", UPGRADE")
		}
		return lines
	}))
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := resp.Header
	if resp.StatusCode != 101 || h.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" || // RFC 6455, section 1.3
		!strings.EqualFold(h.Get("Upgrade"), "websocket") || !strings.EqualFold(h.Get("Connection"), "upgrade") || h.Get("Content-Length") != "" {
		t.Errorf("got %d %v", resp.StatusCode, h)
	}
}

// masked returns a frame as a client sends it, short enough for a length of one byte.
func masked(first byte, payload string) string {
	return string([]byte{first, 0x80 | byte(len(payload)), 0, 0, 0, 0}) + payload
}

func TestWebSocket_WhatComesRightAfterTheHandshakeIsNotLost(t *testing.T) {
	t.Parallel()
	p := chatting(t)
	sent := "GET /rooms/7 HTTP/1.1\r\nHost: a\r\n\r\n" + asking("/rooms/3", nil) + masked(0x81, "ping") + masked(0x81, "bye")
	_, r := send(p, sent)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(resp.Body); string(b) != "plain" {
		t.Errorf("got %q for the previous request", b)
	}
	if resp, err = http.ReadResponse(r, nil); err != nil || resp.StatusCode != 101 {
		t.Fatal(resp, err)
	}
	want := "\x81\x2bwelcome to 3, stranger with  from 127.0.0.1\x81\x04pong\x81\x08good bye\x88\x0c\x0f\xa1bye from 3"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
}

func TestWebSocket_ARequestThatIsNotUpgradedGoesOnAsHTTP(t *testing.T) {
	t.Parallel()
	_, r := send(chatting(t), asking("/rooms/7/none", nil)+asking("/rooms/7", without("Sec-WebSocket-Key"))+
		"GET /rooms/7 HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nGET /rooms/7 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	for i, want := range []int{404, 400, 200, 200} {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(i, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != want {
			t.Errorf("request %d: got %d, %v, want %d", i, resp.StatusCode, err, want)
		}
	}
}

func TestWebSocket_MessagesAreBounded(t *testing.T) {
	t.Parallel()
	const text = "- websocket: {path: /echo, on-message: [{pattern: '.*', response: '{{message}}'}]}\n" +
		"- websocket: {path: /small, max-message: 10B, on-message: [{pattern: '.*', response: '{{message}}'}]}\n"
	for _, c := range []struct {
		args  []string
		path  string
		limit int
	}{
		{nil, "/echo", 1 << 20}, {[]string{"--max-message", "70KiB"}, "/echo", 70 << 10}, {nil, "/small", 10},
	} {
		p := Serving(t, text, c.args...)
		s := openSocket(p, c.path, nil)
		for _, n := range []int{0, 1, c.limit} {
			s.Say(strings.Repeat("x", n))
			s.Hear(strings.Repeat("x", n))
		}
		s.Say(strings.Repeat("x", c.limit+1))
		s.Ends(1009, "")
	}
}

func TestWebSocket_SendsUnasked(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- websocket:
    path: /ticks
    on-connect: {response: hello}
    send:
      - {every: 20ms, times: 3, response: "tick {{counter(\"ticks\")}}"}
      - {after: 0, response: {body: {at: once}}}
    close: {code: 4000, reason: over, after: 2s}
`)
	c := openSocket(p, "/ticks", nil)
	for _, want := range []string{"hello", `{"at":"once"}`, "tick 1", "tick 2", "tick 3"} {
		c.Hear(want)
	}
	c.Ends(4000, "over")
}

func TestWebSocket_AReloadLeavesOpenConnectionsAsTheyWere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "- websocket: {path: /a, on-connect: {response: §}, on-message: [{pattern: who, response: §}]}\n"
	file := harness.WriteFile(t, dir, "a.yml", strings.ReplaceAll(text, "§", "old"))
	p := Start(t, "-c", file)
	before := openSocket(p, "/a", nil)
	before.Hear("old")
	harness.WriteFile(t, dir, "a.yml", strings.ReplaceAll(text, "§", "new"))
	p.Signal(syscall.SIGHUP)
	p.WaitLine(0, "configuration reloaded")
	after := openSocket(p, "/a", nil)
	after.Hear("new")
	before.Say("who")
	before.Hear("old")
	after.Say("who")
	after.Hear("new")
}

func TestWebSocket_StoppingClosesWith1001(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- websocket: {path: /a, on-connect: {response: hello}}\n", "--access-log")
	var all []*clientSocket
	for range 20 {
		c := openSocket(p, "/a", nil)
		c.Hear("hello")
		all = append(all, c)
	}
	p.Signal(syscall.SIGTERM)
	for _, c := range all {
		c.Ends(1001, "")
	}
	if code := p.Exit(); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	if lines := p.Output(); slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "cut off") }) {
		t.Errorf("requests were cut off:\n%s", strings.Join(lines, "\n"))
	}
	p.WaitLine(0, "websocket closed", "code=1001", "sent=1")
}

func TestWebSocket_AClientThatIgnoresTheCloseIsLeft(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- websocket: {path: /a}\n", "--grace", "100ms")
	_, r := send(p, asking("/a", nil))
	if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != 101 {
		t.Fatal(resp, err)
	}
	p.Signal(syscall.SIGTERM)
	if b, err := io.ReadAll(r); string(b) != "\x88\x02\x03\xe9" {
		t.Errorf("got %q, %v, want a close with 1001", b, err)
	}
	if code := p.Exit(); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
}

func TestWebSocket_AThousandConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // it has many descriptors
	p := Serving(t, "- websocket: {path: '/echo/:n', on-message: [{pattern: '.*', response: '{{path-params.n}}: {{message}}'}]}\n")
	const connections, messages = 1000, 5
	var clients sync.WaitGroup
	for i := range connections {
		c, _, err := upgrade(p, fmt.Sprintf("/echo/%d", i), nil)
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		clients.Go(func() {
			for n := range messages {
				text := fmt.Sprintf("message %d of %d", n, i)
				if err := c.Conn.Write(c.Ctx, websocket.MessageText, []byte(text)); err != nil {
					t.Error(err)
					return
				}
				_, b, err := c.Conn.Read(c.Ctx)
				if want := fmt.Sprintf("%d: %s", i, text); err != nil || string(b) != want {
					t.Errorf("got %q, %v, want %q", b, err, want)
					return
				}
			}
		})
	}
	clients.Wait()
}
