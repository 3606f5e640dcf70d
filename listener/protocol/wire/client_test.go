package wire

import (
	"log/slog"
	"net"
	"os"
	"testing"
	"time"
)

// stub answers requests by calling its functions; nil answers nothing.
type stub struct {
	plain   func(c *Connection, p *Plain) error
	serve   func(x *Exchange)
	refused func(status int, why string)
}

func (s stub) Answer(c *Connection, p *Plain) (Later, error) { return nil, s.plain(c, p) }

func (s stub) Serve(x *Exchange) error {
	if x.Last = x.Request.Header.ConnectionClose(); s.serve != nil {
		s.serve(x)
	}
	return nil
}

func (s stub) Refuse(_ *Exchange, status int, why string) {
	if s.refused != nil {
		s.refused(status, why)
	}
}

// served makes requests be served by h, plain ones like all others unless h answers them.
func served(l *Connections, h stub) *Connections {
	l.Handler, l.General, l.MaxBody = h, h.plain == nil, 1<<20
	return l
}

// queue is a listener that returns its items in order, and then repeats the last one until it is
// closed.
type queue struct {
	next   []any // error or net.Conn
	asked  int
	closed chan struct{}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case <-q.closed:
		return nil, net.ErrClosed
	default:
	}
	q.asked++
	first := q.next[0]
	if len(q.next) > 1 {
		q.next = q.next[1:]
	}
	if err, ok := first.(error); ok {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
	}
	return first.(net.Conn), nil
}

func (q *queue) Close() error { close(q.closed); return nil }

func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }

// stopping returns a listener for tests that adopt their connections themselves.
func stopping() *Connections {
	return New(&queue{closed: make(chan struct{})}, slog.New(slog.DiscardHandler))
}

// end performs the first step of Shutdown.
func end(t *testing.T, l *Connections, lastCall time.Duration) {
	t.Helper()
	if err := l.End(lastCall); err != nil {
		t.Fatal(err)
	}
	l.ExpireIdle()
}

const whole = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

const (
	twoHeads = "GET /a HTTP/1.1\r\nHost: a\r\nX-Long: 0123456789\r\n\r\n\r\nGET /b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
	sized    = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n01\r\n4"
	inChunks = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// again is the connection of a client that sends the same request again and again.
type again struct {
	script
	request string
}

func (a *again) Read(b []byte) (int, error) { return copy(b, a.request), nil }
