package h2

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A connection reads small requests into a small buffer. Idle for a while, it keeps no buffers, and continues
// when it is needed, even with a header block in several frames.
func TestPark_KeepsNoBuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, ended := piped(t, nil)
		frames := make(chan string)
		go func() {
			for _, id := range []uint32{1, 3} {
				frames <- c.response(id)
			}
			_, _ = io.Copy(io.Discard, c.Conn)
		}()
		c.begin()
		c.open(1, false)
		synctest.Wait()
		for conn := range s.conns {
			if got := len(*conn.source.buffer); got != firstSize {
				t.Errorf("the buffer for small requests has %d bytes", got)
			}
		}
		_ = c.WriteData(1, true, make([]byte, maxFrame))
		if got := len(<-frames); got != len("200 ")+maxFrame {
			t.Errorf("got %d bytes", got)
		}
		synctest.Wait()
		for conn := range s.conns {
			if got := len(*conn.source.buffer); got != readSize {
				t.Errorf("after a large body, the buffer has %d bytes", got)
			}
		}
		_ = c.WriteWindowUpdate(0, 1)   // the server goes on after what was read above
		<-time.After(2*parkTime + tick) // bubble time
		synctest.Wait()
		for conn := range s.conns {
			if conn.framer != nil || conn.source.buffer != nil || conn.out != nil || conn.spare != nil {
				t.Error("a buffer is kept")
			}
		}
		block := c.headers()
		_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: block[:2], EndStream: true})
		_ = c.WriteContinuation(3, true, block[2:])
		if got := <-frames; got != "200 hello" {
			t.Errorf("got %q", got)
		}
		_ = c.Close()
		<-ended
	})
}

// piped returns a server, changed by change unless that is nil, and the client of its only connection,
// in a synctest bubble.
func piped(t *testing.T, change func(*Server)) (c *client, s *Server, ended chan error) {
	one, other := net.Pipe()
	s, ended = &Server{Handler: &answers{inline: true}, MaxBody: 1 << 20}, make(chan error, 1)
	if change != nil {
		change(s)
	}
	go func() {
		err := s.Serve(one, nil, 0)
		_ = one.Close()
		ended <- err
	}()
	c = &client{T: t, Conn: other, Framer: http2.NewFramer(other, other)}
	c.encoder = hpack.NewEncoder(&c.block)
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return c, s, ended
}

// A request that stops halfway is answered with 408 and the same message as over HTTP/1.1, half a
// minute after its last byte or once it is too slow, and its stream is then reset without an error.
// The connection continues.
func TestLate(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		took       time.Duration
		send       func(c *client)
	}{
		{"it stops", "408 no more of the request body arrived for 30s", stallTimeout + 20*time.Second, func(c *client) {
			_ = c.WriteData(1, false, []byte("a"))
			<-time.After(20 * time.Second)
			_ = c.WriteData(1, false, []byte("b"))
		}},
		{"it is slow", "408 the request body was not complete after 10m0s", slowTime, func(c *client) {
			for range 60 {
				_ = c.WriteData(1, false, []byte("a"))
				<-time.After(slowTime / 60)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, ended := piped(t, nil)
				frames := make(chan string)
				go func() {
					frames <- c.response(1)
					f, err := c.next()
					if reset, ok := f.(*http2.RSTStreamFrame); !ok || reset.StreamID != 1 || reset.ErrCode != http2.ErrCodeNo {
						t.Errorf("then got %v, %v", f, err)
					}
					frames <- c.response(3)
					_, _ = io.Copy(io.Discard, c.Conn)
				}()
				begun := time.Now()
				c.begin()
				c.open(1, false)
				sent := make(chan struct{})
				go func() {
					tt.send(c)
					close(sent)
				}()
				if got := <-frames; got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if took := time.Since(begun); took < tt.took || took > tt.took+2*tick {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				<-sent
				c.get(3, "/")
				if got := <-frames; got != "200 hello" {
					t.Errorf("another request got %q", got)
				}
				_ = c.Close()
				<-ended
			})
		})
	}
}

// parked is a connection that can be parked.
type parked struct {
	net.Conn
	again chan func() error
}

func (p parked) Park(again func() error, timeout time.Duration) bool {
	if time.Until(time.Now().Add(timeout)) > idleTimeout {
		return false
	}
	p.again <- again
	return true
}

// A connection that is parked continues with the next request, and ends once it was idle for too long.
func TestPark_Again(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := net.Pipe()
		p := parked{one, make(chan func() error, 1)}
		s := &Server{Handler: &answers{inline: true}, MaxBody: 1 << 20}
		c := &client{T: t, Conn: other, Framer: http2.NewFramer(other, other)}
		c.encoder = hpack.NewEncoder(&c.block)
		c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		serve := func() error { return s.Serve(p, nil, 0) }
		begin := func() { c.begin() }
		for id := uint32(1); id < 7; id += 2 {
			ended := make(chan error, 1)
			go func() { ended <- serve() }()
			go func() {
				begin()
				c.get(id, "/")
			}()
			if got := c.response(id); got != "200 hello" {
				t.Errorf("request %d got %q", id, got)
			}
			if err := <-ended; err != ErrParked || len(s.conns) != 1 {
				t.Fatalf("after request %d: %v", id, err)
			}
			serve, begin = <-p.again, func() {}
		}
		<-time.After(idleTimeout)
		ended := make(chan error, 1)
		go func() { ended <- serve() }()
		if f, err := c.next(); err != nil || f.Header().Type != http2.FrameGoAway {
			t.Errorf("at the end: %v, %v", f, err)
		}
		_ = c.Close()
		if err := <-ended; err != errIdle || len(s.conns) != 0 {
			t.Errorf("it ended with %v", err)
		}
	})
}
