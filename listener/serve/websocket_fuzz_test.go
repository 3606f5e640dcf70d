package serve

import (
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"
	"unicode/utf8"

	"mockserver/listener/protocol/wire"
)

// FuzzFrames sends arbitrary bytes after a handshake, and then a close frame. The server must stop
// serving the connection, at the latest when the test closes it, and send only complete, unmasked
// frames with valid text, and nothing after a close frame.
func FuzzFrames(f *testing.F) {
	for _, sent := range []string{
		text("hello"), frame(true, opBinary, "\xff"), frame(false, opText, "a") + frame(true, opPing, "b") + frame(true, opContinue, "c"),
		frame(true, opClose, closing(1000, "why")), frame(true, opClose, "x"), text("\xff"), "\x81\x05hello", rawFrame(0x82, 1<<63, ""), rawFrame(0xf1, 3, "abc"), text("bye") + text("late"),
	} {
		f.Add([]byte(sent))
	}
	s := configured(f, echoing)
	f.Fuzz(func(t *testing.T, sent []byte) {
		client, inner := net.Pipe()
		l := handling(s, wire.New(nil, slog.New(slog.DiscardHandler)))
		conn := l.Adopt(inner)
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = conn.Serve() // the client sees the result
			_ = conn.CloseNow()
		}()
		_ = client.SetDeadline(time.Now().Add(10 * time.Second)) // an error shows when reading
		heard := make(chan []byte, 1)
		handshake(t, client, askingEcho)
		go func() {
			b, _ := io.ReadAll(client)
			heard <- b
		}()
		if _, err := client.Write(sent); err == nil {
			_, _ = client.Write([]byte(frame(true, opClose, ""))) // the earlier bytes may make it part of another frame
		}
		idle := time.AfterFunc(50*time.Millisecond, func() { _ = inner.Close() }) // the server may be waiting for more
		<-served
		idle.Stop()
		_ = client.Close()
		checkFrames(t, <-heard)
	})
}

func checkFrames(t *testing.T, b []byte) {
	for len(b) > 0 {
		opcode, n, head := b[0]&0xf, 0, 2
		if len(b) < 2 || b[0]&0xf0 != 0x80 || b[1]&0x80 != 0 {
			t.Fatalf("not a frame from a server: %.50q", b)
		}
		switch n = int(b[1]); n {
		case 126:
			n, head = int(binary.BigEndian.Uint16(b[2:])), 4
		case 127:
			n, head = int(binary.BigEndian.Uint64(b[2:])), 10
		}
		if len(b) < head+n {
			return // the connection was closed during a write
		}
		payload := b[head : head+n]
		b = b[head+n:]
		switch {
		case opcode == opText && !utf8.Valid(payload):
			t.Errorf("a text that is not UTF-8: %.50q", payload)
		case opcode == opClose && len(b) > 0:
			t.Errorf("after a close came %.50q", b)
		case opcode != opText && opcode != opBinary && opcode != opPong && opcode != opClose:
			t.Errorf("a frame of opcode %d", opcode)
		}
	}
}
