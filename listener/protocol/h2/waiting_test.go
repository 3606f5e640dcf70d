package h2

import (
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// A client that asks for large responses and has no room for them is refused further streams, and
// gets the responses that it had asked for once it has room. Responses that take no memory do not
// count.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := serve(t, &answers{inline: true, large: make([]byte, 4<<20)}, nil)
	c := s.dial(t).begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	const streams, answered = 40, maxWaiting / (4 << 20)
	for i := range uint32(streams) {
		c.get(4*i+1, "/large")
		c.get(4*i+3, "/room")
	}
	refused := map[uint32]bool{}
	for len(refused) < 2*(streams-answered) {
		f, err := c.next()
		if err != nil {
			t.Fatalf("%d streams are refused: %v", len(refused), err)
		}
		if reset, ok := f.(*http2.RSTStreamFrame); ok && reset.ErrCode == http2.ErrCodeRefusedStream {
			refused[reset.StreamID] = true
		}
	}
	if refused[3] || !refused[4*streams-1] {
		t.Errorf("the refused streams are %v", refused)
	}
	c.settled()
	if n := s.waiting.Load(); n < maxWaiting || n > maxWaiting+5<<20 {
		t.Errorf("%d bytes wait", n)
	}
	_ = c.WriteWindowUpdate(0, 1<<30)
	_ = c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 4 << 20})
	for whole := 0; whole < 2*answered; {
		f, err := c.next()
		if err != nil {
			t.Fatalf("%d streams are complete: %v", whole, err)
		}
		if f.Header().Type == http2.FrameData && f.Header().Flags.Has(http2.FlagDataEndStream) {
			whole++
		}
	}
	c.get(4*streams+1, "/room")
	if got := c.response(4*streams + 1); got != "200 "+strings.Repeat("\x00", 4<<20) {
		t.Errorf("a later stream got %.100q", got)
	}
	c.settled()
	if n := s.waiting.Load(); n != 0 {
		t.Errorf("%d bytes wait at the end", n)
	}
}

// If too much waits on all connections together, a connection may still have one waiting response.
// A second one, begun before, is reset.
func TestWaiting_OfAllConnections(t *testing.T) {
	a := &answers{large: make([]byte, 1<<20)}
	s := serve(t, a, func(s *Server) { s.MaxWaiting = 1 })
	first := s.dial(t).begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	first.get(1, "/room")
	first.headersOf(1)
	second := s.dial(t).begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	second.get(3, "/wait/room")
	second.get(1001, "/room")
	second.headersOf(1001)
	close(a.release)
	if got := second.response(3); got != "reset ENHANCE_YOUR_CALM" {
		t.Errorf("got %.100q", got)
	}
	second.get(1003, "/")
	if got := second.response(1003); got != "reset REFUSED_STREAM" {
		t.Errorf("got %q", got)
	}
	_ = second.Close()
	_ = first.Close()
	<-s.ended
	<-s.ended
	if n := s.waiting.Load(); n != 0 {
		t.Errorf("%d bytes wait without a connection", n)
	}
}

// headersOf reads until the headers of a response arrive.
func (c *client) headersOf(id uint32) {
	c.Helper()
	for {
		f, err := c.next()
		if err != nil {
			c.Fatal(err)
		}
		if f.Header().Type == http2.FrameHeaders && f.Header().StreamID == id {
			return
		}
	}
}
