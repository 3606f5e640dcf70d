package e2e_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"

	"mockserver/internal/harness"
)

// dispatched is an event as a client gets it: its type, data, and the last id.
type dispatched [3]string

func unnamed(data string) dispatched { return dispatched{"message", data, ""} }

// forged is a value of a request that would end an event, and add others, if it could.
const forged = "a\r\rid: 9\n\n\x00data: forged\r\n\n"

// eventCases are items, and the events that clients dispatch. A name says which client differs from the standard.
var eventCases = []struct {
	name, items string
	events      []dispatched
}{
	{"a text", `{data: hello}`, []dispatched{unnamed("hello")}},
	{"JSON", `{event: start, id: 7, data: {n: "{{loop.index}}", x: "{{query-params.x}}"}, times: 1}`,
		[]dispatched{{"start", `{"n":1,"x":"a\r\rid: 9\n\n\u0000data: forged\r\n\n"}`, "7"}}},
	{"lines", `{data: "a\nb\r\nc\rd\n"}`, []dispatched{unnamed("a\nb\nc\nd\n")}},
	{"other line breaks", `{data: "a\u2028b\u0085c"}`, []dispatched{unnamed("a\u2028b\u0085c")}},
	{"empty data", `{data: ""}`, []dispatched{unnamed("")}},
	{"no data, which go-sse dispatches", `{event: none}, {data: a}`, []dispatched{unnamed("a")}},
	{"blanks and colons", `{data: " a: b "}, {data: ":c"}, {event: " d", data: "\te"}`, []dispatched{unnamed(" a: b "), unnamed(":c"), {" d", "\te", ""}}},
	{"a comment", `{comment: "data: no"}, {data: yes}, {comment: "a\ndata: b\n"}`, []dispatched{unnamed("yes")}},
	{"an id and its reset", `{id: 1, data: a}, {data: b}, {id: "", data: c}, {data: d}`,
		[]dispatched{{"message", "a", "1"}, {"message", "b", "1"}, unnamed("c"), unnamed("d")}},
	{"retry", `{retry: 10, data: a}, {retry: "{{query-params.x}}", data: b}`, []dispatched{unnamed("a"), unnamed("b")}},
	{"any value in data", `{data: "{{query-params.x}}"}`, []dispatched{unnamed("a\n\nid: 9\n\n\x00data: forged\n\n")}},
	{"any value in event, id and comment", `{event: "{{query-params.x}}", id: "{{query-params.x}}", comment: "{{query-params.x}}", data: a}`,
		[]dispatched{{"aid: 9data: forged", "a", "aid: 9data: forged"}}},
	{"a list", `{event: start, data: x, with: next}, {for: w in query-params.list|words, data: "{{w}}"}, {data: "[DONE]", with: previous}`,
		[]dispatched{{"start", "x", ""}, unnamed("a"), unnamed(" b"), unnamed("  c"), unnamed("[DONE]")}},
}

// rawCases are bytes as web-platform-tests describe them, and the events that clients dispatch.
var rawCases = []struct {
	name, bytes string
	events      []dispatched
}{
	{"a BOM", "\uFEFFdata:1\n\n\uFEFFdata:2\n\ndata:3\n\n", []dispatched{unnamed("1"), unnamed("3")}},
	{"two BOMs", "\uFEFF\uFEFFdata:1\n\ndata:2\n\n", []dispatched{unnamed("2")}},
	{"comments", "data:1\r:\x00\n:\r\ndata:2\n:" + strings.Repeat("x", 2000) + "\rdata:3\n:data:fail\r:" + strings.Repeat("x", 2000) + "\ndata:4\n\n", []dispatched{unnamed("1\n2\n3\n4")}},
	{"an incomplete event", "retry:1000\ndata:test1\n\nid:test\ndata:test2", []dispatched{unnamed("test1")}},
	{"data", "data:\n\ndata\ndata\n\ndata:test\n\n", []dispatched{unnamed(""), unnamed("\n"), unnamed("test")}},
	{"an event", "event:test\ndata:x\n\ndata:x\n\n", []dispatched{{"test", "x", ""}, unnamed("x")}},
	{"an empty event", "event: \ndata:data\n\n", []dispatched{unnamed("data")}},
	{"an id", "id\ndata:a\n\nid:\u2026\ndata:b\n\nid\x00:no\ndata:c\n\n", []dispatched{unnamed("a"), {"message", "b", "\u2026"}, {"message", "c", "\u2026"}}},
	{"an id with NUL", "id:1\ndata:a\n\nid:2\x003\ndata:b\n\n", []dispatched{{"message", "a", "1"}, {"message", "b", "1"}}},
	{"leading blanks", "data:\ttest\rdata: \ndata:test\n\n", []dispatched{unnamed("\ttest\n\ntest")}},
	{"line breaks", "data:test\r\ndata\ndata:test\r\n\r\n", []dispatched{unnamed("test\n\ntest")}},
	{"NUL", "data:\x00\n\n\n\n\n", []dispatched{unnamed("\x00")}},
	{"parsing", "data:\x00\ndata:  2\rData:1\ndata\x00:2\ndata:1\r\x00data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n", []dispatched{unnamed("\x00\n 2\n1\n3\n\n4")}},
	{"bogus retries", "retry:3000\nretry:1000x\ndata:x\n\nretry\nretry:\ndata:y\n\n", []dispatched{unnamed("x"), unnamed("y")}},
	{"no UTF-8, which go-sse passes on", "data:ok\u2026\xff\n\n", []dispatched{unnamed("ok\u2026\uFFFD")}},
	{"unknown fields", "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n", []dispatched{unnamed("test\n\ntest")}},
}

// eventServer serves all cases, and a stream whose connection breaks once. Bytes are sent in two writes.
func eventServer(t *testing.T, way string) (p *Process, cases []eventCase) {
	var configuration strings.Builder
	add := func(name, response string, events []dispatched) {
		path := fmt.Sprintf("/%d", len(cases))
		fmt.Fprintf(&configuration, "- endpoint: {path: %s, response: {%s}}\n", path, response)
		cases = append(cases, eventCase{name, path + "?list=a+b++c&x=" + url.QueryEscape(forged), events})
	}
	for _, c := range eventCases {
		add(c.name, "stream: ["+c.items+"], pace: {gap: 2ms}", c.events)
	}
	for _, c := range rawCases {
		add(c.name, fmt.Sprintf("headers: {Content-Type: text/event-stream}, cut: {rate: 100%%, pause: 5ms}, stream: [{base64: %s}]", base64.StdEncoding.EncodeToString([]byte(c.bytes))), c.events)
	}
	configuration.WriteString(`
- endpoint: {path: /resumed, response: {stream: [{retry: 10, times: 5, id: "{{loop.index}}", data: "{{loop.index}}"}], pace: {gap: 20ms}}, fault: {type: truncate, rate: 100%, after: 3 items}}
- endpoint: {path: /forever, response: {stream: [{times: forever, data: "{{loop.index}}"}], pace: {gap: 20ms}}}
`)
	return StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "m.yml", configuration.String())), cases
}

type eventCase struct {
	Name   string       `json:"name"`
	Path   string       `json:"path"`
	Events []dispatched `json:"events"`
}

// EventSource and eventsource-parser of npm dispatch what is declared, and resume.
func TestClients_EventSource(t *testing.T) {
	t.Parallel()
	p, cases := eventServer(t, "http")
	text, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	runClient(t, "eventsource.mjs", p.URL, string(text))
}

// A client of Go dispatches what is declared, over HTTP/1.1 and HTTP/2, and resumes.
func TestClients_GoSSE(t *testing.T) {
	t.Parallel()
	for way := range TestedWays() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p, cases := eventServer(t, way)
			for _, c := range cases {
				if got, _ := p.subscribe(t, c.Path, false); !slices.Equal(got, c.Events) && !strings.Contains(c.Name, "which go-sse") {
					t.Errorf("%s: got %q, want %q", c.Name, got, c.Events)
				}
			}
			got, tries := p.subscribe(t, "/resumed", true)
			if want := []dispatched{{"message", "1", "1"}, {"message", "2", "2"}, {"message", "3", "3"}, {"message", "4", "4"}, {"message", "5", "5"}}; !slices.Equal(got, want) || tries != 2 {
				t.Errorf("got %q with %d more connections, want %q with 2", got, tries, want)
			}
		})
	}
}

// subscribe follows a stream with go-sse, to its end, or until the server says that nothing is left. It returns the
// events, and how often the client connected again.
func (p *Process) subscribe(t *testing.T, path string, again bool) (all []dispatched, tries int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := &sse.Client{HTTPClient: p.client, OnRetry: func(error, time.Duration) {
		if tries++; !again {
			cancel()
		}
	}}
	req, err := http.NewRequestWithContext(ctx, "GET", p.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn := client.NewConnection(req)
	conn.SubscribeToAll(func(e sse.Event) { all = append(all, dispatched{cmp.Or(e.Type, "message"), e.Data, e.LastEventID}) })
	_ = conn.Connect() // it always ends with an error
	return all, tries
}

// curl -N shows each event when it is sent, and says that a stream is incomplete.
func TestClients_Curl(t *testing.T) {
	t.Parallel()
	need(t, "curl")
	for protocol, codes := range map[string][]int{"--http1.1": {18}, "--http2-prior-knowledge": {92, 18}} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			p, _ := eventServer(t, "http")
			ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
			defer cancel()
			curl := exec.CommandContext(ctx, "curl", "-sN", protocol, "--noproxy", "*", p.URL+"/forever")
			out, err := curl.StdoutPipe()
			if err == nil {
				err = curl.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			for n := range 5 {
				for _, want := range []string{fmt.Sprintf("data: %d\n", n+1), "\n"} {
					if got, err := lines.ReadString('\n'); got != want {
						t.Fatalf("got %q, %v, want %q", got, err, want)
					}
				}
			}
			cancel()
			_ = curl.Wait() // it was killed
			got, code := withCurl(t, "-N", protocol, p.URL+"/resumed")
			if !strings.Contains(got, "data: 2\n\n") || !slices.Contains(codes, code) {
				t.Errorf("of an incomplete stream came %q, exit code %d", got, code)
			}
		})
	}
}
