package config

import (
	"mockserver/config/item"
	"reflect"
	"testing"
	"time"
)

const atSocket = "[0].websocket"

func TestMistakesOfWebSockets(t *testing.T) {
	socket := func(more string) string { return "- websocket: {path: /x, " + more + "}\n" }
	testMistakes(t, "f.yml", []mistake{
		{"no path", "- websocket:\n    §send: []\n", one(atSocket, "path is missing")},
		{"a path without a slash", "- websocket: {path: §x}\n", one(atSocket+".path", "does not begin with /")},
		{"a misspelt key", socket("§on-mesage: []"), one(atSocket+".on-mesage", `did you mean "on-message"?`)},
		{"a key of an endpoint", socket("§response: {}"), one(atSocket+".response", "unknown key")},
		{"a limit", socket("§rate-limit: {}"), one(atSocket+".rate-limit", "unknown key")},
		{"a host with a port", socket("host: '§a.b:80'"), one(atSocket+".host", "leave the port out")},
		{"both kinds in one item", "- websocket: {path: /x}\n  §endpoint: {path: /x, response: {}}\n", one("[0]", "endpoint is next to websocket; expected one of them")},
		{"keys that are not indented", "- websocket:\n  §path: /x\n", one("[0]", "path is next to websocket; indent it further, so that it is inside websocket")},
		{"in an endpoint", "- endpoint: {§websocket: {path: /x}}\n", one("[0].endpoint.websocket", "a WebSocket is not part of an endpoint but an item of its own, - websocket: …")},
		{"as an endpoint", "- endpoint: {path: /x, §on-connect: {response: a}}\n", one("[0].endpoint.on-connect", "belongs to a WebSocket, which is not an endpoint but an item of its own, - websocket: …")},
		{"a subprotocol with a blank", socket("subprotocols: ['§a b']"), one(atSocket+".subprotocols[0]", "expected the name of a subprotocol")},
		{"a text on connect", socket("on-connect: §hi"), one(atSocket+".on-connect", "expected a map with response")},
		{"a map of messages", socket("on-message: §{ping: pong}"), one(atSocket+".on-message", "expected a list of maps with pattern and response")},
		{"no response on connect", socket("on-connect: §{}"), one(atSocket+".on-connect", "response is missing")},
		{"a response that is a list", socket("on-connect: {response: §[a]}"), one(atSocket+".on-connect.response", "is a list; expected a text, a number, a boolean or a map")},
		{"a key of HTTP in a response", socket("on-connect: {response: {§status: 200}}"), one(atSocket+".on-connect.response.status", "unknown key")},
		{"no pattern", socket("on-message: [§{response: a}]"), one(atSocket+".on-message[0]", "pattern is missing")},
		{"an empty pattern", socket("on-message: [{pattern: '§', response: a}]"), one(atSocket+".on-message[0].pattern", "the pattern is empty")},
		{"an exchange that is a text, and another mistake behind it", socket("on-message: [§a, {pattern: '§', response: a}]"),
			[]complaint{{atSocket + ".on-message[0]", "is a text"}, {atSocket + ".on-message[1].pattern", "the pattern is empty"}}},
		{"body and base64", socket("on-connect: {response: {body: a, base64: §AA==}}"), one(atSocket+".on-connect.response.base64", "both given")},
		{"base64 as text", socket("on-connect: {response: {base64: AA==, binary: §false}}"), one(atSocket+".on-connect.response.binary", "sent as a binary message")},
		{"base64 that is none", socket("on-connect: {response: {base64: §A}}"), one(atSocket+".on-connect.response.base64", "expected base64 text")},
		{"a close code below all", socket("close: §999"), one(atSocket+".close", "a close code from 1000 to 4999, or a map")},
		{"a close code that is never sent", socket("close: §1006"), one(atSocket+".close", "1006 is never sent")},
		{"a close code of nobody", socket("close: {code: §2000}"), one(atSocket+".close.code", "2000 is not a close code")},
		{"a reason that is too long", socket("close: {reason: §" + long(124) + "}"), one(atSocket+".close.reason", "has 124 bytes; expected at most 123")},
		{"a time in the close of a message", socket("on-connect: {response: {close: {§after: 1s}}}"), one(atSocket+".on-connect.response.close.after", "unknown key")},
		{"times without every", socket("send: [{times: §2, response: a}]"), one(atSocket+".send[0].times", "every is missing")},
		{"no times", socket("send: [{every: 1s, times: §0, response: a}]"), one(atSocket+".send[0].times", "an integer from 1 to")},
		{"every so often", socket("send: [{every: §1us, response: a}]"), one(atSocket+".send[0].every", "expected a duration of at least 1ms")},
		{"never", socket("send: [{every: §0, response: a}]"), one(atSocket+".send[0].every", "a duration above 0")},
		{"no size", socket("max-message: §0"), one(atSocket+".max-message", "a number of bytes above 0")},
		{"a size in words", socket("max-message: §much"), one(atSocket+".max-message", "a number of bytes above 0")},
	})
}

func long(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'x'
	}
	return string(b)
}

func TestWhatAWebSocketMayHold(t *testing.T) {
	const yaml = `
- websocket:
    path: /rooms/:id
    host: A.example.com
    if: query-params.a = 1
    subprotocols: [v2, v1]
    on-connect: {response: hello}
    on-message:
      - {pattern: ping, response: {body: pong, binary: true, template: false}}
      - {pattern: {a: "{{x}}"}, response: {body: {b: 1}, close: 1008}}
      - {pattern: 5, response: {base64: AAE=}}
    send:
      - {after: 0, every: 5s, times: 3, response: tick}
      - {response: {close: {code: 4000, reason: over}}}
    close: {after: 1m}
    max-message: 64KiB
    tag: [chat]
    summary: a room
    description: of many
`
	const edn = `[{:websocket {:path "/rooms/:id" :host "A.example.com" :if "query-params.a = 1" :subprotocols ["v2" "v1"]
  :on-connect {:response "hello"}
  :on-message [{:pattern "ping" :response {:body "pong" :binary true :template false}}
               {:pattern {:a "{{x}}"} :response {:body {:b 1} :close 1008}}
               {:pattern 5 :response {:base64 "AAE="}}]
  :send [{:after 0 :every "5s" :times 3 :response "tick"} {:response {:close {:code 4000 :reason "over"}}}]
  :close {:after "1m"} :max-message "64KiB" :tag ["chat"] :summary "a room" :description "of many"}}]`
	want := item.WebSocket{
		Host: "a.example.com", Path: textOf("/rooms/:id"), If: textOf("query-params.a = 1"), Subprotocols: []string{"v2", "v1"},
		OnConnect: &item.Message{Body: textOf("hello")},
		OnMessage: []item.Exchange{
			{Pattern: textOf("ping"), Response: item.Message{Body: textOf("pong"), Frame: item.BinaryFrame, Raw: true}},
			{Pattern: textOf(`{"a":"{{x}}"}`), Response: item.Message{Body: textOf(`{"b":1}`), BodyJSON: true, Close: &item.Close{Code: 1008}}},
			{Pattern: textOf("5"), Response: item.Message{Bytes: []byte{0, 1}}},
		},
		Send: []item.Send{
			{After: AtOnce, Every: 5 * time.Second, Times: 3, Response: item.Message{Body: textOf("tick")}},
			{Response: item.Message{Close: &item.Close{Code: 4000, Reason: textOf("over")}}},
		},
		Close: &item.Close{After: time.Minute}, MaxMessage: 64 << 10,
		Doc: item.Doc{Tags: []string{"chat"}, Summary: "a room", Description: "of many"},
	}
	for file, text := range map[string]string{"f.yml": yaml, "f.edn": edn} {
		spec := Parse(file, []byte(text))
		if len(spec.Problems) > 0 || len(spec.WebSockets) != 1 {
			t.Fatalf("%s: %v", file, spec.Problems)
		}
		if spec.WebSockets[0].Pos.Line == 0 || spec.WebSockets[0].Key != atSocket {
			t.Errorf("%s: it is at %v, %s", file, spec.WebSockets[0].Pos, spec.WebSockets[0].Key)
		}
		var got item.WebSocket
		barer{}.copy(reflect.ValueOf(&got).Elem(), reflect.ValueOf(spec.WebSockets[0]))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s means\n%+v\nwant\n%+v", file, got, want)
		}
	}
}
