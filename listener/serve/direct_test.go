package serve

import (
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/internal/harness/volume"
	"mockserver/internal/histogram"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
)

// directable declares answers that are made without fasthttp, in addition to those in fuzzed.
const directable = `
- endpoint: {path: '/made/:id', response: {body: '{"id": "{{path-params.id}}"}'}}
- endpoint: {path: /static, host: mock.test, response: {body: static}}
- endpoint: {method: PUT, path: '/made/:id', response: {status: 299, headers: {X-Id: "{{path-params.id}}", set-cookie: ["a={{query-params.a}}", b=2], x-Lower: l}, body: '{{body}}'}}
- endpoint: {method: PATCH, path: '/made/:id', response: {status: 304, headers: {ETag: '"{{path-params.id}}"'}}}
- endpoint: {method: DELETE, path: '/made/:id', response: {status: 204, headers: {Content-Type: text/x}}}
- endpoint: {method: POST, path: /json, response: {status: 201, headers: {Location: "/made/{{json-params.id}}"}, body: {project: "{{json-params.project}}", all: "{{json-params.items}}"}}}
- endpoint: {method: POST, path: /form, response: {body: '{{form-params.a}} {{cookie-params.c}} {{header-params.X-A}} {{host}}'}}
- endpoint: {path: /coded, response: {headers: {Content-Encoding: x, X-A: 1}, body: coded}}
- endpoint: {path: /served, response: {headers: {Server: me}, body: "{{path}}"}}
- endpoint: {path: /long, response: {headers: {X-Long: '{{header-params.X-A}}'}, body: "{{path}}"}}
- endpoint: {method: POST, path: /large, response: {headers: {Content-Type: text/plain}, body: '{% for a in json-params.n %}{{header-params.X-A}}{% endfor %}'}}
`

func send(method, target, body string, headers ...string) string {
	head := method + " " + target + " HTTP/1.1\r\nHost: mock.test\r\n"
	for _, h := range headers {
		head += h + "\r\n"
	}
	if body != "" {
		head += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	return head + "\r\n" + body
}

// filling returns a request of a given length.
func filling(length int) string {
	empty := send("GET", "/made/7?", "")
	return send("GET", "/made/7?"+strings.Repeat("q", length-len(empty)), "")
}

// handled counts the requests that fasthttp handles.
func handled(s *testServer) *int {
	n := new(int)
	intercept(s, func(*wire.Exchange) { *n++ })
	return n
}

// intercept calls seen before each request that is not answered within its read; the exchange is nil
// for one that fasthttp does not read.
func intercept(s *testServer, seen func(*wire.Exchange)) { intercepted.Store(s, seen) }

// intercepted maps servers to what intercept has set.
var intercepted sync.Map

// handling makes connections be served by a server, as Server.listen does.
func handling(s *testServer, l *wire.Connections) *wire.Connections {
	l.Handler, l.MaxBody, l.General = s.Server, s.MaxBody, s.AccessLog
	if s.Recorder != nil {
		l.TimeReads(s.Recorder.Begun())
	}
	if seen, ok := intercepted.Load(s); ok {
		l.Handler = interceptor{s.Server, seen.(func(*wire.Exchange))}
	}
	return l
}

// generally is like handling, without the fast way of plain requests.
func generally(s *testServer, l *wire.Connections) *wire.Connections {
	l = handling(s, l)
	l.General = true
	return l
}

type interceptor struct {
	wire.Handler
	seen func(*wire.Exchange)
}

func (i interceptor) Answer(c *wire.Connection, p *wire.Plain) (wire.Later, error) {
	later, err := i.Handler.Answer(c, p)
	if later != nil {
		i.seen(nil)
	}
	return later, err
}

func (i interceptor) Serve(x *wire.Exchange) error {
	i.seen(x)
	return i.Handler.Serve(x)
}

// serveOne serves a connection until it is closed.
func serveOne(_ *testServer, conn net.Conn) error {
	return conn.(*wire.Connection).Serve()
}

// Answers made without fasthttp have the same bytes as answers made with it.
func TestDirect_RepliesAsFasthttpDoes(t *testing.T) {
	s := configured(t, directable)
	byFasthttp := handled(s)
	long := "X-A: " + strings.Repeat("a", 1000)
	for sent, c := range map[string]struct {
		direct bool
		body   string
	}{
		send("GET", "/made/7", ""):                                    {true, `{"id": "7"}`},
		send("GET", "/made/%22/?x", "", "Accept: text/html"):          {true, `{"id": "\""}`},
		send("GET", "/static", ""):                                    {true, "static"},
		send("PUT", "/made/7?a=b%0d%0ax", "text"):                     {true, "text"},
		send("PUT", "/made/7", ""):                                    {true, ""},
		send("PATCH", "/made/7", "{}"):                                {true, ""},
		send("DELETE", "/made/7", ""):                                 {true, ""},
		send("POST", "/json", `{"project":"x","id":1,"items":[1,2]}`): {true, `{"project":"x","all":[1,2]}`},
		send("POST", "/form", "a=1%20", "Content-Type: application/x-www-form-urlencoded", "Cookie: c=2", "x-a:  3 "): {true, "1  2 3 mock.test"},
		send("GET", "/long", "", long):                                                                  {true, "/long"},
		send("POST", "/large", `{"n":[`+strings.Repeat("1,", 200)+`1]}`, long):                          {true, strings.Repeat("a", 1000)},
		send("PUT", "/made/7", "x", "Connection: close"):                                                {true, "x"},
		send("GET", "/coded", "", "Connection: close"):                                                  {false, "coded"},
		"GET /made/7 HTTP/1.0\r\n\r\n":                                                                  {true, `{"id": "7"}`},
		"PUT /made/7 HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\nContent-Length: 7\r\n\r\ncookies": {true, "cookies"},
		"GET /coded HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n":                              {false, "coded"},
		"GET /made/7 HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n":                                 {false, `{"id": "7"}`},
		send("GET", "/coded", ""):                                                                       {false, "coded"},
		send("GET", "/served", ""):                                                                      {false, "/served"},
		send("GET", "/nowhere", ""):                                                                     {false, ""},
		send("HEAD", "/made/7", ""):                                                                     {false, ""},
		send("GET", "/made/7", "", "Origin: http://a"):                                                  {false, `{"id": "7"}`},
		send("GET", "/made/7", "x"):                                                                     {false, `{"id": "7"}`},
		send("PUT", "/made/7", "x", "Expect: 100-continue"):                                             {false, "x"},
		send("GET", "http://mock.test/made/7", ""):                                                      {false, `{"id": "7"}`},
		"PUT /made/7 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n":      {false, "x"},
	} {
		want, _ := responses(s, sent+sent, len(sent), nil)
		*byFasthttp = 0
		got, _ := responses(s, sent+sent, len(sent), s.fixedAt)
		if got != want || c.body != "" && !strings.HasSuffix(got, c.body) {
			t.Errorf("%.200q: got\n%.2000q, fasthttp answers\n%.2000q", sent, got, want)
		}
		if direct := *byFasthttp == 0; direct != c.direct {
			t.Errorf("%.200q: without fasthttp %t, want %t", sent, direct, c.direct)
		}
	}
}

// A slow template checks whether its client has left.
func TestDirect_LooksForItsClient(t *testing.T) {
	s := configured(t, `[{endpoint: {method: POST, path: /long, response: {body: "{% for a in json-params.n %}{% for b in json-params.n %}{% for c in json-params.n %}{{a}}{% endfor %}{% endfor %}{% endfor %}"}}}]`)
	list, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	byFasthttp := handled(s)
	l := handling(s, wire.New(list, s.Log))
	defer l.Close()
	ended := make(chan struct{}, 2)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = serveOne(s, conn); ended <- struct{}{} }() // the answers show errors
		}
	}()
	turns := 260 // iterations of each of three loops
	if !volume.Full() {
		turns = 100
	}
	long := send("POST", "/long", "{\"n\":["+strings.Repeat("1,", turns)+"1]}")
	client, err := net.Dial("tcp", list.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(client, long) // the answer shows an error
	if raw, err := io.ReadAll(io.LimitReader(client, 1000)); err != nil || !strings.HasPrefix(string(raw), "HTTP/1.1 200 OK") {
		t.Errorf("the client that stays gets %.100q, %v", raw, err)
	}
	_ = client.Close()
	<-ended
	if client, err = net.Dial("tcp", list.Addr().String()); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(client, long)
	_ = client.Close() // this ends its connection
	<-ended
	if *byFasthttp > 0 {
		t.Errorf("fasthttp had %d", *byFasthttp)
	}
}

// The journal and the counters record a request that is answered directly like any other.
func TestDirect_IsRecordedAlike(t *testing.T) {
	var journals [2][]*record.Exchange
	var counts [2][]record.EndpointCounts
	requests := []string{
		send("GET", "/made/7?token=x", "", "Authorization: Bearer secret"), send("PUT", "/made/7", "text"), send("DELETE", "/made/7", ""),
		send("POST", "/json", `{"project":"x"}`), send("POST", "/json", "no JSON"), send("PATCH", "/made/7", "x"),
	}
	for i, direct := range []bool{false, true} {
		s := recordingAs(t, directable, record.JournalOptions{Sample: 1, Slowest: -1})
		byFasthttp := handled(s)
		l := handling(s, wire.New(nil, s.Log))
		l.General = !direct
		client := &script{}
		for _, sent := range requests {
			client.Sent, client.Piece = []byte(sent), len(sent)
			conn := l.Adopt(client)
			_ = serveOne(s, conn) // the journal shows how serving ended
			_ = conn.Close()      // closing a script does not fail
		}
		if direct && *byFasthttp > 0 {
			t.Errorf("fasthttp had %d", *byFasthttp)
		}
		for _, x := range s.Recorder.Journal().All() {
			if x.Took <= 0 || time.Since(x.Time) > time.Minute {
				t.Errorf("%s came at %v and took %v", x.Target, x.Time, x.Took)
			}
			same := *x
			same.Time, same.Took = time.Time{}, 0
			if len(same.Request.Body) == 0 {
				same.Request.Body = nil
			}
			journals[i] = append(journals[i], &same)
		}
		all := s.Recorder.Counts()
		if all.InFlight != 0 {
			t.Errorf("%d are in progress", all.InFlight)
		}
		for _, c := range all.Endpoints {
			c.Since, c.Service, c.Total = time.Time{}, histogram.Snapshot{Count: c.Service.Count}, histogram.Snapshot{Count: c.Total.Count}
			counts[i] = append(counts[i], c)
		}
	}
	if len(journals[0]) != len(requests) || len(journals[1]) != len(requests) {
		t.Fatalf("the journals have %d and %d requests", len(journals[0]), len(journals[1]))
	}
	for i, want := range journals[0] {
		if got := journals[1][i]; !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	if !reflect.DeepEqual(counts[0], counts[1]) {
		t.Errorf("counted\n%+v\nand with fasthttp\n%+v", counts[1], counts[0])
	}
}

// FuzzDirect sends the bytes of a connection to one server twice, the first time with fasthttp
// alone, and expects the answers to be the same, byte for byte.
func FuzzDirect(f *testing.F) {
	s := fuzzedServer(f)
	if err := s.Apply(config.Parse("mock.yml", []byte(strings.Join([]string{directable, fixable}, "")))); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		strings.Repeat(send("GET", "/made/7", ""), 3) + send("GET", "/made/8", "") + send("GET", "/made/7", ""), // a request that is repeated
		send("GET", "/made/7", "") + send("PUT", "/made/7?a=%0d", "text", "X-A: 1") + send("DELETE", "/made/7", ""),
		send("POST", "/json", `{"project":"x","items":[1,{"a":2}]}`) + send("POST", "/form", "a=1&a=2", "Content-Type: application/x-www-form-urlencoded", "Cookie: c=1; d=2"),
		send("PATCH", "/made/%C3%BC", "{", "Accept: */*") + send("GET", "/long", "", "X-A: \xff"), send("POST", "/large", `{"n":[1,2,3]}`, "X-A: a"),
		send("GET", "/coded", "") + send("GET", "//a", "") + send("GET", "/x?u=://", "") + send("PUT", "/made/7", strings.Repeat("x", maxFuzzed+1)),
		send("DELETE", "/made/a", "x", "Prefer: code=404", "Expect: 100-continue"), send("POST", "/form", "a=1", "Content-Type: multipart/form-data; boundary=a"),
		send("GET", "/made/7", "") + send("GET", "/made/7", "", "Connection: close") + send("GET", "/made/8", ""), send("PUT", "/made/7", "text", "Connection: close, x"),
		strings.ReplaceAll(send("GET", "/made/7", "", "Connection: keep-alive")+send("POST", "/json", `{"project":"x"}`), "HTTP/1.1", "HTTP/1.0"),
	} {
		f.Add(seed, uint16(len(seed)-1))
		f.Add(seed, uint16(len(send("GET", "/made/7", ""))-1))
		f.Add(seed, uint16(0))
		f.Add(filling(readBuffer-20)+seed, uint16(1<<16-1))
	}
	f.Fuzz(func(t *testing.T, sent string, piece uint16) {
		want, _ := responses(s, sent, int(piece)+1, nil)
		if got, _ := responses(s, sent, int(piece)+1, s.fixedAt); got != want {
			t.Errorf("got\n%q\nwant\n%q", got, want)
		}
	})
}
