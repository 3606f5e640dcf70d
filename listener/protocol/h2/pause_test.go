package h2

import (
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"mockserver/internal/pacer"
)

// hours is a Handler whose responses are due in an hour. over gets the number of each stream that goes
// on, and whether its client has left.
type hours struct {
	*answers
	over chan string
}

func (h hours) Answer(s *Stream) Later { return &hour{h, s, false} }

type hour struct {
	hours
	s     *Stream
	again bool
}

func (h *hour) Serve() (until time.Time) {
	if !h.again {
		h.again = true
		return time.Now().Add(time.Hour)
	}
	if h.s.HasLeft() {
		h.over <- string(h.s.Target)
	} else {
		h.over <- "early"
	}
	return
}

// Streams that wait have no goroutines, and each goes on once when its client leaves, resets it or
// breaks the protocol.
func TestPause_EndsWithTheClient(t *testing.T) {
	for name, leave := range map[string]func(c *client){
		"reset": func(c *client) {
			for i := range uint32(maxStreams) {
				_ = c.WriteRSTStream(2*i+1, http2.ErrCodeCancel)
				if i == maxCheap/2 { // more would be an attack
					break
				}
			}
			_ = c.Close()
		},
		"close":          func(c *client) { _ = c.Close() },
		"protocol error": func(c *client) { _ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: 2, EndHeaders: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			h := hours{&answers{}, make(chan string, 2*maxStreams)}
			s := serve(t, h.answers, func(s *Server) { s.Handler = h })
			before := runtime.NumGoroutine()
			c := s.dial(t).begin()
			for i := range uint32(maxStreams) {
				c.get(2*i+1, "/x")
			}
			c.settled()
			for runtime.NumGoroutine() > before+10 {
				if t.Context().Err() != nil {
					t.Fatalf("there are %d goroutines, %d before", runtime.NumGoroutine(), before)
				}
				runtime.Gosched()
			}
			leave(c)
			for range maxStreams {
				if over := <-h.over; over != "/x" {
					t.Fatalf("a stream goes on: %s", over)
				}
			}
			<-s.ended // so that none goes on twice
			if n := len(h.over); n > 0 {
				t.Errorf("%d streams went on twice", n)
			}
		})
	}
}

// reusing is a connection on which a request is served again as soon as a deadline is set.
type reusing struct {
	net.Conn
	again func()
}

func (r reusing) SetReadDeadline(time.Time) error { r.again(); return nil }

// A stream that ends may serve another request at once, which then waits on.
func TestPause_OfAStreamThatIsUsedAgain(t *testing.T) {
	p := pacer.New()
	defer p.Close()
	h := hours{&answers{}, make(chan string, 1)}
	for range 100 { // the pool may keep a stream for others
		var again *Stream
		c := newConn(&Server{Pacer: p}, nil, 0)
		c.nc = reusing{again: func() {
			again = newStream(c, 3, time.Now())
			again.later = &hour{h, again, true}
			p.Add(&again.entry, again, time.Now().Add(time.Hour), 0)
		}}
		s := newStream(c, 1, time.Now())
		s.served, s.answered, c.streams[1], c.final = true, true, s, true
		c.mu.Lock()
		c.abandon(s)
		c.mu.Unlock()
		if !pacer.Cancel(&again.entry) {
			t.Fatal("the wait of another stream has ended")
		}
	}
}

// A client that does not read does not hold up the pacer.
func TestPause_AClientThatDoesNotRead(t *testing.T) {
	h := &answers{large: make([]byte, 1<<20)}
	s := serve(t, h, nil)
	slow := s.dial(t).begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
	_ = slow.WriteWindowUpdate(0, 1<<30)
	for i := range uint32(100) {
		slow.get(4*i+1, "/wait/room")
	}
	slow.settled()
	c := s.dial(t).begin()
	c.get(1, "/wait")
	c.settled()
	close(h.release)
	if got := c.response(1); got != "200 hello" {
		t.Errorf("got %q", got)
	}
}

// meeting is a Handler whose streams wait, and then for each other, in pairs.
type meeting struct {
	*answers
	met chan struct{}
}

func (m meeting) Answer(s *Stream) Later { return &meets{m, s, false} }

type meets struct {
	meeting
	s     *Stream
	again bool
}

func (m *meets) Serve() (until time.Time) {
	if !m.again {
		m.again, m.s.Blocks = true, true
		return time.Now()
	}
	select {
	case m.met <- struct{}{}:
	case <-m.met:
	}
	m.s.Send(AppendStatus(nil, 200), []byte("met"))
	return time.Time{}
}

// A stream whose reply may block after its wait delays no other.
func TestPause_BeforeWhatBlocks(t *testing.T) {
	m := meeting{&answers{}, make(chan struct{})}
	c := serve(t, m.answers, func(s *Server) { s.Handler = m }).dial(t).begin()
	c.get(1, "/a")
	c.get(3, "/b")
	for range 2 {
		f, err := c.next()
		for ; err == nil && !f.Header().Flags.Has(http2.FlagDataEndStream); f, err = c.next() {
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
