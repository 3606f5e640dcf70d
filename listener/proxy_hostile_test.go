package listener_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/internal/harness"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// Streams of upstreams that never end a line, or an event, or that send a byte at a time are passed on and recorded as
// they are, without being kept; one that breaks off in a chunk breaks off for the client.
func TestProxy_StreamsOfHostileUpstreams(t *testing.T) {
	const mib = 1 << 20
	giant := strings.Repeat("y", 32<<10)
	streams := map[string]struct {
		parts  []string // one chunk each
		times  int      // how often they are sent
		end    string   // of the body
		pieces int      // that are recorded; none if no event ends
	}{
		"/bytes": {strings.Split("data: a\n\n", ""), 20, "0\r\n\r\n", 20},
		"/line":  {[]string{giant}, 10 * mib / len(giant), "0\r\n\r\n", 0},
		"/cr":    {[]string{"data: a\r\r"}, 2000, "0\r\n\r\n", 2000},
		"/empty": {[]string{"\r", strings.Repeat("\r", 1000)}, 1000, "0\r\n\r\n", 0},
		"/event": {[]string{"data: " + giant + "\n"}, 10 * mib / len(giant), "1\r\n\n\r\n0\r\n\r\n", 1},
		"/mid":   {[]string{"data: a\n\n"}, 3, "100\r\ndata: b", 4},
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				s := streams[r.URL.Path]
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
				for range s.times {
					for _, part := range s.parts {
						_, _ = fmt.Fprintf(c, "%x\r\n%s\r\n", len(part), part)
					}
				}
				_, _ = io.WriteString(c, s.end)
			}()
		}
	}()
	dir := t.TempDir()
	server := listenertest.Start(t, config.Parse("m.yml", fmt.Appendf(nil, `
- upstream: {name: real, url: "http://%s", record: {to: %q, bodies: 64KiB}}
- endpoint: {path: "/*rest", fault: {type: reset, after: 1000000 items}, response: {proxy: real}}
`, l.Addr(), dir)), listener.Options{})
	clients := map[string]*http.Client{"http/1.1": http.DefaultClient, "h2": overHTTP2(t)}
	for name, client := range clients {
		for path, s := range streams {
			resp, err := client.Get(server.URL() + path)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			want := int64(len(strings.Join(s.parts, "")) * s.times)
			switch path {
			case "/event":
				want++
			case "/mid":
				want += int64(len("data: b"))
			}
			if n != want || (err != nil) != (path == "/mid") {
				t.Errorf("%s %s: %d bytes, %v; want %d", name, path, n, err, want)
			}
		}
	}
	runtime.GC()
	var memory runtime.MemStats
	if runtime.ReadMemStats(&memory); memory.HeapAlloc > 40*mib {
		t.Errorf("%d bytes are in use", memory.HeapAlloc)
	}
	harness.Until(t, "all is recorded", func() bool {
		return server.Control().Recordings().List()[0].Requests == uint64(len(streams)*len(clients))
	})
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	for _, line := range recordedIn(t, dir) {
		path := line.URL[strings.LastIndex(line.URL, "/"):]
		if s := streams[path]; len(line.Pieces) != s.pieces || line.Status != 200 || (line.Error == "") != (path != "/mid") {
			t.Errorf("%s: %d pieces, status %d %s", path, len(line.Pieces), line.Status, line.Error)
		}
	}
}
