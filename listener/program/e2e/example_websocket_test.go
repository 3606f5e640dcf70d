package e2e_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

func TestExamples_WebSocket(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", File("examples", "websocket.yml"))
	p.WaitLine(0, "listening", " endpoints=2 websockets=4")
	if code, stdout, _ := Refused(t, nil, "validate", "-c", File("examples", "websocket.yml")); code != 0 || !strings.Contains(stdout, "2 endpoints, 4 WebSockets") {
		t.Errorf("validate: exit code %d: %s", code, stdout)
	}
	room := openSocket(p, "/rooms/7?as=ann", &websocket.DialOptions{Subprotocols: []string{"chat.v1"}})
	if got := room.Conn.Subprotocol(); got != "chat.v1" {
		t.Errorf("the subprotocol is %q", got)
	}
	if got := room.Next(); !strings.HasPrefix(got, `{"welcome":"ann","room":"7","at":"20`) {
		t.Errorf("got %q", got)
	}
	for _, exchange := range [][2]string{
		{"ping", "pong"},
		{`{"type": "say", "text": "hello"}`, `{"from":"ann","room":"7","text":"hello"}`},
		{`{"type": "join"}`, `{"error":"a name is missing"}`},
		{`{"type": "join", "name": "ann"}`, `{"joined":"ann"}`},
	} {
		room.Say(exchange[0])
		room.Hear(exchange[1])
	}
	room.Say("roll 20")
	if got := room.Next(); !regexp.MustCompile(`^ann rolls [1-6] \(roll 20\)$`).MatchString(got) {
		t.Errorf("got %q", got)
	}
	room.Say("bye")
	room.Hear("good bye")
	room.Ends(4001, "left 7")

	ticker := openSocket(p, "/ticker/chf", nil)
	for range 2 {
		if got := ticker.Next(); !regexp.MustCompile(`^\{"currency":"CHF","price":\d+,"at":"20[^"]+Z"\}$`).MatchString(got) {
			t.Errorf("got %q", got)
		}
	}
	openSocket(p, "/private", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer t"}}}).Hear("come in")
	if _, resp, err := upgrade(p, "/private", nil); err == nil || resp.StatusCode != 401 {
		t.Errorf("got %v, %v, want 401", resp, err)
	}
	device := openSocket(p, "/device", nil)
	device.HearAs(websocket.MessageBinary, "\x01\x02\x03\xff")
	if err := device.Conn.Write(device.Ctx, websocket.MessageBinary, []byte{0, 0xfe}); err != nil {
		t.Fatal(err)
	}
	device.HearAs(websocket.MessageBinary, "\x00\xfe")
	p.Get("/rooms/7").Want(t, 200, `{"id":"7","people":3}`)
	if a := p.Get("/ticker/CHF"); a.Status != 426 {
		t.Errorf("got %d %s, want 426", a.Status, a.Body)
	}
}
