package client

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

const okResponse = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// heard is a connection whose target has already sent everything.
type heard struct {
	net.Conn
	text io.Reader
}

func (h heard) Read(p []byte) (int, error)      { return h.text.Read(p) }
func (heard) Write(p []byte) (int, error)       { return len(p), nil }
func (heard) SetReadDeadline(_ time.Time) error { return nil }

func FuzzResponse(f *testing.F) {
	f.Add([]byte(okResponse), "POST")
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA: b\r\n\r\n"), "GET")
	f.Add([]byte("HTTP/1.0 404\n\nbody"), "HEAD")
	f.Add([]byte("HTTP/1.1 200 OK\r\n"+strings.Repeat("A: b\r\n", 1000)), "POST")
	x := NewExchange()
	f.Fuzz(func(t *testing.T, response []byte, method string) {
		c := &Conn{Conn: heard{text: bytes.NewReader(response)}}
		status, again, err := x.RoundTrip(c, method, nil)
		switch {
		case err == nil && (status < 100 || status > 999):
			t.Errorf("status %d", status)
		case err != nil && (again || status != 0):
			t.Errorf("status %d, again %v, and %v", status, again, err)
		case again && c.failed:
			t.Error("a connection that failed is used again")
		}
		if !x.Small() {
			x = NewExchange()
		}
	})
}
