package wire

import (
	"bytes"
	"io"
)

// preface is what a client sends first if it speaks HTTP/2 from the beginning, RFC 9113 section
// 3.4. In HTTP/1.1 no request begins with it.
var preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// takePreface switches the connection to HTTP/2 if b, which is all that its client has sent, begins
// with the preface. If b may be the beginning of a preface, begun is true.
func (c *Connection) takePreface(b []byte) (begun, whole bool) {
	if !bytes.HasPrefix(b, preface) {
		return bytes.HasPrefix(preface, b), false
	}
	c.spoke.Store(true)
	read := bytes.Clone(b)
	c.Leave(func() { c.from.HTTP2(c, read) })
	c.over = io.EOF // HTTP/1.1 has ended
	return true, true
}
