package h2

import (
	"time"

	"golang.org/x/net/http2"
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
		c.over, c.cut = true, true
		c.close(s)
		_ = c.nc.SetReadDeadline(past) // the goroutine that reads resets it
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
	c.flush(byAnyone)
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

// End ends the response.
func (s *Stream) End() {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.closed {
		c.out = appendFrame(c.out, 0, dataFrame, endStream, s.id)
		c.finish(s)
		c.flush(byAnyone)
	}
}

// Break ends the response so that the client notices that it is incomplete.
func (s *Stream) Break() {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.closed {
		c.reset(s, resetCode)
		c.flush(byAnyone)
	}
}
