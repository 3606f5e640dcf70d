package h2

import "time"

// A response whose body is not there yet is sent by Begin, Write for each part, and End or Break. The
// goroutine that calls them waits for the windows of the client.

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
	c.flush()
}

// Write sends a part of the body, which may be changed afterwards. It reports whether the client has
// left; then no more is sent.
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
	c.flush()
	for !s.closed && s.sent < s.allowed {
		c.mu.Unlock()
		_ = s.Wait() // the stream is closed then
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
		c.flush()
	}
}

// Break ends the response so that the client notices that it is not whole.
func (s *Stream) Break() {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.closed {
		c.reset(s, resetCode)
		c.flush()
	}
}
