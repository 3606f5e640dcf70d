package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A client that does not continue its handshake is cut off after ten seconds.
func TestSecure_SlowHandshake(t *testing.T) {
	for _, sent := range []string{"\x16", "\x16\x03\x01\x02\x00"} {
		synctest.Test(t, func(t *testing.T) {
			l := stopping()
			l.Handshake = func(_ *Connection, socket net.Conn) (*tls.Conn, error) {
				conn := tls.Server(socket, &tls.Config{})
				err := conn.Handshake()
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				return nil, err
			}
			one, other := net.Pipe()
			begun := time.Now()
			c := l.Adopt(one)
			go func() {
				_, _ = io.WriteString(other, sent)
				_, _ = io.Copy(io.Discard, other)
				other.Close()
			}()
			_ = c.Serve() // the handshake shows how it ended
			if took := time.Since(begun); took != headerTimeout {
				t.Errorf("closed after %v, want %v", took, headerTimeout)
			}
			if l.Count() != 0 || c.spoke.Load() {
				t.Errorf("%d connections are open, spoke %v", l.Count(), c.spoke.Load())
			}
		})
	}
}

// FuzzSecure sends anything after the first byte of a handshake, in any pieces, and expects the
// handshake to fail and the connection to be closed.
func FuzzSecure(f *testing.F) {
	for _, seed := range []string{"", "\x03\x01\x00\x05hello", "GET / HTTP/1.1\r\n\r\n", "\x03\x03\x00\x04\x01\x00\x00\x00"} {
		f.Add([]byte(seed), 1)
		f.Add([]byte(seed), 100)
	}
	f.Fuzz(func(t *testing.T, sent []byte, piece int) {
		l := stopping()
		l.Handshake = func(_ *Connection, socket net.Conn) (*tls.Conn, error) {
			conn := tls.Server(socket, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errors.New("none") }})
			err := conn.Handshake()
			if err == nil {
				t.Error("a handshake without a certificate succeeded")
			}
			return conn, err
		}
		client := &script{Sent: append([]byte{hello}, sent...), Piece: max(piece%1000, 1)}
		_ = l.Adopt(client).Serve() // the handshake shows how it ended
		if l.Count() != 0 {
			t.Error("the connection is open")
		}
	})
}
