package serve

import (
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"mockserver/listener/protocol/wire"
)

// repeated is a client that sends the same request n times, each after the previous answer.
type repeated struct {
	net.Conn
	request []byte
	n       int
}

func (r *repeated) Read(b []byte) (int, error) {
	if r.n--; r.n < 0 {
		return 0, io.EOF
	}
	return copy(b, r.request), nil
}
func (r *repeated) Write(b []byte) (int, error)      { return len(b), nil }
func (r *repeated) Close() error                     { return nil }
func (r *repeated) SetReadDeadline(time.Time) error  { return nil }
func (r *repeated) SetWriteDeadline(time.Time) error { return nil }
func (r *repeated) RemoteAddr() net.Addr             { return nobodyAt }

var nobodyAt = &net.TCPAddr{}

// BenchmarkDirect measures a plain request over a connection in memory, without system calls.
func BenchmarkDirect(b *testing.B) {
	s := configured(b, timed)
	for name, request := range map[string]string{
		"fixed": send("GET", "/static", ""), "path": send("GET", "/users/7", ""), "JSON": send("POST", "/orders", `{"project":"x"}`),
	} {
		b.Run(name, func(b *testing.B) {
			l := handling(s, wire.New(nil, slog.New(slog.DiscardHandler)))
			conn := l.Adopt(&repeated{request: []byte(request), n: b.N})
			b.ReportAllocs()
			b.ResetTimer()
			_ = conn.Serve() // the answers are not checked
		})
	}
}
