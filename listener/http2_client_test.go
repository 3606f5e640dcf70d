package listener_test

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"mockserver/listener"
)

// speaker is a client that sends and receives HTTP/2 frames.
type speaker struct {
	*testing.T
	*http2.Framer
	net.Conn
	block   bytes.Buffer
	encoder *hpack.Encoder
}

func speak(t *testing.T, server *listener.Server, settings ...http2.Setting) *speaker {
	t.Helper()
	return speakOver(t, dial(t, server, ""), settings...)
}

func speakOver(t *testing.T, conn net.Conn, settings ...http2.Setting) *speaker {
	_ = conn.SetDeadline(time.Now().Add(patient)) // a test that hangs fails
	c := &speaker{T: t, Framer: http2.NewFramer(conn, conn), Conn: conn}
	c.encoder = hpack.NewEncoder(&c.block)
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_, _ = io.WriteString(conn, http2.ClientPreface)
	_ = c.WriteSettings(settings...)
	return c
}

// get requests a path. An error shows in the answer.
func (c *speaker) get(id uint32, path string) { c.open(id, "GET", path, true) }

func (c *speaker) open(id uint32, method, path string, end bool) {
	c.block.Reset()
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: method}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: path}, {Name: ":authority", Value: "a"}} {
		_ = c.encoder.WriteField(f)
	}
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.block.Bytes(), EndStream: end, EndHeaders: true})
}

// next returns the next frame.
func (c *speaker) next() http2.Frame {
	c.Helper()
	f, err := c.ReadFrame()
	if err != nil {
		c.Fatal(err)
	}
	return f
}

// until reads up to the next frame of a kind on a stream.
func (c *speaker) until(id uint32, kind http2.FrameType) http2.Frame {
	c.Helper()
	for {
		if f := c.next(); f.Header().StreamID == id && f.Header().Type == kind {
			return f
		}
	}
}

// status returns the status of the response on a stream.
func (c *speaker) status(id uint32) string {
	c.Helper()
	return c.until(id, http2.FrameHeaders).(*http2.MetaHeadersFrame).PseudoValue("status")
}
