package listener_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"mockserver/config"
	"mockserver/internal/harness"
	"mockserver/listener"
	"mockserver/listener/listenertest"
	"mockserver/listener/observe/record"
)

const streaming = `
- endpoint:
    method: POST
    path: /words/:id
    let: {id: "{{path-params.id}}"}
    response:
      headers: {X-Id: "{{id}}"}
      stream:
        - {event: start, data: {id: "{{path-params.id}}"}}
        - {for: word in json-params.words, data: {text: "{{word}}", n: "{{loop.index}}"}}
        - {data: "[DONE]", with: previous}
      pace: {gap: 2ms}
- endpoint: {path: /at-once, response: {stream: [{times: 3, line: {n: "{{loop.index}}"}}, {line: x, if: '"a" = "b"'}]}}
- endpoint: {path: /empty, response: {stream: [{data: x, times: 0}]}}
- endpoint: {path: /large, response: {stream: [{times: 100000, data: "{{loop.index}} 0123456789012345678901234567890123456789"}]}}
- endpoint: {path: /forever, response: {stream: [{times: forever, data: tick}], pace: {gap: 1ms}}}
- endpoint: {path: /late, response: {stream: [{data: a}, {data: b, after: 1h}]}}
- endpoint: {path: /first, response: {stream: [{data: a}], pace: {first: 1h}}}
- endpoint: {path: /head, response: {stream: [{data: a}], pace: {first: 1h, head: at-once}}}
- endpoint: {path: /short, response: {stream: [{times: forever, data: a}], pace: {gap: 5ms}, max-duration: 20ms}}
- endpoint: {path: /one, response: {stream: [{times: forever, data: a}], pace: {gap: 1h}, max-duration: 20ms}}
- endpoint: {path: /whole, response: {body: whole}}
- endpoint: {path: /stall, response: {stream: [{data: a}, {data: b}]}, fault: {type: stall, after: 1 item}}
`

// words is what /words/1 sends for a list of words.
func words(list ...string) string {
	text := "event: start\ndata: {\"id\":\"1\"}\n\n"
	for i, word := range list {
		text += fmt.Sprintf("data: {\"text\":%q,\"n\":%d}\n\n", word, i+1)
	}
	return text + "data: [DONE]\n\n"
}

func lines(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("{\"n\":%d}\n", i+1)
	}
	return text
}

func large() string {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "data: %d 0123456789012345678901234567890123456789\n\n", i+1)
	}
	return b.String()
}

// Streams over HTTP/1.1 are chunked, whatever else happens on their connection, which serves the next request.
func TestStream_HTTP11(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", []byte(streaming)), listener.Options{Record: &record.Options{Journal: record.JournalOptions{Sample: 1}}})
	post := func(body string, more string) string {
		return fmt.Sprintf("POST /words/1 HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n%s", len(body), more, body)
	}
	ask := func(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n" }
	chunked := "POST /words/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n{\"words\":[\"a\",1]}\r\n0\r\n\r\n"
	for name, c := range map[string]struct {
		sent string
		want []string
	}{
		"plain":             {post(`{"words":["a","b\n"]}`, ""), []string{words("a", "b\n")}},
		"twice":             {post(`{"words":["a"]}`, "") + post(`{"words":[]}`, ""), []string{words("a"), words()}},
		"chunked":           {chunked, []string{strings.Replace(words("a", "1"), `"1","n"`, `1,"n"`, 1)}},
		"at once":           {ask("/at-once"), []string{lines(3)}},
		"without items":     {ask("/empty"), []string{""}},
		"more than at once": {ask("/large") + ask("/whole"), []string{large(), "whole"}},
		"pipelined":         {ask("/whole") + ask("/at-once") + ask("/whole") + post(`{"words":["a"]}`, ""), []string{"whole", lines(3), "whole", words("a")}},
		"max-duration":      {ask("/short"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, server, c.sent)
			in := bufio.NewReader(conn)
			for _, want := range c.want {
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil || string(body) != want || resp.StatusCode != 200 || resp.Header.Get("Date") == "" || want != "whole" && (resp.ContentLength != -1 || !slices.Equal(resp.TransferEncoding, []string{"chunked"})) {
					t.Errorf("got %d %.300q, %v, %v", resp.StatusCode, body, resp, err)
				}
				if strings.HasPrefix(want, "event") && (resp.Header.Get("X-Id") != "1" || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Cache-Control") != "no-cache") {
					t.Errorf("the header is %v", resp.Header)
				}
			}
			if c.want == nil {
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				if body, err := io.ReadAll(resp.Body); err != nil || !bytes.HasPrefix(body, []byte("data: a\n\n")) {
					t.Errorf("got %q, %v", body, err)
				}
			}
			if _, err := io.WriteString(conn, ask("/whole")); err != nil {
				t.Fatal(err)
			}
			if resp, err := http.ReadResponse(in, nil); err != nil || resp.ContentLength != 5 {
				t.Errorf("the next response is %v, %v", resp, err)
			}
		})
	}
}

// Over HTTP/2 each stream ends by itself, with END_STREAM, whatever its siblings do and however little the client
// takes at once.
func TestStream_HTTP2(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", []byte(streaming)), listener.Options{Record: &record.Options{}})
	for _, window := range []uint32{1, 100, 1 << 20} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			t.Parallel()
			c := speak(t, server, http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
			body := `{"words":["a","b"]}`
			want := map[uint32]string{}
			for id := uint32(1); id < 40; id += 2 {
				switch id % 4 {
				case 1:
					c.open(id, "POST", "/words/1", false)
					_ = c.WriteData(id, true, []byte(body))
					want[id] = words("a", "b")
				default:
					c.get(id, "/at-once")
					want[id] = lines(3)
				}
			}
			c.get(41, "/late") // a sibling that waits
			got := map[uint32]string{}
			for left := len(want); left > 0 || len(got[41]) < len("data: a\n\n"); {
				f, ok := c.next().(*http2.DataFrame)
				if !ok {
					continue
				}
				id, n := f.StreamID, len(f.Data())
				got[id] += string(f.Data())
				if f.StreamEnded() {
					left--
				} else if n > 0 {
					_ = c.WriteWindowUpdate(id, uint32(n))
				}
				if n > 0 {
					_ = c.WriteWindowUpdate(0, uint32(n))
				}
			}
			for id, text := range want {
				if got[id] != text {
					t.Errorf("stream %d got %q, want %q", id, got[id], text)
				}
			}
			if got[41] != "data: a\n\n" {
				t.Errorf("the sibling got %q", got[41])
			}
		})
	}
}

// A stream that is not read, or whose client has no window, delays no sibling, and goes on once there is room.
func TestStream_HTTP2Stalled(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", []byte(streaming)), listener.Options{Record: &record.Options{}})
	c := speak(t, server, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	c.get(1, "/forever")
	c.get(3, "/large")
	c.get(5, "/at-once")
	for heads := 0; heads < 3; {
		if h, ok := c.next().(*http2.MetaHeadersFrame); ok {
			if heads++; h.PseudoValue("status") != "200" {
				t.Errorf("stream %d: %v", h.StreamID, h)
			}
		}
	}
	_ = c.WriteWindowUpdate(5, 1000)
	text := ""
	for ended := false; !ended; {
		f := c.until(5, http2.FrameData).(*http2.DataFrame)
		text, ended = text+string(f.Data()), f.StreamEnded()
	}
	if text != lines(3) {
		t.Errorf("the sibling got %q", text)
	}
	c.get(7, "/empty") // which needs no window
	c.get(9, "/one")
	c.get(11, "/one")
	_ = c.WriteWindowUpdate(9, 9)  // which its item uses up
	_ = c.WriteWindowUpdate(11, 5) // not even that
	until(t, "streams 7, 9 and 11 are over", func() bool { return server.Counts().InFlight == 2 })
	_ = c.WriteWindowUpdate(11, 4)
	ends, got := 0, map[uint32]string{}
	for ends < 3 {
		if f, ok := c.next().(*http2.DataFrame); ok {
			if got[f.StreamID] += string(f.Data()); f.StreamEnded() {
				ends++
			}
		}
	}
	if got[7] != "" || got[9] != "data: a\n\n" || got[11] != got[9] {
		t.Errorf("got %v", got)
	}
	_ = c.WriteWindowUpdate(1, 10)
	if f := c.until(1, http2.FrameData).(*http2.DataFrame); string(f.Data()) != "data: tick" {
		t.Errorf("the stalled stream got %q", f.Data())
	}
	_ = c.WriteRSTStream(1, http2.ErrCodeCancel)
	_ = c.WriteRSTStream(3, http2.ErrCodeCancel)
	until(t, "the streams are over", func() bool { return server.Counts().InFlight == 0 })
}

// max-duration ends a stream whose client has no window.
func TestStream_HTTP2EndsWithoutAWindow(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", []byte(streaming)), listener.Options{Record: &record.Options{}})
	c := speak(t, server, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	c.get(1, "/short")
	c.until(1, http2.FrameHeaders)
	if f := c.until(1, http2.FrameData).(*http2.DataFrame); len(f.Data()) > 0 || !f.StreamEnded() {
		t.Errorf("got %q, end %v", f.Data(), f.StreamEnded())
	}
	until(t, "the stream is over", func() bool { return server.Counts().Endpoints[8].Ends["max-duration"] == 1 })
}

// speaking returns a client that speaks one protocol.
func speaking(t *testing.T, http2 bool) *http.Transport {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// A body that nothing reads is given up once the stream begins. The journal and the counts have what they have of any.
func TestStream_GivesUpBodies(t *testing.T) {
	const size, streams = 2 << 20, 4
	body := strings.Repeat("0123456789abcdef", size/16)
	for _, http2 := range []bool{false, true} {
		server := listenertest.Start(t, config.Parse("m.yml", []byte("- endpoint: {method: POST, path: '/:id', let: {n: '{{body.length}}'}, "+
			"response: {stream: [{data: '{{n}} {{path-params.id}} {{header-params.host}}', times: 2}], pace: {gap: 1h}}}")),
			listener.Options{MaxBody: size, Record: &record.Options{Journal: record.JournalOptions{Sample: 1}}})
		ctx, leave := context.WithCancel(t.Context())
		transport := speaking(t, http2)
		before := heap()
		for range streams {
			req, err := http.NewRequestWithContext(ctx, "POST", "http://"+server.Addr().String()+"/7", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(resp.Body).ReadString('\n')
			if want := fmt.Sprintf("data: %d 7 %s\n", size, server.Addr()); err != nil || line != want {
				t.Errorf("got %q, %v, want %q", line, err, want)
			}
		}
		if grown := heap() - before; grown > size {
			t.Errorf("%d streams take %d bytes", streams, grown)
		}
		leave()
		until(t, "the streams are over", func() bool { return len(server.Journal()) == streams })
		if n := server.Counts().Endpoints[0].In; n != streams*size {
			t.Errorf("%d bytes were received, want %d", n, streams*size)
		}
		if x := server.Journal()[0]; x.Request.Size != size || !x.Request.Cut || string(x.Request.Body) != body[:record.KeptPart] {
			t.Errorf("the journal has %d of %d bytes, cut %v", len(x.Request.Body), x.Request.Size, x.Request.Cut)
		}
	}
}

// A body that something reads later is kept.
func TestStream_KeepsBodies(t *testing.T) {
	body := `{"a": 1, "n": 2, "x": "` + strings.Repeat("x", 20_000) + `"}`
	called := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		called <- string(b)
	}))
	defer receiver.Close()
	for by, c := range map[string]struct{ config, want string }{
		"an item":     {"response: {stream: [{line: a}, {line: c}, {line: '{{body.length}}'}], pace: {gap: 1ms}}", fmt.Sprintf("a\nc\n%d\n", len(body))},
		"a condition": {"response: {stream: [{line: a}, {line: c}, {line: b, if: json-params.a = 1}], pace: {gap: 1ms}}", "a\nc\nb\n"},
		"a loop":      {"response: {stream: [{line: a}, {line: c}, {line: b, times: json-params.n}], pace: {gap: 1ms}}", "a\nc\nb\nb\n"},
		"a fault":     {"response: {stream: [{line: a}, {line: c}, {line: b}], pace: {gap: 1ms}}, fault: {type: error, after: 2 items, item: {line: '{{json-params.n}}'}}", "a\nc\n2\n"},
		"a webhook":   {"response: {stream: [{line: a}, {line: c}], pace: {gap: 1ms}}, webhook: {url: '" + receiver.URL + "', body: '{{json-params.x.length}}', sleep-time: 0}", "a\nc\n"},
	} {
		for _, http2 := range []bool{false, true} {
			server := listenertest.Start(t, config.Parse("m.yml", []byte("- endpoint: {method: POST, path: /, "+c.config+"}")), listener.Options{})
			req, err := http.NewRequest("POST", "http://"+server.Addr().String()+"/", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := speaking(t, http2).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != c.want {
				t.Errorf("%s: got %q, %v, want %q", by, got, err, c.want)
			}
			if by == "a webhook" {
				if got := <-called; got != "20000" {
					t.Errorf("%s got %q", by, got)
				}
			}
		}
	}
}

// heap returns how much memory is in use.
func heap() int {
	var m runtime.MemStats
	for range 3 { // also what pools have kept
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// An item for which a client has no window is blocked, which is not its lateness.
func TestStream_BlockedItemsAreCounted(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", []byte("- endpoint: {path: /, response: {stream: [{times: forever, data: a}], pace: {gap: 10ms}}}")), listener.Options{Record: &record.Options{}})
	const size = uint32(len("data: a\n\n"))
	c := speak(t, server, http2.Setting{ID: http2.SettingInitialWindowSize, Val: size})
	c.get(1, "/")
	c.until(1, http2.FrameData)
	c.get(3, "/") // with room for more
	_ = c.WriteWindowUpdate(3, 100*size)
	for range 3 { // by then an item of the other stream is due
		c.until(3, http2.FrameData)
	}
	if e := server.Counts().Endpoints[0]; e.Open() != 2 {
		t.Errorf("got %+v", e.StreamCounts)
	}
	_ = c.WriteWindowUpdate(1, size)
	c.until(1, http2.FrameData)
	_ = c.WriteRSTStream(1, http2.ErrCodeCancel)
	_ = c.WriteRSTStream(3, http2.ErrCodeCancel)
	until(t, "the streams are over", func() bool { return server.Counts().InFlight == 0 })
	e := server.Counts().Endpoints[0]
	if e.Blocked.Count == 0 || e.Ends["client"] != 2 || e.Open() != 0 || e.GapError.Count != e.Items-2 {
		t.Errorf("got %+v", e.StreamCounts)
	}
}

// The head comes with the first item, or at once if that is declared. HEAD gets no items.
func TestStream_Head(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", []byte(streaming)), listener.Options{})
	conn := dial(t, server, "GET /head HTTP/1.1\r\nHost: a\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "HTTP/1.1 200 OK\r\n" {
		t.Errorf("got %q, %v", line, err)
	}
	c := speak(t, server)
	c.get(1, "/first")
	c.get(3, "/head")
	c.open(5, "HEAD", "/at-once", true)
	for range 2 {
		f := c.next()
		for ; f.Header().Type != http2.FrameHeaders; f = c.next() {
		}
		h := f.(*http2.MetaHeadersFrame)
		if h.StreamID == 1 || h.StreamEnded() != (h.StreamID == 5) || h.PseudoValue("status") != "200" {
			t.Errorf("stream %d got %v", h.StreamID, h)
		}
	}
	conn = dial(t, server, "HEAD /at-once HTTP/1.1\r\nHost: a\r\n\r\nGET /whole HTTP/1.1\r\nHost: a\r\n\r\n")
	in := bufio.NewReader(conn)
	for i := range 2 {
		resp, err := http.ReadResponse(in, &http.Request{Method: []string{"HEAD", "GET"}[i]})
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(resp.Body); string(body) != []string{"", "whole"}[i] || i == 0 && (resp.Header.Get("Content-Length") != "" || resp.Header.Get("Content-Type") != "application/x-ndjson") {
			t.Errorf("got %v, %q", resp, body)
		}
	}
	conn = dial(t, server, "GET /at-once HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	all, err := io.ReadAll(conn)
	if head, body, _ := strings.Cut(string(all), "\r\n\r\n"); err != nil || body != lines(3) || !strings.Contains(head, "Connection: close") || strings.Contains(head, "Transfer-Encoding") {
		t.Errorf("HTTP/1.0 got %q, %v", all, err)
	}
}

// Of many streams over both protocols, some clients leave; the others get each item once. Nothing is left.
func TestStream_ClientsLeave(t *testing.T) {
	nothingLeft(t)
	const clients = 300
	server := listenertest.Start(t, config.Parse("m.yml", []byte(streaming+`
- endpoint: {path: /some, capacity: {concurrent: 300, queue: 0}, response: {stream: [{times: 20, line: {n: "{{loop.index}}"}}], pace: {gap: {max: 4ms}}}}
`)), listener.Options{Record: &record.Options{}})
	var all sync.WaitGroup
	var mu sync.Mutex
	left := 0
	for i := range clients {
		all.Go(func() {
			leaves := rand.IntN(10) == 0
			n := rand.IntN(100)
			conn, err := net.Dial("tcp", server.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if i%2 == 0 {
				_, _ = io.WriteString(conn, "GET /some HTTP/1.1\r\nHost: a\r\n\r\n") // an error shows below
				in := bufio.NewReader(conn)
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if leaves {
					_, _ = io.ReadFull(resp.Body, make([]byte, n))
					mu.Lock()
					left++
					mu.Unlock()
					return
				}
				if body, err := io.ReadAll(resp.Body); err != nil || string(body) != lines(20) {
					t.Errorf("got %q, %v", body, err)
				}
				return
			}
			c := speakOver(t, conn)
			c.get(1, "/some")
			text := ""
			for ended := false; !ended; {
				f, err := c.ReadFrame()
				if err != nil {
					t.Error(err)
					return
				}
				if data, ok := f.(*http2.DataFrame); ok {
					text, ended = text+string(data.Data()), data.StreamEnded()
				}
				if leaves && len(text) > n && !ended {
					_ = c.WriteRSTStream(1, http2.ErrCodeCancel)
					mu.Lock()
					left++
					mu.Unlock()
					return
				}
			}
			if text != lines(20) {
				t.Errorf("got %q", text)
			}
		})
	}
	all.Wait()
	until(t, "each is counted", func() bool {
		c := server.Counts()
		e := c.Endpoints[len(c.Endpoints)-1]
		return c.InFlight == 0 && e.Requests == clients && e.Statuses[200] == clients
	})
}

// When the server stops, streams without an end stop, those that end in time end, and the others are cut.
func TestStream_Shutdown(t *testing.T) {
	nothingLeft(t)
	for _, protocol := range []string{"http/1.1", "h2"} {
		server := start(t, config.Parse("m.yml", []byte(streaming)), listener.Options{})
		var read []func() string
		for _, path := range []string{"/forever", "/stall", "/late"} {
			if protocol == "h2" {
				c := speak(t, server)
				c.get(1, path)
				c.until(1, http2.FrameData)
				read = append(read, func() string {
					for {
						f, err := c.ReadFrame()
						if err != nil {
							return "cut"
						}
						if data, ok := f.(*http2.DataFrame); ok && data.StreamEnded() {
							return "ended"
						}
					}
				})
				continue
			}
			resp, err := http.ReadResponse(bufio.NewReader(dial(t, server, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")), nil)
			if err != nil {
				t.Fatal(err)
			}
			read = append(read, func() string {
				if _, err := io.ReadAll(resp.Body); err != nil {
					return "cut"
				}
				return "ended"
			})
		}
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		err := server.Shutdown(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "1 request was cut off") {
			t.Errorf("%s: %v", protocol, err)
		}
		for i, want := range []string{"ended", "ended", "cut"} {
			if got := read[i](); got != want {
				t.Errorf("%s: stream %d %s, want %s", protocol, i, got, want)
			}
		}
	}
}

// A fault ends a stream before its head, or in the middle.
func TestStream_Faults(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", []byte(`
- endpoint: {path: /reset, response: {stream: [{data: a}], pace: {first: 1ms}}, fault: {type: reset}}
- endpoint: {path: /empty, response: {stream: [{data: a}]}, fault: {type: empty}}
- endpoint: {path: /malformed, response: {stream: [{data: a}]}, fault: {type: malformed}}
- endpoint: {path: /truncate, response: {stream: [{times: 4, data: a}], pace: {gap: 1ms}}, fault: {type: truncate}}
- endpoint: {path: /reset-after, response: {stream: [{times: 4, data: a}], pace: {gap: 1ms}}, fault: {type: reset, after: 2 items}}
- endpoint: {path: /reset-all, response: {stream: [{times: 4, data: a}], pace: {gap: 1ms}}, fault: {type: reset, of: connection, after: 2 items}}
- endpoint: {path: /malformed-after, response: {stream: [{times: 4, data: a}], pace: {gap: 1ms}}, fault: {type: malformed, after: 40%}}
- endpoint: {path: /error, response: {stream: [{times: 4, data: a}], pace: {gap: 1ms}}, fault: {type: error, after: 1 item, item: {event: error, data: "{{path}}"}}}
- endpoint: {path: /failed, latency: {failure-rate: 1}, response: {stream: [{data: a}]}, fault: {type: stall, after: 0 items}}
`)), listener.Options{Record: &record.Options{}})
	for path, c := range map[string]struct {
		body string
		is   error
		h2   http2.ErrCode
	}{
		"/reset":     {"", syscall.ECONNRESET, http2.ErrCodeInternal},
		"/empty":     {"", io.EOF, 0},
		"/malformed": {"", nil, 0},
		"/truncate":  {"data: a\n\ndata: a\n\n", io.ErrUnexpectedEOF, http2.ErrCodeInternal},

		"/reset-after":     {"data: a\n\ndata: a\n\n", syscall.ECONNRESET, http2.ErrCodeInternal},
		"/reset-all":       {"data: a\n\ndata: a\n\n", syscall.ECONNRESET, 0},
		"/malformed-after": {"data: a\n\ndata", io.ErrUnexpectedEOF, http2.ErrCodeInternal},
		"/error":           {"data: a\n\nevent: error\ndata: /error\n\n", errNone, http2.ErrCodeNo},
	} {
		if _, _, body, err := askOnce(t, server.URL()+path); body != c.body || (err == nil) != (c.is == errNone) || err != nil && c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: got %q, %v", path, body, err)
		}
		if c.h2 == 0 && c.is != errNone {
			continue
		}
		s := speak(t, server)
		s.get(1, path)
		body := ""
		for over := false; !over; {
			switch f := s.next().(type) {
			case *http2.DataFrame:
				body += string(f.Data())
				over = f.StreamEnded()
			case *http2.RSTStreamFrame:
				if over = true; f.ErrCode != c.h2 {
					t.Errorf("%s over HTTP/2: got %v", path, f.ErrCode)
				}
			}
		}
		if body != c.body {
			t.Errorf("%s over HTTP/2: got %q", path, body)
		}
	}
	s := speak(t, server)
	s.get(1, "/reset-all")
	err := error(nil)
	for ; err == nil; _, err = s.ReadFrame() {
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a reset of the connection over HTTP/2: %v", err)
	}
	if status, _, _, _ := askOnce(t, server.URL()+"/failed"); status != 500 {
		t.Errorf("an injected failure: got %d", status)
	}
	until(t, "the faults are counted", func() bool {
		all := map[string]uint64{}
		for _, e := range server.Counts().Endpoints {
			for fault, n := range e.Faults {
				all[fault] += n
			}
			if e.Endpoint == "GET /malformed-after" && (e.Bytes != e.Out || e.Bytes != 2*uint64(len("data: a\n\ndata"))) {
				return false
			}
		}
		return maps.Equal(all, map[string]uint64{"reset": 6, "empty": 1, "malformed": 3, "truncate": 2, "error": 2, "failure": 1})
	})
}

// An error that is sent instead of a stream is counted with its bytes, as any other.
func TestStream_ErrorInsteadIsCounted(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", []byte("- endpoint: {path: /, response: {stream: [{data: '{{query-params.a}}'}]}}")), listener.Options{MaxResponse: 100, Record: &record.Options{}})
	status, _, body, err := askOnce(t, server.URL()+"/?a="+strings.Repeat("a", 100))
	if status != 500 || !strings.Contains(body, "response_too_large") || err != nil {
		t.Errorf("got %d %q, %v", status, body, err)
	}
	until(t, "it is counted", func() bool { return server.Counts().InFlight == 0 })
	if e := server.Counts().Endpoints[0]; e.Out != uint64(len(body)) || e.Items != 0 || e.Ends["broken"] != 1 || e.Statuses[500] != 1 {
		t.Errorf("of %d bytes, got %+v", len(body), e)
	}
}

// errNone stands for a response that is complete.
var errNone = errors.New("no error")

// A stream that stalls keeps its connection and its place until its client leaves.
func TestStream_Stalls(t *testing.T) {
	nothingLeft(t)
	server := listenertest.Start(t, config.Parse("m.yml", []byte(`
- endpoint: {path: /, capacity: {concurrent: 1, queue: 0}, response: {stream: [{times: 4, data: a}], pace: {shared: 10000/s}}, fault: {type: stall, after: 2 items}}
`)), listener.Options{Record: &record.Options{}})
	for round := range 4 {
		var conn net.Conn
		if round%2 == 0 {
			conn = dial(t, server, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			body := make([]byte, len("data: a\n\ndata: a\n\n"))
			if _, err := io.ReadFull(resp.Body, body); err != nil || string(body) != "data: a\n\ndata: a\n\n" {
				t.Errorf("got %q, %v", body, err)
			}
		} else {
			c := speak(t, server)
			c.get(1, "/")
			for body := ""; body != "data: a\n\ndata: a\n\n"; {
				body += string(c.until(1, http2.FrameData).(*http2.DataFrame).Data())
			}
			conn = c.Conn
		}
		if status, _, _, err := askOnce(t, server.URL()); status != 503 || err != nil {
			t.Errorf("another request got %d, %v", status, err)
		}
		_ = conn.Close()
		until(t, "the stream is over", func() bool { return server.Counts().InFlight == 0 })
	}
	if got := server.Counts().Endpoints[0]; got.Faults["stall"] != 4 || got.Statuses[200] != 4 {
		t.Errorf("got %+v", got)
	}
}

// A reload changes no open stream, even if its endpoint is gone.
func TestStream_AcrossAReload(t *testing.T) {
	const limited = "- endpoint: {path: /limited, capacity: {concurrent: 2, queue: 0}, response: {stream: [{times: forever, line: a}], pace: {gap: 1ms}}}\n"
	server := listenertest.Start(t, config.Parse("m.yml", []byte(limited)), listener.Options{Record: &record.Options{}})
	conn := dial(t, server, "GET /limited HTTP/1.1\r\nHost: a\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := speak(t, server)
	c.get(1, "/limited")
	c.until(1, http2.FrameData)
	for _, next := range []string{limited, "- endpoint: {path: /other, response: {}}\n", limited} {
		if err := server.Apply(config.Parse("m.yml", []byte(next))); err != nil {
			t.Fatal(err)
		}
		if n := server.Counts().InFlight; n != 2 {
			t.Errorf("%d streams are open", n)
		}
		b := make([]byte, 100)
		if _, err := io.ReadFull(resp.Body, b); err != nil || strings.Trim(string(b), "a\n") != "" {
			t.Errorf("got %.100q, %v", b, err)
		}
		for range 50 {
			c.until(1, http2.FrameData)
		}
	}
	_ = conn.Close()
	_ = c.Close()
	until(t, "the streams are over", func() bool { return server.Counts().InFlight == 0 })
}

// A stream is logged and counted once, when it ends, and its webhook goes out then, or with the first item.
func TestStream_Ends(t *testing.T) {
	hook := make(chan string, 10)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // an error shows below
		hook <- string(b)
	}))
	defer target.Close()
	var log harness.Log
	server := listenertest.Start(t, config.Parse("m.yml", fmt.Appendf(nil, `
- endpoint:
    path: /:id
    capacity: {concurrent: 1, queue: 10}
    response: {stream: [{times: 3, line: {n: "{{loop.index}}"}}], pace: {gap: 5ms}}
    webhooks: [{url: "%[1]s", if: response.duration >= 10, body: "{{path-params.id}} {{response.status}} {{response.items}} {{response.end}}", sleep-time: 0s}]
- endpoint:
    path: /faulty/:id
    response: {stream: [{times: 3, line: a}]}
    fault: {type: truncate, after: 2 items}
    webhooks: [{url: "%[1]s", body: "{{path-params.id}} {{response.status}} {{response.items}} {{response.end}}", sleep-time: 0s}]
- endpoint:
    path: /whole/:id
    response: {body: a}
    webhooks: [{url: "%[1]s", body: "{{path-params.id}} {{response.items|default:0}}", sleep-time: 0s}]
- endpoint:
    path: /open/:id
    response: {stream: [{times: forever, line: a}], pace: {gap: 1h}}
    webhooks:
      - {url: "%[1]s", at: start, body: "{{path-params.id}} {{response.status}} {{response.items|default:0}} {{response.end|default:'open'}}", sleep-time: 0s}
      - {url: "%[1]s", body: "{{path-params.id}} {{response.status}} {{response.items}} {{response.end}}", sleep-time: 0s}
- endpoint:
    path: /empty/:id
    response: {stream: [{times: 0, line: a}]}
    webhooks: [{url: "%[1]s", at: start, body: "{{path-params.id}} {{response.items}}", sleep-time: 0s}]
`, target.URL)), listener.Options{Record: &record.Options{}, AccessLog: true, WebhookStore: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	conn := dial(t, server, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
		t.Error(err)
	} else if body, err := io.ReadAll(resp.Body); err != nil || string(body) != lines(3) {
		t.Errorf("got %q, %v", body, err)
	}
	c := speak(t, server)
	c.get(1, "/2")
	for f := c.until(1, http2.FrameData); !f.(*http2.DataFrame).StreamEnded(); f = c.until(1, http2.FrameData) {
	}
	for i, want := range []string{`1 200 3 "complete"`, `2 200 3 "complete"`, `3 200 2 "fault"`, "4 0"} {
		if i >= 2 {
			_, _, _, _ = askOnce(t, server.URL()+[]string{"/faulty/3", "/whole/4"}[i-2])
		}
		if got := <-hook; got != want {
			t.Errorf("the webhook has %q, want %q", got, want)
		}
	}
	until(t, "both are counted and logged", func() bool {
		c := server.Counts()
		return c.InFlight == 0 && c.Endpoints[0].Statuses[200] == 2 && strings.Count(log.String(), "status=200 bytes=") == 4
	})
	over := dial(t, server, "GET /open/5 HTTP/1.1\r\nHost: a\r\n\r\n")
	got := []string{<-hook}
	_ = over.Close()
	got = append(got, <-hook)
	c.get(3, "/open/6")
	got = append(got, <-hook)
	_ = c.WriteRSTStream(3, http2.ErrCodeCancel)
	got = append(got, <-hook)
	_, _, _, _ = askOnce(t, server.URL()+"/empty/7")
	want := []string{`5 200 0 "open"`, `5 200 1 "client"`, `6 200 0 "open"`, `6 200 1 "client"`, "7 0"}
	if got = append(got, <-hook); !slices.Equal(got, want) {
		t.Errorf("the webhooks have %q, want %q", got, want)
	}
	until(t, "each webhook has been sent once", func() bool { return server.Webhooks().Delivered == int64(4+len(want)) })
	if n := len(hook); n > 0 {
		t.Errorf("%d webhooks are more than declared", n)
	}
}
