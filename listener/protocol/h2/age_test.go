package h2

import (
	"math"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// slow is a Handler whose responses take a tenth of a second.
type slow struct{ *answers }

func (h slow) Answer(s *Stream) Later { return slowly{h, s} }

type slowly struct {
	slow
	s *Stream
}

func (l slowly) Serve() (until time.Time) {
	if !l.s.WaitUntil(time.Now().Add(100 * time.Millisecond)) {
		l.respond(l.s)
	}
	return
}

// A connection that is never idle for long also ends at its maximum age, and all its requests are
// answered.
func TestAge_BusyConnection(t *testing.T) {
	t.Parallel()
	a := &answers{}
	s := serve(t, a, func(s *Server) { s.Handler, s.MaxAge = slow{a}, 100*time.Millisecond })
	c := s.dial(t).begin()
	var goaways []uint32
	answered := true
	for id := uint32(1); id < 121 && answered && len(goaways) < 2; id += 2 {
		c.get(id, "/")
		for answered = false; !answered; {
			f, err := c.next()
			if err != nil {
				t.Fatalf("after GOAWAY %v: %v", goaways, err)
			}
			switch f := f.(type) {
			case *http2.GoAwayFrame:
				goaways = append(goaways, f.LastStreamID)
			case *http2.DataFrame:
				answered = f.StreamID == id && f.StreamEnded()
			case *http2.RSTStreamFrame:
				if answered = len(goaways) == 2; !answered {
					t.Fatalf("stream %d was reset: %v", f.StreamID, f.ErrCode)
				}
			}
		}
	}
	if len(goaways) == 0 || goaways[0] != math.MaxInt32 {
		t.Fatalf("GOAWAY %v after six seconds", goaways)
	}
	if err := <-s.ended; err != errDrained {
		t.Error("the connection ended with", err)
	}
}
