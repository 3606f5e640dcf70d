package h2

import (
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// trailers sends fields that end a stream.
func (c *client) trailers(id uint32, name, value string) {
	c.block.Reset()
	_ = c.encoder.WriteField(hpack.HeaderField{Name: name, Value: value})
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.block.Bytes(), EndStream: true, EndHeaders: true})
}

// As many requests as the server announced may wait at once.
func TestStreams_AllMayWait(t *testing.T) {
	s := serve(t, &answers{}, nil)
	c := s.dial(t).begin()
	for i := range uint32(maxStreams) {
		c.get(2*i+1, "/wait")
	}
	c.settled()
	close(s.handler.release)
	for ended := 0; ended < maxStreams; {
		switch f, err := c.next(); f := f.(type) {
		case *http2.DataFrame:
			if f.StreamEnded() {
				ended++
			}
		case *http2.RSTStreamFrame:
			t.Fatalf("stream %d was reset: %v", f.StreamID, f.ErrCode)
		case nil:
			t.Fatal(err)
		}
	}
}

// A refused request is not served when the rest of it, a body or trailers, arrives.
func TestRefused_IsNotServed(t *testing.T) {
	for name, rest := range map[string]func(c *client){
		"body":     func(c *client) { _ = c.WriteData(1, true, []byte("x")) },
		"trailers": func(c *client) { c.trailers(1, "x", "y") },
	} {
		t.Run(name, func(t *testing.T) {
			h := &told{answers: &answers{inline: true}}
			s := serve(t, h.answers, func(s *Server) { s.Handler = h })
			c := s.dial(t).begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			c.open(1, false, "expect", "nonsense")
			rest(c)
			_ = c.WriteWindowUpdate(1, 1000)
			if got := c.response(1); !strings.HasPrefix(got, "417 only the expectation") {
				t.Errorf("got %q", got)
			}
			c.settled()
			if n := h.count.Load(); n > 0 {
				t.Errorf("it was served %d times", n)
			}
		})
	}
}

// A client may open the windows of bodies whose end it has not seen yet, however many there are.
func TestWindowUpdates_OfEndedStreams(t *testing.T) {
	s := serve(t, &answers{inline: true}, nil)
	c := s.dial(t).begin()
	const requests = 2*maxCheap + 100
	for i := range uint32(requests) {
		c.get(2*i+1, "/")
		if got := c.response(2*i + 1); got != "200 hello" {
			t.Fatalf("request %d: %q", i, got)
		}
		_ = c.WriteWindowUpdate(2*i+1, 5)
	}
	c.settled()
}
