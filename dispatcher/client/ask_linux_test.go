package client

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"mockserver/internal/clienttls"
)

// served starts a server that accepts and serves one connection.
func served(t *testing.T, serve func(net.Conn)) (target string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		serve(c)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-over
	})
	return "http://" + l.Addr().String()
}

func taken(t *testing.T, p *Pool, target string) *Conn {
	t.Helper()
	c, err := p.Take(target, clienttls.Files{}, time.Now().Add(time.Minute))
	if err != nil || !c.Asks() {
		t.Fatalf("%v, asks %v", err, c != nil && c.Asks())
	}
	return c
}

// A request whose read deadline passes before it is sent can be sent later, and is not sent twice.
func TestAsk_AfterItsReadDeadline(t *testing.T) {
	requests := make(chan string, 1)
	to := served(t, func(c net.Conn) {
		b := make([]byte, 64)
		n, _ := c.Read(b)
		requests <- string(b[:n])
		_, _ = io.WriteString(c, "answer")
	})
	p := NewPool(1)
	defer p.Close()
	c := taken(t, p, to)
	_ = c.SetReadDeadline(time.Unix(1, 0))
	var b [64]byte
	if n, sent, err := c.Ask([]byte("late"), b[:], time.Now().Add(time.Minute)); n != 0 || sent || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d bytes, sent %v, %v", n, sent, err)
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	n, sent, err := c.Ask([]byte("late"), b[:], time.Now().Add(time.Minute))
	if string(b[:n]) != "answer" || !sent || err != nil || <-requests != "late" {
		t.Errorf("%q, sent %v, %v", b[:n], sent, err)
	}
	p.Drop(c)
}

// An answer that the server has sent before the request is sent is read at once.
func TestAsk_AResponseBeforeTheRequest(t *testing.T) {
	said, asked := make(chan struct{}), make(chan struct{})
	to := served(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "busy")
		close(said)
		<-asked
	})
	p := NewPool(1)
	defer p.Close()
	c := taken(t, p, to)
	<-said
	var b [64]byte
	n, sent, err := c.Ask([]byte("request"), b[:], time.Now().Add(time.Minute))
	close(asked)
	if string(b[:n]) != "busy" || !sent || err != nil {
		t.Errorf("%q, sent %v, %v", b[:n], sent, err)
	}
	p.Drop(c)
}

// No request is sent on an idle connection that was closed or that has received data.
func TestAsk_AStaleConnection(t *testing.T) {
	for _, last := range []string{"", "408"} {
		over, more := make(chan struct{}), make(chan string, 1)
		to := served(t, func(c net.Conn) {
			b := make([]byte, 64)
			_, _ = c.Read(b)
			_, _ = io.WriteString(c, "answer")
			<-over
			if _, _ = io.WriteString(c, last); last == "" {
				_ = c.(*net.TCPConn).CloseWrite()
			}
			over <- struct{}{}
			n, _ := c.Read(b)
			more <- string(b[:n])
		})
		p := NewPool(1)
		c := taken(t, p, to)
		var b [64]byte
		if n, _, err := c.Ask([]byte("one"), b[:], time.Now().Add(time.Minute)); string(b[:n]) != "answer" || err != nil {
			t.Fatalf("%q, %v", b[:n], err)
		}
		p.Put(c)
		over <- struct{}{}
		<-over
		c = taken(t, p, to)
		if _, sent, err := c.Ask([]byte("two"), b[:], time.Now().Add(time.Minute)); sent || err != ErrStale {
			t.Errorf("%q: sent %v, %v", last, sent, err)
		}
		p.Drop(c)
		if got := <-more; got != "" {
			t.Errorf("%q: the server got %q", last, got)
		}
		p.Close()
	}
}

// A request that does not fit into the buffers of the connection is sent completely.
func TestAsk_ALongRequest(t *testing.T) {
	long := strings.Repeat("r", 32<<20)
	to := served(t, func(c net.Conn) {
		n, err := io.CopyN(io.Discard, c, int64(len(long)))
		if err == nil && n == int64(len(long)) {
			_, _ = io.WriteString(c, "all of it")
		}
	})
	p := NewPool(1)
	defer p.Close()
	c := taken(t, p, to)
	var b [64]byte
	n, sent, err := c.Ask([]byte(long), b[:], time.Now().Add(time.Minute))
	if !bytes.Equal(b[:n], []byte("all of it")) || !sent || err != nil {
		t.Errorf("%q, sent %v, %v", b[:n], sent, err)
	}
	p.Drop(c)
}
