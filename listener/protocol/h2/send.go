package h2

import (
	"time"

	"golang.org/x/net/http2"

	"mockserver/internal/pacer"
)

// Send sends the response: a block of header fields, and a body, which must not change afterwards,
// unless it is in Room. A response to HEAD has no body. Only the first call sends.
func (s *Stream) Send(block, body []byte) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.answered || s.HasLeft() {
		return
	}
	s.answered, s.sending = true, true
	s.body, s.allowed = body, len(body)
	if c.isFull(s) {
		c.reset(s, http2.ErrCodeEnhanceYourCalm)
		if !s.inline {
			c.flush(byAnyone)
		}
		return
	}
	switch s.spoil {
	case Reset:
		c.reset(s, resetCode)
	case ResetConnection:
		c.resetAll(s)
	case Empty: // the end of a response that never began
		c.out = appendFrame(c.out, 0, dataFrame, endStream, s.id)
		c.finish(s)
	case Truncate:
		if len(body) == 0 {
			c.reset(s, resetCode)
			break
		}
		s.allowed, s.ending = len(body)/2, endsReset
		c.respond(s, block)
	case Malformed:
		s.ending = endsBroken
		c.respond(s, block)
	default:
		c.respond(s, block)
	}
	if !s.inline {
		c.flush(byAnyone)
	}
}

// resetAll makes the goroutine that reads reset the connection, on behalf of a stream.
func (c *conn) resetAll(s *Stream) {
	c.over, c.cut = true, true
	c.close(s)
	_ = c.nc.SetReadDeadline(past)
}

// SendSlowly sends a response, and its body at the given pace, in bytes per second. It returns when
// the last piece is due, or when the client has left.
func (s *Stream) SendSlowly(block, body []byte, pace int) {
	c := s.c
	c.mu.Lock()
	if s.answered || s.HasLeft() {
		c.mu.Unlock()
		return
	}
	s.answered, s.sending, s.body, s.allowed = true, true, body, 0
	c.respond(s, block)
	c.flush(byAnyone)
	c.mu.Unlock()
	begun, piece := time.Now(), max(int(float64(pace)*slowBeat.Seconds()), 1)
	for n := 0; n < len(body); {
		n = min(n+piece, len(body))
		if s.WaitUntil(begun.Add(time.Duration(float64(n) / float64(pace) * float64(time.Second)))) {
			return
		}
		c.mu.Lock()
		if s.sent == s.allowed { // otherwise the client is slow, and gets no extra time
			s.progress = time.Now()
			s.answerBegun = s.progress
		}
		s.allowed = n
		c.enqueue(s)
		c.flush(byAnyone)
		c.mu.Unlock()
	}
}

// slowBeat is the minimum time between two pieces of a slow body.
const slowBeat = 50 * time.Millisecond

// A response whose body is not known yet is sent with Begin, Write for each part, and End or Break.
// The goroutine that calls them waits for the windows of the client.

// Begin sends the headers of a response whose body follows.
func (s *Stream) Begin(block []byte) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.answered || s.HasLeft() {
		return
	}
	s.answered, s.sending, s.ending = true, true, endsLater
	c.respond(s, block)
	if !s.inline {
		c.flush(byAnyone)
	}
}

// A body whose parts are due one after the other is sent with Begin, and HasRoom and Put for each part. They
// do not wait: Later.Serve returns until when the next part waits, whether or not there is room for it.

// DropBody gives up the body of the request.
func (s *Stream) DropBody() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.bodies -= s.counted
	s.counted, s.Body = 0, nil
	s.c.grow()
}

// HasRoom reports whether the client takes more of the body.
func (s *Stream) HasRoom() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.paced = true
	return s.c.hasRoom(s)
}

func (c *conn) hasRoom(s *Stream) bool {
	return s.closed || s.sent == s.allowed && s.window > 0 && c.window > 0 && len(c.out) < outSize
}

// Put sends a part of the body, which must not be changed before HasRoom has reported true. The last one ends
// the response.
func (s *Stream) Put(part []byte, last bool) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.closed {
		return
	}
	s.body, s.sent, s.allowed = part, 0, len(part)
	if last {
		s.ending = endsWhole
	}
	if last && len(part) == 0 {
		c.endLate(s)
		return
	}
	if c.push(s); !s.closed && s.sent < s.allowed {
		s.progress = time.Now()
		c.enqueue(s)
	}
}

// proceed ends the wait of a stream for room.
func (s *Stream) proceed() {
	if s.blocked = false; pacer.Cancel(&s.entry) {
		s.c.srv.Pacer.Add(&s.entry, s, time.Now(), s.c.shard)
	}
}

// Write sends a part of the body; the caller may change that part afterwards. It reports whether
// the client has left; then no more is sent.
func (s *Stream) Write(part []byte) (left bool) {
	c := s.c
	c.mu.Lock()
	if s.closed {
		c.mu.Unlock()
		return true
	}
	s.body, s.sent, s.allowed = part, 0, len(part)
	s.progress = time.Now()
	s.answerBegun = s.progress
	c.enqueue(s)
	c.flush(byAnyone)
	for !s.closed && s.sent < s.allowed {
		c.mu.Unlock()
		_ = s.Wait() // if the client has left, the stream is closed
		c.mu.Lock()
	}
	left = s.closed
	s.body, s.sent, s.allowed = nil, 0, 0
	c.mu.Unlock()
	return left
}

// End ends the response, after what is left of the part that was sent last.
func (s *Stream) End() {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.ending = endsWhole; s.closed || s.sent < s.allowed {
		return
	}
	if c.endLate(s); !s.inline {
		c.flush(byAnyone)
	}
}

// endLate ends a response whose body was sent before its end was known, or which a trailer ends.
func (c *conn) endLate(s *Stream) {
	if s.Trailer != nil {
		c.headers(s.id, s.Trailer, true)
	} else {
		c.out = appendFrame(c.out, 0, dataFrame, endStream, s.id)
	}
	c.finish(s)
}

// Break ends the response so that the client notices that it is incomplete: with a reset of the stream, or of the
// whole connection.
func (s *Stream) Break(connection bool) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.closed {
		if connection {
			c.resetAll(s)
		} else {
			c.reset(s, resetCode)
		}
		if !s.inline {
			c.flush(byAnyone)
		}
	}
}
