package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Responses over HTTP/2 that are not complete at the end of the grace period are counted once each:
// one that waits for its latency, one for whose body the client's window has no room, and one whose
// upstream is still sending. Requests over HTTP/1.1 are counted with them.
func TestHTTP2_ResponsesThatStoppingCutsOff(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer upstream.Close()
	p := Serving(t, `
- upstream: {name: real, url: "`+upstream.URL+`"}
- endpoint: {path: /late, latency: {min: 1h, max: 1h}, response: {body: late}}
- endpoint: {path: /large, response: {body: "`+string(bytes.Repeat([]byte("x"), 100_000))+`"}}
- endpoint: {path: /passed, response: {proxy: real}}
- endpoint: {path: /done, response: {body: done}}
`, "--grace", "200ms")
	conn := p.Dial()
	framer := http2.NewFramer(conn, conn)
	_, _ = io.WriteString(conn, http2.ClientPreface) // errors show in what is read
	_ = framer.WriteSettings()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i, path := range []string{"/late", "/large", "/passed", "/done"} {
		block.Reset()
		for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: path}, {Name: ":authority", Value: "a"}} {
			_ = encoder.WriteField(f)
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
		if path == "/large" {
			_ = framer.WriteWindowUpdate(0, 1<<20) // of the connection
		}
	}
	for got := map[uint32]int{}; got[3] < 65535 || got[5] < len("begun") || got[7] < len("done"); {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := frame.(*http2.DataFrame); ok {
			got[data.StreamID] += len(data.Data())
		}
	}
	one := p.Dial()
	_, _ = io.WriteString(one, "GET /passed HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, err := io.ReadFull(one, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	p.Signal(syscall.SIGTERM)
	p.WaitLine(0, "stopped with requests unfinished", "4 requests were cut off")
	if code := p.Exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
}
