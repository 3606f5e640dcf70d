package e2e_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"mockserver/internal/harness"
)

const ticking = `
- endpoint: {path: /some, response: {stream: [{times: 5, line: "{{loop.index}}"}], pace: {gap: 700ms}}}
- endpoint: {path: /long, response: {stream: [{times: forever, line: "{{loop.index}}"}], pace: {gap: 10ms}}}
`

// closeWrite closes the sending side of a connection.
func closeWrite(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

// A client that closes its sending side gets the stream of its last request if it announced that; otherwise it counts
// as having left.
func TestStreams_HalfClosed(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"http", "https"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "m.yml", ticking), "--admin", "127.0.0.1:0")
			a := AdminOf(p)
			last := p.Dial()
			_, _ = io.WriteString(last, "GET /some HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") // an error shows below
			closeWrite(t, last)
			resp, err := http.ReadResponse(bufio.NewReader(last), nil)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(resp.Body); string(text) != "1\n2\n3\n4\n5\n" || err != nil {
				t.Errorf("a client that announced its last request got %q, %v", text, err)
			}
			left := p.Dial()
			_, _ = io.WriteString(left, "GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
			in := bufio.NewReader(left)
			if resp, err = http.ReadResponse(in, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
			closeWrite(t, left)
			if _, err := io.ReadAll(resp.Body); err == nil {
				t.Error("the stream of a client that closed its side has ended as if it were complete")
			}
			metrics := Scrape(t, a)
			harness.Until(t, "the stream has ended", func() bool {
				metrics = Scrape(t, a)
				return Value(t, metrics, "mockserver_stream_open", "endpoint", "GET /long") == 0
			})
			if n := Value(t, metrics, "mockserver_stream_ends_total", "endpoint", "GET /long", "end", "client"); n != 1 {
				t.Errorf("%v streams ended with their client", n)
			}
		})
	}
}

// A connection that is too old closes after its stream, over HTTP/1.1. Over HTTP/2 the client is told, and the stream
// goes on.
func TestStreams_MaxConnectionAge(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"http", "https", "h2c", "h2"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "m.yml", ticking), "--max-connection-age", "40ms")
			if strings.HasPrefix(way, "h2") {
				if p.TLS != nil {
					p.TLS.NextProtos = []string{"h2"}
				}
				data, told := goesOn(t, p.Dial())
				if data != "1\n2\n3\n4\n5\n" || !told {
					t.Errorf("got %q, told %t", data, told)
				}
				return
			}
			conn := p.Dial()
			if _, err := io.WriteString(conn, "GET /some HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(conn)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(resp.Body); string(text) != "1\n2\n3\n4\n5\n" || err != nil {
				t.Errorf("got %q, %v", text, err)
			}
			if rest, err := in.ReadByte(); err != io.EOF {
				t.Errorf("after the stream came %q, %v, want the end", rest, err)
			}
		})
	}
}

// goesOn requests a stream of HTTP/2, and reads it to its end. It reports whether GOAWAY came before that.
func goesOn(t *testing.T, conn net.Conn) (data string, told bool) {
	t.Helper()
	if c, ok := conn.(*tls.Conn); ok {
		if err := c.Handshake(); err != nil {
			t.Fatal(err)
		}
	}
	framer := http2.NewFramer(conn, conn)
	_, _ = io.WriteString(conn, http2.ClientPreface) // errors show in what is read
	_ = framer.WriteSettings()
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: blockOf("/some"), EndStream: true, EndHeaders: true})
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("after %q: %v", data, err)
		}
		switch f := frame.(type) {
		case *http2.GoAwayFrame:
			told = true
		case *http2.DataFrame:
			if data += string(f.Data()); f.StreamEnded() {
				return data, told
			}
		}
	}
}

// blockOf returns the header block of a GET request.
func blockOf(path string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: path}, {Name: ":authority", Value: "a"}} {
		_ = encoder.WriteField(f) // writing to memory does not fail
	}
	return block.Bytes()
}
