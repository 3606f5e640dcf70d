package h2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"mockserver/internal/pacer"
)

// answers is a Handler. It answers requests whose path begins with /wait once release is closed.
// The body of the response is large for /large, a copy of large in the buffer of the stream for
// /room and /wait/room, and otherwise the body of the request or, if that is empty, "hello".
type answers struct {
	release chan struct{}
	inline  bool
	mu      sync.Mutex
	left    int // requests for /wait whose client left
	large   []byte
	spoil   string
}

func (a *answers) Answer(s *Stream) Later {
	if !a.inline || strings.HasPrefix(string(s.Target), "/wait") {
		return later{a, s}
	}
	a.respond(s)
	return nil
}

// later is a request that is answered in a goroutine of its own.
type later struct {
	*answers
	s *Stream
}

// Serve answers the request; /wait waits until release is closed or the client leaves, with a
// goroutine on every second stream.
func (l later) Serve() (until time.Time) {
	a, s := l.answers, l.s
	for left := s.HasLeft(); strings.HasPrefix(string(s.Target), "/wait") && !a.isReleased(); {
		soon := time.Now().Add(5 * time.Millisecond)
		switch {
		case left:
			a.mu.Lock()
			defer a.mu.Unlock()
			a.left++
			return
		case s.id%4 == 1:
			return soon
		}
		left = s.WaitUntil(soon)
	}
	a.respond(s)
	return
}

func (a *answers) isReleased() bool {
	select {
	case <-a.release:
		return true
	default:
		return false
	}
}

func (a *answers) respond(s *Stream) {
	body := append([]byte(nil), s.Body...)
	switch {
	case string(s.Target) == "/large":
		body = a.large
	case strings.HasSuffix(string(s.Target), "/room"):
		s.Room = append(s.Room[:0], a.large...)
		body = s.Room
	case len(body) == 0:
		body = []byte("hello")
	}
	if a.spoil != "" {
		s.Spoil(a.spoil)
	}
	block := AppendField(AppendLength(AppendStatus(nil, 200), len(body)), "X-Lines", fmt.Sprintf("%q", s.Header))
	s.Send(block, body)
}

func (*answers) Refuse(s *Stream, status int, why string) {
	s.Send(AppendLength(AppendStatus(nil, status), len(why)), []byte(why))
}

// serving is a server on a socket.
type serving struct {
	*Server
	address string
	handler *answers
	ended   chan error // the result of each connection
}

// serve starts a server; it is stopped at the end of the test.
func serve(t *testing.T, handler *answers, change func(*Server)) *serving {
	t.Helper()
	if handler.release == nil {
		handler.release = make(chan struct{})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &serving{&Server{Handler: handler, MaxBody: 1 << 20, Pacer: pacer.New()}, l.Addr().String(), handler, make(chan error, 1000)}
	if change != nil {
		change(s.Server)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				s.ended <- s.Serve(nc, nil, 0)
				_ = nc.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for c := range s.conns {
			_ = c.nc.Close()
		}
		s.mu.Unlock()
		all.Wait()
		s.Pacer.Close()
	})
	return s
}

// client sends and receives frames.
type client struct {
	*testing.T
	net.Conn
	*http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
}

func (s *serving) dial(t *testing.T) *client {
	t.Helper()
	nc, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second)) // a test that hangs fails
	c := &client{T: t, Conn: nc, Framer: http2.NewFramer(nc, nc)}
	c.AllowIllegalWrites = true
	c.encoder = hpack.NewEncoder(&c.block)
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return c
}

// begin sends the preface and settings.
func (c *client) begin(settings ...http2.Setting) *client {
	_, _ = io.WriteString(c.Conn, Preface)
	_ = c.WriteSettings(settings...)
	return c
}

// headers returns a header block of the given fields. Unless the first name is empty or begins with
// a colon, the fields of GET / come first.
func (c *client) headers(pairs ...string) []byte {
	if len(pairs) == 0 || pairs[0] != "" && pairs[0][0] != ':' {
		pairs = append([]string{":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a"}, pairs...)
	}
	return c.fields(pairs...)
}

// fields returns a header block of the given fields.
func (c *client) fields(pairs ...string) []byte {
	c.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = c.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return bytes.Clone(c.block.Bytes())
}

func (c *client) get(id uint32, path string) {
	c.open(id, true, ":method", "GET", ":scheme", "http", ":path", path, ":authority", "a")
}

func (c *client) open(id uint32, end bool, pairs ...string) {
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.headers(pairs...), EndStream: end, EndHeaders: true})
}

// next returns the next frame other than SETTINGS, WINDOW_UPDATE and PING.
func (c *client) next() (http2.Frame, error) {
	for {
		f, err := c.ReadFrame()
		if err != nil {
			return nil, err
		}
		switch f.(type) {
		case *http2.SettingsFrame, *http2.WindowUpdateFrame, *http2.PingFrame:
			continue
		}
		return f, nil
	}
}

// response reads the response on a stream: its status and body, or "reset CODE", "goaway CODE" or
// "closed".
func (c *client) response(id uint32) string {
	c.Helper()
	got := ""
	for {
		f, err := c.next()
		if err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				c.Fatal("nothing more arrives; so far ", got)
			}
			// The connection of the test is closed at once, which may cut off what was sent last.
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
				c.Errorf("the server sent something other than a frame: %v", err)
			}
			return strings.TrimSpace(got + " closed")
		}
		switch f := f.(type) {
		case *http2.GoAwayFrame:
			if f.ErrCode != http2.ErrCodeNo {
				return "goaway " + f.ErrCode.String()
			}
			continue
		case *http2.RSTStreamFrame:
			if f.StreamID == id {
				return strings.TrimSpace(got + " reset " + f.ErrCode.String())
			}
		case *http2.MetaHeadersFrame:
			if f.StreamID == id {
				got = f.PseudoValue("status") + " "
			}
		case *http2.DataFrame:
			if f.StreamID == id {
				got += string(f.Data())
			}
		}
		if f.Header().StreamID == id && f.Header().Flags.Has(http2.FlagDataEndStream) {
			return got
		}
	}
}
