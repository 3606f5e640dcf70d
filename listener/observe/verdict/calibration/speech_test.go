//go:build linux && measure

package calibration

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/net/http2"
)

// speech is a protocol other than HTTP/1.1.
type speech struct {
	hello          []byte                 // what the client writes first
	greeted, whole func(read []byte) bool // reports whether the response to hello, or to a request, is complete
	next           func(n int) []byte     // the n-th request of a connection, from 0
}

// overWebSocket sends the message "ping" to /ws.
var overWebSocket = &speech{
	hello: []byte("GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"),
	greeted: func(read []byte) bool { return bytes.Contains(read, []byte("\r\n\r\n")) },
	whole:   func(read []byte) bool { return len(read) >= 2 && len(read) >= 2+int(read[1]) },
	next:    func(int) []byte { return []byte("\x81\x84\x00\x00\x00\x00ping") }, // masked with zeros
}

const talking = `- websocket: {path: /ws, on-message: [{pattern: ping, response: pong}]}
`

// overHTTP2 requests /a, one request at a time.
var overHTTP2 = &speech{
	hello: func() []byte {
		b := bytes.NewBufferString(http2.ClientPreface)
		f := http2.NewFramer(b, nil)
		_ = f.WriteSettings()
		_ = f.WriteWindowUpdate(0, 1<<30) // enough for all responses
		return b.Bytes()
	}(),
	greeted: func(read []byte) bool { return len(read) >= 9 && len(read) >= 9+length(read) }, // the settings
	whole: func(read []byte) bool {
		for ; len(read) >= 9 && len(read) >= 9+length(read); read = read[9+length(read):] {
			const headers, data, endStream = 1, 0, 1
			if (read[3] == headers || read[3] == data) && read[4]&endStream != 0 {
				return true
			}
		}
		return false
	},
	next: func(n int) []byte {
		var b bytes.Buffer
		f := http2.NewFramer(&b, nil)
		if n == 0 {
			_ = f.WriteSettingsAck()
		}
		// GET, http, and the path and the authority as literals
		block := []byte("\x82\x86\x04\x02/a\x01\x01a")
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*n + 1), BlockFragment: block, EndStream: true, EndHeaders: true})
		return b.Bytes()
	},
}

// length returns the length of the payload of a frame of HTTP/2.
func length(frame []byte) int { return int(binary.BigEndian.Uint32(frame) >> 8) }
