package h2

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"mockserver/internal/pacer"
)

// pulses is a Handler whose streams send an x when they are continued for the first time.
type pulses struct {
	*answers
	waiting atomic.Int64 // streams that wait
}

func (h *pulses) Answer(s *Stream) Later { return &pulse{pulses: h, s: s} }

type pulse struct {
	*pulses
	s      *Stream
	called int
}

func (p *pulse) Serve() (until time.Time) {
	if p.s.HasLeft() {
		return until
	}
	switch p.called++; {
	case p.called == 1:
		p.waiting.Add(1)
	case p.s.NeedsRoom || p.called == 2:
		room := p.s.HasRoom()
		if p.called == 2 {
			p.s.Begin(AppendStatus(nil, 200))
		}
		if room {
			p.s.Put([]byte("x"), false)
		}
		p.s.NeedsRoom = !room && string(p.s.Target) != "/later"
	}
	return time.Now().Add(time.Hour)
}

// counting counts the writes of the pacer.
type counting struct {
	net.Conn
	writes atomic.Int64
}

func (c *counting) WriteNow(b []byte) int {
	c.writes.Add(1)
	n, _ := c.Write(b)
	return n
}

// What is due of the streams of a connection at the same time is written at once.
func TestPaced_OneWriteForManyStreams(t *testing.T) {
	h := &pulses{answers: &answers{}}
	s := serve(t, h.answers, func(s *Server) { s.Handler = h })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s.address = l.Addr().String()
	c := s.dial(t).begin()
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	counted := &counting{Conn: nc}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(counted, nil, 0) }()
	const streams = 60
	for i := range uint32(streams) {
		c.get(2*i+1, "/")
	}
	c.settled()
	for waiting := 0; waiting < streams; { // each in the pacer
		waiting = 0
		s.mu.Lock()
		for conn := range s.conns {
			conn.mu.Lock()
			for _, stream := range conn.streams {
				if stream.later != nil {
					waiting++
				}
			}
			conn.mu.Unlock()
		}
		s.mu.Unlock()
	}
	s.Prompt()
	for got := 0; got < streams; {
		f, err := c.next()
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := f.(*http2.DataFrame); ok && string(d.Data()) == "x" {
			got++
		}
	}
	if n := counted.writes.Load(); n > 2 { // the pacer may come while the streams are prompted
		t.Errorf("%d streams took %d writes", streams, n)
	}
	_ = c.Close()
	<-ended
	_ = nc.Close()
}

// A stream whose client has no window is canceled after 30 seconds if something of it is due, and only then.
func TestPaced_NoWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer.New()
		p.Close() // it calls nothing, and needs no goroutine
		h := &pulses{answers: &answers{}}
		c, s, ended := piped(t, func(s *Server) { s.Handler, s.Pacer = h, p })
		frames := make(chan string, 100)
		go func() {
			for {
				f, err := c.next()
				if err != nil {
					close(frames)
					return
				}
				text := fmt.Sprintf("%v of %d", f.Header().Type, f.Header().StreamID)
				if reset, ok := f.(*http2.RSTStreamFrame); ok {
					text += " with " + reset.ErrCode.String()
				}
				frames <- text
			}
		}()
		c.begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		c.get(1, "/due")
		c.get(3, "/later")
		synctest.Wait()
		begun := time.Now()
		for conn := range s.conns {
			for _, stream := range conn.streams {
				stream.Due()
			}
			conn.Flush()
		}
		for range 2 {
			if f := <-frames; !strings.HasPrefix(f, "HEADERS") {
				t.Errorf("got %s", f)
			}
		}
		f := <-frames
		if took := time.Since(begun); f != "RST_STREAM of 1 with CANCEL" || took < stallTimeout || took > stallTimeout+2*tick {
			t.Errorf("after %v: %s", took, f)
		}
		<-time.After(10 * time.Minute)
		select {
		case f := <-frames:
			t.Errorf("then %s", f)
		default:
		}
		_ = c.Close()
		<-ended
	})
}

// A connection with streams gives its large buffer back when nothing more arrives.
func TestPaced_Buffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer.New()
		p.Close()
		h := &pulses{answers: &answers{}}
		c, s, ended := piped(t, func(s *Server) { s.Handler, s.Pacer = h, p })
		go func() { _, _ = io.Copy(io.Discard, c.Conn) }()
		c.begin()
		c.open(1, false)
		_ = c.WriteData(1, true, make([]byte, 4*firstSize)) // which makes the buffer large
		<-time.After(2 * tick)
		synctest.Wait()
		for conn := range s.conns {
			if n := len(*conn.source.buffer); n != firstSize || h.waiting.Load() != 1 {
				t.Errorf("the buffer has %d bytes, want %d", n, firstSize)
			}
		}
		_ = c.Close()
		<-ended
	})
}
