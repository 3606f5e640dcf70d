package dispatcher

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// connections is those to the targets: the idle ones, to be used again, and those
// in use, so that the end of the queue is the end of what waits on them. The client
// of fasthttp keeps its own, but tells neither that one has been closed by the
// target before it is written to, nor ends its goroutines when asked.
type connections struct {
	mu       sync.Mutex // guards what follows
	idle     map[string][]*connection
	open     map[*connection]struct{}
	dialling context.Context // ends with close
	cancel   context.CancelFunc
	sweep    *time.Timer
	swept    bool // the timer runs
	closed   bool
}

// connection is one connection, with its buffers.
type connection struct {
	net.Conn
	plain  net.Conn // Conn, or what is under its TLS
	target string
	in     *bufio.Reader
	out    *bufio.Writer
	since  time.Time // when it was put aside
}

const (
	// idleTime is how long a connection is kept for the next delivery.
	idleTime = 30 * time.Second
	// maxAnswerHead bounds the status line and headers of an answer, in bytes.
	maxAnswerHead = 16 << 10
)

func newConnections() *connections {
	c := &connections{idle: map[string][]*connection{}, open: map[*connection]struct{}{}}
	c.dialling, c.cancel = context.WithCancel(context.Background())
	c.sweep = time.AfterFunc(time.Hour, c.closeOld)
	c.sweep.Stop()
	return c
}

// get returns a connection to the target of a URL that nobody else uses: the one
// put aside last that is still open, or a new one.
func (c *connections) get(uri *fasthttp.URI, deadline time.Time) (*connection, error) {
	target := string(uri.Scheme()) + "://" + string(uri.Host())
	for {
		conn := c.pop(target)
		if conn == nil {
			return c.dial(uri, target, deadline)
		}
		if alive(conn.plain) {
			return conn, nil
		}
		c.put(conn, false)
	}
}

func (c *connections) pop(target string) *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	idle := c.idle[target]
	if len(idle) == 0 {
		return nil
	}
	conn := idle[len(idle)-1]
	c.idle[target] = idle[:len(idle)-1]
	return conn
}

// dial opens a connection.
func (c *connections) dial(uri *fasthttp.URI, target string, deadline time.Time) (*connection, error) {
	host := string(uri.Host())
	name, port, err := net.SplitHostPort(host)
	secure := string(uri.Scheme()) == "https"
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if port == "" {
		port = "80"
		if secure {
			port = "443"
		}
	}
	ctx, cancel := context.WithDeadline(c.dialling, deadline)
	defer cancel()
	var dialer net.Dialer
	conn := &connection{target: target}
	if conn.plain, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort(name, port)); err != nil {
		return nil, err
	}
	conn.Conn = conn.plain
	if err := c.enter(conn); err != nil {
		return nil, err
	}
	if secure {
		over := tls.Client(conn.plain, &tls.Config{ServerName: name})
		if err := over.HandshakeContext(ctx); err != nil {
			c.put(conn, false)
			return nil, fmt.Errorf("TLS: %w", err)
		}
		conn.Conn = over
	}
	conn.in, conn.out = bufio.NewReaderSize(conn.Conn, maxAnswerHead), bufio.NewWriter(conn.Conn)
	return conn, nil
}

var errBrokenOff = errors.New("broken off: the webhook queue is closed")

// enter makes a connection one of those that close with the queue.
func (c *connections) enter(conn *connection) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.plain.Close() // it was never used
		return errBrokenOff
	}
	c.open[conn] = struct{}{}
	return nil
}

// put gives a connection back: to be used again, or to be closed.
func (c *connections) put(conn *connection, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !again || c.closed || conn.in.Buffered() > 0 {
		delete(c.open, conn)
		_ = conn.plain.Close() // it is done with
		return
	}
	if conn.SetDeadline(time.Time{}) != nil { // it is looked at until it is used again
		delete(c.open, conn)
		_ = conn.plain.Close() // it is of no use
		return
	}
	conn.since = time.Now()
	if !c.swept {
		c.swept = true
		c.sweep.Reset(idleTime)
	}
	c.idle[conn.target] = append(c.idle[conn.target], conn)
}

// closeOld closes the connections that nobody has needed for long.
func (c *connections) closeOld() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for target, idle := range c.idle {
		kept := idle[:0]
		for _, conn := range idle {
			if time.Since(conn.since) < idleTime {
				kept = append(kept, conn)
				continue
			}
			delete(c.open, conn)
			_ = conn.plain.Close() // it is done with
		}
		clear(idle[len(kept):])
		if c.idle[target] = kept; len(kept) == 0 {
			delete(c.idle, target)
		}
	}
	if c.swept = len(c.idle) > 0 && !c.closed; c.swept {
		c.sweep.Reset(idleTime)
	}
}

// close closes every connection.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.cancel()
	c.sweep.Stop()
	for conn := range c.open {
		_ = conn.plain.Close() // whoever uses it is told
	}
	clear(c.idle)
	clear(c.open)
}

// isClosed tells whether close was called.
func (c *connections) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// exchange sends a request and reads the answer.
func (c *connection) exchange(req *fasthttp.Request, resp *fasthttp.Response, deadline time.Time) error {
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	if err := req.Write(c.out); err != nil {
		return err
	}
	if err := c.out.Flush(); err != nil {
		return err
	}
	return resp.ReadLimitBody(c.in, maxAnswer)
}
