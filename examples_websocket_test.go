package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

func TestExamples_WebSocket(t *testing.T) {
	t.Parallel()
	p := start(t, "-c", exampleFile(t, "websocket.yml"))
	p.waitLine(0, "listening", " endpoints=2 websockets=4")
	if code, stdout, _ := refused(t, nil, "validate", "-c", exampleFile(t, "websocket.yml")); code != 0 || !strings.Contains(stdout, "2 endpoints, 4 WebSockets") {
		t.Errorf("validate: exit code %d: %s", code, stdout)
	}
	room := p.socket("/rooms/7?as=ann", &websocket.DialOptions{Subprotocols: []string{"chat.v1"}})
	if got := room.conn.Subprotocol(); got != "chat.v1" {
		t.Errorf("the subprotocol is %q", got)
	}
	if got := room.next(); !strings.HasPrefix(got, `{"welcome":"ann","room":"7","at":"20`) {
		t.Errorf("got %q", got)
	}
	for _, exchange := range [][2]string{
		{"ping", "pong"},
		{`{"type": "say", "text": "hello"}`, `{"from":"ann","room":"7","text":"hello"}`},
		{`{"type": "join"}`, `{"error":"a name is missing"}`},
		{`{"type": "join", "name": "ann"}`, `{"joined":"ann"}`},
	} {
		room.say(exchange[0])
		room.hear(exchange[1])
	}
	room.say("roll 20")
	if got := room.next(); !regexp.MustCompile(`^ann rolls [1-6] \(roll 20\)$`).MatchString(got) {
		t.Errorf("got %q", got)
	}
	room.say("bye")
	room.hear("good bye")
	room.ends(4001, "left 7")

	ticker := p.socket("/ticker/chf", nil)
	for range 2 {
		if got := ticker.next(); !regexp.MustCompile(`^\{"currency":"CHF","price":"\d+","at":"20[^"]+Z"\}$`).MatchString(got) {
			t.Errorf("got %q", got)
		}
	}
	p.socket("/private", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer t"}}}).hear("come in")
	if _, resp, err := p.upgrade("/private", nil); err == nil || resp.StatusCode != 401 {
		t.Errorf("got %v, %v, want 401", resp, err)
	}
	device := p.socket("/device", nil)
	device.hearAs(websocket.MessageBinary, "\x01\x02\x03\xff")
	if err := device.conn.Write(device.ctx, websocket.MessageBinary, []byte{0, 0xfe}); err != nil {
		t.Fatal(err)
	}
	device.hearAs(websocket.MessageBinary, "\x00\xfe")
	p.get("/rooms/7").want(t, 200, `{"id":"7","people":3}`)
	if a := p.get("/ticker/CHF"); a.status != 426 {
		t.Errorf("got %d %s, want 426", a.status, a.body)
	}
}

// next is the next message.
func (c *clientSocket) next() string {
	c.t.Helper()
	_, b, err := c.conn.Read(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}
