package wire

import (
	"runtime"
	"testing"
	"weak"
)

// The first bytes from an HTTP/2 client do not stay in memory as long as its connection.
func TestPreface_IsNotKept(t *testing.T) {
	l := stopping()
	var first weak.Pointer[byte]
	l.HTTP2 = func(c *Connection, read []byte) {
		first = weak.Make(&read[0])
		for range 3 {
			runtime.GC()
		}
		if first.Value() != nil {
			t.Error("the preface is kept while the connection is served")
		}
		_ = c.CloseNow()
	}
	client := &script{Sent: append(append([]byte(nil), preface...), make([]byte, 4096)...), Piece: 8192}
	_ = served(l, stub{}).Adopt(client).Serve() // HTTP2 shows how it ended
	if first == (weak.Pointer[byte]{}) {
		t.Error("the connection did not switch to HTTP/2")
	}
}
