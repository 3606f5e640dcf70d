package serve

import (
	"log/slog"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/config"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
)

// fixable declares fixed answers, and paths that resemble theirs.
const fixable = `
- endpoint: {path: /json, response: {body: {a: 1}}}
- endpoint: {path: /text/, response: {status: 404, body: no, headers: {x-Lower: a, Set-Cookie: [a=1, b=2], Server: me, Vary: Origin}}}
- endpoint: {path: /empty, response: {status: 500}}
- endpoint: {path: /none, response: {status: 204, headers: {Content-Type: text/x}}}
- endpoint: {path: /typed, response: {headers: {content-type: text/html}, body: <p>}}
- endpoint: {path: /, response: {body: root}}
- endpoint: {path: /if, if: query-params.q = 1, response: {body: one}}
- endpoint: {path: /if, response: {body: other}}
- endpoint: {path: /twice, response: {body: first}}
- endpoint: {path: /twice, response: {body: second}}
- endpoint: {path: '/:any', response: {body: any}}
- endpoint: {path: /json/*, response: {body: below}}
- endpoint: {path: /made, response: {body: '{{path}}'}}
- endpoint: {path: /header, response: {headers: {X-A: '{{path}}'}}}
- endpoint: {method: POST, path: /json, response: {body: posted}}
- endpoint: {path: '/a b', response: {body: blank}}
`

var statusForm = regexp.MustCompile(`HTTP/1\.1 [1-5][0-9]{2} [A-Z]`)

var dateForm = regexp.MustCompile(`\r\nDate: [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT\r\n`)

// responses sends the bytes of a connection to a server in pieces. It returns the answers without
// their dates, and how often lookup found a fixed answer.
func responses(s *testServer, sent string, piece int, lookup func([]byte) *fixed) (raw string, quick int) {
	client := &script{Sent: []byte(sent), Piece: piece}
	l := handling(s, wire.New(nil, slog.New(slog.DiscardHandler)))
	if l.General = lookup == nil; lookup != nil {
		l.Handler = by{l.Handler, s, func(path []byte) *fixed {
			f := lookup(path)
			if f != nil {
				quick++
			}
			return f
		}}
	}
	conn := l.Adopt(client)
	_ = serveOne(s, conn) // the answers show how serving ended
	_ = conn.Close()      // closing a script does not fail
	dates := len(dateForm.FindAll(client.Got.Bytes(), -1))
	if heads := len(statusForm.FindAll(client.Got.Bytes(), -1)); heads != dates+strings.Count(client.Got.String(), "HTTP/1.1 100 Continue") {
		return "without a date: " + client.Got.String(), quick
	}
	return dateForm.ReplaceAllString(client.Got.String(), "\r\n"), quick
}

// by answers plain requests with the fixed answers that a function finds.
type by struct {
	wire.Handler
	s      *testServer
	lookup func([]byte) *fixed
}

func (b by) Answer(c *wire.Connection, p *wire.Plain) (wire.Later, error) {
	later, err := b.s.replyBy(b.lookup, c, p)
	if seen, ok := intercepted.Load(b.s); later != nil && ok {
		seen.(func(*wire.Exchange))(nil)
	}
	return later, err
}

func plain(target string) string { return "GET " + target + " HTTP/1.1\r\nHost: mock.test:80\r\n\r\n" }

// Answers made without fasthttp have the same bytes as answers made with it, and are as declared.
func TestFixed_RepliesAsFasthttpDoes(t *testing.T) {
	s := configured(t, fixable)
	for target, c := range map[string]struct {
		quick bool
		body  string
	}{
		"/json": {true, `{"a":1}`}, "/json/": {true, `{"a":1}`}, "/json?a=b": {true, `{"a":1}`}, "/json/?": {true, `{"a":1}`},
		"/text": {true, "no"}, "/text/": {true, "no"}, "/empty": {true, ""}, "/none": {true, ""}, "/typed": {true, "<p>"},
		"/": {true, "root"}, "/?a": {true, "root"}, "/twice": {true, "first"},
		"//": {true, "root"}, "/json//": {false, "below"}, "/json/x": {false, "below"}, "/jso%6e": {false, `{"a":1}`}, "/JSON": {false, "any"},
		"/if": {false, "other"}, "/if?q=1": {false, "one"}, "/x": {false, "any"}, "/made": {false, "/made"}, "/header": {false, ""},
		"/a%20b": {false, "blank"}, "http://mock.test/json": {false, `{"a":1}`}, "/json?u=http://a": {true, `{"a":1}`},
	} {
		sent := plain(target) + plain(target)
		want, _ := responses(s, sent, len(sent)/2, nil)
		got, quick := responses(s, sent, len(sent)/2, s.fixedAt)
		if got != want {
			t.Errorf("%s: got\n%q, fasthttp answers\n%q", target, got, want)
		}
		if quick > 0 != c.quick || !strings.HasSuffix(got, "\r\n\r\n"+c.body) {
			t.Errorf("%s: got %q, %d times without fasthttp", target, got, quick)
		}
	}
}

// The last request of a connection is answered without fasthttp, with the notice that it is the last.
func TestFixed_OfALastRequest(t *testing.T) {
	s := configured(t, fixable)
	for path, body := range map[string]string{"/json": `{"a":1}`, "/text/": "no", "/none": "", "/json?a=b": `{"a":1}`} {
		for _, sent := range []string{"GET " + path + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", plain(path) + "GET " + path + " HTTP/1.1\r\nHost: a\r\nconnection: Close\r\n\r\n"} {
			piece := max(len(sent)-len(plain(path)), len(plain(path)))
			want, _ := responses(s, sent, piece, nil)
			got, quick := responses(s, sent, piece, s.fixedAt)
			if quick == 0 || got != want || !strings.HasSuffix(got, "\r\nConnection: close\r\n\r\n"+body) {
				t.Errorf("%q: %d requests were answered without fasthttp, got\n%q\nwant\n%q", sent, quick, got, want)
			}
		}
	}
}

// Requests that are not plain are left to fasthttp, and the requests after them on the connection
// are served.
func TestFixed_LeavesWhatIsNotPlain(t *testing.T) {
	s := configured(t, fixable)
	const head = "GET /json HTTP/1.1\r\nHost: a\r\n"
	for _, odd := range []string{
		"HEAD /json HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /json HTTP/1.1\r\nHost: a\r\n\r\n",
		"OPTIONS /json HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /json HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", // by its own way: see TestDirect_RepliesAsFasthttpDoes
		"\r\n" + head + "\r\n",
		head + "Origin: http://a\r\n\r\n",
		head + "Connection: keep-alive\r\nConnection: close\r\n\r\n",
		head + "Connection: keep-alive, Upgrade\r\n\r\n",
		head + "Content-Length: 1\r\n\r\nx",
		head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		head + "Expect: 100-continue\r\n\r\n",
		head + "Trailer: Content-Length\r\n\r\n",
		head + "X: a\x01b\r\n\r\n",
		head + "X: 0123456\x7f89\r\n\r\n",
		head + "X: 0123456\tb\r\n\r\n",
		head + "X: 01234567\xc3\xbc\r\n\r\n",
		"GET /json HTTP/1.1\r\nHost: a%41\r\n\r\n",
		head + "Host: a\r\n\r\n",
		head + " folded\r\n\r\n",
		"GET /json?\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /json#a HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /json HTTP/1.1\r\n\r\n",
	} {
		sent := odd + plain("/made")
		want, _ := responses(s, sent, len(odd), nil)
		got, quick := responses(s, sent, len(odd), s.fixedAt)
		if quick > 0 || got != want {
			t.Errorf("%q: %d requests were answered without fasthttp, which answers\n%q\ngot\n%q", odd, quick, want, got)
		}
	}
	// Requests that arrive together are also left to fasthttp, so that their answers are sent
	// together.
	if _, quick := responses(s, plain("/json")+plain("/json"), 1<<16, s.fixedAt); quick > 0 {
		t.Error("pipelined requests were answered one by one")
	}
}

// An answer is not fixed if it depends on more than the path, has a webhook, or is too large.
func TestFixed_NotWhereMoreCounts(t *testing.T) {
	for name, configuration := range map[string]string{
		"a host":          `[{endpoint: {path: /a, response: {body: a}}}, {endpoint: {path: /a, host: a.test, response: {body: b}}}]`,
		"a condition":     `[{endpoint: {path: /a, if: query-params.q, response: {body: a}}}, {endpoint: {path: /a, response: {body: b}}}]`,
		"a webhook":       `[{endpoint: {path: /a, response: {body: a}, webhook: {method: POST, url: "http://127.0.0.1:1/"}}}]`,
		"a template":      `[{endpoint: {path: /a, response: {body: "{{path}}"}}}]`,
		"a made header":   `[{endpoint: {path: /a, response: {headers: {X-A: "{{path}}"}}}}]`,
		"another method":  `[{endpoint: {method: PUT, path: /a, response: {body: a}}}]`,
		"an external one": `[{endpoint: {path: /a, response: {external-body: {provider: json, path: "{{query-params.p}}.json"}}}}]`,
		"a large one":     `[{endpoint: {path: /a, response: {body: "` + strings.Repeat("x", maxFixed) + `"}}}]`,
		"an encoded path": `[{endpoint: {path: "/%61", response: {body: a}}}, {endpoint: {path: "/a%2fb", response: {body: a}}}]`,
	} {
		s := configured(t, configuration)
		for _, path := range []string{"/a", "/%61", "/a%2fb", "/a/b"} {
			if f := s.fixedAt([]byte(path)); f != nil && !(name == "an encoded path" && path == "/a") {
				t.Errorf("%s: %s is answered with %q", name, path, f.Body)
			}
		}
	}
}

func TestFixed_FollowsTheServer(t *testing.T) {
	s := configured(t, `[{endpoint: {path: /a, response: {body: old}}}]`)
	if f := s.fixedAt([]byte("/a")); f == nil || string(f.Body) != "old" {
		t.Fatalf("got %v", f)
	}
	if err := s.Apply(config.Parse("m.yml", []byte(`[{endpoint: {path: /a, response: {body: new}}}]`))); err != nil {
		t.Fatal(err)
	}
	if f := s.fixedAt([]byte("/a")); f == nil || string(f.Body) != "new" {
		t.Errorf("after a reload: got %v", f)
	}
	s.Stopping.Store(true)
	if f := s.fixedAt([]byte("/a")); f != nil {
		t.Error("a fixed answer, which lacks Connection: close, is used while the server stops")
	}
}

// The Date of a fixed answer is the time of that answer.
func TestFixed_IsDated(t *testing.T) {
	s := configured(t, fixable)
	synctest.Test(t, func(t *testing.T) {
		client := &script{}
		l := handling(s, wire.New(nil, slog.New(slog.DiscardHandler)))
		conn := l.Adopt(client)
		defer conn.Close()
		for range 3 {
			client.Got.Reset()
			if later, err := s.Answer(conn, &wire.Plain{Method: []byte("GET"), Target: []byte("/json"), Alone: true, Bytes: make([]byte, 0, wire.MaxHeader)}); later != nil || err != nil {
				t.Fatal(later, err)
			}
			_, after, _ := strings.Cut(client.Got.String(), "\r\nDate: ")
			text, _, _ := strings.Cut(after, "\r\n")
			when, err := time.Parse(http.TimeFormat, text)
			if off := time.Since(when); err != nil || off < 0 || off > 2*clockTick {
				t.Errorf("the date is %q, which was %v ago: %v", text, off, err)
			}
			<-time.After(time.Hour)
		}
	})
}

// A request is answered without fasthttp whether or not the journal keeps it, and its journal entry
// is the same as with fasthttp.
func TestFixed_RequestsInTheJournalGetTheSameReply(t *testing.T) {
	var exchanges [2][]*record.Exchange
	for i, quick := range []bool{false, true} {
		s := recordingAs(t, fixable, record.JournalOptions{Sample: 1, Slowest: -1})
		handled := 0
		intercept(s, func(*wire.Exchange) { handled++ })
		client := &script{}
		requests := []string{
			plain("/json"), plain("/json/?a=b%20c&token=x"), plain("/empty"), plain("/none"), plain("/typed"), plain("/text"),
			"GET /json HTTP/1.1\r\nhOST: b\r\nAuthorization: Bearer secret\r\nx-lower:  1 \r\nAccept: */*\r\nCookie: a=1; b=2\r\nUser-Agent: u\r\nX-A: 1\r\nX-A: 2\r\n\r\n",
			"GET /json?" + strings.Repeat("q", 2<<10) + " HTTP/1.1\r\nHost: a\r\nX-Long: " + strings.Repeat("x", 16<<10) + "\r\n\r\n",
		}
		l := handling(s, wire.New(nil, s.Log))
		l.General = !quick
		for _, sent := range requests {
			client.Sent, client.Piece = []byte(sent), len(sent)
			conn := l.Adopt(client)
			_ = serveOne(s, conn) // the journal shows how serving ended
			_ = conn.Close()      // closing a script does not fail
		}
		if handled != 0 && quick || handled != len(requests) && !quick {
			t.Errorf("without fasthttp %v: it had %d of %d requests", quick, handled, len(requests))
		}
		for _, x := range s.Recorder.Journal().All() {
			if x.Took <= 0 || time.Since(x.Time) > time.Minute || time.Since(x.Time) < 0 {
				t.Errorf("%s came at %v and took %v", x.Target, x.Time, x.Took)
			}
			same := *x
			same.Time, same.Took = time.Time{}, 0
			exchanges[i] = append(exchanges[i], &same)
		}
		if len(exchanges[i]) != len(requests) {
			t.Fatalf("the journal has %d of %d requests", len(exchanges[i]), len(requests))
		}
	}
	for i, want := range exchanges[0] {
		if got := exchanges[1][i]; !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

// A client that has received its answer finds its request in the journal, although the answer is
// written before the journal parses the request.
func TestFixed_RequestsAreInTheJournalBeforeTheReply(t *testing.T) {
	s := recordingServer(t, fixable, 1)
	l := handling(s, wire.New(nil, s.Log))
	client := &script{Sent: []byte(plain("/json")), Piece: 1 << 10}
	var seen []*record.Exchange
	conn := l.Adopt(&pointed{Conn: client, N: 2, Happened: func() { seen = s.Recorder.Journal().All() }}) // when the request has been read and its answer written
	_ = serveOne(s, conn)
	if len(seen) != 1 || seen[0].Target != "/json" {
		t.Errorf("the journal had %v when the answer was written", seen)
	}
}

// The server does not keep a second copy of the bytes that a fixed answer was built from.
func TestFixed_KeepsNoBodyTwice(t *testing.T) {
	s := configured(t, `[{endpoint: {path: /a, response: {body: "`+strings.Repeat("x", maxFixed/2)+`"}}}]`)
	f := s.fixedAt([]byte("/a"))
	if f == nil || cap(f.Head) > 512 {
		t.Fatalf("the head takes %d bytes", cap(f.Head))
	}
	if static := s.snapshot.Load().Responses[0].Static; &f.Body[0] != &static[0] {
		t.Error("the body is kept twice")
	}
}

// Operations of a document have fixed answers for requests that do not select a particular answer.
func TestFixed_OfOperations(t *testing.T) {
	s := described(t, fixable, pets()...)
	get := func(target string, headers ...string) string {
		return "GET " + target + " HTTP/1.1\r\n" + strings.Join(append(headers, "Host: a"), "\r\n") + "\r\n\r\n"
	}
	for _, c := range []struct {
		sent  string
		quick bool
		body  string
	}{
		{get("/plain"), true, "[]"},
		{get("/plain/?a=b&_code=404"), true, "[]"},
		{get("/plain", "Accept: application/xml"), true, "[]"},
		{get("/plain?__code=500"), false, `{"broken":1}`},
		{get("/plain?a=b__c"), false, "[]"},
		{get("/plain", "prefer: code=500"), false, `{"broken":1}`},
		{get("/plain", "X-Prefer: code=500", "Prefers: code=500"), true, "[]"},
		{get("/kinds"), true, `{"cat":1}`},
		{get("/kinds", "Accept: */*"), true, `{"cat":1}`},
		{get("/kinds", "ACCEPT:application/xml"), false, "<cat/>"},
		{get("/kinds", "Accept: */*", "Accept: application/xml"), false, "<cat/>"},
		{get("/kinds", "Accept:"), false, `{"cat":1}`},
		{get("/kinds?__example=dog", "Accept: */*"), false, `{"dog":1}`},
		{get("/json", "Prefer: code=404", "Accept: application/xml"), false, `{"a":1}`},
		{get("/json?__code=404", "Accept: application/xml"), true, `{"a":1}`},
	} {
		want, _ := responses(s, c.sent, len(c.sent), nil)
		got, _ := responses(s, c.sent, len(c.sent), s.fixedAt)
		if got != want || !strings.HasSuffix(got, "\r\n\r\n"+c.body) {
			t.Errorf("%q: got %q, fasthttp answers %q", c.sent, got, want)
		}
		marked, _ := responses(s, c.sent, len(c.sent), func(path []byte) *fixed {
			f := *s.fixedAt(path)
			f.Body = []byte("without fasthttp")
			return &f
		})
		if quick := strings.HasSuffix(marked, "without fasthttp"); quick != c.quick {
			t.Errorf("%q: answered without fasthttp: %t, want %t", c.sent, quick, c.quick)
		}
	}
}

// FuzzFixed sends the bytes of a connection to one server twice, the first time with fasthttp
// alone, and expects the answers to be the same, byte for byte.
func FuzzFixed(f *testing.F) {
	endpoints := pets()
	for i := range endpoints {
		for j := range endpoints[i].Operation.Responses {
			if a := &endpoints[i].Operation.Responses[j]; a.Fresh != nil {
				a.Fresh = func(uint64) []byte { return []byte(`{"fresh":1}`) } // the same each time
			}
		}
	}
	s := described(f, fixable, endpoints...)
	for _, seed := range []string{
		plain("/plain?__code=500") + plain("/kinds?__example=dog&__dynamic=false") + plain("/plain"), "GET /kinds HTTP/1.1\r\nHost: a\r\nAccept: application/xml, */*;q=0.1\r\nPrefer: code=404\r\n\r\n",
		"GET /kinds HTTP/1.1\r\nHost: a\r\nAccept: application/xml\r\n\r\n" + plain("/kinds") + "HEAD /kinds?__code=404 HTTP/1.1\r\nHost: a\r\n\r\n",
		plain("/json") + plain("/text/?a=b") + plain("/none"), plain("/json")[:20], "\r\n" + plain("/"), plain("/json?u=http://["), "GET /json HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n",
		"GET /json HTTP/1.1\r\nHost: a\r\nTrailer: Host\r\n\r\n",
		"GET /json HTTP/1.1\r\nHost: [::1]\r\nUser-Agent: a/1.0\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n", "GET /json HTTP/1.7\r\nHost: a:b\r\nOrigin: x\r\n\r\n",
		plain("/json") + "GET /json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + plain("/json"), "GET /json HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n",
		"GET /json HTTP/1.0\r\n\r\n", strings.Repeat("GET /json HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", 2) + "GET /json HTTP/1.0\r\nConnection: close\r\n\r\n",
	} {
		f.Add(seed, uint16(len(seed)-1))
		f.Add(seed, uint16(len(plain("/json"))-1))
	}
	f.Fuzz(func(t *testing.T, sent string, piece uint16) {
		want, _ := responses(s, sent, int(piece)+1, nil)
		if got, quick := responses(s, sent, int(piece)+1, s.fixedAt); got != want {
			t.Errorf("%d were answered without fasthttp, got\n%q\nwant\n%q", quick, got, want)
		}
	})
}
