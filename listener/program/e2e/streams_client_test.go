//go:build linux && measure

// The program with many HTTP/2 streams, and with many TLS connections: make streams.

package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// streamsClient is one HTTP/2 connection. It belongs to one goroutine, and does as little as it can for
// each request: the header block is always the same.
type streamsClient struct {
	net.Conn
	framer *http2.Framer
	out    *bufio.Writer
	in     *bufio.Reader
	block  []byte
	next   uint32 // the next stream
	begun  map[uint32]time.Time
}

// dial opens a connection whose requests are for a path. window is the initial window of each
// stream, in bytes.
func dial(address, path string, window uint32) (*streamsClient, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return speak(conn, address, path, window)
}

// speak is dial on a connection that is open.
func speak(conn net.Conn, address, path string, window uint32) (*streamsClient, error) {
	c := &streamsClient{Conn: conn, out: bufio.NewWriter(conn), in: bufio.NewReaderSize(conn, 64<<10), next: 1, begun: map[uint32]time.Time{}}
	c.framer = http2.NewFramer(c.out, c.in)
	c.framer.SetReuseFrames()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0) // so that each request can have the same block
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: path}, {Name: ":authority", Value: address}} {
		_ = encoder.WriteField(f) // writing to memory does not fail
	}
	c.block = block.Bytes()
	_, _ = c.out.WriteString(http2.ClientPreface) // the flush reports any error
	_ = c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	_ = c.framer.WriteWindowUpdate(0, 1<<30)
	return c, c.out.Flush()
}

// open sends a request, which leaves with the next flush.
func (c *streamsClient) open() {
	_ = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.next, BlockFragment: c.block, EndStream: true, EndHeaders: true})
	c.begun[c.next] = time.Now()
	c.next += 2
}

// ended reads until a response is complete, and returns the time since its request. Requests are
// sent before it waits.
func (c *streamsClient) ended() (began time.Time, took time.Duration, err error) {
	for {
		if c.in.Buffered() == 0 {
			if err := c.out.Flush(); err != nil {
				return time.Time{}, 0, err
			}
		}
		f, err := c.framer.ReadFrame()
		if err != nil {
			return time.Time{}, 0, err
		}
		switch f := f.(type) {
		case *http2.RSTStreamFrame:
			return time.Time{}, 0, fmt.Errorf("stream %d was reset: %v", f.StreamID, f.ErrCode)
		case *http2.GoAwayFrame:
			return time.Time{}, 0, fmt.Errorf("the connection ends: %v", f.ErrCode)
		case *http2.PingFrame:
			if !f.IsAck() {
				_ = c.framer.WritePing(true, f.Data)
			}
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = c.framer.WriteSettingsAck()
			}
		}
		if h := f.Header(); h.StreamID != 0 && h.Flags.Has(http2.FlagDataEndStream) {
			began := c.begun[h.StreamID]
			delete(c.begun, h.StreamID)
			return began, time.Since(began), nil
		}
	}
}
